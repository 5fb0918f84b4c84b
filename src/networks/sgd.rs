//! Stochastic gradient descent with momentum and weight decay, as libtorch's, but with a state that
//! can be stored.
//!
//! ```text
//! v <- momentum v + (g + weight_decay w),    w <- w - lr v
//! ```

use tch::{Device, Kind, Tensor, no_grad};

use crate::methods::criteria::Training;

/// Which layers a weight belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Behind the encoder, shared by all classes.
    Shared,
    /// The hyperplanes of the classes.
    Classes,
    Encoder,
}

/// A weight under training and its velocity.
struct TrainedWeight {
    part: Part,
    weight: Tensor,
    velocity: Tensor,
}

/// The weights under training.
pub(super) struct Sgd {
    trained: Vec<TrainedWeight>,
    momentum: f64,
    /// Scalars as tensors: `addcmul_` takes no numbers, and a product with a scalar would allocate.
    weight_decay: Tensor,
    step: Tensor,
}

impl Sgd {
    /// All velocities are zero.
    pub fn new<'a>(
        weights: impl IntoIterator<Item = (Part, &'a Tensor)>,
        training: &Training,
        device: Device,
    ) -> Self {
        let at_rest = |(part, weight): (Part, &Tensor)| TrainedWeight {
            part,
            velocity: no_grad(|| weight.zeros_like()),
            weight: weight.shallow_clone(),
        };
        let none: &[i64] = &[];
        let scalar = |value: f64| Tensor::full(none, value, (Kind::Float, device));
        Self {
            trained: weights.into_iter().map(at_rest).collect(),
            momentum: training.momentum,
            weight_decay: scalar(training.weight_decay),
            step: scalar(0.0),
        }
    }

    pub fn set_lr(&mut self, lr: f64) {
        let _ = self.step.fill_(-lr);
    }

    /// The velocities, in the order of the weights.
    pub fn velocities(&self) -> impl Iterator<Item = &Tensor> {
        self.trained.iter().map(|trained| &trained.velocity)
    }

    /// Descends `loss` in the weights of some parts.
    pub fn descend(&mut self, loss: &Tensor, parts: &[Part]) {
        let mut trained: Vec<&mut TrainedWeight> =
            (self.trained.iter_mut()).filter(|trained| parts.contains(&trained.part)).collect();
        if trained.is_empty() {
            return;
        }
        let weights: Vec<&Tensor> = trained.iter().map(|trained| &trained.weight).collect();
        let gradients = Tensor::run_backward(&[loss], &weights, false, false);
        no_grad(|| {
            // A weight that the loss does not depend on has no gradient and stays as it is.
            let pairs = trained.iter_mut().zip(&gradients);
            for (trained, gradient) in pairs.filter(|(_, gradient)| gradient.defined()) {
                let (w, v) = (&mut trained.weight, &mut trained.velocity);
                let _ = v.g_mul_scalar_(self.momentum);
                let _ = v.g_add_(gradient);
                let _ = v.addcmul_(w, &self.weight_decay);
                let _ = w.addcmul_(v, &self.step);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps on `w^2/2` by hand.
    #[test]
    fn two_steps() {
        let training = Training { momentum: 0.5, weight_decay: 0.1, ..Training::default() };
        let w = Tensor::from_slice(&[2.0_f32]).set_requires_grad(true);
        let mut sgd = Sgd::new([(Part::Shared, &w)], &training, Device::Cpu);
        sgd.set_lr(0.1);
        let mut by_hand = (2.0, 0.0);
        for _ in 0..2 {
            sgd.descend(&(&w * &w / 2.0).sum(Kind::Float), &[Part::Shared]);
            let (x, v) = by_hand;
            let v = 0.5 * v + x + 0.1 * x;
            by_hand = (x - 0.1 * v, v);
        }
        assert!((w.double_value(&[0]) - by_hand.0).abs() < 1e-6);
    }
}
