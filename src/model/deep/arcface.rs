//! ArcFace (Deng et al. 2019), the margin softmax that the paper's tables cite.
//!
//! ```text
//! -log softmax(scale cos(theta_l + margin [l = y]))_y,    cos theta_l = <w_l, x> / (|w_l| |x|)
//! ```
//!
//! Neither bias nor lengths matter: both weights and features are scaled to length one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Criterion, Network, Settings, Training};
use crate::model::BadParameter;

/// Parameters of a network under ArcFace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArcFace {
    /// What cosines are multiplied by.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: f64,
    /// What the angle of the right class must make up for, in radians.
    #[schemars(range(min = 0.0))]
    pub margin: f64,
    /// Learning rate at the start.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    pub network: Network,
    pub training: Training,
}

impl Default for ArcFace {
    fn default() -> Self {
        Self {
            scale: 64.0,
            margin: 0.5,
            lr: 1e-3,
            network: Network::default(),
            training: Training::default(),
        }
    }
}

impl Criterion for ArcFace {
    const NAME: &'static str = "arcface";
    const TITLE: &'static str = "ArcFace";
    const ABOUT: &'static str =
        "network under the additive angular margin softmax (Deng et al. 2019)";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("scale", self.scale)?;
        BadParameter::unless(
            (0.0..std::f64::consts::FRAC_PI_2).contains(&self.margin),
            "margin",
            self.margin,
            "at least 0, below a right angle",
        )
    }

    fn settings(&self) -> Settings<'_> {
        Settings {
            lr: self.lr,
            network: &self.network,
            training: &self.training,
        }
    }

    #[cfg(feature = "deep")]
    fn objective(&self, _: usize) -> Box<dyn super::objective::Objective> {
        let (scale, margin) = (self.scale, self.margin);
        Box::new(super::softmax::Softmax::new(
            super::softmax::Margin::Angular { scale, margin },
        ))
    }
}
