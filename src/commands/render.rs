//! `render DIR...`: every table, figure and page again from the ledgers; nothing is fitted.

use std::path::{Path, PathBuf};

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
        rendered.push((folder, found.summary));
    }
    if rendered.len() > 1 {
        index(&rendered, quiet)?;
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

fn index(rendered: &[(&Path, render::Summary)], quiet: bool) -> Result<(), Failure> {
    let folders: Vec<_> = rendered
        .iter()
        .map(|(path, summary)| (*path, summary))
        .collect();
    let files = render::index(&folders)?;
    if files.all.is_empty() {
        note!("no index page: these folders do not lie in one folder");
    } else if !quiet {
        show_files(&files);
    }
    Ok(())
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
