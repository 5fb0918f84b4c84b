//! The ledger: one JSON object per line, append-only, the only source of truth of a results folder.
//!
//! Every line is written whole as its cell ends: a killed program loses nothing. It is synced to the disk
//! at once if its cell took a tenth of a second or more, else together with others, so that a machine that
//! loses power loses only cells that were quickly made. A line that was torn by a crash or edited, or that contradicts
//! the plan, is set aside by the reader and named in its warnings until its cell has a sound line. The writer starts a
//! fresh line after it, so nothing is ever rewritten.
//!
//! A folder may have several ledgers: its own and one per shard. [`Ledger::read`] reads them as one,
//! [`merge()`] joins them. Within a ledger the last record of a cell counts. Between ledgers a success counts more
//! than a failure and a failure more than a skip, and among equals the first ledger's record counts. Times are not
//! compared, because the clocks of machines differ. So the outcome depends neither on clocks nor on how often a
//! ledger is joined.

mod certificate;
mod crc;
mod embedding;
mod merge;
mod plan;
pub mod provenance;
mod record;
mod replace;
mod selection;
#[cfg(test)]
mod tests;
mod writer;

pub use certificate::RecordedCertificate;
pub use embedding::{Cloud, Embedding};
pub use merge::{Merged, merge};
pub use record::{Record, Status};
pub use replace::{
    json, lock, read_present, remove, remove_leftovers, replace, replace_all, replace_json,
};
pub use selection::{Edge, End, Selection, Tried};
pub use writer::{Writer, is_in_use};

pub use crate::plan::{Place, Plan, PlannedCell, PlannedDataset, PlannedMethod, Remembered};

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::data::hex;
use crate::error::Error;
use plan::Planned;

/// Name of the ledger in a results folder.
pub const FILE: &str = "ledger.jsonl";
/// Folder of the shards' ledgers in a results folder.
pub const SHARDS: &str = "shards";
/// Folder of the traces in a results folder: `<cell>.jsonl`, one line per iteration.
pub const TRACES: &str = "traces";

/// Where the trace of a cell is in the results folder `dir`.
pub fn trace_path(dir: &Path, cell: &str) -> PathBuf {
    dir.join(TRACES).join(format!("{cell}.jsonl"))
}

/// The record that counts of every cell.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    records: IndexMap<String, Record>,
    set_aside: Vec<SetAside>,
}

/// A line that does not count.
#[derive(Clone, Debug)]
struct SetAside {
    /// File and line.
    place: String,
    reason: String,
    /// The cell that it names.
    cell: Option<String>,
}

impl Ledger {
    /// What all ledgers of the results folder `dir` say, without records that contradict its plan.
    pub fn read(dir: &Path) -> Result<Self, Error> {
        Self::read_planned(dir, Plan::read(dir).ok().as_ref())
    }

    /// What all ledgers of the results folder `dir` say, without records that contradict `plan`.
    pub fn read_planned(dir: &Path, plan: Option<&Plan>) -> Result<Self, Error> {
        let planned = plan.map(Planned::new);
        let mut ledger = Self::default();
        for path in ledgers(dir)? {
            ledger.join(Self::read_file(&path, planned.as_ref())?);
        }
        Ok(ledger)
    }

    /// Reads one ledger; a missing file is an empty one.
    fn read_file(path: &Path, planned: Option<&Planned<'_>>) -> Result<Self, Error> {
        let mut ledger = Self::default();
        let mut last: HashMap<String, usize> = HashMap::new();
        let mut set_aside = Vec::new();
        let lines = read_present(path)?.unwrap_or_default();
        let lines = Vec::from_iter(lines.split(|&byte| byte == b'\n').enumerate());
        let is_blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
        let lines = lines.into_par_iter().filter(|(_, line)| !is_blank(line));
        let read: Vec<_> = lines.map(|(index, line)| (index, line, Record::parse(line))).collect();
        for (index, line, record) in read {
            let contradiction = |record: &Record| planned?.contradiction(record);
            match record.and_then(|record| contradiction(&record).map_or(Ok(record), Err)) {
                Ok(record) => {
                    last.insert(record.cell.clone(), index);
                    ledger.records.insert(record.cell.clone(), record);
                }
                Err(reason) => {
                    let place = format!("{}:{}", path.display(), index + 1);
                    set_aside.push((index, SetAside { place, reason, cell: record::cell(line) }));
                }
            }
        }
        let was_run_again = |index: usize, line: &SetAside| {
            line.cell.as_ref().and_then(|cell| last.get(cell)).is_some_and(|&last| last > index)
        };
        set_aside.retain(|(index, line)| !was_run_again(*index, line));
        ledger.set_aside = set_aside.into_iter().map(|(_, line)| line).collect();
        Ok(ledger)
    }

