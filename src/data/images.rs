//! Images as samples, before an encoder has made vectors of them.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use image::imageops::{self, FilterType};
use image::{ImageReader, Limits, RgbImage};
use sha2::{Digest, Sha256};

use super::error::{DataError, Place};
use super::hex;
use crate::memory;
use crate::spec::EncoderSpec;

/// Raised when the same images and weights give other features.
const VERSION: u32 = 1;
/// Widest and highest image accepted.
const MAX_SIDE: u32 = 20_000;

/// An encoder of images and the file of its weights.
#[derive(Clone, Debug)]
pub struct Encoder {
    pub spec: EncoderSpec,
    pub weights: PathBuf,
    /// SHA-256 of that file.
    pub weights_hash: String,
}

impl Encoder {
    /// Reads the file of the weights for its hash.
    pub fn new(spec: EncoderSpec, weights: PathBuf) -> Result<Self, DataError> {
        let bytes = std::fs::read(&weights).map_err(|error| DataError::read(&weights, error))?;
        let weights_hash = hex(&Sha256::digest(&bytes));
        Ok(Self { spec, weights, weights_hash })
    }

    /// SHA-256 over all that features depend on but the images.
    pub fn hash(&self) -> Result<String, DataError> {
        let path = &self.weights;
        let bytes = std::fs::read(path).map_err(|error| DataError::read(path, error))?;
        let mut hash = Sha256::new();
        let (network, conventions) = (self.spec.network, self.spec.conventions);
        hash.update(format!("{VERSION} {network:?} {conventions:?} "));
        // The usual size is left out, so that features and cells older than the key keep their names.
        if self.spec.size != EncoderSpec::SIZE {
            hash.update(format!("{} ", self.spec.size));
        }
        hash.update(&bytes);
        Ok(hex(&hash.finalize()))
    }

    /// What made the vectors of a dataset, for the report.
    pub fn note(&self) -> String {
        let network = format!("{:?}", self.spec.network).to_lowercase();
        let file = self.weights.file_name().unwrap_or_default();
        let (file, size) = (file.to_string_lossy(), self.spec.size);
        let digits = &self.weights_hash[..16];
        format!(
            "images are resized to {size} x {size}; the encoder is a {network} with the weights of \
             {file} (SHA-256 {digits}...)"
        )
    }
}

/// Images, each a file or a part of one, and the size they are resized to.
///
/// Decoding and resizing takes longer than an encoder's pass at small sizes. So the pixels of an image are
/// kept once they are known, and parts of a collection share them.
#[derive(Clone, Debug)]
pub struct Images {
    images: Vec<Arc<Image>>,
    side: u32,
    /// Whether the pixels of all images of the collection fit into memory.
    keeps: bool,
}

#[derive(Debug)]
struct Image {
    source: Source,
    pixels: OnceLock<Arc<[u8]>>,
}

#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    /// Planes of red, green and blue, row by row, `side` x `side` each.
    Planes {
        bytes: Arc<Vec<u8>>,
        at: usize,
        side: u32,
    },
}

impl Default for Images {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Images {
    fn new(sources: Vec<Source>) -> Self {
        let image = |source| {
            let pixels = OnceLock::new();
            Arc::new(Image { source, pixels })
        };
        Self {
            images: sources.into_iter().map(image).collect(),
            side: EncoderSpec::SIZE,
            keeps: false,
        }
    }

    /// Whether these are the same images, told by where they come from.
    #[cfg(feature = "deep")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.images.iter().zip(&other.images);
        self.images.len() == other.images.len()
            && self.side == other.side
            && pairs.all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// One image per file.
    pub(crate) fn files(paths: Vec<PathBuf>) -> Self {
        Self::new(paths.into_iter().map(Source::File).collect())
    }

    /// Images of `side` x `side` that begin at these places of `bytes`, which holds them whole.
    pub(crate) fn planes(
        bytes: &Arc<Vec<u8>>,
        places: impl Iterator<Item = usize>,
        side: u32,
    ) -> Self {
        let source = |at| Source::Planes { bytes: bytes.clone(), at, side };
        Self::new(places.map(source).collect())
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.images.extend(other.images);
    }

    /// The same images, to be resized to `side` x `side`. Pixels are kept if all of them take at most a
    /// quarter of the memory that can be planned with.
    pub fn resized(&self, side: u32) -> Self {
        let sources = self.images.iter().map(|image| image.source.clone());
        let mut images = Self::new(sources.collect());
        images.side = side;
        let bytes = 3 * u64::from(side * side) * images.len() as u64;
        images.keeps = memory::budget().is_none_or(|budget| bytes <= budget / 4);
        images
    }

    pub fn len(&self) -> usize {
        self.images.len()
    }

    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// Width and height of what encoders see.
    pub fn side(&self) -> u32 {
        self.side
    }

