//! Networks: encoders of images, and the training of the layers behind them.
//!
//! ```text
//! phi(x)                                        prior encoder: given vectors, or a residual network
//! z(x) = MLP(phi(x))                            m -> 512 -> 128, each with dropout, batch norm, ReLU
//! f_l(x) = <w~_l, LN([z(x), phi(x)])> + b_l     the paper's hypothesis, Figure A.1
//! ```
//!
//! A [`Criterion`](crate::methods::criteria::Criterion) says what is minimised. Every build knows it. This module
//! computes it with libtorch.

mod checkpoint;
mod class_weights;
mod encoder;
mod error;
mod features;
mod gram;
mod head;
mod hyperplanes;
mod objective;
mod resnet;
mod sgd;
mod torch;
mod train;
mod trained;
mod weights;
mod weights_file;

pub use error::{EncoderError, TrainError};
pub use features::{dataset_features, features};
pub use resnet::{ResNet, channels_last};
pub use torch::{TorchError, find_device};
pub use train::train;
pub use trained::TrainedNetwork;

use std::path::PathBuf;

use ndarray::Array2;

use crate::data::{Encoder, Images};
use crate::methods::TraceRow;
use npsvc::Certificate;

/// Samples in rows, their classes, and the images they come from.
#[derive(Clone, Debug)]
pub struct Samples {
    pub x: Array2<f64>,
    pub y: Vec<usize>,
    pub images: Option<Images>,
}

impl Samples {
    /// Percent of the samples whose class is the predicted one.
    pub fn accuracy(&self, predicted: &[usize]) -> f64 {
        let right = predicted.iter().zip(&self.y).filter(|(l, y)| l == y);
        100.0 * right.count() as f64 / self.y.len().max(1) as f64
    }
}

/// What a network is trained on.
#[derive(Clone, Copy, Debug)]
pub struct TrainingData<'a> {
    pub samples: &'a Samples,
    /// Classes are `0..classes`.
    pub classes: usize,
    /// The encoder that turned the images into samples.
    pub encoder: Option<&'a Encoder>,
}

/// Settings of a training that change none of its numbers.
#[derive(Default)]
pub struct TrainOptions<'a> {
    /// `cpu` or `cuda:N`; the CPU if empty.
    pub device: &'a str,
    /// The file from which a killed training continues.
    pub checkpoint: Option<PathBuf>,
    /// Called after every epoch with the network and the epoch's row, to which it may add.
    pub on_epoch: Option<Box<OnEpoch<'a>>>,
}

/// See [`TrainOptions::on_epoch`].
pub type OnEpoch<'a> = dyn FnMut(&TrainedNetwork, &mut TraceRow) -> Result<(), TrainError> + 'a;

/// A network that was trained.
pub struct NetworkFit {
    pub network: TrainedNetwork,
    /// Primal and dual objective after the last epoch; they bound nothing.
    pub certificate: Certificate,
    /// One row per epoch.
    pub trace: Vec<TraceRow>,
}
