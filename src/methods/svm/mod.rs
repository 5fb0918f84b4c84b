//! `svm`: the one-versus-one SVM of npsvc, or that of another crate, so that each can be checked against the
//! others.
//!
//! | engine | kernel values | limits |
//! |---|---|---|
//! | `smo` ([`npsvc::Svm`]) | the shared kernel matrix | none known |
//! | `libsvm` (crate libsvm-rs) | the shared kernel matrix, rounded to single precision | copies the matrix of every pair several times; ignores `max_iter` (it has its own limit of 10^7); reports no iterations |
//! | `linfa` (crate linfa-svm) | computed by linfa-svm, without jitter | slow; shrinking is switched off, because it panics; ignores `max_iter`; reports no iterations |
//!
//! The certificate sums over the pairs. It is computed from the shared kernel matrix for every engine.

mod engines;
#[cfg(test)]
mod tests;

use npsvc::params::{Range, Ranges};
use npsvc::{
    BadParameter, ChainKey, FitError, FitOptions, Method, MethodInfo, Shape, Trained, TrainingSet,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec_parameters;

spec_parameters! {
    /// Parameters of the support vector machine.
    pub struct Svm {
        /// Penalty for margin violations.
        c: f64 = 1.0, Range::Above(0.0);
        /// Largest accepted violation of the optimality condition.
        tolerance: f64 = 1e-3, Range::Above(0.0);
        /// Largest number of steps per pair of classes; only `smo` obeys it.
        max_iter: usize = 10_000_000, Range::Count(1);
        /// Solver of the two-class problems.
        engine: Engine = Engine::Smo;
    }
}

/// A solver of the two-class problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// This project's own, on the kernel matrix that all pairs share.
    #[default]
    Smo,
    /// The crate libsvm-rs, a port of LIBSVM.
    Libsvm,
    /// The crate linfa-svm.
    Linfa,
}

impl Svm {
    /// The same method of npsvc.
    fn own(&self) -> npsvc::Svm {
        npsvc::Svm { c: self.c, tolerance: self.tolerance, max_iter: self.max_iter }
    }
}

impl Method for Svm {
    fn info(&self) -> &'static MethodInfo {
        self.own().info()
    }

    fn check(&self, shape: Option<Shape>) -> Result<(), BadParameter> {
        self.check_ranges()?;
        // linfa-svm computes the kernel, and a factor replaces the kernel.
        let has_factor = shape.is_some_and(|shape| shape.rank.is_some());
        BadParameter::unless(
            self.engine != Engine::Linfa || !has_factor,
            "engine",
            "linfa",
            "`smo` or `libsvm` with a pivoted `factor`, for the training samples",
        )
    }

    fn chain_key(&self) -> ChainKey {
        ChainKey::new(&Self { c: 0.0, ..self.clone() }, &[self.c], 0.0)
    }

    fn train(&self, set: &TrainingSet, options: &mut FitOptions<'_>) -> Result<Trained, FitError> {
        match self.engine {
            Engine::Smo => self.own().train(set, options),
            Engine::Libsvm => npsvc::Svm::train_with(self.c, set, options, |dual| {
                engines::libsvm(dual, self.tolerance)
            }),
            Engine::Linfa => npsvc::Svm::train_with(self.c, set, options, |dual| {
                engines::linfa(dual, set, self.tolerance)
            }),
        }
    }
}
