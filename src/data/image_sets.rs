//! CIFAR-10, DTD and Flowers-102: their images, or vectors that a frozen encoder made of these, with the
//! official split. Training samples come first; those for validation are stored separately.

use std::path::{Path, PathBuf};

use ndarray::Axis;
use tar::Archive;

use super::content::{bytes, read};
use super::error::{DataError, Parsed, bad, place_of};
use super::files::read_npy;
use super::images::Images;
use super::mat::MatFile;
use super::{Samples, npy};
use crate::wording::counted;

/// CIFAR-10: five training batches, then the test batch.
const BATCHES: [&str; 6] = [
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
    "test_batch.bin",
];
/// A label and the pixels.
const RECORD: usize = 1 + 3 * 32 * 32;

/// CIFAR-10's images in the binary version, an archive or the folder that it unpacks to.
pub(crate) fn cifar10(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let archive = if paths[0].is_dir() { Vec::new() } else { bytes(&paths[0])? };
    let (mut samples, mut train) = (Samples::of_images(Images::default(), Vec::new()), 0);
    for name in BATCHES {
        train = samples.labels.len();
        let records = match paths[0].is_dir() {
            true => read(&paths[0].join(name), records_of)?,
            false => {
                batch(&archive, name).and_then(records_of).map_err(|bad| bad.in_file(&paths[0]))?
            }
        };
        samples = samples.join(records).map_err(|bad| bad.in_file(&paths[0]))?;
    }
    Ok(Samples { train: Some(train), ..samples })
}

/// A batch of the archive. Its size there is only a claim.
fn batch<'a>(archive: &'a [u8], name: &str) -> Parsed<&'a [u8]> {
    let refuse = |found: String| bad("", found, "CIFAR-10's binary version");
    let broken =
        |error: std::io::Error| refuse(format!("an incomplete or damaged tar archive ({error})"));
    for entry in Archive::new(archive).entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        if entry.path_bytes().ends_with(name.as_bytes()) {
            let rest = archive.get(entry.raw_file_position() as usize..);
            let batch = rest.and_then(|rest| rest.get(..entry.size() as usize));
            return batch.ok_or_else(|| refuse(format!("only a part of {name}")));
        }
    }
    Err(refuse(format!("no {name}")))
}

/// The images of a batch and their labels.
fn records_of(batch: &[u8]) -> Parsed<Samples> {
    let records = batch.chunks_exact(RECORD);
    if batch.is_empty() || !records.remainder().is_empty() {
        let expected = format!("whole records of {RECORD} bytes");
        return Err(bad("", format_args!("{} bytes", batch.len()), expected));
    }
    if let Some(number) = records.clone().position(|record| record[0] > 9) {
        let place = format!(", byte {}", number * RECORD);
        let found = format!("label {}", batch[number * RECORD]);
        return Err(bad(place, found, "a label of 0 to 9"));
    }
    let labels = records.clone().map(|record| record[0].to_string()).collect();
    Ok(Samples::of_images(Images::planes(records.map(|record| &record[1..])), labels))
}

/// CIFAR-10's training features and labels, then those for testing.
pub(crate) fn cifar10_features(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let test = read_npy(&paths[2], &paths[3])?;
    let train = read_npy(&paths[0], &paths[1])?;
    train.join(test).map_err(|bad| bad.in_file(&paths[2]))
}

/// DTD's images: `images/<class>/<image>`, and the first of its ten splits in `labels/train1.txt` and
/// `labels/test1.txt`.
pub(crate) fn dtd(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let [images, lists] = [&paths[0], &paths[1]];
    let listed = |name: &str| read(&lists.join(name), |file| listed(file, images));
    let mut all = listed("train1.txt")?;
    let train = all.len();
    all.extend(listed("test1.txt")?);
    let (labels, images): (Vec<String>, Vec<PathBuf>) = all.into_iter().unzip();
    let images = Images::files(images).map_err(|bad| bad.in_file(lists))?;
    Ok(Samples { train: Some(train), ..Samples::of_images(images, labels) })
}

