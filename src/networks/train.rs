//! Epochs and mini-batches.
//!
//! Every random choice of an epoch comes from a branch of the seed tree that is named after it, so an
//! epoch depends on the state before it and on nothing else: a training that goes on from a checkpoint
//! gives the same numbers as one that was never stopped. Networks of this size are trained on one
//! thread, because a second one makes a step slower, and the numbers would depend on how many there are.

use std::cell::Cell;
use std::f64::consts::PI;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;
use std::time::Instant;

use ndarray::ArrayView2;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use tch::{Device, Kind, Tensor};

use super::checkpoint::{self, State};
use super::descent::Descent;
use super::features::prefetched;
use super::head::Head;
use super::hyperplanes::{Equal, Planes};
use super::levelled::Levelled;
use super::objective::{Labels, Objective, Step};
use super::prior::{Prior, with_all_cores};
use super::softmax::Softmax;
use super::{NetworkFit, TrainError, TrainOptions, TrainedNetwork, TrainingData};
use crate::data::Images;
use crate::methods::TraceRow;
use crate::methods::criteria::{Criterion, FrozenBatchNorms, Loss, Training};
use crate::wording::panic_text;
use npsvc::Seed;
use npsvc::{Certificate, Termination};

/// Trains a network by `criterion`; every random choice comes from `seed`.
pub fn train(
    criterion: &Criterion,
    data: &TrainingData<'_>,
    seed: &Seed,
    options: &TrainOptions<'_>,
) -> Result<NetworkFit, TrainError> {
    if let Some(class) = (0..data.classes).find(|class| !data.samples.y.contains(class)) {
        return Err(TrainError::EmptyClass { class });
    }
    // A thread on which libtorch failed before may have been left without gradients.
    guarded(|| {
        tch::set_num_threads(1);
        tch::with_grad(|| Run::new(criterion, data, seed, options)?.finish())
    })
}

fn objective(loss: &Loss, classes: usize) -> Box<dyn Objective> {
    match loss {
        Loss::Softmax(margin) => Box::new(Softmax::new(*margin)),
        Loss::Hyperplanes(hyperplanes) => match &hyperplanes.tau_step {
            Some(tau_step) => Box::new(Levelled::new(hyperplanes, tau_step, classes)),
            None => Box::new(Equal(Planes::new(hyperplanes, classes))),
        },
    }
}

/// A training in progress.
struct Run<'a> {
    criterion: &'a Criterion,
    data: &'a TrainingData<'a>,
    seed: &'a Seed,
    options: &'a TrainOptions<'a>,
    objective: Box<dyn Objective>,
    head: Head,
    descent: Descent,
    phi: Tensor,
    labels: Labels,
    /// Samples that are looked at after every epoch and take no part.
    watched: Option<Tensor>,
    /// Whether the encoder has changed since their features were computed.
    is_watched_stale: bool,
    /// The prior encoder, where it is trained too, and whether it is frozen by now.
    prior: Option<Prior>,
    is_frozen: bool,
    state: State,
}

impl<'a> Run<'a> {
    fn new(
        criterion: &'a Criterion,
        data: &'a TrainingData<'a>,
        seed: &'a Seed,
        options: &'a TrainOptions<'a>,
    ) -> Result<Self, TrainError> {
        let device = device(&options.device)?;
        let (x, training) = (data.samples.x.view(), &criterion.training);
        let head = Head::new(&criterion.network, x.ncols(), data.classes, seed, device)?;
        let has_images = data.samples.images.is_some() && training.fine_tune > 0;
        let encoder = data.encoder.filter(|_| has_images);
        let prior = encoder.map(|encoder| Prior::new(encoder, training, device));
        let prior = prior.transpose()?;
        let parameters = head.parameters();
        let parameters = parameters.iter().map(|(_, tensor)| *tensor);
        let of_prior = prior.iter().flat_map(|prior| prior.trained());
        let descent = Descent::new(
            parameters.chain(of_prior.map(|(_, tensor)| tensor)),
            training,
        );
        let watched = (options.monitor).map(|samples| matrix(samples.x.view(), device));
        let mut run = Self {
            criterion,
            data,
            seed,
            options,
            objective: objective(&criterion.loss, data.classes),
            descent,
            phi: matrix(x, device),
            labels: labels(&data.samples.y, data.classes, device),
            watched,
            is_watched_stale: false,
            prior,
            is_frozen: false,
            state: State {
                cell: checkpoint_name(options),
                epochs: 0,
                objective: Vec::new(),
                trace: Vec::new(),
            },
            head,
        };
        run.resume()?;
        Ok(run)
    }

