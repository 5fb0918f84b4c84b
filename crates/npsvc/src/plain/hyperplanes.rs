//! The methods of the paper's Table 1.
//!
//! With `a_i = r b_i` in the domain of the conjugate losses, Fenchel's inequality gives the bound
//! `-1/(2r) a^T K a - sum_i loss_i^*(-a_i)`.

use super::samples::{Function, bilinear};
use super::{Common, Problem, Recomputed, Samples, Solution, Unclear};
use crate::{Dissimilarity, Similarity};

/// A loss, as data.
#[derive(Clone, Copy)]
pub(super) enum Loss {
    Similar(Similarity),
    Dissimilar(Dissimilarity),
}

impl Loss {
    pub fn value(self, f: f64) -> f64 {
        match self {
            Self::Similar(Similarity::Square) => f * f / 2.0,
            Self::Similar(Similarity::Insensitive { c, epsilon }) => {
                if f.abs() <= epsilon {
                    0.0
                } else {
                    c * (f.abs() - epsilon)
                }
            }
            Self::Similar(Similarity::Capped { at }) => {
                if f.abs() < at {
                    f.abs()
                } else {
                    at
                }
            }
            Self::Similar(Similarity::Correntropy { gamma }) => 1.0 - (-gamma * f.abs()).exp(),
            Self::Dissimilar(Dissimilarity::Hinge { c }) => {
                if f < 1.0 {
                    c * (1.0 - f)
                } else {
                    0.0
                }
            }
            Self::Dissimilar(Dissimilarity::Pinball { c, tau }) => {
                if f < 1.0 {
                    c * (1.0 - f)
                } else {
                    c * tau * (f - 1.0)
                }
            }
            Self::Dissimilar(Dissimilarity::Square { c }) => c * (1.0 - f) * (1.0 - f) / 2.0,
        }
    }

    /// A bound on the slope.
    pub fn slope(self, f: f64) -> f64 {
        match self {
            Self::Similar(Similarity::Square) => f.abs(),
            Self::Similar(Similarity::Insensitive { c, .. }) => c,
            Self::Similar(Similarity::Capped { .. }) => 1.0,
            Self::Similar(Similarity::Correntropy { gamma }) => gamma,
            Self::Dissimilar(Dissimilarity::Hinge { c }) => c,
            Self::Dissimilar(Dissimilarity::Pinball { c, tau }) => c * tau.max(1.0),
            Self::Dissimilar(Dissimilarity::Square { c }) => c * (1.0 - f).abs(),
        }
    }

    /// The multiplier nearest to `a` at which the conjugate is finite.
    fn clip(self, a: f64) -> f64 {
        match self {
            Self::Similar(Similarity::Insensitive { c, .. }) => a.clamp(-c, c),
            Self::Dissimilar(Dissimilarity::Hinge { c }) => a.clamp(0.0, c),
            Self::Dissimilar(Dissimilarity::Pinball { c, tau }) => a.clamp(-tau * c, c),
            _ => a,
        }
    }

    /// `loss^*(-a)`; `None` for a loss that is not convex.
    fn conjugate(self, a: f64) -> Option<f64> {
        match self {
            Self::Similar(Similarity::Square) => Some(a * a / 2.0),
            Self::Similar(Similarity::Insensitive { epsilon, .. }) => Some(epsilon * a.abs()),
            Self::Similar(_) => None,
            Self::Dissimilar(Dissimilarity::Hinge { .. } | Dissimilarity::Pinball { .. }) => {
                Some(-a)
            }
            Self::Dissimilar(Dissimilarity::Square { c }) => Some(a * a / (2.0 * c) - a),
        }
    }
}

pub(super) fn recompute(
    problem: &Problem,
    samples: &Samples,
    solution: &Solution,
) -> Result<Recomputed, Unclear> {
    let Problem::Hyperplanes { similarity, dissimilarity, common, manifold } = problem else {
        return Err(Unclear("these are not hyperplanes of Table 1".to_owned()));
    };
    let manifold = manifold.as_ref().filter(|(mu, _)| *mu > 0.0);
    let laplacian = manifold.map(|(_, graph)| samples.laplacian(graph)).transpose()?;
    let functions = samples.functions(solution, common.constant());
    let mut found = Recomputed::default();
    for (l, function) in functions.iter().enumerate() {
        let loss = |i: usize| match common.is_similar(samples.y[i], l) {
            true => Loss::Similar(*similarity),
            false => Loss::Dissimilar(*dissimilarity),
        };
        let (mut primal, mut rounding) = regulariser(common.r, function);
        for (i, &f) in function.values.iter().enumerate() {
            primal += loss(i).value(f);
            rounding += (loss(i).slope(f) + function.errors[i]) * function.errors[i];
        }
        if let (Some((mu, _)), Some(laplacian)) = (manifold, &laplacian) {
            let (f, errors) = (&function.values, &function.errors);
            primal += mu / 2.0 * bilinear(laplacian, f, f);
            let size: f64 = f.iter().zip(errors).map(|(f, error)| f.abs() * error).sum();
            rounding += 2.0 * mu * size;
        }
        let has_bound = manifold.is_none() && solution.is_complete(samples);
        let dual =
            if has_bound { dual(common, samples, &solution.coefficients[l], loss) } else { None };
        found.add(primal, dual, rounding);
        check(&mut found, common, solution, l, function);
    }
    Ok(found)
}

/// `r/2 |f|^2`, and how much of it rounding may explain.
pub(super) fn regulariser(r: f64, function: &Function) -> (f64, f64) {
    (r / 2.0 * function.squared_norm, r * function.norm_error)
}

/// The bound from the coefficients `b` of one function.
fn dual(
    common: &Common,
    samples: &Samples,
    b: &[f64],
    loss: impl Fn(usize) -> Loss,
) -> Option<f64> {
    let a: Vec<f64> = b.iter().enumerate().map(|(i, b)| loss(i).clip(common.r * b)).collect();
    let every: Vec<usize> = (0..a.len()).collect();
    let quadratic = samples.function(&every, &a, common.constant()).squared_norm;
    let conjugates: Option<f64> = a.iter().enumerate().map(|(i, &a)| loss(i).conjugate(a)).sum();
    conjugates.map(|sum| -quadratic / (2.0 * common.r) - sum)
}

/// Checks the norm and the offset of function `l`.
pub(super) fn check(
    found: &mut Recomputed,
    common: &Common,
    solution: &Solution,
    l: usize,
    function: &Function,
) {
    if let Some(&norm) = solution.norms.get(l) {
        let (squared, error) = (function.squared_norm, function.norm_error);
        let name = format!("the squared norm of hyperplane {l}");
        found.require(&name, norm * norm, squared, squared.abs() + error / super::CONSTRAINT);
    }
    let b = &solution.coefficients[l];
    let (sum, size) = (b.iter().sum::<f64>(), b.iter().map(|b| b.abs()).sum::<f64>());
    let offset = common.constant() * sum;
    found.require(&format!("the offset of hyperplane {l}"), solution.offsets[l], offset, size);
}
