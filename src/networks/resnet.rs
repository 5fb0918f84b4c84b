//! Residual networks (He et al. 2016) with torchvision's names, up to the mean over the last map.
//!
//! ```text
//! x -> conv1 7x7/2 -> bn1 -> ReLU -> max-pool 3x3/2 -> layer1 .. layer4 -> mean = phi(x)
//! block: ReLU(x' + F(x)),  x' = x or downsample(x)
//!     F of ResNet18, 34: conv1 3x3, conv2 3x3;  of ResNet50: conv1 1x1, conv2 3x3, conv3 1x1
//! ```

use std::path::Path;

use tch::{Device, Kind, Tensor};

use super::EncoderError;
use super::weights::Weights;
use super::weights_file;
use crate::data::{Backbone, Conventions};

/// A residual network with its weights.
pub struct ResNet {
    backbone: Backbone,
    conventions: Conventions,
    pub(super) weights: Weights,
    /// Whether convolutions are computed in half precision.
    is_mixed: bool,
}

impl Backbone {
    /// Blocks of the four layers.
    fn blocks(self) -> [usize; 4] {
        match self {
            Self::Resnet18 => [2, 2, 2, 2],
            Self::Resnet34 | Self::Resnet50 => [3, 4, 6, 3],
        }
    }

    /// Name and shape of every convolution, each followed by a batch norm of the second name.
    fn convolutions(self) -> Vec<(String, String, [i64; 4])> {
        let mut all = vec![("conv1".to_owned(), "bn1".to_owned(), [64, 3, 7, 7])];
        let expansion = if self.has_bottlenecks() { 4 } else { 1 };
        let mut inputs = 64;
        for (layer, blocks) in self.blocks().into_iter().enumerate() {
            let width = 64 << layer;
            for block in 0..blocks {
                let name = |part: &str| format!("layer{}.{block}.{part}", layer + 1);
                let shapes: Vec<[i64; 4]> = match self.has_bottlenecks() {
                    true => {
                        vec![[width, inputs, 1, 1], [width, width, 3, 3], [4 * width, width, 1, 1]]
                    }
                    false => vec![[width, inputs, 3, 3], [width, width, 3, 3]],
                };
                for (index, shape) in shapes.into_iter().enumerate() {
                    let number = index + 1;
                    all.push((name(&format!("conv{number}")), name(&format!("bn{number}")), shape));
                }
                if block == 0 && (layer > 0 || self.has_bottlenecks()) {
                    let shape = [expansion * width, inputs, 1, 1];
                    all.push((name("downsample.0"), name("downsample.1"), shape));
                }
                inputs = expansion * width;
            }
        }
        all
    }
}

/// The same values, stored channel by channel for every pixel.
pub fn channels_last(images: &Tensor) -> Tensor {
    let pixels = images.permute([0, 2, 3, 1]).contiguous();
    pixels.permute([0, 3, 1, 2])
}

impl Conventions {
    fn epsilon(self) -> f64 {
        match self {
            Self::Torchvision => 1e-5,
            Self::Keras => 1e-3,
        }
    }

    /// Pixels in 0..255, red, green, blue in planes, as the network wants them.
    pub fn normalise(self, pixels: &Tensor) -> Tensor {
        let of = |values: [f32; 3]| {
            Tensor::from_slice(&values).view([1, 3, 1, 1]).to_device(pixels.device())
        };
        match self {
            Self::Torchvision => {
                (pixels / 255.0 - of([0.485, 0.456, 0.406])) / of([0.229, 0.224, 0.225])
            }
            Self::Keras => pixels.flip([1]) - of([103.939, 116.779, 123.68]),
        }
    }
}

impl ResNet {
    /// The network of the weights in `path`, each of which is checked by name and shape.
    pub fn new(
        backbone: Backbone,
        conventions: Conventions,
        path: &Path,
        device: Device,
    ) -> Result<Self, EncoderError> {
        let mut file = weights_file::load(path)?;
        let mut weights = Weights::default();
        for (conv, bn, shape) in backbone.convolutions() {
            let mut take = |name: String, shape: &[i64]| {
                let tensor = file.take(&name, shape)?.to_device(device);
                let is_finite = tensor.isfinite().all().int64_value(&[]) == 1;
                if !is_finite {
                    let found = format!("a value in tensor `{name}` that is not a finite number");
                    return Err(EncoderError::content(path, found, "finite numbers"));
                }
                weights.push(name, tensor);
                Ok::<(), EncoderError>(())
            };
            take(format!("{conv}.weight"), &shape)?;
            for part in ["weight", "bias", "running_mean", "running_var"] {
                take(format!("{bn}.{part}"), &shape[..1])?;
            }
        }
        Ok(Self { backbone, conventions, weights, is_mixed: false })
    }

