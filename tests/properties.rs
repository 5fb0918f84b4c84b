//! Promise: on any small problem a method ends with a certified answer or a documented error, and the
//! answer depends on the samples, not on how they are arranged.
//!
//! The problems are drawn at random, but the same ones every time.

use faer::{Mat, Par};
use ndarray::{Array2, Axis};
use npsvcpp::kernel::{Gaussian, Kernel, Polynomial};
use npsvcpp::model::registry::{self, Configured};
use npsvcpp::model::{
    Dimension, Fit, FitError, KNpsvcpp, KernelMachine, Method, Problem, Rule, Start,
};
use npsvcpp::seed::Seed;
use npsvcpp::solve::box_qp::{self, Dense, Ending, Settings, Solution, Term};
use npsvcpp::solve::stiefel::Frame;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(2024),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Training samples of two or three classes, and samples to predict.
#[derive(Clone, Debug)]
struct Samples {
    x: Array2<f64>,
    y: Vec<usize>,
    classes: usize,
    test: Array2<f64>,
}

impl Samples {
    fn problem(&self, kernel: &Kernel, jitter: f64) -> Problem {
        Problem::new(
            self.x.clone(),
            self.y.clone(),
            self.classes,
            kernel,
            jitter,
            Par::Seq,
        )
    }

    fn reordered(&self, order: &[usize]) -> Self {
        Self {
            x: self.x.select(Axis(0), order),
            y: order.iter().map(|&i| self.y[i]).collect(),
            ..self.clone()
        }
    }
}

const TESTED: usize = 12;

/// Classes around different centres, overlapping.
fn samples(classes: impl Strategy<Value = usize>) -> impl Strategy<Value = Samples> {
    (classes, 3..8_usize, 1..4_usize)
        .prop_flat_map(|(classes, each, dims)| {
            let n = classes * each;
            let values = prop::collection::vec(-1.0..1.0_f64, (n + TESTED) * dims);
            (Just((classes, n, dims)), values)
        })
        .prop_map(|((classes, n, dims), values)| {
            let all = Array2::from_shape_vec((n + TESTED, dims), values).unwrap();
            let y: Vec<usize> = (0..n).map(|i| i % classes).collect();
            let centre = |class: usize, j: usize| if j % classes == class { 0.8 } else { 0.0 };
            let x = Array2::from_shape_fn((n, dims), |(i, j)| all[[i, j]] + centre(y[i], j));
            let test = Array2::from_shape_fn((TESTED, dims), |(i, j)| 1.5 * all[[n + i, j]]);
            Samples {
                x,
                y,
                classes,
                test,
            }
        })
}

/// An order of the samples for every problem, from numbers to sort by.
fn order(n: usize, keys: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| keys[i]);
    order
}

fn method(name: &str, params: &Value) -> Box<dyn Configured> {
    let entry = registry::find(name).unwrap();
    entry
        .configure(params)
        .unwrap_or_else(|error| panic!("{name} {params}: {error}"))
}

/// Every method, the nonparallel ones in both schemes, with accuracies that allow comparisons.
fn methods() -> Vec<(&'static str, Value)> {
    let mut all = vec![("svm", json!({"c": 1.0, "tolerance": 1e-9}))];
    for scheme in ["ovr", "rvo"] {
        let tight = json!({"tolerance": 1e-10, "scheme": scheme});
        for name in ["twsvm", "pintwsvm", "npsvm", "rmtbsvm", "ctwsvm", "nhsvm"] {
            all.push((name, tight.clone()));
        }
        for name in ["lstwsvm", "gepsvm"] {
            all.push((name, json!({"scheme": scheme})));
        }
        all.push((
            "k-npsvcpp",
            json!({"scheme": scheme, "d": 2, "qp_tolerance": 1e-10}),
        ));
    }
    all
}

fn gaussian() -> Kernel {
    Kernel::Gaussian(Gaussian::default())
}

fn is_finite(machine: &KernelMachine, decisions: &Mat<f64>) -> bool {
    let finite = |m: &Mat<f64>| {
        m.col_iter()
            .all(|c| c.iter().all(|value| value.is_finite()))
    };
    finite(&machine.coefficients) && finite(decisions)
}

