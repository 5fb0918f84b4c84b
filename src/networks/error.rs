//! Why images cannot be encoded, and why a training ended without a network.

use std::fmt::Display;
use std::path::Path;

use super::torch::TorchError;
use crate::data::{DataError, bad};

/// Why images cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    /// The images or the weights.
    #[error("{0}")]
    Data(#[from] DataError),
    #[error("{0}")]
    Torch(#[from] TorchError),
}

impl EncoderError {
    /// The file it is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Data(error) => error.path(),
            Self::Torch(_) => None,
        }
    }

    pub(super) fn content(path: &Path, found: impl Display, expected: impl Display) -> Self {
        bad("", found, expected).in_file(path).into()
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
