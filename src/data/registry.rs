//! The datasets there are, one line each: a manifest and the loader of its format.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::error::DataError;
use super::image_sets::ImageLoader;
use super::manifest::Manifest;
use super::validation::ValidationLoader;
use super::{Samples, binalpha, chg, embedded, features, image_sets, libsvm, news};

/// Reads the files of a manifest, given in its order.
pub(crate) type Loader = fn(&Manifest, &[PathBuf]) -> Result<Samples, DataError>;

/// A dataset of the registry.
#[derive(Clone)]
pub struct Entry {
    pub manifest: Manifest,
    pub(crate) loader: Loader,
    /// For data with a validation part.
    pub(crate) validation: Option<ValidationLoader>,
    /// For collections of images.
    pub(crate) images: Option<ImageLoader>,
    /// Whether a folder put there by hand holds the data.
    pub(crate) is_there: fn(&Path) -> bool,
    /// For data that is part of the program.
    pub(crate) embedded: Option<fn() -> Result<Samples, DataError>>,
}

/// All datasets, in the order of the paper's Table 2, then others.
pub fn all() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        vec![
            Entry::new(include_str!("../../datasets/chg.yaml"), chg::load).known_by(chg::is_there),
            Entry::new(include_str!("../../datasets/binalpha.yaml"), binalpha::load),
            Entry::new(include_str!("../../datasets/20news.yaml"), news::load),
            Entry::new(include_str!("../../datasets/pendigits.yaml"), libsvm::load)
                .embed(embedded::pendigits),
            Entry::new(include_str!("../../datasets/dna.yaml"), libsvm::load),
            Entry::new(include_str!("../../datasets/usps.yaml"), libsvm::load),
            Entry::new(include_str!("../../datasets/optdigits.yaml"), embedded::only)
                .embed(embedded::optdigits),
            Entry::new(include_str!("../../datasets/flowers102-resnet50.yaml"), features::flowers),
            Entry::new(include_str!("../../datasets/flowers102-resnet34.yaml"), features::flowers)
                .with_validation(features::flowers_validation),
            Entry::new(
                include_str!("../../datasets/cifar10-resnet34.yaml"),
                features::train_and_test,
            ),
            Entry::new(
                include_str!("../../datasets/cifar10-efficientnet.yaml"),
                features::train_and_test,
            ),
            Entry::of_images(include_str!("../../datasets/cifar10.yaml"), image_sets::cifar10)
                .known_by(image_sets::is_cifar10),
            Entry::of_images(include_str!("../../datasets/dtd.yaml"), image_sets::dtd)
                .known_by(image_sets::is_dtd),
            Entry::of_images(
                include_str!("../../datasets/flowers102.yaml"),
                image_sets::flowers102,
            )
            .known_by(image_sets::is_flowers102)
            .with_validation(image_sets::flowers102_validation),
        ]
    });
    &ALL
}

/// The dataset called `name`.
pub fn find(name: &str) -> Result<&'static Entry, DataError> {
    all()
        .iter()
        .find(|entry| entry.manifest.name == name)
        .ok_or_else(|| DataError::unknown(name, names()))
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    all().iter().map(|entry| entry.manifest.name.as_str())
}

impl Entry {
    fn new(manifest: &str, loader: Loader) -> Self {
        Self {
            manifest: Manifest::parse(manifest)
                .expect("manifests are part of the program and a test reads them all"),
            loader,
            validation: None,
            images: None,
            is_there: Path::is_dir,
            embedded: None,
        }
    }

    /// Images that are put into a folder by hand.
    fn of_images(manifest: &str, images: ImageLoader) -> Self {
        Self { images: Some(images), ..Self::new(manifest, embedded::only) }
    }

    fn with_validation(self, loader: ValidationLoader) -> Self {
        Self { validation: Some(loader), ..self }
    }

    fn known_by(self, is_there: fn(&Path) -> bool) -> Self {
        Self { is_there, ..self }
    }

    fn embed(self, embedded: fn() -> Result<Samples, DataError>) -> Self {
        Self { embedded: Some(embedded), ..self }
    }

    /// Whether the data is part of the program.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
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
            assert!(
                embedded.is_some() || !manifest.files.is_empty() || manifest.by_hand.is_some(),
                "{name} cannot be had"
            );
            for file in &manifest.files {
                let is_by_hand = manifest.by_hand.is_some() && file.url.is_empty();
                assert!(is_by_hand || file.url.starts_with("https://"), "{name}: {}", file.url);
                assert!(!file.name.contains(['/', '\\']), "{name}: {}", file.name);
                assert!(!file.only_these || !file.copies.is_empty(), "{name}");
                for copy in &file.copies {
                    assert_eq!(copy.sha256.len(), 64, "{name}");
                }
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
