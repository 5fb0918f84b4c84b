//! TWSVM (the bounded form, TBSVM): square similarity loss, hinge dissimilarity loss.
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + 1/2 sum_p f_l(x_i)^2 + c sum_q [1 - f_l(x_j)]_+
//! ```
//!
//! Dual, with `M` of [`super::plane`]: `min 1/2 l^T M l / r - 1^T l` on `0 <= l <= c`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nonparallel::{self, Hyperplanes};
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::seed::Seed;
use crate::solve::box_qp::Term;

/// Parameters of TWSVM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Twsvm {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Regulariser.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub r: f64,
    pub scheme: Scheme,
    /// Append a constant feature, so that the hyperplanes need not pass through the origin.
    pub bias: bool,
    /// Relative duality gap at which a hyperplane counts as solved.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
}

impl Default for Twsvm {
    fn default() -> Self {
        Self {
            c: 1.0,
            r: 0.1,
            scheme: Scheme::Ovr,
            bias: false,
            tolerance: 1e-5,
        }
    }
}

impl Method for Twsvm {
    const NAME: &'static str = "twsvm";
    const TITLE: &'static str = "TWSVM";
    const ABOUT: &'static str = "square similarity, hinge dissimilarity (Shao et al. 2011)";
    const LOSSES: [&'static str; 2] = ["a²/2", "[s − a]₊"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("r", self.r)?;
        BadParameter::unless_positive("tolerance", self.tolerance)
    }

    fn fit(&self, problem: &Problem, _: &Seed) -> Result<Fit, FitError> {
        let hyperplanes = Hyperplanes {
            r: self.r,
            scheme: self.scheme,
            bias: self.bias,
            tolerance: self.tolerance,
        };
        nonparallel::fit_square_similarity(problem, hyperplanes, Term::hinge(self.c))
    }

    fn cost(&self, shape: Shape) -> Cost {
        nonparallel::square_similarity_cost(shape, self.scheme)
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}
