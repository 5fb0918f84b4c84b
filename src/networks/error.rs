//! Why images cannot be encoded, and why a training ended without a network.

use std::path::{Path, PathBuf};

use super::torch::TorchError;
use crate::data::DataError;

/// Why images cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    #[error("failed to read {}: {source}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: found {found}, expected {expected}", .path.display())]
    Content { path: PathBuf, found: String, expected: String },
    #[error("{0}")]
    Image(#[from] DataError),
    #[error("{0}")]
    Torch(#[from] TorchError),
}

impl EncoderError {
    /// The file it is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. } | Self::Content { path, .. } => Some(path),
            Self::Image(error) => error.path(),
            Self::Torch(_) => None,
        }
    }

    pub(super) fn content(path: &Path, found: String, expected: impl Into<String>) -> Self {
        Self::Content { path: path.to_path_buf(), found, expected: expected.into() }
    }
}

/// Why a training ended without a network.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error("class {class} has no training sample in this split")]
    EmptyClass { class: usize },
    #[error("{0}")]
    Encoder(#[from] EncoderError),
    #[error("the training diverged in epoch {epoch}; try a smaller `lr`")]
    Diverged { epoch: usize },
    #[error("the checkpoint failed: {0}")]
    Checkpoint(String),
    #[error("a layer of {inputs} x {outputs} weights does not fit into memory")]
    LayerTooLarge { inputs: usize, outputs: usize },
    #[error("{0}")]
    Torch(#[from] TorchError),
}

impl From<DataError> for TrainError {
    fn from(error: DataError) -> Self {
        Self::Encoder(error.into())
    }
}
