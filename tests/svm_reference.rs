//! The foreign engines find LIBSVM's solution on 300 digits, as our own solver does.

mod support;

use faer::Par;
use npsvcpp::model::svm::Engine;
use npsvcpp::model::{self, Method, Problem, Svm};
use npsvcpp::seed::Seed;
use serde_json::Value;
use support::{Digits, labels, numbers, reference};

/// The digits and what LIBSVM makes of them.
struct Case {
    digits: Digits,
    problem: Problem,
    expect: Value,
}

fn case(par: Par) -> Case {
    let digits = Digits::load();
    Case {
        problem: digits.problem(par),
        digits,
        expect: reference("nonparallel_digits300.json")["expect"]["svm"].take(),
    }
}

impl Case {
    fn fit(&self, c: f64, tolerance: f64, engine: Engine) -> model::Fit {
        let svm = Svm {
            c,
            tolerance,
            engine,
            ..Svm::default()
        };
        svm.fit(&self.problem, &Seed::root(0)).unwrap()
    }

    fn predict(&self, fit: &model::Fit) -> Vec<usize> {
        let cross = self.problem.cross(self.digits.x_test.view());
        fit.machine.predict(cross.as_ref(), Par::Seq)
    }

    /// Samples of every class with a coefficient in any pair.
    fn n_support(&self, fit: &model::Fit) -> Vec<usize> {
        let mut count = vec![0; 10];
        for (i, &class) in self.problem.y().iter().enumerate() {
            let coefficients = &fit.machine.coefficients;
            if (0..coefficients.ncols()).any(|pair| coefficients[(i, pair)] != 0.0) {
                count[class] += 1;
            }
        }
        count
    }
}

fn reproduces_libsvm(engine: Engine) {
    let case = case(Par::Seq);
    for (c, key) in [(1.0, "C=1"), (10.0, "C=10")] {
        let expect = &case.expect[key];
        let fit = case.fit(c, 1e-8, engine);
        let certificate = fit.certificate;
        assert!(certificate.converged, "{key}: {certificate:?}");
        assert!(certificate.gap >= 0.0, "{key}: {certificate:?}");
        assert!(
            certificate.gap < 1e-6 * certificate.primal,
            "{key}: {certificate:?}"
        );

        let n_support = numbers(&expect["n_support"]);
        let found = case.n_support(&fit).into_iter().map(|n| n as f64);
        assert_eq!(found.collect::<Vec<_>>(), n_support, "{key}");
        let intercepts = numbers(&expect["intercept_by_pair"]);
        assert_eq!(fit.machine.offsets.len(), intercepts.len());
        for (pair, (found, expected)) in fit.machine.offsets.iter().zip(&intercepts).enumerate() {
            assert!(
                (found - expected).abs() < 1e-6,
                "{key}, pair {pair}: {found} instead of {expected}"
            );
        }
        let expected = labels(&expect["test_prediction"]);
        assert_eq!(case.predict(&fit), expected, "{key}");
    }
}

#[test]
fn the_libsvm_engine_finds_libsvms_solution() {
    reproduces_libsvm(Engine::Libsvm);
}

/// Its kernel matrix lacks the jitter of 1e-6, which is all that is left between them.
#[test]
fn the_linfa_engine_finds_nearly_libsvms_solution() {
    let case = case(Par::Seq);
    for (c, key) in [(1.0, "C=1"), (10.0, "C=10")] {
        let expect = &case.expect[key];
        let fit = case.fit(c, 1e-8, Engine::Linfa);
        assert!(fit.certificate.converged, "{key}: {:?}", fit.certificate);
        assert!(
            fit.certificate.gap < 1e-5 * fit.certificate.primal,
            "{key}: {:?}",
            fit.certificate
        );
        let intercepts = numbers(&expect["intercept_by_pair"]);
        for (found, expected) in fit.machine.offsets.iter().zip(&intercepts) {
            assert!((found - expected).abs() < 1e-5, "{key}: {found} {expected}");
        }
        let expected = labels(&expect["test_prediction"]);
        assert_eq!(case.predict(&fit), expected, "{key}");
    }
}
