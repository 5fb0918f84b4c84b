//! Errors of data, in sentences that name the file, the place and the remedy.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Why a dataset could not be found, read or split.
///
/// After [`DataError::Unavailable`] and [`DataError::Unencodable`] only the cells of that dataset do not run. All
/// others refuse the run before any computation.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum DataError {
    /// The name is not in the registry.
    #[error("there is no dataset `{name}`{hint}")]
    #[diagnostic(help("known datasets: {known}"))]
    Unknown { name: String, hint: String, known: String },
    /// Not on this machine, and it cannot be downloaded.
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
    /// The run is for other datasets.
    #[error("`{dataset}` is not read, because --only chose other datasets")]
    LeftOut { dataset: String },
    /// The operating system would not read it.
    #[error("failed to read {}: {source}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The content does not have the right format, or is not the dataset.
    #[error("{}{bad}", .path.display())]
    Content { path: PathBuf, bad: BadContent },
    /// Images that cannot be read, or an encoder that cannot be used for them.
    #[error("the images of `{dataset}` cannot be encoded: {problem}")]
    Unencodable {
        dataset: String,
        problem: String,
        /// The file at fault, if it is a file.
        path: Option<PathBuf>,
    },
    /// The spec asks for what the dataset does not have; `key` is what asks.
    #[error("dataset `{dataset}`: {problem}")]
    Unfit { dataset: String, key: &'static str, problem: String },
}

impl DataError {
    /// Whether a registered dataset is not on this machine and could not be downloaded.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Whether the dataset is not among those that a run is for.
    pub fn is_left_out(&self) -> bool {
        matches!(self, Self::LeftOut { .. })
    }

    /// Whether only the cells of this dataset cannot run.
    pub fn spares_other_datasets(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Unencodable { .. } | Self::LeftOut { .. })
    }

    /// Whether a file that a spec names does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// The file at fault, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. } | Self::Content { path, .. } => Some(path),
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

    pub(crate) fn unfit(dataset: &str, key: &'static str, problem: impl Display) -> Self {
        Self::Unfit { dataset: dataset.to_owned(), key, problem: problem.to_string() }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }
}

/// The result of a parser.
pub(crate) type Parsed<T> = Result<T, BadContent>;

/// What is wrong with the content of a file, from a parser, which does not know the file.
#[derive(Debug, thiserror::Error)]
#[error("{place}: found {found}, expected {expected}")]
pub struct BadContent {
    place: String,
    found: String,
    expected: String,
}

/// The error for a file, or the data in it, with an unexpected hash.
pub(crate) fn bad_hash(of: &str, found: &str, expected: &str) -> BadContent {
    let found = format!("{of} with SHA-256 {found}");
    bad("", found, format_args!("{expected}; remove the file and fetch it again"))
}

/// The error at a place in a file. The place follows the file's name, such as `:7` for a line; it is empty
/// for the file as a whole.
pub(crate) fn bad(place: impl Display, found: impl Display, expected: impl Display) -> BadContent {
    let (place, found, expected) = (place.to_string(), found.to_string(), expected.to_string());
    BadContent { place, found, expected }
}

/// The error if only other names are `present`.
pub(crate) fn absent<'a>(
    wanted: impl Display,
    present: impl Iterator<Item = &'a str>,
) -> BadContent {
    let names: Vec<_> = present.take(20).map(|name| quote(name.as_bytes())).collect();
    match names.is_empty() {
        true => bad("", "nothing", wanted),
        false => bad("", format_args!("only {}", names.join(", ")), wanted),
    }
}

/// The place of a variable of a file.
pub(crate) fn place_of(name: &str) -> String {
    format!(", variable `{name}`")
}

impl BadContent {
    /// The same with another remedy.
    pub(crate) fn or_else(mut self, remedy: &str) -> Self {
        self.expected += &format!("; {remedy}");
        self
    }

    /// The same about another place.
    pub(crate) fn at(self, place: String) -> Self {
        Self { place, ..self }
    }

    pub(crate) fn in_file(self, path: &Path) -> DataError {
        DataError::Content { path: path.to_path_buf(), bad: self }
    }
}

/// Bytes of a file for a message: quoted, and cut if they are long.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    let clean: String = text.chars().take(SHOWN).map(escape).collect();
    let rest = if text.chars().count() > SHOWN { "..." } else { "" };
    format!("`{clean}{rest}`")
}
