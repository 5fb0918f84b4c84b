//! `render DIR...`: every table, figure and page again from the ledgers; nothing is fitted.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use npsvcpp::ledger::Plan;
use npsvcpp::render;
use npsvcpp::run::is_set_aside;

use super::{Ending, Failure, terminal};
use crate::output::{note, show};

pub fn render(folders: &[PathBuf], quiet: bool) -> Result<Ending, Failure> {
    let mut rendered = Vec::new();
    for folder in results(folders) {
        let found = render::folder(folder)?;
        for warning in &found.warnings {
            note!("warning: {warning}");
        }
        if !quiet {
            show!("{}", terminal(&found.summary));
            show_files(&found.files);
        }
        rendered.push((folder.to_path_buf(), found.summary));
    }
    if rendered.len() > 1 {
        index(rendered, quiet)?;
    }
    Ok(Ending::Complete)
}

/// The folders to render. `results/*` also names files, such as the index page, and results that `run --fresh` moved
/// aside.
fn results(named: &[PathBuf]) -> Vec<&Path> {
    let several = named.len() > 1;
    let kept = named
        .iter()
        .filter(|path| !(is_set_aside(path) || several && path.is_file()));
    kept.map(PathBuf::as_path).collect()
}

/// Writes the page over all experiments next to the rendered ones, so that rendering some of them takes none away.
fn index(mut rendered: Vec<(PathBuf, render::Summary)>, quiet: bool) -> Result<(), Failure> {
    let parent = |path: &Path| {
        std::path::absolute(path)
            .ok()?
            .parent()
            .map(Path::to_path_buf)
    };
    let parents: BTreeSet<_> = rendered.iter().map(|(path, _)| parent(path)).collect();
    if parents.len() > 1 {
        note!("no index page: these folders do not lie in one folder");
        return Ok(());
    }
    let named: BTreeSet<_> = rendered.iter().map(|(path, _)| name(path)).collect();
    // As the user wrote it, so that messages name the folders in the same way.
    let folder = rendered[0]
        .0
        .parent()
        .unwrap_or(Path::new(""))
        .to_path_buf();
    let listed = parents.first().cloned().flatten().map(std::fs::read_dir);
    for entry in listed.into_iter().flatten().flatten().flatten() {
        let path = folder.join(entry.file_name());
        let is_other = !named.contains(&name(&path)) && !is_set_aside(&path);
        if is_other && path.join(Plan::FILE).is_file() {
            match render::read(&path) {
                Ok((summary, _)) => rendered.push((path, summary)),
                Err(error) => note!("not in the index page: {error}"),
            }
        }
    }
    rendered.sort_by_key(|(path, _)| name(path));
    let folders: Vec<_> = (rendered.iter())
        .map(|(path, summary)| (path.as_path(), summary))
        .collect();
    let files = render::index(&folders)?;
    if !quiet {
        show_files(&files);
    }
    Ok(())
}

fn name(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_owned()
}

/// Says which files were written and how many did not need it.
fn show_files(files: &render::Files) {
    for file in &files.written {
        show!("wrote {}", file.display());
    }
    let written = |file: &&PathBuf| files.written.contains(file);
    match files.all.len() - files.all.iter().filter(written).count() {
        0 => {}
        1 => show!("1 file is up to date"),
        several => show!("{several} files are up to date"),
    }
}