/// The value of a certificate is a number, and the bound is on the right side of it.
fn assert_certified(name: &str, fit: &Fit) {
    let certificate = fit.certificate;
    let scale = certificate
        .primal
        .abs()
        .max(certificate.dual.abs())
        .max(1e-12);
    assert!(
        certificate.primal.is_finite() && certificate.dual.is_finite(),
        "{name}: {certificate:?}"
    );
    assert!(
        certificate.gap.is_finite() && certificate.gap >= -1e-9 * scale,
        "{name}: {certificate:?}"
    );
    let difference = certificate.primal - certificate.dual;
    assert!(
        (certificate.gap - difference).abs() <= 1e-8 * scale,
        "{name}: {certificate:?}"
    );
}

/// Scores whose smallest one wins: distances, or minus distances; for votes, minus the number won.
/// The margin tells how far the winner is from not winning.
fn winner_and_margin(machine: &KernelMachine, decisions: &Mat<f64>, i: usize) -> (usize, f64) {
    let scores: Vec<f64> = match &machine.rule {
        Rule::Nearest { norms } => (0..norms.len())
            .map(|l| decisions[(i, l)].abs() / norms[l])
            .collect(),
        Rule::Farthest { norms } => (0..norms.len())
            .map(|l| -decisions[(i, l)].abs() / norms[l])
            .collect(),
        // A vote turns over where a decision value changes its sign.
        Rule::Vote { .. } => {
            let values = (0..decisions.ncols()).map(|pair| decisions[(i, pair)].abs());
            return (usize::MAX, values.fold(f64::INFINITY, f64::min));
        }
    };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    (order[0], scores[order[1]] - scores[order[0]])
}

