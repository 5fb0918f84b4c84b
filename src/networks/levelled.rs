//! The steps of D-NPSVC++ on a mini-batch.

use std::f64::consts::PI;

use faer::Mat;
use tch::Tensor;

use super::gram::{first_columns, gram};
use super::head::Head;
use super::hyperplanes::Planes;
use super::objective::{Labels, Objective, Step, numbers};
use crate::methods::TraceRow;
use crate::methods::criteria::{Gamma, Hyperplanes, SecondPass, TauGradient, TauStep};
use npsvc::solve::simplex;

/// Relative accuracy of the tau-step. Momentum and the next batch move `tau` by far more.
const TOLERANCE: f64 = 1e-4;

/// `sum_l tau_l J_l` and its `tau`.
pub struct Levelled {
    hyperplanes: Planes,
    schedule: Gamma,
    beta: f64,
    tau_gradient: TauGradient,
    second_pass: SecondPass,
    gamma: f64,
    tau: Vec<f64>,
    /// The last optimum, before momentum, and the norm of the combined gradient there.
    tau_star: Vec<f64>,
    gradient_norm: f64,
    /// The sum of `tau` over the steps of this epoch.
    used: Vec<f64>,
    steps: usize,
}

impl Levelled {
    pub fn new(hyperplanes: &Hyperplanes, tau_step: &TauStep, classes: usize) -> Self {
        let equal = vec![1.0 / classes as f64; classes];
        Self {
            hyperplanes: Planes::new(hyperplanes, classes),
            schedule: tau_step.gamma.clone(),
            beta: tau_step.momentum,
            tau_gradient: tau_step.gradient,
            second_pass: tau_step.second_pass,
            gamma: 0.0,
            tau_star: equal.clone(),
            tau: equal,
            gradient_norm: 0.0,
            used: vec![0.0; classes],
            steps: 0,
        }
    }

    /// Moves `tau` towards the optimum for this Gram matrix and these objectives.
    fn tau_step(&mut self, gram: &Tensor, objectives: &Tensor) {
        let classes = self.tau.len();
        let values = numbers(gram);
        let g = Mat::from_fn(classes, classes, |i, j| values[i * classes + j]);
        let gains: Vec<f64> = numbers(objectives).iter().map(|j| self.gamma * j).collect();
        // A training that diverges is found out at the end of its epoch.
        if !values.iter().chain(&gains).all(|value| value.is_finite()) {
            return;
        }
        let (star, _) = simplex::solve(g.as_ref(), &gains, &self.tau, TOLERANCE);
        let square: f64 = (0..classes)
            .map(|i| star[i] * (0..classes).map(|j| g[(i, j)] * star[j]).sum::<f64>())
            .sum();
        self.gradient_norm = square.max(0.0).sqrt();
        for (tau, star) in self.tau.iter_mut().zip(&star) {
            *tau += self.beta * (star - *tau);
        }
        self.tau_star = star;
        self.used
            .iter_mut()
            .zip(&self.tau)
            .for_each(|(sum, tau)| *sum += tau);
        self.steps += 1;
    }

    fn weighted(&self, objectives: &Tensor) -> Tensor {
        let tau = Tensor::from_slice(&self.tau)
            .to_kind(objectives.kind())
            .to_device(objectives.device());
        objectives.dot(&tau)
    }
}

impl Objective for Levelled {
    fn begin(&mut self, epoch: usize, epochs: usize) {
        let Gamma {
            max,
            t_max,
            epsilon,
        } = self.schedule;
        let phase = epoch as f64 * PI / t_max.unwrap_or(epochs) as f64;
        self.gamma = 0.5 * max * (1.0 + phase.cos()) + epsilon;
        self.used.fill(0.0);
        self.steps = 0;
    }

    fn step(&mut self, step: &mut Step<'_>) {
        let phi = step.phi.shallow_clone();
        let pass = step.pass(&phi);
        let f = self.functions(step.head, &pass);
        let objectives = self
            .hyperplanes
            .parts(&f, &step.labels.members)
            .objectives();
        step.descend(&self.weighted(&objectives));

        let phi = match self.second_pass {
            // The prior encoder's output is the one cached above.
            SecondPass::Layers => phi.detach(),
            SecondPass::Network => step.encode_again().unwrap_or_else(|| phi.detach()),
        };
        let pass = step.pass(&phi);
        let f = self.functions(step.head, &pass);
        let parts = self.hyperplanes.parts(&f, &step.labels.members);
        let objectives = parts.objectives();
        let slopes = tch::no_grad(|| parts.slopes());
        // Without `z` the classes share nothing that weights could balance: they stay equal.
        if pass.z.is_some() {
            let gram = match self.tau_gradient {
                TauGradient::Exact => gram(step.head, &pass, &f, &slopes),
                TauGradient::FirstColumns => first_columns(step.head, &phi, &slopes),
            };
            self.tau_step(&gram, &objectives);
        }
        let loss = self.weighted(&objectives);
        match self.second_pass {
            SecondPass::Layers => step.descend_layers(&loss),
            SecondPass::Network => step.descend_shared(&loss),
        }
    }

    fn describe(&self, f: &Tensor, labels: &Labels, row: &mut TraceRow) {
        row.objectives = numbers(&self.hyperplanes.parts(f, &labels.members).objectives());
        row.tau = match self.steps {
            0 => self.tau.clone(),
            steps => self.used.iter().map(|sum| sum / steps as f64).collect(),
        };
        row.tau_star.clone_from(&self.tau_star);
        row.gradient_norm = self.gradient_norm;
    }

    fn classify(&self, f: &Tensor, head: &Head) -> Vec<usize> {
        self.hyperplanes.classify(f, head)
    }

    fn state(&self) -> Vec<f64> {
        self.tau.clone()
    }

    fn restore(&mut self, state: &[f64]) {
        self.tau = state.to_vec();
    }
}
