//! The ledger: one JSON object per line, append-only, the only source of truth of a results folder.
//!
//! Every line is written whole and synced before the next cell counts as done. A line torn by a
//! crash is passed over by the reader and named in its warnings; the writer starts a fresh line
//! after it, so nothing is ever rewritten.

mod plan;

pub use plan::{Plan, PlannedCell, PlannedDataset, PlannedMethod};

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::solve::Certificate;

/// Name of the ledger in a results folder.
pub const FILE: &str = "ledger.jsonl";

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
    /// Peak resident memory of the process while the cell ran, in MiB.
    pub peak_mb: Option<f64>,
    pub certificate: Option<Certificate>,
    /// How the parameters were chosen and the inner scores, where a grid was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Value>,
    pub started: String,
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
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(record) => contents.records.push(record),
            Err(error) => contents.warnings.push(format!(
                "{}:{number}: passed over a line that is no ledger record ({error})",
                path.display()
            )),
        }
    }
    Ok(contents)
}

/// Appends records; holds the folder's lock so that two runs cannot interleave.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Opens `path` for appending and locks it. `Ok(None)` when another process holds the lock.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
        if ends_mid_line(&mut file)? {
            file.write_all(b"\n")?;
        }
        Ok(Some(Self {
            file,
            path: path.to_path_buf(),
        }))
    }

    /// Appends one record and waits until it is on the disk.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record).map_err(io::Error::other)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }

    /// Where the ledger lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Replaces the file at `path` whole or not at all.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".replacing-");
    // Temporary files are private by default; results are as readable as the umask allows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
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
