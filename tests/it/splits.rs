//! Promise: `splits` writes the samples of every split for other tools, the same ones that a run uses.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::program::Folder;

const SPEC: &str = "name: few\nseed: 7\ndatasets:\n  - files: {name: own set, train: own.txt}\n  \
                    - optdigits: {subsample: 100}\n  - files: {name: fixed, train: own.txt, test: test.txt}\n\
                    splits: {repeats: 3}\nmethods: [svm]\n";

fn folder() -> Folder {
    let folder = Folder::new();
    let rows = |n: usize| (0..n).map(|i| format!("{} 1:{i} 2:{}\n", i % 2, i * i % 7));
    folder.write("own.txt", rows(30).collect::<String>());
    folder.write("test.txt", rows(41).skip(31).collect::<String>());
    folder.write("few.yaml", SPEC);
    folder
}

/// The rows of each part in the file of a split.
fn parts(folder: &Folder, file: &str) -> BTreeMap<String, Vec<usize>> {
    let text = fs::read_to_string(folder.path(file)).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("row,part"));
    let mut parts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for line in lines {
        let (row, part) = line.split_once(',').unwrap();
        parts.entry(part.to_owned()).or_default().push(row.parse().unwrap());
    }
    parts
}

fn index(folder: &Folder, out: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.path(out).join("index.json")).unwrap()).unwrap()
}

#[test]
fn the_splits_of_a_spec_are_those_of_its_run() {
    let folder = folder();
    let exported = folder.run("splits few.yaml --out out --offline -q");
    assert_eq!(exported.code, 0, "{}", exported.err);
    let index = index(&folder, "out");
    assert_eq!((index["name"].as_str(), index["seed"].as_u64()), (Some("few"), Some(7)));
    let names: Vec<_> =
        index["datasets"].as_array().unwrap().iter().map(|d| &d["folder"]).collect();
    assert_eq!(names, ["own-set", "optdigits", "fixed"]);
    let own = &index["datasets"][0];
    assert_eq!((own["n"].as_u64(), own["features"].as_u64()), (Some(30), Some(2)));
    assert_eq!(own["classes"].as_array().unwrap().len(), 2);
    let split = parts(&folder, "out/own-set/split-2.csv");
    assert_eq!((split["train"].len(), split["test"].len()), (18, 12));
    let fixed = parts(&folder, "out/fixed/split-0.csv");
    assert_eq!(fixed["train"], (0..30).collect::<Vec<_>>());
    assert_eq!(fixed["test"], (30..40).collect::<Vec<_>>());
    // Rows of a part count in the whole.
    let part = parts(&folder, "out/optdigits/split-0.csv");
    assert_eq!(part["train"].len() + part["test"].len(), 100);
    assert!(part["train"].iter().chain(&part["test"]).any(|&row| row > 1000));
    // The hashes are those of the run, whose ledger has them.
    assert_eq!(folder.run("run few.yaml --offline -q").code, 0);
    let plan = fs::read_to_string(folder.path("results/few/plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    for (of_plan, exported) in
        plan["datasets"].as_array().unwrap().iter().zip(index["datasets"].as_array().unwrap())
    {
        let hashes: Vec<&Value> =
            exported["splits"].as_array().unwrap().iter().map(|s| &s["hash"]).collect();
        assert_eq!(of_plan["splits"].as_array().unwrap().iter().collect::<Vec<_>>(), hashes);
        assert_eq!(of_plan["hash"], exported["hash"]);
    }
}

#[test]
fn a_results_folder_knows_its_splits_without_the_data() {
    let folder = folder();
    assert_eq!(folder.run("run few.yaml --offline -q").code, 0);
    assert_eq!(folder.run("splits results/few --out with --offline -q").code, 0);
    fs::remove_file(folder.path("own.txt")).unwrap();
    let exported = folder.run("splits results/few --out without --offline -q");
    assert_eq!(exported.code, 0, "{}", exported.err);
    assert_eq!(index(&folder, "with"), index(&folder, "without"));
    for file in ["own-set/split-1.csv", "fixed/split-0.csv", "optdigits/split-2.csv"] {
        let [with, without] =
            ["with", "without"].map(|out| fs::read(folder.path(out).join(file)).unwrap());
        assert_eq!(with, without, "{file}");
    }
    let exported = folder.run("splits results/few --out data --with-data --offline -q");
    assert_eq!(exported.code, 3);
    assert!(
        exported.err.contains("`own set` cannot be exported: failed to read own.txt"),
        "{}",
        exported.err
    );
}

#[test]
fn samples_are_written_on_request() {
    let folder = folder();
    assert_eq!(folder.run("splits few.yaml --out out --with-data --offline -q").code, 0);
    let x = fs::read(folder.path("out/own-set/x.npy")).unwrap();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (30, 2,), }";
    assert_eq!(std::str::from_utf8(&x[10..10 + header.len()]).unwrap(), header);
    assert_eq!((x.len() % 64, x.len()), ((30 * 2 * 8) % 64, 128 + 30 * 2 * 8));
    assert_eq!(x[x.len() - 16..], [29.0_f64.to_le_bytes(), 1.0_f64.to_le_bytes()].concat());
    let y = fs::read(folder.path("out/own-set/y.npy")).unwrap();
    assert_eq!(y[y.len() - 16..], [0_i64.to_le_bytes(), 1_i64.to_le_bytes()].concat());
    // All rows, although the experiment uses a part of them.
    let x = fs::read(folder.path("out/optdigits/x.npy")).unwrap();
    assert_eq!(x.len(), 128 + 1797 * 64 * 8);
}

#[test]
fn other_files_are_left_alone_and_missing_data_is_named() {
    let folder = folder();
    folder.write("taken/notes.txt", "mine");
    let refused = folder.run("splits few.yaml --out taken --offline -q");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--out taken: found other files there"), "{}", refused.err);
    assert_eq!(folder.run("splits few.yaml --out out --offline -q").code, 0);
    assert_eq!(
        folder.run("splits few.yaml --out out --offline -q").code,
        0,
        "an export is replaced"
    );
    let refused = folder.run("splits taken --out new --offline -q");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("taken has no spec.yaml"), "{}", refused.err);
    folder.write(
        "some.yaml",
        "name: some\ndatasets: [usps, optdigits: {subsample: 100}]\nmethods: [svm]\n",
    );
    let some = folder.run("splits some.yaml --out some --offline -q");
    assert_eq!(some.code, 3);
    assert!(
        some.err.contains("`usps` cannot be exported: dataset `usps` is not available"),
        "{}",
        some.err
    );
    assert!(folder.path("some/optdigits/split-9.csv").exists());
}
