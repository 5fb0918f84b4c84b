//! Datasets: one file per format and per dataset, a registry, download, splits.
//!
//! A [`Store`] finds (or downloads) the files that a [`manifest`] of the [`registry`] lists. `content`
//! reads and unpacks them. A parser turns bytes into `Samples`, and `Dataset::new` checks and numbers
//! the classes. [`load_files`] does the same with the user's own files. [`split`] divides what was read.

mod chg;
mod columns;
mod content;
mod csv;
mod download;
mod encoder;
mod error;
mod files;
mod image_sets;
mod images;
mod inspect;
mod libsvm;
mod libsvm_site;
pub mod manifest;
mod mat;
mod npy;
mod numbers;
mod options;
mod parquet;
#[cfg(feature = "deep")]
pub(crate) mod pth;
pub mod registry;
mod roweis;
pub mod split;
mod store;
mod text;
mod validation;

pub use columns::Column;
pub use download::Progress;
pub use encoder::{Backbone, Conventions, Encoder, EncoderSpec};
pub use error::{BadContent, DataError};
pub(crate) use error::{Parsed, bad};
pub use files::{FileFormat, FilesSpec, load_files};
pub use images::Images;
pub use options::{DatasetOptions, DatasetSpec, EvaluateOn};
pub use split::{Split, Splits, folds, splits, stratified_part, subsample};
pub use store::Store;
pub use validation::Validation;

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use ndarray::{Array2, Axis, s};
use sha2::{Digest, Sha256};

use crate::memory;
use text::{Missing, is_missing_label};

/// Most values a dataset may have as a dense matrix: 4 GiB of `f64`.
pub(crate) const MAX_VALUES: usize = 1 << 29;

/// Most values of a dense matrix on this machine: at most [`MAX_VALUES`], and at most what fits into memory.
/// A few bytes of a sparse format can ask for any amount.
pub(crate) fn most_values() -> usize {
    memory::budget().map_or(MAX_VALUES, |bytes| MAX_VALUES.min((bytes / 8) as usize))
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
    /// SHA-256 over shape, values and labels: the same data has the same hash in every format.
    pub hash: String,
    /// For data with its own split: the first this many rows are for training.
    pub fixed_train: Option<usize>,
    /// For data made of images: the images, before and after an encoder turned them into `x`.
    pub images: Option<Arc<Images>>,
    /// If the experiment uses them: samples at the end that are for validation only.
    pub validation: Option<Validation>,
    /// The validation samples of the source, until they are asked for.
    pub(crate) validation_part: Option<Box<Samples>>,
    /// The encoder that turned the images into `x`.
    pub encoder: Option<Encoder>,
    /// Remarks for the report, such as a class count that differs from the paper's.
    pub notes: Vec<String>,
    /// What looks like a mistake in the data, for the terminal.
    pub warnings: Vec<String>,
    /// Of a part of the samples: their rows in the whole.
    pub rows: Option<Vec<usize>>,
}

/// The result of a parser: the label of each sample as the source writes it, and rows or images.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// Samples in rows; without columns for images.
    pub x: Array2<f64>,
    pub labels: Vec<String>,
    pub images: Option<Images>,
    /// For data with its own split: the first this many samples are for training.
    pub train: Option<usize>,
    /// Samples for validation, not among the others.
    pub validation: Option<Box<Samples>>,
    /// Of a table with a header: the names of its columns.
    pub columns: Option<columns::Names>,
    /// Remarks for the report.
    pub notes: Vec<String>,
    /// What looks like a mistake in the data.
    pub warnings: Vec<String>,
}

impl Samples {
    pub(crate) fn new(x: Array2<f64>, labels: Vec<String>) -> Self {
        Self { x, labels, ..Self::default() }
    }

    pub(crate) fn of_images(images: Images, labels: Vec<String>) -> Self {
        let x = Array2::zeros((labels.len(), 0));
        Self { x, labels, images: Some(images), ..Self::default() }
    }

    /// The samples of `self`, then those of `other`; narrower rows are widened with zeros.
    pub(crate) fn join(mut self, other: Self) -> Parsed<Self> {
        let (first, rows) = (self.x.nrows(), self.x.nrows() + other.x.nrows());
        let mut x = zeros(rows, self.x.ncols().max(other.x.ncols()))?;
        x.slice_mut(s![..first, ..self.x.ncols()]).assign(&self.x);
        x.slice_mut(s![first.., ..other.x.ncols()]).assign(&other.x);
        self.x = x;
        self.labels.extend(other.labels);
        self.warnings.extend(other.warnings);
        if let (Some(images), Some(more)) = (&mut self.images, other.images) {
            images.extend(more);
        }
        Ok(self)
    }