    /// Those at `indices`.
    pub fn select(&self, indices: &[usize]) -> Self {
        Self { images: indices.iter().map(|&i| self.images[i].clone()).collect(), ..*self }
    }

    /// Image `index`, resized as a whole, as planes of red, green and blue.
    pub fn planes_of(&self, index: usize) -> Result<Arc<[u8]>, DataError> {
        let image = &self.images[index];
        if let Some(pixels) = image.pixels.get() {
            return Ok(pixels.clone());
        }
        let pixels: Arc<[u8]> = image.source.decode(self.side)?.into();
        if self.keeps {
            // Another thread may have been first, with the same pixels.
            let _ = image.pixels.set(pixels.clone());
        }
        Ok(pixels)
    }

    /// SHA-256 over the bytes of all images, in their order.
    pub fn hash(&self) -> Result<String, DataError> {
        let mut hash = Sha256::new();
        for image in &self.images {
            match &image.source {
                Source::File(path) => {
                    let bytes =
                        std::fs::read(path).map_err(|error| DataError::read(path, error))?;
                    hash.update((bytes.len() as u64).to_le_bytes());
                    hash.update(&bytes);
                }
                Source::Planes { bytes, at, side } => {
                    hash.update(&bytes[*at..at + 3 * (side * side) as usize]);
                }
            }
        }
        Ok(hex(&hash.finalize()))
    }
}

impl Source {
    /// The image as planes of `to` x `to`.
    fn decode(&self, to: u32) -> Result<Vec<u8>, DataError> {
        let image = match self {
            Self::File(path) => read(path)?,
            Self::Planes { bytes, at, side } => {
                let count = (side * side) as usize;
                RgbImage::from_fn(*side, *side, |x, y| {
                    let pixel = at + (y * side + x) as usize;
                    image::Rgb([0, 1, 2].map(|plane| bytes[pixel + plane * count]))
                })
            }
        };
        let image = imageops::resize(&image, to, to, FilterType::Triangle);
        let pixels = image.as_raw();
        let mut planes = Vec::with_capacity(pixels.len());
        for plane in 0..3 {
            planes.extend(pixels.iter().skip(plane).step_by(3));
        }
        Ok(planes)
    }
}

/// Decodes a file, whose kind is told by content; an error names it.
fn read(path: &Path) -> Result<RgbImage, DataError> {
    let refuse = |error: image::ImageError| {
        let found = format!("no readable image ({error})");
        DataError::content(path, Place::File, found, "a whole JPEG, PNG, BMP or PNM file")
    };
    let bytes = std::fs::read(path).map_err(|error| DataError::read(path, error))?;
    if is_cut_off(&bytes) {
        let found = "no readable image (the JPEG data breaks off)";
        return Err(DataError::content(path, Place::File, found, "a whole file"));
    }
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| DataError::read(path, error))?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    reader.limits(limits);
    Ok(reader.decode().map_err(refuse)?.into_rgb8())
}

/// Whether a JPEG file lacks its end. The decoder would fill the missing part with grey. Neither marker can
/// occur in the data of an image, and the end of a thumbnail is before the last scan.
fn is_cut_off(bytes: &[u8]) -> bool {
    let last = |marker: [u8; 2]| bytes.windows(2).rposition(|pair| pair == marker);
    let (start, scan, end) = ([0xff, 0xd8], [0xff, 0xda], [0xff, 0xd9]);
    bytes.starts_with(&start) && last(end) <= last(scan)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of four pixels, each with its own colour.
    fn four() -> Images {
        let bytes: Vec<u8> = (0..12).map(|value| 20 * value).collect();
        Images::planes(&Arc::new(bytes), std::iter::once(0), 2)
    }

    #[test]
    fn an_image_is_resized_to_what_is_asked_for() {
        for side in [2, 32, 128] {
            let images = four().resized(side);
            let planes = images.planes_of(0).unwrap();
            assert_eq!(planes.len(), (3 * side * side) as usize);
            // Corners keep their colours.
            let (n, last) = ((side * side) as usize, (side * side) as usize - 1);
            assert_eq!([planes[0], planes[n], planes[2 * n]], [0, 80, 160]);
            assert_eq!([planes[last], planes[2 * n + last]], [60, 220]);
        }
    }

    #[test]
    fn parts_share_pixels_once_they_are_known() {
        let images = four().resized(8);
        let part = images.select(&[0]);
        let first = part.planes_of(0).unwrap();
        assert!(Arc::ptr_eq(&first, &images.planes_of(0).unwrap()));
        // Without room for them they are decoded again, to the same end.
        let frugal = Images { keeps: false, ..images.resized(8) };
        let again = frugal.planes_of(0).unwrap();
        assert!(!Arc::ptr_eq(&again, &frugal.planes_of(0).unwrap()));
        assert_eq!(first, again);
    }
}
