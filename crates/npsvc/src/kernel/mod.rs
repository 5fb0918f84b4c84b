//! Kernels, kernel matrices, their pivoted factors, and the neighbour graph.

mod exponential;
mod fitted;
mod graph;
mod pivoted;

pub use fitted::{FittedKernel, mean_squared_distance, view};
pub use graph::{GraphOptions, GraphWeights, Laplacian};
pub use pivoted::PivotedFactor;

use crate::BadParameter;
use crate::params::Range;

/// A kernel function `k(x, x')`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(from = "crate::text::Kernel", into = "crate::text::Kernel")
)]
pub enum Kernel {
    /// `exp(-|x - x'|^2 / t)`.
    Gaussian {
        /// The width t.
        width: Width,
    },
    /// `<x, x'>`.
    Linear,
    /// `(scale <x, x'> + offset)^degree`. It is positive semidefinite if `scale > 0` and `offset >= 0`;
    /// certificates hold only then.
    Polynomial {
        /// Exponent, at least one.
        degree: u32,
        /// Constant added to the inner product.
        offset: f64,
        /// Factor of the inner product.
        scale: f64,
    },
}

impl Default for Kernel {
    fn default() -> Self {
        Self::Gaussian {
            width: Width::default(),
        }
    }
}

impl Kernel {
    /// Names the first parameter outside its range.
    pub fn check(&self) -> Result<(), BadParameter> {
        let finite = |name: &str, value: f64| {
            BadParameter::unless(value.is_finite(), name, value, "a finite number")
        };
        match *self {
            Self::Gaussian {
                width: Width::Fixed(width),
            } => Range::Above(0.0).check("width", width),
            Self::Gaussian { .. } | Self::Linear => Ok(()),
            Self::Polynomial {
                degree,
                offset,
                scale,
            } => {
                finite("offset", offset)?;
                finite("scale", scale)?;
                Range::Within(1.0, 20.0).check("degree", f64::from(degree))
            }
        }
    }
}

/// The width of a Gaussian kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Width {
    /// The mean of all squared distances between training samples, as in the paper.
    #[default]
    MeanSquaredDistance,
    /// A given number.
    Fixed(f64),
}
