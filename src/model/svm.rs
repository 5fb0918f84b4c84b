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
    const LOSSES: [&'static str; 2] = ["–", "[1 − a]₊ on the margin of a pair"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("tolerance", self.tolerance)?;
        BadParameter::unless(
            self.max_iter > 0,
            "max_iter",
            self.max_iter,
            "a number of at least 1",
        )
    }

    fn check_shape(&self, shape: Shape) -> Result<(), BadParameter> {
        // It computes the kernel by itself, which a factor replaces.
        let is_possible = self.engine != Engine::Linfa || shape.rank.is_none();
        BadParameter::unless(
            is_possible,
            "engine",
            "linfa",
            "`smo` or `libsvm` with a pivoted `factor`, for the training samples",
        )
    }

    fn fit(&self, problem: &Problem, _seed: &Seed) -> Result<Fit, FitError> {
        self.check()?;
        self.check_shape(problem.shape())?;
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
        // The pairs run on the matrix itself, also where there is a factor of it.
        let matrix = shape.rank.map_or(0.0, |_| 8.0 * n * n);
        let side_by_side = pairs.min(rayon::current_num_threads() as f64);
        Cost {
            flops,
            bytes: matrix + 2.0 * coefficients + scratch * side_by_side,
        }
    }
}

impl Svm {
    fn solve(&self, problem: &Problem, task: &Task<'_>) -> Result<Binary, FitError> {
        // The other engines would stumble about for as long as their iteration limits allow.
        if self.engine != Engine::Smo && !engines::finite(task) {
            return Err(FitError::NotFinite);
        }
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
        learnt: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, Polynomial};
    use ndarray::{Array2, Axis};
    use proptest::prelude::*;

    const ENGINES: [Engine; 3] = [Engine::Smo, Engine::Libsvm, Engine::Linfa];

    fn problem(x: Array2<f64>, y: &[usize], kernel: &Kernel, par: Par) -> Problem {
        let classes = y.iter().max().map_or(0, |last| last + 1);
        Problem::new(x, y.to_vec(), classes, kernel, 1e-6, par)
    }

    fn fit(svm: &Svm, problem: &Problem) -> Result<Fit, FitError> {
        svm.fit(problem, &Seed::root(0))
    }

    /// Decision values on the training samples, the jitter left out.
    fn decision(fit: &Fit, problem: &Problem) -> Mat<f64> {
        let cross = problem.cross(problem.x());
        fit.machine.decision(cross.as_ref(), Par::Seq)
    }

