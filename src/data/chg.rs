//! Cambridge hand gestures: folders of image sequences, made into grey volumes of 20 x 20 x 20.
//!
//! `chg/Set*/<class>/<sequence>/<frame image>`. Every frame is averaged down to 20 x 20 by area,
//! then 20 frames are interpolated linearly between the first and the last, so a sample has 8000
//! values in 0..1: frame by frame, row by row.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};

use image::{GrayImage, ImageReader, Limits};
use rayon::prelude::*;

use super::error::{DataError, Place};
use super::manifest::Manifest;
use super::{Samples, zeros};

const SIDE: usize = 20;
const FRAMES: usize = 20;
const PIXELS: usize = SIDE * SIDE;
/// Widest and highest image accepted.
const MAX_SIDE: u32 = 8192;
const EXTENSIONS: [&str; 7] = ["jpg", "jpeg", "png", "bmp", "pgm", "ppm", "pnm"];

/// Loader of the registry: `paths` is the dataset's folder.
pub(crate) fn load(_: &Manifest, paths: &[PathBuf]) -> Result<Samples, DataError> {
    let Some(root) = paths.first() else {
        return Ok(Samples::default());
    };
    let sequences = sequences(root)?;
    let volumes: Vec<Vec<f64>> =
        sequences.par_iter().map(|sequence| volume(&sequence.folder)).collect::<Result<_, _>>()?;
    let mut x = zeros(volumes.len(), FRAMES * PIXELS, root)?;
    for (mut row, volume) in x.rows_mut().into_iter().zip(&volumes) {
        row.iter_mut().zip(volume).for_each(|(to, from)| *to = *from);
    }
    let labels = sequences.into_iter().map(|sequence| sequence.class).collect();
    Ok(Samples { x, labels })
}

/// Whether `folder` holds any of the sets: an empty one is as good as none.
pub(crate) fn is_there(folder: &Path) -> bool {
    children(folder, Path::is_dir).is_ok_and(|found| found.iter().any(|path| is_set(path)))
}

fn is_set(folder: &Path) -> bool {
    name(folder).to_lowercase().starts_with("set")
}

struct Sequence {
    class: String,
    folder: PathBuf,
}

/// All sequences by set, class and number.
fn sequences(root: &Path) -> Result<Vec<Sequence>, DataError> {
    let mut sequences = Vec::new();
    for set in children(root, Path::is_dir)? {
        if !is_set(&set) {
            continue;
        }
        for class in children(&set, Path::is_dir)? {
            for folder in children(&class, Path::is_dir)? {
                sequences.push(Sequence { class: name(&class), folder });
            }
        }
    }
    if sequences.is_empty() {
        let expected = "folders such as Set1/0000/0000 with images";
        return Err(DataError::content(root, Place::File, "no sequence", expected));
    }
    Ok(sequences)
}

