//! The results folder of a run: its ledger, held against other runs, its plan and its traces.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use super::provenance::{self, Kept, Origin};
use super::{Prepared, RunError};
use crate::ledger::{self, Contents, Embedding, Plan, Record, Writer};

/// How often, and at which distance, a shard looks whether the folder's own ledger is free again: a
/// merge holds it for a moment, a run for long.
const LOOKS: (usize, Duration) = (50, Duration::from_millis(100));

/// The results folder of a run.
pub struct Folder {
    path: PathBuf,
    /// Names this process to others that want the same ledger.
    holder: PathBuf,
    writer: Mutex<Writer>,
}

impl Folder {
    /// Opens the ledger of the part called `part`, or the folder's own. A run of the whole and runs of
    /// shards keep each other out; shards do not.
    pub fn open(path: &Path, part: Option<&str>) -> Result<Self, RunError> {
        let error = |source| RunError::Output { path: path.to_path_buf(), source };
        let own = path.join(ledger::FILE);
        let (ledger, holder) = match part {
            None => (own.clone(), path.join(".run.pid")),
            Some(part) => {
                let stem = path.join(ledger::SHARDS).join(part);
                (stem.with_extension("jsonl"), stem.with_extension("pid"))
            }
        };
        let open = || {
            std::fs::create_dir_all(ledger.parent().unwrap_or(path))?;
            Writer::open(&ledger)
        };
        // Another shard that ends without a record may remove their common folder in between.
        let writer = open().or_else(|_| open()).map_err(error)?;
        let writer = writer.ok_or_else(|| locked(path, &ledger))?;
        // First hold one's own ledger, then look at others': of two runs that start together at least
        // one sees the other.
        let rival = match part {
            None => {
                let mut shards = ledger::ledgers(path).map_err(error)?;
                shards.retain(|shard| *shard != own);
                in_use(&shards).map_err(error)?
            }
            Some(_) => in_use_for_long(&own).map_err(error)?,
        };
        if let Some(rival) = rival {
            return Err(locked(path, &rival));
        }
        std::fs::write(&holder, std::process::id().to_string()).map_err(error)?;
        Ok(Self { path: path.to_path_buf(), holder, writer: Mutex::new(writer) })
    }

    /// Nothing has been computed yet.
    pub fn output_error(&self, source: io::Error) -> RunError {
        if source.kind() == io::ErrorKind::InvalidData {
            return RunError::Damaged(source);
        }
        RunError::Output { path: self.path.clone(), source }
    }

    pub fn error(&self, source: io::Error) -> RunError {
        RunError::Record { path: self.path.clone(), source }
    }

    pub fn read(&self) -> Result<Contents, RunError> {
        ledger::read_folder(&self.path).map_err(|source| self.error(source))
    }

    /// Waits until all records are on the disk.
    pub fn sync(&self) -> Result<(), RunError> {
        let mut writer = self.writer.lock().unwrap_or_else(|poison| poison.into_inner());
        writer.sync().map_err(|source| self.error(source))
    }

    pub fn append(&self, record: &Record) -> Result<(), RunError> {
        let mut writer = self.writer.lock().unwrap_or_else(|poison| poison.into_inner());
        writer.append(record).map_err(|source| self.error(source))
    }

    /// Writes the plan that shows the rows `kept` in place of those to be run; gives the plan that was there and the one
    /// that is there now.
    pub fn write_plan(
        &self,
        prepared: &Prepared,
        kept: &mut Kept,
    ) -> Result<(Option<Plan>, Plan), RunError> {
        provenance::write_plan(&self.path, prepared, kept)
            .map_err(|source| self.output_error(source))
    }

    /// Fills in what version 0.1 lost, and what was deleted, of the provenance.
    pub fn repair(&self, plan: &Plan, known: &Contents) -> Result<(), RunError> {
        provenance::repair(&self.path, plan, known).map_err(|source| self.output_error(source))
    }

    /// Adds a run to the provenance.
    pub fn add_run(
        &self,
        part: Option<&str>,
        plan: &Plan,
        origin: &Origin<'_>,
    ) -> Result<(), RunError> {
        provenance::add_run(&self.path, part, plan, origin).map_err(|source| self.error(source))
    }