    fn finish(mut self) -> Result<NetworkFit, TrainError> {
        while self.state.epochs < self.criterion.training.epochs {
            let begun = Instant::now();
            self.epoch()?;
            let seconds = begun.elapsed().as_secs_f64();
            let row = self.observe(seconds)?;
            if !row
                .objectives
                .iter()
                .chain([&row.primal])
                .all(|j| j.is_finite())
            {
                return Err(TrainError::Diverged {
                    epoch: self.state.epochs + 1,
                });
            }
            self.state.trace.push(row);
            self.state.epochs += 1;
            self.save()?;
        }
        let known = self.known_features();
        Ok(NetworkFit {
            certificate: certificate(&self.state.trace),
            trace: self.state.trace,
            network: TrainedNetwork {
                head: self.head,
                objective: self.objective,
                device: self.phi.device(),
                prior: self.prior,
                known,
            },
        })
    }

    fn is_fine_tuned(&self) -> bool {
        self.prior.is_some() && self.state.epochs < self.criterion.training.fine_tune
    }

    /// Whether the features of a batch depend on when it is its turn.
    fn is_encoding(&self) -> bool {
        let norms = self.criterion.training.frozen_batch_norms;
        self.is_fine_tuned() || self.prior.is_some() && norms == FrozenBatchNorms::Training
    }

    /// One pass through the training samples.
    fn epoch(&mut self) -> Result<(), TrainError> {
        let (epoch, training) = (self.state.epochs, &self.criterion.training);
        self.objective.begin(epoch, training.epochs);
        self.descent
            .set_lr(annealed(self.criterion.lr, epoch, training));
        let seed = self.seed.child("epoch").child(epoch.to_string());
        let order = permutation(self.data.samples.y.len(), &mut seed.child("order").rng());
        let mut rng = seed.child("dropout").rng();
        let batches = batches(&order, training.batch);
        if self.is_encoding() {
            return with_all_cores(|| self.fine_tune(&batches, &mut rng));
        }
        self.freeze()?;
        for samples in batches {
            let samples = Tensor::from_slice(samples).to_device(self.phi.device());
            self.step(None, &samples, &mut rng);
        }
        Ok(())
    }

    /// An epoch in which the prior encoder changes too: all of it, or its batch norms. What it makes of a sample on the way is what
    /// the epoch's objectives are told from.
    fn fine_tune(&mut self, batches: &[&[i64]], rng: &mut ChaCha8Rng) -> Result<(), TrainError> {
        let Some(images) = &self.data.samples.images else {
            return Ok(());
        };
        let batches: Vec<Vec<usize>> = batches
            .iter()
            .map(|batch| batch.iter().map(|&i| i as usize).collect())
            .collect();
        prefetched(images, &batches, |samples, pixels| {
            let samples: Vec<i64> = samples.iter().map(|&i| i as i64).collect();
            let samples = Tensor::from_slice(&samples).to_device(self.phi.device());
            self.step(Some(&pixels), &samples, rng);
            Ok(())
        })
    }

    /// A step on some samples, through the prior encoder where their pixels are given.
    fn step(&mut self, pixels: Option<&Tensor>, samples: &Tensor, rng: &mut ChaCha8Rng) {
        let is_trained = self.is_fine_tuned();
        let active = match is_trained {
            true => self.descent.len(),
            false => self.head.parameters().len(),
        };
        let encoder = self.prior.as_ref().zip(pixels);
        let encode = encoder.map(|(prior, pixels)| {
            move || match is_trained {
                true => prior.phi(pixels, true),
                false => tch::no_grad(|| prior.phi(pixels, true)),
            }
        });
        let phi = match &encode {
            Some(encode) => {
                let phi = encode();
                let _ = self.phi.index_copy_(0, samples, &phi.detach());
                phi
            }
            None => self.phi.index_select(0, samples),
        };
        let mut step = Step {
            encode: encode.as_ref().map(|encode| encode as &dyn Fn() -> Tensor),
            head: &self.head,
            network: &self.criterion.network,
            phi,
            labels: self.labels.select(samples),
            descent: &mut self.descent,
            active,
            rng,
        };
        self.objective.step(&mut step);
    }

