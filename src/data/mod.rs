//! Datasets: one file per format and per dataset, a registry, download, splits.
//!
//! The data's way: a [`Store`] finds (or downloads) the files a [`manifest`] names, a loader of the
//! [`registry`] parses them into `Samples`, and `Dataset::new` checks and numbers the classes.
//! Files of the user's own come in through [`load_files`]. [`split`] divides what was read.

mod archive;
mod binalpha;
mod chg;
mod csv;
mod download;
mod embedded;
mod error;
mod features;
mod files;
mod image_sets;
mod images;
mod libsvm;
pub mod manifest;
mod mat;
mod news;
mod npy;
#[cfg(feature = "deep")]
pub(crate) mod pth;
pub mod registry;
pub mod split;
mod store;
mod text;
mod validation;

pub use download::Progress;
pub use error::{DataError, Place};
pub use files::load_files;
pub use images::{Encoder, Images};
pub use split::{Split, folds, splits, stratified_part, subsample};
pub use store::{Description, Fetched, Location, Store, describe, fetch, path, verify};
pub use validation::Validation;

use std::path::Path;
use std::sync::Arc;

use ndarray::Array2;
use sha2::{Digest, Sha256};

use crate::memory;
use image_sets::ImageSet;

/// Most values a dataset may have as a dense matrix: 4 GiB of `f64`.
pub(crate) const MAX_VALUES: usize = 1 << 29;

/// Most values of a dense matrix here and now: no more than [`MAX_VALUES`], nor than the memory that
/// can be planned with. A few bytes of a sparse format can ask for any amount.
pub(crate) fn most_values() -> usize {
    let planned = memory::budget().and_then(|bytes| usize::try_from(bytes / 8).ok());
    planned.map_or(MAX_VALUES, |values| values.min(MAX_VALUES))
}

/// Labelled samples, checked: finite values, as many labels as rows, every class present.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The name used in specs and tables.
    pub name: String,
    /// Samples in rows.
    pub x: Array2<f64>,
    /// Class of each sample, `0..classes.len()`.
    pub y: Vec<usize>,
    /// The labels as the source writes them, in class order.
    pub classes: Vec<String>,
    /// SHA-256 over shape, values and labels: the same data has the same hash whatever its format.
    pub hash: String,
    /// For data with a split of its own: the first this many rows are for training.
    pub fixed_train: Option<usize>,
    /// For images that no encoder has made vectors of, or did: the images themselves.
    pub images: Option<Arc<Images>>,
    /// Samples at the end that are neither for training nor for testing, where they were asked for.
    pub validation: Option<Validation>,
    /// What made `x` of the images.
    pub encoder: Option<Encoder>,
    /// Remarks for the report, such as a class count that differs from the paper's.
    pub notes: Vec<String>,
}

/// What a loader read: samples in rows and the label of each, as written in the source.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    pub x: Array2<f64>,
    pub labels: Vec<String>,
}

impl Samples {
    /// The rows of `self`, then those of `other`; the narrower one is widened with zeros.
    pub(crate) fn join(self, other: Self, path: &Path) -> Result<Self, DataError> {
        let (rows, dims) = (self.x.nrows() + other.x.nrows(), self.x.ncols().max(other.x.ncols()));
        let mut x = zeros(rows, dims, path)?;
        let first = self.x.nrows();
        x.slice_mut(ndarray::s![..first, ..self.x.ncols()]).assign(&self.x);
        x.slice_mut(ndarray::s![first.., ..other.x.ncols()]).assign(&other.x);
        let mut labels = self.labels;
        labels.extend(other.labels);
        Ok(Self { x, labels })
    }
}

/// A matrix of zeros, or an error where its size is beyond reason or memory.
pub(crate) fn zeros(rows: usize, dims: usize, path: &Path) -> Result<Array2<f64>, DataError> {
    let most = most_values();
    let refuse = || {
        DataError::content(
            path,
            Place::File,
            format!("{rows} samples of {dims} features"),
            format!("at most {most} values in all"),
        )
    };
    let count = rows.checked_mul(dims).filter(|count| *count <= most).ok_or_else(refuse)?;
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| refuse())?;
    values.resize(count, 0.0);
    Array2::from_shape_vec((rows, dims), values).map_err(|_| refuse())
}

impl Dataset {
    /// Numbers the classes, checks what every method relies on, and hashes. `path` is named in
    /// errors.
    pub(crate) fn new(
        name: &str,
        samples: Samples,
        fixed_train: Option<usize>,
        path: &Path,
    ) -> Result<Self, DataError> {
        let split = fixed_train.map(|train| (train, path));
        Self::with_split(name, samples, path, split)
    }

