//! The convex nonparallel methods reach Clarabel's optima, summed over the classes, and its
//! predictions. No class can be better than its optimum, so the excess of the sum bounds that of each.

mod support;

use faer::Par;
use npsvcpp::model::{Fit, Lstwsvm, Method, Npsvm, Pintwsvm, Scheme, Twsvm};
use npsvcpp::seed::Seed;
use serde_json::Value;
use support::{Digits, labels, numbers, reference};

const TOLERANCE: f64 = 1e-8;

fn check(name: &str, fit: impl Fn(&npsvcpp::model::Problem, Scheme) -> Fit) {
    let digits = Digits::load();
    let problem = digits.problem(Par::Seq);
    let cross = problem.cross(digits.x_test.view());
    let file = reference("nonparallel_digits300.json");
    for scheme in [Scheme::Ovr, Scheme::Rvo] {
        let expected = &file["expect"][name][scheme.name()];
        let fit = fit(&problem, scheme);
        check_sum(name, &expected["objective_by_class"], &fit);
        let predicted = fit.machine.predict(cross.as_ref(), Par::Seq);
        assert_eq!(
            predicted,
            labels(&expected["test_prediction"]),
            "{name} {}",
            scheme.name()
        );
    }
}

fn check_sum(name: &str, expected: &Value, fit: &Fit) {
    let expected: f64 = numbers(expected).iter().sum();
    let certificate = fit.certificate;
    let relative = (certificate.primal - expected).abs() / expected;
    assert!(
        relative < 1e-6,
        "{name}: {} instead of {expected}",
        certificate.primal
    );
    assert!(certificate.converged, "{name}: {certificate:?}");
    assert!(
        certificate.gap >= 0.0 && certificate.gap < 1e-6 * expected,
        "{certificate:?}"
    );
}

#[test]
fn twsvm() {
    check("twsvm", |problem, scheme| {
        let method = Twsvm {
            c: 2.0,
            r: 0.2,
            scheme,
            tolerance: TOLERANCE,
            ..Default::default()
        };
        method.fit(problem, &Seed::root(0)).unwrap()
    });
}

#[test]
fn lstwsvm() {
    check("lstwsvm", |problem, scheme| {
        let method = Lstwsvm {
            c: 2.0,
            r: 0.2,
            scheme,
            ..Default::default()
        };
        method.fit(problem, &Seed::root(0)).unwrap()
    });
}

#[test]
fn npsvm() {
    check("npsvm", |problem, scheme| {
        let method = Npsvm {
            c: 2.0,
            c1: 1.0,
            epsilon: 0.1,
            r: 0.2,
            scheme,
            tolerance: TOLERANCE,
            ..Default::default()
        };
        method.fit(problem, &Seed::root(0)).unwrap()
    });
}

#[test]
fn pintwsvm() {
    check("pintwsvm", |problem, scheme| {
        let method = Pintwsvm {
            c: 2.0,
            tau: 0.5,
            r: 0.2,
            scheme,
            tolerance: TOLERANCE,
            ..Default::default()
        };
        method.fit(problem, &Seed::root(0)).unwrap()
    });
}
