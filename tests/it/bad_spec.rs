//! Promise: a bad spec is refused before any compute, and every problem in it is named in one clear
//! sentence with file, line, column, and what would have been right.

use std::path::{Path, PathBuf};

use npsvcpp::data::registry;
use npsvcpp::methods::METHODS;
use npsvcpp::spec::{SpecError, load, parse};

/// The problems of a spec as plain text; fails where there are none.
fn problems(text: &str) -> String {
    match parse(text, "x.yaml") {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.plain(),
    }
}

/// The problems of a sound spec with `lines` added to it.
fn with(lines: &str) -> String {
    problems(&format!("name: x\ndatasets: [usps]\nmethods: [twsvm]\n{lines}\n"))
}

/// The problems of a sound spec with this as its only method.
fn method(entry: &str) -> String {
    problems(&format!("name: x\ndatasets: [usps]\nselect: {{}}\nmethods:\n  - {entry}\n"))
}

fn fixture(name: &str) -> PathBuf {
    Path::new("tests/fixtures/spec").join(name)
}

fn load_error(path: &Path) -> SpecError {
    match load(path) {
        Ok(_) => panic!("accepted {}", path.display()),
        Err(error) => error,
    }
}

/// Asserts that each spec gives its sentences, so that a failure shows the spec at fault. The lists of all
/// methods and all datasets are `{methods}` and `{datasets}`.
fn assert_sentences(check: fn(&str) -> String, cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        let found = check(text);
        let found: Vec<&str> = found.lines().collect();
        let expected = expected.iter().map(|sentence| {
            let sentence =
                sentence.replace("{methods}", &list(METHODS.iter().map(|m| m.info.name)));
            let names = registry::all().iter().map(|dataset| dataset.manifest.name.as_str());
            sentence.replace("{datasets}", &list(names.chain(["files"])))
        });
        assert_eq!(found, expected.collect::<Vec<_>>(), "for {text:?}");
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
}

#[test]
fn all_problems_of_a_file_are_reported_at_once() {
    let error = load_error(&fixture("many_problems.yaml"));
    insta::assert_snapshot!("many_problems_plain", error.plain());
    insta::assert_snapshot!("many_problems_graphical", error.graphical(false, 100));
    assert_eq!(
        error.to_string(),
        format!("tests/fixtures/spec/many_problems.yaml has {} problems", error.problems().len())
    );
}

#[test]
fn unknown_keys() {
    assert_sentences(
        with,
        &[
            (
                "splits: {repeat: 3, train-fraction: 0.5}",
                &[
                    "x.yaml:4:10: unknown key `repeat` in `splits`, expected one of `repeats`, `train_fraction`, `stratified`, `seeds`; did you mean `repeats`?",
                    "x.yaml:4:21: unknown key `train-fraction` in `splits`, expected one of `repeats`, `train_fraction`, `stratified`, `seeds`; did you mean `train_fraction`?",
                ],
            ),
            (
                "kernel: {gaussian: {widht: 1}}",
                &[
                    "x.yaml:4:21: unknown key `widht` in `kernel.gaussian`, expected `width`; did you mean `width`?",
                ],
            ),
            (
                "bananas: 3",
                &[
                    "x.yaml:4:1: unknown key `bananas`, expected one of `name`, `title`, `reproduces`, `protocol`, `seed`, `datasets`, `splits`, `kernel`, `jitter`, `factor`, `methods`, `select`, `compare`, `record`, `render`, `slurm`",
                ],
            ),
            ("seed: 1\nseed: 2", &["x.yaml:5:1: the key `seed` is given twice, first in line 4"]),
        ],
    );
}

