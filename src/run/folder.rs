//! The results folder of a run: its ledger, held against other runs, its plan and its traces.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use super::lock;
use crate::error::Error;
use crate::ledger::{self, Ledger, Record, Writer};

/// How often a shard looks whether the folder's own ledger is free again, and how long it waits in between: a merge
/// holds it for a moment, a run for long.
const LOOKS: usize = 50;
const WAIT: Duration = Duration::from_millis(100);

/// The results folder of a run.
pub struct Folder {
    path: PathBuf,
    /// The ledger that is written.
    ledger: PathBuf,
    writer: Mutex<Writer>,
}

impl Folder {
    /// Opens the ledger of the part called `part`, or the folder's own. A run of the whole and runs of
    /// shards keep each other out; shards do not.
    pub fn open(path: &Path, part: Option<String>) -> Result<Self, Error> {
        let error = |source| output_error(path, &source);
        let own = path.join(ledger::FILE);
        let ledger = match &part {
            None => own.clone(),
            Some(part) => path.join(ledger::SHARDS).join(format!("{part}.jsonl")),
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
        if part.is_some() {
            refuse_in_use(path, &[own], LOOKS)?;
        } else {
            let shards = ledger::ledgers(path).map_err(error)?;
            refuse_in_use(path, &shards[1..], 1)?;
        }
        std::fs::write(holder(&ledger), std::process::id().to_string()).map_err(error)?;
        Ok(Self { path: path.to_path_buf(), ledger, writer: Mutex::new(writer) })
    }

    pub fn error(&self, source: io::Error) -> Error {
        Error::failed(format!(
            "failed to record a cell in {}: {source}; fix this, then run the same command to continue",
            self.path.display()
        ))
    }

    pub fn read(&self) -> Result<Ledger, Error> {
        Ledger::read(&self.path).map_err(|source| self.error(source))
    }

    /// Waits until all records are on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        lock(&self.writer).sync().map_err(|source| self.error(source))
    }

    pub fn append(&self, record: &Record) -> Result<(), Error> {
        lock(&self.writer).append(record).map_err(|source| self.error(source))
    }

    /// Writes a file next to the ledger: `path` starts at the folder.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(&self.path))
            .and_then(|()| ledger::replace(&path, bytes))
            .map_err(|source| self.error(source))
    }

    /// Copies a file from another results folder, if it is there.
    pub fn copy_file(&self, path: &Path, other: &Path) -> Result<(), Error> {
        match std::fs::read(other.join(path)) {
            Ok(bytes) => self.write_file(path, &bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.error(error)),
        }
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
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover is harmless: the lock, not this file, keeps others out.
        let _ = std::fs::remove_file(holder(&self.ledger));
        // A shard that recorded nothing leaves nothing behind.
        let is_empty = std::fs::metadata(&self.ledger).is_ok_and(|file| file.len() == 0);
        if is_empty && self.ledger.file_name().is_some_and(|name| name != ledger::FILE) {
            let _ = std::fs::remove_file(&self.ledger);
            let _ = std::fs::remove_dir(self.path.join(ledger::SHARDS));
        }
    }
}

/// An error if a run is writing to the folder at `path`.
pub fn refuse_locked(path: &Path) -> Result<(), Error> {
    let ledgers = ledger::ledgers(path).map_err(|source| output_error(path, &source))?;
    refuse_in_use(path, &ledgers, 1)
}

/// An error if a process writes to one of the ledgers of the folder at `path` and still does at the last look.
fn refuse_in_use(path: &Path, ledgers: &[PathBuf], looks: usize) -> Result<(), Error> {
    for ledger in ledgers {
        let mut look = 1;
        while ledger::is_in_use(ledger).map_err(|source| output_error(path, &source))? {
            if look == looks {
                return Err(locked(path, ledger));
            }
            std::thread::sleep(WAIT);
            look += 1;
        }
    }
    Ok(())
}

/// The file with the number of the process that writes to `ledger`.
fn holder(ledger: &Path) -> PathBuf {
    match ledger.file_name() {
        Some(name) if name == ledger::FILE => ledger.with_file_name(".run.pid"),
        _ => ledger.with_extension("pid"),
    }
}

/// The error that names the process which holds `ledger`, if it left its number.
fn locked(path: &Path, ledger: &Path) -> Error {
    let pid = std::fs::read_to_string(holder(ledger)).ok();
    let process = pid.map_or_else(String::new, |pid| format!(" (process {})", pid.trim()));
    Error::input(format!("another run is writing to {}{process}", path.display()))
        .with_help("wait for it to end, or choose another folder with --out")
}

/// An error before anything was computed.
pub(super) fn output_error(path: &Path, source: &io::Error) -> Error {
    if source.kind() == io::ErrorKind::InvalidData {
        return Error::input(source.to_string());
    }
    Error::input(format!("failed to write to {}: {source}", path.display()))
        .with_help("choose a folder you can write to with --out")
}
