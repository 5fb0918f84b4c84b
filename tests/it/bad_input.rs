//! Promise: bad input ends with exit code 2 before anything is computed or written, in sentences that
//! name the place, what was found there and what was expected. Missing data is not bad
//! input: its cells are counted as not run, with the reason.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::program::Folder;
use npsvcpp::data::Store;
use npsvcpp::methods::METHODS;

const SPEC: &str = "\
name: spec
datasets:
  - optdigits: {subsample: 100}
splits: {repeats: 2}
methods:
  - svm
  - twsvm: {c: 1}
";

/// What is said about `spec.yaml`, which must be refused by `run` and `check` alike.
fn refusal(folder: &Folder, options: &str) -> String {
    let run = folder.run(&format!("run spec.yaml --offline -q --out out {options}"));
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
    assert_eq!(run.out, "");
    assert!(!folder.path("out").exists(), "something was written");
    let check = folder.run(&format!("check spec.yaml --offline -q {options}"));
    assert_eq!((check.code, check.err.as_str()), (2, run.err.as_str()));
    run.err
}

/// What is said about [`SPEC`] with `old` replaced by `new`.
fn spec_refusal(old: &str, new: &str) -> String {
    assert!(SPEC.contains(old));
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC.replace(old, new));
    refusal(&folder, "")
}

/// The error about a file of the user's own.
fn file_refusal(name: &str, contents: impl AsRef<[u8]>) -> String {
    let folder = Folder::new();
    folder.write(name, contents);
    let entry = format!("files: {{train: {name}}}");
    folder.write("spec.yaml", SPEC.replace("optdigits: {subsample: 100}", &entry));
    refusal(&folder, "")
}

/// What is said about a file of the registered dataset `name`, in a folder given with `--data`.
fn data_refusal(name: &str, file: &str, contents: &[u8]) -> String {
    let folder = Folder::new();
    folder.write(&format!("data/{name}/{file}"), contents);
    folder.write("spec.yaml", SPEC.replace("optdigits: {subsample: 100}", name));
    let said = refusal(&folder, "--data data");
    let verify = folder.run(&format!("data verify {name} --data data --offline"));
    // The same sentence, without a spec to point into.
    let sentence = said.strip_prefix("spec.yaml:3:5: ").unwrap();
    assert_eq!((verify.code, verify.err), (2, format!("npsvcpp: {sentence}")));
    said
}

/// Asserts that `said` holds every part.
fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
}

#[test]
fn unknown_keys() {
    let said = spec_refusal("splits:", "split:");
    assert_says(&said, &["spec.yaml:4:1: unknown key `split`", "did you mean `splits`?"]);
    let said = spec_refusal("{c: 1}", "{C: 1}");
    assert_says(&said, &["spec.yaml:7:13: unknown", "`C`", "did you mean `c`?"]);
    let said = spec_refusal("{repeats: 2}", "{repeat: 2}");
    assert_says(&said, &["spec.yaml:4:10: unknown key `repeat`", "did you mean `repeats`?"]);
}

#[test]
fn wrong_types() {
    let said = spec_refusal("repeats: 2", "repeats: two");
    assert_says(&said, &["spec.yaml:4:19:", "two", "expected a whole number"]);
    let said = spec_refusal("{c: 1}", "{c: one}");
    assert_says(&said, &["spec.yaml:7:16:", "one", "expected a number"]);
    let said = spec_refusal("name: spec", "name: [spec]");
    assert_says(&said, &["spec.yaml:1:7:", "`name`", "a list", "expected"]);
}

#[test]
fn unknown_methods_and_datasets() {
    let said = spec_refusal("- twsvm", "- twsmv");
    assert_says(&said, &["spec.yaml:7:5:", "`twsmv`", "did you mean `twsvm`?"]);
    let said = spec_refusal("- optdigits", "- optdigit");
    assert_says(&said, &["spec.yaml:3:5:", "`optdigit`", "did you mean `optdigits`?"]);
}

