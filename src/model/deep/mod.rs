//! Networks: one file per training criterion, all on the same network.
//!
//! ```text
//! phi(x)                                    prior encoder: given vectors, or a residual network
//! z(x) = MLP(phi(x))                        m -> 512 -> 128, each with dropout, batch norm, ReLU
//! f_l(x) = <w~_l, LN([z(x), phi(x)])> + b_l     the paper's hypothesis, Figure A.1
//! ```
//!
//! A criterion is a parameter set, as a method is; what it does with libtorch is compiled with the
//! feature `deep` only. Its parameters are known to every build, so that a spec is checked, and its
//! schema is the same, whether or not this build can train it.

mod am_softmax;
mod arcface;
#[cfg(feature = "deep")]
mod checkpoint;
mod cross_entropy;
mod d_npsvcpp;
#[cfg(feature = "deep")]
mod descent;
mod dtwsvn;
#[cfg(feature = "deep")]
mod gram;
#[cfg(feature = "deep")]
mod head;
#[cfg(feature = "deep")]
mod hyperplanes;
#[cfg(feature = "deep")]
mod objective;
#[cfg(feature = "deep")]
mod prior;
#[cfg(feature = "deep")]
mod ready;
#[cfg(feature = "deep")]
mod softmax;
#[cfg(feature = "deep")]
mod train;

pub use am_softmax::AmSoftmax;
pub use arcface::ArcFace;
pub use cross_entropy::CrossEntropy;
pub use d_npsvcpp::{DNpsvcpp, Gamma, Hinge, LossScale, SecondPass, TauGradient};
pub use dtwsvn::Dtwsvn;

use std::path::PathBuf;

use ndarray::{Array2, ArrayView2};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{BadParameter, Cost, FitError, Problem, Scheme, Shape, TraceRow};
use crate::data::Images;
use crate::seed::Seed;
use crate::solve::Certificate;

/// What a build without libtorch says of these methods.
pub const NEEDS_DEEP: &str = "needs a program built with `--features deep`";

/// A criterion that networks are trained by. The implementing type is its parameter set.
pub trait Criterion:
    Serialize + DeserializeOwned + JsonSchema + Clone + Default + Send + Sync + 'static
{
    /// Name in specs, such as `cross-entropy`.
    const NAME: &'static str;
    /// Name in tables.
    const TITLE: &'static str;
    /// One line: the loss and its source.
    const ABOUT: &'static str;
    /// As [`super::Method::LOSSES`].
    const LOSSES: [&'static str; 2] = ["–", "–"];
    /// Raised when the same parameters give other numbers; part of a cell's identity.
    const VERSION: u32;

    /// Names the first parameter of its own that is out of its range.
    fn check(&self) -> Result<(), BadParameter>;

    /// Network and training, which all criteria have alike.
    fn settings(&self) -> Settings<'_>;

    fn scheme(&self) -> Option<Scheme> {
        None
    }

    /// What is minimised, for so many classes.
    #[cfg(feature = "deep")]
    #[doc(hidden)]
    fn objective(&self, classes: usize) -> Box<dyn objective::Objective>;
}

/// The parameters that all criteria share.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    pub lr: f64,
    pub network: &'a Network,
    pub training: &'a Training,
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
        Self {
            hidden: 512,
            z: 128,
            dropout: 0.25,
            hypothesis: Hypothesis::Both,
            layer_norm: true,
        }
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
    /// Compute a frozen prior encoder's features once and reuse them. Without, every epoch computes
    /// them again, to the same end; there to measure what it saves.
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

impl Settings<'_> {
    fn check(&self) -> Result<(), BadParameter> {
        let (network, training) = (self.network, self.training);
        let share = |name, value: f64| {
            let expected = "a number of at least 0, below 1";
            BadParameter::unless((0.0..1.0).contains(&value), name, value, expected)
        };
        BadParameter::unless_positive("lr", self.lr)?;
        BadParameter::unless(network.hidden >= 1, "network.hidden", 0, "at least 1")?;
        BadParameter::unless(network.z >= 1, "network.z", 0, "at least 1")?;
        share("network.dropout", network.dropout)?;
        BadParameter::unless(training.epochs >= 1, "training.epochs", 0, "at least 1")?;
        // Batch norm has no variance of a single sample.
        let batch = training.batch;
        BadParameter::unless(batch >= 2, "training.batch", batch, "at least 2")?;
        BadParameter::unless_not_negative("training.min_lr", training.min_lr)?;
        share("training.momentum", training.momentum)?;
        BadParameter::unless_not_negative("training.weight_decay", training.weight_decay)
    }

    /// Operations of the head alone, three passes' worth per descent, at the rate of double precision:
    /// libtorch is several times as fast in single precision.
    fn cost(&self, shape: Shape) -> Cost {
        let (hidden, z) = (self.network.hidden as f64, self.network.z as f64);
        let (n, m, k) = (shape.n as f64, shape.dims as f64, shape.classes as f64);
        let weights = m * hidden + hidden * z + (m + z) * k;
        Cost {
            flops: self.training.epochs as f64 * n * weights * 2.0,
            bytes: 4.0 * (6.0 * weights + n * (m + 2.0 * k)) + 64e6,
        }
    }
}

