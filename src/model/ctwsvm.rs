//! CTWSVM: the bounded similarity loss `1 - exp(-gamma |f|)`, hinge dissimilarity loss.
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + sum_p (1 - exp(-gamma |f_l(x_i)|)) + c sum_q [1 - f_l(x_j)]_+
//! ```
//!
//! The similarity loss is concave in `|f|`, so it is minimised by a sequence of weighted L1
//! problems with weights `gamma exp(-gamma |f_i|)`, see [`super::reweighted`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nonparallel::{self, Hyperplanes};
use super::reweighted::{self, Reweighting};
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::seed::Seed;

/// Parameters of CTWSVM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ctwsvm {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Decay of the similarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub gamma: f64,
    /// Regulariser.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub r: f64,
    pub scheme: Scheme,
    /// Append a constant feature, so that the hyperplanes need not pass through the origin.
    pub bias: bool,
    /// Largest number of reweightings.
    #[schemars(range(min = 1))]
    pub max_iter: usize,
    /// Relative duality gap at which a hyperplane counts as solved.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
}

impl Default for Ctwsvm {
    fn default() -> Self {
        Self {
            c: 1.0,
            gamma: 1.0,
            r: 0.1,
            scheme: Scheme::Ovr,
            bias: false,
            max_iter: 10,
            tolerance: 1e-5,
        }
    }
}

impl Method for Ctwsvm {
    const NAME: &'static str = "ctwsvm";
    const TITLE: &'static str = "CTWSVM";
    const ABOUT: &'static str = "correntropy similarity, hinge dissimilarity (Yuan et al. 2021)";
    const LOSSES: [&'static str; 2] = ["1 − exp(−γ|a|)", "[s − a]₊"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("gamma", self.gamma)?;
        BadParameter::unless_positive("r", self.r)?;
        BadParameter::unless(self.max_iter >= 1, "max_iter", self.max_iter, "at least 1")?;
        BadParameter::unless_positive("tolerance", self.tolerance)
    }

    fn fit(&self, problem: &Problem, _: &Seed) -> Result<Fit, FitError> {
        let hyperplanes = Hyperplanes {
            r: self.r,
            scheme: self.scheme,
            bias: self.bias,
            tolerance: self.tolerance,
        };
        let gamma = self.gamma;
        let reweighting = Reweighting {
            loss: &|f: f64| -(-gamma * f.abs()).exp_m1(),
            weight: &|f: f64| gamma * (-gamma * f.abs()).exp(),
            max_iter: self.max_iter,
        };
        let k = problem.gram_with(self.bias);
        let solved = reweighted::solve(problem, k, hyperplanes, self.c, &reweighting)?;
        let machine = hyperplanes.machine(solved.coefficients, k, problem.par())?;
        Ok(Fit {
            machine,
            certificate: solved.certificate,
            trace: Vec::new(),
            learnt: None,
        })
    }

    fn cost(&self, shape: Shape) -> Cost {
        nonparallel::full_dual_cost(shape)
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}
