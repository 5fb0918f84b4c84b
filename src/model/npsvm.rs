//! NPSVM (Tian): epsilon-insensitive similarity loss, hinge dissimilarity loss.
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + c1 sum_p [|f_l(x_i)| - epsilon]_+ + c sum_q [1 - f_l(x_j)]_+
//! ```
//!
//! Dual: `min a^T K a / (2r) + epsilon sum_p |a_i| - sum_q a_j` on `|a_p| <= c1`, `0 <= a_q <= c`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nonparallel::{self, Hyperplanes};
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::seed::Seed;
use crate::solve::box_qp::Term;

/// Parameters of NPSVM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Npsvm {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Weight of the similarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c1: f64,
    /// Half width of the zone without similarity loss.
    #[schemars(range(min = 0.0))]
    pub epsilon: f64,
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

impl Default for Npsvm {
    fn default() -> Self {
        Self {
            c: 1.0,
            c1: 1.0,
            epsilon: 0.1,
            r: 0.1,
            scheme: Scheme::Ovr,
            bias: false,
            tolerance: 1e-5,
        }
    }
}

impl Method for Npsvm {
    const NAME: &'static str = "npsvm";
    const TITLE: &'static str = "NPSVM";
    const ABOUT: &'static str =
        "epsilon-insensitive similarity, hinge dissimilarity (Tian et al. 2014)";
    const LOSSES: [&'static str; 2] = ["[|a| − ε]₊", "[s − a]₊"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("c1", self.c1)?;
        BadParameter::unless_not_negative("epsilon", self.epsilon)?;
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
        nonparallel::fit_full(problem, hyperplanes, |_, is_similar| {
            if is_similar {
                Term::insensitive(self.c1, self.epsilon)
            } else {
                Term::hinge(self.c)
            }
        })
    }

    fn cost(&self, shape: Shape) -> Cost {
        nonparallel::full_dual_cost(shape)
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}