#[test]
fn wrong_types() {
    assert_sentences(
        with,
        &[
            (
                "splits: {repeats: 10.5}",
                &["x.yaml:4:19: `splits.repeats` is 10.5, expected a whole number from 1 to 10000"],
            ),
            (
                "splits: {repeats: \"10\"}",
                &[
                    "x.yaml:4:19: `splits.repeats` is the string \"10\", expected a whole number from 1 to 10000; write the number without quotes",
                ],
            ),
            (
                "splits: {stratified: yes}",
                &[
                    "x.yaml:4:22: `splits.stratified` is the string \"yes\", expected true or false; did you mean `true`?",
                ],
            ),
            (
                "title: 3",
                &[
                    "x.yaml:4:8: `title` is 3, expected a string; put it in quotes to make it a string",
                ],
            ),
            ("title:", &["x.yaml:4:1: `title` is empty, expected a string"]),
            ("splits: [1]", &["x.yaml:4:9: `splits` is a list, expected a mapping"]),
            (
                "render: table",
                &[
                    "x.yaml:4:9: `render` is the string \"table\", expected a list; put it in brackets to make it a list",
                ],
            ),
        ],
    );
    assert_sentences(
        problems,
        &[("- svm\n", &["x.yaml:1:1: the spec is a list, expected a mapping"])],
    );
}

#[test]
fn values_out_of_range() {
    assert_sentences(
        with,
        &[
            (
                "splits: {repeats: 0, train_fraction: 1}",
                &[
                    "x.yaml:4:19: `splits.repeats` is 0, expected a whole number from 1 to 10000",
                    "x.yaml:4:38: `splits.train_fraction` is 1, expected a number from 0.01 to 0.99",
                ],
            ),
            ("jitter: .nan", &["x.yaml:4:9: `jitter` is NaN, expected a finite number"]),
            ("jitter: 1e999", &["x.yaml:4:9: `jitter` is inf, expected a finite number"]),
            (
                "seed: 99999999999999999999999",
                &["x.yaml:4:7: `seed` is 1e23, expected a whole number from 0 to 9007199254740991"],
            ),
            (
                "reproduces: {table: 5000000000}",
                &["x.yaml:4:21: `reproduces.table` is 5000000000, expected at most 4294967295"],
            ),
            (
                "compare: {against: twsvm, levels: [0, 0.05, 1, 0.05]}",
                &[
                    "x.yaml:4:36: item 1 of `compare.levels` is 0, expected a number above 0 and below 1",
                    "x.yaml:4:45: item 3 of `compare.levels` is 1, expected a number above 0 and below 1",
                    "x.yaml:4:48: item 4 of `compare.levels` repeats the value 0.05",
                ],
            ),
        ],
    );
}

#[test]
fn unknown_values() {
    assert_sentences(
        with,
        &[
            (
                "kernel: gausian",
                &[
                    "x.yaml:4:9: unknown value `gausian` for `kernel`, expected one of `gaussian`, `polynomial`, `linear`; did you mean `gaussian`?",
                ],
            ),
            (
                "kernel: {linear: {}}",
                &["x.yaml:4:10: `linear` takes no options, expected `linear` alone"],
            ),
            (
                "kernel: {gaussian: {width: mean}}",
                &[
                    "x.yaml:4:28: unknown value `mean` for `kernel.gaussian.width`, expected a number above 0 or `mean-squared-distance`",
                ],
            ),
            (
                "select: {by: cross-validate}",
                &[
                    "x.yaml:4:14: unknown value `cross-validate` for `select.by`, expected `cross-validation`; did you mean `cross-validation`?",
                ],
            ),
            (
                "compare: {against: twsvm, test: [paired]}",
                &[
                    "x.yaml:4:34: unknown value `paired` for item 1 of `compare.test`, expected one of `paired-t`, `nadeau-bengio`; did you mean `paired-t`?",
                ],
            ),
        ],
    );
}

#[test]
fn missing_keys_and_empty_lists() {
    assert_sentences(
        problems,
        &[
            (
                "name: x\n",
                &[
                    "x.yaml:1:1: the key `datasets` is missing",
                    "x.yaml:1:1: the key `methods` is missing",
                ],
            ),
            (
                "name: x\ndatasets: []\nmethods:\n",
                &[
                    "x.yaml:2:11: `datasets` is an empty list, expected at least 1 item",
                    "x.yaml:3:1: `methods` is empty, expected a list",
                ],
            ),
            // The key that was meant is not called missing as well.
            (
                "name: x\ndataset: [usps]\nmethods: [twsvm]\n",
                &[
                    "x.yaml:2:1: unknown key `dataset`, expected one of `name`, `title`, `reproduces`, `protocol`, `seed`, `datasets`, `splits`, `kernel`, `jitter`, `factor`, `methods`, `select`, `compare`, `record`, `render`, `slurm`; did you mean `datasets`?",
                ],
            ),
        ],
    );
}

