//! A small experiment on files of the user that is finished, and what a command changed in its results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Ended, Folder};

/// All files of a folder and its subfolders, without pictures that git ignores.
pub fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|end| end != "png") {
                let name = path.strip_prefix(dir).unwrap().to_path_buf();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The names of files that differ.
pub fn differences(before: &BTreeMap<PathBuf, Vec<u8>>, dir: &Path) -> Vec<PathBuf> {
    let after = files(dir);
    let names = before.keys().chain(after.keys());
    let mut names: Vec<PathBuf> =
        names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect();
    names.sort();
    names.dedup();
    names
}

pub fn copy(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Runs the program and checks that it changed nothing below `results`.
pub fn changes_nothing(folder: &Folder, arguments: &str, code: i32) -> Ended {
    let before = files(&folder.path("results"));
    let ended = folder.run(arguments);
    let said = format!("{arguments}\n{}{}", ended.out, ended.err);
    assert_eq!(ended.code, code, "{said}");
    let none: [PathBuf; 0] = [];
    assert_eq!(differences(&before, &folder.path("results")), none, "{said}");
    ended
}

pub fn last_line(ended: &Ended) -> &str {
    ended.out.trim_end().lines().last().unwrap_or_default()
}

pub fn assert_says(text: &str, said: &[&str]) {
    for part in said {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

pub const SPEC: &str = "\
name: two
datasets:
  - files: {name: a, train: a.csv}
  - files: {name: b, train: b.csv}
splits: {repeats: 3}
methods:
  - svm
  - lstwsvm
";

/// Two classes in two dimensions; `shift` makes other data.
pub fn table(shift: f64) -> String {
    let row = |i: usize| {
        let class = i % 2;
        let (x, y) = ((i * 7 % 11) as f64, (i * 5 % 13) as f64 + 3.0 * class as f64 + shift);
        format!("{x},{y},{}\n", ["p", "q"][class])
    };
    "x,y,label\n".to_owned() + &(0..40).map(row).collect::<String>()
}

/// Two finished datasets from the user's own files.
pub fn finished() -> Folder {
    let folder = Folder::new();
    folder.write("two.yaml", SPEC);
    folder.write("a.csv", table(0.0));
    folder.write("b.csv", table(0.5));
    let ended = folder.run("run two.yaml");
    assert_eq!(ended.code, 0, "{}", ended.err);
    folder
}

pub fn json(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.path(name)).unwrap()).unwrap()
}

pub fn hash_of(folder: &Folder, dataset: usize) -> String {
    let plan = json(folder, "results/two/plan.json");
    plan["datasets"][dataset]["hash"].as_str().unwrap().to_owned()
}