    /// `traces/<cell>.jsonl`: one line per iteration.
    pub fn write_trace(&self, cell: &str, trace: &str) -> Result<(), RunError> {
        if trace.is_empty() {
            return Ok(());
        }
        let folder = self.path.join(ledger::TRACES);
        std::fs::create_dir_all(&folder)
            .and_then(|()| ledger::replace(&folder.join(format!("{cell}.jsonl")), trace.as_bytes()))
            .map_err(|source| self.error(source))
    }

    /// Copies the trace of a cell, if it has one, from another results folder.
    pub fn take_trace(&self, cell: &str, other: &Path) -> Result<(), RunError> {
        let path = other.join(ledger::TRACES).join(format!("{cell}.jsonl"));
        match std::fs::read_to_string(path) {
            Ok(trace) => self.write_trace(cell, &trace),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.error(error)),
        }
    }

    /// Copies the map of a cell, if it has one, from another results folder.
    pub fn take_embedding(&self, cell: &str, other: &Path) -> Result<(), RunError> {
        let (from, to) = (Embedding::path(other, cell), Embedding::path(&self.path, cell));
        if !from.exists() {
            return Ok(());
        }
        let folder = to.parent().unwrap_or(&self.path);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::read(&from))
            .and_then(|bytes| ledger::replace(&to, &bytes))
            .map_err(|error| self.error(error))
    }

    /// Where networks under training are kept: `checkpoints/<cell>.safetensors` and, behind an encoder that is
    /// trained no longer, `<cell>.head.safetensors`.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// What a cell was to go on from is of no use once it is recorded.
    pub fn remove_checkpoint(&self, cell: &str) {
        let folder = self.checkpoints();
        // There is none for most cells, and one that stays does no harm.
        for ending in ["safetensors", "part", "head.safetensors", "head.part"] {
            let _ = std::fs::remove_file(folder.join(format!("{cell}.{ending}")));
        }
    }

    /// The folder of checkpoints, if there is none left in it.
    pub fn remove_checkpoints(&self) {
        let _ = std::fs::remove_dir(self.checkpoints());
    }

    /// `embeddings/<cell>.json`.
    pub fn write_embedding(&self, cell: &str, embedding: &Embedding) -> Result<(), RunError> {
        let write = || {
            let path = Embedding::path(&self.path, cell);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            ledger::replace(&path, &serde_json::to_vec(embedding)?)
        };
        write().map_err(|source| self.error(source))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover is harmless: the lock, not this file, keeps others out.
        let _ = std::fs::remove_file(&self.holder);
        // A shard that recorded nothing leaves nothing behind.
        let writer = self.writer.get_mut();
        let ledger = writer.unwrap_or_else(|poison| poison.into_inner()).path();
        let is_empty = std::fs::metadata(ledger).is_ok_and(|file| file.len() == 0);
        if is_empty && ledger.file_name().is_some_and(|name| name != ledger::FILE) {
            let _ = std::fs::remove_file(ledger);
            let _ = std::fs::remove_dir(self.path.join(ledger::SHARDS));
        }
    }
}

/// An error if a run is writing to the folder at `path`.
pub fn refuse_locked(path: &Path) -> Result<(), RunError> {
    let error = |source| RunError::Output { path: path.to_path_buf(), source };
    let ledgers = ledger::ledgers(path).map_err(error)?;
    match in_use(&ledgers).map_err(error)? {
        Some(rival) => Err(locked(path, &rival)),
        None => Ok(()),
    }
}

fn in_use(ledgers: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    for ledger in ledgers {
        if ledger::is_in_use(ledger)? {
            return Ok(Some(ledger.clone()));
        }
    }
    Ok(None)
}

fn in_use_for_long(ledger: &Path) -> io::Result<Option<PathBuf>> {
    let (looks, distance) = LOOKS;
    for _ in 1..looks {
        if !ledger::is_in_use(ledger)? {
            return Ok(None);
        }
        std::thread::sleep(distance);
    }
    in_use(&[ledger.to_path_buf()])
}

/// The error that names the process which holds `ledger`, where it left its number.
fn locked(path: &Path, ledger: &Path) -> RunError {
    let holder = match ledger.file_name() {
        Some(name) if name == ledger::FILE => path.join(".run.pid"),
        _ => ledger.with_extension("pid"),
    };
    let holder = std::fs::read_to_string(holder).ok();
    RunError::Locked { path: path.to_path_buf(), holder: holder.map(|pid| pid.trim().to_owned()) }
}