#[test]
fn parameters_out_of_their_range() {
    let said = spec_refusal("{c: 1}", "{c: -1}");
    assert_says(&said, &["spec.yaml:7:16:", "`c` of `twsvm` is -1, expected a number above 0"]);
    let said = spec_refusal("{c: 1}", "{c: [1, -1]}");
    assert_says(&said, &["spec.yaml:7:20:", "-1, expected a number above 0"]);
    let said = spec_refusal("repeats: 2", "repeats: 0");
    assert_says(
        &said,
        &["spec.yaml:4:19:", "`splits.repeats` is 0, expected a whole number from 1"],
    );
    let said = spec_refusal("{c: 1}", "{c: .nan}");
    assert_says(&said, &["spec.yaml:7:16:", "expected"]);
}

#[test]
fn all_problems_at_once() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC.replace("- svm", "- vsm").replace("c: 1", "c: -1"));
    let said = refusal(&folder, "");
    assert_says(&said, &["spec.yaml:6:5:", "spec.yaml:7:16:"]);
}

#[test]
fn more_dimensions_than_training_samples() {
    let said = spec_refusal("- svm", "- k-npsvcpp:\n      d: 61");
    assert_eq!(
        said,
        "spec.yaml:7:10: `d` is 61, expected at most the 60 training samples of dataset `optdigits`\n"
    );
    let said = spec_refusal("- svm", "- k-npsvcpp: {d: 7K}");
    assert_says(
        &said,
        &["spec.yaml:6:20: `d` is 7K = 70, expected at most the 60 training samples"],
    );
    // Cross-validation trains on less.
    let said = spec_refusal("{c: 1}", "{c: 1}\n  - k-npsvcpp: {d: [40, 41]}\nselect: {folds: 3}");
    assert_says(
        &said,
        &[
            "spec.yaml:8:",
            "`d` is 41, expected at most the 40 training samples of dataset `optdigits`",
        ],
    );
}

#[test]
fn too_few_samples_or_classes() {
    let said = file_refusal("a.txt", "1 1:1\n1 1:2\n2 1:3\n");
    assert_says(&said, &["a.txt: found a single sample of class `2`", "at least two samples"]);
    let said = file_refusal("a.txt", "7 1:1\n7 1:2\n");
    assert_says(&said, &["a.txt: found only one class, `7`, expected at least two classes"]);
    let said = spec_refusal("subsample: 100", "subsample: 12");
    assert_says(&said, &["optdigits with 12 samples: found a single sample of class `"]);
    let said = spec_refusal("subsample: 100", "subsample: 5000");
    assert_says(
        &said,
        &[
            "spec.yaml:3:28: dataset `optdigits`: `subsample` is 5000, but there are only 1797 samples",
        ],
    );
}

#[test]
fn values_that_are_no_numbers() {
    let said = file_refusal("a.csv", "1,2,a\n3,nan,b\n");
    assert_says(&said, &["a.csv:2, field 2: found `nan`, a missing value, expected a number"]);
    let said = file_refusal("a.txt", "1 1:1\n2 1:2 3:-inf\n");
    assert_says(&said, &["a.txt:2:9: found value `-inf`, expected a finite number"]);
}

#[test]
fn ragged_rows() {
    let said = file_refusal("a.csv", "1,2,a\n3,b\n");
    assert_says(&said, &["a.csv:2: found 2 fields, expected 3 as in the first line"]);
}

#[test]
fn libsvm_indices() {
    let said = file_refusal("a.txt", "1 1:1\n2 3:5 2:1\n");
    assert_says(&said, &["a.txt:2:7: found index `2` after a higher one", "indices that increase"]);
}

