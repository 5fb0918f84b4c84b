//! Files as bytes, unpacked and within limits, and what is in a folder. Parsers get the bytes and know
//! no paths.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

use super::error::{BadContent, DataError};
use crate::memory;

/// Most bytes of a file, unpacked, on a machine that does not tell its memory.
const MAX_BYTES: u64 = 1 << 34;

/// Reads and parses a file.
pub(crate) fn read<T>(
    path: &Path,
    parse: impl FnOnce(&[u8]) -> Result<T, BadContent>,
) -> Result<T, DataError> {
    parse(&bytes(path)?).map_err(|bad| bad.in_file(path))
}

/// The bytes of a file as they are.
pub(crate) fn raw(path: &Path) -> Result<Vec<u8>, DataError> {
    fs::read(path).map_err(|error| DataError::read(path, error))
}

/// The bytes of a file. bzip2 and gzip are unpacked, whatever the file is called.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    let file = File::open(path).map_err(|error| DataError::read(path, error))?;
    unpack(BufReader::new(file), path)
}

/// The bytes that `packed` unpacks to; `path` is named in errors.
pub(crate) fn unpack(mut packed: impl BufRead, path: &Path) -> Result<Vec<u8>, DataError> {
    // A few bytes of an archive can stand for any amount.
    let limit = memory::budget().unwrap_or(MAX_BYTES).min(MAX_BYTES);
    let mut bytes = Vec::new();
    let start = packed.fill_buf().map_err(|error| DataError::read(path, error))?;
    let outcome = match start {
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            MultiBzDecoder::new(packed).take(limit).read_to_end(&mut bytes)
        }
        [0x1f, 0x8b, ..] => MultiGzDecoder::new(packed).take(limit).read_to_end(&mut bytes),
        _ => packed.take(limit).read_to_end(&mut bytes),
    };
    let unpacked = bytes.len();
    let (found, expected) = match outcome {
        Ok(0) => ("an empty file".to_owned(), "samples".to_owned()),
        Ok(read) if read as u64 == limit => {
            (format!("{limit} bytes or more"), "fewer, for there to be memory for them".to_owned())
        }
        Ok(_) => return Ok(bytes),
        // Decoders report damage as I/O errors.
        Err(error) => match error.kind() {
            ErrorKind::UnexpectedEof => (
                format!("compressed data that ends early, after {unpacked} unpacked bytes"),
                "a complete file".to_owned(),
            ),
            ErrorKind::InvalidData | ErrorKind::InvalidInput => (
                format!("damaged compressed data after {unpacked} unpacked bytes ({error})"),
                "an intact file".to_owned(),
            ),
            _ => return Err(DataError::read(path, error)),
        },
    };
    Err(DataError::content(path, found, expected))
}

/// What is in `folder` and is `wanted`, hidden files left out, in natural order: `frame-2` before
/// `frame-10`.
pub(crate) fn children(
    folder: &Path,
    wanted: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, DataError> {
    let unreadable = |error| DataError::read(folder, error);
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(unreadable)?;
    paths.retain(|path| !file_name(path).starts_with('.') && wanted(path));
    paths.sort_by_cached_key(|path| (with_padded_numbers(&file_name(path)), path.clone()));
    Ok(paths)
}

/// Two names in this form are in natural order.
fn with_padded_numbers(name: &str) -> String {
    let runs = name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let padded = |run| {
        let run = String::from_utf8_lossy(run);
        if run.starts_with(|c: char| c.is_ascii_digit()) {
            format!("{run:0>20}")
        } else {
            run.into()
        }
    };
    runs.map(padded).collect()
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["f10", "f2", "f02", "e", "f1a", ".f1"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = children(folder.path(), |_| true).unwrap();
        let names: Vec<_> = found.iter().map(|path| file_name(path)).collect();
        assert_eq!(names, ["e", "f1a", "f02", "f2", "f10"]);
    }
}