#[test]
fn methods_and_their_parameters() {
    assert_sentences(
        method,
        &[
            ("svn", &["x.yaml:5:5: unknown method `svn`, expected {methods}; did you mean `svm`?"]),
            (
                "k-npsvcp: {c: 1}",
                &[
                    "x.yaml:5:5: unknown method `k-npsvcp`, expected {methods}; did you mean `k-npsvcpp`?",
                ],
            ),
            ("svm: {c: -1}", &["x.yaml:5:14: `c` of `svm` is -1, expected a number above 0"]),
            (
                "svm: {C: 1}",
                &[
                    "x.yaml:5:11: unknown parameter `C` of `svm`, expected one of `label`, `c`, `tolerance`, `max_iter`, `engine`; did you mean `c`?",
                ],
            ),
            (
                "svm:\n    c: 1",
                &[
                    "x.yaml:6:5: item 1 of `methods` has 2 keys, expected exactly one; to give options to `svm`, indent them below it or write `svm: {...}`",
                ],
            ),
            (
                "k-npsvcpp: {d: 2k}",
                &[
                    "x.yaml:5:20: `d` of `k-npsvcpp` is the string \"2k\", expected a whole number of at least 1 or a multiple of the class count such as `2K`",
                ],
            ),
            (
                "twsvm: {scheme: ovo}",
                &[
                    "x.yaml:5:21: unknown value `ovo` for `scheme` of `twsvm`, expected one of `ovr`, `rvo`; did you mean `ovr`?",
                ],
            ),
            (
                "rmtbsvm: {graph: {weights: pape}}",
                &[
                    "x.yaml:5:32: unknown value `pape` for `graph.weights` of `rmtbsvm`, expected one of `mean-squared-distance`, `mean-distance`",
                ],
            ),
            (
                "rmtbsvm: {graph: [paper]}",
                &[
                    "x.yaml:5:23: item 1 of `graph` of `rmtbsvm` is the string \"paper\", expected a mapping",
                ],
            ),
            (
                "twsvm: {label: ''}",
                &[
                    "x.yaml:5:20: `label` of `twsvm` is the string \"\", expected a string that is not empty",
                ],
            ),
            (
                "twsvm\n  - twsvm",
                &[
                    "x.yaml:6:5: two methods are labelled `TWSVM`, the first in line 5; give one of them another `label`",
                ],
            ),
            (
                "twsvm\n  - twsvm: {label: Again}",
                &[
                    "x.yaml:6:5: this is the method of line 5 with the same parameters, labelled `TWSVM` there; remove one of the two or change a parameter",
                ],
            ),
            (
                "twsvm: {c: [1, 2]}\n  - svm: {c: 1}\n  - twsvm: {label: Again, c: {linear: [1, 2, 1]}}",
                &[
                    "x.yaml:7:5: this is the method of line 5 with the same parameters, labelled `TWSVM` there; remove one of the two or change a parameter",
                ],
            ),
            ("[svm]", &["x.yaml:5:5: item 1 of `methods` is a list, expected {methods}"]),
        ],
    );
}

