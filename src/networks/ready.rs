//! A network after its training: what it answers for samples.

use ndarray::Array2;
use tch::{Device, Kind, Tensor};

use super::head::{Head, Pass};
use super::objective::{Objective, numbers};
use super::prior::Prior;
use super::train::{guarded, libtorch_error, matrix};
use super::{Samples, TrainError};
use crate::data::Images;

/// A network after its last epoch.
pub struct TrainedNetwork {
    pub(super) head: Head,
    pub(super) objective: Box<dyn Objective>,
    pub(super) device: Device,
    /// Where it was trained too.
    pub(super) prior: Option<Prior>,
    /// Images whose features by it are known, with these.
    pub(super) known: Option<(Images, Tensor)>,
}

impl TrainedNetwork {
    /// `phi` of the samples, by the prior encoder where it was trained too.
    fn phi(&self, samples: &Samples) -> Result<Tensor, TrainError> {
        tch::set_num_threads(1);
        match (&self.prior, &samples.images) {
            (Some(prior), Some(images)) => match &self.known {
                Some((known, features)) if known.is_same(images) => Ok(features.shallow_clone()),
                _ => prior.features(images),
            },
            _ => Ok(matrix(samples.x.view(), self.device)),
        }
    }
}

impl TrainedNetwork {
    /// The class of each sample.
    pub fn predict(&self, samples: &Samples) -> Result<Vec<usize>, TrainError> {
        guarded(|| {
            let phi = self.phi(samples)?;
            let f = self
                .head
                .evaluate(&phi, |pass| self.objective.functions(&self.head, pass));
            Ok(self.objective.classify(&f, &self.head))
        })
    }

    /// `z`, samples in rows, where the hypothesis has one.
    pub fn represent(&self, samples: &Samples) -> Result<Option<Array2<f64>>, TrainError> {
        guarded(|| {
            if !self.head.has_z() {
                return Ok(None);
            }
            let phi = self.phi(samples)?;
            let nothing = || Tensor::zeros([0], (Kind::Float, self.device));
            let z = |pass: &Pass| pass.z.as_ref().map_or_else(nothing, Tensor::shallow_clone);
            let z = self.head.evaluate(&phi, z);
            let (rows, columns) = z
                .size2()
                .map_err(|error| libtorch_error(&error.to_string()))?;
            let numbers = numbers(&z);
            let at = |(i, j): (usize, usize)| numbers[i * columns as usize + j];
            Ok(Some(Array2::from_shape_fn(
                (rows as usize, columns as usize),
                at,
            )))
        })
    }

    /// All weights, by name, as they would be stored; for comparisons.
    pub fn weights(&self) -> Vec<(String, Vec<f64>)> {
        let head = self.head.tensors();
        let head = head
            .iter()
            .map(|(name, tensor)| ((*name).to_owned(), numbers(tensor)));
        let prior = self.prior.iter().flat_map(Prior::tensors);
        let prior = prior.map(|(name, tensor)| (format!("prior.{name}"), numbers(tensor)));
        head.chain(prior).collect()
    }
}
