//! The ledger: one JSON object per line, append-only, the only source of truth of a results folder.
//!
//! Every line is written whole as its cell ends: a killed program loses nothing. It is synced to the disk
//! at once if its cell took a tenth of a second or more, else together with others, so that a machine that
//! loses power loses only cells that were quickly made. A line torn by a crash is passed over by the reader
//! and named in its warnings; the writer starts a fresh line after it, so nothing is ever rewritten.
//!
//! A folder may have several ledgers: its own and one per shard. [`read_folder`] takes them as one,
//! [`merge()`] joins them.

mod certificate;
mod embedding;
mod join;
mod merge;
mod plan;
pub mod provenance;
mod replace;

pub use certificate::RecordedCertificate;
pub use embedding::{Cloud, Embedding};
pub use join::{SHARDS, hash, ledgers, read_folder};
pub use merge::{MergeError, Merged, merge};
pub use plan::{Plan, PlannedCell, PlannedDataset, PlannedMethod, Remembered};
pub use replace::{
    json, lock, remedy, remove, remove_leftovers, replace, replace_all, replace_json, sync_folder,
};

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Name of the ledger in a results folder.
pub const FILE: &str = "ledger.jsonl";

/// Longest line that is read, in bytes. Records take a few kilobytes; a longer line is damage.
const LONGEST_LINE: u64 = 64 << 20;

/// Folder of the traces in a results folder: `<cell>.jsonl`, one line per iteration.
pub const TRACES: &str = "traces";

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Fitted, predicted and scored.
    Ok,
    /// Started, but ended in an error; `error` says which. `--retry-failed` tries again.
    Failed,
    /// Never started, because something it needs is not to be had; `error` says what.
    Skipped,
}

/// One cell of an experiment: a method on a split of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Hash of dataset, data hash, split, method, parameters and the method's code version.
    pub cell: String,
    pub experiment: String,
    pub dataset: String,
    /// Registry name of the method, such as `twsvm`.
    pub method: String,
    /// The name shown in tables; tells two entries of one method apart.
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    pub split: usize,
    /// Of a network: which of its trainings on this split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_seed: Option<usize>,
    pub seed: u64,
    pub n_train: usize,
    pub n_test: usize,
    pub dims: usize,
    pub classes: usize,
    /// The parameters as used: after defaults, and after selection if there was one.
    pub params: Value,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Percent of the test samples classified correctly.
    pub accuracy: Option<f64>,
    /// Mean over the classes of the percentage classified correctly.
    pub balanced_accuracy: Option<f64>,
    pub fit_seconds: Option<f64>,
    pub predict_seconds: Option<f64>,
    /// Peak resident memory of the whole process while the cell ran, data and all, in MiB. Only
    /// known where no other cell ran beside it and the system measures it.
    pub peak_mb: Option<f64>,
    pub certificate: Option<RecordedCertificate>,
    /// How the parameters were chosen and the inner scores, where a grid was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Value>,
    pub started: String,
    /// Tells machines apart without naming them.
    pub host: String,
    pub threads: usize,
    pub device: String,
    pub version: String,
    pub git: Option<String>,
    /// Fields this version does not know are kept as they are. Flattening is harmless here: it
    /// ruins error positions, and ledger lines are not written by people.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Record {
    /// A number that no run writes, with its name and what it should be: damage, or another's hand.
    fn impossible(&self) -> Option<(&'static str, String, &'static str)> {
        if self.status == Status::Ok && self.accuracy.is_none() {
            return Some(("accuracy", "missing".to_owned(), "a percentage of 0 to 100"));
        }
        // A mean of percentages may be off by a rounding.
        const PERCENT: std::ops::RangeInclusive<f64> = -1e-9..=100.0 + 1e-9;
        let percentages =
            [("accuracy", self.accuracy), ("balanced_accuracy", self.balanced_accuracy)];
        let amounts = [
            ("fit_seconds", self.fit_seconds),
            ("predict_seconds", self.predict_seconds),
            ("peak_mb", self.peak_mb),
        ];
        let bad = |numbers: &[(&'static str, Option<f64>)], is_possible: fn(f64) -> bool| {
            let known = numbers.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
            known.into_iter().find(|(_, value)| !is_possible(*value))
        };
        let percentage = bad(&percentages, |value| PERCENT.contains(&value))
            .map(|(name, value)| (name, value.to_string(), "a percentage of 0 to 100"));
        let amount = bad(&amounts, |value| value >= 0.0)
            .map(|(name, value)| (name, value.to_string(), "a number that is not negative"));
        percentage.or(amount)
    }
}

