//! The dimension `d` of the representation.

use std::fmt;

/// A number of dimensions, absolute or per class.
///
/// ```
/// use npsvc::Dimension;
///
/// let d = Dimension::PerClass(2);
/// assert_eq!((d.to_string(), d.resolve(10)), ("2K".to_owned(), 20));
/// ```
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
