//! The prior encoder under training: fine-tuned in the first epochs, then frozen in evaluation mode,
//! from when on its features are computed once and reused.

use std::ops::Range;

use tch::{Device, Tensor, no_grad};

use super::features::prefetched;
use super::{ResNet, TrainError, channels_last};
use crate::data::{Encoder, Images};
use crate::methods::criteria::Training;

/// Images that are encoded together in evaluation mode.
const TOGETHER: usize = 32;

/// An encoder that is trained too.
pub struct Prior {
    network: ResNet,
    device: Device,
}

impl Prior {
    pub fn new(encoder: &Encoder, training: &Training, device: Device) -> Result<Self, TrainError> {
        let mut network = encoder.network(device)?;
        network.set_mixed_precision(training.mixed_precision);
        network.set_channels_last();
        network.set_trained(true);
        Ok(Self { network, device })
    }

    /// Its weights and running statistics.
    pub fn tensors(&self) -> &[(String, Tensor)] {
        self.network.tensors()
    }

    /// The weights that training changes.
    pub fn trained(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        let trained = self.network.trained();
        trained.map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// `phi` of pixels in 0..255; with `training`, gradients flow and batch norms follow.
    pub fn phi(&self, pixels: &Tensor, training: bool) -> Tensor {
        let pixels = pixels.to_device(self.device);
        let pixels = self.network.conventions().normalise(&pixels);
        self.network.forward(&channels_last(&pixels), training)
    }

    /// Features of all images in evaluation mode.
    pub fn features(&self, images: &Images) -> Result<Tensor, TrainError> {
        let starts = (0..images.len()).step_by(TOGETHER);
        let range = |start: usize| -> Range<usize> { start..images.len().min(start + TOGETHER) };
        let batches: Vec<Vec<usize>> = starts.map(|start| range(start).collect()).collect();
        let mut parts = Vec::new();
        with_all_cores(|| {
            prefetched(images, &batches, |_, pixels| {
                parts.push(no_grad(|| self.phi(&pixels, false)));
                Ok::<(), TrainError>(())
            })
        })?;
        Ok(Tensor::cat(&parts, 0))
    }
}

/// `work` on all cores: convolutions, other than the layers behind them, are worth it. Not on as many as
/// `--threads` says, because sums in another order would then give other numbers.
pub fn with_all_cores<T>(work: impl FnOnce() -> T) -> T {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tch::set_num_threads(cores as i32);
    let result = work();
    tch::set_num_threads(1);
    result
}