/// Asserts that two machines predict alike wherever `one` has a margin.
fn assert_alike(name: &str, one: (&KernelMachine, &Mat<f64>), other: (&KernelMachine, &Mat<f64>)) {
    const MARGIN: f64 = 1e-4;
    let (first, second) = (
        one.0.predict(one.1.as_ref(), Par::Seq),
        other.0.predict(other.1.as_ref(), Par::Seq),
    );
    let decisions = one.0.decision(one.1.as_ref(), Par::Seq);
    let mut compared = 0;
    for i in 0..first.len() {
        let (winner, margin) = winner_and_margin(one.0, &decisions, i);
        if margin > MARGIN {
            assert!(
                winner == usize::MAX || winner == first[i],
                "{name}: the rule is not obeyed"
            );
            assert_eq!(first[i], second[i], "{name}: sample {i}, margin {margin}");
            compared += 1;
        }
    }
    let enough = 2 * compared >= first.len();
    assert!(enough, "{name}: only {compared} samples have a margin");
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn certificates_hold(samples in samples(2..4_usize)) {
        let problem = samples.problem(&gaussian(), 1e-6);
        for (name, params) in methods() {
            let fit = method(name, &params).fit(&problem, &Seed::root(1)).unwrap();
            assert_certified(&format!("{name} {params}"), &fit);
        }
    }

    #[test]
    fn the_order_of_samples_does_not_matter(
        samples in samples(2..4_usize),
        keys in prop::collection::vec(any::<u32>(), 24),
    ) {
        let order = order(samples.y.len(), &keys);
        let problem = samples.problem(&gaussian(), 1e-6);
        let moved = samples.reordered(&order).problem(&gaussian(), 1e-6);
        let (cross, moved_cross) = (problem.cross(samples.test.view()), moved.cross(samples.test.view()));
        for (name, params) in methods() {
            if name == "k-npsvcpp" {
                continue;
            }
            let method = method(name, &params);
            let fit = method.fit(&problem, &Seed::root(1)).unwrap();
            let moved_fit = method.fit(&moved, &Seed::root(1)).unwrap();
            let name = format!("{name} {params}");
            assert_alike(&name, (&fit.machine, &cross), (&moved_fit.machine, &moved_cross));
        }
    }

    /// The random start belongs to the samples, so it is moved along with them.
    #[test]
    fn the_order_of_samples_does_not_matter_to_npsvcpp(
        samples in samples(2..4_usize),
        keys in prop::collection::vec(any::<u32>(), 24),
    ) {
        let order = order(samples.y.len(), &keys);
        let problem = samples.problem(&gaussian(), 1e-6);
        let moved = samples.reordered(&order).problem(&gaussian(), 1e-6);
        let (cross, moved_cross) = (problem.cross(samples.test.view()), moved.cross(samples.test.view()));
        let start = Start::random(&problem, 2, false, &Seed::root(1));
        let columns = |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, order[j])]);
        let moved_start = Start {
            frame: Frame { at: columns(&start.frame.at), atk: columns(&start.frame.atk) },
            v: start.v.clone(),
        };
        for scheme in ["ovr", "rvo"] {
            let params = json!({"scheme": scheme, "d": 2, "qp_tolerance": 1e-11});
            let method: KNpsvcpp = serde_json::from_value(params).unwrap();
            let fit = method.fit_from(&problem, &start).unwrap();
            let moved_fit = method.fit_from(&moved, &moved_start).unwrap();
            let (primal, moved_primal) = (fit.certificate.primal, moved_fit.certificate.primal);
            prop_assert!((primal - moved_primal).abs() <= 1e-5 * primal.abs());
            assert_alike(scheme, (&fit.machine, &cross), (&moved_fit.machine, &moved_cross));
        }
    }

    /// With two classes, the rest of one class is the other one. So hyperplane 0 of `rvo`, close to
    /// the rest of class 0, is hyperplane 1 of `ovr`, close to class 1, and the other way round: equal
    /// functions, equal norms, equal total objective. `ovr` predicts the class whose hyperplane is
    /// nearest, `rvo` the class whose hyperplane is farthest, that is not the nearest of the two: the
    /// same class, for a tie too.
    #[test]
    fn two_classes_make_both_schemes_one(samples in samples(2..3_usize), bias in any::<bool>()) {
        let problem = samples.problem(&gaussian(), 1e-6);
        let cross = problem.cross(samples.test.view());
        for name in ["twsvm", "pintwsvm", "npsvm", "lstwsvm", "nhsvm"] {
            let fit = |scheme: &str| {
                let mut params = json!({"scheme": scheme, "bias": bias});
                if name != "lstwsvm" {
                    params["tolerance"] = 1e-11.into();
                }
                method(name, &params).fit(&problem, &Seed::root(1)).unwrap()
            };
            let (ovr, rvo) = (fit("ovr"), fit("rvo"));
            let (primal, other) = (ovr.certificate.primal, rvo.certificate.primal);
            prop_assert!((primal - other).abs() <= 1e-8 * primal, "{name}: {primal} and {other}");
            let (Rule::Nearest { norms }, Rule::Farthest { norms: farthest }) =
                (&ovr.machine.rule, &rvo.machine.rule)
            else {
                panic!("{name}: ovr takes the nearest, rvo the farthest");
            };
            let (f, g) = (
                ovr.machine.decision(cross.as_ref(), Par::Seq),
                rvo.machine.decision(cross.as_ref(), Par::Seq),
            );
            for l in 0..2 {
                let size = norms[l].max(1.0);
                prop_assert!((norms[l] - farthest[1 - l]).abs() <= 1e-4 * size, "{name}");
                for i in 0..TESTED {
                    let (f, g) = (f[(i, l)], g[(i, 1 - l)]);
                    prop_assert!((f - g).abs() <= 1e-4 * size, "{name}: {f} and {g}");
                }
            }
            assert_alike(name, (&ovr.machine, &cross), (&rvo.machine, &cross));
        }
    }

    /// The Gaussian kernel knows distances only: features far from zero, or the same for all samples,
    /// change nothing. Distances used to drown in the rounding of large squares.
    #[test]
    fn the_origin_does_not_matter(samples in samples(2..4_usize), shift in 1e6..1e8_f64) {
        let mut far = samples.clone();
        far.x += shift;
        far.test += shift;
        let constant = |x: &Array2<f64>| {
            let column = Array2::from_elem((x.nrows(), 1), shift);
            ndarray::concatenate(Axis(1), &[x.view(), column.view()]).unwrap()
        };
        let wide = Samples { x: constant(&samples.x), test: constant(&samples.test), ..samples.clone() };
        let problem = samples.problem(&gaussian(), 1e-6);
        let cross = problem.cross(samples.test.view());
        for other in [far, wide] {
            let other_problem = other.problem(&gaussian(), 1e-6);
            let other_cross = other_problem.cross(other.test.view());
            let gram = (problem.gram(), other_problem.gram());
            for (j, column) in gram.0.col_iter().enumerate() {
                for (i, value) in column.iter().enumerate() {
                    // The shift itself costs the samples eight of their sixteen digits.
                    prop_assert!((value - gram.1[(i, j)]).abs() < 1e-5);
                }
            }
            let method = method("lstwsvm", &json!({}));
            let fit = method.fit(&problem, &Seed::root(1)).unwrap();
            let other_fit = method.fit(&other_problem, &Seed::root(1)).unwrap();
            let laplacian = (problem.laplacian(&Default::default()), other_problem.laplacian(&Default::default()));
            for i in 0..samples.y.len() {
                let columns = |row: &[(usize, f64)]| row.iter().map(|(j, _)| *j).collect::<Vec<_>>();
                prop_assert_eq!(columns(laplacian.0.row(i)), columns(laplacian.1.row(i)));
            }
            assert_alike("lstwsvm", (&fit.machine, &cross), (&other_fit.machine, &other_cross));
        }
    }
}

