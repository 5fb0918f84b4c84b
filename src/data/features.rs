//! Vectors that a frozen encoder made of images, stored as `.npy`, with the official split: training
//! samples first.

use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};

use super::error::{DataError, Place};
use super::files::read_npy;
use super::manifest::Manifest;
use super::npy::{self, Npy};
use super::validation::Part;
use super::{Samples, mat};

/// Loader of the registry: training features and labels, test features and labels.
pub(crate) fn train_and_test(_: &Manifest, paths: &[PathBuf]) -> Result<Samples, DataError> {
    let [train, train_labels, test, test_labels] = paths else {
        return Ok(Samples::default());
    };
    read_npy(train, train_labels)?.join(read_npy(test, test_labels)?, test)
}

/// Loader of the registry: features of all images of Flowers-102 in their order, `imagelabels.mat`
/// and `setid.mat`, the validation images left out.
pub(crate) fn flowers(_: &Manifest, paths: &[PathBuf]) -> Result<Samples, DataError> {
    let [features, labels, split] = paths else {
        return Ok(Samples::default());
    };
    let (all, labels) = flower_features(features, labels)?;
    let [train, _, test] = flower_split(split, labels.len())?;
    let order = [train, test].concat();
    Ok(Samples {
        x: all.select(Axis(0), &order),
        labels: order.iter().map(|&i| labels[i].clone()).collect(),
    })
}

/// The validation images of the same files.
pub(crate) fn flowers_validation(_: &Manifest, paths: &[PathBuf]) -> Result<Part, DataError> {
    let [features, labels, split] = paths else {
        return Ok(Part::default());
    };
    let (all, labels) = flower_features(features, labels)?;
    let [_, order, _] = flower_split(split, labels.len())?;
    Ok(Part {
        x: all.select(Axis(0), &order),
        images: None,
        labels: order.iter().map(|&i| labels[i].clone()).collect(),
    })
}

fn flower_features(
    features: &Path,
    labels: &Path,
) -> Result<(Array2<f64>, Vec<String>), DataError> {
    let bytes = npy::read_bytes(features)?;
    let all = Npy::parse(&bytes, features)?.matrix()?;
    let labels = flower_labels(labels)?;
    if labels.len() != all.nrows() {
        let found = format!("{} samples", all.nrows());
        let expected = format!("{}, one for each label", labels.len());
        return Err(DataError::content(features, Place::File, found, expected));
    }
    Ok((all, labels))
}

/// The label of every image.
pub(crate) fn flower_labels(path: &Path) -> Result<Vec<String>, DataError> {
    let file = mat::read(path, &["labels"])?;
    let labels = &file.matrix("labels")?.values;
    Ok(labels.iter().map(f64::to_string).collect())
}

/// Training, validation and test images, counted from 0.
pub(crate) fn flower_split(path: &Path, images: usize) -> Result<[Vec<usize>; 3], DataError> {
    let file = mat::read(path, &["trnid", "valid", "tstid"])?;
    let part = |name: &str| -> Result<Vec<usize>, DataError> {
        let ids = file.matrix(name)?.values.iter();
        ids.map(|&id| match id {
            id if id.fract() == 0.0 && id >= 1.0 && id <= images as f64 => Ok(id as usize - 1),
            id => {
                let expected = format!("a number of an image, 1 to {images}");
                Err(file.refuse(name, id.to_string(), expected))
            }
        })
        .collect()
    };
    Ok([part("trnid")?, part("valid")?, part("tstid")?])
}