    /// Refuses data that no method can be fitted on: no rows, too few labels, values that are not finite.
    fn check(&self) -> Parsed<()> {
        let ((rows, dims), labels) = (self.x.dim(), &self.labels);
        if rows == 0 || dims == 0 && self.images.is_none() {
            let found = format!("{rows} samples of {dims} features");
            return Err(bad("", found, "at least one sample with at least one feature"));
        }
        if rows != labels.len() {
            let found = format!("{rows} samples and {} labels", labels.len());
            return Err(bad("", found, "as many labels as samples"));
        }
        let mut missing = Missing::default();
        for (row, label) in labels.iter().enumerate().filter(|(_, label)| is_missing_label(label)) {
            missing.add(label, || format!(", sample {}", row + 1));
        }
        missing.refuse("label")?;
        let mut bad_values = self.x.indexed_iter().filter(|(_, value)| !value.is_finite());
        let Some(((row, column), value)) = bad_values.next() else {
            return Ok(());
        };
        let place = format!(", row {}, column {}", row + 1, column + 1);
        let found = match bad_values.count() {
            0 => format!("`{value}`"),
            more => {
                format!("`{value}`, the first of {} values that are no finite numbers", more + 1)
            }
        };
        let expected = "a finite number; leave out the samples or columns with missing values, or fill them in";
        Err(bad(place, found, expected))
    }
}

/// A matrix of zeros, or an error if it is too large for the memory.
pub(crate) fn zeros(rows: usize, dims: usize) -> Parsed<Array2<f64>> {
    let most = most_values();
    let mut values = Vec::new();
    let count = rows.checked_mul(dims).filter(|count| *count <= most);
    if count.is_none_or(|count| values.try_reserve_exact(count).is_err()) {
        let found = format!("{rows} samples of {dims} features");
        return Err(bad("", found, format_args!("at most {most} values in all")));
    }
    values.resize(rows * dims, 0.0);
    Ok(Array2::from_shape_vec((rows, dims), values).expect("there are as many values"))
}

impl Dataset {
    /// Numbers the classes, checks what every method relies on, and hashes. Errors name the first of `files`,
    /// or the second where a test sample is wrong.
    pub(crate) fn new(name: &str, samples: Samples, files: [&Path; 2]) -> Result<Self, DataError> {
        samples.check().map_err(|bad| bad.in_file(files[0]))?;
        let Samples { x, labels, images, train, validation, notes, warnings, .. } = samples;
        let (classes, y) = number_classes(&labels).map_err(|bad| bad.in_file(files[0]))?;
        let mut dataset = Self {
            name: name.to_owned(),
            x,
            y,
            classes,
            hash: String::new(),
            fixed_train: train,
            images: images.map(Arc::new),
            validation: None,
            validation_part: validation,
            encoder: None,
            notes,
            warnings,
            rows: None,
        };
        dataset.check_classes(files)?;
        let content = content_hash(&dataset.x, &dataset.y, &dataset.classes);
        dataset.hash = match &dataset.images {
            None => content,
            Some(images) => hex(&Sha256::digest(images.hash()? + &content)),
        };
        Ok(dataset)
    }

    /// Refuses a single class, a class without training samples, and a class of one sample.
    fn check_classes(&self, [path, test]: [&Path; 2]) -> Result<(), DataError> {
        let class_with = |y: &[usize], count| {
            let counts = counts(y, self.classes.len());
            counts.iter().position(|&found| found == count).map(|class| &self.classes[class])
        };
        let refuse = |path, found: String, expected| Err(bad("", found, expected).in_file(path));
        if let [only] = &self.classes[..] {
            return refuse(path, format!("only one class, `{only}`"), "at least two classes");
        }
        let train = self.fixed_train.unwrap_or(self.y.len()).min(self.y.len());
        if let Some(class) = class_with(&self.y[..train], 0) {
            let found = format!("class `{class}`, of which there is no training sample");
            return refuse(test, found, "no class but those of the training samples");
        }
        if let Some(class) = class_with(&self.y, 1) {
            let (samples, classes) = (self.y.len(), self.classes.len());
            let found = format!("a single sample of class `{class}`");
            // With this many classes, most have one sample.
            if samples > 10 && 2 * classes > samples {
                let found = format!("{found} and {classes} classes for {samples} samples");
                let expected = "at least two samples of every class; is this the label? A CSV file's is chosen by `label:`";
                return refuse(path, found, expected);
            }
            return refuse(path, found, "at least two samples of every class");
        }
        Ok(())
    }

    /// The samples at `indices`, as a parser would return them.
    fn part(&self, indices: &[usize]) -> Samples {
        Samples {
            x: self.x.select(Axis(0), indices),
            labels: indices.iter().map(|&i| self.classes[self.y[i]].clone()).collect(),
            images: self.images.as_ref().map(|images| images.select(indices)),
            validation: self.validation_part.clone(),
            notes: self.notes.clone(),
            warnings: self.warnings.clone(),
            ..Samples::default()
        }
    }

