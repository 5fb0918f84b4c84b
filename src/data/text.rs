//! Text files, plain or compressed, line by line and within bounds.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

use super::error::{DataError, Place};

/// Longest line accepted; a few kilobytes of bzip2 can unpack to more than any memory.
const MAX_LINE: usize = 1 << 26;

/// Opens `path`, unpacking bzip2 and gzip by content, whatever the file is called.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>, DataError> {
    let file = File::open(path).map_err(|error| DataError::read(path, error))?;
    unpack(BufReader::with_capacity(1 << 16, file), path)
}

/// As [`open`], for bytes that are part of the program.
pub(crate) fn open_bytes(bytes: &'static [u8], path: &Path) -> Result<Box<dyn BufRead>, DataError> {
    unpack(bytes, path)
}

fn unpack<R: BufRead + 'static>(mut reader: R, path: &Path) -> Result<Box<dyn BufRead>, DataError> {
    let start = reader.fill_buf().map_err(|error| DataError::read(path, error))?;
    Ok(match start {
        [] => {
            return Err(DataError::content(path, Place::File, "an empty file", "samples"));
        }
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            Box::new(BufReader::new(MultiBzDecoder::new(reader)))
        }
        [0x1f, 0x8b, ..] => Box::new(BufReader::new(MultiGzDecoder::new(reader))),
        _ => Box::new(reader),
    })
}

/// Lines without their ends, numbered from 1.
pub(crate) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), number: 0 }
    }

    /// The next line and its number, `None` at the end.
    pub(crate) fn next(&mut self, path: &Path) -> Result<Option<(u64, &[u8])>, DataError> {
        self.line.clear();
        let read = (&mut self.reader)
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut self.line)
            .map_err(|error| damaged(path, self.number, error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read == MAX_LINE {
            return Err(DataError::content(
                path,
                Place::Text { line: self.number, column: 1 },
                format!("a line of {MAX_LINE} bytes or more"),
                "shorter lines",
            ));
        }
        let mut end = self.line.len();
        while end > 0 && matches!(self.line[end - 1], b'\n' | b'\r') {
            end -= 1;
        }
        let start = if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Ok(Some((self.number, &self.line[start..end.max(start)])))
    }

    /// The error to report when `error` was found in what was read: in damaged compressed data
    /// nonsense comes out long before the checksum tells, so the rest is read for it first.
    pub(crate) fn blame(&mut self, error: DataError, path: &Path) -> DataError {
        let mut rest = (&mut self.reader).take(MAX_SEARCH);
        match (&error, io::copy(&mut rest, &mut io::sink())) {
            (DataError::Content { .. }, Err(damage)) => {
                damaged(path, self.number.saturating_sub(1), damage)
            }
            _ => error,
        }
    }
}

/// How far to read on after an error in search of damage.
const MAX_SEARCH: u64 = 1 << 28;

/// Decoders report damage as I/O errors; what they mean to a user is a broken file.
fn damaged(path: &Path, lines: u64, error: io::Error) -> DataError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => DataError::content(
            path,
            Place::File,
            format!("compressed data that ends early, after {lines} whole lines"),
            "a complete file",
        ),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => DataError::content(
            path,
            Place::File,
            format!("damaged compressed data after {lines} whole lines ({error})"),
            "an intact file",
        ),
        _ => DataError::read(path, error),
    }
}
