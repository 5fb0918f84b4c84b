//! A finished experiment, and what its folder holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Folder;

const SPEC: &str = "\
name: tiny
datasets:
  - files: {name: one, train: one.csv}
  - files: {name: two, train: two.csv}
splits: {repeats: 3, stratified: true}
methods: [lstwsvm, gepsvm, k-npsvcpp: {d: 2}]
compare: {against: k-npsvcpp}
";

/// The files of a results folder by their paths in it.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A folder in which `tiny.yaml` was run with `--out whole`. `more` ends the spec.
pub fn finished(more: &str) -> Folder {
    let folder = Folder::new();
    folder.write("tiny.yaml", format!("{SPEC}{more}"));
    for (name, shift) in [("one.csv", 3), ("two.csv", 2)] {
        let mut rows = String::from("x,y,class\n");
        for i in 0..24 {
            let (class, shift) = if i % 2 == 0 { ("a", 0) } else { ("b", shift) };
            let (x, y) = (i * 7 % 11 + shift, i * 5 % 13 + 2 * shift);
            rows += &format!("{x},{y},{class}\n");
        }
        folder.write(name, rows);
    }
    run(&folder, "whole");
    folder
}

/// Runs the experiment with `--out out`. It ends well.
pub fn run(folder: &Folder, out: &str) {
    let run = folder.run(&format!("run tiny.yaml --offline -q --out {out}"));
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
}

/// All files below `dir`.
pub fn files(dir: &Path) -> Files {
    let mut found = Files::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(path, bytes)| (name.join(path), bytes)));
        } else {
            found.insert(name, fs::read(path).unwrap());
        }
    }
    found
}

/// Writes `files` into `dir`.
pub fn write(dir: &Path, files: &Files) {
    for (path, bytes) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Fails with the names of the files that differ, which is shorter than both folders.
pub fn assert_same(found: &Files, expected: &Files, case: &str) {
    let names = found.keys().chain(expected.keys());
    let differ: Vec<_> = names.filter(|name| found.get(*name) != expected.get(*name)).collect();
    assert!(differ.is_empty(), "{case}: {differ:?}");
}
