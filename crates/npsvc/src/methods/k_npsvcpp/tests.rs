//! K-NPSVC++ from given starting points, and on kernel matrices of low rank.
//!
//! From the authors' starting point it follows their program: every class's objective at every
//! iteration, the weights tau, and the predictions, for both schemes.

#[path = "../../../tests/it/digits.rs"]
mod digits;
#[path = "../../../tests/it/samples.rs"]
mod samples;

use std::sync::Arc;

use digits::{Digits, labels, matrix, numbers, reference};
use faer::{Mat, Par, Side};
use ndarray::Array2;
use proptest::prelude::*;
use rand_distr::{Distribution, StandardNormal};
use samples::{Asked, assert_alike, cases, order, samples};
use serde_json::Value;

use super::*;
use crate::kernel::GraphWeights;
use crate::{Kernel, Model, Seed, Storage};

/// A fit from a given starting point.
fn fit_from(method: &KNpsvcpp, set: &TrainingSet, start: Start) -> Model {
    let options = &mut FitOptions::default();
    let trained = algorithm::train(method, set, &Arc::new(start), options).unwrap();
    Model::new(trained, set, Par::Seq)
}

/// The settings of the reference run.
fn options(scheme: Scheme) -> KNpsvcpp {
    KNpsvcpp {
        c: 2.0,
        r1: 0.2,
        r2: 0.1,
        gamma: 0.5,
        mu: 0.05,
        d: Dimension::Fixed(8),
        scheme,
        bias: false,
        tau_momentum: 0.75,
        graph: GraphOptions { weights: GraphWeights::MeanDistance, neighbours: Some(8) },
        gpi: Gpi { shift: 0.1, tolerance: 0.0, max_rounds: 25 },
        step: 0.1,
        max_iter: 6,
        tolerance: 0.0,
        qp_tolerance: 1e-11,
    }
}

/// Their P0 is in Cholesky coordinates, `P = Psi^T A`; their dissimilar side is negative, so V0
/// changes its sign.
fn start(set: &TrainingSet, file: &Value) -> Start {
    let k = set.full_matrix();
    let p0 = matrix(&file["p0"]);
    let v0 = matrix(&file["v0"]);
    let factor = k.llt(Side::Lower).unwrap();
    let mut a = Mat::from_fn(p0.nrows(), p0.ncols(), |i, j| p0[(i, j)]);
    faer::linalg::triangular_solve::solve_upper_triangular_in_place(
        factor.L().transpose(),
        a.as_mut(),
        Par::Seq,
    );
    let v = Mat::from_fn(v0.nrows(), v0.ncols(), |i, j| -v0[(i, j)]);
    let at = a.transpose().to_owned();
    Start { frame: Frame { atk: &at * k, at }, v }
}

fn check(scheme: Scheme) {
    let digits = Digits::load();
    let set = digits.set();
    let file = reference("k_npsvcpp_digits300.json");
    let expected = &file["expect"][scheme.name()];
    let tolerance = expected["tolerance_relative"].as_f64().unwrap();
    let model = fit_from(&options(scheme), &set, start(&set, &file));
    assert_eq!(model.trace().len(), 6);
    for (t, row) in model.trace().iter().enumerate() {
        // The reference objective contains the whole manifold term, ours the paper's half of it.
        let objectives: Vec<f64> = row.objectives.iter().map(|j| j + row.manifold).collect();
        close(&objectives, &numbers(&expected["objectives_by_iteration"][t]), tolerance, t);
        close(&row.tau, &numbers(&expected["tau_used_by_iteration"][t]), tolerance, t);
        close(&row.tau_star, &numbers(&expected["tau_star_by_iteration"][t]), tolerance, t);
        let ends = [row.primal + row.manifold, row.dual + row.manifold];
        let expected_ends = ["primal", "dual"].map(|end| expected[end][t].as_f64().unwrap());
        close(&ends, &expected_ends, tolerance, t);
    }
    let predicted = model.predict(digits.x_test.view()).unwrap();
    assert_eq!(predicted, labels(&expected["test_prediction"]));
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, iteration: usize) {
    assert_eq!(found.len(), expected.len(), "iteration {iteration}");
    for (l, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "iteration {iteration}, class {l}: {found} instead of {expected} ({error:.1e})"
        );
    }
}

#[test]
fn rest_versus_one_follows_the_authors_program() {
    check(Scheme::Rvo);
}

#[test]
fn one_versus_rest_follows_the_authors_program() {
    check(Scheme::Ovr);
}

