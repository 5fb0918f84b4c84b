//! `render DIR...`: every table, figure and page again from the ledgers; nothing is fitted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use npsvcpp::Exit;
use npsvcpp::analyse::Summary;
use npsvcpp::ledger::Plan;
use npsvcpp::render;
use npsvcpp::run::is_set_aside;

use super::{Failure, terminal, warn};
use crate::output::{note, show};

pub fn render(folders: &[PathBuf], quiet: bool) -> Result<Exit, Failure> {
    let mut rendered = Vec::new();
    for folder in folders.iter().filter(|folder| is_set_aside(folder)) {
        note!("skipped {}: `run --fresh` moved it aside", folder.display());
    }
    for folder in results(folders) {
        let found = render::folder(folder)?;
        warn(&found.warnings);
        if !quiet {
            show!("{}", terminal(&found.summary));
            show_files(&found.files);
        }
        rendered.push((folder.to_path_buf(), found.summary));
    }
    if let [(folder, _)] = &rendered[..] {
        refresh_index(folder)?;
    } else if rendered.len() > 1 {
        index(rendered, quiet)?;
    }
    Ok(Exit::Complete)
}

/// The results folders among those that a user names. `results/*` also names files, such as the index page, and results
/// that `run --fresh` moved aside.
pub fn results(named: &[PathBuf]) -> Vec<&Path> {
    let several = named.len() > 1;
    let kept = named.iter().filter(|path| !(is_set_aside(path) || several && path.is_file()));
    kept.map(PathBuf::as_path).collect()
}

/// Writes the index page again if there is one next to `folder` and it does not show what its experiments say now.
pub fn refresh_index(folder: &Path) -> Result<(), Failure> {
    let parent = folder.parent().unwrap_or(Path::new(""));
    if !render::indexed(parent).is_empty() && !render::is_index_current(parent) {
        write_index(parent, BTreeMap::new())?;
    }
    Ok(())
}

/// Writes an index page next to the rendered folders.
fn index(rendered: Vec<(PathBuf, Summary)>, quiet: bool) -> Result<(), Failure> {
    let first = rendered[0].0.clone();
    let (mut parents, mut experiments) = (BTreeSet::new(), BTreeMap::new());
    for (folder, summary) in rendered {
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        parents.insert(folder.parent().unwrap_or(&folder).to_path_buf());
        let name = folder.file_name().unwrap_or_default();
        experiments.insert(name.to_string_lossy().into_owned(), summary);
    }
    if parents.len() > 1 {
        note!("no index page: the folders have different parents");
        return Ok(());
    }
    // As the user wrote it, where that names a folder and not the way to one.
    let parent = first.file_name().and_then(|_| first.parent()).map(Path::to_path_buf);
    let parent = parent.or_else(|| parents.pop_first()).unwrap_or_default();
    let files = write_index(&parent, experiments)?;
    if !quiet {
        show_files(&files);
    }
    Ok(())
}

/// Writes the index page over these experiments, by the names of their folders, and those that are on it already, so
/// that rendering some of them takes none away.
fn write_index(
    parent: &Path,
    mut experiments: BTreeMap<String, Summary>,
) -> Result<render::Files, Failure> {
    for name in render::indexed(parent) {
        let path = parent.join(&name);
        if experiments.contains_key(&name) || !path.join(Plan::FILE).is_file() {
            continue;
        }
        match render::read(&path) {
            Ok((summary, _)) => _ = experiments.insert(name, summary),
            Err(error) => note!("not on the index page: {error}"),
        }
    }
    let folders: Vec<_> = experiments.iter().map(|(name, of)| (name.clone(), of)).collect();
    Ok(render::index(parent, &folders)?)
}

/// Says which files were written and how many did not need it.
fn show_files(files: &render::Files) {
    for file in &files.written {
        show!("wrote {}", file.display());
    }
    match files.all.iter().filter(|file| !files.written.contains(file)).count() {
        0 => {}
        1 => show!("1 file is up to date"),
        several => show!("{several} files are up to date"),
    }
}
