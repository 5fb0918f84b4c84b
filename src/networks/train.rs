//! Epochs and mini-batches.
//!
//! Every random choice of an epoch comes from a branch of the seed tree that is named after it, so an
//! epoch depends on the state before it and on nothing else: a training that continues from a checkpoint
//! gives the same numbers as one that was never stopped. Networks of this size are trained on one
//! thread, because a second thread makes a step slower and would change the numbers.

use std::f64::consts::PI;
use std::path::Path;
use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use tch::{Device, Tensor};

use super::checkpoint::{self, TrainingState};
use super::encoder::FineTunedEncoder;
use super::features::prefetched;
use super::head::Head;
use super::objective::{Labels, Objective, Step};
use super::sgd::{Part, Sgd};
use super::torch::{device, guarded, matrix, with_all_cores};
use super::{NetworkFit, TrainError, TrainOptions, TrainedNetwork, TrainingData};
use crate::methods::TraceRow;
use crate::methods::criteria::{Criterion, FrozenBatchNorms, Training};
use npsvc::{Certificate, Seed, Termination};

/// Trains a network by `criterion`; every random choice comes from `seed`.
pub fn train(
    criterion: &Criterion,
    data: &TrainingData<'_>,
    seed: &Seed,
    options: TrainOptions<'_>,
) -> Result<NetworkFit, TrainError> {
    if let Some(class) = (0..data.classes).find(|class| !data.samples.y.contains(class)) {
        return Err(TrainError::EmptyClass { class });
    }
    let device = device(options.device)?;
    guarded(device, || {
        tch::set_num_threads(1);
        // libtorch may have failed on this thread before and left it without gradients.
        tch::with_grad(|| Run::new(criterion, data, seed, options, device)?.finish())
    })
}

/// A training in progress.
struct Run<'a> {
    criterion: &'a Criterion,
    data: &'a TrainingData<'a>,
    seed: &'a Seed,
    options: TrainOptions<'a>,
    network: TrainedNetwork,
    sgd: Sgd,
    /// Features of the training samples.
    phi: Tensor,
    labels: Labels,
    state: TrainingState,
}

impl<'a> Run<'a> {
    fn new(
        criterion: &'a Criterion,
        data: &'a TrainingData<'a>,
        seed: &'a Seed,
        options: TrainOptions<'a>,
        device: Device,
    ) -> Result<Self, TrainError> {
        let (x, training) = (data.samples.x.view(), &criterion.training);
        let has_images = data.samples.images.is_some() && training.fine_tune > 0;
        let encoder = data.encoder.filter(|_| has_images);
        let encoder = encoder.map(|encoder| FineTunedEncoder::new(encoder, training, device));
        let network = TrainedNetwork {
            head: Head::new(&criterion.network, x.ncols(), data.classes, seed, device)?,
            objective: Objective::new(&criterion.loss, data.classes),
            encoder: encoder.transpose()?,
            device,
        };
        let weights = trained(&network).map(|(part, _, tensor)| (part, tensor));
        let cell = options.checkpoint.as_deref().map(checkpoint::cell_of);
        let mut run = Self {
            criterion,
            data,
            seed,
            options,
            sgd: Sgd::new(weights, training, device),
            phi: matrix(x, device),
            labels: Labels::new(&data.samples.y, data.classes, device),
            state: TrainingState { cell: cell.unwrap_or_default(), ..TrainingState::default() },
            network,
        };
        run.resume()?;
        Ok(run)
    }

    fn finish(mut self) -> Result<NetworkFit, TrainError> {
        while self.state.epochs < self.criterion.training.epochs {
            let begun = Instant::now();
            self.epoch()?;
            let mut row = self.describe(begun.elapsed().as_secs_f64());
            if !row.objectives.iter().all(|j| j.is_finite()) || !row.primal.is_finite() {
                return Err(TrainError::Diverged { epoch: self.state.epochs + 1 });
            }
            if let Some(on_epoch) = &mut self.options.on_epoch {
                on_epoch(&self.network, &mut row)?;
            }
            self.state.trace.push(row);
            self.state.epochs += 1;
            self.save()?;
        }
        if let Some(encoder) = &mut self.network.encoder {
            encoder.freeze();
        }
        Ok(NetworkFit {
            certificate: certificate(&self.state.trace),
            trace: self.state.trace,
            network: self.network,
        })
    }

    /// Whether the encoder is trained in this epoch.
    fn is_fine_tuned(&self) -> bool {
        self.network.encoder.is_some() && self.state.epochs < self.criterion.training.fine_tune
    }

