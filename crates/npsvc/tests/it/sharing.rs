//! Fits of a sweep share factors, the graph and starting solutions. They give the same numbers as fits
//! that share nothing.

use npsvc::{Chain, FitOptions, Method, Model, Rmtbsvm, Seed, Sweep, TrainingSet};
use serde_json::{Value, json};

use super::digits::Digits;
use super::samples::values;
use super::support::{fit, method};

const SEED: u64 = 3;

/// Fits each point twice: in a chain, and alone on a new set.
struct Both<'a> {
    digits: &'a Digits,
    set: &'a TrainingSet,
    chain: Chain<'a>,
}

impl<'a> Both<'a> {
    fn new(digits: &'a Digits, set: &'a TrainingSet, sweep: &'a Sweep<'a>) -> Self {
        Self { digits, set, chain: sweep.chain() }
    }

    fn fit(&mut self, name: &str, params: &Value) -> [Model; 2] {
        let method = method(name, params);
        let shared = self.chain.fit(&*method, &Seed::root(SEED));
        let alone = fit(name, params, &self.digits.set(), SEED);
        [shared.unwrap(), alone]
    }

    fn values(&self, model: &Model) -> faer::Mat<f64> {
        values(self.set, model, self.digits.x_test.view())
    }
}

/// Fits all points in one chain of a sweep, and each on a new set.
fn check(name: &str, points: &[Value]) {
    let digits = Digits::load();
    let set = digits.set();
    let sweep = set.sweep();
    let mut both = Both::new(&digits, &set, &sweep);
    for params in points {
        let [shared, alone] = both.fit(name, params);
        assert!(shared.certificate().gap >= 0.0);
        let (one, other) = (both.values(&shared), both.values(&alone));
        let apart = (&one - &other).norm_max() / other.norm_max();
        assert!(apart < 1e-4, "{name} {params}: {apart}");
        assert_eq!(
            shared.predict(digits.x_test.view()),
            alone.predict(digits.x_test.view()),
            "{name} {params}"
        );
    }
}

fn grid(scheme: &str, r: &str, tolerance: &str) -> Vec<Value> {
    let mut points = Vec::new();
    for value in [0.05, 0.5] {
        for c in [0.1, 1.0, 10.0] {
            points.push(json!({"scheme": scheme, "c": c, r: value, tolerance: 1e-9}));
        }
    }
    points
}

#[test]
fn convex_methods() {
    for scheme in ["ovr", "rvo"] {
        for name in ["twsvm", "npsvm", "pintwsvm"] {
            check(name, &grid(scheme, "r", "tolerance"));
        }
    }
}

#[test]
fn fits_along_gamma_share_their_iterations_to_the_bit() {
    let digits = Digits::load();
    let set = digits.set();
    let sweep = set.sweep();
    let mut both = Both::new(&digits, &set, &sweep);
    for scheme in ["ovr", "rvo"] {
        // Values of gamma with the same iterations, fewer, more and others, then the first value again.
        for (gamma, tau_momentum, max_iter) in [
            (0.0, 1.0, 4),
            (4.0, 1.0, 4),
            (5.0, 1.0, 2),
            (40.0, 1.0, 6),
            (40.0, 0.75, 6),
            (4.0, 1.0, 4),
        ] {
            let params = json!({
                "scheme": scheme, "gamma": gamma, "tau_momentum": tau_momentum,
                "max_iter": max_iter, "tolerance": 0.0,
            });
            let [shared, alone] = both.fit("k-npsvcpp", &params);
            assert_eq!(shared.trace(), alone.trace(), "{params}");
            assert_eq!(both.values(&shared), both.values(&alone), "{params}");
        }
    }
}

#[test]
fn k_npsvcpp() {
    for scheme in ["ovr", "rvo"] {
        check("k-npsvcpp", &grid(scheme, "r1", "qp_tolerance"));
    }
}

