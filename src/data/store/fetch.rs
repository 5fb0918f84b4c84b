//! Downloads into a data folder: what is missing, verified before it gets its name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::read::{read, read_embedded};
use super::{Location, Store, named};
use crate::data::Dataset;
use crate::data::download::{self, Failure, Progress};
use crate::data::error::DataError;
use crate::data::manifest::{DataFile, Manifest};
use crate::data::registry::Entry;

/// What `fetch` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Nothing to do: part of the program.
    Embedded,
    /// Nothing to do: all files were there, and are right.
    Present(Vec<PathBuf>),
    Downloaded(Vec<PathBuf>),
}

/// Downloads what is missing of the named datasets (of all, if none is named) and verifies
/// everything. One failure does not keep the others from being tried.
pub fn fetch(
    store: &Store,
    names: &[&str],
    progress: &mut dyn FnMut(Progress),
) -> Vec<(String, Result<Fetched, DataError>)> {
    named(names, |entry| store.fetch(entry, progress).map(|(fetched, _)| fetched))
}

impl Store {
    pub(super) fn fetch(
        &self,
        entry: &Entry,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Fetched, Dataset), DataError> {
        match self.locate(entry) {
            Location::Embedded => Ok((Fetched::Embedded, read_embedded(entry)?)),
            Location::Files(paths) => {
                let dataset = read(entry, &paths)?;
                Ok((Fetched::Present(paths), dataset))
            }
            Location::Missing => self.download(entry, progress),
        }
    }

    /// Downloads the missing files, reads them all, and only then gives them their names.
    pub(super) fn download(
        &self,
        entry: &Entry,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Fetched, Dataset), DataError> {
        let manifest = &entry.manifest;
        let failed = |reason: String| self.unavailable(manifest, &reason);
        if manifest.by_hand.is_some() {
            return Err(failed(String::new()));
        }
        if self.offline {
            return Err(failed(", and --offline forbids to download it".to_owned()));
        }
        let target = self
            .target
            .as_ref()
            .ok_or_else(|| failed(", and there is no folder to download it to".to_owned()))?;
        let folder = target.join(&manifest.name);
        let unwritable =
            |error| failed(format!(", and {} cannot be written ({error})", folder.display()));
        fs::create_dir_all(&folder).map_err(unwritable)?;
        // Two processes must not write into one `.part` file; the second finds the result.
        let lock = File::create(folder.join(".lock")).map_err(unwritable)?;
        lock.lock().map_err(unwritable)?;
        if let Some(paths) = self.locate_files(entry) {
            let dataset = read(entry, &paths)?;
            return Ok((Fetched::Present(paths), dataset));
        }
        let mut bring = || self.bring(entry, &folder, progress);
        let (paths, dataset) = match bring() {
            // The server's file may have changed between the parts: once more from the start.
            Err(Unfit::Resumed(_)) => bring(),
            result => result,
        }
        .map_err(|unfit| failed(format!(", and the download failed: {unfit}")))?;
        Ok((Fetched::Downloaded(paths), dataset))
    }

    fn bring(
        &self,
        entry: &Entry,
        folder: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Vec<PathBuf>, Dataset), Unfit> {
        let manifest = &entry.manifest;
        let mut resumed = false;
        let mut paths = Vec::new();
        let mut parts = Vec::new();
        for file in &manifest.files {
            if let Some(path) = self.locate_file(manifest, file) {
                paths.push(path);
                continue;
            }
            let part = folder.join(format!("{}.part", file.name));
            resumed |= self.bring_file(manifest, file, &part, progress)?;
            paths.push(part.clone());
            parts.push((part, folder.join(&file.name)));
        }
        let dataset = read(entry, &paths).map_err(|error| {
            for (part, _) in &parts {
                let _ = fs::remove_file(part);
            }
            match resumed {
                true => Unfit::Resumed(error),
                false => Unfit::Content(error),
            }
        })?;
        for (part, path) in &parts {
            fs::rename(part, path).map_err(|error| {
                Unfit::Download(format!("failed to write {}: {error}", path.display()))
            })?;
        }
        let paths = manifest.files.iter().filter_map(|file| self.locate_file(manifest, file));
        Ok((paths.collect(), dataset))
    }

    fn bring_file(
        &self,
        manifest: &Manifest,
        file: &DataFile,
        part: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<bool, Unfit> {
        let server = download::server_of(&file.url);
        if let Some(reason) = self.silent().get(server) {
            return Err(Unfit::Download(reason.clone()));
        }
        let mut report = |done, total| {
            progress(Progress { dataset: &manifest.name, file: &file.name, done, total });
        };
        download::complete(&self.agent, &file.url, part, &mut report).map_err(|failure| {
            if let Failure::NoServer(reason) = &failure {
                self.silent().insert(server.to_owned(), reason.clone());
            }
            Unfit::Download(failure.to_string())
        })
    }

    pub(super) fn silent(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        // The map is whole after every operation, so a panic elsewhere does not spoil it.
        self.silent.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Why a download gave no dataset.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("{0}")]
    Download(String),
    #[error("what was sent is not the dataset ({0})")]
    Content(DataError),
    #[error("what was sent is not the dataset ({0})")]
    Resumed(DataError),
}