    /// Computes the features of a prior encoder that is trained no longer, where they are not kept.
    fn freeze(&mut self) -> Result<(), TrainError> {
        let are_kept = self.is_frozen && self.criterion.training.keep_features;
        let images = &self.data.samples.images;
        let (Some(prior), Some(images), false) = (&self.prior, images, are_kept) else {
            return Ok(());
        };
        self.phi = prior.features(images)?;
        self.is_frozen = true;
        self.is_watched_stale = true;
        Ok(())
    }

    /// What is looked at after every epoch, by the prior encoder as it is now.
    fn watched_features(&self) -> Result<Option<Tensor>, TrainError> {
        let images = (self.options.monitor).and_then(|samples| samples.images.as_ref());
        match (&self.prior, images) {
            (Some(prior), Some(images)) => prior.features(images).map(Some),
            _ => Ok(self.watched.as_ref().map(Tensor::shallow_clone)),
        }
    }

    /// Features of the images that were looked at after every epoch, if the encoder is the one they are of.
    fn known_features(&self) -> Option<(Images, Tensor)> {
        let are_kept = self.is_frozen && self.criterion.training.keep_features;
        let images = self.options.monitor?.images.as_ref()?;
        let features = self.watched.as_ref().filter(|_| are_kept)?;
        Some((images.clone(), features.shallow_clone()))
    }

    /// Objectives on all training samples, in evaluation mode, and accuracy on watched ones.
    fn observe(&mut self, seconds: f64) -> Result<TraceRow, TrainError> {
        if self.is_encoding() || std::mem::take(&mut self.is_watched_stale) {
            self.watched = self.watched_features()?;
        }
        let functions = |phi: &Tensor| {
            self.head
                .evaluate(phi, |pass| self.objective.functions(&self.head, pass))
        };
        let mut row = TraceRow {
            iteration: self.state.epochs,
            seconds: Some(seconds),
            ..TraceRow::default()
        };
        tch::no_grad(|| {
            self.objective
                .describe(&functions(&self.phi), &self.labels, &mut row)
        });
        row.primal = row
            .objectives
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        row.dual = row
            .tau
            .iter()
            .zip(&row.objectives)
            .map(|(tau, j)| tau * j)
            .sum();
        if let (Some(phi), Some(watched)) = (&self.watched, self.options.monitor) {
            let predicted = self.objective.classify(&functions(phi), &self.head);
            let right = predicted.iter().zip(&watched.y).filter(|(l, y)| l == y);
            row.accuracy = Some(100.0 * right.count() as f64 / watched.y.len().max(1) as f64);
        }
        Ok(row)
    }

    /// All tensors that the next epoch depends on.
    fn tensors(&self) -> Vec<(String, Tensor)> {
        let head = self.head.tensors();
        let head = head.iter().map(|(name, tensor)| (*name, *tensor));
        let prior = self.prior.iter().flat_map(Prior::tensors);
        let prior = prior.map(|(name, tensor)| (format!("prior.{name}"), tensor.shallow_clone()));
        let trained = self
            .head
            .parameters()
            .into_iter()
            .map(|(name, _)| name.to_owned());
        let of_prior = self.prior.iter().flat_map(Prior::trained);
        let trained = trained.chain(of_prior.map(|(name, _)| format!("prior.{name}")));
        let velocities = trained.zip(self.descent.velocities());
        head.map(|(name, tensor)| (name.to_owned(), tensor.shallow_clone()))
            .chain(prior)
            .chain(velocities.map(|(name, v)| (format!("{name}.velocity"), v.shallow_clone())))
            .collect()
    }

