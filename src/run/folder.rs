//! The ledger that a run writes, locked against other runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Exit};
use crate::ledger::{self, Writer};

/// How often a shard looks whether the folder's own ledger is free again, and how long it waits in between: a merge
/// holds it for a moment, a run for long.
const LOOKS: usize = 50;
const WAIT: Duration = Duration::from_millis(100);

/// The results folder of a run.
pub(super) struct Folder {
    /// The folder's own ledger, or that of a shard.
    pub ledger: Writer,
}

impl Folder {
    /// Opens the ledger of the part called `part`, or the folder's own. A run of the whole and runs of
    /// shards keep each other out; shards do not.
    pub fn open(path: &Path, part: Option<String>) -> Result<Self, Error> {
        let own = path.join(ledger::FILE);
        let ledger = match &part {
            None => own.clone(),
            Some(part) => path.join(ledger::SHARDS).join(format!("{part}.jsonl")),
        };
        // Another shard that ends without a record may remove their common folder in between.
        let writer = Writer::open(&ledger).or_else(|_| Writer::open(&ledger)).map_err(|error| {
            let help = "choose a folder you can write to with --out";
            Error { exit: Exit::Input, ..error }.with_help(help)
        })?;
        let writer = writer.ok_or_else(|| locked(path))?;
        // First lock the own ledger, then look at the others: of two runs that start together, at least one sees the
        // other.
        if part.is_some() {
            refuse_in_use(path, &[own], LOOKS)?;
        } else {
            refuse_in_use(path, &ledger::ledgers(path)?[1..], 1)?;
        }
        Ok(Self { ledger: writer })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A shard that recorded nothing leaves nothing behind.
        let ledger = self.ledger.path();
        let is_empty = std::fs::metadata(ledger).is_ok_and(|file| file.len() == 0);
        if is_empty && !ledger.ends_with(ledger::FILE) {
            let _ = std::fs::remove_file(ledger);
            // The folder of the shards stays if it has other files in it.
            let _ = ledger.parent().map(std::fs::remove_dir);
        }
    }
}

/// An error if a process writes to one of the ledgers of the folder at `path` and still does at the last look.
pub(super) fn refuse_in_use(path: &Path, ledgers: &[PathBuf], looks: usize) -> Result<(), Error> {
    for ledger in ledgers {
        let mut look = 1;
        while ledger::is_in_use(ledger)? {
            if look == looks {
                return Err(locked(path));
            }
            std::thread::sleep(WAIT);
            look += 1;
        }
    }
    Ok(())
}

fn locked(path: &Path) -> Error {
    Error::input(format!("another run is writing to {}", path.display()))
        .with_help("wait for it to end, or choose another folder with --out")
}
