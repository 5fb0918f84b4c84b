//! pinTWSVM: square similarity loss, pinball dissimilarity loss, as in the paper's Table 1.
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + 1/2 sum_p f_l(x_i)^2 + c sum_q max(1 - f_l(x_j), -tau (1 - f_l(x_j)))
//! ```
//!
//! The dual is TWSVM's with the box `-tau c <= lambda <= c`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nonparallel::{self, Hyperplanes};
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::seed::Seed;
use crate::solve::box_qp::Term;

/// Parameters of pinTWSVM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pintwsvm {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Regulariser.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub r: f64,
    /// Slope of the pinball loss beyond the margin; 0 is the hinge loss.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub tau: f64,
    pub scheme: Scheme,
    /// Append a constant feature, so that the hyperplanes need not pass through the origin.
    pub bias: bool,
    /// Relative duality gap at which a hyperplane counts as solved.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
}

impl Default for Pintwsvm {
    fn default() -> Self {
        Self {
            c: 1.0,
            r: 0.1,
            tau: 0.5,
            scheme: Scheme::Ovr,
            bias: false,
            tolerance: 1e-5,
        }
    }
}

impl Method for Pintwsvm {
    const NAME: &'static str = "pintwsvm";
    const TITLE: &'static str = "pinTWSVM";
    const ABOUT: &'static str = "square similarity, pinball dissimilarity (Tanveer et al. 2019)";
    const LOSSES: [&'static str; 2] = ["a²/2", "max(s − a, −τ(s − a))"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("r", self.r)?;
        let in_range = (0.0..=1.0).contains(&self.tau);
        BadParameter::unless(in_range, "tau", self.tau, "a number from 0 to 1")?;
        BadParameter::unless_positive("tolerance", self.tolerance)
    }

    fn fit(&self, problem: &Problem, _: &Seed) -> Result<Fit, FitError> {
        let hyperplanes = Hyperplanes {
            r: self.r,
            scheme: self.scheme,
            bias: self.bias,
            tolerance: self.tolerance,
        };
        nonparallel::fit_square_similarity(problem, hyperplanes, Term::pinball(self.c, self.tau))
    }

    fn cost(&self, shape: Shape) -> Cost {
        nonparallel::square_similarity_cost(shape, self.scheme)
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}