    /// The tensors without those of the prior encoder, which change no more once it is frozen.
    fn tensors_of_head(&self) -> Vec<(String, Tensor)> {
        let mut tensors = self.tensors();
        tensors.retain(|(name, _)| !name.starts_with("prior."));
        tensors
    }

    /// Whether the prior encoder has been trained to its end, so that the last checkpoint with it stays true.
    fn is_prior_done(&self) -> bool {
        let norms = self.criterion.training.frozen_batch_norms;
        self.prior.is_some()
            && norms == FrozenBatchNorms::Evaluation
            && self.state.epochs > self.criterion.training.fine_tune
    }

    fn resume(&mut self) -> Result<(), TrainError> {
        let Some(path) = self.options.checkpoint.clone() else {
            return Ok(());
        };
        let refused = |path: &Path, why: String| {
            let path = path.display();
            TrainError::Checkpoint(format!(
                "{path} {why}; remove it and run with --retry-failed to train from the start"
            ))
        };
        let whole = checkpoint::load(&path, &mut self.tensors());
        let Some(state) = whole.map_err(|why| refused(&path, why))? else {
            return Ok(());
        };
        self.restore(state);
        if self.prior.is_some() && !self.is_fine_tuned() {
            let path = checkpoint::of_head(&path);
            let head = checkpoint::load(&path, &mut self.tensors_of_head());
            if let Some(state) = head.map_err(|why| refused(&path, why))? {
                self.restore(state);
            }
        }
        Ok(())
    }

    fn restore(&mut self, state: State) {
        self.objective.restore(&state.objective);
        self.state = State {
            cell: std::mem::take(&mut self.state.cell),
            ..state
        };
    }

    fn save(&mut self) -> Result<(), TrainError> {
        let Some(path) = &self.options.checkpoint else {
            return Ok(());
        };
        self.state.objective = self.objective.state();
        let (path, tensors) = match self.is_prior_done() {
            true => (checkpoint::of_head(path), self.tensors_of_head()),
            false => (path.clone(), self.tensors()),
        };
        checkpoint::save(&path, &self.state, &tensors).map_err(|error| {
            TrainError::Checkpoint(format!("{} cannot be written: {error}", path.display()))
        })
    }
}

/// The cell that a checkpoint belongs to; empty where none is kept.
fn checkpoint_name(options: &TrainOptions<'_>) -> String {
    let path = options.checkpoint.as_deref();
    path.map_or_else(String::new, checkpoint::cell_of)
}

fn certificate(trace: &[TraceRow]) -> Certificate {
    let last = trace.last();
    let (primal, dual) = last.map_or((0.0, 0.0), |row| (row.primal, row.dual));
    Certificate {
        primal,
        dual,
        gap: primal - dual,
        iterations: trace.len(),
        // The rule of a training is its number of epochs.
        termination: Termination::EpochsDone,
    }
}

/// Cosine annealing over all epochs.
fn annealed(lr: f64, epoch: usize, training: &Training) -> f64 {
    let phase = epoch as f64 * PI / training.epochs as f64;
    training.min_lr + 0.5 * (lr - training.min_lr) * (1.0 + phase.cos())
}

/// Samples of each mini-batch. A last one of a single sample, which has no variance, joins its
/// neighbour.
fn batches(order: &[i64], size: usize) -> Vec<&[i64]> {
    let whole = match order.len() % size {
        1 if order.len() > size => order.len() - 1 - size,
        rest => order.len() - rest,
    };
    let (front, last) = order.split_at(whole);
    let mut batches: Vec<&[i64]> = front.chunks(size).collect();
    batches.extend((!last.is_empty()).then_some(last));
    batches
}

fn permutation(n: usize, rng: &mut ChaCha8Rng) -> Vec<i64> {
    let mut order: Vec<i64> = (0..n as i64).collect();
    for last in (1..n).rev() {
        // The bias of a remainder of 64 bits is beyond notice.
        let other = rng.next_u64() % (last as u64 + 1);
        order.swap(last, other as usize);
    }
    order
}

pub(super) fn matrix(x: ArrayView2<'_, f64>, device: Device) -> Tensor {
    let values: Vec<f32> = x.iter().map(|&value| value as f32).collect();
    Tensor::from_slice(&values)
        .view([x.nrows() as i64, x.ncols() as i64])
        .to_device(device)
}

