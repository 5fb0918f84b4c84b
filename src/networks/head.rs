//! The layers behind the prior encoder.
//!
//! ```text
//! z = ReLU(bn2(D fc2(ReLU(bn1(D fc1(phi))))))     D: dropout
//! f = cls(ln([z, phi]))
//! ```
//!
//! Plain tensors instead of libtorch's modules: weights and dropout masks are drawn from the seed tree. libtorch has
//! one random generator per process, and numbers must not depend on what other threads draw from it.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use tch::{Device, Kind, Tensor};

use super::TrainError;
use super::weights::Weights;
use crate::methods::criteria::{Hypothesis, Network};
use npsvc::Seed;

const EPSILON: f64 = 1e-5;

/// All layers behind the prior encoder.
pub(super) struct Head {
    pub weights: Weights,
    network: Network,
}

/// Masks of the two dropouts: 0 or `1 / (1 - p)`.
pub(super) struct Masks(Tensor, Tensor);

/// The results of a pass through the layers, one row per sample.
pub(super) struct Pass {
    /// The learned representation, if the hypothesis has one.
    pub z: Option<Tensor>,
    /// Mean and inverse deviation that the layer norm used, if there is one.
    pub norm: Option<(Tensor, Tensor)>,
    /// The input of the hyperplanes.
    pub input: Tensor,
}

/// Random weights, layer by layer.
struct Layers<'a> {
    weights: Weights,
    seed: &'a Seed,
    device: Device,
}

impl Layers<'_> {
    /// A linear layer as libtorch draws it: uniform in `+-1/sqrt(inputs)`.
    fn linear(&mut self, name: &str, inputs: usize, outputs: usize) -> Result<(), TrainError> {
        let too_large = || TrainError::LayerTooLarge { inputs, outputs };
        let bound = 1.0 / (inputs as f32).sqrt();
        let mut rng = self.seed.child(name).rng();
        let mut draw = |count: usize| -> Result<Tensor, TrainError> {
            let mut values = Vec::new();
            values.try_reserve_exact(count).map_err(|_| too_large())?;
            let unit = |rng: &mut ChaCha8Rng| (rng.next_u32() >> 8) as f32 / (1 << 24) as f32;
            values.extend((0..count).map(|_| bound * (2.0 * unit(&mut rng) - 1.0)));
            Ok(Tensor::from_slice(&values).to_device(self.device))
        };
        let weight = draw(inputs.checked_mul(outputs).ok_or_else(too_large)?)?;
        let weight = weight.view([outputs as i64, inputs as i64]);
        let bias = draw(outputs)?;
        self.weights.push(format!("{name}.weight"), weight);
        self.weights.push(format!("{name}.bias"), bias);
        Ok(())
    }

    /// The parts of a norm, each with its value.
    fn norm(&mut self, name: &str, width: usize, parts: &[(&str, f64)]) {
        let options = (Kind::Float, self.device);
        for (part, value) in parts {
            let tensor = Tensor::full([width as i64], *value, options);
            self.weights.push(format!("{name}.{part}"), tensor);
        }
    }
}

