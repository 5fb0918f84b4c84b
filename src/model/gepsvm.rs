//! GEPSVM: the hyperplane with the smallest ratio of squared distances, similar to dissimilar.
//!
//! ```text
//! min_f  (sum_p f(x_i)^2 + delta |f|^2) / sum_q f(x_j)^2
//! ```
//!
//! Tikhonov's term is the norm of the function space here. Then the optimal `f` comes from the
//! largest eigenvalue of `M / delta` with `M` of [`super::plane`] (`r = delta`), one number and one
//! vector instead of a generalised problem of size n.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use faer::Mat;

use super::nonparallel::{self, Hyperplanes};
use super::plane::{Planes, Sides, cholesky};
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::kernel::algebra::column_mut;
use crate::seed::Seed;
use crate::solve::Certificate;
use crate::solve::lanczos::{self, Eigenpair};

/// Relative residual at which the eigenvalue counts as found.
const RELATIVE_RESIDUAL: f64 = 1e-8;

/// Parameters of GEPSVM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gepsvm {
    /// Tikhonov regulariser.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub delta: f64,
    pub scheme: Scheme,
    /// Append a constant feature, so that the hyperplanes need not pass through the origin.
    pub bias: bool,
}

impl Default for Gepsvm {
    fn default() -> Self {
        Self {
            delta: 0.1,
            scheme: Scheme::Ovr,
            bias: false,
        }
    }
}

impl Method for Gepsvm {
    const NAME: &'static str = "gepsvm";
    const TITLE: &'static str = "GEPSVM";
    const ABOUT: &'static str = "generalised eigenvalues (Mangasarian and Wild 2006)";
    const LOSSES: [&'static str; 2] = ["a²", "1/a², as a ratio of sums"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("delta", self.delta)
    }

    fn fit(&self, problem: &Problem, _: &Seed) -> Result<Fit, FitError> {
        let hyperplanes = Hyperplanes {
            r: self.delta,
            scheme: self.scheme,
            bias: self.bias,
            tolerance: RELATIVE_RESIDUAL,
        };
        let planes = Planes::new(problem, self.delta, self.scheme, self.bias)?;
        let k = problem.gram_with(self.bias);
        let Shape { n, classes, .. } = problem.shape();
        let mut coefficients = Mat::zeros(n, classes);
        let mut certificates = Vec::with_capacity(classes);
        for l in 0..classes {
            let (found, column) = match &planes {
                Some(planes) => eliminated(planes, l)?,
                None => self.one_versus_rest(problem, l)?,
            };
            column_mut(&mut coefficients, l).copy_from_slice(&column);
            certificates.push(ratio_certificate(&found, self.delta));
        }
        let machine = hyperplanes.machine(coefficients, k, problem.par())?;
        Ok(Fit {
            machine,
            certificate: Certificate::total(certificates),
            trace: Vec::new(),
            learnt: None,
        })
    }

    fn cost(&self, shape: Shape) -> Cost {
        nonparallel::square_similarity_cost(shape, self.scheme)
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}

impl Gepsvm {
    /// Few similar samples: `M` is applied through a factor of `S_pp` and products with K.
    fn one_versus_rest(
        &self,
        problem: &Problem,
        l: usize,
    ) -> Result<(Eigenpair, Vec<f64>), FitError> {
        let (k, par) = (problem.gram_with(self.bias), problem.par());
        let Sides { near, far } = Scheme::Ovr.sides(problem.y(), l);
        let factor = cholesky(k.principal_submatrix(&near, self.delta), self.delta, par)?;
        let values = |weights: &[f64]| k.times_vector(weights, par);
        // `x` on the dissimilar samples and `-(S_pp)^-1 K_pq x` on the similar ones.
        let extended = |x: &[f64]| {
            let mut weights = vec![0.0; k.n()];
            for (&j, x) in far.iter().zip(x) {
                weights[j] = *x;
            }
            let at = values(&weights);
            let mut similar = Mat::from_fn(near.len(), 1, |a, _| at[near[a]]);
            factor.solve(similar.as_mut());
            for (a, &i) in near.iter().enumerate() {
                weights[i] = -similar[(a, 0)];
            }
            weights
        };
        let found = lanczos::largest(far.len(), RELATIVE_RESIDUAL, |x| {
            let at = values(&extended(x));
            far.iter().map(|&j| at[j]).collect()
        });
        let weights = extended(&found.vector);
        let column = weights.iter().map(|weight| weight / self.delta).collect();
        Ok((found, column))
    }
}

/// Few dissimilar samples, or a factor: `M` itself.
fn eliminated(planes: &Planes<'_>, l: usize) -> Result<(Eigenpair, Vec<f64>), FitError> {
    let plane = planes.plane(l)?;
    let found = lanczos::largest(plane.far.len(), RELATIVE_RESIDUAL, |x| {
        plane.times_vector(x)
    });
    let lambdas = [found.vector.clone()];
    let near_values = planes.near_values(std::slice::from_ref(&plane), &lambdas, None);
    let column = plane.coefficients(&lambdas[0], &near_values[0]);
    Ok((found, column))
}

/// The ratio is `delta / eigenvalue`. The residual bounds how far the value is from *some* eigenvalue
/// of the matrix, not from the largest one: `dual` is an estimate, a lower bound only if Lanczos found
/// the right end of the spectrum.
fn ratio_certificate(found: &Eigenpair, delta: f64) -> Certificate {
    let primal = delta / found.value.max(f64::MIN_POSITIVE);
    let dual = delta / (found.value + found.residual).max(f64::MIN_POSITIVE);
    Certificate {
        primal,
        dual,
        gap: primal - dual,
        iterations: found.iterations,
        converged: found.converged,
    }
}