    fn farthest(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
        assert_eq!((a.nrows(), a.ncols()), (b.nrows(), b.ncols()));
        let difference = a - b;
        difference.norm_max()
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let named = |svm: Svm| svm.check().unwrap_err().parameter;
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let (c, tolerance) = (bad, bad);
            assert_eq!(
                named(Svm {
                    c,
                    ..Svm::default()
                }),
                "c"
            );
            assert_eq!(
                named(Svm {
                    tolerance,
                    ..Svm::default()
                }),
                "tolerance"
            );
        }
        assert_eq!(
            named(Svm {
                max_iter: 0,
                ..Svm::default()
            }),
            "max_iter"
        );
        assert!(Svm::default().check().is_ok());
        let problem = problem(Array2::eye(2), &[0, 1], &Kernel::Linear, Par::Seq);
        let error = fit(
            &Svm {
                c: -1.0,
                ..Svm::default()
            },
            &problem,
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "bad parameter: `c` is -1, expected a number above 0"
        );
    }

    #[test]
    fn specs_name_engines_in_lower_case_and_know_no_other_keys() {
        let svm: Svm =
            serde_json::from_str(r#"{"c": 10, "engine": "libsvm", "max_iter": 5}"#).unwrap();
        assert_eq!((svm.c, svm.engine, svm.max_iter), (10.0, Engine::Libsvm, 5));
        assert_eq!(svm.tolerance, 1e-3);
        assert!(serde_json::from_str::<Svm>(r#"{"C": 10}"#).is_err());
    }

    #[test]
    fn a_class_without_samples_is_an_error() {
        let problem = problem(Array2::eye(2), &[0, 2], &Kernel::Linear, Par::Seq);
        let error = fit(&Svm::default(), &problem).unwrap_err();
        assert!(
            matches!(error, FitError::EmptyClass { class: 1 }),
            "{error}"
        );
    }

    #[test]
    fn two_samples_are_enough_for_every_engine() {
        let x = Array2::from_shape_vec((2, 1), vec![0.0, 4.0]).unwrap();
        for engine in ENGINES {
            let problem = problem(x.clone(), &[1, 0], &Kernel::Linear, Par::Seq);
            let fit = fit(
                &Svm {
                    engine,
                    c: 5.0,
                    tolerance: 1e-9,
                    ..Svm::default()
                },
                &problem,
            )
            .unwrap();
            // Halfway between the samples, at margin 1: f(x) = x / 2 - 1 for class 0 at 4.
            let f = decision(&fit, &problem);
            assert!((f[(0, 0)] + 1.0).abs() < 1e-5, "{engine:?}: {f:?}");
            assert!((f[(1, 0)] - 1.0).abs() < 1e-5, "{engine:?}: {f:?}");
            assert!(
                fit.certificate.converged,
                "{engine:?}: {:?}",
                fit.certificate
            );
        }
    }

    #[test]
    fn a_kernel_that_overflows_is_an_error_for_every_engine() {
        let x = Array2::from_shape_vec((4, 1), vec![1e200, -1e200, 2e200, 1.0]).unwrap();
        let kernel = Kernel::Polynomial(Polynomial {
            degree: 4,
            ..Polynomial::default()
        });
        for engine in ENGINES {
            let problem = problem(x.clone(), &[0, 1, 0, 1], &kernel, Par::Seq);
            let error = fit(
                &Svm {
                    engine,
                    ..Svm::default()
                },
                &problem,
            )
            .unwrap_err();
            assert!(matches!(error, FitError::NotFinite), "{engine:?}: {error}");
        }
    }

    #[test]
    fn linfa_refuses_the_kernel_it_cannot_compute() {
        let kernel = Kernel::Polynomial(Polynomial {
            scale: -1.0,
            ..Polynomial::default()
        });
        let problem = problem(Array2::eye(2), &[0, 1], &kernel, Par::Seq);
        let error = fit(
            &Svm {
                engine: Engine::Linfa,
                ..Svm::default()
            },
            &problem,
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "linfa-svm failed: its polynomial kernel needs a scale above 0, found -1"
        );
    }

    #[test]
    fn constant_features_leave_only_the_bias() {
        // The larger class of each pair: with equal samples there is nothing else to go by.
        let problem = problem(
            Array2::ones((9, 3)),
            &[0, 0, 1, 1, 1, 2, 2, 2, 2],
            &Kernel::default(),
            Par::Seq,
        );
        let fit = fit(&Svm::default(), &problem).unwrap();
        assert!(fit.certificate.converged);
        let cross = problem.cross(problem.x());
        assert_eq!(fit.machine.predict(cross.as_ref(), Par::Seq), [2; 9]);
    }

    prop_compose! {
        /// Points of three classes, each with at least two.
        fn samples()(extra in 0..20_usize)(
            x in prop::collection::vec(-2.0..2.0, 2 * (6 + extra)),
            more in prop::collection::vec(0..3_usize, extra),
        ) -> (Array2<f64>, Vec<usize>) {
            let y: Vec<usize> = [0, 1, 2, 0, 1, 2].into_iter().chain(more).collect();
            (Array2::from_shape_vec((y.len(), 2), x).expect("two numbers a sample"), y)
        }
    }

    /// How far decisions lie apart of machines that got the same samples in another order.
    fn apart_when_rotated(x: &Array2<f64>, y: &[usize], c: f64, rotate: usize) -> f64 {
        let n = y.len();
        let order: Vec<usize> = (0..n).map(|i| (i + rotate) % n).collect();
        let svm = Svm {
            c,
            tolerance: 1e-9,
            ..Svm::default()
        };
        let given = problem(x.clone(), y, &Kernel::default(), Par::Seq);
        let moved_y: Vec<usize> = order.iter().map(|&i| y[i]).collect();
        let moved = problem(
            x.select(Axis(0), &order),
            &moved_y,
            &Kernel::default(),
            Par::Seq,
        );
        let (a, b) = (fit(&svm, &given).unwrap(), fit(&svm, &moved).unwrap());
        let f = decision(&a, &given);
        let expected = Mat::from_fn(n, f.ncols(), |i, l| f[(order[i], l)]);
        farthest(&decision(&b, &moved), &expected)
    }

    #[test]
    fn a_variable_that_rounding_keeps_from_its_bound_does_not_fix_the_bias() {
        let x = ndarray::array![
            [-0.7730408260208942, -1.4036553951595931],
            [-0.05770006656976977, 1.8913873321505066],
            [0.5938882674761297, 1.6116758166014522],
            [0.2960380013698974, 1.3517121615360914],
            [-1.8261115854278427, 0.0],
            [0.5345571098428239, 1.989925560118293],
        ];
        let apart = apart_when_rotated(&x, &[0, 1, 2, 0, 1, 2], 19.374019703453726, 1);
        assert!(apart < 1e-5, "{apart}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_number_of_threads_does_not_matter((x, y) in samples(), c in 0.1..100.0) {
            let svm = Svm { c, ..Svm::default() };
            let [one, two] = [Par::Seq, Par::rayon(2)].map(|par| {
                let problem = problem(x.clone(), &y, &Kernel::default(), par);
                fit(&svm, &problem).map(|fit| (fit.machine.coefficients, fit.machine.offsets, fit.certificate))
            });
            prop_assert_eq!(one.unwrap(), two.unwrap());
        }

        #[test]
        fn the_order_of_samples_does_not_matter((x, y) in samples(), c in 0.1..100.0, rotate in 0..26_usize) {
            let apart = apart_when_rotated(&x, &y, c, rotate);
            prop_assert!(apart < 1e-5, "{apart}");
        }

        #[test]
        fn engines_agree((x, y) in samples(), exponent in -2.0..1.0) {
            let c = 10_f64.powf(exponent);
            let kernels = [
                Kernel::default(),
                Kernel::Linear,
                Kernel::Polynomial(Polynomial { degree: 2, offset: 1.0, scale: 0.5 }),
            ];
            for kernel in kernels {
                let problem = problem(x.clone(), &y, &kernel, Par::Seq);
                let [smo, libsvm, linfa] = ENGINES.map(|engine| {
                    fit(&Svm { c, engine, ..Svm::default() }, &problem)
                        .expect("all three can solve this")
                        .certificate
                });
                for other in [libsvm, linfa] {
                    prop_assert!(smo.converged && other.converged, "{smo:?} {other:?}");
                    // Both are within their gaps of the same optimum.
                    let allowed = smo.gap + other.gap + 1e-9 * smo.primal;
                    prop_assert!((smo.primal - other.primal).abs() <= allowed, "{smo:?} {other:?}");
                    // A margin may be off by the tolerance, in the two pairs a sample is part of.
                    let most = 2.0 * (1e-3 + 1e-5) * c * y.len() as f64;
                    prop_assert!(other.gap >= 0.0 && other.gap <= most, "{other:?}");
                }
            }
        }

        #[test]
        fn tiny_and_huge_c_end_with_a_certificate((x, y) in samples(), exponent in -300.0..12.0) {
            // Each sample twice, once in a wrong class: no c separates them.
            let x = ndarray::concatenate(Axis(0), &[x.view(), x.view()]).expect("equal widths");
            let y: Vec<usize> = y.iter().copied().chain(y.iter().map(|l| (l + 1) % 3)).collect();
            let problem = problem(x, &y, &Kernel::default(), Par::Seq);
            let svm = Svm { c: 10_f64.powf(exponent), max_iter: 100_000, ..Svm::default() };
            let certificate = fit(&svm, &problem).unwrap().certificate;
            prop_assert!(certificate.gap >= 0.0 && certificate.primal.is_finite());
            prop_assert!(certificate.iterations <= 3 * svm.max_iter);
            if exponent < 3.0 {
                prop_assert!(certificate.converged, "{certificate:?}");
            }
        }
    }
}
