//! Methods: parameters, fit and prediction, one file each; [`registry`] lists them.
//!
//! Every method of this crate ends as a [`KernelMachine`]: functions `f_l(x) = sum_i b_il k(x_i, x)
//! + o_l` and a rule that turns their values into a class.

mod ctwsvm;
mod gepsvm;
mod k_npsvcpp;
pub mod linfa;
mod lstwsvm;
mod machine;
mod nhsvm;
mod nonparallel;
mod npsvm;
mod pintwsvm;
mod plane;
mod problem;
pub mod registry;
mod reweighted;
mod rmtbsvm;
pub mod svm;
mod twsvm;

pub use ctwsvm::Ctwsvm;
pub use gepsvm::Gepsvm;
pub use k_npsvcpp::{Dimension, Gpi, KNpsvcpp, Start};
pub use lstwsvm::Lstwsvm;
pub use machine::{KernelMachine, Rule, pairs};
pub use nhsvm::Nhsvm;
pub use npsvm::Npsvm;
pub use pintwsvm::Pintwsvm;
pub use problem::Problem;
pub use rmtbsvm::Rmtbsvm;
pub use svm::Svm;
pub use twsvm::Twsvm;

use faer::{Mat, MatRef, Par};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::kernel::LowRank;
use crate::kernel::algebra::add_product;
use crate::seed::Seed;
use crate::solve::Certificate;

/// A classification method. The implementing type is its parameter set.
///
/// Parameters are plain data: deserialised from a spec, then checked by [`Method::check`] before
/// anything is computed, so `fit` never sees a bad value.
pub trait Method:
    Serialize + DeserializeOwned + JsonSchema + Clone + Default + Send + Sync + 'static
{
    /// Name in specs, such as `twsvm`.
    const NAME: &'static str;
    /// Name in tables, such as `TWSVM`.
    const TITLE: &'static str;
    /// One line: losses and source.
    const ABOUT: &'static str;
    /// Losses of `a = f_l(x)` on samples the hyperplane is close to and far from, as in the paper's
    /// Table 1, with margin `s`.
    const LOSSES: [&'static str; 2] = ["–", "–"];
    /// Whether it learns a representation, which can be recorded.
    const LEARNS: bool = false;
    /// Raised when the same parameters give other numbers; part of a cell's identity.
    const VERSION: u32;
    /// The parameters along which fits of a sweep follow each other, because one can use what others
    /// before it found; the last one changes first.
    const ALONG: &'static [Along] = &[Along::Up("c")];

    /// Names the first parameter that is out of its range.
    fn check(&self) -> Result<(), BadParameter>;

    /// As [`Method::check`], but against a training set of this shape.
    fn check_shape(&self, shape: Shape) -> Result<(), BadParameter> {
        let _ = shape;
        Ok(())
    }

    /// Trains on `problem`; every random choice comes from `seed`.
    fn fit(&self, problem: &Problem, seed: &Seed) -> Result<Fit, FitError>;

    /// Rough cost of a fit, for the plan and the memory budget.
    fn cost(&self, shape: Shape) -> Cost;

    /// The multi-class scheme, where the method has one.
    fn scheme(&self) -> Option<Scheme> {
        None
    }
}

/// A parameter, and whether fits follow each other from its smallest value or its largest.
#[derive(Clone, Copy, Debug)]
pub enum Along {
    Up(&'static str),
    Down(&'static str),
}

/// A trained method.
#[derive(Clone, Debug)]
pub struct Fit {
    pub machine: KernelMachine,
    pub certificate: Certificate,
    /// Per-iteration record, for methods that keep one.
    pub trace: Vec<TraceRow>,
    /// The representation, for methods that learn one.
    pub learnt: Option<Learnt>,
}

/// A learnt representation and the way to it.
#[derive(Clone, Debug)]
pub struct Learnt {
    /// `A` and offsets such that `z(x) = A^T k(X, x) + offsets`; one row per sample of the expansion.
    pub frame: Mat<f64>,
    pub offsets: Vec<f64>,
    /// The machine after each iteration, as it would be had that been the last; none in a sweep.
    pub steps: Vec<KernelMachine>,
}

impl Learnt {
    /// `z`, samples in rows, from kernel values `k(x, x_i)` with samples in rows.
    pub fn features(&self, cross: MatRef<'_, f64>, par: Par) -> Mat<f64> {
        let mut z = Mat::from_fn(cross.nrows(), self.offsets.len(), |_, j| self.offsets[j]);
        add_product(z.as_mut(), 1.0, cross, self.frame.as_ref(), par);
        z
    }
}

impl Fit {
    /// An error unless all that is predicted with and vouched for is finite.
    fn require_finite(&self) -> Result<(), FitError> {
        let Certificate {
            primal, dual, gap, ..
        } = self.certificate;
        let machine = &self.machine;
        let mut numbers = [primal, dual, gap].into_iter().chain(
            (machine.coefficients.col_iter())
                .flat_map(|column| column.iter().copied())
                .chain(machine.offsets.iter().copied()),
        );
        if numbers.all(f64::is_finite) {
            Ok(())
        } else {
            Err(FitError::NotFinite)
        }
    }
}

impl Fit {
    /// Expansions in all training samples become expansions in the pivots of the kernel's factor,
    /// with the same values.
    fn move_to_pivots(&mut self, low: &LowRank, par: Par) {
        let on_pivots = |coefficients: &mut Mat<f64>| {
            *coefficients = low.on_pivots(coefficients.as_ref(), par);
        };
        on_pivots(&mut self.machine.coefficients);
        if let Some(learnt) = &mut self.learnt {
            on_pivots(&mut learnt.frame);
            for step in &mut learnt.steps {
                on_pivots(&mut step.coefficients);
            }
        }
    }
}

/// [`Method::fit`] where neither the kernel matrix nor the answer holds anything but numbers.
fn fit_finite<M: Method>(method: &M, problem: &Problem, seed: &Seed) -> Result<Fit, FitError> {
    problem.require_finite_kernel()?;
    let mut fit = method.fit(problem, seed)?;
    fit.require_finite()?;
    if let Some(low) = problem.low_rank() {
        fit.move_to_pivots(low, problem.par());
    }
    Ok(fit)
}

/// One iteration of a method with an outer loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceRow {
    pub iteration: usize,
    /// `max_l J_l`.
    pub primal: f64,
    /// `sum_l tau_l J_l`.
    pub dual: f64,
    /// `J_l` of every class.
    pub objectives: Vec<f64>,
    /// The weights used in this iteration.
    pub tau: Vec<f64>,
    /// The optimum of this iteration's tau-step, before momentum.
    pub tau_star: Vec<f64>,
    /// Norm of the combined Riemannian gradient under `tau_star`.
    pub gradient_norm: f64,
    /// The manifold term `mu/2 tr(Z L Z^T)` contained in every objective.
    pub manifold: f64,
    /// Percent of the test samples classified correctly after this iteration, where asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Time that this iteration took, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Samples, dimensions and classes of a training set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub n: usize,
    pub dims: usize,
    pub classes: usize,
    /// Columns of the kernel matrix's factor, where it has one.
    pub rank: Option<usize>,
}

/// What a fit costs beyond the kernel matrix it is given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub flops: f64,
    pub bytes: f64,
}

/// Which samples hyperplane `l` is close to.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, serde::Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// One versus rest, the paper's text: close to class `l`, far from the others; predicts the
    /// nearest hyperplane.
    #[default]
    Ovr,
    /// Rest versus one, the authors' code: close to all other classes, far from class `l`;
    /// predicts the farthest hyperplane.
    Rvo,
}

