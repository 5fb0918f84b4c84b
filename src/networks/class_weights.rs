//! The weights of the classes' objectives in D-NPSVC++, and the tau-step that learns them (Algorithm 2).
//!
//! ```text
//! tau* = argmin_tau |sum_l tau_l grad_Z J_l|^2/2 - gamma sum_l tau_l J_l,    tau <- beta tau* + (1 - beta) tau
//! ```
//!
//! The gradients in `Z` are exact, through the layer norm; their Gram matrix has a closed form, see `gram.rs`.

use std::f64::consts::PI;

use faer::Mat;
use tch::Tensor;

use super::torch::numbers;
use crate::methods::TraceRow;
use crate::methods::criteria::{Gamma, TauStep};
use npsvc::algebra::quadratic_form;
use npsvc::solve::simplex;

/// Relative accuracy of the tau-step. Momentum and the next batch move `tau` by far more.
const TOLERANCE: f64 = 1e-4;

/// `tau`, and how it moves.
pub(super) struct ClassWeights {
    schedule: Gamma,
    momentum: f64,
    /// Of this epoch.
    gamma: f64,
    /// The weights now.
    pub tau: Vec<f64>,
    /// The last optimum, before momentum, and the norm of the combined gradient there.
    tau_star: Vec<f64>,
    gradient_norm: f64,
    /// The sum of `tau` over the steps of this epoch.
    sum: Vec<f64>,
    steps: usize,
}

impl ClassWeights {
    pub fn new(settings: &TauStep, classes: usize) -> Self {
        let equal = vec![1.0 / classes as f64; classes];
        Self {
            schedule: settings.gamma.clone(),
            momentum: settings.momentum,
            gamma: 0.0,
            tau_star: equal.clone(),
            tau: equal,
            gradient_norm: 0.0,
            sum: vec![0.0; classes],
            steps: 0,
        }
    }

    /// An epoch begins.
    pub fn begin(&mut self, epoch: usize, epochs: usize) {
        let Gamma { max, t_max, epsilon } = self.schedule;
        let phase = epoch as f64 * PI / t_max.unwrap_or(epochs) as f64;
        self.gamma = 0.5 * max * (1.0 + phase.cos()) + epsilon;
        self.sum.fill(0.0);
        self.steps = 0;
    }

    /// `sum_l tau_l J_l`.
    pub fn weigh(&self, objectives: &Tensor) -> Tensor {
        let tau =
            Tensor::from_slice(&self.tau).to_kind(objectives.kind()).to_device(objectives.device());
        objectives.dot(&tau)
    }

    /// Moves `tau` towards the optimum for this Gram matrix of gradients and these objectives.
    pub fn step(&mut self, gram: &Tensor, objectives: &Tensor) {
        let classes = self.tau.len();
        let values = numbers(gram);
        let g = Mat::from_fn(classes, classes, |i, j| values[i * classes + j]);
        let gains: Vec<f64> = numbers(objectives).iter().map(|j| self.gamma * j).collect();
        // The end of the epoch reports a training that diverges.
        if !values.iter().chain(&gains).all(|value| value.is_finite()) {
            return;
        }
        let (star, _) = simplex::solve(g.as_ref(), &gains, &self.tau, TOLERANCE);
        self.gradient_norm = quadratic_form(g.as_ref(), &star).max(0.0).sqrt();
        for ((tau, sum), star) in self.tau.iter_mut().zip(&mut self.sum).zip(&star) {
            *tau += self.momentum * (star - *tau);
            *sum += *tau;
        }
        self.tau_star = star;
        self.steps += 1;
    }

    /// The weights of an epoch: their mean over its steps.
    pub fn describe(&self, row: &mut TraceRow) {
        row.tau = match self.steps {
            0 => self.tau.clone(),
            steps => self.sum.iter().map(|sum| sum / steps as f64).collect(),
        };
        row.tau_star.clone_from(&self.tau_star);
        row.gradient_norm = self.gradient_norm;
    }
}
