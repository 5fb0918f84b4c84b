//! Promise: fits of a sweep share their work (factors, graph, solutions to start from) and still
//! give the numbers they would give by themselves.

#[allow(dead_code, reason = "shared with tests that ask it for more")]
mod support;

use faer::Par;
use npsvcpp::model::{Fit, Problem, registry};
use npsvcpp::seed::Seed;
use serde_json::{Value, json};
use support::Digits;

fn fit(name: &str, params: &Value, problem: &Problem) -> Fit {
    let method = registry::find(name).unwrap().configure(params).unwrap();
    method.fit(problem, &Seed::root(3)).unwrap()
}

/// Fits all points in one lane of a sweep, and each on a problem of its own.
fn check(name: &str, points: &[Value]) {
    let digits = Digits::load();
    let sweep = digits.problem(Par::Seq).for_sweep();
    let lane = sweep.lane(Par::Seq);
    let cross = sweep.cross(digits.x_test.view());
    for params in points {
        let shared = fit(name, params, &lane);
        let alone = fit(name, params, &digits.problem(Par::Seq));
        assert!(shared.certificate.gap >= 0.0);
        let values = |fit: &Fit| fit.machine.decision(cross.as_ref(), Par::Seq);
        let (one, other) = (values(&shared), values(&alone));
        let apart = (&one - &other).norm_max() / other.norm_max();
        assert!(apart < 1e-4, "{name} {params}: {apart}");
        assert_eq!(
            shared.machine.predict(cross.as_ref(), Par::Seq),
            alone.machine.predict(cross.as_ref(), Par::Seq),
            "{name} {params}"
        );
    }
}

fn grid(scheme: &str, r: &str, tolerance: &str) -> Vec<Value> {
    let mut points = Vec::new();
    for value in [0.05, 0.5] {
        for c in [0.1, 1.0, 10.0] {
            points.push(json!({"scheme": scheme, "c": c, r: value, tolerance: 1e-9}));
        }
    }
    points
}

#[test]
fn convex_methods() {
    for scheme in ["ovr", "rvo"] {
        for name in ["twsvm", "npsvm", "pintwsvm"] {
            check(name, &grid(scheme, "r", "tolerance"));
        }
    }
}

#[test]
fn fits_along_gamma_share_their_iterations_to_the_bit() {
    let digits = Digits::load();
    let lane = digits.problem(Par::Seq).for_sweep().lane(Par::Seq);
    for scheme in ["ovr", "rvo"] {
        // The same way, shorter, longer, on another one, and back.
        for (gamma, tau_momentum, max_iter) in [
            (0.0, 1.0, 4),
            (4.0, 1.0, 4),
            (5.0, 1.0, 2),
            (40.0, 1.0, 6),
            (40.0, 0.75, 6),
            (4.0, 1.0, 4),
        ] {
            let params = json!({
                "scheme": scheme, "gamma": gamma, "tau_momentum": tau_momentum,
                "max_iter": max_iter, "tolerance": 0.0,
            });
            let shared = fit("k-npsvcpp", &params, &lane);
            let alone = fit("k-npsvcpp", &params, &digits.problem(Par::Seq));
            assert_eq!(shared.trace, alone.trace, "{params}");
            let cross = lane.cross(digits.x_test.view());
            let values = |fit: &Fit| fit.machine.decision(cross.as_ref(), Par::Seq);
            assert_eq!(values(&shared), values(&alone), "{params}");
        }
    }
}

#[test]
fn k_npsvcpp() {
    for scheme in ["ovr", "rvo"] {
        check("k-npsvcpp", &grid(scheme, "r1", "qp_tolerance"));
    }
}

#[test]
fn a_bound_that_no_multiplier_comes_near_has_no_say() {
    let digits = Digits::load();
    for (scheme, qp_tolerance, within) in [
        ("ovr", 1e-9, 1e-6),
        ("rvo", 1e-9, 1e-6),
        ("rvo", 1e-5, 1e-3),
    ] {
        let lane = digits.problem(Par::Seq).for_sweep().lane(Par::Seq);
        let cross = lane.cross(digits.x_test.view());
        let along_c = |c: f64| {
            let params =
                json!({"scheme": scheme, "c": c, "max_iter": 3, "qp_tolerance": qp_tolerance});
            let shared = fit("k-npsvcpp", &params, &lane);
            (shared, fit("k-npsvcpp", &params, &digits.problem(Par::Seq)))
        };
        let (largest, _) = along_c(1000.0);
        let (large, alone) = along_c(100.0);
        // One fit for both, and the one that would have been made.
        assert_eq!(large.trace, largest.trace);
        let primal = alone.certificate.primal;
        assert!((large.certificate.primal - primal).abs() < within * primal);
        let values = |fit: &Fit| fit.machine.decision(cross.as_ref(), Par::Seq);
        let apart = (values(&large) - values(&alone)).norm_max() / values(&alone).norm_max();
        assert!(apart < within, "{scheme}: {apart}");
        // Here the bound is felt.
        let (small, alone) = along_c(0.01);
        assert_eq!(small.trace, alone.trace);
        assert!(small.certificate.primal < 0.9 * largest.certificate.primal);
        // Back up, nothing is known of what a larger bound does.
        let (again, alone) = along_c(0.1);
        assert_eq!(again.trace, alone.trace);
    }
}
