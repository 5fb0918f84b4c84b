//! Data of the user's own: a file, or a training and a test file, in any of the formats.

use std::path::{Path, PathBuf};

use super::error::{DataError, Place};
use super::npy::{self, Npy};
use super::{Dataset, Samples, archive, check_values, csv, libsvm};
use crate::spec::{FileFormat, FilesSpec};

/// Loads the files of `spec`; relative paths start from `base`.
///
/// With a test file the rows of `train` come first and [`Dataset::fixed_train`] says how many they
/// are. LIBSVM files may differ in their highest index, others must have equally many features.
///
/// Labels of `.npy` files are in a file of their own: `label`, or for a training and a test file
/// both names with a comma between, or if left out the features' file with `features` replaced by
/// `labels`, else with `-labels` appended. It is looked for from `base`, then beside the features.
pub fn load_files(spec: &FilesSpec, base: &Path) -> Result<Dataset, DataError> {
    let train_path = base.join(&spec.train);
    refuse_idle_label(spec)?;
    let labels = label_files(spec)?;
    let train = read(spec, &train_path, base, labels.first())?;
    let name = spec.name();
    let Some(test) = &spec.test else {
        return Dataset::new(&name, train, None, &train_path);
    };
    let test_path = base.join(test);
    let test = read(spec, &test_path, base, labels.get(1))?;
    let (ours, theirs) = (train.x.ncols(), test.x.ncols());
    if ours != theirs && spec.format_of(&train_path) != FileFormat::Libsvm {
        return Err(DataError::content(
            &test_path,
            Place::File,
            format!("{theirs} features"),
            format!("{ours} as in {}", train_path.display()),
        ));
    }
    let first = train.x.nrows();
    let samples = train.join(test, &test_path)?;
    Dataset::with_split(&name, samples, &train_path, Some((first, &test_path)))
}

fn read(
    spec: &FilesSpec,
    path: &Path,
    base: &Path,
    labels: Option<&PathBuf>,
) -> Result<Samples, DataError> {
    let samples = match spec.format_of(path) {
        FileFormat::Libsvm => libsvm::read(path)?,
        FileFormat::Csv => csv::read(path, spec.label.as_deref())?,
        FileFormat::Npz => archive::read(path)?,
        FileFormat::Npy => {
            let labels = match labels {
                Some(labels) => beside(base, labels, path),
                None => usual_labels(path),
            };
            read_npy(path, &labels)?
        }
    };
    // Before files are joined, so that the one at fault is named, with its own count of rows.
    check_values(&samples.x, samples.labels.len(), path)?;
    Ok(samples)
}

pub(crate) fn read_npy(path: &Path, labels_path: &Path) -> Result<Samples, DataError> {
    if !labels_path.exists() {
        return Err(DataError::content(
            path,
            Place::File,
            format!("no labels at {}", labels_path.display()),
            "a .npy file with a label per sample, named by `label`",
        ));
    }
    let (bytes, label_bytes) = (npy::read_bytes(path)?, npy::read_bytes(labels_path)?);
    let x = Npy::parse(&bytes, path)?.matrix()?;
    let labels = Npy::parse(&label_bytes, labels_path)?.labels()?;
    if labels.len() != x.nrows() {
        return Err(DataError::content(
            labels_path,
            Place::File,
            format!("{} labels", labels.len()),
            format!("{}, one for each sample of {}", x.nrows(), path.display()),
        ));
    }
    Ok(Samples { x, labels })
}

/// A `label` that neither file has a use for is a mistake, not a wish to be passed over.
fn refuse_idle_label(spec: &FilesSpec) -> Result<(), DataError> {
    let Some(label) = &spec.label else {
        return Ok(());
    };
    for file in [Some(&spec.train), spec.test.as_ref()].into_iter().flatten() {
        let expected = match spec.format_of(file) {
            FileFormat::Csv | FileFormat::Npy => continue,
            FileFormat::Libsvm => "no `label`: in LIBSVM text the label begins each line",
            FileFormat::Npz => "no `label`: an npz file holds its labels under a name of its own",
        };
        let found = format!("`label: {label}`");
        return Err(DataError::content(file, Place::File, found, expected));
    }
    Ok(())
}

/// The label files that `label` names: none, or one per data file.
fn label_files(spec: &FilesSpec) -> Result<Vec<PathBuf>, DataError> {
    let Some(label) =
        spec.label.as_ref().filter(|_| spec.format_of(&spec.train) == FileFormat::Npy)
    else {
        return Ok(Vec::new());
    };
    let wanted = if spec.test.is_some() { 2 } else { 1 };
    let names: Vec<PathBuf> = match wanted {
        1 => vec![PathBuf::from(label)],
        _ => label.split(',').map(|name| PathBuf::from(name.trim())).collect(),
    };
    if names.len() != wanted {
        return Err(DataError::content(
            &spec.train,
            Place::File,
            format!("`label: {label}` for a training and a test file"),
            "two label files with a comma between",
        ));
    }
    Ok(names)
}

fn beside(base: &Path, labels: &Path, features: &Path) -> PathBuf {
    let from_base = base.join(labels);
    match features.parent().map(|folder| folder.join(labels)) {
        Some(neighbour) if !from_base.exists() && neighbour.exists() => neighbour,
        _ => from_base,
    }
}

fn usual_labels(features: &Path) -> PathBuf {
    let stem =
        features.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let labels = match stem.rsplit_once("features") {
        Some((before, after)) => format!("{before}labels{after}.npy"),
        None => format!("{stem}-labels.npy"),
    };
    features.with_file_name(labels)
}

