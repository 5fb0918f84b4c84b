//! Bad data is refused before anything is computed, in a sentence that names the file, the place, what
//! was found and what was expected.

use std::fs;
use std::io::Write;
use std::path::Path;

use npsvcpp::data::{Column, DataError, Store, load_files};
use npsvcpp::spec::FilesSpec;

/// Writes `bytes` as `name` into a fresh folder and loads it; the error with the folder cut off.
fn refusal(name: &str, bytes: impl AsRef<[u8]>) -> String {
    refusal_with(name, bytes, None)
}

fn refusal_with(name: &str, bytes: impl AsRef<[u8]>, label: Option<Column>) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    let spec = FilesSpec { label, ..files(folder.path(), name) };
    let error = load_files(&spec).expect_err("bad data must be refused");
    assert!(!error.is_unavailable(), "bad content is not a missing file");
    within(folder.path(), &error)
}

fn files(folder: &Path, train: &str) -> FilesSpec {
    FilesSpec { train: folder.join(train), ..FilesSpec::default() }
}

fn within(folder: &Path, error: &DataError) -> String {
    let prefix = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
    error.to_string().replace(&prefix, "")
}

#[test]
fn libsvm_indices_of_registered_data_start_at_one() {
    let (folder, store) = folder_with("iris", "iris.scale", b"1 1:1\n2 0:5 1:1\n");
    assert_eq!(
        within(folder.path(), &store.fetch("iris", &mut |_| {}).unwrap_err()),
        "iris/iris.scale:2:3: found index `0`, expected indices from 1, or `index_base: 0` in the spec"
    );
}

#[test]
fn libsvm_indices_increase() {
    assert_eq!(
        refusal("a.txt", "1 1:1 3:2 2:4\n"),
        "a.txt:1:11: found index `2` after a higher one (`3` precedes it), expected indices that \
         increase"
    );
    assert_eq!(
        refusal("a.txt", "1 1:1 1:2\n"),
        "a.txt:1:7: found index `1` twice (`1` precedes it), expected indices that increase"
    );
}

#[test]
fn libsvm_tokens_are_pairs_of_numbers() {
    assert_eq!(refusal("a.txt", "1 1:1\n1 2\n"), "a.txt:2:3: found `2`, expected `index:value`");
    assert_eq!(
        refusal("a.txt", "1 x:1\n"),
        "a.txt:1:3: found index `x`, expected a whole number from 1"
    );
    assert_eq!(
        refusal("a.txt", "1 12:abc\n"),
        "a.txt:1:6: found value `abc`, expected a finite number"
    );
    assert_eq!(refusal("a.txt", "1:2 3:4\n"), "a.txt:1:1: found `1:2`, expected a label");
}

#[test]
fn libsvm_indices_do_not_decide_how_much_is_allocated() {
    assert_eq!(
        refusal("a.txt", "1 4000000000:1\n"),
        "a.txt:1:3: found index `4000000000`, expected an index of at most 10000000"
    );
    let wide: String = (0..100).map(|i| format!("{} 10000000:1\n", i % 2)).collect();
    let said = refusal("a.txt", wide);
    let expected = "a.txt:1:3: found index `10000000`, which makes 100 samples of 10000000 features, \
                    expected at most ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn values_are_finite() {
    assert_eq!(
        refusal("a.txt", "1 1:1\n2 1:inf\n"),
        "a.txt:2:5: found value `inf`, expected a finite number"
    );
    assert_eq!(
        refusal("a.csv", "1,2,a\n3,inf,b\n"),
        "a.csv:2, field 2: found `inf`, expected a finite number"
    );
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    let values = [1.0f64, f64::NAN].map(f64::to_le_bytes).concat();
    write("x.npy", npy("<f8", "(2, 1)", &values));
    write("x-labels.npy", npy("|u1", "(2,)", &[1, 2]));
    let spec = files(folder.path(), "x.npy");
    assert_eq!(
        within(folder.path(), &load_files(&spec).unwrap_err()),
        "x.npy, row 2, column 1: found `NaN`, expected a finite number; leave out the samples or columns with missing \
         values, or fill them in"
    );
}

fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

