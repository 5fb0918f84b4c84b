//! What can be wrong with data, in sentences that name the file, the place and the remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::wording::closest;

/// Why a dataset could not be had, read or split.
///
/// After [`DataError::Unavailable`] and [`DataError::Unencodable`] only the cells of that dataset do not run. All
/// others refuse the run before any computation.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum DataError {
    /// The name is not in the registry.
    #[error("there is no dataset `{name}`{}", hint(.suggestion))]
    #[diagnostic(help("known datasets: {known}"))]
    Unknown { name: String, suggestion: Option<String>, known: String },
    /// Not on this machine, and not to be downloaded.
    #[error("dataset `{dataset}` is not available: {reason}; {remedy}")]
    Unavailable {
        dataset: String,
        /// What is missing and why it was not downloaded.
        reason: String,
        /// Where to get it and where to put it.
        remedy: String,
        /// The official address, or several.
        address: String,
    },
    /// The operating system would not read it.
    #[error("failed to read {}: {source}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The content is not what its format or the dataset demands.
    #[error("{}{bad}", .path.display())]
    Content { path: PathBuf, bad: BadContent },
    /// A file, or the data in it, is not the one the manifest pins.
    #[error("{}: {what} has SHA-256 {found}, expected {expected}", .path.display())]
    #[diagnostic(help("remove the file and fetch it again, or use a copy with the expected hash"))]
    Hash {
        path: PathBuf,
        /// `the file` or `the data read from it`.
        what: &'static str,
        found: String,
        expected: String,
    },
    /// Images of which no vectors can be made.
    #[error("the images of `{dataset}` cannot be encoded: {problem}")]
    Encoder { dataset: String, problem: String },
    /// Images that cannot be read, or an encoder that cannot be used for them.
    #[error("the images of `{dataset}` cannot be encoded: {problem}")]
    Unencodable {
        dataset: String,
        problem: String,
        /// The file that is to blame, if it is one.
        path: Option<PathBuf>,
    },
    /// A part that would be larger than the whole.
    #[error("`subsample` is {size}, but dataset `{dataset}` has only {samples} {kind}")]
    #[diagnostic(help("leave `subsample` out to use all of them"))]
    Subsample {
        dataset: String,
        size: usize,
        samples: usize,
        /// `samples`, or `training samples` of data with a split of its own.
        kind: &'static str,
    },
    /// A split, part or fold that the data cannot give.
    #[error("dataset `{dataset}` cannot be split: {problem}")]
    Split { dataset: String, problem: String },
}

fn hint(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

/// Where in a file something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A position in text, both counted from 1; columns count bytes.
    Text { line: u64, column: usize },
    /// A line of a table, counted from 1.
    Line(u64),
    /// A field of a table; lines and fields are counted from 1.
    Field { line: u64, field: usize },
    /// A position in a binary file, counted from 0.
    Byte(u64),
    /// An array of a MAT or npz file.
    Variable(String),
    /// An entry of a matrix, both counted from 1.
    Entry { row: usize, column: usize },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Text { line, column } => write!(f, ":{line}:{column}"),
            Self::Line(line) => write!(f, ":{line}"),
            Self::Field { line, field } => write!(f, ":{line}, field {field}"),
            Self::Byte(offset) => write!(f, ", byte {offset}"),
            Self::Variable(name) => write!(f, ", variable `{name}`"),
            Self::Entry { row, column } => write!(f, ", row {row}, column {column}"),
        }
    }
}

impl DataError {
    /// Whether a registered dataset is not on this machine and could not be downloaded.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Whether only the cells of this dataset cannot run.
    pub fn spares_other_datasets(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Unencodable { .. })
    }

    /// Whether a file that a spec names does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// The file it is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. } | Self::Content { path, .. } | Self::Hash { path, .. } => {
                Some(path)
            }
            Self::Unencodable { path, .. } => path.as_deref(),
            _ => None,
        }
    }

    /// The sentence as it may be stored and published: without the folders of this machine.
    pub fn for_the_record(&self) -> String {
        match self {
            Self::Unavailable { dataset, address, .. } => {
                format!("no copy of `{dataset}` on this machine; get it from {address}")
            }
            Self::Unencodable { path: Some(path), .. } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                (self.to_string()).replace(&path.display().to_string(), &name)
            }
            other => other.to_string(),
        }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }

    /// About the content of a file as a whole.
    pub(crate) fn content(
        path: &Path,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        BadContent::file(found, expected).in_file(path)
    }

    pub(crate) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self::Unknown {
            name: name.to_owned(),
            suggestion: closest(name, known.clone()).map(str::to_owned),
            known: known.collect::<Vec<_>>().join(", "),
        }
    }
}

/// What is wrong with the content of a file, from a parser, which does not know the file.
#[derive(Debug, thiserror::Error)]
#[error("{place}: found {found}, expected {expected}")]
pub struct BadContent {
    place: Place,
    found: String,
    expected: String,
}

impl BadContent {
    pub(crate) fn new(place: Place, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { place, found: found.into(), expected: expected.into() }
    }

    /// About the file as a whole.
    pub(crate) fn file(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(Place::File, found, expected)
    }

    /// About a variable of the file.
    pub(crate) fn variable(
        name: &str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::new(Place::Variable(name.to_owned()), found, expected)
    }

    /// The same about an array of an archive, whatever place it has in the array's own file.
    pub(crate) fn in_array(self, name: &str) -> Self {
        Self::variable(name, self.found, self.expected)
    }

    pub(crate) fn in_file(self, path: &Path) -> DataError {
        DataError::Content { path: path.to_path_buf(), bad: self }
    }
}

/// Bytes of a file as they may be shown: quoted, and cut where they are long.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    let clean: String = text
        .chars()
        .take(SHOWN)
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect();
    let rest = if text.chars().count() > SHOWN { "..." } else { "" };
    format!("`{clean}{rest}`")
}
