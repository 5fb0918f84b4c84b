//! Prior encoders: residual networks with published weights, and the features they make of images.

mod encode;
mod pickle;
mod resnet;
mod weights;

pub use encode::features;
pub(crate) use encode::prefetched;
pub use resnet::{ResNet, channels_last};

/// Why an encoder cannot be had or used.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    #[error("failed to read {}: {source}", .path.display())]
    Read {
        path: std::path::PathBuf,
        source: std::io::Error,
    },
    #[error("{}: found {found}, expected {expected}", .path.display())]
    Content {
        path: std::path::PathBuf,
        found: String,
        expected: String,
    },
    #[error("{0}")]
    Image(#[from] crate::data::DataError),
    #[error("libtorch failed: {0}")]
    Torch(#[from] tch::TchError),
}

impl EncoderError {
    fn content(
        path: &std::path::Path,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Content {
            path: path.to_path_buf(),
            found: found.into(),
            expected: expected.into(),
        }
    }
}