#[test]
fn lists_and_ranges() {
    assert_sentences(
        method,
        &[
            (
                "svm: {c: [1, -1]}",
                &["x.yaml:5:18: item 2 of `c` of `svm` is -1, expected a number above 0"],
            ),
            (
                "svm: {c: []}",
                &["x.yaml:5:14: `c` of `svm` is an empty list, expected at least 1 item"],
            ),
            ("svm: {c: [1, 1.0]}", &["x.yaml:5:18: item 2 of `c` of `svm` repeats the value 1.0"]),
            (
                "svm: {c: {log2: [1, 2]}}",
                &[
                    "x.yaml:5:14: the range of `c` of `svm` has no step, expected first, last and step; or draw points from it with `select: {search: {random: {budget: 20}}}`",
                ],
            ),
            (
                "svm: {c: {log2: [1]}}",
                &["x.yaml:5:21: `c.log2` of `svm` is a list of 1 item, expected at least 2 items"],
            ),
            (
                "svm: {c: {log3: [1, 2, 3]}}",
                &[
                    "x.yaml:5:15: unknown value `log3` for `c` of `svm`, expected one of `log2`, `log10`, `linear`; did you mean `log2`?",
                ],
            ),
            (
                "svm: {c: {linear: [3, 2, 1]}}",
                &[
                    "x.yaml:5:14: the range of `c` of `svm` goes from 3 to 2, expected the smaller number first",
                ],
            ),
            (
                "svm: {c: {linear: [-1, 2, 1]}}",
                &["x.yaml:5:14: the range of `c` of `svm` holds -1, expected a number above 0"],
            ),
            (
                "svm: {max_iter: {log2: [-1, 3, 1]}}",
                &[
                    "x.yaml:5:21: the range of `max_iter` of `svm` holds 0.5, expected a whole number of at least 1",
                ],
            ),
            (
                "twsvm: {scheme: {log2: [1, 2, 1]}}",
                &["x.yaml:5:21: `scheme` of `twsvm` is a mapping, expected one of `ovr`, `rvo`"],
            ),
            (
                "twsvm: {c: {linear: [1, 400, 1]}, r: {log2: [-1000, 0, 1]}}",
                &["x.yaml:5:16: `twsvm` has a grid of 400400 points, expected at most 100000"],
            ),
        ],
    );
}

#[test]
fn the_method_itself_has_the_last_word() {
    assert_sentences(
        method,
        &[
            (
                "arcface: {margin: 2}",
                &[
                    "x.yaml:5:23: `margin` of `arcface` is 2, expected at least 0, below a right angle",
                ],
            ),
            // The first bad point of the grid, at the value that makes it bad.
            (
                "arcface: {lr: [1, 2], margin: [1, 0.5, 2]}",
                &[
                    "x.yaml:5:44: `margin` of `arcface` is 2, expected at least 0, below a right angle",
                ],
            ),
        ],
    );
}

#[test]
fn tuned_parameters_need_a_selection() {
    let text = "name: x\ndatasets: [usps]\nmethods: [svm: {c: [1, 2, 4]}]\n";
    let sentence = "x.yaml:3:20: `c` of `svm` has 3 values, but nothing says how to choose one; add `select: {by: cross-validation, folds: 5}`";
    assert_sentences(problems, &[(text, &[sentence])]);
}

#[test]
fn datasets() {
    let check =
        |entries: &str| problems(&format!("name: x\nmethods: [twsvm]\ndatasets:\n{entries}\n"));
    assert_sentences(
        check,
        &[
            (
                "  - upsp",
                &["x.yaml:4:5: unknown dataset `upsp`, expected {datasets}; did you mean `usps`?"],
            ),
            (
                "  - usps: {subsample: 2}",
                &["x.yaml:4:23: `subsample` of `usps` is 2, expected a whole number of at least 4"],
            ),
            (
                "  - usps: {sample: 2}",
                &[
                    "x.yaml:4:12: unknown option `sample` of `usps`, expected one of `subsample`, `official_split`, `evaluate_on`, `encoder`; did you mean `subsample`?",
                ],
            ),
            (
                "  - usps\n  - usps: {subsample: 100}",
                &["x.yaml:5:5: two datasets are called `usps`, the first in line 4"],
            ),
            (
                "  - usps\n  - files: {train: data/usps.csv.gz}",
                &[
                    "x.yaml:5:5: two datasets are called `usps`, the first in line 4; give one of them another `name`",
                ],
            ),
            ("  - files", &["x.yaml:4:5: `files` lacks the key `train`"]),
            (
                "  - files: {train: a, format: cvs, label: 0}",
                &[
                    "x.yaml:4:31: unknown value `cvs` for `format` of `files`, expected one of `libsvm`, `csv`, `npy`, `npz`, `parquet`; did you mean `csv`?",
                    "x.yaml:4:43: `label` of `files` is 0, expected a string that is not empty or a whole number of at least 1",
                ],
            ),
        ],
    );
}

