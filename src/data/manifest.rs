//! Manifests: what is known about a dataset, one YAML file each under `datasets/`.

use std::path::Path;

use serde::Deserialize;

use super::Dataset;
use super::error::{DataError, Place};

/// Everything known about a dataset before it is read.
#[derive(Clone, Debug, Deserialize)]
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
    /// For data without direct download: what to put into its folder, or its files where these are
    /// listed.
    #[serde(default)]
    pub by_hand: Option<String>,
    pub samples: usize,
    pub dims: usize,
    /// For data with a split of its own: the first this many samples are for training.
    #[serde(default)]
    pub train: Option<usize>,
    /// Samples of each class, in class order.
    pub class_counts: Vec<usize>,
    /// Whether copies of another shape are refused; if not, the difference becomes a note.
    #[serde(default = "yes")]
    pub exact: bool,
    /// [`Dataset::hash`], where the values are known beyond doubt.
    #[serde(default)]
    pub data_sha256: Option<String>,
    /// The shape as the paper's Table 2 gives it.
    #[serde(default)]
    pub paper: Option<PaperShape>,
    /// What a reader of results should know.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A file of a dataset.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DataFile {
    pub name: String,
    /// The folder it lies in, where that is not the dataset's own.
    #[serde(default)]
    pub folder: Option<String>,
    /// The official address; none for data that is put there by hand.
    #[serde(default)]
    pub url: String,
    /// Copies that were seen, by hash.
    #[serde(default)]
    pub copies: Vec<Copy>,
    /// Whether these copies are the only right ones. If not, another hash is only noted, and shape
    /// and class counts decide.
    #[serde(default)]
    pub only_these: bool,
}

/// A known copy of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Copy {
    pub sha256: String,
    /// What kind of copy it is.
    pub of: String,
}

/// Training samples plus test samples, dimensions and classes of the paper's Table 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperShape {
    pub samples: usize,
    pub dims: usize,
    pub classes: usize,
}

fn yes() -> bool {
    true
}

impl Manifest {
    /// Reads a manifest.
    pub fn parse(text: &str) -> Result<Self, serde_saphyr::Error> {
        serde_saphyr::from_str(text)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.class_counts.len()
    }

    /// Compares what was read with what is known, and adds notes to `dataset`.
    pub(crate) fn check(&self, dataset: &mut Dataset, path: &Path) -> Result<(), DataError> {
        // Images have the size an encoder wants.
        let dims = match dataset.images {
            Some(_) => self.dims,
            None => dataset.x.ncols(),
        };
        let found = (dataset.x.nrows(), dims, dataset.class_counts());
        let known = (self.samples, self.dims, self.class_counts.clone());
        if found != known {
            let (found, known) = (shape(&found), shape(&known));
            if self.exact {
                let expected = format!("{known} for `{}`", self.name);
                return Err(DataError::content(path, Place::File, found, expected));
            }
            dataset.notes.push(format!("found {found}, the original has {known}"));
        }
        match &self.data_sha256 {
            Some(expected) if *expected != dataset.hash => {
                return Err(DataError::Hash {
                    path: path.to_path_buf(),
                    what: "the data in it",
                    found: dataset.hash.clone(),
                    expected: expected.clone(),
                });
            }
            _ => {}
        }
        dataset.notes.extend(self.paper_note(dataset));
        dataset.notes.extend(self.notes.iter().cloned());
        Ok(())
    }

    fn paper_note(&self, dataset: &Dataset) -> Option<String> {
        let ours = PaperShape {
            samples: dataset.x.nrows(),
            dims: dataset.x.ncols(),
            classes: dataset.classes.len(),
        };
        let paper = self.paper.filter(|paper| *paper != ours)?;
        let words = |s: PaperShape| {
            format!("{} samples x {} features x {} classes", s.samples, s.dims, s.classes)
        };
        Some(format!("{}; the paper lists {}", words(ours), words(paper)))
    }
}

fn shape((samples, dims, counts): &(usize, usize, Vec<usize>)) -> String {
    let sizes: Vec<_> = counts.iter().map(usize::to_string).collect();
    format!(
        "{samples} samples x {dims} features x {} classes (of {} samples)",
        counts.len(),
        sizes.join(", ")
    )
}

impl DataFile {
    /// What is known of a copy with this hash: a note, or an error if only others are right.
    pub(crate) fn recognise(&self, sha256: &str, path: &Path) -> Result<Option<String>, DataError> {
        if let Some(copy) = self.copies.iter().find(|copy| copy.sha256 == sha256) {
            return Ok(Some(format!("{} is {}", self.name, copy.of)));
        }
        if self.only_these {
            let known: Vec<_> = self.copies.iter().map(|copy| copy.sha256.as_str()).collect();
            return Err(DataError::Hash {
                path: path.to_path_buf(),
                what: "the file",
                found: sha256.to_owned(),
                expected: known.join(" or "),
            });
        }
        Ok((!self.copies.is_empty()).then(|| {
            format!(
                "{} (SHA-256 {sha256}) is none of the copies known to the manifest; its shape and \
                 class counts are right",
                self.name
            )
        }))
    }
}
