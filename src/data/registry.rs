//! The datasets known by name: a manifest and how its files are read. Those of the LIBSVM site are a list.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::columns::Choice;
use super::content::{read, unpack};
use super::error::{DataError, Parsed};
use super::manifest::Manifest;
use super::{Dataset, Samples, chg, csv, image_sets, libsvm, libsvm_site, roweis};
use crate::wording::closest;

/// Reads the files of a manifest, given in its order.
type Read = fn(&[PathBuf]) -> Result<Samples, DataError>;

/// A dataset of the registry.
pub struct Entry {
    pub manifest: Manifest,
    read: Read,
    /// For data that is part of the program: a CSV file.
    embedded: Option<&'static [u8]>,
}

macro_rules! entry {
    ($name:literal, $read:expr) => {
        Entry::new(include_str!(concat!("../../datasets/", $name, ".yaml")), $read)
    };
}

/// All datasets, in the order of the paper's Table 2, then others, then those of the LIBSVM site.
pub fn all() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        // `datasets/embedded/ATTRIBUTION.md` says where the embedded files come from.
        let libsvm: Read = |paths| each(paths, libsvm::parse);
        let mut all = vec![
            entry!("chg", chg::volumes),
            entry!("binalpha", |paths| each(paths, roweis::binalpha)),
            entry!("20news", |paths| each(paths, roweis::newsgroups)),
            entry!("pendigits", libsvm)
                .embedded(include_bytes!("../../datasets/embedded/pendigits.csv.bz2")),
            entry!("dna", libsvm),
            entry!("usps", libsvm),
            entry!("optdigits", libsvm)
                .embedded(include_bytes!("../../datasets/embedded/optdigits.csv.gz")),
            entry!("flowers102-resnet50", image_sets::flowers102_features),
            entry!("flowers102-resnet34", image_sets::flowers102_features),
            entry!("cifar10-resnet34", image_sets::cifar10_features),
            entry!("cifar10-efficientnet", image_sets::cifar10_features),
            entry!("cifar10", image_sets::cifar10),
            entry!("dtd", image_sets::dtd),
            entry!("flowers102", image_sets::flowers102),
        ];
        let of_site = |manifest| Entry { manifest, read: libsvm, embedded: None };
        all.extend(libsvm_site::manifests().map(of_site));
        all
    });
    &ALL
}

/// The dataset called `name`.
pub fn find(name: &str) -> Result<&'static Entry, DataError> {
    all().iter().find(|entry| entry.manifest.name == name).ok_or_else(|| DataError::Unknown {
        name: name.to_owned(),
        hint: closest(name, names()).map_or(String::new(), |it| format!(", did you mean `{it}`?")),
        known: names().collect::<Vec<_>>().join(", "),
    })
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().iter().map(|entry| entry.manifest.name.as_str())
}

/// The samples of all files, one file after the other.
pub(crate) fn each(
    paths: &[PathBuf],
    parse: fn(&[u8]) -> Parsed<Samples>,
) -> Result<Samples, DataError> {
    let mut samples = read(&paths[0], parse)?;
    for path in &paths[1..] {
        samples = samples.join(read(path, parse)?).map_err(|bad| bad.in_file(path))?;
    }
    Ok(samples)
}

impl Entry {
    pub(crate) fn new(manifest: &str, read: Read) -> Self {
        let manifest = serde_saphyr::from_str(manifest)
            .expect("manifests are part of the program and a test reads them all");
        Self { manifest, read, embedded: None }
    }

    /// The same with the split of its publisher.
    pub(crate) fn with_official_split(&self) -> Result<Self, DataError> {
        Ok(Self { manifest: self.manifest.with_official_split()?, ..*self })
    }

    fn embedded(self, file: &'static [u8]) -> Self {
        Self { embedded: Some(file), ..self }
    }