/// Class and file of every line of a list.
fn listed(file: &[u8], images: &Path) -> Parsed<Vec<(String, PathBuf)>> {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '\\']) && name != "..";
    let text = String::from_utf8_lossy(file);
    let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    let entry = |(line, entry): (u64, &str)| {
        let (class, image) = entry.split_once('/').unwrap_or_default();
        let path = images.join(class).join(image);
        if is_name(class) && is_name(image) && path.is_file() {
            return Ok((class.to_owned(), path));
        }
        let found = format!("`{entry}`, which is not an image under images/");
        Err(bad(format_args!(":{line}:1"), found, "lines such as banded/banded_0002.jpg"))
    };
    lines.map(entry).collect()
}

/// Flowers-102's folder `jpg` of `image_00001.jpg` and on, `imagelabels.mat` and `setid.mat`.
pub(crate) fn flowers102(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let (labels, parts) = official(paths)?;
    let image = |i: &usize| paths[0].join(format!("image_{:05}.jpg", i + 1));
    in_parts(parts, |order| {
        let images = Images::files(order.iter().map(image).collect());
        let images = images.map_err(|bad| bad.in_file(&paths[2]))?;
        Ok(Samples::of_images(images, pick(&labels, order)))
    })
}

/// Features of all of its images in their order, `imagelabels.mat` and `setid.mat`.
pub(crate) fn flowers102_features(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let x = read(&paths[0], npy::matrix)?;
    let (labels, parts) = official(paths)?;
    if labels.len() != x.nrows() {
        let expected = format!("{}, one for each label", labels.len());
        return Err(bad("", counted(x.nrows(), "sample"), expected).in_file(&paths[0]));
    }
    in_parts(parts, |order| Ok(Samples::new(x.select(Axis(0), order), pick(&labels, order))))
}

fn pick(labels: &[String], order: &[usize]) -> Vec<String> {
    order.iter().map(|&i| labels[i].clone()).collect()
}

/// The images for training, validation and testing, by their numbers from 0.
type Parts = [Vec<usize>; 3];

fn in_parts(
    [train, validation, test]: Parts,
    samples: impl Fn(&[usize]) -> Result<Samples, DataError>,
) -> Result<Samples, DataError> {
    let validation = Some(Box::new(samples(&validation)?));
    let all = samples(&[&train[..], &test].concat())?;
    Ok(Samples { train: Some(train.len()), validation, ..all })
}

/// The label of every image, and the parts.
fn official(paths: &[PathBuf]) -> Result<(Vec<String>, Parts), DataError> {
    let labels = read(&paths[1], |file| MatFile::parse(file)?.vector("labels"))?;
    let labels: Vec<String> = labels.iter().map(f64::to_string).collect();
    let parts = read(&paths[2], |file| {
        let file = MatFile::parse(file)?;
        let part = |name| part(&file, name, labels.len());
        Ok([part("trnid")?, part("valid")?, part("tstid")?])
    })?;
    Ok((labels, parts))
}