fn labels(y: &[usize], classes: usize, device: Device) -> Labels {
    let y: Vec<i64> = y.iter().map(|&l| l as i64).collect();
    let y = Tensor::from_slice(&y).to_device(device);
    let members = y.one_hot(classes as i64).to_kind(Kind::Float);
    Labels { y, members }
}

/// The device called `name`.
fn device(name: &str) -> Result<Device, TrainError> {
    let index = name.strip_prefix("cuda:").and_then(|n| n.parse().ok());
    match (name, index) {
        ("" | "cpu", _) => Ok(Device::Cpu),
        (_, Some(index)) => Ok(Device::Cuda(index)),
        (other, None) => Err(TrainError::Torch(format!("there is no device `{other}`"))),
    }
}

/// An error unless this machine has the graphics processor called `name`.
pub fn find_device(name: &str) -> Result<(), String> {
    let found = tch::Cuda::device_count();
    match device(name) {
        Ok(Device::Cuda(index)) if (index as i64) < found => Ok(()),
        Ok(Device::Cpu) => Ok(()),
        _ if found == 0 => Err("libtorch finds no CUDA device".to_owned()),
        _ => Err(format!(
            "libtorch finds {found} CUDA devices, counted from 0"
        )),
    }
}

thread_local! {
    /// Whether panics of this thread are turned into errors.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// `work`, with panics of libtorch's wrapper, whose calls panic where they fail, as errors that are not
/// printed.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, TrainError>) -> Result<T, TrainError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                usual(info);
            }
        }));
    });
    IS_GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    result.unwrap_or_else(|panic| Err(libtorch_error(&panic_text(&*panic))))
}

/// The sentence in a panic of libtorch's wrapper, without the place in its sources.
pub(super) fn libtorch_error(text: &str) -> TrainError {
    let line = text
        .split_once("Torch(\"")
        .map_or(text, |(_, inside)| inside);
    let line = line.split(['\n', '"']).next().unwrap_or_default();
    let line = line.split("\\n").next().unwrap_or_default();
    if text.contains("out of memory") || text.contains("can't allocate memory") {
        return TrainError::OutOfMemory {
            engine: "libtorch",
            message: line.trim().to_owned(),
        };
    }
    TrainError::Torch(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::criteria::CrossEntropy;
    use crate::networks::Samples;

    #[test]
    fn no_batch_has_a_single_sample() {
        let order: Vec<i64> = (0..200).collect();
        let sizes = |n: usize, size| -> Vec<usize> {
            batches(&order[..n], size)
                .iter()
                .map(|batch| batch.len())
                .collect()
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
        let data = TrainingData {
            samples: &samples,
            classes: 2,
            encoder: None,
        };
        let mut criterion = Criterion::from(CrossEntropy::default());
        criterion.training.epochs = 1;
        criterion.network.z = 1 << 20;
        criterion.network.hidden = 1 << 40;
        let fit = |criterion: &_| {
            let (seed, options) = (Seed::root(1), TrainOptions::default());
            train(criterion, &data, &seed, &options)
        };
        let error = fit(&criterion).err().map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|text| text.contains("memory")),
            "{error:?}"
        );
        criterion.network = crate::methods::criteria::Network::default();
        assert!(fit(&criterion).is_ok());
        let error = guarded(|| Ok(Tensor::zeros([1 << 50], (Kind::Float, Device::Cpu)))).err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.starts_with("libtorch ran out of memory: "), "{text}");
        assert!(!text.contains("frame"), "{text}");
    }

    #[test]
    fn want_of_memory_is_called_by_its_name() {
        let text = "called `Result::unwrap()` on an `Err` value: Torch(\"[enforce fail at \
                    alloc_cpu.cpp:129] DefaultCPUAllocator: can't allocate memory: you tried to \
                    allocate 8 bytes.\\nframe #0\")";
        let error = libtorch_error(text).to_string();
        assert!(
            error.starts_with("libtorch ran out of memory: [enforce"),
            "{error}"
        );
        assert!(!error.contains("frame"), "{error}");
    }
}