    /// Adds a later record of the same ledger.
    pub fn insert(&mut self, record: Record) {
        self.set_aside.retain(|line| line.cell.as_ref() != Some(&record.cell));
        self.records.insert(record.cell.clone(), record);
    }

    /// Adds those records of another ledger that count more than the ones that are there. Gives their cells.
    fn join(&mut self, mut other: Self) -> Vec<String> {
        self.set_aside.retain(|line| !other.has(line));
        other.set_aside.retain(|line| !self.has(line));
        self.set_aside.extend(other.set_aside);
        let mut added = Vec::new();
        for (cell, record) in other.records {
            if self.status(&cell).is_none_or(|status| record.status > status) {
                self.records.insert(cell.clone(), record);
                added.push(cell);
            }
        }
        added
    }

    /// Whether there is a record of the cell of a line that another ledger set aside.
    fn has(&self, line: &SetAside) -> bool {
        line.cell.as_ref().is_some_and(|cell| self.records.contains_key(cell))
    }

    /// A sentence per line that was set aside, unless its cell was run again.
    pub fn warnings(&self) -> Vec<String> {
        let sentence = |line: &SetAside| format!("{}: skipped {}", line.place, line.reason);
        self.set_aside.iter().map(sentence).collect()
    }

    pub fn get(&self, cell: &str) -> Option<&Record> {
        self.records.get(cell)
    }

    /// How a cell ended; `None` if it is missing.
    pub fn status(&self, cell: &str) -> Option<Status> {
        self.get(cell).map(|record| record.status)
    }

    pub fn is_done(&self, cell: &str) -> bool {
        self.status(cell) == Some(Status::Ok)
    }

    /// Whether a run has nothing to do for a cell: it is done, or it failed and should not run again. The reason of a
    /// skip may be gone, such as too small a budget of memory.
    pub fn is_settled(&self, cell: &str, retry_failed: bool) -> bool {
        match self.status(cell) {
            Some(Status::Ok) => true,
            Some(Status::Failed) => !retry_failed,
            Some(Status::Skipped) | None => false,
        }
    }

    pub fn records(&self) -> impl ExactSizeIterator<Item = &Record> {
        self.records.values()
    }

    pub fn into_records(self) -> Vec<Record> {
        self.records.into_values().collect()
    }

    /// How these cells of a plan ended.
    pub fn tally<'a>(&self, cells: impl IntoIterator<Item = &'a PlannedCell>) -> Tally {
        let mut tally = Tally::default();
        cells.into_iter().for_each(|cell| tally.add(self.status(&cell.cell)));
        tally
    }
}

/// How many cells ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub done: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Planned, but not in the ledger.
    pub missing: usize,
}

impl Tally {
    pub fn add(&mut self, status: Option<Status>) {
        match status {
            Some(Status::Ok) => self.done += 1,
            Some(Status::Failed) => self.failed += 1,
            Some(Status::Skipped) => self.skipped += 1,
            None => self.missing += 1,
        }
    }

    pub fn planned(self) -> usize {
        self.done + self.failed + self.skipped + self.missing
    }

    /// Whether every planned cell succeeded.
    pub fn is_complete(self) -> bool {
        self.done > 0 && self.done == self.planned()
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, tally| Self {
            done: sum.done + tally.done,
            failed: sum.failed + tally.failed,
            skipped: sum.skipped + tally.skipped,
            missing: sum.missing + tally.missing,
        })
    }
}

/// The ledgers of the results folder `dir`: its own first, whether or not there is one, then those of
/// its shards by name.
pub fn ledgers(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let folder = dir.join(SHARDS);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()),
    };
    let mut shards = entries.map_err(Error::cannot("read", &folder))?;
    shards.retain(|path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl"));
    shards.sort();
    shards.insert(0, dir.join(FILE));
    Ok(shards)
}

/// SHA-256 of all ledgers of the results folder `dir`, one after the other in the order of [`ledgers`]. For a folder
/// without shards it is that of its ledger.
pub fn hash(dir: &Path) -> Result<String, Error> {
    let mut hash = Sha256::new();
    for path in ledgers(dir)? {
        hash.update(read_present(&path)?.unwrap_or_default());
    }
    Ok(hex(&hash.finalize()))
}
