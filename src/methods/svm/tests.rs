use ndarray::Array2;
use npsvc::{FitOptions, Kernel, Model};
use proptest::prelude::*;

use super::*;

const ENGINES: [Engine; 3] = [Engine::Smo, Engine::Libsvm, Engine::Linfa];

fn set(x: Array2<f64>, y: &[usize], kernel: &Kernel) -> TrainingSet {
    TrainingSet::new(x, y.to_vec(), kernel).unwrap()
}

fn fit(svm: &Svm, set: &TrainingSet) -> Result<Model, FitError> {
    svm.fit(set, FitOptions::default())
}

#[test]
fn specs_name_engines_in_lower_case_and_know_no_other_keys() {
    let svm: Svm = serde_json::from_str(r#"{"c": 10, "engine": "libsvm", "max_iter": 5}"#).unwrap();
    assert_eq!((svm.c, svm.engine, svm.max_iter), (10.0, Engine::Libsvm, 5));
    assert_eq!(svm.tolerance, 1e-3);
    assert!(serde_json::from_str::<Svm>(r#"{"C": 10}"#).is_err());
}

#[test]
fn two_samples_are_enough_for_every_engine() {
    let x = Array2::from_shape_vec((2, 1), vec![0.0, 4.0]).unwrap();
    for engine in ENGINES {
        let set = set(x.clone(), &[1, 0], &Kernel::Linear);
        let svm = Svm { engine, c: 5.0, tolerance: 1e-9, ..Svm::default() };
        let model = fit(&svm, &set).unwrap();
        // Halfway between the samples, at margin 1: f(x) = x / 2 - 1 for class 0 at 4.
        let machine = model.machine();
        let f = |x: f64| machine.coefficients[(1, 0)] * 4.0 * x + machine.offsets[0];
        assert!((f(0.0) + 1.0).abs() < 1e-5, "{engine:?}: {machine:?}");
        assert!((f(4.0) - 1.0).abs() < 1e-5, "{engine:?}: {machine:?}");
        assert!(model.certificate().converged(), "{engine:?}: {:?}", model.certificate());
    }
}

#[test]
fn a_kernel_that_overflows_is_an_error_for_every_engine() {
    let x = Array2::from_shape_vec((4, 1), vec![1e200, -1e200, 2e200, 1.0]).unwrap();
    let kernel = Kernel::Polynomial { degree: 4, offset: 1.0, scale: 1.0 };
    for engine in ENGINES {
        let set = set(x.clone(), &[0, 1, 0, 1], &kernel);
        let error = fit(&Svm { engine, ..Svm::default() }, &set).unwrap_err();
        assert!(matches!(error, FitError::KernelNotFinite), "{engine:?}: {error}");
    }
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn engines_agree((x, y) in samples(), exponent in -2.0..1.0) {
        let c = 10_f64.powf(exponent);
        let kernels = [
            Kernel::default(),
            Kernel::Linear,
            Kernel::Polynomial { degree: 2, offset: 1.0, scale: 0.5 },
        ];
        for kernel in kernels {
            let set = set(x.clone(), &y, &kernel);
            let [smo, libsvm, linfa] = ENGINES.map(|engine| {
                let model = fit(&Svm { c, engine, ..Svm::default() }, &set);
                model.expect("all three can solve this").certificate()
            });
            for other in [libsvm, linfa] {
                prop_assert!(smo.converged() && other.converged(), "{smo:?} {other:?}");
                // Both are within their gaps of the same optimum.
                let allowed = smo.gap + other.gap + 1e-9 * smo.primal;
                prop_assert!((smo.primal - other.primal).abs() <= allowed, "{smo:?} {other:?}");
                // A margin may be off by the tolerance, in the two pairs a sample is part of.
                let most = 2.0 * (1e-3 + 1e-5) * c * y.len() as f64;
                prop_assert!(other.gap >= 0.0 && other.gap <= most, "{other:?}");
            }
        }
    }
}
