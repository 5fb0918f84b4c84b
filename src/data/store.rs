//! Where data is: folders that are searched, and the cache that downloads go to.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use npsvc::Seed;

use super::download::{Client, Progress, unwritable};
use super::error::DataError;
use super::manifest::{DataFile, Manifest};
use super::registry::{self, Entry};
use super::{Dataset, DatasetSpec, EncoderSpec, EvaluateOn, load_files, subsample};

/// The ending of files packed with bzip2, which serve as well as plain ones.
const BZ2: &str = ".bz2";

/// The data folders of a run, and whether missing files may be downloaded.
///
/// A file `usps.bz2` of the dataset `usps` is at `<folder>/usps/usps.bz2`.
pub struct Store {
    folders: Vec<PathBuf>,
    /// Downloads go here.
    target: Option<PathBuf>,
    offline: bool,
    /// Whether the data is for a plan only, which needs shapes and hashes but no vectors of images.
    pub plans_only: bool,
    /// The device that encodes images, `cpu` or `cuda:N`.
    pub device: String,
    client: Client,
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
            client: Client::new(),
        }
    }

    /// Looks in `folder` and nowhere else; downloads go there too.
    pub fn in_folder(folder: PathBuf, offline: bool) -> Self {
        let target = Some(folder.clone());
        Self { folders: vec![folder], target, ..Self::new(None, offline) }
    }

    /// The same for a plan only.
    pub fn for_plan(self) -> Self {
        Self { plans_only: true, ..self }
    }

    /// The same with images encoded on `device`.
    pub fn on_device(self, device: &str) -> Self {
        Self { device: device.to_owned(), ..self }
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
        let (dataset, size, evaluate_on) = match spec {
            DatasetSpec::Registered { name, options } => {
                let entry = registry::find(name)?;
                let dataset = match options.official_split {
                    false => self.load_entry(entry, may_download, progress)?,
                    true => {
                        let entry = entry.with_official_split()?;
                        let mut dataset = self.load_entry(&entry, may_download, progress)?;
                        dataset.warn_of_shared_rows();
                        dataset
                    }
                };
                (dataset, options.subsample, options.evaluate_on)
            }
            DatasetSpec::Files(files) => (load_files(files)?, files.subsample, EvaluateOn::Test),
        };
        let dataset = match size {
            Some(size) => subsample(&dataset, size, seed)?,
            None => dataset,
        };
        dataset.use_validation(evaluate_on, on_validation)
    }

    /// The dataset called `name`: embedded, else from a data folder, else downloaded.
    pub fn fetch(
        &self,
        name: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Dataset, DataError> {
        self.load_entry(registry::find(name)?, &|| true, progress)
    }

    /// Reads the dataset called `name` and compares it with its manifest. Of embedded data, files in a data
    /// folder are read too.
    pub fn verify(&self, name: &str) -> Result<Dataset, DataError> {
        let entry = registry::find(name)?;
        if let (true, Some(paths)) = (entry.is_embedded(), self.find_files(entry)) {
            entry.read(&paths)?;
        }
        // Of the official split, what is here.
        if let Ok(official) = entry.with_official_split()
            && let (false, Some(paths)) = (entry.is_embedded(), self.find_files(&official))
        {
            official.read(&paths)?;
        }
        self.load_entry(entry, &|| false, &mut |_| {})
    }

    /// Where the dataset called `name` is, `None` for one that is part of the program.
    pub fn path(&self, name: &str) -> Result<Option<Vec<PathBuf>>, DataError> {
        let entry = registry::find(name)?;
        match self.find_files(entry) {
            _ if entry.is_embedded() => Ok(None),
            Some(paths) => Ok(Some(paths)),
            None => Err(self.unavailable(&entry.manifest, "")),
        }
    }

    fn load_entry(
        &self,
        entry: &Entry,
        may_download: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Dataset, DataError> {
        let manifest = &entry.manifest;
        if entry.is_embedded() {
            return entry.read_embedded();
        }
        match self.find_files(entry) {
            Some(paths) => entry.read(&paths),
            None if !manifest.is_by_hand() && may_download() => {
                self.download(manifest, |paths| entry.read(paths), progress)
            }
            None => Err(self.unavailable(manifest, "")),
        }
    }

    /// All files of the dataset, if it has files and all of them are here.
    pub fn find_files(&self, entry: &Entry) -> Option<Vec<PathBuf>> {
        self.find_all(&entry.manifest).filter(|paths| !paths.is_empty())
    }

    fn find_all(&self, manifest: &Manifest) -> Option<Vec<PathBuf>> {
        manifest.files.iter().map(|file| self.find_file(file, &manifest.name)).collect()
    }

    /// A file of `dataset`, unpacked or not.
    fn find_file(&self, file: &DataFile, dataset: &str) -> Option<PathBuf> {
        let place = file.place(dataset);
        let packed = format!("{}{BZ2}", file.name);
        let others = [file.unpacked.as_deref(), Some(&packed), file.name.strip_suffix(BZ2)];
        let mut others = others.into_iter().flatten().map(|name| place.with_file_name(name));
        self.find(&place).or_else(|| others.find_map(|place| self.find(&place)))
    }

    /// What is at `place` in the first data folder that has it.
    fn find(&self, place: &Path) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(place)).find(|path| path.exists())
    }

    /// Downloads the missing files, reads all of them, and only then gives them their names.
    fn download<T>(
        &self,
        manifest: &Manifest,
        read: impl Fn(&[PathBuf]) -> Result<T, DataError>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<T, DataError> {
        let Manifest { name: dataset, files, .. } = manifest;
        let failed = |why: String| self.unavailable(manifest, &format!(", and {why}"));
        // Two processes must not write into one `.part` file; the second finds the result.
        let folder = files.first().and_then(|file| file.folder.as_ref()).unwrap_or(dataset);
        let (folder, _lock) = self.lock_folder(folder).map_err(failed)?;
        loop {
            let (mut paths, mut parts, mut is_resumed) = (Vec::new(), Vec::new(), false);
            for file in files {
                if let Some(path) = self.find_file(file, dataset) {
                    paths.push(path);
                    continue;
                }
                let part = folder.join(format!("{}.part", file.name));
                is_resumed |= part.exists();
                let name = &file.name;
                let report =
                    &mut |done, total| progress(Progress { dataset, file: name, done, total });
                let outcome = self.client.download(&file.url, &part, report);
                outcome.map_err(|reason| failed(format!("the download failed: {reason}")))?;
                paths.push(part.clone());
                parts.push(part);
            }
            let outcome = read(&paths);
            for part in &parts {
                let done = match outcome {
                    Ok(_) => fs::rename(part, part.with_extension("")),
                    Err(_) => fs::remove_file(part),
                };
                done.map_err(|error| failed(unwritable(part, &error)))?;
            }
            match outcome {
                // The server's file may have changed between the parts: once more from the start.
                Err(_) if is_resumed => {}
                Err(error) if !parts.is_empty() => {
                    let why = format!("the download failed: the server sent other data ({error})");
                    return Err(failed(why));
                }
                outcome => return outcome,
            }
        }
    }

    /// The folder called `name` for downloads, created if necessary and locked; or the reason why it cannot be used.
    fn lock_folder(&self, name: &str) -> Result<(PathBuf, File), String> {
        if self.offline {
            return Err("--offline prevents downloading it".to_owned());
        }
        let target = self.target.as_ref().ok_or("there is no folder to download it to")?;
        let folder = target.join(name);
        let lock = fs::create_dir_all(&folder).and_then(|()| {
            let lock = File::create(folder.join(".lock"))?;
            lock.lock().map(|()| lock)
        });
        let lock = lock.map_err(|error| unwritable(&folder, &error))?;
        Ok((folder, lock))
    }

    /// The file of the weights of `encoder`, downloaded if necessary.
    pub fn weights(&self, dataset: &str, encoder: &EncoderSpec) -> Result<PathBuf, DataError> {
        if let Some(own) = &encoder.weights {
            let as_path = own.is_file().then(|| own.clone());
            let found = as_path.or_else(|| self.find(&Path::new("weights").join(own)));
            return found.ok_or_else(|| {
                let own = own.display();
                let problem = format!(
                    "there is no file {own} of weights, neither as a path nor in the folder `weights` of \
                     a data folder"
                );
                DataError::unfit(dataset, "encoder", problem)
            });
        }
        let (name, files) = (dataset.to_owned(), vec![encoder.network.published_weights()]);
        let manifest = Manifest { name, files, ..Manifest::default() };
        let find = || Some(self.find_all(&manifest)?.remove(0));
        if find().is_none() {
            let read = |paths: &[PathBuf]| manifest.files[0].recognise(&paths[0]);
            self.download(&manifest, read, &mut |_| {})?;
        }
        find().ok_or_else(|| self.unavailable(&manifest, ""))
    }

    /// The error for missing data: `why` it was not downloaded, where to get it and where to put it.
    fn unavailable(&self, manifest: &Manifest, why: &str) -> DataError {
        let Manifest { name, files, homepage: page, .. } = manifest;
        let folders = self.folders.iter().map(|folder| folder.display().to_string());
        let searched = match &folders.collect::<Vec<_>>()[..] {
            [] => "any data folder (give --data or set NPSVCPP_DATA)".to_owned(),
            folders => folders.join(" or "),
        };
        let target = self.target.as_deref().unwrap_or(Path::new("<data folder>"));
        let missing = files.iter().filter(|file| self.find_file(file, name).is_none());
        let each = |describe: &dyn Fn(&str, &Path) -> String, separator| {
            let described = missing.clone().map(|file| describe(&file.url, &file.place(name)));
            described.collect::<Vec<_>>().join(separator)
        };
        let names = each(&|_, place| format!("`{}`", place.display()), " and ");
        let step = |url: &str, place: &Path| {
            format!("get {url} and put it at {}", target.join(place).display())
        };
        let (remedy, address) = match manifest.is_by_hand() {
            true => {
                let target = target.display();
                let remedy =
                    format!("it has no direct download: see {page} and put {names} into {target}");
                (remedy, page.clone())
            }
            false => (each(&step, ", "), each(&|url, _| url.to_owned(), " and ")),
        };
        let reason = format!("no {names} in {searched}{why}");
        DataError::Unavailable { dataset: name.clone(), reason, remedy, address }
    }
}