fn part(file: &MatFile, name: &str, images: usize) -> Parsed<Vec<usize>> {
    let ids = file.vector(name)?;
    let is_image = |id: &f64| id.fract() == 0.0 && (1.0..=images as f64).contains(id);
    if let Some(id) = ids.iter().find(|id| !is_image(id)) {
        return Err(bad(place_of(name), id, format_args!("a number of an image, 1 to {images}")));
    }
    Ok(ids.iter().map(|id| *id as usize - 1).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    const ARCHIVE: &str = "cifar-10-binary.tar.gz";
    const UNPACKED: &str = "cifar-10-batches-bin";

    /// Two records of a batch: labels and pixels that show batch, record, plane and place.
    fn example(number: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in 0..2_u8 {
            bytes.push((number + record) % 10);
            let pixels = (1..RECORD).map(|at| (at as u8).wrapping_mul(7) ^ (number * 16 + record));
            bytes.extend(pixels);
        }
        bytes
    }

    fn write_folder(folder: &Path) {
        fs::create_dir_all(folder.join(UNPACKED)).unwrap();
        for (number, name) in (0..).zip(BATCHES) {
            fs::write(folder.join(UNPACKED).join(name), example(number)).unwrap();
        }
    }

    fn header(name: &str, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_path(name).unwrap();
        header.set_size(size);
        header.set_cksum();
        header
    }

    fn write_archive(folder: &Path, tar: &[u8]) {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(tar).unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(ARCHIVE), gz.finish().unwrap()).unwrap();
    }

    fn write_whole_archive(folder: &Path) {
        let mut tar = tar::Builder::new(Vec::new());
        for (number, name) in (0..).zip(BATCHES) {
            let (name, bytes) = (format!("{UNPACKED}/{name}"), example(number));
            tar.append(&header(&name, bytes.len() as u64), &bytes[..]).unwrap();
        }
        write_archive(folder, &tar.into_inner().unwrap());
    }

    fn load(path: PathBuf) -> Result<Samples, String> {
        cifar10(&[path]).map_err(|error| error.to_string())
    }

    #[test]
    fn archive_and_folder_hold_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let mut hashes = Vec::new();
        write_folder(folder.path());
        write_whole_archive(folder.path());
        for name in [UNPACKED, ARCHIVE] {
            let samples = load(folder.path().join(name)).unwrap();
            assert_eq!((samples.train, samples.labels.len()), (Some(10), 12), "{name}");
            assert_eq!(samples.labels[2..4], ["1", "2"]);
            hashes.push((samples.images.unwrap().hash().unwrap(), samples.labels));
        }
        assert_eq!(hashes[0], hashes[1]);
    }

    #[test]
    fn an_archive_that_claims_too_much_is_refused_before_it_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let claims = header("x/data_batch_1.bin", 1 << 32);
        write_archive(folder.path(), claims.as_bytes());
        let error = load(folder.path().join(ARCHIVE)).unwrap_err();
        assert!(error.contains("found only a part of data_batch_1.bin"), "{error}");
    }

    #[test]
    fn a_batch_that_is_torn_or_has_a_strange_label_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |bytes: &[u8]| {
            write_folder(folder.path());
            fs::write(folder.path().join(UNPACKED).join(BATCHES[1]), bytes).unwrap();
            load(folder.path().join(UNPACKED)).unwrap_err()
        };
        let whole = example(1);
        let error = refused(&whole[..RECORD + 5]);
        assert!(error.contains("data_batch_2.bin: found 3078 bytes"), "{error}");
        let mut strange = whole;
        strange[RECORD] = 200;
        let error = refused(&strange);
        assert!(error.contains("data_batch_2.bin, byte 3073: found label 200"), "{error}");
    }

    fn write(folder: &Path, name: &str, bytes: &[u8]) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn refused(folder: &Path) -> String {
        dtd(&["images", "labels"].map(|name| folder.join(name))).unwrap_err().to_string()
    }

    #[test]
    fn an_image_for_training_is_none_for_testing() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "images/banded/banded_0001.jpg", b"");
        for list in ["labels/train1.txt", "labels/test1.txt"] {
            write(folder.path(), list, b"banded/banded_0001.jpg");
        }
        let error = refused(folder.path());
        assert!(error.contains("found banded_0001.jpg twice"), "{error}");
    }

    #[test]
    fn a_list_that_names_no_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for line in ["banded/none.jpg", "../x/y.jpg", "plain"] {
            write(folder.path(), "images/banded/banded_0001.jpg", b"");
            write(folder.path(), "labels/train1.txt", line.as_bytes());
            write(folder.path(), "labels/test1.txt", b"");
            let error = refused(folder.path());
            assert!(error.contains("train1.txt:1:1: found `"), "{error}");
        }
    }
}
