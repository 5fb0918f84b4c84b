//! What is minimised on a mini-batch, and what function values mean.
//!
//! ```text
//! softmax        descend -log softmax(logits)_y
//! equal weights  descend 1/K sum_l J_l
//! D-NPSVC++      theta-step: descend sum_l tau_l J_l in all weights
//!                tau-step:   move tau, then descend sum_l tau_l J_l again in the shared weights
//! ```

use rand_chacha::ChaCha8Rng;
use tch::{Kind, Tensor};

use super::class_weights::ClassWeights;
use super::gram::{first_columns, gram};
use super::head::{Head, Pass};
use super::hyperplanes::{self, Residuals};
use super::sgd::{Part, Sgd};
use super::torch::{largest, numbers};
use crate::methods::TraceRow;
use crate::methods::criteria::{Hyperplanes, Loss, Margin, SecondPass, TauGradient, TauStep};

/// A loss under training.
pub(super) struct Objective {
    loss: Loss,
    classes: usize,
    /// The weights of the classes, if they are learned.
    weights: Option<ClassWeights>,
}

/// The classes of some samples.
pub(super) struct Labels {
    pub y: Tensor,
    /// One column per class: 1 where the sample is of that class.
    pub members: Tensor,
}

/// A mini-batch, and what its descents need.
pub(super) struct Step<'a> {
    pub head: &'a Head,
    pub phi: Tensor,
    pub labels: Labels,
    pub sgd: &'a mut Sgd,
    /// Whether the encoder is trained now.
    pub has_encoder: bool,
    pub rng: &'a mut ChaCha8Rng,
    /// A pass of the batch through an encoder that changes with it.
    pub encode: Option<&'a dyn Fn() -> Tensor>,
}

impl Labels {
    pub fn new(y: &[usize], classes: usize, device: tch::Device) -> Self {
        let y: Vec<i64> = y.iter().map(|&l| l as i64).collect();
        let y = Tensor::from_slice(&y).to_device(device);
        let members = y.one_hot(classes as i64).to_kind(Kind::Float);
        Self { y, members }
    }

    pub fn select(&self, samples: &Tensor) -> Self {
        Self { y: self.y.index_select(0, samples), members: self.members.index_select(0, samples) }
    }
}

impl Step<'_> {
    /// A pass in training mode; every pass draws new masks.
    fn pass(&mut self, phi: &Tensor) -> Pass {
        let masks = self.head.draw_masks(phi.size()[0], self.rng, phi.device());
        self.head.pass(phi, Some(&masks))
    }

    /// Descends `loss` in these parts, but in the encoder only if it is trained now.
    fn descend(&mut self, loss: &Tensor, parts: &[Part]) {
        let is_trained = |part: &Part| *part != Part::Encoder || self.has_encoder;
        let parts: Vec<Part> = parts.iter().copied().filter(is_trained).collect();
        self.sgd.descend(loss, &parts);
    }
}

const ALL: [Part; 3] = [Part::Shared, Part::Classes, Part::Encoder];

impl Objective {
    pub fn new(loss: &Loss, classes: usize) -> Self {
        let tau_step = match loss {
            Loss::Softmax(_) => None,
            Loss::Hyperplanes(hyperplanes) => hyperplanes.tau_step.as_ref(),
        };
        Self {
            weights: tau_step.map(|settings| ClassWeights::new(settings, classes)),
            loss: loss.clone(),
            classes,
        }
    }

    /// `f`, one row per sample, one column per class.
    pub fn functions(&self, head: &Head, pass: &Pass) -> Tensor {
        match self.loss {
            Loss::Softmax(Margin::Additive { .. } | Margin::Angular { .. }) => {
                unit(&pass.input).matmul(&unit(head.hyperplanes().0).tr())
            }
            Loss::Softmax(Margin::None) | Loss::Hyperplanes(_) => {
                head.weights.linear("cls", &pass.input)
            }
        }
    }

    /// An epoch begins.
    pub fn begin(&mut self, epoch: usize, epochs: usize) {
        if let Some(weights) = &mut self.weights {
            weights.begin(epoch, epochs);
        }
    }

