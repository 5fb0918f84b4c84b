//! The number of threads does not change a bit of a fit.

use npsvc::ndarray::Array2;
use npsvc::{Kernel, Model, Scheme, Seed, Storage, TrainingSet};
use rand_distr::{Distribution, StandardNormal};
use rayon::ThreadPoolBuilder;
use serde_json::{Value, json};

use super::support::{method, methods, pivoted};

/// Enough samples for several threads to share a product of the kernel matrix and a vector.
const SAMPLES: usize = 3200;

/// Three overlapping classes.
fn training_set(storage: Storage, threads: usize) -> TrainingSet {
    let mut rng = Seed::root(5).rng();
    let y: Vec<usize> = (0..SAMPLES).map(|i| i % 3).collect();
    let x = Array2::from_shape_fn((SAMPLES, 6), |(i, j)| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        noise + if j % 3 == y[i] { 1.0 } else { 0.0 }
    });
    let set = TrainingSet::new(x, y, &Kernel::default()).unwrap();
    set.with_storage(storage).unwrap().with_threads(threads)
}

/// The numbers of a model, as bits.
fn bits(model: &Model) -> Vec<u64> {
    let (machine, certificate) = (model.machine(), model.certificate());
    let coefficients = machine.coefficients.col_iter();
    let coefficients = coefficients.flat_map(|column| column.iter().copied().collect::<Vec<_>>());
    let numbers = [certificate.primal, certificate.dual, certificate.gap];
    coefficients.chain(machine.offsets.iter().copied()).chain(numbers).map(f64::to_bits).collect()
}

/// Fits these methods in one chain, with pools of one, two and three threads.
fn assert_equal_bits(storage: Storage, points: &[(&str, Value)]) {
    let fit_all = |threads: usize| -> Vec<Vec<u64>> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let set = training_set(storage, threads);
            let sweep = set.sweep();
            let fit = |(name, params): &(&str, Value)| {
                let method = method(name, params);
                bits(&sweep.chain().fit(&*method, &Seed::root(3)).unwrap())
            };
            points.iter().map(fit).collect()
        })
    };
    let one = fit_all(1);
    for threads in [2, 3] {
        for ((name, params), (now, then)) in points.iter().zip(fit_all(threads).iter().zip(&one)) {
            assert!(now == then, "{name} {params} differs with {threads} threads");
        }
    }
}

/// The methods that are fast on a full matrix. They share its inverse.
#[test]
fn threads_do_not_change_a_bit_with_a_full_matrix() {
    let rvo = |more: Value| {
        let mut params = json!({"scheme": Scheme::Rvo});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let points = [
        ("svm", json!({})),
        ("gepsvm", json!({})),
        ("gepsvm", rvo(json!({}))),
        ("pintwsvm", rvo(json!({}))),
        ("lstwsvm", rvo(json!({}))),
        ("k-npsvcpp", rvo(json!({"r1": 0.1, "d": 4, "max_iter": 2}))),
    ];
    assert_equal_bits(Storage::default(), &points);
}

#[test]
fn threads_do_not_change_a_bit_with_a_factor() {
    let mut points = Vec::new();
    for entry in methods().iter().filter(|entry| entry.is_nonparallel()) {
        for mut params in entry.schemes() {
            entry.set_dimensions(&mut params, 4);
            if entry.has("max_iter") {
                params["max_iter"] = json!(2);
            }
            points.push((entry.name, params));
        }
    }
    assert_equal_bits(pivoted(Some(100), 1e-9), &points);
}
