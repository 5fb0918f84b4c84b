//! The user's own files: one, or a training and a test file, in any of the formats.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::read;
use super::error::{DataError, bad};
use super::{Dataset, Samples, csv, libsvm, npy};
use crate::wording::counted;

/// The user's own dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FilesSpec {
    /// Name shown in tables; the file's stem if left out.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// LIBSVM text (plain, .bz2, .gz), .csv, .npy or .npz; relative to the working folder.
    #[schemars(length(min = 1))]
    pub train: PathBuf,
    /// With a test file the split is fixed; without it, `train` is split at random.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub test: Option<PathBuf>,
    /// The format, if the file's name does not show it.
    #[serde(default)]
    pub format: Option<FileFormat>,
    /// CSV: name or number (from 1) of the label column; the last column if left out. `.npy`: the
    /// file with the labels, or two with a comma between where there is a test file; if left out,
    /// the data file's name with `features` replaced by `labels`, else with `-labels` appended.
    #[serde(default, deserialize_with = "name_or_number")]
    #[schemars(schema_with = "name_or_number_schema")]
    pub label: Option<String>,
    /// Use a seeded random part of this many samples.
    #[serde(default)]
    #[schemars(range(min = 4))]
    pub subsample: Option<usize>,
}

impl FilesSpec {
    /// The given name, or the training file's without its extensions.
    pub fn name(&self) -> String {
        let unpacked = unpacked_name(&self.train);
        let stem =
            || unpacked.file_stem().unwrap_or("files".as_ref()).to_string_lossy().into_owned();
        self.name.clone().unwrap_or_else(stem)
    }

    /// The given format, or the one that the name of `file` shows.
    pub fn format_of(&self, file: &Path) -> FileFormat {
        let by_name = || match extension(&unpacked_name(file)).as_str() {
            "csv" | "tsv" => FileFormat::Csv,
            "npy" => FileFormat::Npy,
            "npz" => FileFormat::Npz,
            _ => FileFormat::Libsvm,
        };
        self.format.unwrap_or_else(by_name)
    }
}

/// The file's name without the ending of its compression.
fn unpacked_name(path: &Path) -> PathBuf {
    let is_packed = ["bz2", "gz"].contains(&extension(path).as_str());
    let name = if is_packed { path.file_stem() } else { path.file_name() };
    name.unwrap_or_default().into()
}

fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn name_or_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name)),
        Value::Number(number) => Ok(Some(number.to_string())),
        _ => Err(de::Error::custom("expected a column's name or number")),
    }
}

fn name_or_number_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "integer", "minimum": 1},
            {"type": "null"},
        ]
    })
}

/// File formats for the user's own data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    Libsvm,
    Csv,
    Npy,
    Npz,
}

/// Loads the files of `spec`.
///
/// With a test file the rows of `train` come first and [`Dataset::fixed_train`] says how many they
/// are. LIBSVM files may differ in their highest index, others must have equally many features.
pub fn load_files(spec: &FilesSpec) -> Result<Dataset, DataError> {
    let name = spec.name();
    let train = read_file(spec, &spec.train, 0)?;
    let Some(test_path) = &spec.test else {
        return Dataset::new(&name, train, [&spec.train; 2]);
    };
    let test = read_file(spec, test_path, 1)?;
    let (ours, theirs) = (train.x.ncols(), test.x.ncols());
    if ours != theirs && spec.format_of(&spec.train) != FileFormat::Libsvm {
        let expected = format!("{ours} as in {}", spec.train.display());
        return Err(bad("", counted(theirs, "feature"), expected).in_file(test_path));
    }
    let first = train.x.nrows();
    let samples = train.join(test).map_err(|bad| bad.in_file(test_path))?;
    Dataset::new(&name, Samples { train: Some(first), ..samples }, [&spec.train, test_path])
}

/// Reads a file, the training file (`number` 0) or the test file (1). Of `.npy`, `label` names a file of labels
/// for each.
fn read_file(spec: &FilesSpec, path: &Path, number: usize) -> Result<Samples, DataError> {
    let label = spec.label.as_deref();
    let refuse = |expected| {
        Err(bad("", format_args!("`label: {}`", label.unwrap_or_default()), expected).in_file(path))
    };
    let samples = match (spec.format_of(path), label) {
        (FileFormat::Libsvm, None) => read(path, libsvm::parse)?,
        (FileFormat::Npz, None) => read(path, npy::archive)?,
        (FileFormat::Csv, label) => read(path, |file| csv::parse(file, label))?,
        (FileFormat::Npy, None) => read_npy(path, &usual_label_file(path))?,
        (FileFormat::Npy, Some(files)) => match files.split(',').nth(number) {
            Some(file) => read_npy(path, &given_label_file(file.trim(), path))?,
            None => return refuse("two label files, `label: train.npy, test.npy`"),
        },
        (FileFormat::Libsvm, _) => {
            return refuse("no `label`: in LIBSVM text the label begins each line");
        }
        (FileFormat::Npz, _) => {
            return refuse("no `label`: an npz file holds its labels in an array");
        }
    };
    // Before files are joined, so that the one at fault is named, with its own count of rows.
    samples.check().map_err(|bad| bad.in_file(path))?;
    Ok(samples)
}