/// What may go wrong with a problem that gives a method no chance; anything else is a bug.
fn assert_documented(name: &str, error: &FitError) {
    let documented = matches!(
        error,
        FitError::NotPositiveDefinite { .. }
            | FitError::NotFinite
            | FitError::Kernel
            | FitError::Rank { .. }
            | FitError::Singular
    );
    assert!(documented, "{name}: {error}");
}

/// An answer that predicts, or an error that says why there is none.
fn assert_ends(name: &str, params: &Value, samples: &Samples, problem: &Problem) {
    let title = format!("{name} {params} on {:?}", problem.kernel());
    match method(name, params).fit(problem, &Seed::root(3)) {
        Err(error) => assert_documented(&title, &error),
        Ok(fit) => {
            assert_certified(&title, &fit);
            let cross = problem.cross(samples.test.view());
            let decisions = fit.machine.decision(cross.as_ref(), Par::Seq);
            assert!(
                is_finite(&fit.machine, &decisions),
                "{title}: a value is not a number"
            );
            let predicted = fit.machine.predict(cross.as_ref(), Par::Seq);
            assert!(
                predicted.iter().all(|&class| class < samples.classes),
                "{title}"
            );
        }
    }
}

/// Parameters from tiny to huge, as far as a method has them.
fn extremes() -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    for (name, _) in methods().into_iter().take(10) {
        let defaults = registry::find(name).unwrap().defaults();
        let schemes: &[&str] = if name == "svm" {
            &[""]
        } else {
            &["ovr", "rvo"]
        };
        for value in [1e-10, 1.0, 1e10] {
            for names in [
                &["c"][..],
                &["r", "delta", "r1", "r2"],
                &["mu", "epsilon", "gamma", "c1"],
            ] {
                for scheme in schemes {
                    let mut params = json!({});
                    for &parameter in names.iter().filter(|&&p| defaults.get(p).is_some()) {
                        params[parameter] = value.into();
                    }
                    if !scheme.is_empty() {
                        params["scheme"] = (*scheme).into();
                    }
                    if name == "k-npsvcpp" {
                        params["d"] = 2.into();
                    }
                    if name == "svm" {
                        params["max_iter"] = 100_000.into();
                    }
                    all.push((name, params));
                }
            }
        }
    }
    all
}

/// Problems that leave little to work with.
fn degenerate(samples: &Samples) -> Vec<Samples> {
    let n = samples.y.len();
    let with = |x: Array2<f64>| Samples {
        x,
        ..samples.clone()
    };
    let twice: Vec<usize> = (0..n).chain(0..n).collect();
    let mut constant = samples.x.clone();
    constant.column_mut(0).fill(3.0);
    // The same samples in all classes: no method can tell them apart.
    let shared = Array2::from_shape_fn(samples.x.dim(), |(i, j)| {
        samples.x[[i / samples.classes, j]]
    });
    let (zero, equal) = (samples.x.map(|_| 0.0), samples.x.map(|_| 0.1));
    let (tiny, large) = (samples.x.map(|v| 1e-200 * v), samples.x.map(|v| 1e60 * v));
    vec![
        samples.reordered(&twice),
        with(constant),
        with(shared),
        with(zero),
        with(equal),
        with(tiny),
        with(large),
    ]
}

