//! Files as bytes, unpacked and within limits, and what is in a folder. Parsers get the bytes and know
//! no paths.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

use super::error::{BadContent, DataError, bad};
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
pub(crate) fn unpack<'a>(mut packed: impl BufRead + 'a, path: &Path) -> Result<Vec<u8>, DataError> {
    // A few bytes of an archive can stand for any amount.
    let limit = memory::budget().unwrap_or(MAX_BYTES).min(MAX_BYTES);
    let unreadable = |error| DataError::read(path, error);
    let unpacked: Box<dyn Read + 'a> = match packed.fill_buf().map_err(unreadable)? {
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Box::new(MultiBzDecoder::new(packed)),
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(packed)),
        _ => Box::new(packed),
    };
    let mut bytes = Vec::new();
    let outcome = unpacked.take(limit).read_to_end(&mut bytes);
    let count = bytes.len();
    let bad = match outcome {
        Ok(0) => bad("", "an empty file", "samples"),
        Ok(read) if read as u64 == limit => {
            bad("", format_args!("{limit} bytes or more"), "fewer (memory limit)")
        }
        Ok(_) => return Ok(bytes),
        // Decoders report damage as I/O errors.
        Err(error) => match error.kind() {
            ErrorKind::UnexpectedEof => {
                let found =
                    format!("compressed data that ends early, after {count} unpacked bytes");
                bad("", found, "a complete file")
            }
            ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                let found =
                    format!("damaged compressed data after {count} unpacked bytes ({error})");
                bad("", found, "an intact file")
            }
            _ => return Err(unreadable(error)),
        },
    };
    Err(bad.in_file(path))
}

/// What is in `folder` and is `wanted`, hidden files left out, in natural order: `frame-2` before
/// `frame-10`.
pub(crate) fn children(
    folder: &Path,
    wanted: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, DataError> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
    });
    let mut paths = entries.map_err(|error| DataError::read(folder, error))?;
    paths.retain(|path| !file_name(path).starts_with('.') && wanted(path));
    paths.sort_by_cached_key(|path| (with_padded_numbers(&file_name(path)), path.clone()));
    Ok(paths)
}

/// Two names in this form are in natural order.
fn with_padded_numbers(name: &str) -> String {
    let runs = name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let padded = |run: &[u8]| match String::from_utf8_lossy(run) {
        number if run[0].is_ascii_digit() => format!("{number:0>20}"),
        text => text.into_owned(),
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
