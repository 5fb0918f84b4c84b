//! Quadratic programs on the probability simplex, by two-coordinate descent.
//!
//! ```text
//! min_{tau >= 0, 1^T tau = 1}  1/2 tau^T G tau - h^T tau
//! ```
//!
//! A step moves mass to the coordinate with the smallest gradient, from the coordinate that decreases
//! the objective most, to the minimum along that edge. The Frank-Wolfe gap `tau^T g - min_l g_l` with
//! the gradient `g` bounds the distance to the optimum. It is both the stopping rule and the gap of
//! the certificate.

use faer::MatRef;

use crate::certificate::{Certificate, Termination};

/// The minimiser from `start`, a point of the simplex.
///
/// ```
/// use npsvc::faer::mat;
/// use npsvc::solve::simplex;
///
/// // min tau_1^2 + tau_2^2 / 2
/// let g = mat![[2.0, 0.0], [0.0, 1.0]];
/// let (tau, certificate) = simplex::solve(g.as_ref(), &[0.0; 2], &[0.5; 2], 1e-9);
/// assert!((tau[0] - 1.0 / 3.0).abs() < 1e-9 && certificate.converged());
/// assert!((certificate.primal - 1.0 / 3.0).abs() < 1e-9);
/// ```
pub fn solve(
    g: MatRef<'_, f64>,
    h: &[f64],
    start: &[f64],
    tolerance: f64,
) -> (Vec<f64>, Certificate) {
    const STEPS_PER_CLASS: usize = 10_000;
    let k = h.len();
    let mut tau = start.to_vec();
    let mut gradient: Vec<f64> =
        (0..k).map(|i| (0..k).map(|j| g[(i, j)] * tau[j]).sum::<f64>() - h[i]).collect();
    let scale = gradient.iter().fold(f64::MIN_POSITIVE, |scale, g| scale.max(g.abs()));
    let mut iterations = 0;
    loop {
        let gap = frank_wolfe_gap(&tau, &gradient);
        let converged = gap <= tolerance * scale;
        let is_limit = iterations >= k * STEPS_PER_CLASS;
        let next = best_edge(g, &tau, &gradient).filter(|_| !converged && !is_limit);
        let Some((from, to, amount)) = next else {
            let primal = objective(&tau, &gradient, h);
            let termination = match (converged, is_limit) {
                (true, _) => Termination::Solved,
                (false, true) => Termination::IterationLimit,
                (false, false) => Termination::without_progress(gap, tolerance * scale),
            };
            let certificate =
                Certificate::new([primal, primal - gap, gap], iterations, termination);
            // The mass of several steps adds up to one only up to rounding.
            if let Some(only) = single(&tau) {
                tau[only] = 1.0;
            }
            return (tau, certificate);
        };
        tau[from] = if amount >= tau[from] { 0.0 } else { tau[from] - amount };
        tau[to] += amount;
        for i in 0..k {
            gradient[i] += amount * (g[(i, to)] - g[(i, from)]);
        }
        iterations += 1;
    }
}

/// The coordinate that has all the mass, if there is one.
fn single(tau: &[f64]) -> Option<usize> {
    let mut some = (0..tau.len()).filter(|&i| tau[i] > 0.0);
    some.next().filter(|_| some.next().is_none())
}

fn frank_wolfe_gap(tau: &[f64], gradient: &[f64]) -> f64 {
    let least = gradient.iter().copied().fold(f64::INFINITY, f64::min);
    tau.iter().zip(gradient).map(|(tau, g)| tau * (g - least)).sum()
}

/// The edge to the smallest gradient that decreases the objective most, as the coordinates `from` and
/// `to` and the mass to move. `None` if no edge descends.
fn best_edge(g: MatRef<'_, f64>, tau: &[f64], gradient: &[f64]) -> Option<(usize, usize, f64)> {
    let to = (0..tau.len()).min_by(|&a, &b| gradient[a].total_cmp(&gradient[b]))?;
    let mut best: Option<(f64, usize, f64)> = None;
    for from in (0..tau.len()).filter(|&from| tau[from] > 0.0) {
        let slope = gradient[from] - gradient[to];
        if slope <= 0.0 {
            continue;
        }
        let curvature = (g[(from, from)] + g[(to, to)] - 2.0 * g[(from, to)]).max(0.0);
        let amount = if curvature * tau[from] > slope { slope / curvature } else { tau[from] };
        let gain = amount * (slope - 0.5 * curvature * amount);
        if best.is_none_or(|(most, ..)| gain > most) {
            best = Some((gain, from, amount));
        }
    }
    best.map(|(_, from, amount)| (from, to, amount))
}

/// `1/2 tau^T G tau - h^T tau`. No product is necessary, because `G tau = gradient + h`.
fn objective(tau: &[f64], gradient: &[f64], h: &[f64]) -> f64 {
    tau.iter().zip(gradient.iter().zip(h)).map(|(t, (g, h))| 0.5 * t * (g - h)).sum()
}

#[cfg(test)]
mod tests {
    use faer::{Mat, Par};
    use proptest::prelude::*;

    use super::*;
    use crate::algebra::product;

    #[test]
    fn a_zero_matrix_puts_all_weight_on_the_largest_gain() {
        let g = Mat::zeros(3, 3);
        let (tau, certificate) = solve(g.as_ref(), &[1.0, 3.0, 2.0], &[1.0 / 3.0; 3], 1e-12);
        assert_eq!(tau, [0.0, 1.0, 0.0]);
        assert!(certificate.converged());
        assert_eq!(certificate.primal, -3.0);
    }

    #[test]
    fn the_identity_gives_the_uniform_point() {
        let g = Mat::<f64>::identity(4, 4);
        let (tau, certificate) = solve(g.as_ref(), &[0.0; 4], &[1.0, 0.0, 0.0, 0.0], 1e-14);
        assert!(tau.iter().all(|t| (t - 0.25).abs() < 1e-12), "{tau:?}");
        assert!(certificate.converged() && certificate.gap >= 0.0);
    }

    prop_compose! {
        /// A factor of `G`, and `h`.
        fn problems()(k in 1..8_usize)(
            entries in prop::collection::vec(-1.0..1.0, 3 * k),
            h in prop::collection::vec(-1.0..1.0, k),
        ) -> (Mat<f64>, Vec<f64>) {
            (Mat::from_fn(3, h.len(), |a, i| entries[3 * i + a]), h)
        }
    }

    proptest! {
        #[test]
        fn solutions_are_on_the_simplex_and_certified((rows, h) in problems()) {
            let k = h.len();
            let g = product(rows.transpose(), rows.as_ref(), Par::Seq);
            let (tau, certificate) = solve(g.as_ref(), &h, &vec![1.0 / k as f64; k], 1e-9);
            prop_assert!(certificate.converged());
            prop_assert!(tau.iter().all(|&t| t >= 0.0));
            prop_assert!((tau.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(certificate.gap >= 0.0);
            // The dual is a bound on the objective of each vertex.
            for i in 0..k {
                prop_assert!(certificate.dual <= 0.5 * g[(i, i)] - h[i] + 1e-9);
            }
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_never_certified() {
        let g = Mat::<f64>::identity(2, 2);
        let (_, certificate) = solve(g.as_ref(), &[f64::NAN, 0.0], &[0.5; 2], 1e-9);
        assert_eq!(certificate.termination, Termination::NumericalError);
    }
}
