//! Every nonparallel method works with a pivoted factor of the kernel matrix. A factor of full rank gives
//! the functions that the matrix gives. A factor of low rank reports its error and predicts from its
//! pivots.

use faer::Mat;
use npsvc::{Kernel, Storage};
use serde_json::json;

use super::digits::Digits;
use super::samples::values;
use super::support::{Entry, fit, methods, pivoted};

const FULL: Storage = Storage::Full { jitter: 0.0 };
const SEED: u64 = 5;

/// The SVM uses the full matrix with either storage.
fn nonparallel() -> impl Iterator<Item = Entry> {
    methods().into_iter().filter(Entry::is_nonparallel)
}

/// The largest difference of two methods' functions, relative to their size.
fn difference(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (a - b).norm_max() / a.norm_max()
}

#[test]
fn a_factor_of_full_rank_leads_where_the_matrix_leads() {
    let digits = Digits::load();
    let full = digits.stored(&Kernel::default(), FULL);
    let factored = digits.stored(&Kernel::default(), pivoted(None, 0.0));
    for entry in nonparallel() {
        let name = entry.name;
        for scheme in entry.schemes() {
            for bias in [false, true] {
                let mut params = scheme.clone();
                params["bias"] = json!(bias);
                entry.set_accuracy(&mut params, 1e-9);
                if name == "k-npsvcpp" {
                    // The first frame has the same random coefficients with both storages.
                    params["max_iter"] = json!(3);
                }
                let [one, other] = [&full, &factored].map(|set| {
                    let model = fit(name, &params, set, SEED);
                    values(set, &model, digits.x_test.view())
                });
                // The sign of an eigenvector is arbitrary.
                let apart = if name == "gepsvm" {
                    let absolute =
                        |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)].abs());
                    difference(&absolute(&one), &absolute(&other))
                } else {
                    difference(&one, &other)
                };
                assert!(apart < 1e-3, "{name} {params}: {apart}");
            }
        }
    }
}

#[test]
fn a_factor_of_low_rank_predicts_from_its_pivots() {
    let digits = Digits::load();
    let low = digits.stored(&Kernel::default(), pivoted(Some(80), 0.0));
    let factor = low.factor().unwrap();
    assert_eq!(factor.rank(), 80);
    assert!(factor.error() > 1e-4 && factor.error() < 0.2, "{}", factor.error());
    for Entry { name, .. } in nonparallel() {
        let model = fit(name, &json!({"scheme": "rvo"}), &low, SEED);
        assert_eq!(model.machine().coefficients.nrows(), 80, "{name}");
        assert_eq!(model.support().len(), 80, "{name}");
        assert!(model.certificate().gap >= 0.0, "{name}");
        // The model was trained to predict these labels.
        let predicted = model.predict(digits.x_train.view()).unwrap();
        let right = predicted.iter().zip(&digits.y_train).filter(|(a, b)| a == b).count();
        assert!(right > 270, "{name}: {right} of 300");
    }
}

#[test]
fn the_factor_of_a_linear_kernel_is_exact_at_the_number_of_features() {
    let mut digits = Digits::load();
    digits.x_train /= 16.0;
    digits.x_test /= 16.0;
    let full = digits.stored(&Kernel::Linear, FULL);
    let factored = digits.stored(&Kernel::Linear, pivoted(None, 1e-12));
    assert!(factored.factor().unwrap().rank() <= 64);
    for name in ["twsvm", "npsvm"] {
        let params = json!({"scheme": "ovr", "tolerance": 1e-9});
        let [one, other] = [&full, &factored].map(|set| {
            let model = fit(name, &params, set, SEED);
            values(set, &model, digits.x_test.view())
        });
        let apart = difference(&one, &other);
        assert!(apart < 1e-3, "{name}: {apart}");
    }
}
