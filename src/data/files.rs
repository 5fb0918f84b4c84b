//! The user's own files: one, or a training and a test file, in any of the formats.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{Choice, Column};
use super::content::read;
use super::error::{DataError, bad};
use super::libsvm::Sparse;
use super::{Dataset, Samples, csv, npy, parquet};
use crate::wording::counted;

/// The user's own dataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FilesSpec {
    /// Name shown in tables; the file's stem if left out.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// LIBSVM text, .csv, .parquet, .npy or .npz, also as .bz2 or .gz; relative to the working folder.
    #[schemars(length(min = 1))]
    pub train: PathBuf,
    /// With a test file the split is fixed; without it, `train` is split at random.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub test: Option<PathBuf>,
    /// The format, if the file's name does not show it.
    #[serde(default)]
    pub format: Option<FileFormat>,
    /// CSV and Parquet: the label column, a name in quotes or a number from 1; the last column if left
    /// out. `.npy`: the file with the labels, or two with a comma between where there is a test file; if
    /// left out, the data file's name with `features` replaced by `labels`, else with `-labels` appended.
    #[serde(default)]
    pub label: Option<Column>,
    /// CSV: whether the first line is a header; guessed if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// CSV and Parquet: columns that are not features, each a name in quotes or a number from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<Column>,
    /// LIBSVM: whether indices start at 0 or 1; if left out, at 0 if there is an index 0, else at 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub index_base: Option<u8>,
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
            "parquet" => FileFormat::Parquet,
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

/// File formats for the user's own data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    Libsvm,
    Csv,
    Npy,
    Npz,
    Parquet,
}

/// Loads the files of `spec`.
///
/// With a test file the rows of `train` come first and [`Dataset::fixed_train`] says how many they
/// are. LIBSVM files may differ in their highest index, others must have equally many features.
pub fn load_files(spec: &FilesSpec) -> Result<Dataset, DataError> {
    let name = spec.name();
    refuse_idle_keys(spec)?;
    let Some(test_path) = &spec.test else {
        let train = read_file(spec, &spec.train, None)?;
        check(&train, &spec.train)?;
        return finished(Dataset::new(&name, train, [&spec.train; 2])?);
    };
    let (train, test) = read_both(spec, test_path)?;
    // Before files are joined, so that the one at fault is named, with its own count of rows.
    check(&train, &spec.train)?;
    check(&test, test_path)?;
    let (ours, theirs) = (train.x.ncols(), test.x.ncols());
    if ours != theirs && spec.format_of(&spec.train) != FileFormat::Libsvm {
        let expected = format!("{ours} as in {}", spec.train.display());
        return Err(bad("", counted(theirs, "feature"), expected).in_file(test_path));
    }
    let first = train.x.nrows();
    let has_one_header = train.columns.is_some() != test.columns.is_some();
    let mut samples = train.join(test).map_err(|bad| bad.in_file(test_path))?;
    if has_one_header {
        let warning =
            "only one of training and test file has a header, so columns are matched by position";
        samples.warnings.push(warning.to_owned());
    }
    let samples = Samples { train: Some(first), ..samples };
    finished(Dataset::new(&name, samples, [&spec.train, test_path])?)
}

/// Of the user's own files, warnings stay with the results.
fn finished(mut dataset: Dataset) -> Result<Dataset, DataError> {
    dataset.warn_of_shared_rows();
    dataset.warn_of_many_classes();
    dataset.notes.extend(dataset.warnings.iter().cloned());
    Ok(dataset)
}

fn check(samples: &Samples, path: &Path) -> Result<(), DataError> {
    samples.check().map_err(|bad| bad.in_file(path))
}

