//! An experiment of trivial cells, and what tests ask about its results.

use std::fs;

use npsvcpp::ledger::Record;

use crate::program::Folder;

/// Two clouds, of `count` points together.
pub fn clouds(count: u32) -> String {
    let mut rows = String::from("x,y,class\n");
    for i in 0..count {
        let (class, shift) = if i % 2 == 0 { ("a", 0) } else { ("b", 3) };
        let (x, y) = (i * 7 % 11 + shift, i * 5 % 13 + 2 * shift);
        rows += &format!("{x},{y},{class}\n");
    }
    rows
}

/// Two clouds of twelve points.
pub fn points() -> String {
    clouds(24)
}

/// A spec `tiny.yaml` of `repeats` splits of two datasets by two cheap methods.
pub fn spec(repeats: usize) -> String {
    format!(
        "name: tiny\ndatasets:\n  - files: {{name: one, train: one.csv}}\n  - files: {{name: two, \
         train: two.csv}}\nsplits: {{repeats: {repeats}, stratified: true}}\nmethods:\n  - lstwsvm\n  \
         - gepsvm\ncompare: {{against: lstwsvm}}\n"
    )
}

/// A folder with the spec and its data; the experiment has `4 * repeats` cells.
pub fn folder(repeats: usize) -> Folder {
    let folder = Folder::new();
    folder.write("tiny.yaml", spec(repeats));
    folder.write("one.csv", points());
    folder.write("two.csv", points().replace("3,", "4,"));
    folder
}

pub fn records(folder: &Folder, ledger: &str) -> Vec<Record> {
    folder.lines_of(ledger)
}

/// The tables of a results folder.
pub fn tables(folder: &Folder, out: &str) -> [String; 3] {
    ["table.md", "table.tex", "table.csv"]
        .map(|file| fs::read_to_string(folder.path(out).join(file)).unwrap())
}
