//! What training asks of a criterion.

use rand_chacha::ChaCha8Rng;
use tch::{Kind, Tensor};

use super::descent::Descent;
use super::head::{Head, Masks, Pass};
use crate::methods::TraceRow;
use crate::methods::criteria::Network;

/// A criterion at work.
pub trait Objective {
    /// `f`, one row per sample, one column per class.
    fn functions(&self, head: &Head, pass: &Pass) -> Tensor {
        head.cls.forward(&pass.seen)
    }

    /// An epoch begins.
    fn begin(&mut self, epoch: usize, epochs: usize) {
        let _ = (epoch, epochs);
    }

    /// Descends on one mini-batch.
    fn step(&mut self, step: &mut Step<'_>);

    /// Objectives and their weights after an epoch, from `f` of all training samples.
    fn describe(&self, f: &Tensor, labels: &Labels, row: &mut TraceRow);

    /// The class of each row of `f`.
    fn classify(&self, f: &Tensor, head: &Head) -> Vec<usize>;

    /// What a checkpoint must hold beyond weights and velocities.
    fn state(&self) -> Vec<f64> {
        Vec::new()
    }

    fn restore(&mut self, state: &[f64]) {
        let _ = state;
    }
}

/// The classes of some samples.
pub struct Labels {
    pub y: Tensor,
    /// One column per class: 1 where the sample is of it.
    pub members: Tensor,
}

impl Labels {
    pub fn select(&self, samples: &Tensor) -> Self {
        Self {
            y: self.y.index_select(0, samples),
            members: self.members.index_select(0, samples),
        }
    }
}

/// A mini-batch, and what its descents need.
pub struct Step<'a> {
    pub head: &'a Head,
    pub network: &'a Network,
    pub phi: Tensor,
    pub labels: Labels,
    pub descent: &'a mut Descent,
    /// How many of the descent's weights are trained now: the prior encoder's are last.
    pub active: usize,
    pub rng: &'a mut ChaCha8Rng,
    /// A pass of the batch through a prior encoder under training.
    pub encode: Option<&'a dyn Fn() -> Tensor>,
}

impl Step<'_> {
    /// A pass in training mode; every pass has masks of its own.
    pub fn pass(&mut self, phi: &Tensor) -> Pass {
        let batch = phi.size()[0];
        let masks = Masks::draw(self.network, batch, self.rng, phi.device());
        self.head.pass(phi, Some(&masks))
    }

    /// Descends `loss` in all weights that are trained now.
    pub fn descend(&mut self, loss: &Tensor) {
        self.descent.descend(loss, 0..self.active);
    }

    /// Descends `loss` in the weights that all classes share, the prior encoder's apart.
    pub fn descend_layers(&mut self, loss: &Tensor) {
        self.descent.descend(loss, 0..self.shared());
    }

    /// Descends `loss` in the weights that all classes share, the prior encoder's too if it is trained now.
    pub fn descend_shared(&mut self, loss: &Tensor) {
        let shared = self.shared();
        let of_prior = shared + Head::OF_CLASSES..self.active;
        self.descent.descend(loss, (0..shared).chain(of_prior));
    }

    /// How many of the weights are of layers that all classes share.
    fn shared(&self) -> usize {
        self.head.parameters().len() - Head::OF_CLASSES
    }

    /// What the prior encoder makes of the batch now, if it is trained now.
    pub fn encode_again(&self) -> Option<Tensor> {
        self.encode.map(|encode| encode())
    }
}

/// The column of the largest value of each row.
pub fn largest(values: &Tensor) -> Vec<usize> {
    let columns = values.argmax(1, false).to_kind(Kind::Int64);
    let columns: Vec<i64> =
        Vec::try_from(columns.to_device(tch::Device::Cpu)).expect("a vector of integers is one");
    columns.into_iter().map(|l| l as usize).collect()
}

/// The values of a tensor of one dimension.
pub fn numbers(values: &Tensor) -> Vec<f64> {
    let values = values.detach().to_device(tch::Device::Cpu);
    Vec::try_from(values.to_kind(Kind::Double).reshape([-1])).expect("a vector of numbers is one")
}
