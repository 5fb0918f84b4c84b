//! Softmax regression: `-log softmax(f)_y`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Criterion, Network, Settings, Training};
use crate::model::BadParameter;

/// Parameters of a network under cross-entropy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CrossEntropy {
    /// Learning rate at the start.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    pub network: Network,
    pub training: Training,
}

impl Default for CrossEntropy {
    fn default() -> Self {
        Self {
            lr: 1e-3,
            network: Network::default(),
            training: Training::default(),
        }
    }
}

impl Criterion for CrossEntropy {
    const NAME: &'static str = "cross-entropy";
    const TITLE: &'static str = "Cross-entropy";
    const ABOUT: &'static str = "network under softmax regression";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        Ok(())
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
        Box::new(super::softmax::Softmax::new(super::softmax::Margin::None))
    }
}
