//! The network on top of the prior encoder, layer by layer.
//!
//! Plain tensors instead of libtorch's modules: weights are drawn from the seed tree and dropout
//! masks come in from outside, for libtorch has one random generator per process, and numbers must
//! not depend on what other threads draw from it.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use tch::{Device, Kind, Tensor, no_grad};

use super::TrainError;
use crate::methods::criteria::{Hypothesis, Network};
use npsvc::Seed;

const BATCH_NORM_MOMENTUM: f64 = 0.1;
const EPSILON: f64 = 1e-5;

/// `x W^T + b`.
pub struct Linear {
    pub weight: Tensor,
    pub bias: Tensor,
}

/// Scale and shift; with running statistics a batch norm, without a layer norm.
struct Norm {
    weight: Tensor,
    bias: Tensor,
}

struct BatchNorm {
    norm: Norm,
    mean: Tensor,
    variance: Tensor,
}

/// `z(phi)`.
struct Trunk {
    fc1: Linear,
    bn1: BatchNorm,
    fc2: Linear,
    bn2: BatchNorm,
}

/// All layers behind the prior encoder.
pub struct Head {
    trunk: Option<Trunk>,
    ln: Option<Norm>,
    pub cls: Linear,
    hypothesis: Hypothesis,
}

/// Masks of the two dropouts: 0 or `1 / (1 - p)`.
pub struct Masks(Tensor, Tensor);

/// What a pass through the layers leaves, one row per sample.
pub struct Pass {
    /// The learnt representation, where the hypothesis has one.
    pub z: Option<Tensor>,
    /// Mean and inverse deviation that the layer norm used, if there is one.
    pub norm: Option<(Tensor, Tensor)>,
    /// What the hyperplanes see.
    pub seen: Tensor,
}

impl Linear {
    /// As libtorch draws it: uniform in `+-1/sqrt(inputs)`.
    fn new(inputs: usize, outputs: usize, seed: &Seed, device: Device) -> Result<Self, TrainError> {
        let bound = 1.0 / (inputs as f32).sqrt();
        let mut rng = seed.rng();
        let mut draw = |count: usize| -> Result<Tensor, TrainError> {
            let mut values = Vec::new();
            values
                .try_reserve_exact(count)
                .map_err(|_| too_large(inputs, outputs))?;
            let unit = |rng: &mut ChaCha8Rng| (rng.next_u32() >> 8) as f32 / (1 << 24) as f32;
            values.extend((0..count).map(|_| bound * (2.0 * unit(&mut rng) - 1.0)));
            Ok(Tensor::from_slice(&values))
        };
        let count = inputs.checked_mul(outputs);
        let weight = draw(count.ok_or_else(|| too_large(inputs, outputs))?)?;
        let weight = weight.view([outputs as i64, inputs as i64]);
        Ok(Self {
            weight: trained(weight, device),
            bias: trained(draw(outputs)?, device),
        })
    }

    pub fn forward(&self, x: &Tensor) -> Tensor {
        x.linear(&self.weight, Some(&self.bias))
    }
}

fn too_large(inputs: usize, outputs: usize) -> TrainError {
    TrainError::OutOfMemory {
        engine: "the network",
        message: format!("a layer of {inputs} x {outputs} weights is too large"),
    }
}

fn trained(tensor: Tensor, device: Device) -> Tensor {
    tensor.to_device(device).set_requires_grad(true)
}

impl Norm {
    fn new(width: usize, device: Device) -> Self {
        let options = (Kind::Float, device);
        Self {
            weight: trained(Tensor::ones([width as i64], options), device),
            bias: trained(Tensor::zeros([width as i64], options), device),
        }
    }
}

impl BatchNorm {
    fn new(width: usize, device: Device) -> Self {
        let options = (Kind::Float, device);
        Self {
            norm: Norm::new(width, device),
            mean: Tensor::zeros([width as i64], options),
            variance: Tensor::ones([width as i64], options),
        }
    }

    /// Moves the running statistics where `training`.
    fn forward(&self, x: &Tensor, training: bool) -> Tensor {
        x.batch_norm(
            Some(&self.norm.weight),
            Some(&self.norm.bias),
            Some(&self.mean),
            Some(&self.variance),
            training,
            BATCH_NORM_MOMENTUM,
            EPSILON,
            true,
        )
    }
}

