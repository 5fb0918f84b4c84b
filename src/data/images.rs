//! Images as samples, before an encoder has made vectors of them.

use std::collections::HashSet;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageReader, Limits, RgbImage};
use sha2::{Digest, Sha256};

use super::content::{self, file_name};
use super::error::{DataError, Parsed, bad};
use super::{EncoderSpec, hex};
use crate::memory;

/// Widest and highest image accepted.
const MAX_SIDE: u32 = 20_000;

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
    /// A square, as planes of red, green and blue, row by row.
    Planes(Arc<[u8]>),
}

impl Default for Images {
    fn default() -> Self {
        Self { images: Vec::new(), side: EncoderSpec::SIZE, keeps: false }
    }
}

impl Images {
    fn new(sources: impl Iterator<Item = Source>) -> Self {
        let image = |source| Arc::new(Image { source, pixels: OnceLock::new() });
        Self { images: sources.map(image).collect(), ..Self::default() }
    }

    /// Whether both have the same images, of the same size.
    #[cfg(feature = "deep")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.images.iter().zip(&other.images);
        self.images.len() == other.images.len()
            && self.side == other.side
            && pairs.all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// One image per file; no file may be listed twice.
    pub(crate) fn files(paths: Vec<PathBuf>) -> Parsed<Self> {
        let mut seen = HashSet::new();
        if let Some(path) = paths.iter().find(|path| !seen.insert(*path)) {
            let found = format!("{} twice", file_name(path));
            return Err(bad("", found, "every image once"));
        }
        Ok(Self::new(paths.into_iter().map(Source::File)))
    }

    /// Squares, each given as planes of red, green and blue, row by row.
    pub(crate) fn planes<'a>(images: impl Iterator<Item = &'a [u8]>) -> Self {
        Self::new(images.map(|bytes| Source::Planes(bytes.into())))
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.images.extend(other.images);
    }

    /// The same images, to be resized to `side` x `side`. Pixels are kept if all of them take at most a
    /// quarter of the memory that can be planned with.
    pub fn resized(&self, side: u32) -> Self {
        let bytes = 3 * u64::from(side * side) * self.len() as u64;
        let keeps = memory::budget().is_none_or(|budget| bytes <= budget / 4);
        let sources = self.images.iter().map(|image| image.source.clone());
        Self { side, keeps, ..Self::new(sources) }
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
        let pixels: Arc<[u8]> = image.source.planes(self.side)?.into();
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
                    let bytes = content::raw(path)?;
                    hash.update((bytes.len() as u64).to_le_bytes());
                    hash.update(&bytes);
                }
                Source::Planes(bytes) => hash.update(bytes),
            }
        }
        Ok(hex(&hash.finalize()))
    }
}

impl Source {
    /// The image as planes of `to` x `to`.
    fn planes(&self, to: u32) -> Result<Vec<u8>, DataError> {
        let image = match self {
            Self::File(path) => decode(path)?.into_rgb8(),
            Self::Planes(bytes) => {
                let count = bytes.len() / 3;
                let side = count.isqrt() as u32;
                RgbImage::from_fn(side, side, |x, y| {
                    let pixel = (y * side + x) as usize;
                    image::Rgb([0, 1, 2].map(|plane| bytes[pixel + plane * count]))
                })
            }
        };
        let image = imageops::resize(&image, to, to, FilterType::Triangle);
        let pixels = image.as_raw();
        Ok((0..3).flat_map(|plane| pixels.iter().skip(plane).step_by(3)).copied().collect())
    }
}

/// Decodes a file. Its content decides on the format, not its name.
pub(crate) fn decode(path: &Path) -> Result<DynamicImage, DataError> {
    let pixels = |bytes: &[u8]| {
        if is_cut_off(bytes) {
            return Err("the JPEG data breaks off".to_owned());
        }
        let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
        let mut reader = reader.map_err(|error| error.to_string())?;
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        reader.limits(limits);
        reader.decode().map_err(|error| error.to_string())
    };
    let refuse = |reason: String| {
        let found = format!("no readable image ({reason})");
        bad("", found, "a whole JPEG, PNG, BMP or PNM file")
    };
    content::read(path, |bytes| pixels(bytes).map_err(refuse))
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
        Images::planes(std::iter::once(&bytes[..]))
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