    /// As [`Dataset::new`]; `split` gives the number of training samples and the path to name in errors
    /// about the others.
    pub(crate) fn with_split(
        name: &str,
        samples: Samples,
        path: &Path,
        split: Option<(usize, &Path)>,
    ) -> Result<Self, DataError> {
        let Samples { x, labels } = samples;
        check_values(&x, labels.len(), path)?;
        let (classes, y) = number_classes(&labels);
        check_classes(&classes, &y, path, split)?;
        let fixed_train = split.map(|(train, _)| train);
        let hash = content_hash(&x, &y, &classes);
        Ok(Self {
            name: name.to_owned(),
            x,
            y,
            classes,
            hash,
            fixed_train,
            images: None,
            validation: None,
            encoder: None,
            notes: Vec::new(),
        })
    }

    /// Images with their labels; `x` has no columns until an encoder fills it.
    pub(crate) fn of_images(name: &str, set: ImageSet, path: &Path) -> Result<Self, DataError> {
        let (classes, y) = number_classes(&set.labels);
        check_classes(&classes, &y, path, Some((set.train, path)))?;
        let mut hash = Sha256::new();
        hash.update(set.images.hash()?);
        hash.update(content_hash(&Array2::zeros((y.len(), 0)), &y, &classes));
        Ok(Self {
            name: name.to_owned(),
            x: Array2::zeros((y.len(), 0)),
            y,
            classes,
            hash: hex(&hash.finalize()),
            fixed_train: Some(set.train),
            images: Some(Arc::new(set.images)),
            validation: None,
            encoder: None,
            notes: set.notes,
        })
    }

    /// The same samples as the vectors that `encoder`, of this hash, made of them.
    pub(crate) fn encoded(
        mut self,
        x: Array2<f64>,
        images: Images,
        encoder: Encoder,
        hash: &str,
    ) -> Self {
        self.hash = hex(&Sha256::digest(format!("{} {hash}", self.hash)));
        self.x = x;
        self.images = Some(Arc::new(images));
        self.notes.push(encoder.note());
        self.encoder = Some(encoder);
        self
    }

    /// Number of samples of each class, those for validation apart.
    pub fn class_counts(&self) -> Vec<usize> {
        counts(&self.y[..self.own_samples()], self.classes.len())
    }
}

pub(crate) fn counts(y: &[usize], classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    for &class in y {
        counts[class] += 1;
    }
    counts
}

fn check_values(x: &Array2<f64>, labels: usize, path: &Path) -> Result<(), DataError> {
    let (rows, dims) = x.dim();
    if rows == 0 || dims == 0 {
        return Err(DataError::content(
            path,
            Place::File,
            format!("{rows} samples of {dims} features"),
            "at least one sample with at least one feature",
        ));
    }
    if rows != labels {
        return Err(DataError::content(
            path,
            Place::File,
            format!("{rows} samples and {labels} labels"),
            "as many labels as samples",
        ));
    }
    match x.indexed_iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some(((row, column), value)) => Err(DataError::content(
            path,
            Place::Entry { row: row + 1, column: column + 1 },
            format!("`{value}`"),
            "a finite number",
        )),
    }
}

/// Classes in order and the class of each sample. Labels that are all numbers are sorted as numbers
/// and written in one way (`1`, `+1` and `1.0` are the same class); others are sorted as text.
fn number_classes(labels: &[String]) -> (Vec<String>, Vec<usize>) {
    let numbers: Option<Vec<f64>> = labels.iter().map(|label| finite(label)).collect();
    match numbers {
        Some(numbers) => {
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            let y = numbers
                .iter()
                .map(|number| sorted.partition_point(|class| class < number))
                .collect();
            (sorted.iter().map(f64::to_string).collect(), y)
        }
        None => {
            let mut sorted: Vec<&String> = labels.iter().collect();
            sorted.sort();
            sorted.dedup();
            let y =
                labels.iter().map(|label| sorted.partition_point(|class| *class < label)).collect();
            (sorted.into_iter().cloned().collect(), y)
        }
    }
}

/// The label as a finite number, with zero unsigned.
fn finite(label: &str) -> Option<f64> {
    let number: f64 = label.parse().ok()?;
    number.is_finite().then_some(number + 0.0)
}

