//! The support vector machine finds LIBSVM's solution, and its answer depends on the samples only.

use faer::Mat;
use npsvc::ndarray::{Array2, Axis, array, concatenate};
use npsvc::{
    Certificate, FitError, FitOptions, Kernel, KernelMachine, Method, Model, Svm, TrainingSet,
};
use proptest::prelude::*;
use serde_json::Value;

use super::digits::{Digits, labels, numbers, reference};
use super::samples::values;

const CASES: [(f64, &str); 2] = [(1.0, "C=1"), (10.0, "C=10")];

/// What LIBSVM finds on the digits.
fn expected(key: &str) -> Value {
    reference("nonparallel_digits300.json")["expect"]["svm"][key].take()
}

fn set(x: Array2<f64>, y: &[usize], kernel: &Kernel) -> TrainingSet {
    TrainingSet::new(x, y.to_vec(), kernel).unwrap()
}

fn fit(svm: &Svm, set: &TrainingSet) -> Result<Model, FitError> {
    svm.fit(set, FitOptions::default())
}

fn certificate(svm: &Svm, set: &TrainingSet) -> Certificate {
    fit(svm, set).unwrap().certificate()
}

#[test]
fn libsvms_solution_is_found() {
    let digits = Digits::load();
    let set = digits.set();
    for (c, key) in CASES {
        let expect = expected(key);
        let svm = Svm { c, tolerance: 1e-8, ..Svm::default() };
        let model = fit(&svm, &set).unwrap();
        let certificate = model.certificate();
        assert!(certificate.converged(), "{key}: {certificate:?}");
        assert!(certificate.gap >= 0.0, "{key}: {certificate:?}");
        assert!(certificate.gap < 1e-6 * certificate.primal, "{key}: {certificate:?}");

        let mut n_support = vec![0.0; 10];
        for i in model.support() {
            n_support[set.y()[i]] += 1.0;
        }
        assert_eq!(n_support, numbers(&expect["n_support"]), "{key}");
        let intercepts = numbers(&expect["intercept_by_pair"]);
        let offsets = &model.machine().offsets;
        assert_eq!(offsets.len(), intercepts.len());
        for (pair, (found, expected)) in offsets.iter().zip(&intercepts).enumerate() {
            assert!(
                (found - expected).abs() < 1e-6,
                "{key}, pair {pair}: {found} instead of {expected}"
            );
        }
        let predicted = model.predict(digits.x_test.view()).unwrap();
        assert_eq!(predicted, labels(&expect["test_prediction"]), "{key}");
    }
}

#[test]
fn the_support_is_the_samples_with_a_multiplier() {
    let set = Digits::load().set();
    let model = fit(&Svm::default(), &set).unwrap();
    let KernelMachine { coefficients, .. } = model.machine();
    let has_multiplier =
        |&i: &usize| (0..coefficients.ncols()).any(|pair| coefficients[(i, pair)] != 0.0);
    let expected: Vec<usize> = (0..set.shape().n).filter(has_multiplier).collect();
    assert_eq!(model.support(), expected);
    assert!(expected.len() < 300, "every sample is a support vector");
}

#[test]
fn threads_change_nothing_once_the_kernel_matrix_is_there() {
    let svm = Svm { c: 10.0, ..Svm::default() };
    let [one, two] = [1, 2].map(|threads| {
        let model = fit(&svm, &Digits::load().set().with_threads(threads)).unwrap();
        let KernelMachine { coefficients, offsets, .. } = model.machine().clone();
        (coefficients, offsets)
    });
    assert_eq!(one, two);
}

#[test]
fn parameters_out_of_range_are_named() {
    let named = |svm: Svm| svm.check(None).unwrap_err().parameter;
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let (c, tolerance) = (bad, bad);
        assert_eq!(named(Svm { c, ..Svm::default() }), "c");
        assert_eq!(named(Svm { tolerance, ..Svm::default() }), "tolerance");
    }
    assert_eq!(named(Svm { max_iter: 0, ..Svm::default() }), "max_iter");
    assert!(Svm::default().check(None).is_ok());
    let set = set(Array2::eye(2), &[0, 1], &Kernel::Linear);
    let error = fit(&Svm { c: -1.0, ..Svm::default() }, &set).unwrap_err();
    assert_eq!(error.to_string(), "bad parameter: `c` is -1, expected a number above 0");
}

