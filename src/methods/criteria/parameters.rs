//! The parameters of the criteria as specs and cells write them.
//!
//! ```text
//! cross-entropy   -log softmax(f)_y
//! ArcFace         -log softmax(scale cos(theta_l + margin [l = y]))_y,    cos theta_l = <w_l, x> / (|w_l| |x|)
//! AM-softmax      -log softmax(scale (cos theta_l - margin [l = y]))_y
//! DTWSVN          1/K sum_l J_l
//! D-NPSVC++       sum_l tau_l J_l, with weights tau that Algorithm 2 learns
//! ```
//!
//! `J_l` is the objective of class `l`, see [`Hyperplanes`]. Their text is part of a cell's identity, so fields keep
//! their order and their defaults.

use npsvc::Scheme;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Criterion, Hyperplanes, Loss, Margin, Parameters, TauStep};

/// The paper gives no margin; this is the one of the authors' code.
const MARGIN: f64 = 16.0;

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
        Self { lr: 1e-3, network: Network::default(), training: Training::default() }
    }
}

impl Parameters for CrossEntropy {
    const NAME: &'static str = "cross-entropy";
    const TITLE: &'static str = "Cross-entropy";
    const ABOUT: &'static str = "network under softmax regression";
    const VERSION: u32 = 1;
}

impl From<CrossEntropy> for Criterion {
    fn from(parameters: CrossEntropy) -> Self {
        Self {
            loss: Loss::Softmax(Margin::None),
            lr: parameters.lr,
            network: parameters.network,
            training: parameters.training,
        }
    }
}

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

impl Parameters for ArcFace {
    const NAME: &'static str = "arcface";
    const TITLE: &'static str = "ArcFace";
    const ABOUT: &'static str =
        "network under the additive angular margin softmax (Deng et al. 2019)";
    const VERSION: u32 = 1;
}

impl From<ArcFace> for Criterion {
    fn from(parameters: ArcFace) -> Self {
        let (scale, margin) = (parameters.scale, parameters.margin);
        Self {
            loss: Loss::Softmax(Margin::Angular { scale, margin }),
            lr: parameters.lr,
            network: parameters.network,
            training: parameters.training,
        }
    }
}

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

impl Parameters for AmSoftmax {
    const NAME: &'static str = "am-softmax";
    const TITLE: &'static str = "AM-softmax";
    const ABOUT: &'static str = "network under the additive-margin softmax (Wang et al. 2018)";
    const VERSION: u32 = 1;
}

impl From<AmSoftmax> for Criterion {
    fn from(parameters: AmSoftmax) -> Self {
        let (scale, margin) = (parameters.scale, parameters.margin);
        Self {
            loss: Loss::Softmax(Margin::Additive { scale, margin }),
            lr: parameters.lr,
            network: parameters.network,
            training: parameters.training,
        }
    }
}

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
            margin: MARGIN,
            scheme: Scheme::Ovr,
            lr: 1e-3,
            network: Network::default(),
            training: Training::default(),
        }
    }
}