fn check_classes(
    classes: &[String],
    y: &[usize],
    path: &Path,
    split: Option<(usize, &Path)>,
) -> Result<(), DataError> {
    if let [only] = classes {
        return Err(DataError::content(
            path,
            Place::File,
            format!("only one class, `{only}`"),
            "at least two classes",
        ));
    }
    if let Some((train, test_path)) = split {
        let in_train = counts(&y[..train], classes.len());
        if let Some(class) = in_train.iter().position(|&count| count == 0) {
            return Err(DataError::content(
                test_path,
                Place::File,
                format!("class `{}`, of which there is no training sample", classes[class]),
                "no class but those of the training samples",
            ));
        }
    }
    let in_all = counts(y, classes.len());
    match in_all.iter().position(|&count| count == 1) {
        None => Ok(()),
        Some(class) => Err(DataError::content(
            path,
            Place::File,
            format!("a single sample of class `{}`", classes[class]),
            "at least two samples of every class",
        )),
    }
}

/// SHA-256 over shape, values (row by row, as little-endian `f64`) and labels.
fn content_hash(x: &Array2<f64>, y: &[usize], classes: &[String]) -> String {
    let mut hash = Sha256::new();
    let count = |hash: &mut Sha256, n: usize| hash.update((n as u64).to_le_bytes());
    count(&mut hash, x.nrows());
    count(&mut hash, x.ncols());
    count(&mut hash, classes.len());
    for class in classes {
        count(&mut hash, class.len());
        hash.update(class.as_bytes());
    }
    let mut row_bytes = Vec::with_capacity(8 * x.ncols());
    for (row, &class) in x.rows().into_iter().zip(y) {
        row_bytes.clear();
        // Adding zero turns -0 into 0: they are the same value.
        row_bytes.extend(row.iter().flat_map(|value| (value + 0.0).to_le_bytes()));
        hash.update(&row_bytes);
        count(&mut hash, class);
    }
    hex(&hash.finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(labels: &[&str]) -> Samples {
        Samples {
            x: Array2::from_shape_fn((labels.len(), 2), |(i, j)| (i + j) as f64),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        }
    }

    fn dataset(labels: &[&str]) -> Result<Dataset, DataError> {
        Dataset::new("t", samples(labels), None, Path::new("t"))
    }

    #[test]
    fn numeric_labels_are_sorted_as_numbers() {
        let data = dataset(&["10", "9", "+9", "-1", "10.0", "-1"]).unwrap();
        assert_eq!(data.classes, ["-1", "9", "10"]);
        assert_eq!(data.y, [2, 1, 1, 0, 2, 0]);
        assert_eq!(data.class_counts(), [2, 2, 2]);
    }

    #[test]
    fn other_labels_are_sorted_as_text() {
        let data = dataset(&["b", "10", "b", "10", "9", "9"]).unwrap();
        assert_eq!(data.classes, ["10", "9", "b"]);
    }

    #[test]
    fn the_hash_sees_values_labels_and_shape_but_not_spelling() {
        let base = dataset(&["1", "1", "2", "2"]).unwrap();
        assert_eq!(base.hash, dataset(&["1.0", "1", "2", "+2"]).unwrap().hash);
        assert_ne!(base.hash, dataset(&["1", "1", "2", "2", "2"]).unwrap().hash);
        assert_ne!(base.hash, dataset(&["1", "2", "1", "2"]).unwrap().hash);
        assert_ne!(base.hash, dataset(&["1", "1", "3", "3"]).unwrap().hash);
        let mut other = samples(&["1", "1", "2", "2"]);
        other.x[[0, 0]] = 1e-300;
        let other = Dataset::new("t", other, None, Path::new("t")).unwrap();
        assert_ne!(base.hash, other.hash);
    }

    #[test]
    fn a_test_class_must_be_in_the_training_part() {
        let refused = |labels: &[&str], train| {
            let split = Some((train, Path::new("test")));
            let outcome = Dataset::with_split("t", samples(labels), Path::new("train"), split);
            outcome.unwrap_err().to_string()
        };
        // One sample of it or two: the test file is to blame.
        for labels in [&["1", "1", "2", "2", "3"][..], &["1", "1", "2", "2", "3", "3"]] {
            assert_eq!(
                refused(labels, 4),
                "test: found class `3`, of which there is no training sample, expected no class but \
                 those of the training samples"
            );
        }
        let error = refused(&["1", "2", "3", "3"], 3);
        assert!(error.starts_with("train: found a single sample of class `1`"), "{error}");
    }
}
