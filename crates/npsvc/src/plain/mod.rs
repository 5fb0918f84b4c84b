//! Objectives and dual bounds once more, by plain loops over the samples.
//!
//! This is slow, and it shares no code with kernels, algebra, solvers or methods. So it can check them: it
//! starts from the samples, and a [`Certificate`] that disagrees with it is wrong.
//!
//! ```
//! use npsvc::ndarray::array;
//! use npsvc::plain::{Samples, Solution, recompute};
//! use npsvc::{FitOptions, Kernel, Method, TrainingSet, Twsvm};
//!
//! let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
//! let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
//! let method = Twsvm::default();
//! let model = method.fit(&set, FitOptions::default())?;
//!
//! let problem = method.problem().ok_or("TWSVM has a plain problem")?;
//! let samples = Samples::new(&set, &Kernel::default());
//! let mut solution = Solution::of_model(&model);
//! let found = recompute(&problem, &samples, &solution)?;
//! assert_eq!(found.disagreement(&model.certificate()), None);
//! // Another hyperplane has another objective.
//! solution.coefficients[1][0] += 0.1;
//! let found = recompute(&problem, &samples, &solution)?;
//! assert!(found.disagreement(&model.certificate()).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod hyperplanes;
mod joint;
mod pairs;
mod ratio;
mod representation;
mod samples;

pub use samples::Samples;

use crate::kernel::GraphOptions;
use crate::{Certificate, Dissimilarity, Iteration, Model, Scheme, Similarity};

/// Two numbers agree if they differ by less than this share, or by less than rounding explains.
const RELATIVE: f64 = 1e-9;
/// Norms and constraints may be off by this share.
const CONSTRAINT: f64 = 1e-6;

/// What a method minimises, see [`Method::problem`](crate::Method::problem).
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// For each pair of classes, `1/2 |w|^2 + c sum_i [1 - y_i (<w, phi(x_i)> + b)]_+`.
    Pairs {
        /// Penalty for margin violations.
        c: f64,
    },
    /// For each class, `r/2 |f|^2 + mu/2 f^T L f` and the losses.
    Hyperplanes {
        /// Loss of similar samples.
        similarity: Similarity,
        /// Loss of dissimilar samples.
        dissimilarity: Dissimilarity,
        /// What the hyperplanes have in common.
        common: Common,
        /// Weight of the manifold term and its graph.
        manifold: Option<(f64, GraphOptions)>,
    },
    /// NHSVM: for each class, two hyperplanes `f` and `h` with a hinge between them.
    Joint {
        /// Weight of the hinge.
        c: f64,
        /// What the hyperplanes have in common.
        common: Common,
    },
    /// GEPSVM: for each class, `(sum_p f^2 + r |f|^2) / sum_q f^2`.
    Ratio {
        /// What the hyperplanes have in common.
        common: Common,
    },
    /// K-NPSVC++: the largest `J_l`.
    Representation {
        /// Weight of the dissimilarity loss.
        c: f64,
        /// Regulariser of `v_l`.
        r2: f64,
        /// Weight of the manifold term and its graph.
        manifold: (f64, GraphOptions),
        /// What the hyperplanes have in common; `r` is that of `w_l`.
        common: Common,
    },
}

/// What all nonparallel methods have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Common {
    /// Regulariser.
    pub r: f64,
    /// Which samples a hyperplane is close to.
    pub scheme: Scheme,
    /// Whether a constant feature is appended.
    pub bias: bool,
}

impl Common {
    fn is_similar(&self, class: usize, l: usize) -> bool {
        match self.scheme {
            Scheme::Ovr => class == l,
            Scheme::Rvo => class != l,
        }
    }

    /// What the constant feature adds to each kernel value.
    fn constant(&self) -> f64 {
        if self.bias { 1.0 } else { 0.0 }
    }
}

/// A point at which objectives are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// One vector per function, with a number for each sample of `support`.
    pub coefficients: Vec<Vec<f64>>,
    /// One number per function.
    pub offsets: Vec<f64>,
    /// The norms that a decision divides by; empty for votes and iterations.
    pub norms: Vec<f64>,
    /// Rows of the training set that functions are expansions in.
    pub support: Vec<usize>,
    /// What K-NPSVC++ needs as well.
    pub representation: Option<Representation>,
}

/// The representation of an iteration of K-NPSVC++.
#[derive(Clone, Debug, PartialEq)]
pub struct Representation {
    /// `A`: one vector per dimension, with a number for each sample.
    pub frame: Vec<Vec<f64>>,
    /// `V`: one vector per class, with a number for each dimension.
    pub v: Vec<Vec<f64>>,
    /// The weights of the classes.
    pub tau: Vec<f64>,
}

