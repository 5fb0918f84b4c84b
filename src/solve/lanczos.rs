//! The largest eigenvalue of a symmetric positive semidefinite operator, by Lanczos iteration with
//! full reorthogonalisation.

use faer::{Mat, Side};

/// An eigenpair and what vouches for it.
#[derive(Clone, Debug)]
pub struct Eigenpair {
    pub value: f64,
    /// Of norm one.
    pub vector: Vec<f64>,
    /// `|A v - value v|`: some eigenvalue lies within this of `value`.
    pub residual: f64,
    pub iterations: usize,
    pub converged: bool,
}

/// `multiply(x, out)` adds `A x` to `out`, which is zero. The start is the constant vector with a
/// small ripple, so that the answer is reproducible and no symmetry hides an eigenvector.
pub fn largest(
    n: usize,
    tolerance: f64,
    mut multiply: impl FnMut(&[f64], &mut [f64]),
) -> Eigenpair {
    const LARGEST_BASIS: usize = 200;
    let mut basis: Vec<Vec<f64>> = vec![unit((0..n).map(|i| 1.0 + ripple(i)).collect())];
    let (mut alphas, mut betas) = (Vec::new(), Vec::<f64>::new());
    loop {
        let steps = basis.len();
        let current = &basis[steps - 1];
        let mut next = vec![0.0; n];
        multiply(current, &mut next);
        alphas.push(dot(current, &next));
        for _ in 0..2 {
            for vector in &basis {
                let overlap = dot(vector, &next);
                add(&mut next, vector, -overlap);
            }
        }
        let beta = dot(&next, &next).sqrt();
        let (value, weights) = top_of_tridiagonal(&alphas, &betas);
        let residual = beta * weights[steps - 1].abs();
        let converged = residual <= tolerance * value.abs().max(f64::MIN_POSITIVE);
        if converged || steps == n || steps == LARGEST_BASIS || beta == 0.0 {
            let mut vector = vec![0.0; n];
            for (weight, basis) in weights.iter().zip(&basis) {
                add(&mut vector, basis, *weight);
            }
            let converged = converged || steps == n || beta == 0.0;
            return Eigenpair {
                value,
                vector: unit(vector),
                residual,
                iterations: steps,
                converged,
            };
        }
        betas.push(beta);
        basis.push(next.into_iter().map(|value| value / beta).collect());
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
    match t.self_adjoint_eigen(Side::Lower) {
        Ok(eigen) => {
            let vector = eigen.U().col(m - 1).iter().copied().collect();
            (eigen.S().column_vector()[m - 1], vector)
        }
        // Only for entries that are not finite; the caller sees a residual that is not either.
        Err(_) => (f64::NAN, vec![f64::NAN; m]),
    }
}

/// A fixed pattern in [-1/4, 1/4] without a short period.
fn ripple(i: usize) -> f64 {
    0.5 * ((i as f64 * 0.754_877_666_246_692_8).fract() - 0.5)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(target: &mut [f64], source: &[f64], factor: f64) {
    for (target, source) in target.iter_mut().zip(source) {
        *target += factor * source;
    }
}

fn unit(mut vector: Vec<f64>) -> Vec<f64> {
    let norm = dot(&vector, &vector).sqrt().max(f64::MIN_POSITIVE);
    for value in &mut vector {
        *value /= norm;
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_top_of_a_known_spectrum() {
        let found = largest(50, 1e-12, |x, out| {
            for (i, (out, x)) in out.iter_mut().zip(x).enumerate() {
                *out += (1.0 + i as f64) * x;
            }
        });
        assert!(found.converged);
        assert!((found.value - 50.0).abs() < 1e-9, "{}", found.value);
        assert!(found.vector[49].abs() > 0.999_999);
    }

    #[test]
    fn a_zero_operator_ends() {
        let found = largest(4, 1e-12, |_, _| {});
        assert!(found.converged);
        assert_eq!(found.value, 0.0);
    }
}