fn kernels() -> [Kernel; 3] {
    let polynomial = Polynomial {
        degree: 2,
        ..Polynomial::default()
    };
    [gaussian(), Kernel::Linear, Kernel::Polynomial(polynomial)]
}

proptest! {
    #![proptest_config(cases(2))]

    #[test]
    fn extreme_parameters_end_in_an_answer_or_a_reason(samples in samples(2..4_usize)) {
        for kernel in &kernels() {
            let problem = samples.problem(kernel, 1e-6);
            for (name, params) in extremes() {
                assert_ends(name, &params, &samples, &problem);
            }
        }
    }

    #[test]
    fn degenerate_samples_end_in_an_answer_or_a_reason(samples in samples(2..4_usize)) {
        for bad in degenerate(&samples) {
            for kernel in &kernels() {
                for jitter in [0.0, 1e-6] {
                    let problem = bad.problem(kernel, jitter);
                    for (name, _) in methods().into_iter().take(10) {
                        let schemes: &[&str] = if name == "svm" { &[""] } else { &["ovr", "rvo"] };
                        for scheme in schemes {
                            let mut params = json!({});
                            if !scheme.is_empty() {
                                params["scheme"] = (*scheme).into();
                            }
                            if name == "k-npsvcpp" {
                                params["d"] = 3.into();
                            }
                            assert_ends(name, &params, &bad, &problem);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn more_dimensions_than_samples_are_refused() {
    let x = Array2::from_shape_fn((4, 1), |(i, _)| i as f64);
    let problem = Problem::new(x, vec![0, 0, 1, 1], 2, &gaussian(), 1e-6, Par::Seq);
    let method = KNpsvcpp {
        d: Dimension::PerClass(3),
        ..KNpsvcpp::default()
    };
    let error = Method::fit(&method, &problem, &Seed::root(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bad parameter: `d` is 3K = 6, expected at most the 4 training samples"
    );
}

/// A quadratic program `min 1/2 x^T Q x + sum h_i(x_i)`.
#[derive(Clone, Debug)]
struct Program {
    q: Mat<f64>,
    terms: Vec<Term>,
}

/// The terms of all convex methods, in their proper units.
fn term() -> impl Strategy<Value = Term> {
    let c = 0.05..3.0_f64;
    prop_oneof![
        c.clone().prop_map(Term::hinge),
        (c.clone(), 0.0..1.0_f64).prop_map(|(c, tau)| Term::pinball(c, tau)),
        (c.clone(), 0.0..0.5_f64).prop_map(|(c, epsilon)| Term::insensitive(c, epsilon)),
        c.prop_map(Term::square_to_one),
    ]
}

/// `Q = G G^T` of some rank, not above the size.
fn program(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Program> {
    (sizes, 1..9_usize)
        .prop_flat_map(|(n, rank)| {
            let entries = prop::collection::vec(-1.0..1.0_f64, n * rank);
            (entries, prop::collection::vec(term(), n))
        })
        .prop_map(|(entries, terms)| {
            let n = terms.len();
            let rank = entries.len() / n;
            let dot = |i: usize, j: usize| -> f64 {
                (0..rank)
                    .map(|k| entries[i * rank + k] * entries[j * rank + k])
                    .sum()
            };
            Program {
                q: Mat::from_fn(n, n, dot),
                terms,
            }
        })
}

impl Program {
    fn solve(&self, start: Option<&[f64]>) -> Solution {
        let settings = Settings {
            tolerance: 1e-9,
            ..Settings::default()
        };
        box_qp::solve(
            &Dense {
                matrix: self.q.as_ref(),
            },
            &self.terms,
            start,
            settings,
        )
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        (0..x.len())
            .map(|i| (0..x.len()).map(|j| self.q[(i, j)] * x[j]).sum())
            .collect()
    }

    fn value(&self, x: &[f64]) -> f64 {
        let y = self.times(x);
        let separable = |(term, &x): (&Term, &f64)| {
            term.linear * x + term.l1 * x.abs() + 0.5 * term.square * x * x
        };
        0.5 * x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>()
            + self.terms.iter().zip(x).map(separable).sum::<f64>()
    }

    /// The optimal value by accelerated proximal gradients, which know nothing of the solver's ways.
    fn by_gradients(&self) -> f64 {
        let n = self.terms.len();
        let trace: f64 = (0..n).map(|i| self.q[(i, i)]).sum();
        let steepest = self
            .terms
            .iter()
            .map(|term| term.square)
            .fold(0.0, f64::max);
        let step = 1.0 / (trace + steepest).max(1e-6);
        let (mut x, mut ahead, mut momentum) = (vec![0.0; n], vec![0.0; n], 1.0_f64);
        let mut best = self.value(&x);
        for _ in 0..20_000 {
            let y = self.times(&ahead);
            let next: Vec<f64> = (0..n)
                .map(|i| {
                    let term = &self.terms[i];
                    let free = ahead[i] - step * (y[i] + term.linear + term.square * ahead[i]);
                    let shrunk = free.signum() * (free.abs() - step * term.l1).max(0.0);
                    shrunk.clamp(term.low, term.high)
                })
                .collect();
            let later = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let carry = (momentum - 1.0) / later;
            ahead = next
                .iter()
                .zip(&x)
                .map(|(next, x)| next + carry * (next - x))
                .collect();
            (x, momentum) = (next, later);
            best = best.min(self.value(&x));
        }
        best
    }

    /// Box, image and certificate of a solution are what they say.
    fn check(&self, solution: &Solution) {
        let Solution {
            x,
            y,
            certificate,
            ending,
        } = solution;
        assert_eq!(*ending == Ending::Solved, certificate.converged);
        for (x, term) in x.iter().zip(&self.terms) {
            // A step adds a difference, so a bound is met up to rounding.
            let slack = 4.0 * f64::EPSILON * x.abs();
            let inside = *x >= term.low - slack && *x <= term.high + slack;
            assert!(inside, "{x} is not in {term:?}");
        }
        let size = x.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (y, exact) in y.iter().zip(self.times(x)) {
            assert!(
                (y - exact).abs() <= 1e-9 * size * x.len() as f64,
                "{y} is not {exact}"
            );
        }
        let scale = certificate.primal.abs().max(1e-3);
        assert!(certificate.gap >= 0.0 && certificate.gap.is_finite());
        assert!(
            (certificate.dual + self.value(x)).abs() <= 1e-8 * scale,
            "{certificate:?}"
        );
        assert!((certificate.primal - certificate.dual - certificate.gap).abs() <= 1e-8 * scale);
        assert!(certificate.converged, "{certificate:?}");
        assert!(certificate.gap <= 1e-8 * scale, "{certificate:?}");
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_box_qp_agrees_with_projected_gradients(program in program(1..9)) {
        let solution = program.solve(None);
        program.check(&solution);
        let (found, expected) = (program.value(&solution.x), program.by_gradients());
        prop_assert!((found - expected).abs() <= 1e-6 * (1.0 + expected.abs()), "{found} {expected}");
    }

    #[test]
    fn a_warm_start_ends_at_the_same_optimum(
        program in program(1..40),
        start in prop::collection::vec(-5.0..5.0_f64, 40),
    ) {
        let cold = program.solve(None);
        program.check(&cold);
        let warm = program.solve(Some(&start[..program.terms.len()]));
        program.check(&warm);
        let again = program.solve(Some(&cold.x));
        program.check(&again);
        let scale = 1.0 + cold.certificate.dual.abs();
        for other in [&warm, &again] {
            prop_assert!((other.certificate.dual - cold.certificate.dual).abs() <= 1e-7 * scale);
            // The values are unique even where the solution is not.
            for (one, other) in cold.y.iter().zip(&other.y) {
                prop_assert!((one - other).abs() <= 1e-3 * scale);
            }
        }
    }

    /// Many coordinates inside the box and a matrix of low rank: the hard case for single steps.
    #[test]
    fn large_boxes_are_solved_too(program in program(60..90), wide in 10.0..1e4_f64) {
        let mut program = program;
        for term in &mut program.terms {
            (term.low, term.high) = (wide * term.low, wide * term.high);
        }
        for i in 0..program.terms.len() {
            program.q[(i, i)] += 1e-3;
        }
        program.check(&program.solve(None));
    }
}