/// Parts of a layer norm, and of a batch norm, at the start.
const NORM: [(&str, f64); 4] =
    [("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)];

impl Head {
    /// Random weights for features of `dims` dimensions. Those of the classes come last.
    pub fn new(
        network: &Network,
        dims: usize,
        classes: usize,
        seed: &Seed,
        device: Device,
    ) -> Result<Self, TrainError> {
        let mut layers =
            Layers { weights: Weights::default(), seed: &seed.child("weights"), device };
        if network.hypothesis != Hypothesis::Phi {
            layers.linear("fc1", dims, network.hidden)?;
            layers.norm("bn1", network.hidden, &NORM);
            layers.linear("fc2", network.hidden, network.z)?;
            layers.norm("bn2", network.z, &NORM);
        }
        let width = match network.hypothesis {
            Hypothesis::Both => network.z + dims,
            Hypothesis::Z => network.z,
            Hypothesis::Phi => dims,
        };
        if network.layer_norm {
            layers.norm("ln", width, &NORM[..2]);
        }
        layers.linear("cls", width, classes)?;
        let (mut weights, network) = (layers.weights, network.clone());
        weights.set_trained();
        Ok(Self { weights, network })
    }

    /// Weights and bias of the hyperplanes, one row per class.
    pub fn hyperplanes(&self) -> (&Tensor, &Tensor) {
        (&self.weights["cls.weight"], &self.weights["cls.bias"])
    }

    /// Gain and shift of the layer norm, if there is one.
    pub fn layer_norm(&self) -> Option<(&Tensor, &Tensor)> {
        let gain = self.weights.get("ln.weight")?;
        Some((gain, &self.weights["ln.bias"]))
    }

    /// Whether there is a learned representation.
    pub fn has_z(&self) -> bool {
        self.network.hypothesis != Hypothesis::Phi
    }

    /// Draws the dropout masks of a mini-batch.
    pub fn draw_masks(&self, batch: i64, rng: &mut ChaCha8Rng, device: Device) -> Masks {
        let dropout = self.network.dropout;
        // Of 2^16 values; 0.25 is hit exactly.
        let limit = (dropout * 65536.0).round() as u32;
        let kept = (1.0 / (1.0 - dropout)) as f32;
        let mut mask = |width: usize| {
            let count = batch as usize * width;
            let mut values = Vec::with_capacity(count + 1);
            while values.len() < count {
                let bits = rng.next_u32();
                for half in [bits & 0xffff, bits >> 16] {
                    values.push(if half < limit { 0.0 } else { kept });
                }
            }
            Tensor::from_slice(&values[..count]).view([batch, width as i64]).to_device(device)
        };
        let first = mask(self.network.hidden);
        Masks(first, mask(self.network.z))
    }

    /// A pass in training mode with `masks`, in evaluation mode without.
    pub fn pass(&self, phi: &Tensor, masks: Option<&Masks>) -> Pass {
        let z = self.has_z().then(|| self.represent(phi, masks));
        let joined = match (&z, self.network.hypothesis) {
            (Some(z), Hypothesis::Both) => Tensor::cat(&[z, phi], 1),
            (Some(z), _) => z.shallow_clone(),
            (None, _) => phi.shallow_clone(),
        };
        let Some((gain, shift)) = self.layer_norm() else {
            return Pass { z, norm: None, input: joined };
        };
        let (input, mean, rstd) =
            joined.native_layer_norm(gain.size(), Some(gain), Some(shift), EPSILON);
        Pass { z, norm: Some((mean, rstd)), input }
    }

    /// `z(phi)`.
    fn represent(&self, phi: &Tensor, masks: Option<&Masks>) -> Tensor {
        let layer = |number: usize, x: &Tensor, mask: Option<&Tensor>| {
            let y = self.weights.linear(&format!("fc{number}"), x);
            let y = match mask {
                Some(mask) => y * mask,
                None => y,
            };
            let norm = format!("bn{number}");
            let y = self.weights.batch_norm(&norm, &y, mask.is_some(), EPSILON);
            y.relu()
        };
        let h = layer(1, phi, masks.map(|masks| &masks.0));
        layer(2, &h, masks.map(|masks| &masks.1))
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
            head.weights.map(|name, _| of(name));
            head.weights.set_trained();
            head
        }
    }

    #[test]
    fn masks_keep_the_mean_and_come_from_the_seed_alone() {
        let network = Network::default();
        let head = Head::new(&network, 4, 2, &Seed::root(0), Device::Cpu).unwrap();
        let draw = || head.draw_masks(64, &mut Seed::root(3).rng(), Device::Cpu);
        let (first, again) = (draw(), draw());
        assert!(first.0 == again.0 && first.1 == again.1);
        let mean = first.0.mean(Kind::Double).double_value(&[]);
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
