//! Cross-entropy of a softmax, plain or with a margin on cosines; one objective, so one weight.

use tch::{Kind, Tensor};

use super::head::{Head, Pass};
use super::objective::{Labels, Objective, Step, largest, numbers};
use crate::methods::TraceRow;
use crate::methods::criteria::Margin;

/// Softmax regression.
pub struct Softmax(Margin);

impl Softmax {
    pub fn new(margin: Margin) -> Self {
        Self(margin)
    }

    /// Logits that the cross-entropy sees in training.
    fn logits(&self, f: &Tensor, labels: &Labels) -> Tensor {
        match self.0 {
            Margin::None => f.shallow_clone(),
            Margin::Additive { scale, margin } => (f - &labels.members * margin) * scale,
            Margin::Angular { scale, margin } => {
                // Rounding must not take the root of a negative number, nor the slope of the root at
                // zero.
                let cos = f.clamp(-1.0 + 1e-6, 1.0 - 1e-6);
                let sin = (1.0_f64 - &cos * &cos).sqrt();
                let turned = &cos * margin.cos() - sin * margin.sin();
                // Beyond theta = pi - margin the cosine would rise again: go on linearly.
                let beyond = &cos - margin * margin.sin();
                let right = turned.where_self(&cos.gt(-margin.cos()), &beyond);
                (&cos + &labels.members * (right - &cos)) * scale
            }
        }
    }
}

impl Objective for Softmax {
    fn functions(&self, head: &Head, pass: &Pass) -> Tensor {
        match self.0 {
            Margin::None => head.cls.forward(&pass.seen),
            Margin::Additive { .. } | Margin::Angular { .. } => {
                unit(&pass.seen).matmul(&unit(&head.cls.weight).tr())
            }
        }
    }

    fn step(&mut self, step: &mut Step<'_>) {
        let phi = step.phi.shallow_clone();
        let pass = step.pass(&phi);
        let f = self.functions(step.head, &pass);
        let loss = self.logits(&f, &step.labels);
        let loss = loss.cross_entropy_for_logits(&step.labels.y);
        step.descend(&loss);
    }

    fn describe(&self, f: &Tensor, labels: &Labels, row: &mut TraceRow) {
        let loss = self.logits(f, labels).cross_entropy_for_logits(&labels.y);
        row.objectives = numbers(&loss);
        row.tau = vec![1.0];
        row.tau_star = vec![1.0];
    }

    fn classify(&self, f: &Tensor, _: &Head) -> Vec<usize> {
        largest(f)
    }
}

/// Rows of length one.
fn unit(x: &Tensor) -> Tensor {
    let norms = (x * x)
        .sum_dim_intlist([1].as_slice(), true, None::<Kind>)
        .sqrt();
    x / norms.clamp_min(1e-12)
}
