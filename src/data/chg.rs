//! Cambridge hand gestures: folders of image sequences, made into grey volumes of 20 x 20 x 20.
//!
//! `chg/Set<number>/<class>/<sequence>/<frame image>`. Every frame is resized to 20 x 20, then 20 frames are
//! interpolated linearly between the first and the last. So a sample has 8000 values in 0..1: frame by
//! frame, row by row.

use std::path::{Path, PathBuf};

use image::ImageFormat;
use image::imageops::{self, FilterType};
use ndarray::Array2;
use rayon::prelude::*;

use super::Samples;
use super::content::{children, file_name};
use super::error::{DataError, bad};
use super::images::decode;

const SIDE: usize = 20;
const FRAMES: usize = 20;
const PIXELS: usize = SIDE * SIDE;

/// All sequences of the sets, by class and number.
pub(crate) fn volumes(sets: &[PathBuf]) -> Result<Samples, DataError> {
    let (mut labels, mut sequences) = (Vec::new(), Vec::new());
    for set in sets {
        for class in children(set, Path::is_dir)? {
            let found = children(&class, Path::is_dir)?;
            labels.extend(found.iter().map(|_| file_name(&class)));
            sequences.extend(found);
        }
    }
    let volumes: Vec<Vec<f64>> =
        sequences.par_iter().map(|sequence| volume(sequence)).collect::<Result<_, _>>()?;
    let x = Array2::from_shape_vec((volumes.len(), FRAMES * PIXELS), volumes.concat())
        .expect("every volume has this size");
    Ok(Samples::new(x, labels))
}

/// One sequence as 20 frames of 20 x 20.
fn volume(folder: &Path) -> Result<Vec<f64>, DataError> {
    let frame = |path: &PathBuf| {
        let image = decode(path)?.to_luma32f();
        let small = imageops::resize(&image, SIDE as u32, SIDE as u32, FilterType::Triangle);
        Ok(small.into_raw())
    };
    let is_image = |path: &Path| path.is_file() && ImageFormat::from_path(path).is_ok();
    let frames = children(folder, is_image)?.iter().map(frame).collect::<Result<Vec<_>, _>>()?;
    match frames.is_empty() {
        true => Err(bad("", "no image", "images such as frame-0000.jpg").in_file(folder)),
        false => Ok(resample(&frames)),
    }
}

/// `FRAMES` frames at equal steps from the first to the last, interpolated linearly.
fn resample(frames: &[Vec<f32>]) -> Vec<f64> {
    let last = frames.len() - 1;
    let mut volume = Vec::with_capacity(FRAMES * PIXELS);
    for step in 0..FRAMES {
        let time = last as f64 * step as f64 / (FRAMES - 1) as f64;
        let before = (time.floor() as usize).min(last);
        let (after, share) = ((before + 1).min(last), time - before as f64);
        let pixels = frames[before].iter().zip(&frames[after]);
        volume.extend(pixels.map(|(&a, &b)| f64::from(a) + share * f64::from(b - a)));
    }
    volume
}

#[cfg(test)]
mod tests {
    use std::fs;

    use image::GrayImage;

    use super::*;
    use crate::data::registry;

    fn paint(path: &Path, side: u32, grey: impl Fn(u32, u32) -> u8) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        GrayImage::from_fn(side, side, |x, y| image::Luma([grey(x, y)])).save(path).unwrap();
    }

    /// Two sets, two classes, one sequence of `frames` each; class decides the brightness.
    fn tree(frames: u32) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for set in ["Set1", "Set2"] {
            for class in 0..2u8 {
                for frame in 0..frames {
                    let path = format!("{set}/000{class}/0000/frame-{frame:04}.png");
                    paint(&root.path().join(path), 40, |_, _| 100 * class + frame as u8);
                }
            }
        }
        root
    }

    fn load(root: &Path) -> Result<Samples, DataError> {
        volumes(&["Set1", "Set2"].map(|set| root.join(set)))
    }

    #[test]
    fn a_tree_becomes_volumes() {
        let root = tree(12);
        fs::write(root.path().join("Set1/0000/0000/Thumbs.db"), "x").unwrap();
        let samples = load(root.path()).unwrap();
        assert_eq!(samples.x.dim(), (4, 8000));
        assert_eq!(samples.labels, ["0000", "0001", "0000", "0001"]);
        // Frames 0 to 11 in order, so brightness grows steadily with time.
        for (frame, value) in (0..FRAMES).map(|f| (f, samples.x[[1, f * PIXELS + 7]])) {
            let expected = (100.0 + 11.0 * frame as f64 / 19.0) / 255.0;
            assert!((value - expected).abs() < 1e-6, "frame {frame}: {value}");
        }
    }

    #[test]
    fn the_class_count_found_is_noted_with_the_papers() {
        let root = tree(2);
        let manifest = &registry::find("chg").unwrap().manifest;
        let dataset = manifest.dataset(load(root.path()).unwrap(), root.path()).unwrap();
        let notes = dataset.notes.join("\n");
        assert!(
            notes.contains(
                "4 samples x 8000 features x 2 classes; the paper lists 900 samples x 8000 \
                 features x 10 classes"
            ),
            "{notes}"
        );
    }

    #[test]
    fn a_frame_keeps_its_halves_and_its_mean() {
        let root = tempfile::tempdir().unwrap();
        paint(&root.path().join("1.png"), 60, |x, _| if x < 30 { 0 } else { 255 });
        let small = volume(root.path()).unwrap();
        for row in small.chunks_exact(SIDE) {
            assert!(row[..9].iter().all(|value| *value == 0.0), "{row:?}");
            assert!(row[11..].iter().all(|value| *value == 1.0), "{row:?}");
        }
        assert!((small.iter().sum::<f64>() / small.len() as f64 - 0.5).abs() < 1e-6);
    }

    #[test]
    fn an_unreadable_image_is_named() {
        let root = tree(2);
        let bad = root.path().join("Set2/0001/0000/frame-0001.png");
        let half = fs::read(&bad).unwrap();
        fs::write(&bad, &half[..half.len() / 2]).unwrap();
        let error = load(root.path()).unwrap_err().to_string();
        assert!(error.contains("frame-0001.png: found no readable image"), "{error}");
        fs::remove_dir_all(bad.parent().unwrap()).unwrap();
        fs::create_dir(bad.parent().unwrap()).unwrap();
        let error = load(root.path()).unwrap_err().to_string();
        assert!(error.contains("0000: found no image, expected images"), "{error}");
    }
}
