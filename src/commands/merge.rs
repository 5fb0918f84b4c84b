//! `merge DIR...`: one ledger out of those of several folders and their shards, then tables.

use std::path::{Path, PathBuf};

use npsvcpp::{Error, Exit, ledger, render};

use super::{Failure, refresh_index, terminal, warn};
use crate::output::show;

pub fn merge(folders: &[PathBuf], out: Option<&Path>, quiet: bool) -> Result<Exit, Failure> {
    let first = folders.first().map(PathBuf::as_path);
    let into = out.or(first).ok_or_else(|| Error::input("no folder to merge"))?;
    let merged = ledger::merge(folders, into)?;
    warn(&merged.warnings);
    let rendered = render::folder(into)?;
    refresh_index(into)?;
    if !quiet {
        show!("{}", terminal(&rendered.summary));
        show!(
            "{} ledgers read, {} records added; {} cells are known in {}",
            merged.ledgers,
            merged.added,
            merged.cells,
            into.display()
        );
    }
    Ok(if rendered.summary.counts.is_complete() { Exit::Complete } else { Exit::Incomplete })
}