    /// `phi` of images as [`Conventions::normalise`] gives them; in `training`, batch norms use and
    /// follow the batch.
    pub fn forward(&self, images: &Tensor, training: bool) -> Tensor {
        let x = self.convolve(images, "conv1", "bn1", 2, training).relu();
        let mut x = x.max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
        for (layer, blocks) in self.backbone.blocks().into_iter().enumerate() {
            for block in 0..blocks {
                let stride = if layer > 0 && block == 0 { 2 } else { 1 };
                x = self.block(&x, &format!("layer{}.{block}", layer + 1), stride, training);
            }
        }
        x.mean_dim([2, 3].as_slice(), false, None::<Kind>)
    }

    fn block(&self, x: &Tensor, name: &str, stride: i64, training: bool) -> Tensor {
        let convolve = |x: &Tensor, number: usize, stride| {
            let (conv, bn) = (format!("{name}.conv{number}"), format!("{name}.bn{number}"));
            self.convolve(x, &conv, &bn, stride, training)
        };
        let y = if self.backbone.has_bottlenecks() {
            let (first, second) = match self.conventions {
                Conventions::Torchvision => (1, stride),
                Conventions::Keras => (stride, 1),
            };
            let y = convolve(x, 1, first).relu();
            let y = convolve(&y, 2, second).relu();
            convolve(&y, 3, 1)
        } else {
            let y = convolve(x, 1, stride).relu();
            convolve(&y, 2, 1)
        };
        let (conv, bn) = (format!("{name}.downsample.0"), format!("{name}.downsample.1"));
        let shortcut = match self.weights.get(&format!("{conv}.weight")) {
            Some(_) => self.convolve(x, &conv, &bn, stride, training),
            None => x.shallow_clone(),
        };
        (y + shortcut).relu()
    }

    /// A convolution without bias, padded to keep the size but for the stride, and its batch norm.
    fn convolve(&self, x: &Tensor, conv: &str, bn: &str, stride: i64, training: bool) -> Tensor {
        let weight = &self.weights[&format!("{conv}.weight")];
        let padding = [weight.size()[2] / 2; 2];
        let stride = [stride; 2];
        let none = None::<&Tensor>;
        let y = if self.is_mixed {
            let half = |tensor: &Tensor| tensor.to_kind(Kind::BFloat16);
            let y = half(x).conv2d(&half(weight), none, stride, padding, [1, 1], 1);
            y.to_kind(Kind::Float)
        } else {
            x.conv2d(weight, none, stride, padding, [1, 1], 1)
        };
        let epsilon = self.conventions.epsilon();
        self.weights.batch_norm(bn, &y, training, epsilon)
    }

    pub fn conventions(&self) -> Conventions {
        self.conventions
    }

    /// Stores the weights of convolutions with the channels next to each other: a step of training at
    /// 128 px on two cores took 1.07 s in place of 1.26. [`channels_last`] does the same to images.
    pub fn set_channels_last(&mut self) {
        self.weights.map(|_, tensor| match tensor.dim() {
            4 => channels_last(tensor),
            _ => tensor.shallow_clone(),
        });
    }

    /// Computes convolutions in half precision, or no longer.
    pub fn set_mixed_precision(&mut self, is_mixed: bool) {
        self.is_mixed = is_mixed;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Tensors of a ResNet18 that was never trained.
    pub fn untrained() -> Vec<(String, Tensor)> {
        let options = (Kind::Float, Device::Cpu);
        let mut tensors = Vec::new();
        for (number, (conv, bn, shape)) in Backbone::Resnet18.convolutions().into_iter().enumerate()
        {
            let count: i64 = shape.iter().product();
            let wave = (Tensor::arange(count, options) * 0.37 + number as f64).sin();
            let scale = (2.0 * shape[0] as f64 / count as f64).sqrt();
            tensors.push((format!("{conv}.weight"), (wave * scale).view(shape)));
            for (part, value) in
                [("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)]
            {
                let tensor = Tensor::full([shape[0]], value, options);
                tensors.push((format!("{bn}.{part}"), tensor));
            }
        }
        tensors
    }

    #[test]
    fn half_precision_changes_a_little_and_not_much() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("weights.safetensors");
        Tensor::write_safetensors(&untrained(), &path).expect("a file is written");
        let network = ResNet::new(Backbone::Resnet18, Conventions::Torchvision, &path, Device::Cpu);
        let mut network = network.expect("all weights are there");
        network.weights.set_trained();
        let images = (Tensor::arange(2 * 3 * 32 * 32, (Kind::Float, Device::Cpu)) * 0.7).sin();
        let images = images.view([2, 3, 32, 32]);
        let single = network.forward(&images, false);
        network.set_mixed_precision(true);
        let mixed = network.forward(&images, false);
        assert_eq!(mixed.kind(), Kind::Float);
        let difference = ((&mixed - &single).norm() / single.norm()).double_value(&[]);
        assert!(difference > 0.0 && difference < 0.05, "{difference}");
        // Gradients come back in single precision.
        let weight = network.weights["conv1.weight"].shallow_clone();
        let gradient = Tensor::run_backward(&[mixed.sum(Kind::Float)], &[&weight], false, false);
        assert_eq!(gradient[0].kind(), Kind::Float);
        assert!(gradient[0].norm().double_value(&[]) > 0.0);
    }
}
