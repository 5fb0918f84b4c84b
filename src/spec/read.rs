//! Reading spec files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::phrase::{did_you_mean, name_of};
use super::problem::{Problem, SpecError};
use super::{Catalogue, Loaded, parse};
use crate::wording::closest;

/// No experiment is longer; a dataset given by mistake is.
const LARGEST: u64 = 1 << 20;

/// Reads the spec at `path`.
pub fn load(path: &Path, catalogue: &Catalogue) -> Result<Loaded, SpecError> {
    let name = path.display().to_string();
    let fail = |message: String, help| SpecError::from(Problem::of_file(&name, message, help));
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(fail("there is no such file".into(), other_file(path)));
        }
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            let message = "this is a folder, expected the YAML file of an experiment";
            return Err(fail(message.into(), None));
        }
        Err(error) => return Err(fail(format!("cannot be read: {error}"), None)),
    };
    if bytes.len() as u64 > LARGEST {
        let message = format!(
            "the file is larger than {} KiB, expected the YAML file of an experiment",
            LARGEST >> 10
        );
        return Err(fail(message, None));
    }
    match String::from_utf8(bytes) {
        Ok(text) => parse(&text, &name, catalogue),
        Err(error) => {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
            let message =
                format!("the file is not UTF-8 text, the first bad byte is in line {line}");
            Err(fail(message, None))
        }
    }
}

/// The file's bytes, at most one more than [`LARGEST`].
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file of the same folder whose name, with or without its extension, is close to that of `path`.
fn other_file(path: &Path) -> Option<String> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let Ok(entries) = fs::read_dir(folder) else {
        return Some(format!(
            "the folder {} cannot be read",
            name_of(&folder.display().to_string())
        ));
    };
    let is_spec = |path: &Path| path.extension().is_some_and(|e| e == "yaml" || e == "yml");
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|p| is_spec(p)).collect();
    files.sort();
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (wanted, stem) = (text(path.file_name()), text(path.file_stem()));
    let names: Vec<_> =
        files.iter().map(|file| (text(file.file_name()), text(file.file_stem()))).collect();
    let by_name = closest(&wanted, names.iter().map(|(name, _)| name.as_str()));
    let by_stem = || closest(&stem, names.iter().map(|(_, stem)| stem.as_str()));
    let found = by_name.or_else(by_stem)?;
    let index = names.iter().position(|(name, stem)| name == found || stem == found)?;
    let other = path.with_file_name(&names[index].0);
    Some(did_you_mean(&other.display().to_string()))
}
