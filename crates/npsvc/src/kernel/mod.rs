//! Kernels, kernel matrices, their pivoted factors, and the neighbour graph.
//!
//! A [`TrainingSet`](crate::TrainingSet) computes all of these when they are needed. They can also be
//! used alone:
//!
//! ```
//! use npsvc::faer::Par;
//! use npsvc::kernel::{FittedKernel, GraphOptions, Laplacian, PivotedFactor};
//! use npsvc::ndarray::array;
//!
//! let x = array![[0.0], [1.0], [3.0], [4.0]];
//! let kernel = FittedKernel::Polynomial { degree: 2, offset: 1.0, scale: 1.0 };
//! let k = kernel.gram(x.view(), 0.0, Par::Seq);
//! assert_eq!(k[(1, 2)], 16.0);
//! // In one dimension, a polynomial of degree 2 has three coefficients.
//! let factor = PivotedFactor::new(&kernel, x.view(), None, 1e-9, Par::Seq);
//! assert_eq!(factor.rank(), 3);
//! let laplacian = Laplacian::new(x.view(), &GraphOptions::default(), Par::Seq);
//! assert_eq!(laplacian.row(1)[1], (1, 1.0));
//! ```

mod exponential;
mod fitted;
mod graph;
mod pivoted;

pub use fitted::FittedKernel;
pub use graph::{GraphOptions, GraphWeights, Laplacian};
pub use pivoted::PivotedFactor;

use crate::BadParameter;
use crate::params::Range;

/// A kernel function `k(x, x')`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Kernel {
    /// `exp(-|x - x'|^2 / t)`.
    Gaussian {
        /// The width t: a positive number, or `mean-squared-distance` of the training samples.
        #[cfg_attr(feature = "serde", serde(default))]
        width: Width,
    },
    /// `<x, x'>`.
    Linear,
    /// `(scale <x, x'> + offset)^degree`.
    Polynomial {
        /// Exponent.
        #[cfg_attr(feature = "serde", serde(default = "three"))]
        #[cfg_attr(feature = "schemars", schemars(range(min = 1, max = 20)))]
        degree: u32,
        /// Constant added to the inner product.
        #[cfg_attr(feature = "serde", serde(default = "one"))]
        #[cfg_attr(feature = "schemars", schemars(transform = Range::AtLeast(0.0)))]
        offset: f64,
        /// Factor of the inner product.
        #[cfg_attr(feature = "serde", serde(default = "one"))]
        #[cfg_attr(feature = "schemars", schemars(transform = Range::Above(0.0)))]
        scale: f64,
    },
}

#[cfg(feature = "serde")]
fn three() -> u32 {
    3
}

#[cfg(feature = "serde")]
fn one() -> f64 {
    1.0
}

impl Default for Kernel {
    fn default() -> Self {
        Self::Gaussian { width: Width::default() }
    }
}

impl Kernel {
    /// Names the first parameter outside its range.
    ///
    /// ```
    /// use npsvc::{Kernel, Width};
    ///
    /// let error = Kernel::Gaussian { width: Width::Fixed(-1.0) }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "`width` is -1, expected a number above 0");
    /// ```
    pub fn check(&self) -> Result<(), BadParameter> {
        match *self {
            Self::Gaussian { width: Width::Fixed(width) } => {
                Range::Above(0.0).check("width", width)
            }
            Self::Gaussian { .. } | Self::Linear => Ok(()),
            Self::Polynomial { degree, offset, scale } => {
                // With other numbers, the kernel may be indefinite.
                Range::AtLeast(0.0).check("offset", offset)?;
                Range::Above(0.0).check("scale", scale)?;
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
