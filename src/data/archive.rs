//! NumPy's `.npz`: a zip archive of `.npy` arrays, here one of samples and one of labels.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use zip::ZipArchive;

use super::error::{DataError, Place};
use super::npy::Npy;
use super::{MAX_VALUES, Samples};

const SAMPLES: [&str; 4] = ["x", "X", "data", "features"];
const LABELS: [&str; 4] = ["y", "Y", "labels", "target"];

/// Reads an archive with samples as `x` and labels as `y`, or one of their usual other names.
pub(crate) fn read(path: &Path) -> Result<Samples, DataError> {
    let file = File::open(path).map_err(|error| DataError::read(path, error))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| {
        let found = format!("a file that is no zip archive ({error})");
        DataError::content(path, Place::File, found, "an .npz archive")
    })?;
    let samples = member(&mut archive, &SAMPLES, path)?;
    let labels = member(&mut archive, &LABELS, path)?;
    Ok(Samples {
        x: Npy::parse(&samples.1, &path.join(&samples.0))?.matrix()?,
        labels: Npy::parse(&labels.1, &path.join(&labels.0))?.labels()?,
    })
}

/// The first array of the archive that has one of `names`, with that name.
fn member<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    names: &[&str],
    path: &Path,
) -> Result<(String, Vec<u8>), DataError> {
    let name = names
        .iter()
        .find(|name| archive.index_for_name(&format!("{name}.npy")).is_some())
        .ok_or_else(|| missing(archive, names, path))?;
    let broken = |error: String| {
        let place = Place::Variable((*name).to_owned());
        DataError::content(path, place, format!("damaged data ({error})"), "an intact archive")
    };
    let entry =
        archive.by_name(&format!("{name}.npy")).map_err(|error| broken(error.to_string()))?;
    // The size in the archive's directory is only a claim: read on, but never past the limit.
    let limit = 8 * MAX_VALUES as u64;
    let mut bytes = Vec::new();
    entry.take(limit).read_to_end(&mut bytes).map_err(|error| broken(error.to_string()))?;
    Ok(((*name).to_owned(), bytes))
}

fn missing<R: Read + Seek>(archive: &ZipArchive<R>, names: &[&str], path: &Path) -> DataError {
    let mut present: Vec<_> = archive
        .file_names()
        .take(20)
        .map(|name| format!("`{}`", name.trim_end_matches(".npy")))
        .collect();
    present.sort();
    let found = if present.is_empty() {
        "no array".to_owned()
    } else {
        format!("only {}", present.join(", "))
    };
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let expected = format!("an array called {}", names.join(" or "));
    DataError::content(path, Place::File, found, expected)
}

#[cfg(test)]
mod tests {
    use super::super::npy::tests::npy;
    use super::*;
    use std::io::Write;

    fn archive(members: &[(&str, Vec<u8>)]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut zip = zip::ZipWriter::new(file.reopen().unwrap());
        for (name, bytes) in members {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
        file
    }

    #[test]
    fn reads_samples_and_labels() {
        let file = archive(&[
            ("labels.npy", npy("|u1", false, "(2,)", &[3, 4])),
            ("X.npy", npy("|u1", false, "(2, 2)", &[1, 2, 3, 4])),
        ]);
        let samples = read(file.path()).unwrap();
        assert_eq!(samples.x, ndarray::array![[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(samples.labels, ["3", "4"]);
    }

    #[test]
    fn names_what_is_missing() {
        let file = archive(&[("X.npy", npy("|u1", false, "(1, 1)", &[1]))]);
        let error = read(file.path()).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "found only `X`, expected an array called `y` or `Y` or `labels` or `target`"
            ),
            "{error}"
        );
    }

    #[test]
    fn a_cut_archive_is_an_error() {
        let file = archive(&[("X.npy", npy("|u1", false, "(1, 1)", &[1]))]);
        let length = file.as_file().metadata().unwrap().len();
        file.as_file().set_len(length / 2).unwrap();
        assert!(matches!(read(file.path()), Err(DataError::Content { .. })));
    }
}
