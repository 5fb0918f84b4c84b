//! Promise: a pivoted factor of the kernel matrix serves every nonparallel method. Of full rank, it
//! leads where the matrix leads; of low rank, it gives its error and predicts from its pivots.

#[allow(dead_code, reason = "shared with tests that ask it for more")]
mod support;

use faer::{Mat, Par};
use npsvcpp::kernel::{Factor, Kernel, Pivoted};
use npsvcpp::model::{Fit, Problem, registry};
use npsvcpp::seed::Seed;
use serde_json::{Value, json};
use support::Digits;

const METHODS: [&str; 9] = [
    "twsvm",
    "npsvm",
    "pintwsvm",
    "rmtbsvm",
    "lstwsvm",
    "ctwsvm",
    "nhsvm",
    "gepsvm",
    "k-npsvcpp",
];

fn problem(digits: &Digits, kernel: &Kernel, factor: Factor) -> Problem {
    let (x, y) = (digits.x_train.clone(), digits.y_train.clone());
    Problem::new(x, y, 10, kernel, 0.0, Par::Seq).with_factor(factor)
}

fn pivoted(rank: Option<usize>, tolerance: f64) -> Factor {
    Factor::Pivoted(Pivoted { rank, tolerance })
}

fn fit(name: &str, params: Value, problem: &Problem) -> Fit {
    let entry = registry::find(name).unwrap();
    let method = entry.configure(&params).unwrap();
    method.fit(problem, &Seed::root(5)).unwrap()
}

fn decisions(fit: &Fit, problem: &Problem, digits: &Digits) -> Mat<f64> {
    let cross = problem.cross(digits.x_test.view());
    fit.machine.decision(cross.as_ref(), Par::Seq)
}

/// The largest difference of two methods' functions, relative to their size.
fn difference(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (a - b).norm_max() / a.norm_max()
}

#[test]
fn a_factor_of_full_rank_leads_where_the_matrix_leads() {
    let digits = Digits::load();
    let whole = problem(&digits, &Kernel::default(), Factor::Full);
    let factored = problem(&digits, &Kernel::default(), pivoted(None, 0.0));
    for name in METHODS {
        for scheme in ["ovr", "rvo"] {
            for bias in [false, true] {
                let mut params = json!({"scheme": scheme, "bias": bias});
                if !matches!(name, "lstwsvm" | "gepsvm" | "k-npsvcpp") {
                    params["tolerance"] = json!(1e-9);
                }
                if name == "k-npsvcpp" {
                    params["qp_tolerance"] = json!(1e-9);
                    // The frame starts at random coefficients of the samples, the same for both.
                    params["max_iter"] = json!(3);
                }
                let (one, other) = (
                    fit(name, params.clone(), &whole),
                    fit(name, params, &factored),
                );
                let (one, other) = (
                    decisions(&one, &whole, &digits),
                    decisions(&other, &factored, &digits),
                );
                // The sign of an eigenvector is arbitrary.
                let apart = if name == "gepsvm" {
                    let absolute =
                        |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)].abs());
                    difference(&absolute(&one), &absolute(&other))
                } else {
                    difference(&one, &other)
                };
                assert!(apart < 1e-3, "{name} {scheme} bias {bias}: {apart}");
            }
        }
    }
}

#[test]
fn a_factor_of_low_rank_predicts_from_its_pivots() {
    let digits = Digits::load();
    let low = problem(&digits, &Kernel::default(), pivoted(Some(80), 0.0));
    let factor = low.low_rank().unwrap();
    assert_eq!(factor.rank(), 80);
    assert!(
        factor.error() > 1e-4 && factor.error() < 0.2,
        "{}",
        factor.error()
    );
    for name in METHODS {
        let fit = fit(name, json!({"scheme": "rvo"}), &low);
        assert_eq!(fit.machine.coefficients.nrows(), 80, "{name}");
        assert!(fit.certificate.gap >= 0.0, "{name}");
        // On the training samples, the machine must give what it was trained to give there.
        let cross = low.cross(digits.x_train.view());
        let predicted = fit.machine.predict(cross.as_ref(), Par::Seq);
        let right = predicted
            .iter()
            .zip(&digits.y_train)
            .filter(|(a, b)| a == b)
            .count();
        assert!(right > 270, "{name}: {right} of 300");
    }
}

#[test]
fn the_factor_of_a_linear_kernel_is_exact_at_the_number_of_features() {
    let mut digits = Digits::load();
    digits.x_train /= 16.0;
    digits.x_test /= 16.0;
    let whole = problem(&digits, &Kernel::Linear, Factor::Full);
    let factored = problem(&digits, &Kernel::Linear, pivoted(None, 1e-12));
    assert!(factored.low_rank().unwrap().rank() <= 64);
    for name in ["twsvm", "npsvm"] {
        let params = json!({"scheme": "ovr", "tolerance": 1e-9});
        let (one, other) = (
            fit(name, params.clone(), &whole),
            fit(name, params, &factored),
        );
        let apart = difference(
            &decisions(&one, &whole, &digits),
            &decisions(&other, &factored, &digits),
        );
        assert!(apart < 1e-3, "{name}: {apart}");
    }
}