#[test]
fn comparisons() {
    let check = |against: &str| {
        problems(&format!(
            "name: x\ndatasets: [usps]\nmethods: [twsvm, twsvm: {{label: Other, c: 2}}, svm: {{c: 1}}]\ncompare: {{against: {against}}}\n"
        ))
    };
    assert_sentences(
        check,
        &[
            (
                "smv",
                &[
                    "x.yaml:4:20: `compare.against` is `smv`, which is not a method of this experiment, expected one of `twsvm`, `svm`; did you mean `svm`?",
                ],
            ),
            (
                "othr",
                &[
                    "x.yaml:4:20: `compare.against` is `othr`, which is not a method of this experiment, expected one of `twsvm`, `svm`; did you mean `Other`?",
                ],
            ),
            (
                "twsvm",
                &[
                    "x.yaml:4:20: `compare.against` is `twsvm`, which could mean any of 2 methods, expected one of `TWSVM`, `Other`",
                ],
            ),
        ],
    );
}

#[test]
fn yaml_that_is_none() {
    assert_sentences(
        problems,
        &[
            (
                "name: [1, 2\nb: 3\n",
                &["x.yaml:2:2: not valid YAML: illegal placement of ':' indicator"],
            ),
            (
                "name: a: b\n",
                &["x.yaml:1:8: not valid YAML: mapping values are not allowed in this context"],
            ),
            (
                "name: x\n---\nname: y\n",
                &[
                    "x.yaml:3:1: a second YAML document starts here, expected one experiment per file",
                ],
            ),
            ("name: *x\n", &["x.yaml:1:7: not valid YAML: alias references unknown anchor"]),
        ],
    );
}

#[test]
fn files_that_are_no_specs() {
    let sentence = |name: &str| load_error(&fixture(name)).plain();
    let nothing = "the file holds no experiment, expected at least the keys `name`, `datasets` and `methods`\n";
    assert_eq!(sentence("empty.yaml"), format!("tests/fixtures/spec/empty.yaml:1:1: {nothing}"));
    assert_eq!(
        sentence("comments.yaml"),
        format!("tests/fixtures/spec/comments.yaml:2:1: {nothing}")
    );
    assert_eq!(
        sentence("latin1.yaml"),
        "tests/fixtures/spec/latin1.yaml: the file is not UTF-8 text, the first bad byte is in line 2\n"
    );
    assert_eq!(
        sentence("many_problem.yml"),
        "tests/fixtures/spec/many_problem.yml: there is no such file; did you mean `tests/fixtures/spec/many_problems.yaml`?\n"
    );
    assert_eq!(
        sentence("latin1"),
        "tests/fixtures/spec/latin1: there is no such file; did you mean `tests/fixtures/spec/latin1.yaml`?\n"
    );
    assert_eq!(sentence("xyz"), "tests/fixtures/spec/xyz: there is no such file\n");
    assert_eq!(
        sentence("no/where.yaml"),
        "tests/fixtures/spec/no/where.yaml: there is no such file; the folder `tests/fixtures/spec/no` cannot be read\n"
    );
    assert_eq!(
        sentence(""),
        "tests/fixtures/spec/: this is a folder, expected the YAML file of an experiment\n"
    );
}

#[test]
fn a_huge_file_is_not_read_to_its_end() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.as_file().set_len(1 << 30).expect("a sparse file");
    let error = load_error(file.path()).plain();
    assert!(error.contains("is larger than 1024 KiB"), "{error}");
}

#[test]
fn of_very_many_problems_the_first_are_shown() {
    let keys: String = (0..300).map(|i| format!("key{i}: 1\n")).collect();
    let error = problems(&keys);
    assert_eq!(error.lines().count(), 51);
    assert!(error.ends_with("and 253 more problems\n"), "{error}");
}