/// Samples and labels from two files.
pub(crate) fn read_npy(path: &Path, labels_path: &Path) -> Result<Samples, DataError> {
    if !labels_path.exists() {
        let found = format!("no labels at {}", labels_path.display());
        let expected = "a .npy file with a label per sample, named by `label`";
        return Err(bad("", found, expected).in_file(path));
    }
    let x = read(path, npy::matrix)?;
    let labels = read(labels_path, npy::labels)?;
    if labels.len() != x.nrows() {
        let expected = format!("{}, one for each sample of {}", x.nrows(), path.display());
        return Err(bad("", counted(labels.len(), "label"), expected).in_file(labels_path));
    }
    Ok(Samples::new(x, labels))
}

/// The file of labels that a spec names, which may be next to the file `features`.
fn given_label_file(given: &str, features: &Path) -> PathBuf {
    let neighbour = features.with_file_name(given);
    if !Path::new(given).exists() && neighbour.exists() { neighbour } else { given.into() }
}

/// The name of the file `features` with `features` in it replaced by `labels`, else with `-labels` appended.
fn usual_label_file(features: &Path) -> PathBuf {
    let stem = features.file_stem().unwrap_or_default().to_string_lossy();
    features.with_file_name(match stem.rsplit_once("features") {
        Some((before, after)) => format!("{before}labels{after}.npy"),
        None => format!("{stem}-labels.npy"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::npy::npy;
    use super::*;
    use std::fs;
    use std::io::Write;

    fn spec(folder: &tempfile::TempDir, train: &str, test: Option<&str>) -> FilesSpec {
        FilesSpec {
            name: None,
            train: folder.path().join(train),
            test: test.map(|test| folder.path().join(test)),
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
        let load = |name: &str| load_files(&spec(&folder, name, None)).unwrap();
        let first = load("a.train");
        assert_eq!(first.name, "a");
        for name in ["b.bz2", "c.gz", "d.csv", "e-features.npy"] {
            assert_eq!(load(name).hash, first.hash, "{name}");
        }
    }

    #[test]
    fn a_test_file_fixes_the_split_and_may_be_wider() {
        let folder = folder(&[("a.train", TEXT), ("a.test", b"2 1:1 3:1\n1 2:1\n")]);
        let data = load_files(&spec(&folder, "a.train", Some("a.test"))).unwrap();
        assert_eq!(data.x.dim(), (6, 3));
        assert_eq!(data.fixed_train, Some(4));
        assert_eq!(data.y, [0, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn a_label_that_means_nothing_is_refused() {
        let folder = folder(&[("a.train", TEXT), ("a.test", TEXT), ("d.csv", b"1,1\n2,2\n")]);
        for (train, test) in [("a.train", None), ("b.npz", None), ("d.csv", Some("a.test"))] {
            let mut spec = spec(&folder, train, test);
            spec.label = Some("1".into());
            let error = load_files(&spec).unwrap_err().to_string();
            assert!(error.contains("found `label: 1`, expected no `label`"), "{error}");
        }
    }

    #[test]
    fn the_name_of_a_dataset_does_not_depend_on_who_asks() {
        let folder = folder(&[("Own.Train.GZ", TEXT)]);
        let spec = spec(&folder, "Own.Train.GZ", None);
        let dataset = load_files(&spec).unwrap();
        assert_eq!((dataset.name.as_str(), spec.name().as_str()), ("Own", "Own"));
    }

    #[test]
    fn csv_files_must_be_equally_wide() {
        let folder = folder(&[("a.csv", b"1,1\n2,2\n3,1\n4,2\n"), ("b.csv", b"1,2,1\n3,4,2\n")]);
        let error = load_files(&spec(&folder, "a.csv", Some("b.csv"))).unwrap_err();
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
        let error = load_files(&spec(&folder, "a.npy", Some("b.npy"))).unwrap_err();
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
        let mut spec = spec(&folder, "x.npy", None);
        let error = load_files(&spec).unwrap_err().to_string();
        assert!(error.contains("x-labels.npy"), "{error}");
        spec.label = Some("y.npy".into());
        assert_eq!(load_files(&spec).unwrap().y, [0, 1, 0, 1]);
        spec.test = Some(folder.path().join("t.npy"));
        let error = load_files(&spec).unwrap_err().to_string();
        assert!(error.contains("two label files"), "{error}");
        spec.label = Some("y.npy, ty.npy".into());
        assert_eq!(load_files(&spec).unwrap().fixed_train, Some(4));
        spec.label = Some("ty.npy, ty.npy".into());
        let error = load_files(&spec).unwrap_err().to_string();
        assert!(error.contains("ty.npy: found 2 labels, expected 4"), "{error}");
    }
}