#[test]
fn specs_know_no_other_keys() {
    let svm: Svm = serde_json::from_str(r#"{"c": 10, "max_iter": 5}"#).unwrap();
    assert_eq!((svm.c, svm.max_iter, svm.tolerance), (10.0, 5, 1e-3));
    assert!(serde_json::from_str::<Svm>(r#"{"C": 10}"#).is_err());
}

#[test]
fn two_samples_are_enough() {
    let set = set(array![[0.0], [4.0]], &[1, 0], &Kernel::Linear);
    let svm = Svm { c: 5.0, tolerance: 1e-9, ..Svm::default() };
    let model = fit(&svm, &set).unwrap();
    // Halfway between the samples, at margin 1: f(x) = x / 2 - 1 for class 0 at 4.
    let f = values(&set, &model, set.x());
    assert!((f[(0, 0)] + 1.0).abs() < 1e-5, "{f:?}");
    assert!((f[(1, 0)] - 1.0).abs() < 1e-5, "{f:?}");
    assert!(model.certificate().converged(), "{:?}", model.certificate());
}

#[test]
fn a_kernel_that_overflows_is_an_error() {
    let kernel = Kernel::Polynomial { degree: 4, offset: 1.0, scale: 1.0 };
    let x = array![[1e200], [-1e200], [2e200], [1.0]];
    let error = fit(&Svm::default(), &set(x, &[0, 1, 0, 1], &kernel)).unwrap_err();
    assert_eq!(error, FitError::KernelNotFinite);
}

#[test]
fn constant_features_leave_only_the_bias() {
    // The larger class of each pair: equal samples differ in nothing else.
    let y = [0, 0, 1, 1, 1, 2, 2, 2, 2];
    let set = set(Array2::ones((9, 3)), &y, &Kernel::default());
    let model = fit(&Svm::default(), &set).unwrap();
    assert!(model.certificate().converged());
    assert_eq!(model.predict(set.x()).unwrap(), [2; 9]);
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
    let svm = Svm { c, tolerance: 1e-9, ..Svm::default() };
    let given = set(x.clone(), y, &Kernel::default());
    let moved_y: Vec<usize> = order.iter().map(|&i| y[i]).collect();
    let moved = set(x.select(Axis(0), &order), &moved_y, &Kernel::default());
    let [f, found] = [&given, &moved].map(|set| values(set, &fit(&svm, set).unwrap(), set.x()));
    let expected = Mat::from_fn(n, f.ncols(), |i, l| f[(order[i], l)]);
    (found - expected).norm_max()
}

#[test]
fn a_variable_that_rounding_keeps_from_its_bound_does_not_fix_the_bias() {
    let x = array![
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_number_of_threads_does_not_matter((x, y) in samples(), c in 0.1..100.0) {
        let svm = Svm { c, ..Svm::default() };
        let [one, two] = [1, 2].map(|threads| {
            let set = set(x.clone(), &y, &Kernel::default()).with_threads(threads);
            let model = fit(&svm, &set).unwrap();
            let KernelMachine { coefficients, offsets, .. } = model.machine().clone();
            (coefficients, offsets, model.certificate())
        });
        prop_assert_eq!(one, two);
    }

    #[test]
    fn the_order_of_samples_does_not_matter((x, y) in samples(), c in 0.1..100.0, rotate in 0..26_usize) {
        let apart = apart_when_rotated(&x, &y, c, rotate);
        prop_assert!(apart < 1e-5, "{apart}");
    }

    #[test]
    fn tiny_and_huge_c_end_with_a_certificate((x, y) in samples(), exponent in -300.0..12.0) {
        // Each sample twice, once in a wrong class: no c separates them.
        let x = concatenate(Axis(0), &[x.view(), x.view()]).expect("equal widths");
        let y: Vec<usize> = y.iter().copied().chain(y.iter().map(|l| (l + 1) % 3)).collect();
        let svm = Svm { c: 10_f64.powf(exponent), max_iter: 100_000, ..Svm::default() };
        let certificate = certificate(&svm, &set(x, &y, &Kernel::default()));
        prop_assert!(certificate.gap >= 0.0 && certificate.primal.is_finite());
        prop_assert!(certificate.iterations <= 3 * svm.max_iter);
        if exponent < 3.0 {
            prop_assert!(certificate.converged(), "{certificate:?}");
        }
    }
}