#[test]
fn a_bound_that_no_multiplier_comes_near_changes_nothing() {
    let digits = Digits::load();
    for (scheme, qp_tolerance, within) in
        [("ovr", 1e-9, 1e-6), ("rvo", 1e-9, 1e-6), ("rvo", 1e-5, 1e-3)]
    {
        let set = digits.set();
        let sweep = set.sweep();
        let mut both = Both::new(&digits, &set, &sweep);
        let mut along_c = |c: f64| {
            let params =
                json!({"scheme": scheme, "c": c, "max_iter": 3, "qp_tolerance": qp_tolerance});
            let [shared, alone] = both.fit("k-npsvcpp", &params);
            let values = [both.values(&shared), both.values(&alone)];
            (shared, alone, values)
        };
        let (largest, ..) = along_c(1000.0);
        let (large, alone, [one, other]) = along_c(100.0);
        // Both points have one fit, and it equals a fit alone.
        assert_eq!(large.trace(), largest.trace());
        let primal = alone.certificate().primal;
        assert!((large.certificate().primal - primal).abs() < within * primal);
        let apart = (one - &other).norm_max() / other.norm_max();
        assert!(apart < within, "{scheme}: {apart}");
        // Here the bound matters.
        let (small, alone, _) = along_c(0.01);
        assert_eq!(small.trace(), alone.trace());
        assert!(small.certificate().primal < 0.9 * largest.certificate().primal);
        // The fit of the smaller `c` proves nothing about a larger one.
        let (again, alone, _) = along_c(0.1);
        assert_eq!(again.trace(), alone.trace());
    }
}

#[test]
fn fits_of_rmtbsvm_share_the_deformed_kernel_to_the_bit() {
    let digits = Digits::load();
    let set = digits.set();
    let sweep = set.sweep();
    let mut both = Both::new(&digits, &set, &sweep);
    for (c, r, mu, bias) in [
        (1.0, 0.1, 0.01, false),
        (10.0, 0.1, 0.01, false),
        (10.0, 0.1, 0.1, false),
        (10.0, 0.1, 0.1, true),
        (1.0, 0.5, 0.1, true),
        (1.0, 0.1, 0.01, false),
    ] {
        let params = json!({"c": c, "r": r, "mu": mu, "bias": bias, "max_iter": 2});
        let [shared, alone] = both.fit("rmtbsvm", &params);
        assert_eq!(both.values(&shared), both.values(&alone), "{params}");
    }
    // Chains share it too: `epsilon` does not change it.
    let grid = [(0.2, 0.1), (0.5, 0.1), (0.2, 0.05), (0.5, 0.05)];
    let grid = grid.map(|(epsilon, r)| Rmtbsvm { epsilon, r, max_iter: 2, ..Rmtbsvm::default() });
    let points: Vec<&dyn Method> = grid.iter().map(|point| point as _).collect();
    for threads in [1, 3] {
        let set = digits.set().with_threads(threads);
        let coefficients = |model: Model| model.machine().coefficients.clone();
        let seed = Seed::root(SEED);
        let shared = set.sweep().run(&points, &seed, |_, model| coefficients(model.unwrap()));
        for (method, shared) in points.iter().zip(shared) {
            let alone = method.fit(&digits.set(), FitOptions::default()).unwrap();
            assert_eq!(shared, coefficients(alone), "{threads} threads");
        }
    }
}

/// Threads that wait for the kernel matrix must not wait for each other.
#[test]
fn a_sweep_with_many_threads_and_chains_ends() {
    let digits = Digits::load();
    let set = digits.set().with_threads(4);
    let grid: Vec<npsvc::Twsvm> = (1..=8)
        .map(|k| npsvc::Twsvm {
            r: 0.1 * f64::from(k),
            scheme: npsvc::Scheme::Rvo,
            ..Default::default()
        })
        .collect();
    let points: Vec<&dyn Method> = grid.iter().map(|point| point as _).collect();
    let gaps = set
        .sweep()
        .run(&points, &npsvc::Seed::root(0), |_, model| model.unwrap().certificate().gap);
    assert_eq!(gaps.len(), 8);
}
