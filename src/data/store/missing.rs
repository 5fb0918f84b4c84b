//! What to say about data that is not there.

use std::path::Path;

use super::Store;
use crate::data::error::DataError;
use crate::data::manifest::{DataFile, Manifest};

impl Store {
    /// The sentence for data that is not there: what is missing, `why` it was not downloaded, where
    /// to get it and where to put it.
    pub(super) fn unavailable(&self, manifest: &Manifest, why: &str) -> DataError {
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
        let (what, remedy, address) = match &manifest.by_hand {
            Some(content) => {
                let missing = self.missing(manifest);
                let (what, place) = match missing.first() {
                    None => (format!("folder `{}`", manifest.name), place.as_path()),
                    Some(file) => (format!("file `{}`", file.name), target),
                };
                let remedy = format!(
                    "it has no direct download: see {} and put {content} into {}",
                    manifest.homepage,
                    place.display()
                );
                (what, remedy, manifest.homepage.clone())
            }
            None => {
                let missing = self.missing(manifest);
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
                let urls: Vec<_> = missing.iter().map(|file| file.url.as_str()).collect();
                (names.join(" and "), steps.join(", "), urls.join(" and "))
            }
        };
        DataError::Unavailable {
            dataset: manifest.name.clone(),
            reason: format!("no {what} in {searched}{why}"),
            remedy,
            address,
        }
    }

    fn missing<'m>(&self, manifest: &'m Manifest) -> Vec<&'m DataFile> {
        let files = manifest.files.iter();
        files
            .filter(|file| self.locate_file(manifest, file).is_none())
            .collect()
    }
}
