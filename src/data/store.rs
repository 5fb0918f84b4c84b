//! Where data is: folders that are searched, and the cache that downloads go to.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use npsvc::Seed;
use sha2::{Digest, Sha256};
use ureq::Agent;

use super::content::raw;
use super::download::{self, Failure, Progress, Report};
use super::error::DataError;
use super::manifest::{DataFile, Manifest};
use super::registry::{self, Entry};
use super::{Dataset, DatasetSpec, EncoderSpec, Samples, hex, load_files, subsample};

/// Where torchvision's weights are.
const WEIGHTS: &str = "https://download.pytorch.org/models";

/// The data folders of a run, and whether missing files may be downloaded.
///
/// A file `usps.bz2` of the dataset `usps` is at `<folder>/usps/usps.bz2`.
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
    unreachable: Mutex<BTreeMap<String, String>>,
}

/// How the files of a dataset came to be on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Part of the program.
    Embedded,
    /// All files were there.
    Present,
    /// This many files were downloaded.
    Downloaded(usize),
}

impl Store {
    /// Looks in `data` (the option `--data`), in `NPSVCPP_DATA` and in the user's cache, in this
    /// order. Downloads go to `data` if given, else to the cache.
    pub fn new(data: Option<PathBuf>, offline: bool) -> Self {
        let variable =
            std::env::var_os("NPSVCPP_DATA").filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = dirs::cache_dir().map(|cache| cache.join("npsvcpp").join("datasets"));
        let target = data.clone().or_else(|| cache.clone());
        Self {
            folders: [data, variable, cache].into_iter().flatten().collect(),
            target,
            offline,
            plans_only: false,
            device: "cpu".to_owned(),
            agent: download::agent(),
            unreachable: Mutex::default(),
        }
    }

