//! LSTWSVM: square loss on both sides; each hyperplane is one linear system.
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + 1/2 sum_p f_l(x_i)^2 + c/2 sum_q (1 - f_l(x_j))^2
//! ```
//!
//! With `M` of [`super::plane`]: `(M / r + I / c) lambda = 1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nonparallel::{self, Hyperplanes};
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::seed::Seed;
use crate::solve::box_qp::Term;

/// The systems are solved directly; the gap only has to be at rounding level.
const RELATIVE_RESIDUAL: f64 = 1e-9;

/// Parameters of LSTWSVM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lstwsvm {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Regulariser.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub r: f64,
    pub scheme: Scheme,
    /// Append a constant feature, so that the hyperplanes need not pass through the origin.
    pub bias: bool,
}

impl Default for Lstwsvm {
    fn default() -> Self {
        Self {
            c: 1.0,
            r: 0.1,
            scheme: Scheme::Ovr,
            bias: false,
        }
    }
}

impl Method for Lstwsvm {
    const NAME: &'static str = "lstwsvm";
    const TITLE: &'static str = "LSTWSVM";
    const ABOUT: &'static str =
        "square similarity, square dissimilarity (Arun Kumar and Gopal 2009)";
    const LOSSES: [&'static str; 2] = ["a²/2", "(s − a)²/2"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("r", self.r)
    }

    fn fit(&self, problem: &Problem, _: &Seed) -> Result<Fit, FitError> {
        let hyperplanes = Hyperplanes {
            r: self.r,
            scheme: self.scheme,
            bias: self.bias,
            tolerance: RELATIVE_RESIDUAL,
        };
        nonparallel::fit_square_similarity(problem, hyperplanes, Term::square_to_one(self.c))
    }

    fn cost(&self, shape: Shape) -> Cost {
        nonparallel::square_similarity_cost(shape, self.scheme)
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}
