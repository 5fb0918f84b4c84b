//! From files to a dataset that is what its manifest says.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::data::error::{DataError, Place};
use crate::data::registry::Entry;
use crate::data::{Dataset, hex};

pub(super) fn read_embedded(entry: &Entry) -> Result<Dataset, DataError> {
    let manifest = &entry.manifest;
    let path = Path::new(&manifest.name);
    let embedded = entry.embedded.ok_or_else(|| {
        DataError::content(path, Place::File, "no embedded data", "data in the program")
    })?;
    let mut dataset = Dataset::new(&manifest.name, embedded()?, None, path)?;
    manifest.check(&mut dataset, path)?;
    Ok(dataset)
}

/// Reads files, recognises them by hash, and compares their content with the manifest.
pub(super) fn read(entry: &Entry, paths: &[PathBuf]) -> Result<Dataset, DataError> {
    let manifest = &entry.manifest;
    let mut notes = Vec::new();
    for (file, path) in manifest.files.iter().zip(paths) {
        if !file.copies.is_empty() {
            notes.extend(file.recognise(&file_hash(path)?, path)?);
        }
    }
    let first = paths.first().map_or(Path::new(&manifest.name), PathBuf::as_path);
    let mut dataset = match entry.images {
        Some(images) => Dataset::of_images(&manifest.name, images(first)?, first)?,
        None => {
            let samples = (entry.loader)(manifest, paths)?;
            Dataset::new(&manifest.name, samples, manifest.train, first)?
        }
    };
    manifest.check(&mut dataset, first)?;
    dataset.notes.extend(notes);
    Ok(dataset)
}

fn file_hash(path: &Path) -> Result<String, DataError> {
    let unreadable = |error| DataError::read(path, error);
    let mut file = File::open(path).map_err(unreadable)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(unreadable)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}