    /// Whether the data is part of the program.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// The data that is part of the program.
    pub(crate) fn read_embedded(&self) -> Result<Dataset, DataError> {
        let path = Path::new(&self.manifest.name);
        let samples = unpack(self.embedded.unwrap_or_default().to_vec())
            .and_then(|file| csv::parse(&file, &Choice::default()))
            .map_err(|bad| bad.in_file(path))?;
        self.manifest.dataset(samples, path)
    }

    /// Reads files, recognises them by hash, and compares their content with the manifest.
    pub(crate) fn read(&self, paths: &[PathBuf]) -> Result<Dataset, DataError> {
        let mut notes = Vec::new();
        for (file, path) in self.manifest.files.iter().zip(paths) {
            notes.extend(file.recognise(path)?);
        }
        let mut dataset = self.manifest.dataset((self.read)(paths)?, &paths[0])?;
        dataset.notes.extend(notes);
        Ok(dataset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_sound() {
        for Entry { manifest, embedded, .. } in all() {
            let name = &manifest.name;
            assert_eq!(manifest.class_counts.iter().sum::<usize>(), manifest.samples, "{name}");
            assert!(manifest.classes() > 1 && manifest.dims > 0, "{name}");
            assert!(embedded.is_some() || !manifest.files.is_empty(), "{name} is not available");
            for file in &manifest.files {
                assert!(
                    file.url.is_empty() || file.url.starts_with("https://"),
                    "{name}: {}",
                    file.url
                );
                assert!(!file.name.contains(['/', '\\']), "{name}: {}", file.name);
                assert!(!file.only_these || !file.copies.is_empty(), "{name}");
                assert!(file.copies.keys().all(|hash| hash.len() == 64), "{name}");
            }
            if let Some(part) = &manifest.part {
                assert_eq!(part.class_counts.iter().sum::<usize>(), part.samples, "{name}");
                assert_eq!(part.class_counts.len(), manifest.classes(), "{name}");
            }
            if let Some(official) = &manifest.official {
                let counts = manifest.class_counts.iter().zip(&official.class_counts);
                assert!(counts.clone().all(|(own, both)| own <= both), "{name}");
                assert_eq!(counts.count(), manifest.classes(), "{name}");
                let both = manifest.with_official_split().unwrap();
                assert!(both.train < Some(both.samples) && both.dims >= manifest.dims, "{name}");
            }
        }
    }

    #[test]
    fn names_are_unique_and_an_unknown_one_gets_a_hint() {
        let mut sorted: Vec<_> = names().collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), all().len());
        let error = find("pen-digits").err().unwrap();
        assert_eq!(
            error.to_string(),
            "there is no dataset `pen-digits`, did you mean `pendigits`?"
        );
    }

    #[test]
    fn a_dataset_without_official_split_says_why() {
        let said = |name| find(name).unwrap().with_official_split().err().unwrap().to_string();
        assert_eq!(
            said("svmguide3"),
            "dataset `svmguide3`: there is no official split, because its test file has samples of one class only; \
             leave `official_split` out"
        );
        assert!(said("iris").contains("no official test file is known for it"));
        assert!(said("flowers102").contains("its split is always the official one"));
        let letter = find("letter").unwrap().with_official_split().unwrap().manifest;
        assert_eq!((letter.train, letter.samples, letter.files.len()), (Some(15000), 20000, 2));
        assert!(
            letter.notes[1].contains("scaled the values to [-1, 1] over all rows of letter.scale")
        );
    }

    #[test]
    fn the_papers_shapes_differ_from_ours_for_chg_only() {
        let differ: Vec<_> = all()
            .iter()
            .filter(|entry| {
                entry.manifest.paper.is_some_and(|paper| {
                    let m = &entry.manifest;
                    (paper.samples, paper.dims, paper.classes) != (m.samples, m.dims, m.classes())
                })
            })
            .map(|entry| entry.manifest.name.as_str())
            .collect();
        assert_eq!(differ, ["chg"]);
    }
}
