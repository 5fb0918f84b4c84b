//! `merge`: the ledgers of results folders and of their shards, joined into one ledger.
//!
//! Records are only ever appended, and only those that the joined ledger lacks or has a worse one of,
//! so merging again changes nothing, and merging while shards still run does no harm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::join::Joined;
use super::replace::is_temporary;
use super::{Contents, Embedding, FILE, Plan, TRACES, Writer, ledgers, provenance, read, replace};

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
    Other { first: PathBuf, ours: String, folder: PathBuf, theirs: String },
    #[error("a run is writing to {}", .0.display())]
    #[diagnostic(help("wait for it to end; runs of shards need not be waited for"))]
    Locked(PathBuf),
    #[error("failed to read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write to {}: {source}{}", .path.display(), super::remedy(source))]
    Write { path: PathBuf, source: io::Error },
}

/// Joins all ledgers of `folders` into the one of `into`, which may be one of them.
pub fn merge(folders: &[PathBuf], into: &Path) -> Result<Merged, MergeError> {
    let plan = common_plan(folders, into)?;
    let write_error = |source| MergeError::Write { path: into.to_path_buf(), source };
    fs::create_dir_all(into).map_err(write_error)?;
    let target = into.join(FILE);
    let mut writer = Writer::open(&target)
        .map_err(write_error)?
        .ok_or_else(|| MergeError::Locked(into.to_path_buf()))?;
    let mut merged = Merged::default();
    let mut joined = Joined::default();
    let mut added = vec![];
    for path in sources(folders, &target)? {
        let contents =
            read(&path).map_err(|source| MergeError::Read { path: path.clone(), source })?;
        refuse_other(&plan, &path, &contents)?;
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
        join_descriptions(folder, into).map_err(write_error)?;
    }
    write_plan(&plan, into).map_err(write_error)?;
    Ok(merged)
}

/// A folder without a plan may still hold records of another experiment.
fn refuse_other(plan: &Plan, ledger: &Path, contents: &Contents) -> Result<(), MergeError> {
    match contents.records.first() {
        Some(record) if record.experiment != plan.experiment.name => Err(MergeError::Other {
            first: ledger.to_path_buf(),
            ours: record.experiment.clone(),
            folder: PathBuf::from(Plan::FILE),
            theirs: plan.experiment.name.clone(),
        }),
        _ => Ok(()),
    }
}

/// The ledger that is appended to, then all others.
fn sources(folders: &[PathBuf], target: &Path) -> Result<Vec<PathBuf>, MergeError> {
    let mut sources = vec![target.to_path_buf()];
    for folder in folders {
        let found =
            ledgers(folder).map_err(|source| MergeError::Read { path: folder.clone(), source })?;
        sources.extend(found.into_iter().filter(|path| path != target));
    }
    Ok(sources)
}

/// The plan of the joined folder: that of `into` if it has one, else the widest one. A dataset that it knows nothing
/// about, because no machine that ran it had the data, takes its row and its cells from another folder.
fn common_plan(folders: &[PathBuf], into: &Path) -> Result<Plan, MergeError> {
    let mut plans: Vec<(&Path, Plan)> = Vec::new();
    let has_plan = into.join(Plan::FILE).exists();
    let target = has_plan.then_some(into).into_iter();
    for folder in target.chain(folders.iter().map(PathBuf::as_path)) {
        if !folder.is_dir() {
            return Err(MergeError::NoFolder(folder.to_path_buf()));
        }
        let plan = Plan::read(folder).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => MergeError::NoPlan(folder.to_path_buf()),
            _ => MergeError::Read { path: folder.join(Plan::FILE), source },
        })?;
        match plans.first() {
            Some((first, ours)) if ours.experiment.name != plan.experiment.name => {
                return Err(MergeError::Other {
                    first: first.to_path_buf(),
                    ours: ours.experiment.name.clone(),
                    folder: folder.to_path_buf(),
                    theirs: plan.experiment.name,
                });
            }
            _ => plans.push((folder, plan)),
        }
    }
    let mut plans: Vec<Plan> = plans.into_iter().map(|(_, plan)| plan).collect();
    // A new folder starts from the widest plan.
    if !has_plan {
        plans.sort_by_key(|plan| std::cmp::Reverse(plan.cells.len()));
    }
    let mut plans = plans.into_iter();
    let plan = plans.next();
    let mut plan = plan.ok_or_else(|| MergeError::NoFolder(PathBuf::new()))?;
    for other in plans {
        plan.learn_from(&other);
        plan.remember(&other);
    }
    Ok(plan)
}

fn write_plan(plan: &Plan, into: &Path) -> io::Result<()> {
    if Plan::read(into).is_ok_and(|present| present.describes(plan)) {
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
        let is_whole = entry.file_type()?.is_file() && !is_temporary(&target);
        if is_whole && !target.exists() {
            replace(&target, &fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// Adds what a folder and its shards know about how to repeat the run.
fn join_descriptions(from: &Path, into: &Path) -> io::Result<()> {
    let (source, target) = (from.join(provenance::SPEC), into.join(provenance::SPEC));
    if source.is_file() && !target.exists() {
        replace(&target, &fs::read(source)?)?;
    }
    provenance::join_splits(&from.join(provenance::SPLITS), &into.join(provenance::SPLITS))?;
    let target = into.join(provenance::FILE);
    provenance::join_runs(&from.join(provenance::FILE), &target)?;
    for shard in ledgers(from)?.iter().skip(1) {
        let shard = shard.with_extension(provenance::FILE);
        provenance::join_runs(&shard, &target)?;
    }
    Ok(())
}