proptest! {
    #![proptest_config(cases(24))]

    /// The random start has one coefficient per sample, so it is permuted with the samples.
    #[test]
    fn the_order_of_samples_does_not_matter(
        samples in samples(2..4_usize),
        keys in prop::collection::vec(any::<u32>(), 24),
    ) {
        let order = order(samples.y.len(), &keys);
        let set = samples.set(&Kernel::default());
        let moved = samples.reordered(&order).set(&Kernel::default());
        let key = StartKey { d: 2, bias: false, seed: Seed::root(1) };
        let start = Start::random(&set, &key, &FitOptions::default());
        let columns = |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, order[j])]);
        let moved_start = Start {
            frame: Frame { at: columns(&start.frame.at), atk: columns(&start.frame.atk) },
            v: start.v.clone(),
        };
        for scheme in [Scheme::Ovr, Scheme::Rvo] {
            let method = KNpsvcpp { scheme, d: Dimension::Fixed(2), qp_tolerance: 1e-11, ..KNpsvcpp::default() };
            let model = fit_from(&method, &set, start.clone());
            let moved_model = fit_from(&method, &moved, moved_start.clone());
            let (primal, moved_primal) = (model.certificate().primal, moved_model.certificate().primal);
            prop_assert!((primal - moved_primal).abs() <= 1e-5 * primal.abs());
            let one = Asked { set: &set, model: &model, rows: &samples.test };
            let other = Asked { set: &moved, model: &moved_model, rows: &samples.test };
            assert_alike(scheme.name(), one, other);
        }
    }
}

const CLASSES: usize = 3;

/// Three classes in five dimensions, every sample `copies` times.
fn clouds(kernel: &Kernel, copies: usize, scale: f64, jitter: f64) -> TrainingSet {
    let n = 30;
    let mut rng = Seed::root(1).rng();
    let noise = Array2::from_shape_fn((n, 5), |_| -> f64 { StandardNormal.sample(&mut rng) });
    let y: Vec<usize> = (0..n).map(|i| i / copies % CLASSES).collect();
    let x = Array2::from_shape_fn((n, 5), |(i, j)| {
        let centre = if j == y[i] { 1.5 } else { 0.0 };
        scale * (noise[[i / copies, j]] + centre)
    });
    let set = TrainingSet::new(x, y, kernel).unwrap();
    set.with_storage(Storage::Full { jitter }).unwrap()
}

fn fit(set: &TrainingSet, d: usize) -> Result<Model, FitError> {
    let method = KNpsvcpp { d: Dimension::Fixed(d), ..KNpsvcpp::default() };
    method.fit(set, FitOptions::seeded(Seed::root(3)))
}

#[test]
fn one_iteration_does_not_show_that_the_objective_has_settled() {
    let set = clouds(&Kernel::default(), 1, 1.0, 1e-6);
    // A tolerance that any gap and any gradient meets.
    let method = KNpsvcpp { d: Dimension::Fixed(3), tolerance: 1.0, ..KNpsvcpp::default() };
    let model = method.fit(&set, FitOptions::seeded(Seed::root(3))).unwrap();
    assert!(model.certificate().converged());
    assert_eq!(model.certificate().iterations, 2);
}

#[test]
fn more_dimensions_than_the_kernel_has_are_refused_with_both_numbers() {
    for scale in [1.0, 100.0] {
        let set = clouds(&Kernel::Linear, 1, scale, 0.0);
        let most = fit(&set, 5);
        // Without jitter it may be lost in rounding errors, but the rank is sufficient.
        let is_possible = matches!(most, Ok(_) | Err(FitError::Singular));
        assert!(is_possible, "scale {scale}: {most:?}");
        for d in [6, 8, 20] {
            let error = fit(&set, d).err().map(|error| error.to_string());
            let expected = format!(
                "`d` is {d}, but the kernel matrix has a numerical rank of only 5; lower `d` or \
                 raise `jitter`"
            );
            assert_eq!(error, Some(expected), "scale {scale}");
        }
    }
    let duplicated = clouds(&Kernel::default(), 3, 1.0, 0.0);
    assert!(fit(&duplicated, 10).is_ok());
    let refused = fit(&duplicated, 11);
    assert!(matches!(refused, Err(FitError::Rank { d: 11, rank: 10 })), "{refused:?}");
}

#[test]
fn with_jitter_the_rank_does_not_matter() {
    let set = clouds(&Kernel::Linear, 1, 1.0, 1e-6);
    let model = fit(&set, 20).unwrap();
    assert!(model.certificate().primal < 100.0, "{:?}", model.certificate());
}

#[test]
fn a_singular_kernel_never_ends_in_a_senseless_answer() {
    for scale in [1.0, 10.0, 100.0] {
        let set = clouds(&Kernel::Linear, 1, scale, 0.0);
        for d in 1..=5 {
            match fit(&set, d) {
                // A hyperplane of zeros costs c per dissimilar sample, plus the manifold term.
                Ok(model) => {
                    let last = model.trace().last().unwrap();
                    let loss = model.certificate().primal - last.manifold;
                    assert!(loss < 30.0, "d = {d}, scale {scale}: {loss}");
                }
                Err(error) => assert!(matches!(error, FitError::Singular), "{error}"),
            }
        }
    }
}