impl Scheme {
    /// The name in specs and ledgers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ovr => "ovr",
            Self::Rvo => "rvo",
        }
    }
}

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{parameter}` is {found}, expected {expected}")]
pub struct BadParameter {
    pub parameter: &'static str,
    pub found: String,
    pub expected: String,
}

impl BadParameter {
    /// Checks that `value` is a finite number above zero.
    pub fn unless_positive(parameter: &'static str, value: f64) -> Result<(), Self> {
        Self::unless(
            value.is_finite() && value > 0.0,
            parameter,
            value,
            "a number above 0",
        )
    }

    /// Checks that `value` is a finite number, zero or above.
    pub fn unless_not_negative(parameter: &'static str, value: f64) -> Result<(), Self> {
        Self::unless(
            value.is_finite() && value >= 0.0,
            parameter,
            value,
            "a number of at least 0",
        )
    }

    /// The general form: an error naming `parameter` unless `holds`.
    pub fn unless(
        holds: bool,
        parameter: &'static str,
        found: impl ToString,
        expected: impl Into<String>,
    ) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self {
                parameter,
                found: found.to_string(),
                expected: expected.into(),
            })
        }
    }
}

/// Why a fit ended without a model.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    #[error("bad parameter: {0}")]
    Parameter(#[from] BadParameter),
    #[error("the kernel matrix holds a value that is not finite; scale the features down")]
    Kernel,
    #[error("class {class} has no training sample in this split")]
    EmptyClass { class: usize },
    #[error("the kernel matrix plus {ridge} I is not positive definite (pivot {pivot})")]
    NotPositiveDefinite { ridge: f64, pivot: usize },
    #[error("{engine} failed: {message}")]
    Engine {
        engine: &'static str,
        message: String,
    },
    #[error(
        "`d` is {d}, but the kernel matrix has a numerical rank of only {rank}; \
         lower `d` or raise `jitter`"
    )]
    Rank { d: usize, rank: usize },
    #[error(
        "the learnt representation is lost in rounding errors because the kernel matrix is \
         singular; raise `jitter`"
    )]
    Singular,
    #[error("the fit produced a value that is not a number; try a larger regulariser")]
    NotFinite,
}
