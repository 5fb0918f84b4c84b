//! Nonparallel support vector classifiers with certificates.

#![warn(missing_docs)]

pub mod algebra;
pub mod certificate;
pub mod kernel;
pub mod seed;
pub mod solve;
#[cfg(feature = "serde")]
mod text;

pub use certificate::{Certificate, Termination};