    /// One pass through the training samples.
    fn epoch(&mut self) -> Result<(), TrainError> {
        let (epoch, training) = (self.state.epochs, &self.criterion.training);
        self.network.objective.begin(epoch, training.epochs);
        self.sgd.set_lr(annealed(self.criterion.lr, epoch, training));
        let seed = self.seed.child("epoch").child(epoch.to_string());
        let order = permutation(self.data.samples.y.len(), &mut seed.child("order").rng());
        let mut rng = seed.child("dropout").rng();
        let batches = batches(&order, training.batch);
        let has_moving_norms = training.frozen_batch_norms == FrozenBatchNorms::Training;
        let is_fine_tuned = self.is_fine_tuned();
        if let (Some(encoder), Some(images)) =
            (&mut self.network.encoder, &self.data.samples.images)
        {
            if is_fine_tuned || has_moving_norms {
                // All of the encoder changes, or its batch norms do. The objectives of the epoch come from the
                // features that each sample had in its step.
                return with_all_cores(|| {
                    prefetched(images, &batches, |samples, pixels| {
                        self.step(Some(&pixels), samples, &mut rng);
                        Ok(())
                    })
                });
            }
            encoder.freeze();
            self.phi = encoder.features(images)?;
        }
        for samples in &batches {
            self.step(None, samples, &mut rng);
        }
        Ok(())
    }

    /// A step on some samples, through the encoder if their pixels are given.
    fn step(&mut self, pixels: Option<&Tensor>, samples: &[usize], rng: &mut ChaCha8Rng) {
        let samples: Vec<i64> = samples.iter().map(|&i| i as i64).collect();
        let samples = Tensor::from_slice(&samples).to_device(self.network.device);
        let has_encoder = self.is_fine_tuned();
        let encoder = self.network.encoder.as_ref().zip(pixels);
        let encode = encoder.map(|(encoder, pixels)| {
            move || match has_encoder {
                true => encoder.phi(pixels, true),
                false => tch::no_grad(|| encoder.phi(pixels, true)),
            }
        });
        let phi = match &encode {
            Some(encode) => {
                let phi = encode();
                let _ = self.phi.index_copy_(0, &samples, &phi.detach());
                phi
            }
            None => self.phi.index_select(0, &samples),
        };
        let mut step = Step {
            encode: encode.as_ref().map(|encode| encode as &dyn Fn() -> Tensor),
            head: &self.network.head,
            phi,
            labels: self.labels.select(&samples),
            sgd: &mut self.sgd,
            has_encoder,
            rng,
        };
        self.network.objective.step(&mut step);
    }

    /// Objectives on all training samples, in evaluation mode.
    fn describe(&self, seconds: f64) -> TraceRow {
        let mut row = TraceRow {
            iteration: self.state.epochs,
            seconds: Some(seconds),
            ..TraceRow::default()
        };
        let f = self.network.functions(&self.phi);
        tch::no_grad(|| (self.network.objective).describe(&f, &self.labels, &mut row));
        let objectives = row.objectives.iter().copied();
        row.primal = objectives.clone().fold(f64::NEG_INFINITY, f64::max);
        row.dual = row.tau.iter().zip(objectives).map(|(tau, j)| tau * j).sum();
        row
    }

    /// All tensors that the next epoch depends on; without those of the encoder once it is frozen.
    fn tensors(&self, with_encoder: bool) -> Vec<(String, Tensor)> {
        let velocities = trained(&self.network).zip(self.sgd.velocities());
        let velocities = velocities.map(|((_, name, _), v)| (format!("{name}.velocity"), v));
        let all = self.network.tensors().chain(velocities);
        all.filter(|(name, _)| with_encoder || !name.starts_with("prior."))
            .map(|(name, tensor)| (name, tensor.shallow_clone()))
            .collect()
    }

    fn resume(&mut self) -> Result<(), TrainError> {
        let Some(path) = self.options.checkpoint.clone() else {
            return Ok(());
        };
        if self.load(&path, true)? && self.network.encoder.is_some() && !self.is_fine_tuned() {
            self.load(&checkpoint::head_path(&path), false)?;
        }
        Ok(())
    }

    /// Continues from a file, if it is there.
    fn load(&mut self, path: &Path, with_encoder: bool) -> Result<bool, TrainError> {
        let loaded = checkpoint::load(path, &mut self.tensors(with_encoder));
        let loaded = loaded.map_err(|why| {
            let path = path.display();
            TrainError::Checkpoint(format!(
                "{path} {why}; remove it and run with --retry-failed to train from the start"
            ))
        })?;
        let Some(state) = loaded else {
            return Ok(false);
        };
        self.network.objective.restore(&state.objective);
        let cell = std::mem::take(&mut self.state.cell);
        self.state = TrainingState { cell, ..state };
        Ok(true)
    }

