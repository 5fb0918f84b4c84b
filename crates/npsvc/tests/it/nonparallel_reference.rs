//! The convex nonparallel methods reach Clarabel's optima, summed over the classes, and give its
//! predictions. No class can be better than its optimum, so the excess of the sum bounds the excess of
//! every class.

use npsvc::{FitOptions, Lstwsvm, Method, Model, Npsvm, Pintwsvm, Scheme, TrainingSet, Twsvm};
use serde_json::Value;

use super::digits::{Digits, labels, numbers, reference};

const TOLERANCE: f64 = 1e-8;

fn check(name: &str, fit: impl Fn(&TrainingSet, Scheme) -> Model) {
    let digits = Digits::load();
    let set = digits.set();
    let file = reference("nonparallel_digits300.json");
    for scheme in [Scheme::Ovr, Scheme::Rvo] {
        let expected = &file["expect"][name][scheme.name()];
        let model = fit(&set, scheme);
        check_sum(name, &expected["objective_by_class"], &model);
        let predicted = model.predict(digits.x_test.view()).unwrap();
        assert_eq!(predicted, labels(&expected["test_prediction"]), "{name} {}", scheme.name());
    }
}

fn check_sum(name: &str, expected: &Value, model: &Model) {
    let expected: f64 = numbers(expected).iter().sum();
    let certificate = model.certificate();
    let relative = (certificate.primal - expected).abs() / expected;
    assert!(relative < 1e-6, "{name}: {} instead of {expected}", certificate.primal);
    assert!(certificate.converged(), "{name}: {certificate:?}");
    assert!(certificate.gap >= 0.0 && certificate.gap < 1e-6 * expected, "{certificate:?}");
}

#[test]
fn twsvm() {
    check("twsvm", |set, scheme| {
        let method = Twsvm { c: 2.0, r: 0.2, scheme, tolerance: TOLERANCE, ..Default::default() };
        method.fit(set, FitOptions::default()).unwrap()
    });
}

#[test]
fn lstwsvm() {
    check("lstwsvm", |set, scheme| {
        let method = Lstwsvm { c: 2.0, r: 0.2, scheme, ..Default::default() };
        method.fit(set, FitOptions::default()).unwrap()
    });
}

#[test]
fn npsvm() {
    check("npsvm", |set, scheme| {
        let method = Npsvm {
            c: 2.0,
            c1: 1.0,
            epsilon: 0.1,
            r: 0.2,
            scheme,
            tolerance: TOLERANCE,
            ..Default::default()
        };
        method.fit(set, FitOptions::default()).unwrap()
    });
}

#[test]
fn pintwsvm() {
    check("pintwsvm", |set, scheme| {
        let method = Pintwsvm {
            c: 2.0,
            tau: 0.5,
            r: 0.2,
            scheme,
            tolerance: TOLERANCE,
            ..Default::default()
        };
        method.fit(set, FitOptions::default()).unwrap()
    });
}