#[test]
fn csv_rows_are_equally_long() {
    assert_eq!(
        refusal("a.csv", "1,2,a\n3,b\n"),
        "a.csv:2: found 2 fields, expected 3 as in the first line"
    );
    assert_eq!(
        refusal("a.csv", "1,2,a\n3,4,b,5\n"),
        "a.csv:2: found 4 fields, expected 3 as in the first line"
    );
}

#[test]
fn csv_fields_are_numbers_and_quotes_close() {
    assert_eq!(
        refusal("a.csv", "w,h,kind\n1,2,a\n1,?,b\n"),
        "a.csv:3, field 2 (`h`): found `?`, a missing value, expected a number; leave out the samples or columns with \
         missing values, or fill them in"
    );
    assert_eq!(
        refusal("a.csv", "1,\"2\"x,a\n"),
        "a.csv:1: found `\"2\"x`, expected a delimiter after a closing `\"`"
    );
    assert_eq!(
        refusal("a.csv", "1,2,a\n1,\"2,a\n"),
        "a.csv:2: found an unterminated quoted field, expected a closing `\"`"
    );
}

#[test]
fn csv_label_columns_exist() {
    assert_eq!(
        refusal_with("a.csv", "width,height,kind\n1,2,a\n", Some(Column::Name("knid".into()))),
        "a.csv:1: found no column `knid` (did you mean `kind`?), expected a label column of the \
         header: `width`, `height`, `kind`"
    );
    assert_eq!(
        refusal_with("a.csv", "7,2,3\n", Some(Column::Position(4))),
        "a.csv:1: found no column 4, expected a label column from 1 to 3"
    );
}

#[test]
fn there_are_at_least_two_classes_of_two_samples() {
    assert_eq!(
        refusal("a.txt", "7 1:1\n7 1:2\n"),
        "a.txt: found only one class, `7`, expected at least two classes"
    );
    assert_eq!(
        refusal("a.txt", "1 1:1\n1 1:2\n2 1:3\n"),
        "a.txt: found a single sample of class `2`, expected at least two samples of every class"
    );
}

#[test]
fn empty_files_are_named() {
    for name in ["a.txt", "a.csv", "a.bz2"] {
        assert_eq!(refusal(name, ""), format!("{name}: found an empty file, expected samples"));
    }
    assert_eq!(
        refusal("a.txt", "\n\n# nothing\n"),
        "a.txt: found no sample, expected lines such as `1 3:0.5 7:2`"
    );
    assert_eq!(
        refusal("a.csv", "w,h,kind\n"),
        "a.csv: found a header only, expected at least one line of numbers below it"
    );
}

#[test]
fn cut_or_damaged_compressed_files_are_named() {
    let text: String = (0..2000).map(|i| format!("{} 1:{}\n", i % 2, i * i)).collect();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    bz2.write_all(text.as_bytes()).unwrap();
    let bz2 = bz2.finish().unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gz.write_all(text.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    assert_eq!(
        refusal("a.bz2", &bz2[..bz2.len() / 2]),
        "a.bz2: found compressed data that ends early, after 0 unpacked bytes, expected a complete file"
    );
    let cut = refusal("a.gz", &gz[..gz.len() / 2]);
    assert!(
        cut.starts_with("a.gz: found compressed data that ends early, after ")
            && cut.ends_with(" unpacked bytes, expected a complete file"),
        "{cut}"
    );
    let mut damaged = bz2;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    let damaged = refusal("a.bz2", damaged);
    assert!(
        damaged.starts_with("a.bz2: found damaged compressed data after ")
            && damaged.ends_with(" unpacked bytes (bzip2: invalid data), expected an intact file"),
        "{damaged}"
    );
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let spec = files(folder.path(), "nowhere.txt");
    let error = within(folder.path(), &load_files(&spec).unwrap_err());
    assert!(error.starts_with("failed to read nowhere.txt: "), "{error}");
}

/// A data folder with one file of one dataset.
fn folder_with(dataset: &str, file: &str, bytes: &[u8]) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(dataset)).unwrap();
    fs::write(folder.path().join(dataset).join(file), bytes).unwrap();
    let store = Store::in_folder(folder.path().to_path_buf(), true);
    (folder, store)
}

