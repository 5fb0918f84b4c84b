//! Where data lies: folders that are searched, the cache that downloads go to, and what the `data`
//! command does with them.

mod fetch;
mod missing;
mod read;
#[cfg(test)]
mod tests;
mod weights;

pub use fetch::{Fetched, fetch};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use ureq::Agent;

use super::Dataset;
use super::download::{self, Progress};
use super::error::DataError;
use super::manifest::{DataFile, Manifest};
use super::registry::{self, Entry};
use super::validation::Part;
use read::{read, read_embedded};

/// The data folders of a run, and whether missing files may be downloaded.
///
/// A file `usps.bz2` of the dataset `usps` lies at `<folder>/usps/usps.bz2`.
pub struct Store {
    folders: Vec<PathBuf>,
    /// Downloads go here.
    target: Option<PathBuf>,
    offline: bool,
    /// Whether data is wanted for a plan only, so that no image need be encoded.
    plans_only: bool,
    /// What encodes images, `cpu` or `cuda:N`.
    #[cfg_attr(not(feature = "deep"), allow(dead_code, reason = "encoding needs libtorch"))]
    device: String,
    agent: Agent,
    /// Servers that did not answer, with the reason: they are not asked again.
    silent: Mutex<BTreeMap<String, String>>,
}

/// Where a dataset is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Part of the program.
    Embedded,
    /// These files, or this folder.
    Files(Vec<PathBuf>),
    Missing,
}

/// A line of `list datasets`.
#[derive(Clone, Debug)]
pub struct Description {
    pub name: &'static str,
    pub title: &'static str,
    pub samples: usize,
    pub dims: usize,
    pub classes: usize,
    pub licence: &'static str,
    pub citation: &'static str,
    pub homepage: &'static str,
    pub location: Location,
}

/// All datasets of the registry and where they are.
pub fn describe(store: &Store) -> Vec<Description> {
    registry::all()
        .iter()
        .map(|entry| {
            let manifest = &entry.manifest;
            Description {
                name: &manifest.name,
                title: &manifest.title,
                samples: manifest.samples,
                dims: manifest.dims,
                classes: manifest.classes(),
                licence: &manifest.licence,
                citation: &manifest.citation,
                homepage: &manifest.homepage,
                location: store.locate(entry),
            }
        })
        .collect()
}

/// Reads the named datasets (all that are there, if none is named) and compares them with their
/// manifests. Of embedded data, files that lie in a data folder are read too.
pub fn verify(store: &Store, names: &[&str]) -> Vec<(String, Result<Dataset, DataError>)> {
    let present: Vec<&str> = if names.is_empty() {
        registry::all()
            .iter()
            .filter(|entry| store.locate(entry) != Location::Missing)
            .map(|entry| entry.manifest.name.as_str())
            .collect()
    } else {
        names.to_vec()
    };
    named(&present, |entry| store.verify(entry))
}

/// Where the dataset is, `None` for one that is part of the program; an error that says how to get
/// it if it is nowhere.
pub fn path(store: &Store, name: &str) -> Result<Option<Vec<PathBuf>>, DataError> {
    let entry = registry::find(name)?;
    match store.locate(entry) {
        Location::Embedded => Ok(None),
        Location::Files(paths) => Ok(Some(paths)),
        Location::Missing => Err(store.unavailable(&entry.manifest, "")),
    }
}