#[cfg(test)]
mod tests {
    use super::super::npy::tests::npy;
    use super::*;
    use std::fs;
    use std::io::Write;

    fn spec(train: &str, test: Option<&str>) -> FilesSpec {
        FilesSpec {
            name: None,
            train: train.into(),
            test: test.map(Into::into),
            format: None,
            label: None,
            subsample: None,
        }
    }

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    const TEXT: &[u8] = b"1 1:1\n2 1:2\n1 1:3\n2 1:4\n";

    #[test]
    fn the_same_data_has_the_same_hash_in_every_format() {
        let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
        bz2.write_all(TEXT).unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gz.write_all(TEXT).unwrap();
        let folder = folder(&[
            ("a.train", TEXT),
            ("b.bz2", &bz2.finish().unwrap()),
            ("c.gz", &gz.finish().unwrap()),
            ("d.csv", b"1,1\n2,2\n3,1\n4,2\n"),
            ("e-features.npy", &npy("|u1", false, "(4, 1)", &[1, 2, 3, 4])),
            ("e-labels.npy", &npy("|u1", false, "(4,)", &[1, 2, 1, 2])),
        ]);
        let load = |name: &str| load_files(&spec(name, None), folder.path()).unwrap();
        let first = load("a.train");
        assert_eq!(first.name, "a");
        for name in ["b.bz2", "c.gz", "d.csv", "e-features.npy"] {
            assert_eq!(load(name).hash, first.hash, "{name}");
        }
    }

    #[test]
    fn a_test_file_fixes_the_split_and_may_be_wider() {
        let folder = folder(&[("a.train", TEXT), ("a.test", b"2 1:1 3:1\n1 2:1\n")]);
        let data = load_files(&spec("a.train", Some("a.test")), folder.path()).unwrap();
        assert_eq!(data.x.dim(), (6, 3));
        assert_eq!(data.fixed_train, Some(4));
        assert_eq!(data.y, [0, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn a_label_that_means_nothing_is_refused() {
        let folder = folder(&[("a.train", TEXT), ("a.test", TEXT), ("d.csv", b"1,1\n2,2\n")]);
        for (train, test) in [("a.train", None), ("b.npz", None), ("d.csv", Some("a.test"))] {
            let mut spec = spec(train, test);
            spec.label = Some("species".into());
            let error = load_files(&spec, folder.path()).unwrap_err().to_string();
            assert!(error.contains("found `label: species`, expected no `label`"), "{error}");
        }
    }

    #[test]
    fn the_name_of_a_dataset_does_not_depend_on_who_asks() {
        let folder = folder(&[("Own.Train.GZ", TEXT)]);
        let spec = spec("Own.Train.GZ", None);
        let dataset = load_files(&spec, folder.path()).unwrap();
        assert_eq!((dataset.name.as_str(), spec.name().as_ref()), ("Own", "Own"));
    }

    #[test]
    fn csv_files_must_be_equally_wide() {
        let folder = folder(&[("a.csv", b"1,1\n2,2\n3,1\n4,2\n"), ("b.csv", b"1,2,1\n3,4,2\n")]);
        let error = load_files(&spec("a.csv", Some("b.csv")), folder.path()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("b.csv: found 2 features, expected 1 as in"), "{text}");
    }

    #[test]
    fn a_value_of_the_test_file_is_found_there() {
        let nan = f64::NAN.to_le_bytes();
        let folder = folder(&[
            ("a.npy", &npy("|u1", false, "(4, 1)", &[1, 2, 3, 4])),
            ("a-labels.npy", &npy("|u1", false, "(4,)", &[1, 2, 1, 2])),
            ("b.npy", &npy("<f8", false, "(1, 1)", &nan)),
            ("b-labels.npy", &npy("|u1", false, "(1,)", &[1])),
        ]);
        let error = load_files(&spec("a.npy", Some("b.npy")), folder.path()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("b.npy, row 1, column 1: found `NaN`"), "{text}");
    }

    #[test]
    fn npy_labels_are_named_or_missed() {
        let folder = folder(&[
            ("x.npy", &npy("|u1", false, "(4, 1)", &[1, 2, 3, 4])),
            ("t.npy", &npy("|u1", false, "(2, 1)", &[1, 2])),
            ("y.npy", &npy("|u1", false, "(4,)", &[1, 2, 1, 2])),
            ("ty.npy", &npy("|u1", false, "(2,)", &[1, 2])),
        ]);
        let mut spec = spec("x.npy", None);
        let error = load_files(&spec, folder.path()).unwrap_err().to_string();
        assert!(error.contains("x-labels.npy"), "{error}");
        spec.label = Some("y.npy".into());
        assert_eq!(load_files(&spec, folder.path()).unwrap().y, [0, 1, 0, 1]);
        spec.test = Some("t.npy".into());
        let error = load_files(&spec, folder.path()).unwrap_err().to_string();
        assert!(error.contains("two label files"), "{error}");
        spec.label = Some("y.npy, ty.npy".into());
        assert_eq!(load_files(&spec, folder.path()).unwrap().fixed_train, Some(4));
        spec.label = Some("ty.npy, ty.npy".into());
        let error = load_files(&spec, folder.path()).unwrap_err().to_string();
        assert!(error.contains("ty.npy: found 2 labels, expected 4"), "{error}");
    }
}
