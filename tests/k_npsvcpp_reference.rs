//! K-NPSVC++ follows the authors' own program: every class's objective at every iteration, the
//! weights tau, and the predictions, for both schemes.

mod support;

use faer::{Mat, Par, Side};
use npsvcpp::kernel::{GraphOptions, GraphWeights};
use npsvcpp::model::{Dimension, Gpi, KNpsvcpp, Problem, Scheme, Start};
use npsvcpp::solve::stiefel::Frame;
use serde_json::Value;
use support::{Digits, labels, matrix, numbers, reference};

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
        graph: GraphOptions {
            weights: GraphWeights::MeanDistance,
            neighbours: Some(8),
        },
        gpi: Gpi {
            shift: 0.1,
            tolerance: 0.0,
            max_rounds: 25,
        },
        step: 0.1,
        max_iter: 6,
        tolerance: 0.0,
        qp_tolerance: 1e-11,
    }
}

/// Their P0 lives in Cholesky coordinates, `P = Psi^T A`; their dissimilar side is negative, so V0
/// changes its sign.
fn start(problem: &Problem, file: &Value) -> Start {
    let k = problem.gram();
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
    Start {
        frame: Frame { atk: &at * k, at },
        v,
    }
}

fn check(scheme: Scheme) {
    let digits = Digits::load();
    let problem = digits.problem(Par::Seq);
    let file = reference("k_npsvcpp_digits300.json");
    let expected = &file["expect"][scheme.name()];
    let tolerance = expected["tolerance_relative"].as_f64().unwrap();
    let fit = options(scheme)
        .fit_from(&problem, &start(&problem, &file))
        .unwrap();
    assert_eq!(fit.trace.len(), 6);
    for (t, row) in fit.trace.iter().enumerate() {
        // The reference objective contains the whole manifold term, ours the paper's half of it.
        let objectives: Vec<f64> = row.objectives.iter().map(|j| j + row.manifold).collect();
        close(
            &objectives,
            &numbers(&expected["objectives_by_iteration"][t]),
            tolerance,
            t,
        );
        close(
            &row.tau,
            &numbers(&expected["tau_used_by_iteration"][t]),
            tolerance,
            t,
        );
        close(
            &row.tau_star,
            &numbers(&expected["tau_star_by_iteration"][t]),
            tolerance,
            t,
        );
        let ends = [row.primal + row.manifold, row.dual + row.manifold];
        let expected_ends = ["primal", "dual"].map(|end| expected[end][t].as_f64().unwrap());
        close(&ends, &expected_ends, tolerance, t);
    }
    let cross = problem.cross(digits.x_test.view());
    let predicted = fit.machine.predict(cross.as_ref(), Par::Seq);
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
fn rest_versus_one() {
    check(Scheme::Rvo);
}

#[test]
fn one_versus_rest() {
    check(Scheme::Ovr);
}
