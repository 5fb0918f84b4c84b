//! Manifests: everything known about a dataset, under `datasets/`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::content::{raw, unpack};
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
    /// The shape of a part of the rows that takes the place of the whole.
    pub part: Option<Part>,
    /// Training and test samples as the publisher divides them, for `official_split: true`.
    pub official: Option<Official>,
    /// Why there is no such division, although there is a test file.
    pub no_official_split: Option<String>,
    /// The shape as the paper's Table 2 gives it.
    pub paper: Option<PaperShape>,
    /// Whether features have different units, so that their variances say something.
    #[serde(default)]
    pub mixed_units: bool,
    /// What a reader of results should know.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A part of the rows of a dataset.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    pub samples: usize,
    pub class_counts: Vec<usize>,
}

/// A dataset with the split of its publisher; all of this is about training and test samples together.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Official {
    /// The file with the test samples, unless they are among the dataset's own files.
    pub test: Option<DataFile>,
    /// The first this many samples are for training.
    pub train: usize,
    pub dims: usize,
    pub class_counts: Vec<usize>,
    pub data_sha256: Option<String>,
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
    pub fn is_by_hand(&self) -> bool {
        self.files.iter().any(|file| file.url.is_empty())
    }

    /// The manifest of the dataset with its official split.
    pub(crate) fn with_official_split(&self) -> Result<Self, DataError> {
        let refuse = |problem: &str| {
            Err(DataError::unfit(
                &self.name,
                "official_split",
                format!("{problem}; leave `official_split` out"),
            ))
        };
        let Some(official) = self.official.clone() else {
            return match (&self.no_official_split, self.train) {
                (Some(reason), _) => {
                    refuse(&format!("there is no official split, because {reason}"))
                }
                (None, Some(_)) => refuse("its split is always the official one"),
                (None, None) => refuse("no official test file is known for it"),
            };
        };
        let Official { test, train, dims, class_counts, data_sha256 } = official;
        let samples = class_counts.iter().sum();
        let mut notes = vec![format!(
            "the official split: {train} samples for training and {} for testing",
            samples - train
        )];
        // The other notes of a dataset with its own manifest are about its usual files.
        if test.as_ref().is_some_and(|_| self.paper.is_none()) {
            notes.extend(self.notes.iter().cloned());
        }
        let files = self.files.iter().cloned().chain(test).collect();
        let train = Some(train);
        let whole = Self { paper: None, part: None, official: None, ..self.clone() };
        Ok(Self { files, samples, dims, train, class_counts, data_sha256, notes, ..whole })
    }

    /// The dataset of these samples, compared with the manifest. Errors name `path`.
    pub(crate) fn dataset(&self, samples: Samples, path: &Path) -> Result<Dataset, DataError> {
        let train = samples.train.or(self.train);
        let mut dataset = Dataset::new(&self.name, Samples { train, ..samples }, [path; 2])?;
        // Images have the size an encoder wants.
        let dims = if dataset.images.is_some() { self.dims } else { dataset.x.ncols() };
        let found = shape(dataset.x.nrows(), dims, &dataset.class_counts());
        let known = shape(self.samples, self.dims, &self.class_counts);
        let part = self.part.as_ref();
        let part = part.filter(|part| found == shape(part.samples, self.dims, &part.class_counts));
        if let Some(part) = part {
            let note = format!("a part of the data: {} of {} samples", part.samples, self.samples);
            dataset.notes.push(note);
        } else if found != known && !self.inexact {
            let expected = format!("{known} for `{}`", self.name);
            return Err(bad("", found, expected).in_file(path));
        } else if found != known {
            dataset.notes.push(format!("found {found}, the original has {known}"));
        }
        let known = self.data_sha256.as_ref().filter(|_| part.is_none());
        if let Some(expected) = known.filter(|hash| **hash != dataset.hash) {
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
        let file = raw(path)?;
        let known = |found: &str| copies.iter().find(|(hash, _)| found.starts_with(*hash));
        let found = hex(&Sha256::digest(&file));
        // A copy may be packed or unpacked.
        let unpacked = || unpack(file).map(|file| hex(&Sha256::digest(file))).unwrap_or_default();
        if let Some((_, copy)) = known(&found).or_else(|| known(&unpacked())) {
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