impl Parameters for Dtwsvn {
    const NAME: &'static str = "dtwsvn";
    const TITLE: &'static str = "DTWSVN";
    const ABOUT: &'static str = "network under the mean of TWSVM's objectives (Li and Yang 2022)";
    const LOSSES: [&'static str; 2] = ["a²/2", "[s − a]₊²/2"];
    const VERSION: u32 = 1;
}

impl From<Dtwsvn> for Criterion {
    fn from(parameters: Dtwsvn) -> Self {
        Self {
            loss: Loss::Hyperplanes(Hyperplanes {
                c: parameters.c,
                margin: parameters.margin,
                scheme: parameters.scheme,
                hinge: Hinge::default(),
                scale: LossScale::default(),
                tau_step: None,
            }),
            lr: parameters.lr,
            network: parameters.network,
            training: parameters.training,
        }
    }
}

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

impl Parameters for DNpsvcpp {
    const NAME: &'static str = "d-npsvcpp";
    const TITLE: &'static str = "D-NPSVC++";
    const ABOUT: &'static str =
        "network under TWSVM's objectives, levelled by their weights (Zhang et al. 2024)";
    const LOSSES: [&'static str; 2] = ["a²/2", "[s − a]₊²/2"];
    const VERSION: u32 = 1;
}

impl From<DNpsvcpp> for Criterion {
    fn from(parameters: DNpsvcpp) -> Self {
        Self {
            loss: Loss::Hyperplanes(Hyperplanes {
                c: parameters.c,
                margin: parameters.margin,
                scheme: parameters.scheme,
                hinge: parameters.hinge,
                scale: parameters.loss_scale,
                tau_step: Some(TauStep {
                    gamma: parameters.gamma,
                    momentum: parameters.tau_momentum,
                    gradient: parameters.tau_gradient,
                    second_pass: parameters.second_pass,
                }),
            }),
            lr: parameters.lr,
            network: parameters.network,
            training: parameters.training,
        }
    }
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
        Self { near: 1.0, far: 1.0 }
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
        Self { max: 1e-4, t_max: None, epsilon: 1e-6 }
    }
}

/// The layers on top of the prior encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Width of the hidden layer.
    #[schemars(range(min = 1))]
    pub hidden: usize,
    /// Dimensions of the representation `z`.
    #[schemars(range(min = 1))]
    pub z: usize,
    /// Share of the values that dropout sets to zero.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub dropout: f64,
    pub hypothesis: Hypothesis,
    /// Normalise `[z, phi]` before the hyperplanes, as the paper does.
    #[serde(skip_serializing_if = "is_true")]
    pub layer_norm: bool,
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Network {
    fn default() -> Self {
        Self { hidden: 512, z: 128, dropout: 0.25, hypothesis: Hypothesis::Both, layer_norm: true }
    }
}

/// What the hyperplanes see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hypothesis {
    /// `<w_l, phi> + <v_l, z>`, the paper's.
    #[default]
    Both,
    /// `<v_l, z>` only.
    Z,
    /// `<w_l, phi>` only: nothing is learnt but the hyperplanes.
    Phi,
}

/// How a network is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Training {
    /// Passes through the training samples.
    #[schemars(range(min = 1))]
    pub epochs: usize,
    /// Samples of a mini-batch.
    #[schemars(range(min = 2))]
    pub batch: usize,
    /// Where the cosine annealing of the learning rate ends.
    #[schemars(range(min = 0.0))]
    pub min_lr: f64,
    /// Momentum of the gradient descent.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub momentum: f64,
    #[schemars(range(min = 0.0))]
    pub weight_decay: f64,
    /// First epochs, in which the prior encoder is trained too; then it is frozen. Means nothing for
    /// given vectors.
    #[schemars(range(min = 0))]
    pub fine_tune: usize,
    /// Has no effect: the features of a frozen prior encoder are always computed once. Older specs have it.
    pub keep_features: bool,
    /// What the batch norms of the prior encoder do once it is frozen.
    #[serde(skip_serializing_if = "is_default")]
    pub frozen_batch_norms: FrozenBatchNorms,
    /// Convolutions of a prior encoder under training in half precision (bfloat16), all else in single
    /// precision. Faster on graphics processors that have it; other last digits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mixed_precision: bool,
}

/// What the batch norms of a frozen encoder do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrozenBatchNorms {
    /// They use their running statistics, which change no more: frozen as a whole.
    #[default]
    Evaluation,
    /// They use and follow the batch, as in the authors' code. Then no features can be kept.
    Training,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            epochs: 50,
            batch: 64,
            min_lr: 1e-5,
            momentum: 0.9,
            weight_decay: 1e-4,
            fine_tune: 10,
            keep_features: true,
            frozen_batch_norms: FrozenBatchNorms::Evaluation,
            mixed_precision: false,
        }
    }
}
