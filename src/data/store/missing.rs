//! What to say about data that is not there.

use std::path::{Path, PathBuf};

use super::Store;
use crate::data::error::DataError;
use crate::data::manifest::{DataFile, Manifest};

/// What is missing, what to do about it, and the official address.
struct Lack {
    what: String,
    remedy: String,
    address: String,
}

impl Store {
    /// The sentence for data that is not there: what is missing, `why` it was not downloaded, where
    /// to get it and where to put it.
    pub(super) fn unavailable(&self, manifest: &Manifest, why: &str) -> DataError {
        let lack = match &manifest.by_hand {
            Some(content) => self.lacks_by_hand(manifest, content),
            None => self.lacks_downloads(manifest),
        };
        DataError::Unavailable {
            dataset: manifest.name.clone(),
            reason: lack.what + why,
            remedy: lack.remedy,
            address: lack.address,
        }
    }

    /// Data that only the user can put there.
    fn lacks_by_hand(&self, manifest: &Manifest, content: &str) -> Lack {
        let missing = self.missing(manifest);
        let (what, place) = match (missing.first(), self.folder_without_data(manifest)) {
            (Some(file), _) => (
                format!("no file `{}` in {}", file.name, self.searched()),
                self.target().to_path_buf(),
            ),
            (None, Some(folder)) => {
                (format!("{} does not hold {content}", folder.display()), folder)
            }
            (None, None) => (
                format!("no folder `{}` in {}", manifest.name, self.searched()),
                self.target().join(&manifest.name),
            ),
        };
        let remedy = format!(
            "it has no direct download: see {} and put {content} into {}",
            manifest.homepage,
            place.display()
        );
        Lack { what, remedy, address: manifest.homepage.clone() }
    }

    fn lacks_downloads(&self, manifest: &Manifest) -> Lack {
        let missing = self.missing(manifest);
        let each = |describe: &dyn Fn(&DataFile) -> String| -> Vec<String> {
            missing.iter().map(|file| describe(file)).collect()
        };
        let place = self.target().join(&manifest.name);
        let names = each(&|file| format!("`{}/{}`", manifest.name, file.name));
        let steps = each(&|file| {
            let place = place.join(&file.name);
            format!("get {} and put it at {}", file.url, place.display())
        });
        Lack {
            what: format!("no {} in {}", names.join(" and "), self.searched()),
            remedy: steps.join(", "),
            address: each(&|file| file.url.clone()).join(" and "),
        }
    }

    /// The folders that were searched.
    fn searched(&self) -> String {
        let folders = self.folders.iter();
        let searched: Vec<_> = folders.map(|folder| folder.display().to_string()).collect();
        match &searched[..] {
            [] => "any data folder (give --data or set NPSVCPP_DATA)".to_owned(),
            _ => searched.join(" or "),
        }
    }

    fn target(&self) -> &Path {
        self.target.as_deref().unwrap_or(Path::new("<data folder>"))
    }

    /// The dataset's folder, where there is one; it was searched and has not what is needed.
    fn folder_without_data(&self, manifest: &Manifest) -> Option<PathBuf> {
        let mut folders = (self.folders.iter()).map(|folder| folder.join(&manifest.name));
        folders.find(|folder| folder.is_dir())
    }

    fn missing<'m>(&self, manifest: &'m Manifest) -> Vec<&'m DataFile> {
        let files = manifest.files.iter();
        files.filter(|file| self.locate_file(manifest, file).is_none()).collect()
    }
}
