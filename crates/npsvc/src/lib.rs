//! Nonparallel support vector classifiers with certificates: TWSVM and its family, K-NPSVC++, and the
//! one-versus-one SVM.
//!
//! # Mathematics
//!
//! A nonparallel method has one hyperplane `f_l(x) = sum_i b_il k(x_i, x)` per class `l`. It is close
//! to the similar samples, those of class `l`, and far from the dissimilar ones:
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + sum_similar S(f_l(x_i)) + sum_dissimilar D(f_l(x_j))
//! ```
//!
//! Methods differ in the losses `S` and `D`, see [`Similarity`] and [`Dissimilarity`]. A sample belongs
//! to the class of the nearest hyperplane, `argmin_l |f_l(x)| / |f_l|`. [`Scheme::Rvo`] swaps the two
//! kinds of samples and predicts the class of the farthest hyperplane. [`KNpsvcpp`] learns a
//! representation as well.
//!
//! # Example
//!
//! A [`TrainingSet`] holds samples, classes and a [`Kernel`]. A [`Method`] is a struct of parameters. A
//! fit returns a [`Model`], which predicts. Its [`Certificate`] bounds the error of the solver.
//!
//! ```
//! use npsvc::ndarray::array;
//! use npsvc::{FitOptions, Kernel, Method, TrainingSet, Twsvm};
//!
//! let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
//! let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
//! let method = Twsvm { c: 2.0, tolerance: 1e-8, ..Twsvm::default() };
//! let model = method.fit(&set, FitOptions::default())?;
//!
//! assert_eq!(model.predict(array![[0.1, 0.1], [0.9, 0.9]].view())?, [0, 1]);
//! let certificate = model.certificate();
//! assert!(certificate.converged() && certificate.gap <= 1e-7 * certificate.primal);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Solvers
//!
//! The solvers in [`solve`] can be used without a method: box QPs, SMO, QPs on the simplex, the largest
//! eigenvalue, and orthonormal frames.

#![warn(missing_docs)]

// Unit tests share files with the integration tests, which name the crate.
#[cfg(test)]
extern crate self as npsvc;

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod algebra;
mod certificate;
mod error;
pub mod kernel;
#[cfg(feature = "linfa")]
pub mod learner;
mod memo;
mod method;
mod methods;
mod model;
pub mod params;
pub mod plain;
mod scheme;
pub mod seed;
pub mod solve;
mod sweep;
#[cfg(feature = "serde")]
mod text;
mod training_set;

pub use certificate::{Certificate, Termination};
pub use error::{BadParameter, DataError, FitError};
pub use faer;
pub use kernel::{Kernel, Width};
#[cfg(feature = "linfa")]
pub use linfa;
pub use method::{FitOptions, Iteration, Method, MethodInfo, TraceRow, Trained};
pub use methods::*;
pub use model::{CrossKernel, KernelMachine, LoadError, Model, Representation, Rule, pairs};
pub use ndarray;
pub use scheme::Scheme;
pub use seed::Seed;
pub use sweep::{Chain, ChainKey, Sweep};
pub use training_set::{Shape, Storage, TrainingSet};