/// What reading a ledger gave: its records in order, and a sentence per line passed over.
#[derive(Debug, Default)]
pub struct Contents {
    pub records: Vec<Record>,
    pub warnings: Vec<String>,
}

impl Contents {
    /// The last record of each cell, in order of first appearance.
    pub fn latest(&self) -> Vec<&Record> {
        let mut order = Vec::new();
        let mut last = std::collections::HashMap::new();
        for record in &self.records {
            if last.insert(record.cell.as_str(), record).is_none() {
                order.push(record.cell.as_str());
            }
        }
        order.into_iter().map(|cell| last[cell]).collect()
    }
}

impl Contents {
    /// The last record of each cell, without copies.
    pub fn into_latest(self) -> Vec<Record> {
        let mut last = std::collections::HashMap::new();
        for (place, record) in self.records.iter().enumerate() {
            last.insert(record.cell.clone(), place);
        }
        let mut places: Vec<usize> = last.into_values().collect();
        places.sort_unstable();
        let mut places = places.into_iter().peekable();
        let records = self.records.into_iter().enumerate();
        records
            .filter(|(place, _)| places.next_if_eq(place).is_some())
            .map(|(_, record)| record)
            .collect()
    }
}

/// Reads `path`; a missing file is an empty ledger.
pub fn read(path: &Path) -> io::Result<Contents> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
        Err(error) => return Err(error),
    };
    let mut contents = Contents::default();
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
            contents.warnings.push(format!(
                "{}:{number}: passed over a line of more than {} MiB, which is no ledger record",
                path.display(),
                LONGEST_LINE >> 20
            ));
            line = Vec::new();
            continue;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse(&line) {
            Ok(record) => contents.records.push(record),
            Err(reason) => {
                contents.warnings.push(format!("{}:{number}: passed over {reason}", path.display()))
            }
        }
    }
    Ok(contents)
}

/// The record of a line, or what the line is instead.
fn parse(line: &[u8]) -> Result<Record, String> {
    // A line end in the midst of a text would be a mistake of its own.
    let record: Record = serde_json::from_slice(line.trim_ascii_end()).map_err(|error| {
        if error.is_eof() {
            return "a line that is no ledger record: it breaks off".to_owned();
        }
        // The parser counts lines and columns from where it was started, not from the file's begin.
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or(&text);
        format!("a line that is no ledger record ({reason})")
    })?;
    match record.impossible() {
        None => Ok(record),
        Some((field, value, expected)) => {
            Err(format!("a record whose `{field}` is {value}, expected {expected}"))
        }
    }
}

/// Appends records; holds the folder's lock so that two runs cannot interleave.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    /// When the file was last known to be on the disk.
    synced: Instant,
}

/// Records of short cells are synced together: a sync takes about as long as a trivial cell.
const SYNC_EVERY: Duration = Duration::from_millis(100);

