//! A network and its predictions, during its training and after it.

use ndarray::Array2;
use tch::{Device, Tensor, no_grad};

use super::encoder::FineTunedEncoder;
use super::head::{Head, Pass};
use super::objective::Objective;
use super::torch::{guarded, matrix, numbers};
use super::{Samples, TrainError};

/// Samples that pass the layers together in evaluation mode.
const BATCH: i64 = 2048;

/// A network with its weights.
pub struct TrainedNetwork {
    pub(super) head: Head,
    pub(super) objective: Objective,
    /// The encoder, if it is trained too.
    pub(super) encoder: Option<FineTunedEncoder>,
    pub(super) device: Device,
}

impl TrainedNetwork {
    /// The class of each sample.
    pub fn predict(&self, samples: &Samples) -> Result<Vec<usize>, TrainError> {
        guarded(self.device, || {
            let f = self.functions(&self.phi(samples)?);
            Ok(self.objective.classify(&f, &self.head))
        })
    }

    /// `z`, samples in rows; `None` if the hypothesis has none.
    pub fn represent(&self, samples: &Samples) -> Result<Option<Array2<f64>>, TrainError> {
        guarded(self.device, || {
            if !self.head.has_z() {
                return Ok(None);
            }
            let z =
                self.evaluate(&self.phi(samples)?, |mut pass| pass.z.take().unwrap_or(pass.input));
            let shape = (z.size()[0] as usize, z.size()[1] as usize);
            let z = Array2::from_shape_vec(shape, numbers(&z));
            Ok(Some(z.expect("a tensor has as many numbers as its shape says")))
        })
    }

    /// All weights and running statistics by name, the encoder's after `prior.`.
    pub fn weights(&self) -> Vec<(String, Vec<f64>)> {
        self.tensors().map(|(name, tensor)| (name, numbers(tensor))).collect()
    }

    pub(super) fn tensors(&self) -> impl Iterator<Item = (String, &Tensor)> {
        let head = self.head.weights.iter();
        let encoder = (self.encoder.iter()).flat_map(|encoder| encoder.weights().iter());
        head.map(|(name, tensor)| (name.clone(), tensor))
            .chain(encoder.map(|(name, tensor)| (format!("prior.{name}"), tensor)))
    }

    /// `phi` of the samples, computed by the encoder if it is trained too.
    fn phi(&self, samples: &Samples) -> Result<Tensor, TrainError> {
        tch::set_num_threads(1);
        match (&self.encoder, &samples.images) {
            (Some(encoder), Some(images)) => encoder.features(images),
            _ => Ok(matrix(samples.x.view(), self.device)),
        }
    }

    /// `f` of all rows of `phi` in evaluation mode.
    pub(super) fn functions(&self, phi: &Tensor) -> Tensor {
        self.evaluate(phi, |pass| self.objective.functions(&self.head, &pass))
    }

    fn evaluate(&self, phi: &Tensor, of: impl Fn(Pass) -> Tensor) -> Tensor {
        no_grad(|| {
            let parts = phi.split(BATCH, 0);
            let parts = parts.iter().map(|rows| of(self.head.pass(rows, None)));
            Tensor::cat(&parts.collect::<Vec<_>>(), 0)
        })
    }
}
