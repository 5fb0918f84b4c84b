//! Sharing a training set does not change the numbers of its fits.

use npsvc::{AnyMethod, Kernel, Method, Model, Seed, Storage, TrainingSet};
use proptest::prelude::*;
use serde_json::json;

use super::digits::Digits;
use super::samples::{cases, samples};
use super::support::{fit, fit_unless_zero, method, methods, pivoted};

fn numbers(model: &Model) -> (faer::Mat<f64>, Vec<f64>, npsvc::Certificate) {
    let machine = model.machine().clone();
    (machine.coefficients, machine.offsets, model.certificate())
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn another_kernel_gives_the_numbers_of_a_new_set(samples in samples(2..4)) {
        let kernels = [
            Kernel::Polynomial { degree: 2, offset: 1.0, scale: 0.5 },
            Kernel::default(),
        ];
        for storage in [Storage::default(), pivoted(Some(5), 0.0)] {
            let stored = |set: TrainingSet| set.with_storage(storage).unwrap();
            let mut set = stored(samples.set(&Kernel::Linear));
            for kernel in &kernels {
                // The old set has been used, so there are graphs to share.
                fit_unless_zero("rmtbsvm", &json!({}), &set, 1);
                set = set.with_kernel(kernel).unwrap();
                let new = stored(samples.set(kernel));
                prop_assert_eq!(set.shape(), new.shape());
                prop_assert_eq!(set.kernel(), new.kernel());
                for entry in methods() {
                    for mut params in entry.schemes() {
                        entry.set_dimensions(&mut params, 2);
                        let [found, expected] = [&set, &new].map(|set| {
                            fit_unless_zero(entry.name, &params, set, 1).as_ref().map(numbers)
                        });
                        prop_assert_eq!(found, expected, "{} {}", entry.name, params);
                    }
                }
            }
        }
    }
}

#[test]
fn kernel_values_of_a_set_serve_all_its_models() {
    let digits = Digits::load();
    let rows = digits.x_test.view();
    for storage in [Storage::default(), pivoted(Some(40), 0.0)] {
        let set = digits.stored(&Kernel::default(), storage);
        let cross = set.cross(rows).unwrap();
        for name in ["svm", "twsvm", "k-npsvcpp"] {
            let model = fit(name, &json!({}), &set, 1);
            assert_eq!(model.predict_from(&cross).unwrap(), model.predict(rows).unwrap());
            assert_eq!(model.decision_from(&cross).unwrap(), model.decision(rows).unwrap());
            assert_eq!(model.transform_from(&cross).unwrap(), model.transform(rows).unwrap());
        }
    }
}

#[test]
fn scores_of_a_sweep_are_in_the_order_of_its_points() {
    let digits = Digits::load();
    let grid: Vec<AnyMethod> = [10.0, 0.1, 1.0]
        .into_iter()
        .flat_map(|c| [0.5, 0.05].map(|r| json!({"c": c, "r": r, "tolerance": 1e-9})))
        .map(|params| method("twsvm", &params))
        .collect();
    let points: Vec<&dyn Method> = grid.iter().map(|point| &**point).collect();
    for threads in [1, 2] {
        let set = digits.set().with_threads(threads);
        let primal = |model: Result<Model, _>| model.unwrap().certificate().primal;
        let found =
            (set.sweep()).run(&points, &Seed::root(0), |index, model| (index, primal(model)));
        assert_eq!(found.len(), points.len());
        for (index, (seen, found)) in found.into_iter().enumerate() {
            assert_eq!(seen, index);
            let expected = primal(points[index].fit(&set, Default::default()));
            assert!((found - expected).abs() < 1e-6 * expected, "{found} instead of {expected}");
        }
    }
}