    /// Looks in `folder` and nowhere else; downloads go there too.
    pub fn in_folder(folder: PathBuf, offline: bool) -> Self {
        let target = Some(folder.clone());
        Self { folders: vec![folder], target, ..Self::new(None, offline) }
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

    /// The dataset that `spec` asks for, with its options except `encoder`: images are still images. With
    /// `on_validation`, parameters are chosen on its validation samples. Nothing is downloaded unless
    /// `may_download`.
    pub fn load_spec(
        &self,
        spec: &DatasetSpec,
        seed: &Seed,
        on_validation: bool,
        may_download: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Dataset, DataError> {
        let (dataset, size) = match spec {
            DatasetSpec::Registered { name, options } => {
                let entry = registry::find(name)?;
                (self.fetch_entry(entry, may_download, progress)?.0, options.subsample)
            }
            DatasetSpec::Files(files) => (load_files(files)?, files.subsample),
        };
        let dataset = match size {
            Some(size) => subsample(&dataset, size, seed)?,
            None => dataset,
        };
        self.with_validation(dataset, spec, on_validation)
    }

    /// The dataset called `name`: embedded, else from a data folder, else downloaded.
    pub fn load(&self, name: &str) -> Result<Dataset, DataError> {
        let entry = registry::find(name)?;
        self.fetch_entry(entry, &|| true, &mut |_| {}).map(|(dataset, _)| dataset)
    }

    /// Downloads what is missing of the dataset called `name`, and verifies it.
    pub fn fetch(
        &self,
        name: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Fetched, DataError> {
        let entry = registry::find(name)?;
        self.fetch_entry(entry, &|| true, progress).map(|(_, fetched)| fetched)
    }

    /// Reads the dataset called `name` and compares it with its manifest. Of embedded data, files in a data
    /// folder are read too.
    pub fn verify(&self, name: &str) -> Result<Dataset, DataError> {
        let entry = registry::find(name)?;
        if !entry.is_embedded() {
            return entry.read(&self.files(entry)?);
        }
        if let Some(paths) = self.find_files(entry) {
            entry.read(&paths)?;
        }
        entry.read_embedded()
    }

    /// Where the dataset called `name` is, `None` for one that is part of the program.
    pub fn path(&self, name: &str) -> Result<Option<Vec<PathBuf>>, DataError> {
        let entry = registry::find(name)?;
        if entry.is_embedded() { Ok(None) } else { self.files(entry).map(Some) }
    }

    /// The validation samples of the dataset called `name`, whose files are on this machine.
    pub(crate) fn load_validation(&self, name: &str) -> Result<Samples, DataError> {
        let entry = registry::find(name)?;
        if let Some(read) = entry.validation {
            return read(&self.files(entry)?);
        }
        let having = registry::all().iter().filter(|entry| entry.validation.is_some());
        let names: Vec<&str> = having.map(|entry| entry.manifest.name.as_str()).collect();
        let problem = format!("it has no validation part; `{}` have one", names.join("`, `"));
        Err(DataError::Split { dataset: name.to_owned(), problem })
    }

    fn fetch_entry(
        &self,
        entry: &Entry,
        may_download: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Dataset, Fetched), DataError> {
        if entry.is_embedded() {
            return Ok((entry.read_embedded()?, Fetched::Embedded));
        }
        let can_download = entry.manifest.by_hand.is_none();
        if self.find_files(entry).is_none() && can_download && may_download() {
            return self.download(entry, progress);
        }
        Ok((entry.read(&self.files(entry)?)?, Fetched::Present))
    }

    /// As [`Store::find_files`]; an error that says how to get them if they are missing.
    fn files(&self, entry: &Entry) -> Result<Vec<PathBuf>, DataError> {
        self.find_files(entry).ok_or_else(|| self.unavailable(&entry.manifest, ""))
    }

    /// All files of the dataset, or the folder of one that is put there by hand.
    pub fn find_files(&self, entry: &Entry) -> Option<Vec<PathBuf>> {
        let manifest = &entry.manifest;
        if manifest.by_hand.is_some() && manifest.files.is_empty() {
            let mut folders = self.folders.iter().map(|folder| folder.join(&manifest.name));
            return folders.find(|folder| (entry.is_in)(folder)).map(|folder| vec![folder]);
        }
        let files = manifest.files.iter().map(|file| self.find_path(&manifest.place(file)));
        files.collect::<Option<Vec<_>>>().filter(|files| !files.is_empty())
    }

    fn find_path(&self, file: &Path) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(file)).find(|path| path.is_file())
    }

    /// Downloads the missing files, reads them all, and only then gives them their names.
    fn download(
        &self,
        entry: &Entry,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Dataset, Fetched), DataError> {
        let manifest = &entry.manifest;
        let failed = |why: String| self.unavailable(manifest, &why);
        let folder = self.download_folder(&manifest.name).map_err(failed)?;
        // Two processes must not write into one `.part` file; the second finds the result.
        let lock = File::create(folder.join(".lock")).and_then(|lock| lock.lock().map(|()| lock));
        let _lock = lock.map_err(|error| failed(unwritable(&folder, &error)))?;
        if let Some(paths) = self.find_files(entry) {
            return Ok((entry.read(&paths)?, Fetched::Present));
        }
        loop {
            let (paths, resumed) =
                self.download_missing(manifest, &folder, progress).map_err(failed)?;
            let parts: Vec<_> = paths.iter().filter(|path| is_part(path)).collect();
            let outcome = entry.read(&paths);
            for part in &parts {
                let done = match outcome {
                    Ok(_) => fs::rename(part, part.with_extension("")),
                    Err(_) => fs::remove_file(part),
                };
                done.map_err(|error| failed(unwritable(part, &error)))?;
            }
            match outcome {
                Ok(dataset) => return Ok((dataset, Fetched::Downloaded(parts.len()))),
                // The server's file may have changed between the parts: once more from the start.
                Err(_) if resumed => {}
                Err(error) => {
                    let why = format!("what was sent is not the dataset ({error})");
                    return Err(failed(format!(", and the download failed: {why}")));
                }
            }
        }
    }

    /// Downloads the missing files as `.part` files. The paths of all files, and whether parts of an earlier
    /// call were used; or why a file is missing.
    fn download_missing(
        &self,
        manifest: &Manifest,
        folder: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Vec<PathBuf>, bool), String> {
        let mut resumed = false;
        let mut path_of = |file: &DataFile| {
            if let Some(path) = self.find_path(&manifest.place(file)) {
                return Ok(path);
            }
            let part = folder.join(format!("{}.part", file.name));
            let (dataset, name) = (&manifest.name, &file.name);
            resumed |= self.download_file(&file.url, &part, &mut |done, total| {
                progress(Progress { dataset, file: name, done, total });
            })?;
            Ok(part)
        };
        let paths = manifest.files.iter().map(&mut path_of).collect::<Result<_, String>>()?;
        Ok((paths, resumed))
    }

    fn download_file(&self, url: &str, part: &Path, report: Report<'_>) -> Result<bool, String> {
        let server = download::server_of(url);
        if let Some(reason) = self.unreachable().get(server) {
            return Err(format!(", and the download failed: {reason}"));
        }
        download::complete(&self.agent, url, part, report).map_err(|failure| {
            if let Failure::NoServer(reason) = &failure {
                self.unreachable().insert(server.to_owned(), reason.clone());
            }
            format!(", and the download failed: {failure}")
        })
    }

    fn unreachable(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // The map is whole after every operation, so a panic elsewhere does not spoil it.
        self.unreachable.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The folder called `name` for downloads, created if need be; or why there is none.
    fn download_folder(&self, name: &str) -> Result<PathBuf, String> {
        if self.offline {
            return Err(", and --offline prevents downloading it".to_owned());
        }
        let target = self.target.as_ref().ok_or(", and there is no folder to download it to")?;
        let folder = target.join(name);
        fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        Ok(folder)
    }

    /// The file of the weights of `encoder`, downloaded if need be.
    pub fn weights(&self, dataset: &str, encoder: &EncoderSpec) -> Result<PathBuf, DataError> {
        let published = encoder.network.published_weights();
        let own = encoder.weights.as_deref();
        let file = Path::new("weights").join(own.unwrap_or(Path::new(published)));
        let as_path = own.filter(|own| own.is_file()).map(Path::to_path_buf);
        match (as_path.or_else(|| self.find_path(&file)), own) {
            (Some(path), _) => Ok(path),
            (None, Some(own)) => {
                let own = own.display();
                let problem = format!(
                    "there is no file {own} of weights, neither as a path nor in the folder `weights` of \
                     a data folder"
                );
                Err(DataError::Encoder { dataset: dataset.to_owned(), problem })
            }
            (None, None) => {
                let url = format!("{WEIGHTS}/{published}");
                self.download_weights(published, &url).map_err(|why| DataError::Unavailable {
                    dataset: dataset.to_owned(),
                    reason: format!(
                        "no `weights/{published}` of its encoder in any data folder{why}"
                    ),
                    remedy: format!("get {url} and put it at {}", self.place(&file).display()),
                    address: url,
                })
            }
        }
    }

    /// Downloads weights whose name ends in the beginning of their hash; or says why that failed.
    fn download_weights(&self, name: &str, url: &str) -> Result<PathBuf, String> {
        let path = self.download_folder("weights")?.join(name);
        let part = path.with_extension("pth.part");
        self.download_file(url, &part, &mut |_, _| ())?;
        let hash = hex(&Sha256::digest(raw(&part).map_err(|error| format!(" ({error})"))?));
        let (_, wanted) = name.trim_end_matches(".pth").rsplit_once('-').unwrap_or_default();
        if !hash.starts_with(wanted) {
            let _ = fs::remove_file(&part);
            return Err(format!(", and what was sent has SHA-256 {hash}, expected {wanted}..."));
        }
        fs::rename(&part, &path).map_err(|error| unwritable(&path, &error))?;
        Ok(path)
    }

    /// Where a missing file belongs.
    fn place(&self, file: &Path) -> PathBuf {
        self.target.as_deref().unwrap_or(Path::new("<data folder>")).join(file)
    }

    /// The sentence for a missing dataset: what is missing, `why` it was not downloaded, where to get it and
    /// where to put it.
    fn unavailable(&self, manifest: &Manifest, why: &str) -> DataError {
        let folders = self.folders.iter().map(|folder| folder.display().to_string());
        let searched = match &folders.collect::<Vec<_>>()[..] {
            [] => "any data folder (give --data or set NPSVCPP_DATA)".to_owned(),
            folders => folders.join(" or "),
        };
        let is_missing = |file: &&DataFile| self.find_path(&manifest.place(file)).is_none();
        let missing: Vec<&DataFile> = manifest.files.iter().filter(is_missing).collect();
        let each = |describe: &dyn Fn(&DataFile) -> String, between: &str| {
            let all: Vec<String> = missing.iter().map(|file| describe(file)).collect();
            all.join(between)
        };
        let name = Path::new(&manifest.name);
        // A folder that exists was searched and does not have what is needed.
        let without =
            self.folders.iter().map(|folder| folder.join(name)).find(|path| path.is_dir());
        let (what, place) = match (&manifest.by_hand, &missing[..], without) {
            (Some(content), [], Some(folder)) => {
                (format!("{} does not hold {content}", folder.display()), folder)
            }
            (_, [], _) => {
                (format!("no folder `{}` in {searched}", manifest.name), self.place(name))
            }
            (_, [_, ..], _) => {
                let names = each(&|f| format!("`{}`", manifest.place(f).display()), " and ");
                (format!("no {names} in {searched}"), self.place(Path::new("")))
            }
        };
        let (remedy, address) = match &manifest.by_hand {
            None => {
                let step = |file: &DataFile| {
                    let place = self.place(&manifest.place(file));
                    format!("get {} and put it at {}", file.url, place.display())
                };
                (each(&step, ", "), each(&|file| file.url.clone(), " and "))
            }
            Some(content) => {
                let (page, place) = (&manifest.homepage, place.display());
                let remedy =
                    format!("it has no direct download: see {page} and put {content} into {place}");
                (remedy, page.clone())
            }
        };
        let (dataset, reason) = (manifest.name.clone(), what + why);
        DataError::Unavailable { dataset, reason, remedy, address }
    }
}

fn is_part(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "part")
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!(", and {} cannot be written ({error})", path.display())
}
