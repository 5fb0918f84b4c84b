//! Images as samples, before an encoder has made vectors of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use image::imageops::{self, FilterType};
use image::{ImageReader, Limits, RgbImage};
use sha2::{Digest, Sha256};

use super::error::{DataError, Place};
use super::hex;
use crate::spec::EncoderSpec;

/// Width and height of what encoders see.
pub const SIDE: u32 = 224;
/// Widest and highest image accepted.
const MAX_SIDE: u32 = 20_000;

/// An encoder of images and the file of its weights.
#[derive(Clone, Debug)]
pub struct Encoder {
    pub spec: EncoderSpec,
    pub weights: PathBuf,
}

/// Images, each a file or a part of one.
#[derive(Clone, Debug, Default)]
pub struct Images(Vec<Image>);

#[derive(Clone, Debug)]
enum Image {
    File(PathBuf),
    /// Planes of red, green and blue, row by row, `side` x `side` each.
    Planes {
        bytes: Arc<Vec<u8>>,
        at: usize,
        side: u32,
    },
}

impl Images {
    /// Whether these are the same images, told by where they come from.
    #[cfg(feature = "deep")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |pair: (&Image, &Image)| match pair {
            (Image::File(a), Image::File(b)) => a == b,
            (
                Image::Planes { bytes, at, side },
                Image::Planes {
                    bytes: other_bytes,
                    at: other_at,
                    side: other_side,
                },
            ) => Arc::ptr_eq(bytes, other_bytes) && (at, side) == (other_at, other_side),
            _ => false,
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }

    /// One image per file.
    pub(crate) fn files(paths: Vec<PathBuf>) -> Self {
        Self(paths.into_iter().map(Image::File).collect())
    }

    /// Images of `side` x `side` that begin at these places of `bytes`, which holds them whole.
    pub(crate) fn planes(
        bytes: &Arc<Vec<u8>>,
        places: impl Iterator<Item = usize>,
        side: u32,
    ) -> Self {
        let image = |at| Image::Planes {
            bytes: bytes.clone(),
            at,
            side,
        };
        Self(places.map(image).collect())
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those at `indices`.
    pub fn select(&self, indices: &[usize]) -> Self {
        Self(indices.iter().map(|&i| self.0[i].clone()).collect())
    }

    /// Image `index`, resized to [`SIDE`] x [`SIDE`] as a whole, as planes of red, green and blue.
    pub fn planes_of(&self, index: usize) -> Result<Vec<u8>, DataError> {
        let image = match &self.0[index] {
            Image::File(path) => read(path)?,
            Image::Planes { bytes, at, side } => {
                let count = (side * side) as usize;
                RgbImage::from_fn(*side, *side, |x, y| {
                    let pixel = at + (y * side + x) as usize;
                    image::Rgb([0, 1, 2].map(|plane| bytes[pixel + plane * count]))
                })
            }
        };
        let image = imageops::resize(&image, SIDE, SIDE, FilterType::Triangle);
        let pixels = image.as_raw();
        let mut planes = Vec::with_capacity(pixels.len());
        for plane in 0..3 {
            planes.extend(pixels.iter().skip(plane).step_by(3));
        }
        Ok(planes)
    }

    /// SHA-256 over the bytes of all images, in their order.
    pub fn hash(&self) -> Result<String, DataError> {
        let mut hash = Sha256::new();
        for image in &self.0 {
            match image {
                Image::File(path) => {
                    let bytes =
                        std::fs::read(path).map_err(|error| DataError::read(path, error))?;
                    hash.update((bytes.len() as u64).to_le_bytes());
                    hash.update(&bytes);
                }
                Image::Planes { bytes, at, side } => {
                    hash.update(&bytes[*at..at + 3 * (side * side) as usize]);
                }
            }
        }
        Ok(hex(&hash.finalize()))
    }
}

/// Decodes a file, whose kind is told by content; an error names it.
fn read(path: &Path) -> Result<RgbImage, DataError> {
    let refuse = |error: image::ImageError| {
        let found = format!("no readable image ({error})");
        DataError::content(
            path,
            Place::File,
            found,
            "a whole JPEG, PNG, BMP or PNM file",
        )
    };
    let mut reader = ImageReader::open(path)
        .and_then(ImageReader::with_guessed_format)
        .map_err(|error| DataError::read(path, error))?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    reader.limits(limits);
    Ok(reader.decode().map_err(refuse)?.into_rgb8())
}
