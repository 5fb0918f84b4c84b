//! D-NPSVC++ (Algorithm 2): nonparallel hyperplanes on a network's representation, their objectives
//! weighted by `tau`.
//!
//! ```text
//! J_l = 1/|B| [ sum_{y=l} f_l^2/2 + c/(K-1) sum_{y!=l} [s - f_l]_+^2/2 ]          (scheme ovr)
//! theta-step   descend sum_l tau_l J_l in all weights
//! tau-step     tau* = argmin_tau |sum_l tau_l grad_Z J_l|^2/2 - gamma sum_l tau_l J_l,
//!              tau <- beta tau* + (1 - beta) tau, then descend sum_l tau_l J_l again in the shared
//!              weights, those of the classes being frozen
//! ```
//!
//! The gradients in `Z` are exact, through the layer norm; their Gram matrix has a closed form, see
//! `gram.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Criterion, Network, Settings, Training, is_default};
use crate::model::{BadParameter, Scheme};

/// The paper gives no margin; this is the one of the authors' code.
pub(super) const MARGIN: f64 = 16.0;

/// Parameters of D-NPSVC++.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DNpsvcpp {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// `s`, how far hyperplanes are to be from the samples of the other side.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub margin: f64,
    pub gamma: Gamma,
    /// `beta`: 0.85 is the paper's text, 0.4 the authors' code.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub tau_momentum: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub tau_gradient: TauGradient,
    #[serde(skip_serializing_if = "is_default")]
    pub second_pass: SecondPass,
    #[serde(skip_serializing_if = "is_default")]
    pub hinge: Hinge,
    #[serde(skip_serializing_if = "is_default")]
    pub loss_scale: LossScale,
    pub scheme: Scheme,
    /// Learning rate at the start.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    pub network: Network,
    pub training: Training,
}

/// The gradients that the tau-step balances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TauGradient {
    /// Of `J_l` in `Z`, through the layer norm.
    #[default]
    Exact,
    /// The authors' code: without the layer norm, and with the first `m` of the `128 + m` weights of a
    /// class in place of the 128 that belong to `z`, for features of `m` dimensions.
    FirstColumns,
}

/// What the second descent of a step passes through and changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecondPass {
    /// The layers behind the prior encoder, whose output is the cached one: Algorithm 2.
    #[default]
    Layers,
    /// The whole network once more, so that an encoder under training descends twice per batch: the
    /// authors' code.
    Network,
}

/// The dissimilarity loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hinge {
    /// `[s - f]_+^2 / 2`, the paper's.
    #[default]
    Clipped,
    /// `(s - f)^2 / 2`: the authors' code takes `|s - f|`, which is never negative.
    Unclipped,
}

/// What the two losses are multiplied by; 3.1415926 and 2.7182818 in the authors' code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LossScale {
    /// Of the similarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub near: f64,
    /// Of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub far: f64,
}

impl Default for LossScale {
    fn default() -> Self {
        Self {
            near: 1.0,
            far: 1.0,
        }
    }
}

/// `gamma_p = max/2 (1 + cos(p pi / t_max)) + epsilon` in epoch `p`: the weight of the objectives
/// against the gradient norm in the tau-step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gamma {
    /// The paper gives no value; docs/fidelity.md says how this one was picked.
    #[schemars(range(min = 0.0))]
    pub max: f64,
    /// Half a period in epochs; all epochs if left out. The authors' code has 25.
    #[schemars(range(min = 1))]
    pub t_max: Option<usize>,
    #[schemars(range(min = 0.0))]
    pub epsilon: f64,
}

impl Default for Gamma {
    fn default() -> Self {
        Self {
            max: 1e-4,
            t_max: None,
            epsilon: 1e-6,
        }
    }
}

impl Default for DNpsvcpp {
    fn default() -> Self {
        Self {
            c: 1.0,
            margin: MARGIN,
            gamma: Gamma::default(),
            tau_momentum: 0.85,
            tau_gradient: TauGradient::Exact,
            second_pass: SecondPass::Layers,
            hinge: Hinge::Clipped,
            loss_scale: LossScale::default(),
            scheme: Scheme::Ovr,
            lr: 1e-3,
            network: Network::default(),
            training: Training::default(),
        }
    }
}

impl Criterion for DNpsvcpp {
    const NAME: &'static str = "d-npsvcpp";
    const TITLE: &'static str = "D-NPSVC++";
    const ABOUT: &'static str =
        "network under TWSVM's objectives, levelled by their weights (Zhang et al. 2024)";
    const LOSSES: [&'static str; 2] = ["a²/2", "[s − a]₊²/2"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("margin", self.margin)?;
        BadParameter::unless_positive("loss_scale.near", self.loss_scale.near)?;
        BadParameter::unless_positive("loss_scale.far", self.loss_scale.far)?;
        BadParameter::unless_not_negative("gamma.max", self.gamma.max)?;
        BadParameter::unless(self.gamma.t_max != Some(0), "gamma.t_max", 0, "at least 1")?;
        BadParameter::unless_not_negative("gamma.epsilon", self.gamma.epsilon)?;
        let beta = self.tau_momentum;
        BadParameter::unless(
            beta > 0.0 && beta <= 1.0,
            "tau_momentum",
            beta,
            "a number above 0, at most 1",
        )
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
        Box::new(levelled::Levelled::new(self, classes))
    }
}

#[cfg(feature = "deep")]
mod levelled;