#[test]
fn truncated_bz2_files() {
    let text: String = (0..5000).map(|i| format!("{} 1:{}\n", i % 2, i * i)).collect();
    let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    packer.write_all(text.as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let half = &packed[..packed.len() / 2];
    let said = file_refusal("a.bz2", half);
    assert_says(&said, &["a.bz2: found compressed data that ends early", "a complete file"]);
    let said = data_refusal("usps", "usps.bz2", half);
    assert_says(&said, &["data/usps/usps.bz2: found compressed data that ends early"]);
}

#[test]
fn truncated_mat_files() {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/data/binaryalphadigs_small.mat");
    let whole = fs::read(fixture).unwrap();
    for length in [1, 100, 128, 136, whole.len() / 2, whole.len() - 1] {
        let said = data_refusal("binalpha", "binaryalphadigs.mat", &whole[..length]);
        assert_says(&said, &["data/binalpha/binaryalphadigs.mat", "found", "expected"]);
    }
    let said = data_refusal("binalpha", "binaryalphadigs.mat", &whole);
    assert_says(
        &said,
        &["found 6 samples x 6 features x 2 classes", "expected 1404 samples x 320"],
    );
}

#[test]
fn empty_files() {
    for name in ["a.txt", "a.csv", "a.bz2", "a.gz"] {
        let said = file_refusal(name, "");
        assert_says(&said, &[name, "found an empty file, expected"]);
    }
    let said = data_refusal("20news", "20news_w100.mat", b"");
    assert_says(&said, &["20news_w100.mat: found an empty file, expected samples"]);
    let folder = Folder::new();
    folder.write("spec.yaml", "");
    assert_says(&refusal(&folder, ""), &["spec.yaml"]);
}

#[test]
fn missing_files() {
    let folder = Folder::new();
    folder
        .write("spec.yaml", SPEC.replace("optdigits: {subsample: 100}", "files: {train: no.csv}"));
    assert_says(&refusal(&folder, ""), &["failed to read", "no.csv"]);
}

/// One value of Pendigits changed: same shape, same counts, another hash.
#[test]
fn a_hash_that_does_not_match() {
    let folder = Folder::new();
    let store = Store::in_folder(folder.path("nothing"), true);
    let mut data = store.fetch("pendigits", &mut |_| {}).unwrap();
    let right = data.hash.clone();
    data.x[[4711, 7]] += 1.0;
    let line = |(row, class): (ndarray::ArrayView1<'_, f64>, &usize)| {
        let values = row.iter().enumerate();
        let values: String = values.map(|(j, value)| format!(" {}:{value}", j + 1)).collect();
        format!("{class}{values}\n")
    };
    let lines: Vec<String> = data.x.rows().into_iter().zip(&data.y).map(line).collect();
    folder.write("data/pendigits/pendigits", lines[..7494].concat());
    folder.write("data/pendigits/pendigits.t", lines[7494..].concat());
    let verify = folder.run("data verify pendigits --data data --offline");
    assert_eq!(verify.code, 2, "{}", verify.out);
    let expected = format!(", expected {right}");
    assert_says(&verify.err, &["data/pendigits/pendigits", "found data with SHA-256 ", &expected]);
}

/// Their records used to end in one ledger, under the labels of the spec that was run last.
#[test]
fn two_experiments_of_one_name() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC);
    folder.write("other.yaml", SPEC.replace("c: 1", "c: 2"));
    let run = folder.run("run spec.yaml other.yaml --offline -q --out out");
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert_eq!(
        run.err,
        "npsvcpp: spec.yaml and other.yaml both describe an experiment called `spec` and would \
         write into one folder; give one of them another `name`\n"
    );
    assert!(!folder.path("out").exists(), "something was written");
}

#[test]
fn two_entries_of_one_method_that_differ_only_in_their_label() {
    let said = spec_refusal("  - svm\n", "  - svm\n  - svm: {label: Again, c: 1}\n");
    assert_says(&said, &["spec.yaml:7:5: this is the method of line 6 with the same parameters"]);
}