impl Trunk {
    fn forward(&self, phi: &Tensor, masks: Option<&Masks>) -> Tensor {
        let dropped = |x: Tensor, mask: Option<&Tensor>| match mask {
            Some(mask) => x * mask,
            None => x,
        };
        let h = dropped(self.fc1.forward(phi), masks.map(|masks| &masks.0));
        let h = self.bn1.forward(&h, masks.is_some()).relu();
        let z = dropped(self.fc2.forward(&h), masks.map(|masks| &masks.1));
        self.bn2.forward(&z, masks.is_some()).relu()
    }
}

impl Masks {
    /// Draws the masks of a mini-batch.
    pub fn draw(network: &Network, batch: i64, rng: &mut ChaCha8Rng, device: Device) -> Self {
        // Of 2^16 values; 0.25 is hit exactly.
        let limit = (network.dropout * 65536.0).round() as u32;
        let kept = (1.0 / (1.0 - network.dropout)) as f32;
        let mut mask = |width: usize| {
            let count = batch as usize * width;
            let mut values = Vec::with_capacity(count + 1);
            while values.len() < count {
                let bits = rng.next_u32();
                for half in [bits & 0xffff, bits >> 16] {
                    values.push(if half < limit { 0.0 } else { kept });
                }
            }
            Tensor::from_slice(&values[..count])
                .view([batch, width as i64])
                .to_device(device)
        };
        let first = mask(network.hidden);
        Self(first, mask(network.z))
    }
}

impl Head {
    /// Random weights for features of `dims` dimensions.
    pub fn new(
        network: &Network,
        dims: usize,
        classes: usize,
        seed: &Seed,
        device: Device,
    ) -> Result<Self, TrainError> {
        let seed = seed.child("weights");
        let linear =
            |name: &str, inputs, outputs| Linear::new(inputs, outputs, &seed.child(name), device);
        let trunk = match network.hypothesis {
            Hypothesis::Phi => None,
            Hypothesis::Both | Hypothesis::Z => Some(Trunk {
                fc1: linear("fc1", dims, network.hidden)?,
                bn1: BatchNorm::new(network.hidden, device),
                fc2: linear("fc2", network.hidden, network.z)?,
                bn2: BatchNorm::new(network.z, device),
            }),
        };
        let width = match network.hypothesis {
            Hypothesis::Both => network.z + dims,
            Hypothesis::Z => network.z,
            Hypothesis::Phi => dims,
        };
        Ok(Self {
            trunk,
            ln: network.layer_norm.then(|| Norm::new(width, device)),
            cls: linear("cls", width, classes)?,
            hypothesis: network.hypothesis,
        })
    }

    /// Whether there is a learnt representation.
    pub fn has_z(&self) -> bool {
        self.trunk.is_some()
    }

    /// A pass in training mode with `masks`, in evaluation mode without.
    pub fn pass(&self, phi: &Tensor, masks: Option<&Masks>) -> Pass {
        let z = self.trunk.as_ref().map(|trunk| trunk.forward(phi, masks));
        let joined = match (&z, self.hypothesis) {
            (Some(z), Hypothesis::Both) => Tensor::cat(&[z, phi], 1),
            (Some(z), _) => z.shallow_clone(),
            (None, _) => phi.shallow_clone(),
        };
        let Some(ln) = &self.ln else {
            let (norm, seen) = (None, joined);
            return Pass { z, norm, seen };
        };
        let width = joined.size2().map_or(0, |(_, width)| width);
        let (seen, mean, rstd) =
            joined.native_layer_norm([width], Some(&ln.weight), Some(&ln.bias), EPSILON);
        let norm = Some((mean, rstd));
        Pass { z, norm, seen }
    }

    /// Gain and shift of the layer norm, if there is one.
    pub fn layer_norm(&self) -> Option<(&Tensor, &Tensor)> {
        self.ln.as_ref().map(|ln| (&ln.weight, &ln.bias))
    }

