//! Time of the parts of a fit: kernel matrices, factors, box QPs.
//!
//! `cargo bench -p npsvc --profile dev --bench algebra`

#[allow(dead_code, reason = "shared with benchmarks that use more of it")]
mod support;

use faer::Mat;
use npsvc::algebra::{self, Cholesky, Matrix};
use npsvc::solve::box_qp::{self, Settings, Term};

const SIZES: [usize; 3] = [500, 1000, 2000];
/// Regulariser of the hyperplanes.
const R: f64 = 0.1;

fn main() {
    divan::main();
}

/// The unit in which docs/benchmarks.md counts fits: one n x n product.
#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn product(bencher: divan::Bencher<'_, '_>, n: usize) {
    let set = support::noisy_digits(n);
    let k = set.full_matrix();
    bencher.bench_local(|| algebra::product(k, k, support::par()));
}

/// Kernel matrix with its mean squared distance, from the samples.
#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn gaussian_kernel(bencher: divan::Bencher<'_, '_>, n: usize) {
    bencher.with_inputs(|| support::noisy_digits_without_kernel(n)).bench_local_values(|set| {
        set.prepare();
        set
    });
}

#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn cholesky_and_inverse(bencher: divan::Bencher<'_, '_>, n: usize) {
    let set = support::noisy_digits(n);
    let mut shifted: Mat<f64> = set.full_matrix().to_owned();
    for i in 0..n {
        shifted[(i, i)] += R;
    }
    bencher
        .with_inputs(|| shifted.clone())
        .bench_local_values(|s| Cholesky::new(s, support::par()).map(Cholesky::into_inverse));
}

/// The dual of one TWSVM hyperplane to a relative gap of 1e-4.
#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn box_qp_hinge(bencher: divan::Bencher<'_, '_>, n: usize) {
    box_qp(bencher, n, Term::hinge(1.0));
}

/// The dual of one pinTWSVM hyperplane to a relative gap of 1e-4.
#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn box_qp_pinball(bencher: divan::Bencher<'_, '_>, n: usize) {
    box_qp(bencher, n, Term::pinball(1.0, 0.5));
}

fn box_qp(bencher: divan::Bencher<'_, '_>, n: usize, dissimilar: Term) {
    let set = support::noisy_digits(n);
    let term = |&class: &usize| if class == 0 { Term::square() } else { dissimilar };
    let terms: Vec<Term> = set.y().iter().map(|y| term(y).rescaled(R)).collect();
    let settings = Settings { tolerance: 1e-4, par: support::par(), ..Settings::default() };
    let q = Matrix::Full(set.full_matrix());
    bencher.bench_local(|| box_qp::solve(q, &terms, None, settings));
}