impl Solution {
    /// The functions of a model. For K-NPSVC++ use [`Self::of_iteration`].
    pub fn of_model(model: &Model) -> Self {
        let machine = model.machine();
        Self {
            coefficients: columns(machine.coefficients.as_ref()),
            offsets: machine.offsets.clone(),
            norms: machine.rule.norms().to_vec(),
            support: model.expansion_rows().to_vec(),
            representation: None,
        }
    }

    /// The variables of an iteration of K-NPSVC++.
    pub fn of_iteration(iteration: &Iteration<'_>) -> Self {
        let variables = &iteration.variables;
        let classes = variables.coefficients.ncols();
        Self {
            coefficients: columns(variables.coefficients),
            offsets: vec![0.0; classes],
            norms: Vec::new(),
            support: (0..variables.coefficients.nrows()).collect(),
            representation: Some(Representation {
                frame: columns(variables.frame.transpose()),
                v: columns(variables.v),
                tau: iteration.row.tau.clone(),
            }),
        }
    }

    /// Whether every training sample has a coefficient, in the order of the samples.
    fn is_complete(&self, samples: &Samples) -> bool {
        self.support.iter().copied().eq(0..samples.y.len())
    }
}

fn columns(m: faer::MatRef<'_, f64>) -> Vec<Vec<f64>> {
    (0..m.ncols()).map(|j| (0..m.nrows()).map(|i| m[(i, j)]).collect()).collect()
}

/// What the plain computation found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recomputed {
    /// The objective.
    pub primal: f64,
    /// The dual objective, where there is one: a lower bound on the smallest objective. For K-NPSVC++
    /// it is `sum_l tau_l J_l`, which bounds nothing.
    pub dual: Option<f64>,
    /// The objective of each class or pair.
    pub objectives: Vec<f64>,
    /// How much of the objectives rounding may explain.
    pub rounding: f64,
    /// Constraints that the solution breaks.
    pub broken: Vec<String>,
}

/// A problem that this module cannot compute, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unclear(String);

impl Recomputed {
    /// `primal - dual`.
    pub fn gap(&self) -> Option<f64> {
        self.dual.map(|dual| self.primal - dual)
    }

    /// How far the numbers of a certificate may be from these.
    pub fn slack(&self) -> f64 {
        self.rounding + RELATIVE * self.primal.abs()
    }

    /// What is wrong with a certificate, or with the solution that it belongs to.
    pub fn disagreement(&self, certificate: &Certificate) -> Option<String> {
        let Certificate { primal, dual, gap, .. } = *certificate;
        if let Some(broken) = self.broken.first() {
            return Some(broken.clone());
        }
        let slack = self.slack();
        let differ = |name: &str, recorded: f64, expected: f64| {
            // NaN and infinity differ from everything.
            let agrees = (recorded - expected).abs() <= slack;
            (!agrees).then(|| format!("the {name} is {recorded}, but should be {expected}"))
        };
        differ("objective", primal, self.primal)
            .or_else(|| differ("dual objective", dual, self.dual.unwrap_or(dual)))
            .or_else(|| differ("gap", gap, (primal - dual).max(0.0)))
    }

    /// Adds the numbers of an independent problem.
    fn add(&mut self, primal: f64, dual: Option<f64>, rounding: f64) {
        let is_first = self.objectives.is_empty();
        let sum = if is_first { Some(0.0) } else { self.dual };
        self.dual = sum.zip(dual).map(|(sum, dual)| sum + dual);
        self.primal += primal;
        self.rounding += rounding;
        self.objectives.push(primal);
    }

    /// Notes a constraint unless two numbers agree up to rounding.
    fn require(&mut self, name: &str, found: f64, expected: f64, scale: f64) {
        let agrees = (found - expected).abs() <= CONSTRAINT * scale.abs().max(f64::MIN_POSITIVE);
        if !agrees {
            self.broken.push(format!("{name} is {found}, but should be {expected}"));
        }
    }
}

/// The objective of `solution`, and the dual objective that follows from it.
pub fn recompute(
    problem: &Problem,
    samples: &Samples,
    solution: &Solution,
) -> Result<Recomputed, Unclear> {
    match problem {
        Problem::Pairs { c } => Ok(pairs::recompute(*c, samples, solution)),
        Problem::Hyperplanes { .. } => hyperplanes::recompute(problem, samples, solution),
        Problem::Joint { c, common } => joint::recompute(*c, common, samples, solution),
        Problem::Ratio { common } => Ok(ratio::recompute(common, samples, solution)),
        Problem::Representation { .. } => representation::recompute(problem, samples, solution),
    }
}
