//! GEPSVM: the hyperplane with the smallest ratio of squared distances, similar to dissimilar.
//!
//! ```text
//! min_f  (sum_p f(x_i)^2 + delta |f|^2) / sum_q f(x_j)^2
//! ```
//!
//! Tikhonov's term is the norm of the function space here. The optimal `f` comes from the largest
//! eigenvalue of `M / delta` with `M` of [`super::duals`] (`r = delta`): one number and one vector
//! instead of a generalised problem of size n.

use faer::{Mat, MatRef};

use super::duals::{CommonParameters, Duals, cholesky};
use crate::algebra::{Matrix, column_mut, lower_submatrix};
use crate::params::{Range, method_parameters};
use crate::plain::Problem;
use crate::solve::lanczos::{self, Eigenpair};
use crate::{
    Certificate, FitError, FitOptions, Method, MethodInfo, Scheme, Termination, Trained,
    TrainingSet,
};

/// Relative residual at which the eigenvalue counts as found.
const RELATIVE_RESIDUAL: f64 = 1e-8;

method_parameters! {
    /// GEPSVM: the smallest ratio of squared distances.
    ///
    /// ```text
    /// min_f  (sum_p f(x_i)^2 + delta |f|^2) / sum_q f(x_j)^2
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Gepsvm, Kernel, Method, TrainingSet};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let ratio = |delta: f64| {
    ///     let model = Gepsvm { delta, ..Gepsvm::default() }.fit(&set, FitOptions::default())?;
    ///     Ok::<f64, Box<dyn std::error::Error>>(model.certificate().primal)
    /// };
    /// // The objective is the sum of the ratios, which a smaller `delta` lowers.
    /// assert!(ratio(0.01)? < ratio(0.1)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Gepsvm {
        /// Tikhonov regulariser.
        delta: f64 = 0.1, Range::Above(0.0);
        /// Which samples a hyperplane is close to.
        scheme: Scheme = Scheme::Ovr;
        /// Append a constant feature, so that the hyperplanes need not pass through the origin.
        bias: bool = false;
    }
}

impl Method for Gepsvm {
    fn info(&self) -> &'static MethodInfo {
        &MethodInfo {
            name: "gepsvm",
            title: "GEPSVM",
            about: "generalised eigenvalues (Mangasarian and Wild 2006)",
            losses: ["a²", "1/a², as a ratio of sums"],
            version: 1,
            learns_representation: false,
        }
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }

    fn problem(&self) -> Option<Problem> {
        Some(Problem::Ratio { common: self.common().plain() })
    }

    fn train(&self, set: &TrainingSet, options: &mut FitOptions<'_>) -> Result<Trained, FitError> {
        let common = self.common();
        let duals = Duals::of_square_loss(set, common, options)?;
        let mut b = Mat::zeros(duals.k.n(), duals.classes);
        let mut certificates = Vec::with_capacity(duals.classes);
        for l in 0..duals.classes {
            let (found, column) = match duals.k {
                Matrix::Full(k) if !duals.is_eliminated() => self.one_versus_rest(&duals, k, l)?,
                _ => eliminated(&duals, l)?,
            };
            column_mut(&mut b, l).copy_from_slice(&column);
            certificates.push(ratio_certificate(&found, self.delta));
        }
        let values = duals.k.times(b.as_ref(), duals.par);
        common.trained(set, b, values.as_ref(), certificates)
    }
}

impl Gepsvm {
    fn common(&self) -> CommonParameters {
        CommonParameters::new(self.delta, self.scheme, self.bias, RELATIVE_RESIDUAL)
    }

    /// Few similar samples: `M` is applied through a factor of `S_pp` and products with K.
    fn one_versus_rest(
        &self,
        duals: &Duals<'_>,
        k: MatRef<'_, f64>,
        l: usize,
    ) -> Result<(Eigenpair, Vec<f64>), FitError> {
        let (similar, dissimilar) = Scheme::Ovr.sides(duals.y, l);
        let block = lower_submatrix(k, &similar, |_| self.delta);
        let factor = cholesky(block, self.delta, duals.par)?;
        let values = |weights: &[f64]| duals.k.times_vector(weights, duals.par);
        // `x` on the dissimilar samples and `-(S_pp)^-1 K_pq x` on the similar ones.
        let extended = |x: &[f64]| {
            let mut weights = vec![0.0; k.nrows()];
            for (&j, x) in dissimilar.iter().zip(x) {
                weights[j] = *x;
            }
            let at = values(&weights);
            let mut solved = Mat::from_fn(similar.len(), 1, |a, _| at[similar[a]]);
            factor.solve(solved.as_mut());
            for (a, &i) in similar.iter().enumerate() {
                weights[i] = -solved[(a, 0)];
            }
            weights
        };
        let found = lanczos::largest(dissimilar.len(), RELATIVE_RESIDUAL, |x| {
            let at = values(&extended(x));
            dissimilar.iter().map(|&j| at[j]).collect()
        });
        let weights = extended(&found.vector);
        let column = weights.iter().map(|weight| weight / self.delta).collect();
        Ok((found, column))
    }
}

/// Few dissimilar samples, or a factor: `M` itself.
fn eliminated(duals: &Duals<'_>, l: usize) -> Result<(Eigenpair, Vec<f64>), FitError> {
    let dual = duals.reduced(l)?;
    let found = lanczos::largest(dual.dissimilar.len(), RELATIVE_RESIDUAL, |x| {
        dual.matrix.view().times_vector(x, duals.par)
    });
    let lambda = [found.vector.clone()];
    let values = duals.similar_values(std::slice::from_ref(&dual), &lambda, None);
    let column = duals.coefficients(&dual, &lambda[0], &values[0]);
    Ok((found, column))
}

/// The ratio is `delta / eigenvalue`. The residual bounds the distance to *some* eigenvalue of the
/// matrix, not to the largest one. So `dual` is an estimate; it is a lower bound only if Lanczos found
/// the right end of the spectrum.
fn ratio_certificate(found: &Eigenpair, delta: f64) -> Certificate {
    let primal = delta / found.value.max(f64::MIN_POSITIVE);
    let dual = delta / (found.value + found.residual).max(f64::MIN_POSITIVE);
    let termination = Termination::solved_or(Termination::IterationLimit, found.converged);
    Certificate::new([primal, dual, primal - dual], found.iterations, termination)
}
