//! The elements of a file: type, length, content. Every length is checked before it is believed.

use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;

use super::HEADER;
use crate::data::MAX_VALUES;
use crate::data::error::{DataError, Place, quote};

pub(super) const MI_INT32: u32 = 5;
pub(super) const MI_MATRIX: u32 = 14;
pub(super) const MI_COMPRESSED: u32 = 15;
pub(super) const MI_UTF8: u32 = 16;

/// A walk over the elements of a file; every length is checked before it is believed.
pub(super) struct Scan<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) big_endian: bool,
    pub(super) path: &'a Path,
}

/// An element: its type, its content, and where the next one begins.
pub(super) struct Element<'a> {
    pub(super) kind: u32,
    /// Offset of the content.
    pub(super) start: usize,
    pub(super) content: &'a [u8],
    pub(super) next: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8], path: &'a Path) -> Result<Self, DataError> {
        let fail = |offset: usize, found: String, expected: &str| {
            let place = Place::Byte(offset as u64);
            Err(DataError::content(path, place, found, expected))
        };
        if bytes.is_empty() {
            let expected = "a MATLAB v5 file";
            return Err(DataError::content(path, Place::File, "an empty file", expected));
        }
        if bytes.starts_with(b"MATLAB 7.3") {
            let found = "MATLAB 7.3 (HDF5)".to_owned();
            return fail(0, found, "MATLAB v5; save with `-v7`");
        }
        if bytes.len() < HEADER {
            let found = "the end of the file".to_owned();
            return fail(bytes.len(), found, "a MATLAB header of 128 bytes");
        }
        let big_endian = match &bytes[126..HEADER] {
            b"IM" => false,
            b"MI" => true,
            other => return fail(126, quote(other), "`IM` or `MI`, as in a MATLAB v5 file"),
        };
        Ok(Self { bytes, big_endian, path })
    }

    /// The content of a compressed element.
    pub(super) fn inflate(&self, element: &Element) -> Result<Vec<u8>, DataError> {
        let limit = 8 * MAX_VALUES as u64;
        let mut unpacked = Vec::new();
        let read = ZlibDecoder::new(element.content).take(limit).read_to_end(&mut unpacked);
        let problem = match read {
            Ok(_) if unpacked.len() as u64 == limit => "more than fits".to_owned(),
            Ok(_) => return Ok(unpacked),
            Err(error) => error.to_string(),
        };
        let found = format!("damaged compressed data ({problem})");
        Err(self.fail(element.start, found, "an intact file"))
    }

    /// The element at `at`, which must end at or before `end`.
    pub(super) fn element(&self, at: usize, end: usize) -> Result<Element<'a>, DataError> {
        let early = |missing: usize| {
            let expected = format!("{missing} more bytes of the element at byte {at}");
            self.fail(end, "the end of the data", expected)
        };
        let Some(tag) = self.bytes.get(at..at + 8).filter(|_| at + 8 <= end) else {
            return Err(early((at + 8).saturating_sub(end)));
        };
        let word = self.word(tag);
        // A small element has its length in the upper half of the first word.
        if word >> 16 != 0 {
            let length = (word >> 16) as usize;
            if length > 4 {
                let found = format!("a small element of {length} bytes");
                return Err(self.fail(at, found, "at most 4"));
            }
            return Ok(Element {
                kind: word & 0xffff,
                start: at + 4,
                content: &tag[4..4 + length],
                next: at + 8,
            });
        }
        let (start, length) = (at + 8, self.word(&tag[4..]) as usize);
        let stop = start + length;
        if stop > end {
            return Err(early(stop - end));
        }
        // Compressed elements are not padded; the padding of a last one may be left out.
        let next = match word {
            MI_COMPRESSED => stop,
            _ => (start + length.next_multiple_of(8)).min(end),
        };
        Ok(Element { kind: word, start, content: &self.bytes[start..stop], next })
    }

    /// All values of an element as numbers; MATLAB stores them in the smallest type that fits.
    pub(super) fn decode(&self, element: &Element, at: usize) -> Result<Vec<f64>, DataError> {
        let (width, number): (usize, fn([u8; 8]) -> f64) = match element.kind {
            1 => (1, |b| f64::from(b[0] as i8)),
            2 | MI_UTF8 => (1, |b| f64::from(b[0])),
            3 => (2, |b| f64::from(i16::from_le_bytes([b[0], b[1]]))),
            4 | 17 => (2, |b| f64::from(u16::from_le_bytes([b[0], b[1]]))),
            MI_INT32 => (4, |b| f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            6 => (4, |b| f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            7 => (4, |b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            9 => (8, f64::from_le_bytes),
            12 => (8, |b| i64::from_le_bytes(b) as f64),
            13 => (8, |b| u64::from_le_bytes(b) as f64),
            kind => {
                let found = format!("values of type {kind}");
                return Err(self.fail(at, found, "a number type"));
            }
        };
        let one = |chunk: &[u8]| {
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(chunk);
            if self.big_endian {
                bytes[..width].reverse();
            }
            number(bytes)
        };
        Ok(element.content.chunks_exact(width).map(one).collect())
    }

    pub(super) fn integers(&self, element: &Element) -> Vec<usize> {
        let words = element.content.chunks_exact(4);
        words.map(|word| self.word(word) as usize).collect()
    }

    /// The first four bytes as a number.
    pub(super) fn word(&self, bytes: &[u8]) -> u32 {
        let word = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    pub(super) fn fail(
        &self,
        at: usize,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> DataError {
        DataError::content(self.path, Place::Byte(at as u64), found, expected)
    }
}