    fn save(&mut self) -> Result<(), TrainError> {
        let Some(path) = &self.options.checkpoint else {
            return Ok(());
        };
        self.state.objective = self.network.objective.state();
        let encoder = self.network.encoder.as_ref();
        // A frozen encoder stays as it is in its last checkpoint.
        let (path, tensors) = match encoder.is_some_and(FineTunedEncoder::is_frozen) {
            true => (checkpoint::head_path(path), self.tensors(false)),
            false => (path.clone(), self.tensors(true)),
        };
        checkpoint::save(&path, &self.state, &tensors).map_err(|error| {
            TrainError::Checkpoint(format!("{} cannot be written: {error}", path.display()))
        })
    }
}

/// The weights that training changes, with their names in checkpoints.
fn trained(network: &TrainedNetwork) -> impl Iterator<Item = (Part, String, &Tensor)> {
    let head = network.head.weights.trained().map(|(name, tensor)| {
        let part = if name.starts_with("cls.") { Part::Classes } else { Part::Shared };
        (part, name.clone(), tensor)
    });
    let encoder = network.encoder.iter();
    let encoder = encoder.flat_map(|encoder| encoder.weights().trained());
    head.chain(encoder.map(|(name, tensor)| (Part::Encoder, format!("prior.{name}"), tensor)))
}

fn certificate(trace: &[TraceRow]) -> Certificate {
    let (primal, dual) = trace.last().map_or((0.0, 0.0), |row| (row.primal, row.dual));
    // The rule of a training is its number of epochs.
    let termination = match (primal - dual).is_finite() {
        true => Termination::EpochsDone,
        false => Termination::NumericalError,
    };
    Certificate { primal, dual, gap: primal - dual, iterations: trace.len(), termination }
}

/// Cosine annealing over all epochs.
fn annealed(lr: f64, epoch: usize, training: &Training) -> f64 {
    let phase = epoch as f64 * PI / training.epochs as f64;
    training.min_lr + 0.5 * (lr - training.min_lr) * (1.0 + phase.cos())
}

/// Samples of each mini-batch. A last one of a single sample, which has no variance, joins its
/// neighbour.
fn batches(order: &[usize], size: usize) -> Vec<Vec<usize>> {
    let whole = match order.len() % size {
        1 if order.len() > size => order.len() - 1 - size,
        rest => order.len() - rest,
    };
    let (front, last) = order.split_at(whole);
    let mut batches: Vec<Vec<usize>> = front.chunks(size).map(<[usize]>::to_vec).collect();
    batches.extend((!last.is_empty()).then(|| last.to_vec()));
    batches
}

fn permutation(n: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        // The bias of a remainder of 64 bits is beyond notice.
        let other = rng.next_u64() % (last as u64 + 1);
        order.swap(last, other as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::criteria::CrossEntropy;
    use crate::networks::Samples;

    #[test]
    fn no_batch_has_a_single_sample() {
        let order: Vec<usize> = (0..200).collect();
        let sizes = |n: usize, size| -> Vec<usize> {
            let batches = batches(&order[..n], size);
            batches.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(128, 64), [64, 64]);
        assert_eq!(sizes(130, 64), [64, 64, 2]);
        assert_eq!(sizes(129, 64), [64, 65]);
        assert_eq!(sizes(65, 64), [65]);
        assert_eq!(sizes(64, 64), [64]);
        assert_eq!(sizes(5, 64), [5]);
    }

    #[test]
    fn the_learning_rate_falls_from_its_start_towards_its_end() {
        let training = Training::default();
        assert_eq!(annealed(1e-2, 0, &training), 1e-2);
        let last = annealed(1e-2, 49, &training);
        assert!(last > 1e-5 && last < 3e-5, "{last}");
    }

    #[test]
    fn a_training_that_needs_too_much_memory_is_an_error_and_the_next_one_works() {
        let samples = Samples {
            x: ndarray::Array2::from_shape_fn((8, 4), |(i, j)| (i * j) as f64),
            y: vec![0, 1, 0, 1, 0, 1, 0, 1],
            images: None,
        };
        let data = TrainingData { samples: &samples, classes: 2, encoder: None };
        let mut criterion = Criterion::from(CrossEntropy::default());
        criterion.training.epochs = 1;
        criterion.network.z = 1 << 20;
        criterion.network.hidden = 1 << 40;
        let fit = |criterion: &_| {
            let (seed, options) = (Seed::root(1), TrainOptions::default());
            train(criterion, &data, &seed, options)
        };
        let error = fit(&criterion).err().map(|error| error.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains("does not fit into memory"), "{error}");
        criterion.network = crate::methods::criteria::Network::default();
        assert!(fit(&criterion).is_ok());
    }
}
