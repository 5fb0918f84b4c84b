//! The prior encoder under training: fine-tuned in the first epochs, then frozen in evaluation mode.
//! From then on its features are computed once per set of images and reused.

use std::cell::RefCell;

use tch::{Device, Tensor, no_grad};

use super::features::{in_order, prefetched};
use super::torch::with_all_cores;
use super::weights::Weights;
use super::{ResNet, TrainError, channels_last};
use crate::data::{Encoder, Images};
use crate::methods::criteria::Training;

/// Images that are encoded together in evaluation mode.
const BATCH: usize = 32;

/// An encoder that is trained too.
pub(super) struct FineTunedEncoder {
    network: ResNet,
    device: Device,
    /// Once frozen, the features of each set of images so far.
    known: Option<RefCell<Vec<(Images, Tensor)>>>,
}

impl FineTunedEncoder {
    pub fn new(encoder: &Encoder, training: &Training, device: Device) -> Result<Self, TrainError> {
        let mut network = encoder.network(device)?;
        network.set_mixed_precision(training.mixed_precision);
        network.set_channels_last();
        network.weights.set_trained();
        Ok(Self { network, device, known: None })
    }

    pub fn weights(&self) -> &Weights {
        &self.network.weights
    }

    /// Ends the training of the encoder, so that features can be kept.
    pub fn freeze(&mut self) {
        self.known.get_or_insert_default();
    }

    pub fn is_frozen(&self) -> bool {
        self.known.is_some()
    }

    /// `phi` of pixels in 0..255. With `training`, there are gradients, and batch norms follow the batch.
    pub fn phi(&self, pixels: &Tensor, training: bool) -> Tensor {
        let pixels = pixels.to_device(self.device);
        let pixels = self.network.conventions().normalise(&pixels);
        self.network.forward(&channels_last(&pixels), training)
    }

    /// Features of all images in evaluation mode.
    pub fn features(&self, images: &Images) -> Result<Tensor, TrainError> {
        let Some(known) = &self.known else {
            return self.encode(images);
        };
        let is_same = |(known, _): &&(Images, Tensor)| known.is_same(images);
        if let Some((_, features)) = known.borrow().iter().find(is_same) {
            return Ok(features.shallow_clone());
        }
        let features = self.encode(images)?;
        known.borrow_mut().push((images.clone(), features.shallow_clone()));
        Ok(features)
    }

    fn encode(&self, images: &Images) -> Result<Tensor, TrainError> {
        let mut parts = Vec::new();
        with_all_cores(|| {
            prefetched(images, &in_order(images, BATCH), |_, pixels| {
                parts.push(no_grad(|| self.phi(&pixels, false)));
                Ok::<(), TrainError>(())
            })
        })?;
        Ok(Tensor::cat(&parts, 0))
    }
}