/// Why networks cannot be trained on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDevice {
    /// This build trains no networks.
    NotBuilt,
    /// There is no such device, for this reason.
    NotThere(String),
}

/// Whether networks can be trained on `name`, `cpu` or `cuda:N`.
pub fn device(name: &str) -> Result<(), NoDevice> {
    if name == "cpu" {
        return Ok(());
    }
    #[cfg(not(feature = "deep"))]
    return Err(NoDevice::NotBuilt);
    #[cfg(feature = "deep")]
    train::cuda(name).map_err(NoDevice::NotThere)
}

/// What surrounds a training and changes none of its numbers.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `cpu` or `cuda:N`; the CPU if empty.
    pub device: String,
    /// Where to keep what a killed training goes on from.
    pub checkpoint: Option<PathBuf>,
}

/// A network that was trained.
pub struct NetworkFit {
    pub network: Box<dyn Trained>,
    /// Primal and dual objective after the last epoch; they bound nothing.
    pub certificate: Certificate,
    /// One row per epoch.
    pub trace: Vec<TraceRow>,
}

/// Samples to classify: vectors, and the images they were made of.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    pub x: ArrayView2<'a, f64>,
    pub images: Option<&'a Images>,
}

/// What a trained network answers.
pub trait Trained {
    /// The class of each sample.
    fn predict(&self, queries: Queries<'_>) -> Result<Vec<usize>, FitError>;

    /// `z`, samples in rows, where the hypothesis has one.
    fn represent(&self, queries: Queries<'_>) -> Result<Option<Array2<f64>>, FitError>;

    /// All weights, by name, as they would be stored; for comparisons.
    fn weights(&self) -> Vec<(String, Vec<f64>)>;
}

/// A [`Criterion`] with checked parameters, whatever its type.
pub trait Trainable: Send + Sync {
    /// Trains a network; every random choice comes from `seed`.
    fn train(
        &self,
        problem: &Problem,
        seed: &Seed,
        surroundings: &Surroundings,
    ) -> Result<NetworkFit, FitError>;
}

impl<C: Criterion> Trainable for C {
    #[cfg(feature = "deep")]
    fn train(
        &self,
        problem: &Problem,
        seed: &Seed,
        surroundings: &Surroundings,
    ) -> Result<NetworkFit, FitError> {
        train::train(self, problem, seed, surroundings)
    }

    #[cfg(not(feature = "deep"))]
    fn train(&self, _: &Problem, _: &Seed, _: &Surroundings) -> Result<NetworkFit, FitError> {
        Err(FitError::Engine {
            engine: Self::NAME,
            message: NEEDS_DEEP.to_owned(),
        })
    }
}

/// Everything that can be out of range.
pub(super) fn check<C: Criterion>(criterion: &C) -> Result<(), BadParameter> {
    criterion.settings().check()?;
    criterion.check()
}

pub(super) fn cost<C: Criterion>(criterion: &C, shape: Shape) -> Cost {
    criterion.settings().cost(shape)
}