    /// Trained weights by name: those all classes share, then those of the classes.
    pub fn parameters(&self) -> Vec<(&'static str, &Tensor)> {
        let mut all = Vec::new();
        if let Some(trunk) = &self.trunk {
            all.extend([
                ("fc1.weight", &trunk.fc1.weight),
                ("fc1.bias", &trunk.fc1.bias),
                ("bn1.weight", &trunk.bn1.norm.weight),
                ("bn1.bias", &trunk.bn1.norm.bias),
                ("fc2.weight", &trunk.fc2.weight),
                ("fc2.bias", &trunk.fc2.bias),
                ("bn2.weight", &trunk.bn2.norm.weight),
                ("bn2.bias", &trunk.bn2.norm.bias),
            ]);
        }
        if let Some(ln) = &self.ln {
            all.extend([("ln.weight", &ln.weight), ("ln.bias", &ln.bias)]);
        }
        all.extend([
            ("cls.weight", &self.cls.weight),
            ("cls.bias", &self.cls.bias),
        ]);
        all
    }

    /// How many of the [`Head::parameters`] belong to the classes.
    pub const OF_CLASSES: usize = 2;

    /// Running statistics by name.
    pub fn buffers(&self) -> Vec<(&'static str, &Tensor)> {
        let Some(trunk) = &self.trunk else {
            return Vec::new();
        };
        vec![
            ("bn1.running_mean", &trunk.bn1.mean),
            ("bn1.running_var", &trunk.bn1.variance),
            ("bn2.running_mean", &trunk.bn2.mean),
            ("bn2.running_var", &trunk.bn2.variance),
        ]
    }

    /// Trained weights and running statistics.
    pub fn tensors(&self) -> Vec<(&'static str, &Tensor)> {
        let mut all = self.parameters();
        all.extend(self.buffers());
        all
    }

    /// `f` of all rows in evaluation mode, some at a time.
    pub fn evaluate(&self, phi: &Tensor, functions: impl Fn(&Pass) -> Tensor) -> Tensor {
        const ROWS: i64 = 2048;
        no_grad(|| {
            let parts: Vec<Tensor> = phi
                .split(ROWS, 0)
                .iter()
                .map(|rows| functions(&self.pass(rows, None)))
                .collect();
            Tensor::cat(&parts, 0)
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    impl Head {
        /// The layers in double precision with given weights.
        pub fn with(
            network: &Network,
            dims: usize,
            classes: usize,
            of: impl Fn(&str) -> Tensor,
        ) -> Self {
            let mut head = Self::new(network, dims, classes, &Seed::root(0), Device::Cpu).unwrap();
            let put = |name: &str, tensor: &mut Tensor, is_trained: bool| {
                *tensor = of(name).set_requires_grad(is_trained);
            };
            if let Some(trunk) = &mut head.trunk {
                for (name, linear) in [("fc1", &mut trunk.fc1), ("fc2", &mut trunk.fc2)] {
                    put(&format!("{name}.weight"), &mut linear.weight, true);
                    put(&format!("{name}.bias"), &mut linear.bias, true);
                }
                for (name, bn) in [("bn1", &mut trunk.bn1), ("bn2", &mut trunk.bn2)] {
                    put(&format!("{name}.weight"), &mut bn.norm.weight, true);
                    put(&format!("{name}.bias"), &mut bn.norm.bias, true);
                    put(&format!("{name}.running_mean"), &mut bn.mean, false);
                    put(&format!("{name}.running_var"), &mut bn.variance, false);
                }
            }
            if let Some(ln) = &mut head.ln {
                put("ln.weight", &mut ln.weight, true);
                put("ln.bias", &mut ln.bias, true);
            }
            put("cls.weight", &mut head.cls.weight, true);
            put("cls.bias", &mut head.cls.bias, true);
            head
        }
    }

    #[test]
    fn masks_keep_the_mean_and_come_from_the_seed_alone() {
        let network = Network::default();
        let draw = || Masks::draw(&network, 64, &mut Seed::root(3).rng(), Device::Cpu);
        let (first, again) = (draw(), draw());
        assert!(first.0 == again.0 && first.1 == again.1);
        let mean = first.0.mean(Kind::Double).double_value(&[]);
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
