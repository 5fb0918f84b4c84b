//! The writer of a ledger: whole lines, synced, one writer at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Record;
use super::replace::parent;
use crate::error::Error;

/// Appends records; holds the ledger's lock so that two runs cannot interleave.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
    /// When the file was last known to be on the disk.
    synced: Instant,
}

/// Records of short cells are synced together: a sync takes about as long as a trivial cell.
const SYNC_EVERY: Duration = Duration::from_millis(100);

impl Writer {
    /// Opens `path` for appending and locks it; makes the folder it needs. `Ok(None)` when another process holds the
    /// lock.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let open = || {
            fs::create_dir_all(parent(path))?;
            let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
            if is_held(file.try_lock())? {
                return Ok(None);
            }
            if ends_mid_line(&mut file)? {
                file.write_all(b"\n")?;
            }
            Ok(Some(Self { path: path.to_path_buf(), file, synced: Instant::now() }))
        };
        open().map_err(Error::cannot("write", path))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one record; waits until it is on the disk, unless its cell was short and that was done a
    /// moment ago.
    pub fn append(&mut self, record: &Record) -> Result<(), Error> {
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
    ) -> Result<(), Error> {
        records.into_iter().try_for_each(|record| self.write(record))?;
        self.sync()
    }

    /// Waits until everything is on the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(Error::cannot("write", &self.path))
    }

    fn write(&mut self, record: &Record) -> Result<(), Error> {
        self.write_line(&record.line()).map_err(Error::cannot("write", &self.path))
    }

    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        // In tests, the program waits here, or it ends or the disk is full in the middle of a line.
        #[cfg(feature = "failpoints")]
        fail::fail_point!("append", |what| {
            self.file.write_all(&line[..line.len() / 2])?;
            match what.as_deref() {
                Some("kill") => std::process::abort(),
                _ => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
            }
        });
        self.file.write_all(line)
    }
}

/// Whether another process writes to the ledger at `path` now.
pub fn is_in_use(path: &Path) -> Result<bool, Error> {
    let is_in_use = match File::open(path) {
        Ok(file) => is_held(file.try_lock_shared()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    is_in_use.map_err(Error::cannot("read", path))
}

/// Whether a lock was refused because another process has it. Some network file systems have no
/// locks; there, users must make sure that no two runs share a ledger.
fn is_held(attempt: Result<(), TryLockError>) -> io::Result<bool> {
    match attempt {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
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

    /// Whether a record is on the disk when `append` returns, of a cell that took so long.
    fn is_synced(seconds: f64) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(&folder.path().join("ledger.jsonl")).unwrap().unwrap();
        // As if another record had just been written.
        let before = Instant::now();
        writer.synced = before + Duration::from_secs(3600);
        let record = Record { fit_seconds: Some(seconds), ..Record::default() };
        writer.append(&record).unwrap();
        writer.synced < before + Duration::from_secs(1800)
    }

    /// The documentation promises it; that a line never waits longer than a tenth of a second was not true.
    #[test]
    fn a_cell_of_a_tenth_of_a_second_is_on_the_disk_before_the_next() {
        assert!(is_synced(0.1) && is_synced(60.0));
        assert!(!is_synced(0.05));
    }
}
