//! Flowers-102, its images or vectors that a frozen encoder made of them, with the official split:
//! training samples first. The validation samples are apart.

use std::path::{Path, PathBuf};

use ndarray::Axis;

use super::content::read;
use super::error::{BadContent, DataError, bad, variable};
use super::images::Images;
use super::mat::MatFile;
use super::{Samples, npy};
use crate::wording::counted;

/// Images for training, validation and testing, counted from 0.
type Parts = [Vec<usize>; 3];

pub(crate) fn has_images(folder: &Path) -> bool {
    folder.join("jpg").is_dir() && folder.join("setid.mat").is_file()
}

/// `jpg/image_00001.jpg` and on, `imagelabels.mat` and `setid.mat` in a folder.
pub(crate) fn images(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let folder = &paths[0];
    let (labels, [train, _, test]) = official(folder)?;
    let all = train.len() + test.len();
    let [train, test] = [train, test].map(|mut part| {
        part.retain(|&i| image(folder, i).is_file());
        part
    });
    if train.is_empty() || test.is_empty() {
        let expected = "the images image_00001.jpg and on, for training and for testing";
        return Err(bad("", "too few images", expected).in_file(&folder.join("jpg")));
    }
    let order = [&train[..], &test].concat();
    let mut samples = of_images(folder, &labels, &order)?;
    samples.train = Some(train.len());
    if order.len() < all {
        let found = order.len();
        samples.notes =
            vec![format!("{found} of the {all} images of the official split are there")];
    }
    Ok(samples)
}

/// The validation images of the same folder.
pub(crate) fn validation_images(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let folder = &paths[0];
    let (labels, [_, order, _]) = official(folder)?;
    match order.iter().map(|&i| image(folder, i)).find(|path| !path.is_file()) {
        None => of_images(folder, &labels, &order),
        Some(missing) => Err(bad("", "no such file", "all validation images").in_file(&missing)),
    }
}

/// Features of all images in their order, `imagelabels.mat` and `setid.mat`.
pub(crate) fn features(paths: &[PathBuf]) -> Result<Samples, DataError> {
    of_features(paths, |[train, _, test]| [train, test].concat())
}

/// The validation samples of the same files.
pub(crate) fn validation_features(paths: &[PathBuf]) -> Result<Samples, DataError> {
    of_features(paths, |[_, validation, _]| validation)
}

fn official(folder: &Path) -> Result<(Vec<String>, Parts), DataError> {
    let labels = read(&folder.join("imagelabels.mat"), labels)?;
    let parts = read(&folder.join("setid.mat"), |file| parts(file, labels.len()))?;
    Ok((labels, parts))
}

fn image(folder: &Path, index: usize) -> PathBuf {
    folder.join("jpg").join(format!("image_{:05}.jpg", index + 1))
}

fn of_images(folder: &Path, labels: &[String], order: &[usize]) -> Result<Samples, DataError> {
    let images = Images::files(order.iter().map(|&i| image(folder, i)).collect());
    let images = images.map_err(|bad| bad.in_file(&folder.join("setid.mat")))?;
    Ok(Samples::of_images(images, order.iter().map(|&i| labels[i].clone()).collect()))
}

fn of_features(paths: &[PathBuf], choose: fn(Parts) -> Vec<usize>) -> Result<Samples, DataError> {
    let x = read(&paths[0], npy::matrix)?;
    let labels = read(&paths[1], labels)?;
    if labels.len() != x.nrows() {
        let expected = format!("{}, one for each label", labels.len());
        return Err(bad("", counted(x.nrows(), "sample"), expected).in_file(&paths[0]));
    }
    let order = choose(read(&paths[2], |file| parts(file, labels.len()))?);
    let labels = order.iter().map(|&i| labels[i].clone()).collect();
    Ok(Samples::new(x.select(Axis(0), &order), labels))
}

/// The label of every image.
fn labels(file: &[u8]) -> Result<Vec<String>, BadContent> {
    let labels = MatFile::parse(file)?.matrix("labels")?;
    Ok(labels.values.iter().map(f64::to_string).collect())
}

fn parts(file: &[u8], images: usize) -> Result<Parts, BadContent> {
    let file = MatFile::parse(file)?;
    let part = |name: &str| -> Result<Vec<usize>, BadContent> {
        let ids = file.matrix(name)?.values;
        let is_image = |id: &f64| id.fract() == 0.0 && (1.0..=images as f64).contains(id);
        if let Some(id) = ids.iter().find(|id| !is_image(id)) {
            let expected = format!("a number of an image, 1 to {images}");
            return Err(bad(variable(name), id, expected));
        }
        Ok(ids.into_iter().map(|id| id as usize - 1).collect())
    };
    Ok([part("trnid")?, part("valid")?, part("tstid")?])
}
