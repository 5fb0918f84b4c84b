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
use super::plane::Planes;
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::kernel::algebra::add_times_vector;
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
        let Shape { n, classes, .. } = problem.shape();
        let mut coefficients = Mat::zeros(n, classes);
        let mut certificates = Vec::with_capacity(classes);
        for l in 0..classes {
            let plane = planes.plane(l)?;
            let m = plane.reduced_matrix();
            let found = lanczos::largest(m.nrows(), RELATIVE_RESIDUAL, |x| {
                let mut out = vec![0.0; x.len()];
                add_times_vector(&mut out, 1.0, m.as_ref(), x, problem.par());
                out
            });
            let near_values = plane.near_values(&found.vector, None);
            let column = plane.coefficients(&found.vector, &near_values);
            for (i, value) in column.into_iter().enumerate() {
                coefficients[(i, l)] = value;
            }
            certificates.push(ratio_certificate(&found, self.delta));
        }
        let k = problem.gram_with(self.bias);
        let machine = hyperplanes.machine(coefficients, k, problem.par())?;
        Ok(Fit {
            machine,
            certificate: Certificate::total(certificates),
            trace: Vec::new(),
        })
    }

    fn cost(&self, shape: Shape) -> Cost {
        nonparallel::square_similarity_cost(shape, self.scheme)
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}

/// The ratio is `delta / eigenvalue`; the residual bounds how far the eigenvalue can be off.
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
