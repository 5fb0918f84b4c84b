//! Nonparallel support vector classifiers with certificates.

pub mod kernel;
pub mod seed;
pub mod solve;
