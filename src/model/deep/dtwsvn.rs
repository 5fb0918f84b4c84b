//! DTWSVN, the deep twin support vector network (Li and Yang 2022): the nonparallel hyperplanes'
//! objectives with equal weights, `1/K sum_l J_l`, with the same losses as D-NPSVC++.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Criterion, Network, Settings, Training, d_npsvcpp};
use crate::model::{BadParameter, Scheme};

/// Parameters of DTWSVN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dtwsvn {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// `s`, how far hyperplanes are to be from the samples of the other side.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub margin: f64,
    pub scheme: Scheme,
    /// Learning rate at the start.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    pub network: Network,
    pub training: Training,
}

impl Default for Dtwsvn {
    fn default() -> Self {
        Self {
            c: 1.0,
            margin: d_npsvcpp::MARGIN,
            scheme: Scheme::Ovr,
            lr: 1e-3,
            network: Network::default(),
            training: Training::default(),
        }
    }
}

impl Criterion for Dtwsvn {
    const NAME: &'static str = "dtwsvn";
    const TITLE: &'static str = "DTWSVN";
    const ABOUT: &'static str = "network under the mean of TWSVM's objectives (Li and Yang 2022)";
    const LOSSES: [&'static str; 2] = ["a²/2", "[s − a]₊²/2"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("margin", self.margin)
    }

    fn settings(&self) -> Settings<'_> {
        Settings {
            lr: self.lr,
            network: &self.network,
            training: &self.training,
        }
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }

    #[cfg(feature = "deep")]
    fn objective(&self, classes: usize) -> Box<dyn super::objective::Objective> {
        let (c, margin, scheme) = (self.c, self.margin, self.scheme);
        Box::new(super::hyperplanes::Equal(super::hyperplanes::Hyperplanes {
            c,
            margin,
            scheme,
            classes,
            hinge: super::Hinge::default(),
            scale: super::LossScale::default(),
        }))
    }
}