impl Writer {
    /// Opens `path` for appending and locks it. `Ok(None)` when another process holds the lock.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        if is_held(file.try_lock())? {
            return Ok(None);
        }
        if ends_mid_line(&mut file)? {
            file.write_all(b"\n")?;
        }
        Ok(Some(Self { file, path: path.to_path_buf(), synced: Instant::now() }))
    }

    /// Appends one record; waits until it is on the disk, unless its cell was short and that was done a
    /// moment ago.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        self.write(record)?;
        let is_short = record.fit_seconds.unwrap_or_default() < SYNC_EVERY.as_secs_f64();
        if is_short && self.synced.elapsed() < SYNC_EVERY {
            return Ok(());
        }
        self.sync()
    }

    /// Appends records and waits once until all are on the disk.
    pub fn append_all<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> io::Result<()> {
        for record in records {
            self.write(record)?;
        }
        self.sync()
    }

    /// Waits until everything is on the disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.synced = Instant::now();
        Ok(())
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record).map_err(io::Error::other)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }

    /// Where the ledger lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether another process writes to the ledger at `path` now.
pub fn is_in_use(path: &Path) -> io::Result<bool> {
    match File::open(path) {
        Ok(file) => is_held(file.try_lock_shared()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a lock was refused because another process has it. Some network file systems know no
/// locks; there a user has to see to it that no two runs share a ledger.
fn is_held(attempt: Result<(), std::fs::TryLockError>) -> io::Result<bool> {
    match attempt {
        Ok(()) => Ok(false),
        Err(std::fs::TryLockError::WouldBlock) => Ok(true),
        Err(std::fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            Ok(false)
        }
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

fn ends_mid_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last[0] != b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(accuracy: &str, seconds: &str) -> Result<Record, String> {
        let record = join::tests::record("a", Status::Ok, "2024");
        let mut line = serde_json::to_string(&record).unwrap();
        for (field, value) in [("accuracy", accuracy), ("fit_seconds", seconds)] {
            line = line.replace(&format!("\"{field}\":null"), &format!("\"{field}\":{value}"));
        }
        parse(line.as_bytes())
    }

    #[test]
    fn values_that_cannot_be_are_no_records() {
        for accuracy in ["0", "100", "100.00000000000001"] {
            assert!(parsed(accuracy, "0").is_ok(), "{accuracy}");
        }
        for (accuracy, seconds, said) in [
            ("null", "1", "`accuracy` is missing, expected a percentage of 0 to 100"),
            ("150", "1", "`accuracy` is 150, expected a percentage of 0 to 100"),
            ("-3.5", "1", "`accuracy` is -3.5, expected a percentage of 0 to 100"),
            ("90", "-1", "`fit_seconds` is -1, expected a number that is not negative"),
            ("NaN", "1", "no ledger record (expected value)"),
            ("1e999", "1", "no ledger record (number out of range)"),
        ] {
            let reason = parsed(accuracy, seconds).unwrap_err();
            assert!(reason.ends_with(said), "{reason}");
        }
    }

    #[test]
    fn a_torn_line_names_no_place_in_it() {
        let record = join::tests::record("a", Status::Ok, "2024");
        let line = serde_json::to_vec(&record).unwrap();
        let reason = parse(&line[..line.len() / 2]).unwrap_err();
        assert_eq!(reason, "a line that is no ledger record: it breaks off");
        let reason = parse(br#"{"cell": 7}"#).unwrap_err();
        assert!(!reason.contains("column"), "{reason}");
    }

    #[test]
    fn an_endless_line_is_passed_over_without_being_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let mut file = File::create(&path).unwrap();
        file.write_all(b"no record\n").unwrap();
        // A hole in the file: it has a length but takes no room.
        let end = file.stream_position().unwrap() + 2 * LONGEST_LINE;
        file.set_len(end).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"\nno record\n").unwrap();
        let contents = read(&path).unwrap();
        let [first, endless, last] = &contents.warnings[..] else {
            panic!("{:?}", contents.warnings);
        };
        let name = path.display();
        assert!(first.starts_with(&format!("{name}:1: ")), "{first}");
        assert_eq!(
            *endless,
            format!("{name}:2: passed over a line of more than 64 MiB, which is no ledger record")
        );
        assert!(last.starts_with(&format!("{name}:3: ")), "{last}");
    }
}