    /// Descends on one mini-batch.
    pub fn step(&mut self, step: &mut Step<'_>) {
        let phi = step.phi.shallow_clone();
        let pass = step.pass(&phi);
        let f = self.functions(step.head, &pass);
        match &self.loss {
            Loss::Softmax(margin) => {
                let loss = cross_entropy(*margin, &f, &step.labels);
                step.descend(&loss, &ALL);
            }
            Loss::Hyperplanes(hyperplanes) => {
                let residuals = Residuals::new(hyperplanes, &f, &step.labels.members);
                let objectives = residuals.objectives();
                match (&mut self.weights, &hyperplanes.tau_step) {
                    (Some(weights), Some(settings)) => {
                        step.descend(&weights.weigh(&objectives), &ALL);
                        tau_step(weights, settings, hyperplanes, step);
                    }
                    _ => step.descend(&objectives.mean(None::<Kind>), &ALL),
                }
            }
        }
    }

    /// Objectives and their weights after an epoch, from `f` of all training samples.
    pub fn describe(&self, f: &Tensor, labels: &Labels, row: &mut TraceRow) {
        match &self.loss {
            Loss::Softmax(margin) => {
                row.objectives = numbers(&cross_entropy(*margin, f, labels));
                row.tau = vec![1.0];
            }
            Loss::Hyperplanes(hyperplanes) => {
                let residuals = Residuals::new(hyperplanes, f, &labels.members);
                row.objectives = numbers(&residuals.objectives());
                row.tau = vec![1.0 / self.classes as f64; self.classes];
            }
        }
        row.tau_star.clone_from(&row.tau);
        if let Some(weights) = &self.weights {
            weights.describe(row);
        }
    }

    /// The class of each row of `f`.
    pub fn classify(&self, f: &Tensor, head: &Head) -> Vec<usize> {
        match &self.loss {
            Loss::Softmax(_) => largest(f),
            Loss::Hyperplanes(planes) => hyperplanes::classify(planes.scheme, f, head),
        }
    }

    /// The state that a checkpoint needs beyond weights and velocities.
    pub fn state(&self) -> Vec<f64> {
        self.weights.as_ref().map_or_else(Vec::new, |weights| weights.tau.clone())
    }

    pub fn restore(&mut self, state: &[f64]) {
        if let Some(weights) = &mut self.weights {
            weights.tau = state.to_vec();
        }
    }
}

/// Moves the weights of the classes, then descends again in what all classes share.
fn tau_step(
    weights: &mut ClassWeights,
    settings: &TauStep,
    hyperplanes: &Hyperplanes,
    step: &mut Step<'_>,
) {
    let phi = match (settings.second_pass, step.encode) {
        (SecondPass::Network, Some(encode)) => encode(),
        // The encoder's output is the one of the first pass.
        _ => step.phi.detach(),
    };
    let pass = step.pass(&phi);
    let f = step.head.weights.linear("cls", &pass.input);
    let residuals = Residuals::new(hyperplanes, &f, &step.labels.members);
    let objectives = residuals.objectives();
    let slopes = tch::no_grad(|| residuals.slopes());
    // Without `z` the classes share nothing that weights could balance: they stay equal.
    if let Some(z) = &pass.z {
        let gram = match settings.gradient {
            TauGradient::Exact => gram(step.head, z, pass.norm.as_ref(), &f, &slopes),
            TauGradient::FirstColumns => first_columns(step.head, &phi, &slopes),
        };
        weights.step(&gram, &objectives);
    }
    let loss = weights.weigh(&objectives);
    match settings.second_pass {
        SecondPass::Layers => step.descend(&loss, &[Part::Shared]),
        SecondPass::Network => step.descend(&loss, &[Part::Shared, Part::Encoder]),
    }
}

/// `-log softmax(logits)_y`, its mean over the samples.
fn cross_entropy(margin: Margin, f: &Tensor, labels: &Labels) -> Tensor {
    let logits = match margin {
        Margin::None => f.shallow_clone(),
        Margin::Additive { scale, margin } => (f - &labels.members * margin) * scale,
        Margin::Angular { scale, margin } => {
            // Rounding must not take the root of a negative number, nor the slope of the root at zero.
            let cos = f.clamp(-1.0 + 1e-6, 1.0 - 1e-6);
            let sin = (1.0_f64 - &cos * &cos).sqrt();
            let turned = &cos * margin.cos() - sin * margin.sin();
            // Beyond theta = pi - margin the cosine would rise again: continue linearly.
            let beyond = &cos - margin * margin.sin();
            let right = turned.where_self(&cos.gt(-margin.cos()), &beyond);
            (&cos + &labels.members * (right - &cos)) * scale
        }
    };
    logits.cross_entropy_for_logits(&labels.y)
}

/// Rows of length one.
fn unit(x: &Tensor) -> Tensor {
    let norms = (x * x).sum_dim_intlist([1].as_slice(), true, None::<Kind>).sqrt();
    x / norms.clamp_min(1e-12)
}
