//! Training sets from the digits of the tests, so that a benchmark needs no data.

#[path = "../../tests/it/digits.rs"]
mod digits;

use faer::Par;
use npsvc::ndarray::Array2;
use npsvc::{Kernel, Seed, TrainingSet};
use rand_distr::{Distribution, StandardNormal};

/// Threads that every benchmark uses.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The same as faer counts them.
pub fn par() -> Par {
    Par::rayon(threads())
}

/// `n` samples with their kernel matrix.
pub fn noisy_digits(n: usize) -> TrainingSet {
    let set = noisy_digits_without_kernel(n);
    set.prepare();
    set
}

/// `n` samples: the digits again and again, with noise. The kernel matrix is computed on first use.
pub fn noisy_digits_without_kernel(n: usize) -> TrainingSet {
    let digits = digits::Digits::load();
    let each = digits.y_train.len();
    let mut rng = Seed::root(2024).rng();
    let x = Array2::from_shape_fn((n, digits.x_train.ncols()), |(i, j)| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        digits.x_train[[i % each, j]] + noise
    });
    let y = (0..n).map(|i| digits.y_train[i % each]).collect();
    let set = TrainingSet::new(x, y, &Kernel::default()).expect("the digits are a training set");
    set.with_threads(threads())
}