/// Refuses options that mean nothing for the format of the files.
fn refuse_idle_keys(spec: &FilesSpec) -> Result<(), DataError> {
    for path in [&spec.train].into_iter().chain(&spec.test) {
        let format = spec.format_of(path);
        let is_table = [FileFormat::Csv, FileFormat::Parquet].contains(&format);
        let refuse = |key: &str, value: String, expected: &str| {
            let expected = format!("no `{key}`{expected}");
            Err(bad("", format_args!("`{key}: {value}`"), expected).in_file(path))
        };
        if let Some(label) = &spec.label {
            match format {
                FileFormat::Libsvm => {
                    let expected = ": in LIBSVM text the label begins each line";
                    return refuse("label", label.to_string(), expected);
                }
                FileFormat::Npz => {
                    let expected = ": an npz file holds its labels in an array";
                    return refuse("label", label.to_string(), expected);
                }
                _ => {}
            }
        }
        if let Some(header) = spec.header.filter(|_| format != FileFormat::Csv) {
            return refuse("header", header.to_string(), ": only CSV files may have a header");
        }
        if let Some(column) = spec.drop.first().filter(|_| !is_table) {
            let expected = ": only CSV and Parquet files have columns that can be left out";
            return refuse("drop", format!("[{column}]"), expected);
        }
        if let Some(base) = spec.index_base.filter(|_| format != FileFormat::Libsvm) {
            return refuse("index_base", base.to_string(), ": only LIBSVM text has indices");
        }
    }
    Ok(())
}

/// Where indices of LIBSVM text start: as the spec says, or at 0 if one of them is 0.
fn index_base(spec: &FilesSpec, has_zero: bool) -> usize {
    spec.index_base.map_or(if has_zero { 0 } else { 1 }, usize::from)
}

/// Training and test samples. What the training file says of columns holds for the test file too.
fn read_both(spec: &FilesSpec, test_path: &Path) -> Result<(Samples, Samples), DataError> {
    let paths = [&spec.train, test_path];
    if paths.iter().all(|path| spec.format_of(path) == FileFormat::Libsvm) {
        let [train, test] = [read(paths[0], Sparse::parse)?, read(paths[1], Sparse::parse)?];
        let base = index_base(spec, train.has_zero() || test.has_zero());
        let samples =
            |sparse: Sparse, path: &Path| sparse.samples(base).map_err(|bad| bad.in_file(path));
        return Ok((samples(train, paths[0])?, samples(test, paths[1])?));
    }
    let train = read_file(spec, paths[0], None)?;
    let test = read_file(spec, test_path, Some(&train))?;
    for (samples, path) in [(&train, paths[0]), (&test, test_path)] {
        if samples.train.is_some() {
            let found = "an archive with `x_train` and `x_test` next to a file for `test:`";
            let expected = "no `test:`, or archives with `x` and `y`";
            return Err(bad("", found, expected).in_file(path));
        }
    }
    Ok((train, test))
}

