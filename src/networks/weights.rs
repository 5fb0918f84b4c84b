//! Named tensors in the order of the layers, for the head and for an encoder.

use std::ops::Index;

use tch::Tensor;

/// How fast running statistics of batch norms follow the batches.
const MOMENTUM: f64 = 0.1;

/// Trained weights and running statistics by name.
#[derive(Default)]
pub(super) struct Weights(Vec<(String, Tensor)>);

/// Whether a name is that of running statistics, which no gradient changes.
fn is_running(name: &str) -> bool {
    name.contains("running_")
}

impl Weights {
    pub fn push(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.0.push((name.into(), tensor));
    }

    pub fn get(&self, name: &str) -> Option<&Tensor> {
        let mut all = self.0.iter();
        all.find_map(|(known, tensor)| (known == name).then_some(tensor))
    }

    pub fn iter(&self) -> impl Iterator<Item = &(String, Tensor)> {
        self.0.iter()
    }

    /// The tensors that training changes.
    pub fn trained(&self) -> impl Iterator<Item = &(String, Tensor)> {
        self.iter().filter(|(name, _)| !is_running(name))
    }

    /// Asks for gradients of all weights.
    pub fn set_trained(&mut self) {
        for (name, tensor) in &mut self.0 {
            if !is_running(name) {
                *tensor = tensor.detach().set_requires_grad(true);
            }
        }
    }

    /// Replaces every tensor.
    pub fn map(&mut self, change: impl Fn(&str, &Tensor) -> Tensor) {
        for (name, tensor) in &mut self.0 {
            *tensor = change(name, tensor);
        }
    }

    /// `x W^T + b`.
    pub fn linear(&self, layer: &str, x: &Tensor) -> Tensor {
        let bias = &self[&format!("{layer}.bias")];
        x.linear(&self[&format!("{layer}.weight")], Some(bias))
    }

    /// A batch norm; in `training` it uses and follows the batch.
    pub fn batch_norm(&self, layer: &str, x: &Tensor, training: bool, epsilon: f64) -> Tensor {
        let part = |part: &str| Some(&self[&format!("{layer}.{part}")]);
        x.batch_norm(
            part("weight"),
            part("bias"),
            part("running_mean"),
            part("running_var"),
            training,
            MOMENTUM,
            epsilon,
            true,
        )
    }
}

impl Index<&str> for Weights {
    type Output = Tensor;

    fn index(&self, name: &str) -> &Tensor {
        self.get(name).expect("a network has all of its layers")
    }
}
