//! Files as bytes, unpacked and within limits, and what is in a folder. Parsers get the bytes and know
//! no paths.

use std::fs;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use zip::ZipArchive;

use super::MAX_VALUES;
use super::error::{DataError, Parsed, bad};
use crate::memory;

/// Most bytes of an unpacked file if the free memory is unknown.
const MAX_BYTES: u64 = 1 << 34;

/// Reads and parses a file.
pub(crate) fn read<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Parsed<T>) -> Result<T, DataError> {
    parse(&bytes(path)?).map_err(|bad| bad.in_file(path))
}

/// The bytes of a file as they are.
pub(crate) fn raw(path: &Path) -> Result<Vec<u8>, DataError> {
    fs::read(path).map_err(|error| DataError::read(path, error))
}

/// The bytes of a file, unpacked. Its content, not its name, shows whether it is bzip2 or gzip.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    unpack(raw(path)?).map_err(|bad| bad.in_file(path))
}

/// The bytes that `packed` unpacks to.
pub(crate) fn unpack(packed: Vec<u8>) -> Parsed<Vec<u8>> {
    let unpacked: Box<dyn Read> = match &packed[..] {
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Box::new(MultiBzDecoder::new(&packed[..])),
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(&packed[..])),
        [] => Box::new(io::empty()),
        _ => return Ok(packed),
    };
    // A few bytes of an archive can unpack to any amount.
    let limit = memory::budget().unwrap_or(MAX_BYTES).min(MAX_BYTES);
    let mut bytes = Vec::new();
    let outcome = unpacked.take(limit).read_to_end(&mut bytes);
    let count = bytes.len();
    let (found, expected) = match outcome {
        Ok(0) => ("an empty file".to_owned(), "samples"),
        Ok(_) if (count as u64) < limit => return Ok(bytes),
        Ok(_) => (format!("{limit} bytes or more"), "fewer (memory limit)"),
        // Decoders report damage as I/O errors.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            let found = format!("compressed data that ends early, after {count} unpacked bytes");
            (found, "a complete file")
        }
        Err(error) => {
            let found = format!("damaged compressed data after {count} unpacked bytes ({error})");
            (found, "an intact file")
        }
    };
    Err(bad("", found, expected))
}

/// A zip archive in memory.
pub(crate) type Zip<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// The archive in `file`, which is of the `expected` kind.
pub(crate) fn open_zip<'a>(file: &'a [u8], expected: &str) -> Parsed<Zip<'a>> {
    ZipArchive::new(Cursor::new(file)).map_err(|error| {
        let found = format!("a file that is not a zip archive ({error})");
        bad("", found, expected)
    })
}

/// The bytes of an entry. The size in the archive's directory is only a claim.
pub(crate) fn zip_entry(archive: &mut Zip<'_>, name: &str) -> Parsed<Vec<u8>> {
    let mut bytes = Vec::new();
    let entry = archive.by_name(name).map_err(io::Error::from);
    let read = entry.and_then(|entry| entry.take(8 * MAX_VALUES as u64).read_to_end(&mut bytes));
    let damaged =
        |error| bad(format!(", entry `{name}`"), format!("damage ({error})"), "an intact archive");
    read.map(|_| bytes).map_err(damaged)
}

/// What is in `folder` and is `wanted`, sorted by name; hidden files are left out.
pub(crate) fn children(
    folder: &Path,
    wanted: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, DataError> {
    let paths = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    let mut paths: Vec<PathBuf> = paths.map_err(|error| DataError::read(folder, error))?;
    paths.retain(|path| !file_name(path).starts_with('.') && wanted(path));
    paths.sort();
    Ok(paths)
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
