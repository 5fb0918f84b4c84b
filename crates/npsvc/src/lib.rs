//! Nonparallel support vector classifiers with certificates.

#![warn(missing_docs)]

// Unit tests share files with the integration tests, which name the crate.
#[cfg(test)]
extern crate self as npsvc;

pub mod algebra;
mod certificate;
mod error;
pub mod kernel;
#[cfg(feature = "linfa")]
pub mod linfa;
mod memo;
mod method;
mod methods;
mod model;
pub mod params;
mod scheme;
pub mod seed;
pub mod solve;
mod sweep;
#[cfg(feature = "serde")]
mod text;
mod training_set;

pub use certificate::{Certificate, Termination};
pub use error::{BadParameter, DataError, FitError};
pub use kernel::{Kernel, Width};
pub use method::{Fit, FitOptions, Info, Iteration, Method, TraceRow};
pub use methods::{
    Ctwsvm, Dimension, Dissimilarity, Gepsvm, Gpi, KNpsvcpp, Lstwsvm, Nhsvm, Npsvm, Pintwsvm,
    Rmtbsvm, Similarity, Svm, Twsvm,
};
pub use model::{Cross, KernelMachine, LoadError, Model, Representation, Rule, pairs};
pub use ndarray;
pub use scheme::Scheme;
pub use seed::Seed;
pub use sweep::{Chain, ChainKey, Sweep};
pub use training_set::{FactorReport, Shape, Storage, TrainingSet};