fn named<T>(
    names: &[&str],
    mut act: impl FnMut(&'static Entry) -> Result<T, DataError>,
) -> Vec<(String, Result<T, DataError>)> {
    let names: Vec<&str> =
        if names.is_empty() { registry::names().collect() } else { names.to_vec() };
    names
        .into_iter()
        .map(|name| (name.to_owned(), registry::find(name).and_then(&mut act)))
        .collect()
}

impl Store {
    /// Looks in `data` (the option `--data`), in `NPSVCPP_DATA` and in the user's cache, in this
    /// order. Downloads go to `data` if given, else to the cache.
    pub fn new(data: Option<PathBuf>, offline: bool) -> Self {
        let variable =
            std::env::var_os("NPSVCPP_DATA").filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = dirs::cache_dir().map(|cache| cache.join("npsvcpp").join("datasets"));
        let target = data.clone().or_else(|| cache.clone());
        let folders = [data, variable, cache].into_iter().flatten().collect();
        Self::with_folders(folders, target, offline)
    }

    /// Looks in `folder` and nowhere else; downloads go there too.
    pub fn in_folder(folder: PathBuf, offline: bool) -> Self {
        Self::with_folders(vec![folder.clone()], Some(folder), offline)
    }

    fn with_folders(folders: Vec<PathBuf>, target: Option<PathBuf>, offline: bool) -> Self {
        Self {
            folders,
            target,
            offline,
            plans_only: false,
            device: "cpu".to_owned(),
            agent: download::agent(),
            silent: Mutex::default(),
        }
    }

    /// The dataset called `name`: embedded, else from a data folder, else downloaded.
    pub fn load(&self, name: &str) -> Result<Dataset, DataError> {
        self.load_with(name, &|| true, &mut |_| {})
    }

    /// As [`Store::load`], reporting how far a download is; nothing is downloaded unless `may_download`.
    pub fn load_with(
        &self,
        name: &str,
        may_download: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Dataset, DataError> {
        self.load_entry(registry::find(name)?, may_download, progress)
    }

    /// The same for a plan, which needs shapes and hashes but no vectors of images.
    pub fn for_plan(self) -> Self {
        Self { plans_only: true, ..self }
    }

    /// The same with images encoded on `device`, `cpu` or `cuda:N`.
    pub fn on_device(self, device: &str) -> Self {
        Self { device: device.to_owned(), ..self }
    }

    /// What encodes images.
    #[cfg(feature = "deep")]
    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    pub(crate) fn plans_only(&self) -> bool {
        self.plans_only
    }

    /// The validation part of the dataset called `name`, whose files are on this machine.
    pub(crate) fn load_validation(&self, name: &str) -> Result<Part, DataError> {
        let entry = registry::find(name)?;
        let Some(loader) = entry.validation else {
            let having = registry::all().iter().filter(|entry| entry.validation.is_some());
            let names: Vec<&str> = having.map(|entry| entry.manifest.name.as_str()).collect();
            return Err(DataError::Split {
                dataset: name.to_owned(),
                problem: format!("it has no validation part; `{}` have one", names.join("`, `")),
            });
        };
        match self.locate_files(entry) {
            Some(paths) => loader(&entry.manifest, &paths),
            None => Err(self.unavailable(&entry.manifest, "")),
        }
    }

    fn load_entry(
        &self,
        entry: &Entry,
        may_download: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Dataset, DataError> {
        match self.locate(entry) {
            Location::Embedded => read_embedded(entry),
            Location::Files(paths) => read(entry, &paths),
            Location::Missing if !may_download() => Err(self.unavailable(&entry.manifest, "")),
            Location::Missing => self.download(entry, progress).map(|(_, dataset)| dataset),
        }
    }

    fn verify(&self, entry: &Entry) -> Result<Dataset, DataError> {
        if !entry.is_embedded() {
            return match self.locate_files(entry) {
                Some(paths) => read(entry, &paths),
                None => Err(self.unavailable(&entry.manifest, "")),
            };
        }
        if let Some(paths) = self.locate_files(entry) {
            read(entry, &paths)?;
        }
        read_embedded(entry)
    }

    fn locate(&self, entry: &Entry) -> Location {
        if entry.is_embedded() {
            return Location::Embedded;
        }
        self.locate_files(entry).map_or(Location::Missing, Location::Files)
    }

    /// All files of the dataset, or the folder of one that is put there by hand.
    fn locate_files(&self, entry: &Entry) -> Option<Vec<PathBuf>> {
        let manifest = &entry.manifest;
        if manifest.by_hand.is_some() && manifest.files.is_empty() {
            let mut folders = self.folders.iter().map(|folder| folder.join(&manifest.name));
            return folders.find(|folder| (entry.is_there)(folder)).map(|folder| vec![folder]);
        }
        let files: Option<Vec<_>> =
            manifest.files.iter().map(|file| self.locate_file(manifest, file)).collect();
        files.filter(|files| !files.is_empty())
    }

    fn locate_file(&self, manifest: &Manifest, file: &DataFile) -> Option<PathBuf> {
        self.folders
            .iter()
            .map(|folder| folder.join(file.folder.as_ref().unwrap_or(&manifest.name)))
            .map(|folder| folder.join(&file.name))
            .find(|path| path.is_file())
    }
}