/// Reads the training file, or the test file that belongs to the samples `train`. Of `.npy`, `label` names a file of
/// labels for each.
fn read_file(spec: &FilesSpec, path: &Path, train: Option<&Samples>) -> Result<Samples, DataError> {
    let choice = Choice {
        label: spec.label.as_ref(),
        header: spec.header,
        drop: &spec.drop,
        like: train.and_then(|train| train.columns.as_ref()),
    };
    match (spec.format_of(path), &spec.label) {
        (FileFormat::Libsvm, _) => {
            let sparse = read(path, Sparse::parse)?;
            let base = index_base(spec, sparse.has_zero());
            sparse.samples(base).map_err(|bad| bad.in_file(path))
        }
        (FileFormat::Npz, _) => read(path, npy::archive),
        (FileFormat::Csv, _) => read(path, |file| csv::parse(file, &choice)),
        (FileFormat::Parquet, _) => read(path, |file| parquet::parse(file, &choice)),
        (FileFormat::Npy, None) => read_npy(path, &usual_label_file(path)),
        (FileFormat::Npy, Some(files)) => {
            let number = usize::from(train.is_some());
            match files.text().split(',').nth(number) {
                Some(file) => read_npy(path, &given_label_file(file.trim(), path)),
                None => {
                    let expected = "two label files, `label: train.npy, test.npy`";
                    Err(bad("", format_args!("`label: {files}`"), expected).in_file(path))
                }
            }
        }
    }
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
            train: folder.path().join(train),
            test: test.map(|test| folder.path().join(test)),
            ..FilesSpec::default()
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
            spec.label = Some(Column::Position(1));
            let error = load_files(&spec).unwrap_err().to_string();
            assert!(error.contains("found `label: 1`, expected no `label`"), "{error}");
        }
    }

    #[test]
    fn keys_of_other_formats_are_refused() {
        let folder = folder(&[("a.train", TEXT), ("d.csv", b"1,1\n2,2\n3,1\n4,2\n")]);
        let said = |file: &str, change: fn(&mut FilesSpec)| {
            let mut spec = spec(&folder, file, None);
            change(&mut spec);
            load_files(&spec).unwrap_err().to_string()
        };
        let error = said("a.train", |spec| spec.header = Some(true));
        assert!(error.ends_with(
            "found `header: true`, expected no `header`: only CSV files may have a header"
        ));
        let error = said("a.train", |spec| spec.drop = vec![Column::Position(2)]);
        assert!(
            error.contains("found `drop: [2]`, expected no `drop`: only CSV and Parquet"),
            "{error}"
        );
        let error = said("d.csv", |spec| spec.index_base = Some(0));
        assert!(
            error.ends_with("expected no `index_base`: only LIBSVM text has indices"),
            "{error}"
        );
    }

    #[test]
    fn an_index_of_zero_in_one_file_counts_for_both() {
        let folder = folder(&[("a.train", TEXT), ("a.test", b"1 0:7 1:5\n")]);
        let mut spec = spec(&folder, "a.train", Some("a.test"));
        let data = load_files(&spec).unwrap();
        assert_eq!(data.x.row(0).to_vec(), [0.0, 1.0]);
        assert_eq!(data.x.row(4).to_vec(), [7.0, 5.0]);
        spec.index_base = Some(1);
        let error = load_files(&spec).unwrap_err().to_string();
        assert!(error.contains("a.test:1:3: found index `0`, expected indices from 1"), "{error}");
        spec = FilesSpec { test: None, index_base: Some(0), ..spec };
        assert_eq!(load_files(&spec).unwrap().x.ncols(), 2);
    }

    #[test]
    fn columns_of_a_test_file_are_matched_by_name() {
        let folder = folder(&[
            ("a.csv", b"w,h,kind\n1,2,a\n3,4,b\n5,6,a\n7,8,b\n"),
            ("same.csv", b"kind,h,w\na,20,10\n"),
            ("other.csv", b"w,depth,kind\n1,2,a\n"),
            ("more.csv", b"id,w,h,kind\nx,1,2,a\n"),
            ("none.csv", b"10,20,a\n"),
        ]);
        let load = |test: &str| load_files(&spec(&folder, "a.csv", Some(test)));
        let data = load("same.csv").unwrap();
        assert_eq!(data.x.row(4).to_vec(), [10.0, 20.0]);
        let error = load("other.csv").unwrap_err().to_string();
        let said = "other.csv:1: found columns that the training file lacks (`depth`) and no columns (`h`), expected the \
                    columns of the training file";
        assert!(error.contains(said), "{error}");
        let mut more = spec(&folder, "a.csv", Some("more.csv"));
        assert!(load_files(&more).is_err());
        more.train = folder.path().join("more.csv");
        more.drop = vec![Column::Name("id".into())];
        let error = load_files(&more).unwrap_err().to_string();
        assert!(error.contains("only one class"), "columns are right: {error}");
        let warnings = load("none.csv").unwrap().warnings;
        assert!(
            warnings[0].contains("only one of training and test file has a header"),
            "{warnings:?}"
        );
    }

    #[test]
    fn test_rows_that_are_training_rows_are_warned_of() {
        let folder = folder(&[("a.train", TEXT), ("a.test", b"1 1:1\n1 1:2\n2 1:9\n")]);
        let data = load_files(&spec(&folder, "a.train", Some("a.test"))).unwrap();
        assert_eq!(data.warnings, ["1 of 3 test samples is also a training sample"]);
        assert_eq!(data.notes, data.warnings);
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
        spec.label = Some(Column::Name("y.npy".into()));
        assert_eq!(load_files(&spec).unwrap().y, [0, 1, 0, 1]);
        spec.test = Some(folder.path().join("t.npy"));
        let error = load_files(&spec).unwrap_err().to_string();
        assert!(error.contains("two label files"), "{error}");
        spec.label = Some(Column::Name("y.npy, ty.npy".into()));
        assert_eq!(load_files(&spec).unwrap().fixed_train, Some(4));
        spec.label = Some(Column::Name("ty.npy, ty.npy".into()));
        let error = load_files(&spec).unwrap_err().to_string();
        assert!(error.contains("ty.npy: found 2 labels, expected 4"), "{error}");
    }
}
