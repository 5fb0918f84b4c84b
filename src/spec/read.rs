//! Reading spec files.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::phrase::{did_you_mean, name_of};
use super::problem::SpecError;
use super::{Spec, parse};
use crate::wording::closest;

/// No experiment is longer; a dataset given by mistake is.
const LARGEST: u64 = 1 << 20;

/// Reads the spec at `path`.
pub fn load(path: &Path) -> Result<Spec, SpecError> {
    let name = path.display().to_string();
    let fail = |message: String, help| SpecError::of_file(&name, message, help);
    let bytes = read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => fail("there is no such file".into(), other_file(path)),
        ErrorKind::IsADirectory => {
            let message = "this is a folder, expected the YAML file of an experiment";
            fail(message.into(), None)
        }
        _ => fail(format!("cannot be read: {error}"), None),
    })?;
    if bytes.len() as u64 > LARGEST {
        let message = format!(
            "the file is larger than {} KiB, expected the YAML file of an experiment",
            LARGEST >> 10
        );
        return Err(fail(message, None));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        fail(format!("the file is not UTF-8 text, the first bad byte is in line {line}"), None)
    })?;
    parse(&text, &name)
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

/// A spec of the same folder whose name, with or without its extension, is close to that of `path`.
fn other_file(path: &Path) -> Option<String> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let Ok(entries) = fs::read_dir(folder) else {
        let folder = name_of(&folder.display().to_string());
        return Some(format!("the folder {folder} cannot be read"));
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_spec = |name: &String| name.ends_with(".yaml") || name.ends_with(".yml");
    let mut names: Vec<String> = names.filter(is_spec).collect();
    names.sort();
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let wanted = path.file_name()?.to_string_lossy();
    let stems: Vec<String> = names.iter().map(|name| stem(name)).collect();
    let by_stem = || {
        let found = closest(&stem(&wanted), stems.iter().map(String::as_str))?;
        names.get(stems.iter().position(|stem| stem == found)?).map(String::as_str)
    };
    let found = closest(&wanted, names.iter().map(String::as_str)).or_else(by_stem)?;
    Some(did_you_mean(&path.with_file_name(found).display().to_string()))
}