    /// The same samples as the vectors that `encoder` made of them.
    pub(crate) fn encoded(mut self, x: Array2<f64>, images: Images, encoder: Encoder) -> Self {
        self.hash = hex(&Sha256::digest(format!("{} {}", self.hash, encoder.hash)));
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

/// Classes in order and the class of each sample. Labels that are all numbers are sorted as numbers
/// and written in one way (`1`, `+1` and `1.0` are the same class); others are sorted as text.
fn number_classes(labels: &[String]) -> Parsed<(Vec<String>, Vec<usize>)> {
    // Adding zero turns -0 into 0.
    let number =
        |label: &String| label.parse().ok().filter(|n: &f64| n.is_finite()).map(|n| n + 0.0);
    let Some(numbers) = labels.iter().map(number).collect::<Option<Vec<f64>>>() else {
        return Ok(distinct(labels, String::cmp));
    };
    let (classes, y) = distinct(&numbers, f64::total_cmp);
    refuse_merged(labels, &y, classes.len())?;
    Ok((classes.iter().map(f64::to_string).collect(), y))
}

/// Refuses labels that are different numbers but the same floating-point number, as whole numbers above 2^53 may be.
fn refuse_merged(labels: &[String], y: &[usize], classes: usize) -> Parsed<()> {
    let mut first: Vec<Option<&String>> = vec![None; classes];
    for (row, (label, &class)) in labels.iter().zip(y).enumerate() {
        let known = *first[class].get_or_insert(label);
        if known != label && plain(known) != plain(label) {
            let found = format!("label `{label}`, which cannot be told from `{known}` as a number");
            let expected = format!("labels of at most 15 digits, or text such as `c{label}`");
            return Err(bad(format!(", sample {}", row + 1), found, expected));
        }
    }
    Ok(())
}

/// The digits of a number without those that do not matter.
fn plain(label: &str) -> String {
    let label = label.trim_start_matches('+');
    let (sign, digits) = label.strip_prefix('-').map_or(("", label), |digits| ("-", digits));
    if digits.contains(['e', 'E']) {
        return plain(&label.parse::<f64>().map_or_else(|_| String::new(), |n| n.to_string()));
    }
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let (whole, rest) = (whole.trim_start_matches('0'), rest.trim_end_matches('0'));
    match whole.is_empty() && rest.is_empty() {
        true => "0".to_owned(),
        false => format!("{sign}{whole}.{rest}"),
    }
}

/// The distinct items in order, and which of them each item is.
fn distinct<T: Clone>(items: &[T], compare: fn(&T, &T) -> Ordering) -> (Vec<T>, Vec<usize>) {
    let mut sorted = items.to_vec();
    sorted.sort_by(compare);
    sorted.dedup_by(|a, b| compare(a, b).is_eq());
    let place = |item| sorted.partition_point(|other| compare(other, item).is_lt());
    let places = items.iter().map(place).collect();
    (sorted, places)
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
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(labels: &[&str]) -> Samples {
        let x = Array2::from_shape_fn((labels.len(), 2), |(i, j)| (i + j) as f64);
        Samples::new(x, labels.iter().map(|label| (*label).to_owned()).collect())
    }

    fn dataset(labels: &[&str]) -> Result<Dataset, DataError> {
        Dataset::new("t", samples(labels), [Path::new("t"); 2])
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
    fn labels_that_would_merge_are_refused() {
        let large = ["9007199254740992", "9007199254740993"];
        let error = dataset(&[large, large].concat()).unwrap_err().to_string();
        assert_eq!(
            error,
            "t, sample 2: found label `9007199254740993`, which cannot be told from `9007199254740992` as a number, \
             expected labels of at most 15 digits, or text such as `c9007199254740993`"
        );
        let same = dataset(&["1", "01", "+1.0", "1e0", "10e-1", "2", "2.", "-0", "0"]).unwrap();
        assert_eq!(same.classes, ["0", "1", "2"]);
        let large = dataset(&[
            "9007199254740992",
            "9007199254740994",
            "9007199254740992",
            "9007199254740994",
        ]);
        assert_eq!(large.unwrap().classes.len(), 2);
    }

    #[test]
    fn a_label_per_sample_is_no_label() {
        let labels: Vec<String> = (0..12).map(|row| format!("id{row}")).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let error = dataset(&labels).unwrap_err().to_string();
        assert!(error.contains("12 classes for 12 samples, expected at least two"), "{error}");
        assert!(error.ends_with("A CSV file's is chosen by `label:`"), "{error}");
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
        let other = Dataset::new("t", other, [Path::new("t"); 2]).unwrap();
        assert_ne!(base.hash, other.hash);
    }

    #[test]
    fn a_test_class_must_be_in_the_training_part() {
        let refused = |labels: &[&str], train| {
            let samples = Samples { train: Some(train), ..samples(labels) };
            let outcome = Dataset::new("t", samples, [Path::new("train"), Path::new("test")]);
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