#[test]
fn cut_mat_files_are_named() {
    let whole = fs::read("tests/fixtures/data/binaryalphadigs_small.mat").unwrap();
    let (folder, store) = folder_with("binalpha", "binaryalphadigs.mat", &whole);
    assert_eq!(
        within(folder.path(), &store.fetch("binalpha", &mut |_| {}).unwrap_err()),
        "binalpha/binaryalphadigs.mat: found 6 samples x 6 features x 2 classes (of 3, 3 samples), \
         expected 1404 samples x 320 features x 36 classes (of 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, \
         39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, \
         39, 39, 39 samples) for `binalpha`"
    );
    let half = whole.len() / 2;
    let (folder, store) = folder_with("binalpha", "binaryalphadigs.mat", &whole[..half]);
    let error = store.fetch("binalpha", &mut |_| {}).unwrap_err();
    assert!(!error.is_unavailable());
    let text = within(folder.path(), &error);
    let end = ": found a cut or damaged variable, expected an intact MATLAB v5 file";
    assert!(text.starts_with("binalpha/binaryalphadigs.mat, byte "), "{text}");
    assert!(text.ends_with(end), "{text}");
    let (folder, store) = folder_with("20news", "20news_w100.mat", b"");
    assert_eq!(
        within(folder.path(), &store.fetch("20news", &mut |_| {}).unwrap_err()),
        "20news/20news_w100.mat: found an empty file, expected samples"
    );
}

#[test]
fn data_with_another_hash_is_refused_with_both_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path().to_path_buf(), true);
    let mut data = store.fetch("pendigits", &mut |_| {}).unwrap();
    let right = data.hash.clone();
    data.x[[0, 0]] += 1.0;
    let lines: Vec<String> = data
        .x
        .rows()
        .into_iter()
        .zip(&data.y)
        .map(|(row, class)| {
            let entries: Vec<_> =
                row.iter().enumerate().map(|(j, v)| format!("{}:{v}", j + 1)).collect();
            format!("{class} {}\n", entries.join(" "))
        })
        .collect();
    fs::create_dir(folder.path().join("pendigits")).unwrap();
    let write = |name: &str, lines: &[String]| {
        fs::write(folder.path().join("pendigits").join(name), lines.concat()).unwrap();
    };
    write("pendigits", &lines[..7494]);
    write("pendigits.t", &lines[7494..]);
    let said = within(folder.path(), &store.verify("pendigits").unwrap_err());
    let start = "pendigits/pendigits: found data with SHA-256 ";
    let end = format!(", expected {right}; remove the file and fetch it again");
    let found = said.strip_prefix(start).and_then(|rest| rest.strip_suffix(&end));
    assert!(found.is_some_and(|found| found.len() == 64 && found != right), "{said}");
}

#[test]
fn missing_data_says_what_to_get_and_where_to_put_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path().to_path_buf(), true);
    let root = folder.path().display();
    let error = store.fetch("usps", &mut |_| {}).unwrap_err();
    assert!(error.is_unavailable());
    assert_eq!(
        error.to_string(),
        format!(
            "dataset `usps` is not available: no `usps/usps.bz2` in {root}, and --offline prevents \
             downloading it; get https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.bz2 \
             and put it at {}",
            folder.path().join("usps").join("usps.bz2").display()
        )
    );
    let error = store.fetch("chg", &mut |_| {}).unwrap_err();
    assert!(error.is_unavailable());
    let sets = "`chg/Set1` and `chg/Set2` and `chg/Set3` and `chg/Set4` and `chg/Set5`";
    assert_eq!(
        error.to_string(),
        format!(
            "dataset `chg` is not available: no {sets} in {root}; it has no direct download: \
             see https://labicvl.github.io/ges_db.htm and put {sets} into {root}"
        )
    );
    // A folder that is there is not reported as missing.
    fs::create_dir_all(folder.path().join("dtd/images")).unwrap();
    let error = store.fetch("dtd", &mut |_| {}).unwrap_err();
    assert!(error.is_unavailable());
    let said = error.to_string();
    assert!(said.contains(&format!("not available: no `dtd/labels` in {root}; it has")), "{said}");
    assert!(said.ends_with(&format!("and put `dtd/labels` into {root}")), "{said}");
    let error = store.fetch("uspss", &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "there is no dataset `uspss`, did you mean `usps`?");
}
