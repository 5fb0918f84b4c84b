//! `merge`: the ledgers of results folders and of their shards, joined into one ledger.
//!
//! Records are only ever appended, and only those that the joined ledger lacks or has a worse one of,
//! so merging again changes nothing, and merging while shards still run does no harm.

use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexSet;

use super::plan::Planned;
use super::replace::is_temporary;
use super::{
    Embedding, FILE, Ledger, Plan, TRACES, Writer, ledgers, provenance, read_present, replace,
};
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
    /// One sentence per line that was skipped.
    pub warnings: Vec<String>,
}

/// Joins all ledgers of `folders` into the one of `into`, which may be one of them.
pub fn merge(folders: &[PathBuf], into: &Path) -> Result<Merged, Error> {
    let plan = common_plan(folders, into)?;
    let target = into.join(FILE);
    let mut writer = Writer::open(&target)?.ok_or_else(|| {
        Error::input(format!("a run is writing to {}", into.display()))
            .with_help("wait for it to end; runs of shards need not be waited for")
    })?;
    let planned = Planned::new(&plan);
    let mut joined = read(&planned, &target)?;
    let (mut count, mut added) = (1, IndexSet::new());
    for folder in folders {
        for path in ledgers(folder)?.iter().filter(|path| **path != target) {
            added.extend(joined.join(read(&planned, path)?));
            count += usize::from(path.exists());
        }
    }
    let records = added.iter().filter_map(|cell| joined.get(cell));
    writer.append_all(records)?;
    for folder in folders {
        copy_descriptions(folder, into)?;
    }
    if !Plan::read(into).is_ok_and(|present| present.describes(&plan)) {
        plan.write(into)?;
    }
    let cells = joined.records().len();
    Ok(Merged { ledgers: count, added: added.len(), cells, warnings: joined.warnings() })
}

/// Two folders, or what is in them, and the names of their experiments.
fn others((first, ours): (&Path, &str), (folder, theirs): (&Path, &str)) -> Error {
    let (folder, first) = (folder.display(), first.display());
    Error::input(format!("{folder} holds the experiment `{theirs}`, but {first} holds `{ours}`"))
        .with_help("merge folders of one experiment at a time")
}

/// One ledger of the experiment; a folder without a plan may still hold records of another.
fn read(planned: &Planned<'_>, path: &Path) -> Result<Ledger, Error> {
    let ledger = Ledger::read_file(path, Some(planned))?;
    let ours = &planned.plan.experiment.name;
    if let Some(record) = ledger.records().next()
        && record.experiment != *ours
    {
        return Err(others((Path::new(Plan::FILE), ours), (path, &record.experiment)));
    }
    Ok(ledger)
}

/// The plan of the joined folder: that of `into` if it has one, else the widest one. A dataset that it knows nothing
/// about, because no machine that ran it had the data, takes its row and its cells from another folder.
fn common_plan(folders: &[PathBuf], into: &Path) -> Result<Plan, Error> {
    let has_plan = into.join(Plan::FILE).exists();
    let folders = has_plan.then_some(into).into_iter().chain(folders.iter().map(PathBuf::as_path));
    let plans = folders.map(|folder| Ok((folder, Plan::read(folder)?)));
    let mut plans = plans.collect::<Result<Vec<(&Path, Plan)>, Error>>()?;
    for (folder, plan) in &plans {
        let (first, ours) = &plans[0];
        if plan.experiment.name != ours.experiment.name {
            let ours = (*first, ours.experiment.name.as_str());
            return Err(others(ours, (folder, &plan.experiment.name)));
        }
    }
    // A new folder starts from the widest plan.
    if !has_plan {
        plans.sort_by_key(|(_, plan)| std::cmp::Reverse(plan.cells.len()));
    }
    let mut plans = plans.into_iter().map(|(_, plan)| plan);
    let mut plan = plans.next().ok_or_else(|| Error::input("no folder to merge"))?;
    for other in plans {
        plan.learn_from(&other);
        plan.remember(&other);
    }
    Ok(plan)
}

/// Copies what belongs to records, and what a folder and its shards know about how to repeat the run.
fn copy_descriptions(from: &Path, into: &Path) -> Result<(), Error> {
    for kind in [TRACES, Embedding::FOLDER] {
        // A folder without records of this kind has none to copy.
        for entry in fs::read_dir(from.join(kind)).into_iter().flatten().flatten() {
            copy(&entry.path(), &into.join(kind).join(entry.file_name()))?;
        }
    }
    copy(&from.join(provenance::SPEC), &into.join(provenance::SPEC))?;
    provenance::join_splits(&from.join(provenance::SPLITS), &into.join(provenance::SPLITS))?;
    let target = into.join(provenance::FILE);
    provenance::join_runs(&from.join(provenance::FILE), &target)?;
    for shard in &ledgers(from)?[1..] {
        provenance::join_runs(&shard.with_extension(provenance::FILE), &target)?;
    }
    Ok(())
}

/// Copies a whole file to where there is none.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if to.exists() || is_temporary(from) {
        return Ok(());
    }
    read_present(from)?.map_or(Ok(()), |bytes| replace(to, &bytes))
}
