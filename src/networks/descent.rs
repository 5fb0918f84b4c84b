//! Stochastic gradient descent with momentum and weight decay, as libtorch's, but with a state that
//! can be stored.
//!
//! ```text
//! v <- momentum v + (g + weight_decay w),    w <- w - lr v
//! ```

use tch::{Kind, Tensor, no_grad};

use crate::methods::criteria::Training;

/// The weights under training and their velocities.
pub struct Descent {
    weights: Vec<Tensor>,
    velocities: Vec<Tensor>,
    momentum: f64,
    /// Scalars as tensors: `addcmul_` takes no numbers, and a product with a scalar would allocate.
    weight_decay: Tensor,
    step: Tensor,
}

impl Descent {
    /// At rest.
    pub fn new<'a>(weights: impl IntoIterator<Item = &'a Tensor>, training: &Training) -> Self {
        let weights: Vec<Tensor> = weights.into_iter().map(Tensor::shallow_clone).collect();
        let velocities = no_grad(|| weights.iter().map(Tensor::zeros_like).collect());
        let (kind, device) = weights
            .first()
            .map_or((Kind::Float, tch::Device::Cpu), |first| {
                (first.kind(), first.device())
            });
        let none: &[i64] = &[];
        let scalar = |value: f64| Tensor::full(none, value, (kind, device));
        Self {
            weights,
            velocities,
            momentum: training.momentum,
            weight_decay: scalar(training.weight_decay),
            step: scalar(0.0),
        }
    }

    pub fn set_lr(&mut self, lr: f64) {
        let _ = self.step.fill_(-lr);
    }

    /// The velocities, in the order of the weights.
    pub fn velocities(&self) -> &[Tensor] {
        &self.velocities
    }

    /// Descends `loss` in the weights at `places`.
    pub fn descend(&mut self, loss: &Tensor, places: impl Iterator<Item = usize>) {
        let places: Vec<usize> = places.collect();
        let weights: Vec<&Tensor> = places.iter().map(|&i| &self.weights[i]).collect();
        if weights.is_empty() {
            return;
        }
        let gradients = Tensor::run_backward(&[loss], &weights, false, false);
        no_grad(|| {
            // A weight that the loss does not depend on has no gradient and stays as it is.
            for (&i, g) in places.iter().zip(&gradients).filter(|(_, g)| g.defined()) {
                let (w, v) = (&mut self.weights[i], &mut self.velocities[i]);
                let _ = v.g_mul_scalar_(self.momentum);
                let _ = v.g_add_(g);
                let _ = v.addcmul_(w, &self.weight_decay);
                let _ = w.addcmul_(v, &self.step);
            }
        });
    }

    /// The number of weights.
    pub fn len(&self) -> usize {
        self.weights.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps on `w^2/2` by hand.
    #[test]
    fn two_steps() {
        let training = Training {
            momentum: 0.5,
            weight_decay: 0.1,
            ..Training::default()
        };
        let w = Tensor::from_slice(&[2.0_f64]).set_requires_grad(true);
        let mut descent = Descent::new([&w], &training);
        descent.set_lr(0.1);
        let mut by_hand = (2.0, 0.0);
        for _ in 0..2 {
            descent.descend(&(&w * &w / 2.0).sum(Kind::Double), 0..1);
            let (x, v) = by_hand;
            let v = 0.5 * v + x + 0.1 * x;
            by_hand = (x - 0.1 * v, v);
        }
        assert!((w.double_value(&[0]) - by_hand.0).abs() < 1e-12);
    }
}
