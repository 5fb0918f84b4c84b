//! Files that are replaced whole or not at all, even if the program is killed, the disk is full or the power fails.
//!
//! The new bytes go into a temporary file in the same folder and onto the disk. Only then the file gets its name,
//! and the folder is synced, so that the name lasts too. A writer locks its temporary file. So a file
//! in use differs from one that a killed program left, which [`remove_leftovers`] removes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tempfile::NamedTempFile;

use crate::error::Error;

/// How the names of temporary files begin.
const PREFIX: &str = ".replacing-";

/// Replaces the file at `path` whole or not at all, and makes the folder it needs.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace_all([(path, bytes)])
}

/// Replaces the file at `path` by `value` as indented JSON, whole or not at all.
pub fn replace_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    replace(path, &json(value))
}

/// `value` as the program writes JSON: indented, with a line end.
pub fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("the values can be written as JSON");
    text.push(b'\n');
    text
}

/// Replaces each file whole or not at all, in order, and makes the folders they need. All are on the disk at the end.
pub fn replace_all<'a>(files: impl IntoIterator<Item = (&'a Path, &'a [u8])>) -> Result<(), Error> {
    let mut folders = BTreeSet::new();
    for (path, bytes) in files {
        let folder = parent(path);
        if !folder.is_dir() {
            folders.insert(parent(folder));
        }
        folders.insert(folder);
        fs::create_dir_all(folder)
            .and_then(|()| rename_filled(path, bytes))
            .map_err(Error::cannot("write", path))?;
    }
    folders.into_iter().try_for_each(sync_folder)
}

/// The bytes of the file at `path`, if there is one.
pub fn read_present(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(Error::cannot("read", path)),
    }
}

/// Removes the file at `path`, if there is one.
pub fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => {
            removed.map_err(Error::cannot("remove", path)).and_then(|()| sync_folder(parent(path)))
        }
    }
}

/// Removes the temporary files in `folder` that no process writes any more. One that stays does no harm.
pub fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !is_temporary(&entry.path()) {
            continue;
        }
        // Its writer, if it lives, has the lock. Where a file system has no locks, nothing is removed.
        let Ok(file) = File::options().write(true).open(entry.path()) else {
            continue;
        };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether `path` is a temporary file of this module.
pub(super) fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

/// Keeps other processes from changing the plan of the results folder `dir`, or from rendering into it, until the result
/// is dropped. `None` where a folder cannot be locked.
pub fn lock(dir: &Path) -> Option<File> {
    let folder = File::open(dir).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Syncs a folder, so that the names of its files last.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some systems and file systems cannot do this, nor is it possible for a folder that may not be read.
        Err(error) if [InvalidInput, PermissionDenied, Unsupported].contains(&error.kind()) => {
            Ok(())
        }
        synced => synced.map_err(Error::cannot("write to", folder)),
    }
}

/// Writes a temporary file and gives it the name `path`.
fn rename_filled(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = temporary(parent(path))?;
    fill(temporary.as_file_mut(), bytes)?;
    temporary.persist(path)?;
    Ok(())
}

fn fill(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    // Tests end the program here or fill the disk.
    #[cfg(feature = "failpoints")]
    fail::fail_point!("replace", |what| match what.as_deref() {
        Some("kill") => std::process::abort(),
        _ => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
    });
    file.sync_all()
}

/// A new file in `folder`, locked.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    // Others may read the file, as any that the program writes.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    loop {
        let file = builder.tempfile_in(folder)?;
        // Where a file system has no locks, nobody removes the file either.
        let _ = file.as_file().lock();
        // Between the two lines above, another process may have taken the file for a leftover.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// The folder of a file.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_nobody_writes_are_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at(".replacing-left"), "half a ta").unwrap();
        fs::write(at("table.md"), "a table").unwrap();
        let in_use = temporary(folder.path()).unwrap();
        remove_leftovers(folder.path());
        assert!(!at(".replacing-left").exists());
        assert!(at("table.md").exists() && in_use.path().exists());
        let left = in_use.into_temp_path().keep().unwrap();
        remove_leftovers(folder.path());
        assert!(!left.exists());
    }

    #[test]
    fn an_error_leaves_the_file_as_it_was_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        // A folder cannot be replaced by a file.
        let path = folder.path().join("table.md");
        fs::create_dir(&path).unwrap();
        let error = replace(&path, b"a table").unwrap_err().to_string();
        assert!(!error.contains(PREFIX), "{error}");
        assert!(path.is_dir());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn writers_at_the_same_time_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.md");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        replace(&path, b"a table").unwrap();
                        remove_leftovers(folder.path());
                    }
                });
            }
        });
        assert_eq!(fs::read(&path).unwrap(), b"a table");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