#[test]
fn cells_whose_data_is_missing_are_reported_and_not_recorded() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC.replace("datasets:\n", "datasets:\n  - chg\n"));
    let check = folder.run("check spec.yaml --offline");
    assert_eq!(check.code, 3);
    assert_says(&check.out, &["chg", "cannot run here: dataset `chg` is not available"]);
    let run = folder.run("run spec.yaml --offline");
    assert_eq!(run.code, 3, "{}", run.err);
    assert_says(&run.out, &["4 cells done, 0 failed, 0 skipped, 0 left"]);
    assert_says(
        run.out.trim_end().lines().last().unwrap(),
        &[
            "4 cells cannot run here: dataset `chg` is not available",
            "it has no direct download: see https://labicvl.github.io/ges_db.htm",
            "cache/npsvcpp",
        ],
    );
    let sentence =
        ["no copy of `chg` on this machine; get it from https://labicvl.github.io/ges_db.htm"];
    assert_says(&run.out, &sentence);
    assert_says(&folder.run("status results/spec").out, &sentence);
    let ledger = fs::read_to_string(folder.path("results/spec/ledger.jsonl")).unwrap();
    assert!(!ledger.contains("chg"), "{ledger}");
    for table in ["table.md", "table.tex"] {
        let text = fs::read_to_string(folder.path("results/spec").join(table)).unwrap();
        assert_says(&text, &["chg", "on this machine", "labicvl.github.io"]);
    }
    let csv = fs::read_to_string(folder.path("results/spec/table.csv")).unwrap();
    assert_says(&csv, &["chg,svm,SVM,0,,,,,,,", ",0,0,2,"]);
}

/// Results are published as they are: they must not reveal on whose machine they were made.
#[test]
fn no_result_names_the_machine_or_its_folders() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC.replace("datasets:\n", "datasets:\n  - chg\n  - usps\n"));
    let spec = folder.path("spec.yaml");
    let data = folder.path("data");
    fs::create_dir(&data).unwrap();
    let run = folder.run(&format!(
        "run {} --offline -q --out out --data {}",
        spec.display(),
        data.display()
    ));
    assert_eq!(run.code, 3, "{}", run.err);
    let here = folder.path("").display().to_string();
    let here = here.trim_end_matches('/').as_bytes();
    let machine = gethostname::gethostname();
    let mut files = vec![folder.path("out")];
    let mut seen = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        seen += 1;
        let bytes = fs::read(&path).unwrap();
        let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        assert!(!holds(here), "{} names a folder", path.display());
        // A name of few letters may be part of any word.
        let name = machine.as_encoded_bytes();
        assert!(name.len() < 6 || !holds(name), "{} names the machine", path.display());
    }
    assert!(seen >= 8, "{seen} files");
}

/// Values whose squares overflow used to be taken for equal ones, and some methods' records could
/// not be read again because they held no numbers.
#[test]
fn features_too_large_for_a_kernel_fail_in_words() {
    let folder = Folder::new();
    let rows: String =
        (0..24).map(|i| format!("{} 1:{}e200 2:{}e180\n", i % 2, i * i % 11, i)).collect();
    folder.write("large.txt", rows);
    let kernel_methods = METHODS.iter().filter(|entry| !entry.is_network);
    let names: Vec<&str> =
        kernel_methods.map(|entry| entry.info.name).filter(|name| *name != "k-npsvcpp").collect();
    for kernel in ["linear", "{gaussian: {width: mean-squared-distance}}"] {
        folder.write(
            "spec.yaml",
            format!(
                "name: large\ndatasets: [{{files: {{train: large.txt}}}}]\nsplits: {{repeats: 1}}\n\
                 kernel: {kernel}\nmethods: [{}, {{k-npsvcpp: {{d: 2}}}}]\n",
                names.join(", ")
            ),
        );
        let run = folder.run("run spec.yaml --offline");
        assert_eq!(run.code, 3, "{}", run.err);
        let failed = names.len() + 1;
        assert_says(
            &run.out,
            &[
                &format!("0 cells done, {failed} failed, 0 skipped, 0 left"),
                "the kernel matrix contains a value that is not finite; scale the features down",
            ],
        );
        assert!(!run.err.contains("skipped a "), "{}", run.err);
    }
}
