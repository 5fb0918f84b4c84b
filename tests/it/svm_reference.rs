//! The foreign engines find LIBSVM's solution on 300 digits, as our own solver does.

use crate::support::{Digits, labels, numbers, reference};
use npsvc::{FitOptions, Method, Model, TrainingSet};
use npsvcpp::methods::{Engine, Svm};
use serde_json::Value;

/// The digits and what LIBSVM makes of them.
struct Case {
    digits: Digits,
    set: TrainingSet,
    expect: Value,
}

fn case() -> Case {
    let digits = Digits::load();
    Case {
        set: digits.set(),
        digits,
        expect: reference("nonparallel_digits300.json")["expect"]["svm"].take(),
    }
}

impl Case {
    fn fit(&self, c: f64, tolerance: f64, engine: Engine) -> Model {
        let svm = Svm { c, tolerance, engine, ..Svm::default() };
        svm.fit(&self.set, FitOptions::default()).unwrap()
    }

    fn predict(&self, model: &Model) -> Vec<usize> {
        model.predict(self.digits.x_test.view()).unwrap()
    }

    /// Samples of every class with a coefficient in any pair.
    fn n_support(&self, model: &Model) -> Vec<usize> {
        let mut count = vec![0; 10];
        for i in model.support() {
            count[self.set.y()[i]] += 1;
        }
        count
    }
}

fn reproduces_libsvm(engine: Engine) {
    let case = case();
    for (c, key) in [(1.0, "C=1"), (10.0, "C=10")] {
        let expect = &case.expect[key];
        let model = case.fit(c, 1e-8, engine);
        let certificate = model.certificate();
        assert!(certificate.converged(), "{key}: {certificate:?}");
        assert!(certificate.gap >= 0.0, "{key}: {certificate:?}");
        assert!(certificate.gap < 1e-6 * certificate.primal, "{key}: {certificate:?}");

        let n_support = numbers(&expect["n_support"]);
        let found = case.n_support(&model).into_iter().map(|n| n as f64);
        assert_eq!(found.collect::<Vec<_>>(), n_support, "{key}");
        let intercepts = numbers(&expect["intercept_by_pair"]);
        assert_eq!(model.machine().offsets.len(), intercepts.len());
        for (pair, (found, expected)) in model.machine().offsets.iter().zip(&intercepts).enumerate()
        {
            assert!(
                (found - expected).abs() < 1e-6,
                "{key}, pair {pair}: {found} instead of {expected}"
            );
        }
        let expected = labels(&expect["test_prediction"]);
        assert_eq!(case.predict(&model), expected, "{key}");
    }
}

#[test]
fn the_libsvm_engine_finds_libsvms_solution() {
    reproduces_libsvm(Engine::Libsvm);
}

/// Its kernel matrix lacks the jitter of 1e-6, which is all that is left between them.
#[test]
fn the_linfa_engine_finds_nearly_libsvms_solution() {
    let case = case();
    for (c, key) in [(1.0, "C=1"), (10.0, "C=10")] {
        let expect = &case.expect[key];
        let model = case.fit(c, 1e-8, Engine::Linfa);
        let certificate = model.certificate();
        assert!(certificate.converged(), "{key}: {certificate:?}");
        assert!(certificate.gap < 1e-5 * certificate.primal, "{key}: {certificate:?}");
        let intercepts = numbers(&expect["intercept_by_pair"]);
        for (found, expected) in model.machine().offsets.iter().zip(&intercepts) {
            assert!((found - expected).abs() < 1e-5, "{key}: {found} {expected}");
        }
        let expected = labels(&expect["test_prediction"]);
        assert_eq!(case.predict(&model), expected, "{key}");
    }
}
