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

#[test]
#[ignore]
fn diagnose() {
    use super::support::{method, methods};
    use npsvc::{FitOptions, Storage};
    let n = 3000;
    let mut rng = Seed::root(5).rng();
    let y: Vec<usize> = (0..n).map(|i| (i * 7919) % 3).collect();
    let x = Array2::from_shape_fn((n, 6), |(i, j)| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        noise + if j % 3 == y[i] { 1.0 } else { 0.0 }
    });
    for storage in [Storage::default(), Storage::Pivoted { rank: Some(300), tolerance: 1e-9 }] {
        let sets: Vec<TrainingSet> = [1usize, 2, 3]
            .iter()
            .map(|&threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let set = TrainingSet::new(x.clone(), y.clone(), &Kernel::default())
                        .unwrap()
                        .with_storage(storage)
                        .unwrap()
                        .with_threads(threads);
                    set.prepare();
                    set
                })
            })
            .collect();
        let same = |a: &TrainingSet, b: &TrainingSet| match (a.factor(), b.factor()) {
            (Some(a), Some(b)) => a.rows() == b.rows() && a.pivots() == b.pivots(),
            _ => a.full_matrix() == b.full_matrix(),
        };
        eprintln!(
            "{storage:?} kernel: 2 {} 3 {}",
            same(&sets[0], &sets[1]),
            same(&sets[0], &sets[2])
        );
        for entry in methods() {
            if entry.name == "svm" && matches!(storage, Storage::Pivoted { .. }) {
                continue;
            }
            for mut params in entry.schemes() {
                if entry.has("d") {
                    params["d"] = json!(8);
                    params["max_iter"] = json!(3);
                }
                let begun = std::time::Instant::now();
                let models: Vec<_> = sets
                    .iter()
                    .zip([1usize, 2, 3])
                    .map(|(set, threads)| {
                        let pool =
                            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                        pool.install(|| {
                            method(entry.name, &params)
                                .fit(set, FitOptions::seeded(Seed::root(3)))
                                .unwrap()
                        })
                    })
                    .collect();
                let same = |k: usize| {
                    let (a, b) = (&models[0], &models[k]);
                    (
                        a.machine().coefficients == b.machine().coefficients
                            && a.certificate() == b.certificate(),
                        (&a.machine().coefficients - &b.machine().coefficients).norm_max()
                            / a.machine().coefficients.norm_max(),
                    )
                };
                eprintln!(
                    "  {} {params}: {:?} {:?}  {:.1?}",
                    entry.name,
                    same(1),
                    same(2),
                    begun.elapsed()
                );
            }
        }
    }
}
