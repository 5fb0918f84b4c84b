//! Where data lies: folders that are searched, the cache that downloads go to, and what the `data`
//! command does with them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use ureq::Agent;

use super::download::{self, Failure, Progress};
use super::error::{DataError, Place};
use super::manifest::{DataFile, Manifest};
use super::registry::{self, Entry};
use super::{Dataset, hex};

/// The data folders of a run, and whether missing files may be downloaded.
///
/// A file `usps.bz2` of the dataset `usps` lies at `<folder>/usps/usps.bz2`.
pub struct Store {
    folders: Vec<PathBuf>,
    /// Downloads go here.
    target: Option<PathBuf>,
    offline: bool,
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

/// What `fetch` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Nothing to do: part of the program.
    Embedded,
    /// Nothing to do: all files were there, and are right.
    Present(Vec<PathBuf>),
    Downloaded(Vec<PathBuf>),
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

/// Downloads what is missing of the named datasets (of all, if none is named) and verifies
/// everything. One failure does not keep the others from being tried.
pub fn fetch(
    store: &Store,
    names: &[&str],
    progress: &mut dyn FnMut(Progress),
) -> Vec<(String, Result<Fetched, DataError>)> {
    named(names, |entry| {
        store.fetch(entry, progress).map(|(fetched, _)| fetched)
    })
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

/// Where the dataset is; an error that says how to get it if it is nowhere.
pub fn path(store: &Store, name: &str) -> Result<Location, DataError> {
    let entry = registry::find(name)?;
    match store.locate(entry) {
        Location::Missing => Err(store.unavailable(&entry.manifest, "")),
        location => Ok(location),
    }
}

fn named<T>(
    names: &[&str],
    mut act: impl FnMut(&'static Entry) -> Result<T, DataError>,
) -> Vec<(String, Result<T, DataError>)> {
    let names: Vec<&str> = if names.is_empty() {
        registry::names().collect()
    } else {
        names.to_vec()
    };
    names
        .into_iter()
        .map(|name| (name.to_owned(), registry::find(name).and_then(&mut act)))
        .collect()
}

impl Store {
    /// Looks in `data` (the option `--data`), in `NPSVCPP_DATA` and in the user's cache, in this
    /// order. Downloads go to `data` if given, else to the cache.
    pub fn new(data: Option<PathBuf>, offline: bool) -> Self {
        let variable = std::env::var_os("NPSVCPP_DATA")
            .filter(|value| !value.is_empty())
            .map(PathBuf::from);
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
            agent: download::agent(),
            silent: Mutex::default(),
        }
    }

    /// The dataset called `name`: embedded, else from a data folder, else downloaded.
    pub fn load(&self, name: &str) -> Result<Dataset, DataError> {
        self.load_with(name, &mut |_| {})
    }

    /// As [`Store::load`], telling how far a download is.
    pub fn load_with(
        &self,
        name: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Dataset, DataError> {
        self.load_entry(registry::find(name)?, progress)
    }

    fn load_entry(
        &self,
        entry: &Entry,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Dataset, DataError> {
        match self.locate(entry) {
            Location::Embedded => read_embedded(entry),
            Location::Files(paths) => read(entry, &paths),
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
        self.locate_files(entry)
            .map_or(Location::Missing, Location::Files)
    }

    /// All files of the dataset, or the folder of one that is put there by hand.
    fn locate_files(&self, entry: &Entry) -> Option<Vec<PathBuf>> {
        let manifest = &entry.manifest;
        if manifest.by_hand.is_some() {
            let mut folders = self
                .folders
                .iter()
                .map(|folder| folder.join(&manifest.name));
            return folders
                .find(|folder| folder.is_dir())
                .map(|folder| vec![folder]);
        }
        let files: Option<Vec<_>> = manifest
            .files
            .iter()
            .map(|file| self.locate_file(manifest, file))
            .collect();
        files.filter(|files| !files.is_empty())
    }

    fn locate_file(&self, manifest: &Manifest, file: &DataFile) -> Option<PathBuf> {
        self.folders
            .iter()
            .map(|folder| folder.join(&manifest.name).join(&file.name))
            .find(|path| path.is_file())
    }

    fn fetch(
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
    fn download(
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
        let unwritable = |error| {
            failed(format!(
                ", and {} cannot be written ({error})",
                folder.display()
            ))
        };
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
        let paths = manifest
            .files
            .iter()
            .filter_map(|file| self.locate_file(manifest, file));
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
            progress(Progress {
                dataset: &manifest.name,
                file: &file.name,
                done,
                total,
            });
        };
        download::complete(&self.agent, &file.url, part, &mut report).map_err(|failure| {
            if let Failure::NoServer(reason) = &failure {
                self.silent().insert(server.to_owned(), reason.clone());
            }
            Unfit::Download(failure.to_string())
        })
    }

    fn silent(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        // The map is whole after every operation, so a panic elsewhere does not spoil it.
        self.silent
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The sentence for data that is not there: what is missing, `why` it was not downloaded, where
    /// to get it and where to put it.
    fn unavailable(&self, manifest: &Manifest, why: &str) -> DataError {
        let searched: Vec<_> = self
            .folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        let searched = match &searched[..] {
            [] => "any data folder (give --data or set NPSVCPP_DATA)".to_owned(),
            _ => searched.join(" or "),
        };
        let target = self.target.as_deref().unwrap_or(Path::new("<data folder>"));
        let place = target.join(&manifest.name);
        let (what, remedy) = match &manifest.by_hand {
            Some(content) => (
                format!("folder `{}`", manifest.name),
                format!(
                    "it has no direct download: see {} and put {content} into {}",
                    manifest.homepage,
                    place.display()
                ),
            ),
            None => {
                let missing: Vec<_> = manifest
                    .files
                    .iter()
                    .filter(|file| self.locate_file(manifest, file).is_none())
                    .collect();
                let names: Vec<_> = missing
                    .iter()
                    .map(|file| format!("`{}/{}`", manifest.name, file.name))
                    .collect();
                let steps: Vec<_> = missing
                    .iter()
                    .map(|file| {
                        format!(
                            "get {} and put it at {}",
                            file.url,
                            place.join(&file.name).display()
                        )
                    })
                    .collect();
                (names.join(" and "), steps.join(", "))
            }
        };
        DataError::Unavailable {
            dataset: manifest.name.clone(),
            reason: format!("no {what} in {searched}{why}"),
            remedy,
        }
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

fn read_embedded(entry: &Entry) -> Result<Dataset, DataError> {
    let manifest = &entry.manifest;
    let path = Path::new(&manifest.name);
    let embedded = entry.embedded.ok_or_else(|| {
        DataError::content(path, Place::File, "no embedded data", "data in the program")
    })?;
    let mut dataset = Dataset::new(&manifest.name, embedded()?, None, path)?;
    manifest.check(&mut dataset, path)?;
    Ok(dataset)
}

/// Reads files, recognises them by hash, and compares their content with the manifest.
fn read(entry: &Entry, paths: &[PathBuf]) -> Result<Dataset, DataError> {
    let manifest = &entry.manifest;
    let mut notes = Vec::new();
    for (file, path) in manifest.files.iter().zip(paths) {
        if !file.copies.is_empty() {
            notes.extend(file.recognise(&file_hash(path)?, path)?);
        }
    }
    let first = paths
        .first()
        .map_or(Path::new(&manifest.name), PathBuf::as_path);
    let samples = (entry.loader)(manifest, paths)?;
    let mut dataset = Dataset::new(&manifest.name, samples, None, first)?;
    manifest.check(&mut dataset, first)?;
    dataset.notes.extend(notes);
    Ok(dataset)
}

fn file_hash(path: &Path) -> Result<String, DataError> {
    let unreadable = |error| DataError::read(path, error);
    let mut file = File::open(path).map_err(unreadable)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(unreadable)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::libsvm;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    const TEXT: &str = "1 1:1 2:1\n2 1:2 2:2\n1 1:3 2:3\n2 1:4 2:4\n";

    /// How the server answers one request.
    #[derive(Clone, Copy)]
    enum Answer {
        /// Everything, whatever was asked for.
        Whole(&'static str),
        /// The first this many bytes of everything, then the connection ends.
        Cut(usize),
        /// What the range asks for.
        Range,
        /// Nothing beyond this length.
        NoMore(u64),
        Status(&'static str),
    }

    /// A server that gives these answers, one request each, and returns the ranges asked for.
    fn serve(answers: Vec<Answer>) -> (String, JoinHandle<Vec<Option<u64>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let handle = std::thread::spawn(move || {
            let respond = |answer| {
                let (mut stream, _) = listener.accept().unwrap();
                let range = BufReader::new(&stream)
                    .lines()
                    .map(Result::unwrap)
                    .take_while(|line| !line.is_empty())
                    .filter_map(|line| {
                        let line = line.to_lowercase();
                        let from = line.strip_prefix("range: bytes=")?.strip_suffix('-')?;
                        from.parse().ok()
                    })
                    .last();
                stream.write_all(&reply(answer, range)).unwrap();
                range
            };
            answers.into_iter().map(respond).collect()
        });
        (address, handle)
    }

    fn reply(answer: Answer, range: Option<u64>) -> Vec<u8> {
        let with = |status: &str, extra: String, length: usize, body: &str| {
            format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{extra}\r\n{body}"
            )
            .into_bytes()
        };
        match answer {
            Answer::Whole(text) => with("200 OK", String::new(), text.len(), text),
            Answer::Cut(at) => with("200 OK", String::new(), TEXT.len(), &TEXT[..at]),
            Answer::Range => {
                let from = range.expect("the client asks for a range") as usize;
                let extra = format!(
                    "Content-Range: bytes {from}-{}/{}\r\n",
                    TEXT.len() - 1,
                    TEXT.len()
                );
                with(
                    "206 Partial Content",
                    extra,
                    TEXT.len() - from,
                    &TEXT[from..],
                )
            }
            Answer::NoMore(length) => {
                let extra = format!("Content-Range: bytes */{length}\r\n");
                with("416 Range Not Satisfiable", extra, 0, "")
            }
            Answer::Status(status) => with(status, String::new(), 0, ""),
        }
    }

    fn entry(server: &str, only: Option<&str>) -> Entry {
        let hashes = only.map_or_else(String::new, |sha256| {
            format!("    only-these: true\n    copies: [{{sha256: {sha256}, of: the original}}]\n")
        });
        let manifest = format!(
            "name: tiny\ntitle: Tiny\nhomepage: h\nlicence: l\ncitation: c\nfiles:\n  - name: tiny.txt\n    \
             url: {server}/tiny.txt\n{hashes}samples: 4\ndims: 2\nclass-counts: [2, 2]\n"
        );
        Entry {
            manifest: Manifest::parse(&manifest).unwrap(),
            loader: libsvm::load,
            embedded: None,
        }
    }

    /// A store that goes to the test's own server even where a proxy is configured.
    fn store(folder: &Path, offline: bool) -> Store {
        let mut store = Store::in_folder(folder.to_path_buf(), offline);
        store.agent = Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            .build()
            .new_agent();
        store
    }

    fn load(store: &Store, entry: &Entry) -> Result<Dataset, DataError> {
        store.load_entry(entry, &mut |_| {})
    }

    struct Outcome {
        result: Result<(Fetched, Dataset), DataError>,
        ranges: Vec<Option<u64>>,
        progress: Vec<(u64, Option<u64>)>,
    }

    /// Fetches into `folder` from a server that gives `answers`.
    fn fetch_from(folder: &Path, answers: Vec<Answer>, only: Option<&str>) -> Outcome {
        let (server, handle) = serve(answers);
        let mut progress = Vec::new();
        let result = store(folder, false).fetch(&entry(&server, only), &mut |p| {
            progress.push((p.done, p.total));
        });
        Outcome {
            result,
            ranges: handle.join().unwrap(),
            progress,
        }
    }

    fn files(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder.join("tiny"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name != ".lock")
            .collect();
        names.sort();
        names
    }

    #[test]
    fn downloads_verifies_and_names() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = fetch_from(folder.path(), vec![Answer::Whole(TEXT)], None);
        let (fetched, dataset) = outcome.result.unwrap();
        let path = folder.path().join("tiny").join("tiny.txt");
        assert_eq!(fetched, Fetched::Downloaded(vec![path.clone()]));
        assert_eq!(dataset.x.dim(), (4, 2));
        assert_eq!(fs::read_to_string(path).unwrap(), TEXT);
        assert_eq!(files(folder.path()), ["tiny.txt"]);
        let length = TEXT.len() as u64;
        assert_eq!(outcome.progress.last(), Some(&(length, Some(length))));
    }

    #[test]
    fn a_broken_transfer_goes_on_where_it_broke() {
        let folder = tempfile::tempdir().unwrap();
        let answers = vec![Answer::Cut(13), Answer::Range];
        let outcome = fetch_from(folder.path(), answers, None);
        assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
        assert_eq!(outcome.ranges, [None, Some(13)]);
    }

    #[test]
    fn a_later_call_goes_on_with_the_part() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tiny")).unwrap();
        let part = folder.path().join("tiny/tiny.txt.part");
        fs::write(&part, &TEXT[..20]).unwrap();
        let outcome = fetch_from(folder.path(), vec![Answer::Range], None);
        assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
        assert_eq!(outcome.ranges, [Some(20)]);
        assert_eq!(outcome.progress[0], (20, Some(TEXT.len() as u64)));
        assert_eq!(files(folder.path()), ["tiny.txt"]);
    }

    #[test]
    fn a_server_without_ranges_sends_everything_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tiny")).unwrap();
        fs::write(folder.path().join("tiny/tiny.txt.part"), "x").unwrap();
        let outcome = fetch_from(folder.path(), vec![Answer::Whole(TEXT)], None);
        assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
    }

    #[test]
    fn a_part_that_was_complete_is_only_verified() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tiny")).unwrap();
        fs::write(folder.path().join("tiny/tiny.txt.part"), TEXT).unwrap();
        let length = TEXT.len() as u64;
        let outcome = fetch_from(folder.path(), vec![Answer::NoMore(length)], None);
        assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
    }

    #[test]
    fn a_part_of_another_file_is_dropped() {
        for (part, answers) in [
            // Longer than the file, and as long as a beginning of it.
            (
                "y".repeat(99),
                vec![Answer::NoMore(48), Answer::Whole(TEXT)],
            ),
            ("y".repeat(20), vec![Answer::Range, Answer::Whole(TEXT)]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("tiny")).unwrap();
            fs::write(folder.path().join("tiny/tiny.txt.part"), part).unwrap();
            let outcome = fetch_from(folder.path(), answers, None);
            assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
            assert_eq!(outcome.ranges[1], None);
        }
    }

    #[test]
    fn a_wrong_file_leaves_nothing_and_names_both_hashes() {
        let folder = tempfile::tempdir().unwrap();
        let other = "1 1:1 2:1\n2 1:2 2:2\n1 1:3 2:3\n2 1:4 2:5\n";
        let hash = "ab".repeat(32);
        let outcome = fetch_from(folder.path(), vec![Answer::Whole(other)], Some(&hash));
        let error = outcome.result.unwrap_err();
        assert!(error.is_unavailable());
        let text = error.to_string();
        let found = hex(&Sha256::digest(other));
        assert!(
            text.contains(&format!("the file has SHA-256 {found}, expected {hash}")),
            "{text}"
        );
        assert!(files(folder.path()).is_empty());
    }

    #[test]
    fn a_local_file_with_another_hash_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tiny")).unwrap();
        fs::write(folder.path().join("tiny/tiny.txt"), TEXT).unwrap();
        let load_only = |only: &str| {
            load(
                &store(folder.path(), true),
                &entry("http://127.0.0.1:1", Some(only)),
            )
        };
        let right = hex(&Sha256::digest(TEXT));
        assert_eq!(
            load_only(&right).unwrap().notes,
            ["tiny.txt is the original"]
        );
        let error = load_only(&"ab".repeat(32)).unwrap_err();
        assert!(matches!(&error, DataError::Hash { found, .. } if *found == right));
        assert!(!error.is_unavailable());
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = fetch_from(folder.path(), vec![Answer::Status("404 Not Found")], None);
        let text = outcome.result.unwrap_err().to_string();
        let place = folder.path().join("tiny/tiny.txt");
        assert!(text.contains("tiny.txt answered 404 Not Found"), "{text}");
        assert!(
            text.ends_with(&format!("and put it at {}", place.display())),
            "{text}"
        );
    }

    #[test]
    fn a_silent_server_is_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        // Bound, then closed again: nobody listens there.
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let entry = entry(&format!("http://{address}"), None);
        let store = store(folder.path(), false);
        let first = load(&store, &entry).unwrap_err();
        assert!(first.is_unavailable());
        assert_eq!(store.silent().len(), 1);
        assert_eq!(
            load(&store, &entry).unwrap_err().to_string(),
            first.to_string()
        );
    }

    #[test]
    fn an_unwritable_cache_is_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("tiny"),
            "a file where a folder should be",
        )
        .unwrap();
        let error = load(
            &store(folder.path(), false),
            &entry("http://127.0.0.1:1", None),
        )
        .unwrap_err();
        assert!(error.is_unavailable());
        assert!(error.to_string().contains("cannot be written"), "{error}");
    }

    #[test]
    fn embedded_data_needs_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(folder.path().to_path_buf(), true);
        assert_eq!(store.load("pendigits").unwrap().x.dim(), (10992, 16));
        assert_eq!(store.load("optdigits").unwrap().x.dim(), (1797, 64));
        assert_eq!(path(&store, "optdigits").unwrap(), Location::Embedded);
        let fetched = fetch(&store, &["optdigits"], &mut |_| {});
        assert_eq!(fetched[0].1.as_ref().unwrap(), &Fetched::Embedded);
    }

    #[test]
    fn the_first_folder_wins() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = vec![first.path().to_path_buf(), second.path().to_path_buf()];
        let store = Store::with_folders(folders, None, true);
        let entry = entry("http://127.0.0.1:1", None);
        assert_eq!(store.locate(&entry), Location::Missing);
        for folder in [&second, &first] {
            fs::create_dir(folder.path().join("tiny")).unwrap();
            let path = folder.path().join("tiny/tiny.txt");
            fs::write(&path, TEXT).unwrap();
            assert_eq!(store.locate(&entry), Location::Files(vec![path]));
        }
    }

    /// The published files, as far as they are there.
    #[test]
    #[ignore = "needs NPSVCPP_DATA to name a folder with the datasets of the paper"]
    fn the_papers_data_has_its_shape() {
        let store = Store::new(None, true);
        for (name, result) in verify(&store, &["usps", "pendigits", "dna", "binalpha", "20news"]) {
            let dataset = result.unwrap_or_else(|error| panic!("{error}"));
            println!(
                "{name}: {:?} {} {:?}",
                dataset.x.dim(),
                dataset.hash,
                dataset.notes
            );
        }
    }
}
