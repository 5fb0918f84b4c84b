//! The dimension `d` of the representation.

use std::fmt;

/// A number of dimensions, absolute or per class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// This number.
    Fixed(usize),
    /// This number times the number of classes.
    PerClass(usize),
}

impl Dimension {
    /// The number of dimensions for this number of classes.
    pub fn resolve(self, classes: usize) -> usize {
        match self {
            Self::Fixed(d) => d,
            Self::PerClass(factor) => factor.saturating_mul(classes),
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(d) => write!(f, "{d}"),
            Self::PerClass(factor) => write!(f, "{factor}K"),
        }
    }
}

#[cfg(feature = "serde")]
mod text {
    use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
    use serde::{Serialize, Serializer};

    use super::{Dimension, fmt};

    impl Serialize for Dimension {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Fixed(d) => serializer.serialize_u64(*d as u64),
                Self::PerClass(_) => serializer.collect_str(self),
            }
        }
    }

    impl<'de> Deserialize<'de> for Dimension {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(NumberOrMultiple)
        }
    }

    struct NumberOrMultiple;

    impl Visitor<'_> for NumberOrMultiple {
        type Value = Dimension;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number above 0, or a multiple of the classes such as `2K`")
        }

        fn visit_u64<E: Error>(self, d: u64) -> Result<Dimension, E> {
            match usize::try_from(d) {
                Ok(d) if d > 0 => Ok(Dimension::Fixed(d)),
                _ => Err(E::invalid_value(Unexpected::Unsigned(d), &self)),
            }
        }

        fn visit_i64<E: Error>(self, d: i64) -> Result<Dimension, E> {
            match u64::try_from(d) {
                Ok(d) => self.visit_u64(d),
                Err(_) => Err(E::invalid_value(Unexpected::Signed(d), &self)),
            }
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Dimension, E> {
            let digits = text.strip_suffix('K').unwrap_or_default();
            match digits.parse() {
                Ok(factor) if factor > 0 => Ok(Dimension::PerClass(factor)),
                _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
            }
        }
    }

    #[cfg(feature = "schemars")]
    impl schemars::JsonSchema for Dimension {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Dimension".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "anyOf": [
                    {"type": "integer", "minimum": 1},
                    {"type": "string", "pattern": "^[1-9][0-9]{0,5}K$"},
                ]
            })
        }
    }
}
