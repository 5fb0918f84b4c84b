//! `merge`: the ledgers of results folders and of their shards, joined into one ledger.
//!
//! Records are only ever appended, and only those that the joined ledger lacks or has a worse one of,
//! so merging again changes nothing, and merging while shards still run does no harm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::join::Joined;
use super::{Embedding, FILE, Plan, TRACES, Writer, ledgers, read, replace};

/// What merging did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Ledgers that were read.
    pub ledgers: usize,
    /// Records that were appended.
    pub added: usize,
    /// Cells the joined ledger knows.
    pub cells: usize,
    /// One sentence per line that was passed over.
    pub warnings: Vec<String>,
}

/// Why folders could not be merged.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum MergeError {
    #[error("there is no folder {}", .0.display())]
    NoFolder(PathBuf),
    #[error("{} has no {}, so it is not the results folder of a run", .0.display(), Plan::FILE)]
    NoPlan(PathBuf),
    #[error("{} holds the experiment `{theirs}`, but {} holds `{ours}`", .folder.display(), .first.display())]
    #[diagnostic(help("merge folders of one experiment at a time"))]
    Other {
        first: PathBuf,
        ours: String,
        folder: PathBuf,
        theirs: String,
    },
    #[error("a run is writing to {}", .0.display())]
    #[diagnostic(help("wait for it to end; runs of shards need not be waited for"))]
    Locked(PathBuf),
    #[error("failed to read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write to {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Joins all ledgers of `folders` into the one of `into`, which may be one of them.
pub fn merge(folders: &[PathBuf], into: &Path) -> Result<Merged, MergeError> {
    let plan = common_plan(folders)?;
    let write_error = |source| MergeError::Write {
        path: into.to_path_buf(),
        source,
    };
    fs::create_dir_all(into).map_err(write_error)?;
    let target = into.join(FILE);
    let mut writer = Writer::open(&target)
        .map_err(write_error)?
        .ok_or_else(|| MergeError::Locked(into.to_path_buf()))?;
    let mut merged = Merged::default();
    let mut joined = Joined::default();
    let mut added = vec![];
    for path in sources(folders, &target)? {
        let contents = read(&path).map_err(|source| MergeError::Read {
            path: path.clone(),
            source,
        })?;
        merged.ledgers += usize::from(path.exists());
        merged.warnings.extend(contents.warnings);
        let taken = joined.add(contents.records);
        if path != target {
            added.extend(taken);
        }
    }
    added.sort_unstable();
    added.dedup();
    merged.added = added.len();
    merged.cells = joined.records.len();
    let records = added.iter().map(|&index| &joined.records[index]);
    writer.append_all(records).map_err(write_error)?;
    for folder in folders {
        for kind in [TRACES, Embedding::FOLDER] {
            copy_files(&folder.join(kind), &into.join(kind)).map_err(write_error)?;
        }
        copy_missing(folder, into).map_err(write_error)?;
    }
    write_plan(&plan, into).map_err(write_error)?;
    Ok(merged)
}

/// The ledger that is appended to, then all others.
fn sources(folders: &[PathBuf], target: &Path) -> Result<Vec<PathBuf>, MergeError> {
    let mut sources = vec![target.to_path_buf()];
    for folder in folders {
        let found = ledgers(folder).map_err(|source| MergeError::Read {
            path: folder.clone(),
            source,
        })?;
        sources.extend(found.into_iter().filter(|path| path != target));
    }
    Ok(sources)
}

/// The plan that knows most: a machine that lacked a dataset plans its cells as skipped.
fn common_plan(folders: &[PathBuf]) -> Result<Plan, MergeError> {
    let mut best: Option<(&PathBuf, Plan)> = None;
    for folder in folders {
        if !folder.is_dir() {
            return Err(MergeError::NoFolder(folder.clone()));
        }
        let plan = Plan::read(folder).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => MergeError::NoPlan(folder.clone()),
            _ => MergeError::Read {
                path: folder.join(Plan::FILE),
                source,
            },
        })?;
        let lacking = |plan: &Plan| {
            let datasets = plan.datasets.iter();
            datasets.filter(|d| d.unavailable.is_some()).count()
        };
        match &best {
            Some((first, ours)) if ours.experiment.name != plan.experiment.name => {
                return Err(MergeError::Other {
                    first: (*first).clone(),
                    ours: ours.experiment.name.clone(),
                    folder: folder.clone(),
                    theirs: plan.experiment.name,
                });
            }
            Some((_, ours)) if lacking(ours) <= lacking(&plan) => {}
            _ => best = Some((folder, plan)),
        }
    }
    let (_, plan) = best.ok_or_else(|| MergeError::NoFolder(PathBuf::new()))?;
    Ok(plan)
}

fn write_plan(plan: &Plan, into: &Path) -> io::Result<()> {
    if Plan::read(into).is_ok_and(|present| present == *plan) {
        return Ok(());
    }
    plan.write(into)
}

/// Copies the files of a folder that another lacks.
fn copy_files(from: &Path, into: &Path) -> io::Result<()> {
    if from == into || !from.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = into.join(entry.file_name());
        if entry.file_type()?.is_file() && !target.exists() {
            replace(&target, &fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// What tells how to repeat the run, where the joined folder has none yet.
fn copy_missing(from: &Path, into: &Path) -> io::Result<()> {
    for name in ["spec.yaml", "splits.json", "provenance.json"] {
        let (source, target) = (from.join(name), into.join(name));
        if source.is_file() && !target.exists() {
            replace(&target, &fs::read(source)?)?;
        }
    }
    Ok(())
}
