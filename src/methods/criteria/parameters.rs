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

use npsvc::params::Range;
use npsvc::{MethodInfo, Scheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Criterion, Hyperplanes, Loss, Margin, Parameters, TauStep};
use crate::methods::{is_default, spec_parameters};

/// The paper gives no margin; this is the one of the authors' code.
const MARGIN: f64 = 16.0;

/// A criterion: its own parameters, then those that all criteria share; what is known of it; and its loss.
macro_rules! criterion {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty = $default:expr $(, $range:expr)? ; )*
        }
        info: $in_specs:literal, $version:literal, $title:literal, $about:literal;
        loss: |$own:ident| $loss:expr;
    ) => {
        spec_parameters! {
            $(#[$meta])*
            pub struct $name {
                $( $(#[$field_meta])* $field: $type = $default $(, $range)?; )*
                /// Learning rate at the start.
                lr: f64 = 1e-3, Range::Above(0.0);
                network: Network = Network::default();
                training: Training = Training::default();
            }
        }

        impl Parameters for $name {
            fn info(losses: [&'static str; 2]) -> MethodInfo {
                let (name, version, title, about) = ($in_specs, $version, $title, $about);
                MethodInfo { name, title, about, losses, version, learns_representation: false }
            }
        }

        impl From<$name> for Criterion {
            fn from($own: $name) -> Self {
                let (loss, lr) = ($loss, $own.lr);
                Self { loss, lr, network: $own.network, training: $own.training }
            }
        }
    };
}

criterion! {
    /// Parameters of a network under cross-entropy.
    pub struct CrossEntropy {}
    info: "cross-entropy", 1, "Cross-entropy", "network under softmax regression";
    loss: |own| Loss::Softmax(Margin::None);
}

criterion! {
    /// Parameters of a network under ArcFace.
    pub struct ArcFace {
        /// Factor of the cosines.
        scale: f64 = 64.0, Range::Above(0.0);
        /// Margin added to the angle of the right class, in radians.
        margin: f64 = 0.5, Range::AtLeast(0.0);
    }
    info: "arcface", 1, "ArcFace",
        "network under the additive angular margin softmax (Deng et al. 2019)";
    loss: |own| Loss::Softmax(Margin::Angular { scale: own.scale, margin: own.margin });
}

criterion! {
    /// Parameters of a network under AM-softmax.
    pub struct AmSoftmax {
        /// Factor of the cosines.
        scale: f64 = 30.0, Range::Above(0.0);
        /// Margin subtracted from the cosine of the right class.
        margin: f64 = 0.35, Range::AtLeast(0.0);
    }
    info: "am-softmax", 1, "AM-softmax",
        "network under the additive-margin softmax (Wang et al. 2018)";
    loss: |own| Loss::Softmax(Margin::Additive { scale: own.scale, margin: own.margin });
}

criterion! {
    /// Parameters of DTWSVN.
    pub struct Dtwsvn {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// `s`, the distance that hyperplanes should keep from the samples of the other side.
        margin: f64 = MARGIN, Range::Above(0.0);
        scheme: Scheme = Scheme::Ovr;
    }
    info: "dtwsvn", 1, "DTWSVN", "network under the mean of TWSVM's objectives (Li and Yang 2022)";
    loss: |own| Loss::Hyperplanes(Hyperplanes {
        c: own.c,
        margin: own.margin,
        scheme: own.scheme,
        hinge: Hinge::Clipped,
        scale: LossScale::default(),
        tau_step: None,
    });
}

criterion! {
    /// Parameters of D-NPSVC++.
    pub struct DNpsvcpp {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// `s`, the distance that hyperplanes should keep from the samples of the other side.
        margin: f64 = MARGIN, Range::Above(0.0);
        gamma: Gamma = Gamma::default();
        /// `beta`: 0.85 is the paper's text, 0.4 the authors' code.
        tau_momentum: f64 = 0.85, Range::AboveUpTo(0.0, 1.0);
        #[serde(skip_serializing_if = "is_default")]
        tau_gradient: TauGradient = TauGradient::Exact;
        #[serde(skip_serializing_if = "is_default")]
        second_pass: SecondPass = SecondPass::Layers;
        #[serde(skip_serializing_if = "is_default")]
        hinge: Hinge = Hinge::Clipped;
        #[serde(skip_serializing_if = "is_default")]
        loss_scale: LossScale = LossScale::default();
        scheme: Scheme = Scheme::Ovr;
    }
    info: "d-npsvcpp", 1, "D-NPSVC++",
        "network under TWSVM's objectives, levelled by their weights (Zhang et al. 2024)";
    loss: |own| Loss::Hyperplanes(Hyperplanes {
        c: own.c,
        margin: own.margin,
        scheme: own.scheme,
        hinge: own.hinge,
        scale: own.loss_scale,
        tau_step: Some(TauStep {
            gamma: own.gamma,
            momentum: own.tau_momentum,
            gradient: own.tau_gradient,
            second_pass: own.second_pass,
        }),
    });
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

spec_parameters! {
    /// What the two losses are multiplied by; 3.1415926 and 2.7182818 in the authors' code.
    pub struct LossScale {
        /// Of the similarity loss.
        near: f64 = 1.0, Range::Above(0.0);
        /// Of the dissimilarity loss.
        far: f64 = 1.0, Range::Above(0.0);
    }
}

spec_parameters! {
    /// `gamma_p = max/2 (1 + cos(p pi / t_max)) + epsilon` in epoch `p`: the weight of the objectives
    /// against the gradient norm in the tau-step.
    pub struct Gamma {
        /// The paper gives no value; docs/fidelity.md says how this one was picked.
        max: f64 = 1e-4, Range::AtLeast(0.0);
        /// Half a period in epochs; all epochs if left out. The authors' code has 25.
        #[schemars(range(min = 1))]
        t_max: Option<usize> = None;
        epsilon: f64 = 1e-6, Range::AtLeast(0.0);
    }
}

spec_parameters! {
    /// The layers on top of the prior encoder.
    pub struct Network {
        /// Width of the hidden layer.
        hidden: usize = 512, Range::Count(1);
        /// Dimensions of the representation `z`.
        z: usize = 128, Range::Count(1);
        /// Share of the values that dropout sets to zero.
        dropout: f64 = 0.25, Range::Below(0.0, 1.0);
        hypothesis: Hypothesis = Hypothesis::Both;
        /// Normalise `[z, phi]` before the hyperplanes, as the paper does.
        #[serde(skip_serializing_if = "is_true")]
        layer_norm: bool = true;
    }
}

fn is_true(value: &bool) -> bool {
    *value
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

spec_parameters! {
    /// How a network is trained.
    pub struct Training {
        /// Passes through the training samples.
        epochs: usize = 50, Range::Count(1);
        /// Samples of a mini-batch.
        batch: usize = 64, Range::Count(2);
        /// Where the cosine annealing of the learning rate ends.
        min_lr: f64 = 1e-5, Range::AtLeast(0.0);
        /// Momentum of the gradient descent.
        momentum: f64 = 0.9, Range::Below(0.0, 1.0);
        weight_decay: f64 = 1e-4, Range::AtLeast(0.0);
        /// Number of first epochs in which the prior encoder is trained too; then it is frozen. It has no effect on
        /// given vectors.
        fine_tune: usize = 10;
        /// Has no effect: the features of a frozen prior encoder are always computed once. Older specs have it.
        keep_features: bool = true;
        /// What the batch norms of the prior encoder do once it is frozen.
        #[serde(skip_serializing_if = "is_default")]
        frozen_batch_norms: FrozenBatchNorms = FrozenBatchNorms::Evaluation;
        /// Convolutions of a prior encoder under training in half precision (bfloat16), all else in single
        /// precision. Faster on graphics processors that have it; other last digits.
        #[serde(skip_serializing_if = "is_default")]
        mixed_precision: bool = false;
    }
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
