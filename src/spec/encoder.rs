//! What makes vectors of images: a residual network, the size of its input and the file of its weights.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A prior encoder with published weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EncoderSpec {
    pub network: Backbone,
    /// Width and height of the images that it sees, in pixels. Images are resized to this as a whole.
    #[serde(skip_serializing_if = "EncoderSpec::is_usual_size")]
    #[schemars(range(min = 32, max = 1024))]
    pub size: u32,
    /// A file of weights with torchvision's names, safetensors or as torch.save writes; a path, or the
    /// name of a file in the data folder `weights`. torchvision's own if left out.
    pub weights: Option<PathBuf>,
    pub conventions: Conventions,
}

impl EncoderSpec {
    /// The size of ImageNet's networks, and the paper's.
    pub const SIZE: u32 = 224;

    fn is_usual_size(size: &u32) -> bool {
        *size == Self::SIZE
    }
}

impl Default for EncoderSpec {
    fn default() -> Self {
        Self {
            network: Backbone::default(),
            size: Self::SIZE,
            weights: None,
            conventions: Conventions::default(),
        }
    }
}

/// Residual networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backbone {
    Resnet18,
    #[default]
    Resnet34,
    Resnet50,
}

impl Backbone {
    pub(crate) fn has_bottlenecks(self) -> bool {
        self == Self::Resnet50
    }

    /// Dimensions of `phi`.
    pub fn dims(self) -> usize {
        if self.has_bottlenecks() { 2048 } else { 512 }
    }
}

/// What differs between publications of the same network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Conventions {
    /// Strides in the 3 x 3 convolutions, RGB over ImageNet's deviations.
    #[default]
    Torchvision,
    /// Strides in the first 1 x 1 convolutions, BGR minus ImageNet's means.
    Keras,
}
