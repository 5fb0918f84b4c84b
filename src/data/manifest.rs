//! Manifests: everything known about a dataset, one YAML file each under `datasets/`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::content::raw;
use super::error::{DataError, bad, bad_hash};
use super::{Dataset, Samples, hex};

/// Everything known about a dataset before it is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Manifest {
    /// The name used in specs; also the folder of its files.
    pub name: String,
    pub title: String,
    /// Where the data is described.
    pub homepage: String,
    pub licence: String,
    pub citation: String,
    /// The files it consists of, in the order in which they are joined.
    #[serde(default)]
    pub files: Vec<DataFile>,
    pub samples: usize,
    pub dims: usize,
    /// For data with its own split: the first this many samples are for training.
    pub train: Option<usize>,
    /// Samples of each class, in class order.
    pub class_counts: Vec<usize>,
    /// Whether a difference from this shape is only noted. Otherwise it is an error.
    #[serde(default)]
    pub inexact: bool,
    /// [`Dataset::hash`], where the values are known beyond doubt.
    pub data_sha256: Option<String>,
    /// The shape as the paper's Table 2 gives it.
    pub paper: Option<PaperShape>,
    /// What a reader of results should know.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A file of a dataset, or a folder of files.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DataFile {
    pub name: String,
    /// For an archive: the folder that it unpacks to, which serves as well.
    pub unpacked: Option<String>,
    /// The folder that contains it, where that is not the dataset's own.
    pub folder: Option<String>,
    /// The official address; none for data that is put there by hand.
    #[serde(default)]
    pub url: String,
    /// What the copies are that were seen, by their SHA-256 or the beginning of it.
    #[serde(default)]
    pub copies: BTreeMap<String, String>,
    /// Whether these copies are the only right ones. If not, another hash is only noted, and shape
    /// and class counts decide.
    #[serde(default)]
    pub only_these: bool,
}

/// Training samples plus test samples, dimensions and classes of the paper's Table 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperShape {
    pub samples: usize,
    pub dims: usize,
    pub classes: usize,
}

impl Manifest {
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.class_counts.len()
    }

    /// Whether some of its files have no address, so that people must put them into a data folder.
    pub(crate) fn is_by_hand(&self) -> bool {
        self.files.iter().any(|file| file.url.is_empty())
    }

    /// The dataset of these samples, compared with the manifest. Errors name `path`.
    pub(crate) fn dataset(&self, samples: Samples, path: &Path) -> Result<Dataset, DataError> {
        let train = samples.train.or(self.train);
        let mut dataset = Dataset::new(&self.name, Samples { train, ..samples }, [path; 2])?;
        // Images have the size an encoder wants.
        let dims = if dataset.images.is_some() { self.dims } else { dataset.x.ncols() };
        let found = shape(dataset.x.nrows(), dims, &dataset.class_counts());
        let known = shape(self.samples, self.dims, &self.class_counts);
        if found != known && !self.inexact {
            let expected = format!("{known} for `{}`", self.name);
            return Err(bad("", found, expected).in_file(path));
        } else if found != known {
            dataset.notes.push(format!("found {found}, the original has {known}"));
        }
        if let Some(expected) = self.data_sha256.as_ref().filter(|hash| **hash != dataset.hash) {
            return Err(bad_hash("data", &dataset.hash, expected).in_file(path));
        }
        let ((samples, dims), classes) = (dataset.x.dim(), dataset.classes.len());
        let ours = PaperShape { samples, dims, classes };
        if let Some(paper) = self.paper.filter(|paper| *paper != ours) {
            dataset.notes.push(format!("{ours}; the paper lists {paper}"));
        }
        dataset.notes.extend(self.notes.iter().cloned());
        Ok(dataset)
    }
}

impl fmt::Display for PaperShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { samples, dims, classes } = self;
        write!(f, "{samples} samples x {dims} features x {classes} classes")
    }
}

fn shape(samples: usize, dims: usize, counts: &[usize]) -> String {
    let sizes: Vec<_> = counts.iter().map(usize::to_string).collect();
    let shape = PaperShape { samples, dims, classes: counts.len() };
    format!("{shape} (of {} samples)", sizes.join(", "))
}

impl DataFile {
    /// Where the file is in a data folder.
    pub(crate) fn place(&self, dataset: &str) -> PathBuf {
        Path::new(self.folder.as_deref().unwrap_or(dataset)).join(&self.name)
    }

    /// A note about the copy at `path`, or an error if only other copies are right.
    pub(crate) fn recognise(&self, path: &Path) -> Result<Option<String>, DataError> {
        let Self { name, copies, .. } = self;
        if copies.is_empty() {
            return Ok(None);
        }
        let found = hex(&Sha256::digest(raw(path)?));
        if let Some((_, copy)) = copies.iter().find(|(hash, _)| found.starts_with(*hash)) {
            return Ok(Some(format!("{name} is {copy}")));
        }
        if self.only_these {
            let known = copies.keys().cloned().collect::<Vec<_>>().join(" or ");
            return Err(bad_hash("the file", &found, &known).in_file(path));
        }
        Ok(Some(format!(
            "{name} (SHA-256 {found}) is none of the copies known to the manifest; its shape and class \
             counts are right"
        )))
    }
}
