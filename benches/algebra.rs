//! Time of what the fits are made of: kernel matrices, factors, box QPs.

mod support;

use faer::Mat;
use npsvcpp::kernel::{Cholesky, algebra};
use npsvcpp::solve::box_qp::{self, Dense, Settings, Term};

const SIZES: [usize; 3] = [500, 1000, 2000];

fn main() {
    divan::main();
}

/// The unit in which docs/benchmarks.md counts fits: one n x n product.
#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn product(bencher: divan::Bencher<'_, '_>, n: usize) {
    let problem = support::pendigits(n);
    bencher.bench_local(|| algebra::product(problem.gram(), problem.gram(), support::par()));
}

/// Kernel matrix with its mean squared distance, from the samples.
#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn gaussian_kernel(bencher: divan::Bencher<'_, '_>, n: usize) {
    bencher
        .with_inputs(|| support::pendigits_without_kernel(n))
        .bench_local_values(|problem| {
            problem.gram();
            problem
        });
}

#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn cholesky_and_inverse(bencher: divan::Bencher<'_, '_>, n: usize) {
    let problem = support::pendigits(n);
    let mut shifted: Mat<f64> = problem.gram().to_owned();
    for i in 0..n {
        shifted[(i, i)] += 0.1;
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

fn box_qp(bencher: divan::Bencher<'_, '_>, n: usize, far: Term) {
    let problem = support::pendigits(n);
    let terms: Vec<Term> = problem
        .y()
        .iter()
        .map(|&class| if class == 0 { Term::square() } else { far })
        .map(|term| term.in_coefficients(0.1))
        .collect();
    let settings = Settings {
        tolerance: 1e-4,
        par: support::par(),
        ..Settings::default()
    };
    bencher.bench_local(|| {
        let q = Dense {
            matrix: problem.gram(),
        };
        box_qp::solve(&q, &terms, None, settings)
    });
}
