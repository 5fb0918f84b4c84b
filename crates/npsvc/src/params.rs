//! Parameters, each written once: its type, its default, its range and its documentation.
//!
//! [`parameters!`](crate::parameters) makes a struct whose `Default` and range check follow from one
//! list. With the feature `schemars`, the ranges are part of the JSON schema as well.

use std::fmt;

use crate::BadParameter;

/// The values a number may have.
///
/// ```
/// use npsvc::params::Range;
///
/// let share = Range::Within(0.0, 1.0);
/// assert!(share.contains(0.5) && !share.contains(1.5));
/// let error = share.check("tau", 1.5).unwrap_err();
/// assert_eq!(error.to_string(), "`tau` is 1.5, expected a number from 0 to 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Above this number.
    Above(f64),
    /// At least this number.
    AtLeast(f64),
    /// Above the first number, at most the second.
    AboveUpTo(f64, f64),
    /// From the first number to the second, both included.
    Within(f64, f64),
    /// At least the first number, below the second.
    Below(f64, f64),
    /// A whole number, at least this one.
    Count(u32),
}

impl Range {
    /// Whether `value` is a finite number in the range.
    pub fn contains(&self, value: f64) -> bool {
        let is_inside = match *self {
            Self::Above(low) => value > low,
            Self::AtLeast(low) => value >= low,
            Self::AboveUpTo(low, high) => value > low && value <= high,
            Self::Within(low, high) => (low..=high).contains(&value),
            Self::Below(low, high) => (low..high).contains(&value),
            Self::Count(low) => value >= f64::from(low),
        };
        is_inside && value.is_finite()
    }

    /// An error that names `parameter`, unless `value` is in the range.
    pub fn check(&self, parameter: &str, value: f64) -> Result<(), BadParameter> {
        BadParameter::unless(self.contains(value), parameter, value, self.to_string())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above(low) => write!(f, "a number above {low}"),
            Self::AtLeast(low) => write!(f, "a number of at least {low}"),
            Self::AboveUpTo(low, high) => write!(f, "a number above {low}, at most {high}"),
            Self::Within(low, high) => write!(f, "a number from {low} to {high}"),
            Self::Below(low, high) => write!(f, "a number of at least {low}, below {high}"),
            Self::Count(low) => write!(f, "at least {low}"),
        }
    }
}

/// Adds the limits to the schema of a number.
#[cfg(feature = "schemars")]
impl schemars::transform::Transform for Range {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        let limits = match *self {
            Self::Above(low) => vec![("exclusiveMinimum", low)],
            Self::AtLeast(low) => vec![("minimum", low)],
            Self::AboveUpTo(low, high) => vec![("exclusiveMinimum", low), ("maximum", high)],
            Self::Within(low, high) => vec![("minimum", low), ("maximum", high)],
            Self::Below(low, high) => vec![("minimum", low), ("exclusiveMaximum", high)],
            Self::Count(low) => vec![("minimum", low.into())],
        };
        for (key, value) in limits {
            // Whole limits without a decimal point, as people write them.
            let number = match value.fract() {
                0.0 => (value as i64).into(),
                _ => value.into(),
            };
            schema.insert(key.to_owned(), number);
        }
    }
}

/// Parameters whose ranges are known.
pub trait Ranges {
    /// Names the first parameter outside its range.
    fn check_ranges(&self) -> Result<(), BadParameter>;
}

/// A struct of parameters, with `Default` and [`Ranges`](crate::params::Ranges).
///
/// Each line is `name: type = default;` or `name: type = default, range;`, where `range` is a
/// [`Range`]. Attributes in front of the struct and of each field are kept.
///
/// ```
/// use npsvc::params::{Range, Ranges};
///
/// npsvc::parameters! {
///     /// Parameters of an example.
///     #[derive(Debug)]
///     pub struct Example {
///         /// Weight of the loss.
///         c: f64 = 1.0, Range::Above(0.0);
///         /// Whether to add a constant feature.
///         bias: bool = false;
///     }
/// }
/// let error = Example { c: -1.0, ..Example::default() }.check_ranges().unwrap_err();
/// assert_eq!(error.to_string(), "`c` is -1, expected a number above 0");
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty = $default:expr $(, $range:expr)? ; )*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        impl $crate::params::Ranges for $name {
            #[allow(clippy::unnecessary_cast, reason = "counts are compared as numbers")]
            fn check_ranges(&self) -> Result<(), $crate::BadParameter> {
                $( $( $range.check(stringify!($field), self.$field as f64)?; )? )*
                Ok(())
            }
        }
    };
}

/// [`parameters!`](crate::parameters) of a method: can be compared, and read and written with the feature `serde`.
macro_rules! method_parameters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty = $default:expr $(, $range:expr)? ; )*
        }
    ) => {
        $crate::parameters! {
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq)]
            #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields, default))]
            #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
            pub struct $name {
                $(
                    $(#[$field_meta])*
                    $(#[cfg_attr(feature = "schemars", schemars(transform = $range))])?
                    $field: $type = $default $(, $range)?;
                )*
            }
        }
    };
}
pub(crate) use method_parameters;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_what_their_text_says() {
        let cases = [
            (Range::Above(0.0), "a number above 0", [1e-300, 7.0], [0.0, -1.0]),
            (Range::AtLeast(0.0), "a number of at least 0", [0.0, 7.0], [-1e-300, -1.0]),
            (Range::AboveUpTo(0.0, 1.0), "a number above 0, at most 1", [0.5, 1.0], [0.0, 1.5]),
            (Range::Within(0.0, 1.0), "a number from 0 to 1", [0.0, 1.0], [-0.1, 1.1]),
            (Range::Below(0.0, 1.0), "a number of at least 0, below 1", [0.0, 0.9], [-0.1, 1.0]),
            (Range::Count(2), "at least 2", [2.0, 9.0], [1.0, 0.0]),
        ];
        for (range, text, inside, outside) in cases {
            assert_eq!(range.to_string(), text);
            assert!(inside.iter().all(|&value| range.contains(value)), "{text}");
            assert!(!outside.iter().any(|&value| range.contains(value)), "{text}");
            assert!(!range.contains(f64::NAN) && !range.contains(f64::INFINITY), "{text}");
        }
    }
}
