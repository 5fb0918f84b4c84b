//! Several ledgers as one: the folder's own and one per shard.
//!
//! Within a ledger the last record of a cell counts. Between ledgers no order of time can be told, for
//! the clocks of machines differ; there a success counts more than a failure and a failure more than
//! a skip, and among equals the first ledger's record stands. So the outcome depends neither on
//! clocks nor on how often a ledger is joined.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{Contents, FILE, Record, Status, read};
use crate::data::hex;

/// Folder of the shards' ledgers in a results folder.
pub const SHARDS: &str = "shards";

/// The ledgers of the results folder `dir`: its own first, whether or not there is one, then those of
/// its shards by name.
pub fn ledgers(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut shards = Vec::new();
    match std::fs::read_dir(dir.join(SHARDS)) {
        Ok(entries) => {
            for entry in entries {
                let path = entry?.path();
                if path.extension().is_some_and(|end| end == "jsonl") {
                    shards.push(path);
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    shards.sort();
    shards.insert(0, dir.join(FILE));
    Ok(shards)
}

/// What all ledgers of the results folder `dir` say.
pub fn read_folder(dir: &Path) -> io::Result<Contents> {
    let ledgers = ledgers(dir)?;
    let contents: Vec<Contents> =
        ledgers.iter().map(|path| read(path)).collect::<io::Result<_>>()?;
    Ok(join(contents))
}

/// SHA-256 of all ledgers of the results folder `dir`, one after the other in the order of [`ledgers`]. For a folder
/// without shards it is that of its ledger.
pub fn hash(dir: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    for path in ledgers(dir)? {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

/// One ledger out of several; a single one stays as it is.
fn join(mut ledgers: Vec<Contents>) -> Contents {
    ledgers.retain(|ledger| !ledger.records.is_empty() || !ledger.warnings.is_empty());
    if ledgers.len() <= 1 {
        return ledgers.pop().unwrap_or_default();
    }
    let mut joined = Joined::default();
    let mut warnings = Vec::new();
    for ledger in ledgers {
        joined.add(ledger.records);
        warnings.extend(ledger.warnings);
    }
    Contents { records: joined.records, warnings }
}

/// The record that counts of every cell.
#[derive(Default)]
pub(super) struct Joined {
    pub records: Vec<Record>,
    at: HashMap<String, usize>,
}

impl Joined {
    /// Takes in one ledger's records and gives the places of those that now count.
    pub fn add(&mut self, records: Vec<Record>) -> Vec<usize> {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (index, record) in records.iter().enumerate() {
            last.insert(&record.cell, index);
        }
        let mut counts = vec![false; records.len()];
        last.values().for_each(|&index| counts[index] = true);
        let mut taken = Vec::new();
        for (record, _) in records.into_iter().zip(counts).filter(|(_, counts)| *counts) {
            match self.at.get(&record.cell) {
                None => {
                    taken.push(self.records.len());
                    self.at.insert(record.cell.clone(), self.records.len());
                    self.records.push(record);
                }
                Some(&at) if weight(record.status) > weight(self.records[at].status) => {
                    taken.push(at);
                    self.records[at] = record;
                }
                Some(_) => {}
            }
        }
        taken
    }
}

fn weight(status: Status) -> u8 {
    match status {
        Status::Skipped => 0,
        Status::Failed => 1,
        Status::Ok => 2,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn record(cell: &str, status: Status, started: &str) -> Record {
        serde_json::from_value(serde_json::json!({
            "cell": cell, "experiment": "e", "dataset": "d", "method": "m", "label": "M", "split": 0,
            "seed": 1, "n_train": 2, "n_test": 2, "dims": 1, "classes": 2, "params": null,
            "status": status, "started": started, "host": "h", "threads": 1, "device": "cpu",
            "version": "0.1.0",
        }))
        .expect("this is a record")
    }

    fn contents(records: Vec<Record>) -> Contents {
        Contents { records, warnings: Vec::new() }
    }

    fn states(contents: &Contents) -> Vec<(&str, Status, &str)> {
        let states = contents.records.iter();
        states.map(|r| (r.cell.as_str(), r.status, r.started.as_str())).collect()
    }

    /// A machine whose clock is wrong must not decide which record counts.
    #[test]
    fn success_counts_more_than_a_later_failure_elsewhere() {
        let good = || contents(vec![record("a", Status::Ok, "1970")]);
        let bad = || contents(vec![record("a", Status::Failed, "2099")]);
        let expected = [("a", Status::Ok, "1970")];
        assert_eq!(states(&join(vec![good(), bad()])), expected);
        assert_eq!(states(&join(vec![bad(), good()])), expected);
    }

    #[test]
    fn within_a_ledger_the_last_record_counts_before_ledgers_are_joined() {
        let first = contents(vec![
            record("a", Status::Ok, "1"),
            record("b", Status::Skipped, "2"),
            record("a", Status::Failed, "3"),
        ]);
        let second = contents(vec![record("b", Status::Failed, "1")]);
        let joined = join(vec![first, second]);
        let mut states = states(&joined);
        states.sort_by_key(|state| state.0);
        assert_eq!(states, [("a", Status::Failed, "3"), ("b", Status::Failed, "1")]);
    }

    #[test]
    fn of_equals_the_first_ledgers_stands() {
        let one = || contents(vec![record("a", Status::Ok, "1")]);
        let two = || contents(vec![record("a", Status::Ok, "2")]);
        assert_eq!(states(&join(vec![one(), two(), two()]))[0].2, "1");
    }
}