/// What is in `folder` and is `wanted`, in natural order: `frame-2` before `frame-10`.
fn children(folder: &Path, wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, DataError> {
    let unreadable = |error| DataError::read(folder, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if wanted(&path) && !name(&path).starts_with('.') {
            found.push(path);
        }
    }
    found.sort_by(|a, b| natural(&name(a), &name(b)));
    Ok(found)
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn is_image(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| EXTENSIONS.contains(&extension.to_lowercase().as_str()))
        && path.is_file()
}

/// Compares runs of digits as numbers and all else as text.
fn natural(a: &str, b: &str) -> Ordering {
    let key = |text: &str| {
        let mut parts: Vec<(String, usize, String)> = vec![Default::default()];
        for c in text.chars() {
            let last = parts.len() - 1;
            if c.is_ascii_digit() {
                parts[last].2.push(c);
            } else if parts[last].2.is_empty() {
                parts[last].0.push(c);
            } else {
                parts.push((c.to_string(), 0, String::new()));
            }
        }
        for (_, length, digits) in &mut parts {
            *digits = digits.trim_start_matches('0').to_owned();
            *length = digits.len();
        }
        parts
    };
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

/// One sequence as 20 frames of 20 x 20.
fn volume(folder: &Path) -> Result<Vec<f64>, DataError> {
    let frames: Vec<Vec<f64>> = children(folder, is_image)?
        .iter()
        .map(|path| open(path).map(|image| shrink(&image)))
        .collect::<Result<_, _>>()?;
    if frames.is_empty() {
        let expected = format!("frames ({})", EXTENSIONS.join(", "));
        return Err(DataError::content(folder, Place::File, "no image", expected));
    }
    Ok(resample(&frames))
}

fn open(path: &Path) -> Result<GrayImage, DataError> {
    let mut reader = ImageReader::open(path)
        .and_then(ImageReader::with_guessed_format)
        .map_err(|error| DataError::read(path, error))?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    reader.limits(limits);
    let image = reader.decode().map_err(|error| {
        let found = format!("an unreadable image ({error})");
        DataError::content(path, Place::File, found, "an intact image")
    })?;
    let image = image.into_luma8();
    if image.width() == 0 || image.height() == 0 {
        let expected = "at least one pixel";
        return Err(DataError::content(path, Place::File, "an empty image", expected));
    }
    Ok(image)
}

/// The image as `SIDE` x `SIDE` means over equal areas, in 0..1.
fn shrink(image: &GrayImage) -> Vec<f64> {
    let across = areas(image.width() as usize);
    let down = areas(image.height() as usize);
    let mut small = vec![0.0; PIXELS];
    for (row, rows) in down.iter().enumerate() {
        for (column, columns) in across.iter().enumerate() {
            let mut sum = 0.0;
            for &(y, height) in rows {
                for &(x, width) in columns {
                    sum += height * width * f64::from(image.get_pixel(x as u32, y as u32).0[0]);
                }
            }
            small[row * SIDE + column] = sum / 255.0;
        }
    }
    small
}

/// For each of `SIDE` equal parts of `length` pixels: the pixels it covers and their shares of it.
fn areas(length: usize) -> Vec<Vec<(usize, f64)>> {
    let part = length as f64 / SIDE as f64;
    (0..SIDE)
        .map(|i| {
            let (start, end) = (i as f64 * part, (i + 1) as f64 * part);
            let last = (end.ceil() as usize).min(length);
            (start.floor() as usize..last)
                .map(|pixel| {
                    let overlap = end.min(pixel as f64 + 1.0) - start.max(pixel as f64);
                    (pixel, overlap.max(0.0) / part)
                })
                .collect()
        })
        .collect()
}

/// `FRAMES` frames at equal steps from the first to the last, interpolated linearly.
fn resample(frames: &[Vec<f64>]) -> Vec<f64> {
    let last = frames.len() - 1;
    let mut volume = Vec::with_capacity(FRAMES * PIXELS);
    for step in 0..FRAMES {
        let time = last as f64 * step as f64 / (FRAMES - 1) as f64;
        let before = (time.floor() as usize).min(last);
        let (after, share) = ((before + 1).min(last), time - before as f64);
        let pixels = frames[before].iter().zip(&frames[after]);
        volume.extend(pixels.map(|(a, b)| a + share * (b - a)));
    }
    volume
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
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
                    let path = format!("{set}/000{class}/0000/frame-{frame}.png");
                    paint(&root.path().join(path), 40, |_, _| 100 * class + frame as u8);
                }
            }
        }
        root
    }

    fn load_tree(root: &Path) -> Result<Samples, DataError> {
        let manifest = &registry::find("chg").unwrap().manifest;
        load(manifest, &[root.to_path_buf()])
    }

    #[test]
    fn a_tree_becomes_volumes() {
        let root = tree(12);
        fs::write(root.path().join("Set1/0000/0000/Thumbs.db"), "x").unwrap();
        fs::create_dir(root.path().join("readme")).unwrap();
        let samples = load_tree(root.path()).unwrap();
        assert_eq!(samples.x.dim(), (4, 8000));
        assert_eq!(samples.labels, ["0000", "0001", "0000", "0001"]);
        // Frames 0 to 11 in natural order, so brightness grows steadily with time.
        for (frame, value) in (0..FRAMES).map(|f| (f, samples.x[[1, f * PIXELS + 7]])) {
            let expected = (100.0 + 11.0 * frame as f64 / 19.0) / 255.0;
            assert!((value - expected).abs() < 1e-12, "frame {frame}: {value}");
        }
    }

    #[test]
    fn the_class_count_found_is_noted_beside_the_papers() {
        let root = tree(2);
        let samples = load_tree(root.path()).unwrap();
        let mut dataset = Dataset::new("chg", samples, None, root.path()).unwrap();
        let manifest = &registry::find("chg").unwrap().manifest;
        manifest.check(&mut dataset, root.path()).unwrap();
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
    fn shrinking_averages_areas() {
        let image = GrayImage::from_fn(40, 30, |x, _| image::Luma([if x < 20 { 0 } else { 255 }]));
        let small = shrink(&image);
        for (at, value) in small.iter().enumerate() {
            let expected = if at % SIDE < SIDE / 2 { 0.0 } else { 1.0 };
            assert!((value - expected).abs() < 1e-12);
        }
        let ramp = GrayImage::from_fn(33, 7, |x, y| image::Luma([(x * 7 + y) as u8]));
        let mean = |v: &mut dyn Iterator<Item = f64>, n: f64| v.sum::<f64>() / n;
        let whole = mean(&mut ramp.pixels().map(|p| f64::from(p.0[0]) / 255.0), 231.0);
        let parts = mean(&mut shrink(&ramp).into_iter(), 400.0);
        assert!((whole - parts).abs() < 1e-12, "area means keep the mean");
    }

    #[test]
    fn an_unreadable_image_is_named() {
        let root = tree(2);
        let bad = root.path().join("Set2/0001/0000/frame-1.png");
        let half = fs::read(&bad).unwrap();
        fs::write(&bad, &half[..half.len() / 2]).unwrap();
        let error = load_tree(root.path()).unwrap_err().to_string();
        assert!(error.contains("frame-1.png: found an unreadable image"), "{error}");
        fs::remove_dir_all(bad.parent().unwrap()).unwrap();
        fs::create_dir(bad.parent().unwrap()).unwrap();
        let error = load_tree(root.path()).unwrap_err().to_string();
        assert!(error.contains("0000: found no image, expected frames"), "{error}");
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["f10", "f2", "f02", "e", "f1a"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["e", "f1a", "f02", "f2", "f10"]);
    }
}
