//! `merge`: the ledgers of results folders and of their shards, joined into one ledger.
//!
//! Records are only ever appended, and only those that the joined ledger lacks or has a worse one of,
//! so merging again changes nothing, and merging while shards still run does no harm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use indexmap::IndexSet;

use super::replace::is_temporary;
use super::{Embedding, FILE, Ledger, Plan, TRACES, Writer, ledgers, provenance, replace};
use crate::error::Error;

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

/// Joins all ledgers of `folders` into the one of `into`, which may be one of them.
pub fn merge(folders: &[PathBuf], into: &Path) -> Result<Merged, Error> {
    let plan = common_plan(folders, into)?;
    let write_error = |source: io::Error| {
        let remedy = super::remedy(&source);
        Error::failed(format!("failed to write to {}: {source}{remedy}", into.display()))
    };
    fs::create_dir_all(into).map_err(write_error)?;
    let target = into.join(FILE);
    let mut writer = Writer::open(&target).map_err(write_error)?.ok_or_else(|| {
        Error::input(format!("a run is writing to {}", into.display()))
            .with_help("wait for it to end; runs of shards need not be waited for")
    })?;
    let own = read(&plan, &target)?;
    let mut merged = Merged { ledgers: usize::from(target.exists()), ..Merged::default() };
    let (mut ledger, mut added) = (own, IndexSet::new());
    for path in sources(folders, &target)? {
        let theirs = read(&plan, &path)?;
        merged.ledgers += usize::from(path.exists());
        ledger.warnings.extend(theirs.warnings.iter().cloned());
        for record in theirs.into_records() {
            let cell = record.cell.clone();
            if ledger.improve(record) {
                added.insert(cell);
            }
        }
    }
    merged.added = added.len();
    merged.cells = ledger.records().len();
    let records = added.iter().filter_map(|cell| ledger.get(cell));
    writer.append_all(records).map_err(write_error)?;
    merged.warnings = ledger.warnings;
    for folder in folders {
        for kind in [TRACES, Embedding::FOLDER] {
            copy_files(&folder.join(kind), &into.join(kind)).map_err(write_error)?;
        }
        join_descriptions(folder, into).map_err(write_error)?;
    }
    write_plan(&plan, into).map_err(write_error)?;
    Ok(merged)
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::failed(format!("failed to read {}: {error}", path.display()))
}

/// Two folders, or what is in them, and the names of their experiments.
fn others((first, ours): (&Path, &str), (folder, theirs): (&Path, &str)) -> Error {
    let (folder, first) = (folder.display(), first.display());
    Error::input(format!("{folder} holds the experiment `{theirs}`, but {first} holds `{ours}`"))
        .with_help("merge folders of one experiment at a time")
}

/// One ledger of the experiment; a folder without a plan may still hold records of another.
fn read(plan: &Plan, path: &Path) -> Result<Ledger, Error> {
    let ledger = Ledger::read_file(path).map_err(|error| unreadable(path, &error))?;
    let ours = &plan.experiment.name;
    if let Some(record) = ledger.records().next()
        && record.experiment != *ours
    {
        return Err(others((path, &record.experiment), (Path::new(Plan::FILE), ours)));
    }
    Ok(ledger)
}

/// The ledgers of these folders, except the one that is appended to.
fn sources(folders: &[PathBuf], target: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut sources = Vec::new();
    for folder in folders {
        let found = ledgers(folder).map_err(|error| unreadable(folder, &error))?;
        sources.extend(found.into_iter().filter(|path| path != target));
    }
    Ok(sources)
}

/// The plan of the joined folder: that of `into` if it has one, else the widest one. A dataset that it knows nothing
/// about, because no machine that ran it had the data, takes its row and its cells from another folder.
fn common_plan(folders: &[PathBuf], into: &Path) -> Result<Plan, Error> {
    let mut plans: Vec<(&Path, Plan)> = Vec::new();
    let has_plan = into.join(Plan::FILE).exists();
    let target = has_plan.then_some(into).into_iter();
    for folder in target.chain(folders.iter().map(PathBuf::as_path)) {
        if !folder.is_dir() {
            return Err(Error::input(format!("there is no folder {}", folder.display())));
        }
        let plan = Plan::read(folder).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::input(format!(
                "{} has no {}, so it is not the results folder of a run",
                folder.display(),
                Plan::FILE
            )),
            _ => unreadable(&folder.join(Plan::FILE), &source),
        })?;
        match plans.first() {
            Some((first, ours)) if ours.experiment.name != plan.experiment.name => {
                return Err(others(
                    (first, &ours.experiment.name),
                    (folder, &plan.experiment.name),
                ));
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
    let mut plan = plan.ok_or_else(|| Error::input("no folder to merge"))?;
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
