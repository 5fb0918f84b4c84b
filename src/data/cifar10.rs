//! CIFAR-10, its images or vectors that a frozen encoder made of them, with the official split:
//! training samples first.

use std::io::Read;
use std::path::{Path, PathBuf};

use tar::Archive;

use super::Samples;
use super::content::bytes;
use super::error::{DataError, Parsed, bad};
use super::files::read_npy;
use super::images::Images;

/// The binary version, and the folder that it holds.
const ARCHIVE: &str = "cifar-10-binary.tar.gz";
const UNPACKED: &str = "cifar-10-batches-bin";
/// Five training batches, then the test batch.
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
/// Most bytes of a batch, several times what there are. A few bytes of an archive can stand for any
/// amount.
const LONGEST_BATCH: u64 = 1 << 28;

pub(crate) fn has_images(folder: &Path) -> bool {
    folder.join(UNPACKED).exists() || folder.join(ARCHIVE).exists()
}

/// The images of the archive, or of the folder that it holds.
pub(crate) fn images(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let (folder, archive) = (paths[0].join(UNPACKED), paths[0].join(ARCHIVE));
    let unpacked = if folder.is_dir() { Vec::new() } else { bytes(&archive)? };
    let (mut images, mut labels, mut train) = (Images::default(), Vec::new(), 0);
    for name in BATCHES {
        let batch = match folder.is_dir() {
            true => bytes(&folder.join(name))?,
            false => batch(&unpacked, name).map_err(|bad| bad.in_file(&archive))?,
        };
        train = labels.len();
        labels.extend(labels_of(&batch).map_err(|bad| bad.in_file(&folder.join(name)))?);
        images.extend(Images::planes(batch.chunks_exact(RECORD).map(|record| &record[1..])));
    }
    Ok(Samples { train: Some(train), ..Samples::of_images(images, labels) })
}

/// A batch of the archive.
fn batch(archive: &[u8], name: &str) -> Parsed<Vec<u8>> {
    let refuse = |found: String| bad("", found, "CIFAR-10's binary version");
    let broken = |error: std::io::Error| refuse(format!("no whole tar archive ({error})"));
    for entry in Archive::new(archive).entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        if entry.path_bytes().ends_with(name.as_bytes()) {
            let (mut batch, size) = (Vec::new(), entry.size());
            entry.take(LONGEST_BATCH).read_to_end(&mut batch).map_err(broken)?;
            let found = format!("{} of the {size} bytes of {name}", batch.len());
            return if batch.len() as u64 == size { Ok(batch) } else { Err(refuse(found)) };
        }
    }
    Err(refuse(format!("no {name}")))
}

fn labels_of(batch: &[u8]) -> Parsed<Vec<String>> {
    if batch.is_empty() || !batch.len().is_multiple_of(RECORD) {
        let expected = format!("whole records of {RECORD} bytes");
        return Err(bad("", format_args!("{} bytes", batch.len()), expected));
    }
    let labels = batch.iter().step_by(RECORD);
    if let Some(number) = labels.clone().position(|label| *label > 9) {
        let place = format!(", byte {}", number * RECORD);
        let found = format!("label {}", batch[number * RECORD]);
        return Err(bad(place, found, "a label of 0 to 9"));
    }
    Ok(labels.map(u8::to_string).collect())
}

/// Training features and labels, then those for testing.
pub(crate) fn features(paths: &[PathBuf]) -> Result<Samples, DataError> {
    let test = read_npy(&paths[2], &paths[3])?;
    let train = read_npy(&paths[0], &paths[1])?;
    train.join(test).map_err(|bad| bad.in_file(&paths[2]))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    /// Two records of a batch: labels and pixels that tell batch, record, plane and place.
    fn batch(number: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in 0..2_u8 {
            bytes.push((number + record) % 10);
            let pixels = (1..RECORD).map(|at| (at as u8).wrapping_mul(7) ^ (number * 16 + record));
            bytes.extend(pixels);
        }
        bytes
    }

    fn unpacked(folder: &Path) {
        fs::create_dir_all(folder.join(UNPACKED)).unwrap();
        for (number, name) in (0..).zip(BATCHES) {
            fs::write(folder.join(UNPACKED).join(name), batch(number)).unwrap();
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

    fn archive(folder: &Path) {
        let mut tar = tar::Builder::new(Vec::new());
        for (number, name) in (0..).zip(BATCHES) {
            let (name, bytes) = (format!("{UNPACKED}/{name}"), batch(number));
            tar.append(&header(&name, bytes.len() as u64), &bytes[..]).unwrap();
        }
        write_archive(folder, &tar.into_inner().unwrap());
    }

    fn load(folder: &Path) -> Result<Samples, String> {
        images(&[folder.to_path_buf()]).map_err(|error| error.to_string())
    }

    #[test]
    fn archive_and_folder_hold_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let mut hashes = Vec::new();
        for (name, form) in [("a", unpacked as fn(&Path)), ("b", archive)] {
            let folder = folder.path().join(name);
            form(&folder);
            assert!(has_images(&folder));
            let samples = load(&folder).unwrap();
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
        let error = load(folder.path()).unwrap_err();
        assert!(error.contains("0 of the 4294967296 bytes of data_batch_1.bin"), "{error}");
    }

    #[test]
    fn a_batch_that_is_torn_or_has_a_strange_label_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |bytes: &[u8]| {
            unpacked(folder.path());
            fs::write(folder.path().join(UNPACKED).join(BATCHES[1]), bytes).unwrap();
            load(folder.path()).unwrap_err()
        };
        let whole = batch(1);
        let error = refused(&whole[..RECORD + 5]);
        assert!(error.contains("data_batch_2.bin: found 3078 bytes"), "{error}");
        let mut strange = whole;
        strange[RECORD] = 200;
        let error = refused(&strange);
        assert!(error.contains("data_batch_2.bin, byte 3073: found label 200"), "{error}");
    }
}
