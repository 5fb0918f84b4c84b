//! Data that is part of the program, so that a machine without network or files can run
//! experiments. `datasets/embedded/ATTRIBUTION.md` says where it comes from.

use std::path::{Path, PathBuf};

use super::error::DataError;
use super::manifest::Manifest;
use super::{Samples, csv, text};

/// Pen-based digits, in the order of LIBSVM's two files; the label is the last column.
pub(crate) fn pendigits() -> Result<Samples, DataError> {
    let bytes = include_bytes!("../../datasets/embedded/pendigits.csv.bz2");
    read(bytes, "embedded pendigits.csv.bz2")
}

/// Optical digits, 8 x 8; the label is the last column.
pub(crate) fn optdigits() -> Result<Samples, DataError> {
    let bytes = include_bytes!("../../datasets/embedded/optdigits.csv.gz");
    read(bytes, "embedded optdigits.csv.gz")
}

/// Loader of a dataset that has no files of its own: there is nothing to read.
pub(crate) fn only(_: &Manifest, _: &[PathBuf]) -> Result<Samples, DataError> {
    Ok(Samples::default())
}

fn read(bytes: &'static [u8], name: &str) -> Result<Samples, DataError> {
    let path = Path::new(name);
    csv::parse(text::open_bytes(bytes, path)?, path, None)
}
