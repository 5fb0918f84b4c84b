//! Additive-margin softmax (Wang et al. 2018), the margin softmax of the paper's text.
//!
//! ```text
//! -log softmax(scale (cos theta_l - margin [l = y]))_y,    cos theta_l = <w_l, x> / (|w_l| |x|)
//! ```
//!
//! Neither bias nor lengths matter: both weights and features are scaled to length one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Criterion, Network, Settings, Training};
use crate::model::BadParameter;

/// Parameters of a network under AM-softmax.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AmSoftmax {
    /// What cosines are multiplied by.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: f64,
    /// What the cosine of the right class must make up for.
    #[schemars(range(min = 0.0))]
    pub margin: f64,
    /// Learning rate at the start.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    pub network: Network,
    pub training: Training,
}

impl Default for AmSoftmax {
    fn default() -> Self {
        Self {
            scale: 30.0,
            margin: 0.35,
            lr: 1e-3,
            network: Network::default(),
            training: Training::default(),
        }
    }
}

impl Criterion for AmSoftmax {
    const NAME: &'static str = "am-softmax";
    const TITLE: &'static str = "AM-softmax";
    const ABOUT: &'static str = "network under the additive-margin softmax (Wang et al. 2018)";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("scale", self.scale)?;
        BadParameter::unless_not_negative("margin", self.margin)
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
            super::softmax::Margin::Additive { scale, margin },
        ))
    }
}
