//! Encoders, which turn images into vectors: a residual network, the size of its input and the file of its
//! weights.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::content::{file_name, raw};
use super::error::DataError;
use super::hex;
use super::manifest::DataFile;

/// Raised when the same images and weights give other features.
const VERSION: u32 = 1;

/// A prior encoder with published weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
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

    /// torchvision's weights, trained on ImageNet. The file's name ends in the beginning of its SHA-256.
    pub(super) fn published_weights(self) -> DataFile {
        let (network, sha256) = match self {
            Self::Resnet18 => ("resnet18", "f37072fd"),
            Self::Resnet34 => ("resnet34", "b627a593"),
            Self::Resnet50 => ("resnet50", "0676ba61"),
        };
        let name = format!("{network}-{sha256}.pth");
        DataFile {
            url: format!("https://download.pytorch.org/models/{name}"),
            name,
            folder: Some("weights".to_owned()),
            copies: [(sha256.to_owned(), "torchvision's".to_owned())].into(),
            only_these: true,
            ..DataFile::default()
        }
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

/// An encoder of images and the file of its weights.
#[derive(Clone, Debug)]
pub struct Encoder {
    pub spec: EncoderSpec,
    pub weights: PathBuf,
    /// SHA-256 of that file.
    pub weights_hash: String,
    /// SHA-256 over all that features depend on but the images.
    pub hash: String,
}

impl Encoder {
    /// Reads the file of the weights for its hash.
    pub fn new(spec: EncoderSpec, weights: PathBuf) -> Result<Self, DataError> {
        let EncoderSpec { network, size, conventions, .. } = &spec;
        // The usual size is left out, so that features and cells older than the key keep their names.
        let size = if *size == EncoderSpec::SIZE { String::new() } else { format!("{size} ") };
        let settings = format!("{VERSION} {network:?} {conventions:?} {size}");
        let bytes = raw(&weights)?;
        let hash = hex(&Sha256::new_with_prefix(settings).chain_update(&bytes).finalize());
        Ok(Self { spec, weights, weights_hash: hex(&Sha256::digest(&bytes)), hash })
    }

    /// A sentence about the encoder, for the report.
    pub fn note(&self) -> String {
        let network = format!("{:?}", self.spec.network).to_lowercase();
        let (file, size) = (file_name(&self.weights), self.spec.size);
        let digits = &self.weights_hash[..16];
        format!(
            "images are resized to {size} x {size}; the encoder is a {network} with the weights of \
             {file} (SHA-256 {digits}...)"
        )
    }
}
