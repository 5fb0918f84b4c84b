//! Flowers-102, its images or vectors that a frozen encoder made of them, with the official split:
//! training samples first. The validation samples are apart.

use std::path::{Path, PathBuf};

use ndarray::Axis;

use super::content::read;
use super::error::{DataError, Parsed, bad, place_of};
use super::images::Images;
use super::mat::MatFile;
use super::{Samples, npy};
use crate::wording::counted;

pub(crate) fn has_images(folder: &Path) -> bool {
    folder.join("jpg").is_dir() && folder.join("setid.mat").is_file()
}

/// `jpg/image_00001.jpg` and on, `imagelabels.mat` and `setid.mat` in a folder.
pub(crate) fn images(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let folder = &paths[0];
    let setid = folder.join("setid.mat");
    let (labels, [train, validation, test]) = official(&folder.join("imagelabels.mat"), &setid)?;
    let image = |i: &usize| folder.join("jpg").join(format!("image_{:05}.jpg", i + 1));
    let of = |order: &[usize]| {
        let images = Images::files(order.iter().map(image).collect());
        let images = images.map_err(|bad| bad.in_file(&setid))?;
        Ok(Samples::of_images(images, pick(&labels, order)))
    };
    let validation = Some(Box::new(of(&validation)?));
    let train_size = Some(train.len());
    Ok(Samples { train: train_size, validation, ..of(&[train, test].concat())? })
}

/// Features of all images in their order, `imagelabels.mat` and `setid.mat`.
pub(crate) fn features(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let x = read(&paths[0], npy::matrix)?;
    let (labels, [train, validation, test]) = official(&paths[1], &paths[2])?;
    if labels.len() != x.nrows() {
        let expected = format!("{}, one for each label", labels.len());
        return Err(bad("", counted(x.nrows(), "sample"), expected).in_file(&paths[0]));
    }
    let of = |order: &[usize]| Samples::new(x.select(Axis(0), order), pick(&labels, order));
    Ok(Samples { validation: Some(Box::new(of(&validation))), ..of(&[train, test].concat()) })
}

fn pick(labels: &[String], order: &[usize]) -> Vec<String> {
    order.iter().map(|&i| labels[i].clone()).collect()
}

/// The label of every image, and the images for training, validation and testing, counted from 0.
fn official(labels: &Path, parts: &Path) -> Result<(Vec<String>, [Vec<usize>; 3]), DataError> {
    let labels = read(labels, |file| Ok(MatFile::parse(file)?.matrix("labels")?.values.clone()))?;
    let labels: Vec<String> = labels.iter().map(f64::to_string).collect();
    let parts = read(parts, |file| {
        let file = MatFile::parse(file)?;
        let part = |name| part(&file, name, labels.len());
        Ok([part("trnid")?, part("valid")?, part("tstid")?])
    })?;
    Ok((labels, parts))
}

fn part(file: &MatFile, name: &str, images: usize) -> Parsed<Vec<usize>> {
    let ids = &file.matrix(name)?.values;
    let is_image = |id: &f64| id.fract() == 0.0 && (1.0..=images as f64).contains(id);
    if let Some(id) = ids.iter().find(|id| !is_image(id)) {
        return Err(bad(place_of(name), id, format_args!("a number of an image, 1 to {images}")));
    }
    Ok(ids.iter().map(|id| *id as usize - 1).collect())
}
