//! The largest eigenvalue of a symmetric operator, by Lanczos iteration with full
//! reorthogonalisation.
//!
//! ```text
//! max_x  x^T M x / x^T x    over x in span{v, M v, M^2 v, ...}
//! ```

use faer::Mat;

use crate::algebra::{add_scaled, column, inner, symmetric_eigen};

/// An eigenpair and its error bound.
///
/// ```
/// use npsvc::solve::lanczos::{Eigenpair, largest};
///
/// let apply = |x: &[f64]| x.iter().enumerate().map(|(i, x)| i as f64 * x).collect();
/// let Eigenpair { value, residual, iterations, .. } = largest(5, 1e-9, apply);
/// assert!((value - 4.0).abs() <= residual.max(1e-12));
/// // After five steps the basis spans the whole space.
/// assert!(iterations <= 5);
/// ```
#[derive(Clone, Debug)]
pub struct Eigenpair {
    /// The eigenvalue.
    pub value: f64,
    /// The eigenvector, of norm one.
    pub vector: Vec<f64>,
    /// `|A v - value v|`. An eigenvalue of `A` is at most this far from `value`.
    pub residual: f64,
    /// Size of the Krylov basis.
    pub iterations: usize,
    /// Whether the residual is within the tolerance.
    pub converged: bool,
}

/// The top eigenpair of a symmetric `A`; `apply(x)` is `A x`.
///
/// ```
/// use npsvc::solve::lanczos;
///
/// // The matrix [[2, 1], [1, 2]].
/// let apply = |x: &[f64]| vec![2.0 * x[0] + x[1], x[0] + 2.0 * x[1]];
/// let top = lanczos::largest(2, 1e-12, apply);
/// assert!(top.converged && (top.value - 3.0).abs() < 1e-12);
/// assert!((top.vector[0] - top.vector[1]).abs() < 1e-12);
/// ```
pub fn largest(n: usize, tolerance: f64, apply: impl FnMut(&[f64]) -> Vec<f64>) -> Eigenpair {
    largest_in_metric(n, tolerance, <[f64]>::to_vec, apply)
}

/// The top eigenpair of an operator `A = L K` that is symmetric in the inner product `x^T K y`:
/// `metric(x)` is `K x` and `apply(K x)` is `L K x`. The start vector is fixed, so that the result is
/// reproducible, and irregular, so that it is not orthogonal to an eigenvector by symmetry.
///
/// ```
/// use npsvc::solve::lanczos;
///
/// // K = diag(1, 2) and L = diag(3, 1): L K = diag(3, 2).
/// let metric = |x: &[f64]| vec![x[0], 2.0 * x[1]];
/// let apply = |kx: &[f64]| vec![3.0 * kx[0], kx[1]];
/// let top = lanczos::largest_in_metric(2, 1e-12, metric, apply);
/// assert!((top.value - 3.0).abs() < 1e-12);
/// ```
pub fn largest_in_metric(
    n: usize,
    tolerance: f64,
    mut metric: impl FnMut(&[f64]) -> Vec<f64>,
    mut apply: impl FnMut(&[f64]) -> Vec<f64>,
) -> Eigenpair {
    const LARGEST_BASIS: usize = 200;
    let mut next: Vec<f64> = (0..n).map(start_vector_entry).collect();
    let (mut basis, mut duals) = (Vec::<Vec<f64>>::new(), Vec::<Vec<f64>>::new());
    let (mut alphas, mut betas) = (Vec::new(), Vec::<f64>::new());
    loop {
        let mut dual = metric(&next);
        let beta = inner(&next, &dual).max(0.0).sqrt();
        let steps = basis.len();
        if steps > 0 {
            let (value, weights) = top_of_tridiagonal(&alphas, &betas[1..]);
            let residual = beta * weights[steps - 1].abs();
            let exhausted = steps == n || beta == 0.0;
            let is_met = exhausted || residual <= tolerance * value.abs();
            let converged = is_met && value.is_finite() && residual.is_finite();
            if is_met || steps == LARGEST_BASIS || !residual.is_finite() {
                let mut vector = vec![0.0; n];
                for (weight, basis) in weights.iter().zip(&basis) {
                    add_scaled(&mut vector, *weight, basis);
                }
                return Eigenpair { value, vector, residual, iterations: steps, converged };
            }
        }
        for value in next.iter_mut().chain(&mut dual) {
            *value /= beta.max(f64::MIN_POSITIVE);
        }
        basis.push(next);
        duals.push(dual);
        betas.push(beta);
        next = apply(&duals[steps]);
        alphas.push(inner(&duals[steps], &next));
        for _ in 0..2 {
            for (vector, dual) in basis.iter().zip(&duals) {
                let overlap = inner(dual, &next);
                add_scaled(&mut next, -overlap, vector);
            }
        }
    }
}

/// Largest eigenvalue and its vector of the tridiagonal matrix.
fn top_of_tridiagonal(alphas: &[f64], betas: &[f64]) -> (f64, Vec<f64>) {
    let m = alphas.len();
    let t = Mat::from_fn(m, m, |i, j| match i.abs_diff(j) {
        0 => alphas[i],
        1 => betas[i.min(j)],
        _ => 0.0,
    });
    match symmetric_eigen(t.as_ref()) {
        Some((values, vectors)) => (values[m - 1], column(vectors.as_ref(), m - 1).to_vec()),
        // Entries are not finite. The residual is then NaN, which the caller checks.
        None => (f64::NAN, vec![f64::NAN; m]),
    }
}

/// One plus a fixed pattern in [-1/4, 1/4] without a short period.
fn start_vector_entry(i: usize) -> f64 {
    1.0 + 0.5 * ((i as f64 * 0.754_877_666_246_692_8).fract() - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_top_of_a_known_spectrum() {
        let found = largest(50, 1e-12, |x| {
            x.iter().enumerate().map(|(i, x)| (1.0 + i as f64) * x).collect()
        });
        assert!(found.converged);
        assert!((found.value - 50.0).abs() < 1e-9, "{}", found.value);
        assert!(found.vector[49].abs() > 0.999_999);
    }

    #[test]
    fn a_zero_operator_ends() {
        let found = largest(4, 1e-12, |x| vec![0.0; x.len()]);
        assert!(found.converged);
        assert_eq!(found.value, 0.0);
    }

    #[test]
    fn an_operator_without_numbers_does_not_converge() {
        let found = largest(4, 1e-12, |x| vec![f64::NAN; x.len()]);
        assert!(!found.converged);
    }
}
