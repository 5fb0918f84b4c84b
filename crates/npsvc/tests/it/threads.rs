//! The number of threads changes no fit beyond rounding.

use npsvc::ndarray::Array2;
use npsvc::{Kernel, Seed, TrainingSet};
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;

use super::digits::Digits;
use super::samples::values;
use super::support::fit;

/// The digits four times with noise: enough samples for products to be worth a second thread.
fn noisy(digits: &Digits) -> TrainingSet {
    let n = 4 * digits.y_train.len();
    let mut rng = Seed::root(5).rng();
    let x = Array2::from_shape_fn((n, digits.x_train.ncols()), |(i, j)| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        digits.x_train[[i / 4, j]] + noise
    });
    let y = (0..n).map(|i| digits.y_train[i / 4]).collect();
    TrainingSet::new(x, y, &Kernel::default()).unwrap()
}

#[test]
fn threads_change_no_fit_beyond_rounding() {
    let digits = Digits::load();
    for name in ["twsvm", "pintwsvm", "k-npsvcpp"] {
        for scheme in ["ovr", "rvo"] {
            let [one, two] = [1, 2].map(|threads| {
                let set = noisy(&digits).with_threads(threads);
                let model = fit(name, &json!({"scheme": scheme}), &set, 6);
                let rows = digits.x_test.view();
                (values(&set, &model, rows), model.predict(rows).unwrap())
            });
            let apart = (&one.0 - &two.0).norm_max() / one.0.norm_max();
            assert!(apart < 1e-3, "{name} {scheme}: {apart}");
            assert_eq!(one.1, two.1, "{name} {scheme}");
        }
    }
}
