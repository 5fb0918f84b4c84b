//! `svm`: one-versus-one support vector machines with hinge loss and bias.
//!
//! For every pair of classes `(a, b)`, with `y = +1` on `a` and `-1` on `b`,
//!
//! ```text
//! min_{w, b}  1/2 |w|^2 + c sum_i [1 - y_i (<w, phi(x_i)> + b)]_+
//! ```
//!
//! over the samples of both classes; a sample is given to the class that wins most pairs. Unlike
//! the nonparallel methods, one hyperplane separates two classes instead of approximating one.
//!
//! Three engines solve the same problem, so that each can be checked against the others:
//!
//! | engine | kernel values | limits |
//! |---|---|---|
//! | `smo` ([`crate::solve::smo`]) | the shared kernel matrix | none known |
//! | `libsvm` (crate libsvm-rs) | the shared kernel matrix, rounded to single precision | copies the matrix of every pair several times; ignores `max_iter` (it has its own limit of 10^7); reports no iterations |
//! | `linfa` (crate linfa-svm) | computed by itself, without jitter | slow; shrinking is switched off, as it panics; polynomial kernels need `scale > 0`; ignores `max_iter`; reports no iterations |
//!
//! The certificate of a fit sums over the pairs and is computed by this crate for every engine,
//! from the shared kernel matrix.

mod engines;

use faer::{Mat, Par};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine::pairs;
use super::{BadParameter, Cost, Fit, FitError, KernelMachine, Method, Problem, Rule, Shape};
use crate::seed::Seed;
use crate::solve::Certificate;
use crate::solve::smo::{CACHE_BYTES, Stop, Task};

/// Parameters of the support vector machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Svm {
    /// Price of a margin violation.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Largest accepted violation of the optimality condition.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
    /// Most steps per pair of classes; only `smo` obeys it.
    #[schemars(range(min = 1))]
    pub max_iter: usize,
    /// Who solves the optimisation problems.
    pub engine: Engine,
}

impl Default for Svm {
    fn default() -> Self {
        Self {
            c: 1.0,
            tolerance: 1e-3,
            max_iter: 10_000_000,
            engine: Engine::default(),
        }
    }
}

/// A solver of the two-class problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// This crate's own, on the kernel matrix all pairs share.
    #[default]
    Smo,
    /// The crate libsvm-rs, a port of LIBSVM.
    Libsvm,
    /// The crate linfa-svm.
    Linfa,
}

/// The solution of one pair of classes.
struct Binary {
    /// Signed multipliers, in the order of the pair's samples.
    beta: Vec<f64>,
    offset: f64,
    certificate: Certificate,
}

impl Method for Svm {
    const NAME: &'static str = "svm";
    const TITLE: &'static str = "SVM";
    const ABOUT: &'static str = "one-versus-one C-SVC: hinge loss, bias (Cortes and Vapnik, 1995)";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("tolerance", self.tolerance)?;
        BadParameter::unless(
            self.max_iter > 0,
            "max-iter",
            self.max_iter,
            "a number of at least 1",
        )
    }

    fn fit(&self, problem: &Problem, _seed: &Seed) -> Result<Fit, FitError> {
        self.check()?;
        let Shape { n, classes, .. } = problem.shape();
        let members: Vec<Vec<usize>> = (0..classes).map(|l| problem.members(l)).collect();
        if let Some(class) = members.iter().position(Vec::is_empty) {
            return Err(FitError::EmptyClass { class });
        }
        let pairs: Vec<(usize, usize)> = pairs(classes).collect();
        let samples: Vec<Vec<usize>> = pairs
            .iter()
            .map(|&(a, b)| [members[a].as_slice(), &members[b]].concat())
            .collect();

        // Made before the pairs run side by side, by all threads at once.
        let gram = problem.gram();
        let solve = |(&(a, _), samples): (&(usize, usize), &Vec<usize>)| {
            let task = Task {
                gram,
                samples,
                positives: members[a].len(),
                c: self.c,
            };
            self.solve(problem, &task)
        };
        let solved: Vec<Result<Binary, FitError>> = match problem.par() {
            Par::Seq => pairs.iter().zip(&samples).map(solve).collect(),
            Par::Rayon(_) => pairs.par_iter().zip(&samples).map(solve).collect(),
        };
        let solved: Vec<Binary> = solved.into_iter().collect::<Result<_, _>>()?;
        Ok(assemble(n, classes, &samples, &solved))
    }

    fn cost(&self, shape: Shape) -> Cost {
        let (n, classes) = (shape.n as f64, shape.classes.max(2) as f64);
        let pairs = classes * (classes - 1.0) / 2.0;
        let samples = 2.0 * n / classes;
        // About as many steps as samples, each of which reads a few columns.
        let flops = pairs * 10.0 * samples * samples;
        let coefficients = 8.0 * n * pairs;
        let scratch = match self.engine {
            Engine::Smo => (8.0 * samples * samples).min(CACHE_BYTES as f64),
            // Index and value of every entry, copied three times.
            Engine::Libsvm => 48.0 * samples * samples,
            Engine::Linfa => 8.0 * samples * (samples + shape.dims as f64),
        };
        let side_by_side = pairs.min(rayon::current_num_threads() as f64);
        Cost {
            flops,
            bytes: 2.0 * coefficients + scratch * side_by_side,
        }
    }
}

impl Svm {
    fn solve(&self, problem: &Problem, task: &Task<'_>) -> Result<Binary, FitError> {
        let binary = match self.engine {
            Engine::Smo => {
                let solution = task.solve(Stop {
                    tolerance: self.tolerance,
                    max_iter: self.max_iter,
                });
                Binary {
                    beta: solution.beta,
                    offset: solution.offset,
                    certificate: solution.certificate,
                }
            }
            Engine::Libsvm => engines::libsvm(task, self.tolerance)?,
            Engine::Linfa => engines::linfa(task, problem, self.tolerance)?,
        };
        if binary.certificate.gap.is_finite() && binary.offset.is_finite() {
            Ok(binary)
        } else {
            Err(FitError::NotFinite)
        }
    }
}

/// One column of coefficients per pair, zero for the samples of other classes.
fn assemble(n: usize, classes: usize, samples: &[Vec<usize>], solved: &[Binary]) -> Fit {
    let mut coefficients = Mat::zeros(n, solved.len());
    for (pair, (samples, binary)) in samples.iter().zip(solved).enumerate() {
        for (&i, &beta) in samples.iter().zip(&binary.beta) {
            coefficients[(i, pair)] = beta;
        }
    }
    Fit {
        machine: KernelMachine {
            coefficients,
            offsets: solved.iter().map(|binary| binary.offset).collect(),
            rule: Rule::Vote { classes },
        },
        certificate: Certificate::total(solved.iter().map(|binary| binary.certificate)),
        trace: Vec::new(),
    }
}
