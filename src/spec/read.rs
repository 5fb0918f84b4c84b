//! Reading spec files.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::phrase::{did_you_mean, name_of};
use super::problem::SpecError;
use super::{Spec, parse};
use crate::wording::closest;

/// No experiment is longer; a dataset given by mistake is.
const LARGEST: u64 = 1 << 20;

/// Reads the spec at `path`.
pub fn load(path: &Path) -> Result<Spec, SpecError> {
    let name = path.display().to_string();
    let fail = |message: String| Err(SpecError::of_file(&name, message, None));
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let message = "there is no such file".to_owned();
            return Err(SpecError::of_file(&name, message, other_file(path)));
        }
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            return fail("this is a folder, expected the YAML file of an experiment".into());
        }
        Err(error) => return fail(format!("cannot be read: {error}")),
    };
    if bytes.len() as u64 > LARGEST {
        let largest = LARGEST >> 10;
        return fail(format!(
            "the file is larger than {largest} KiB, expected the YAML file of an experiment"
        ));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(text, &name),
        Err(error) => {
            let valid = &bytes[..error.valid_up_to()];
            let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
            fail(format!("the file is not UTF-8 text, the first bad byte is in line {line}"))
        }
    }
}

/// The file's bytes, at most one more than [`LARGEST`].
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A spec of the same folder whose name, without its extension, is close to that of `path`.
fn other_file(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|parent| *parent != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    let Ok(specs) = files(folder) else {
        let folder = name_of(&folder.display().to_string());
        return Some(format!("the folder {folder} cannot be read"));
    };
    fn stem(path: &Path) -> Option<&str> {
        path.file_stem()?.to_str()
    }
    let meant = closest(stem(path)?, specs.iter().filter_map(|spec| stem(spec)))?;
    let found = specs.iter().find(|spec| stem(spec) == Some(meant))?;
    Some(did_you_mean(&path.with_file_name(found.file_name()?).display().to_string()))
}

/// The YAML files of a folder, in order.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let is_spec = |path: &PathBuf| path.extension().is_some_and(|it| it == "yaml" || it == "yml");
    let mut paths: Vec<PathBuf> = paths.filter(is_spec).collect();
    paths.sort();
    Ok(paths)
}
