//! Reads the published results: tables, ledgers and traces in `results/`.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// The cells of a line, by column.
pub type Line = HashMap<String, String>;

/// The five datasets of Table 2 that were run, with their names in the paper.
pub const DATASETS: [(&str, &str); 5] = [
    ("binalpha", "BinAlpha"),
    ("20news", "20News"),
    ("pendigits", "Pendigits"),
    ("dna", "DNA"),
    ("usps", "USPS"),
];

/// The method of the paper in tables.
pub const OURS: &str = "K-NPSVC++";

/// A `table.csv`.
pub struct Table(pub Vec<Line>);

impl Table {
    pub fn read(folder: &str) -> Self {
        Self(read_csv(&format!("results/{folder}/table.csv")))
    }

    pub fn line(&self, dataset: &str, label: &str) -> &Line {
        let is_it = |line: &&Line| line["dataset"] == dataset && line["label"] == label;
        self.0.iter().find(is_it).unwrap_or_else(|| panic!("no line for {dataset}, {label}"))
    }

    pub fn mean(&self, dataset: &str, label: &str) -> f64 {
        number(self.line(dataset, label), "mean").expect("a mean")
    }

    /// The accuracy in the paper.
    pub fn paper(&self, dataset: &str, label: &str) -> f64 {
        number(self.line(dataset, label), "paper_mean").expect("a number of the paper")
    }

    pub fn labels(&self) -> Vec<&str> {
        let first = &self.0[0]["dataset"];
        self.0.iter().filter(|line| &line["dataset"] == first).map(|line| &*line["label"]).collect()
    }

    /// The verdicts `reproduced`, `higher` and `lower`, counted over the lines that are wanted.
    pub fn verdicts(&self, is_wanted: impl Fn(&Line) -> bool) -> [usize; 3] {
        ["reproduced", "higher", "lower"].map(|verdict| {
            self.0.iter().filter(|line| line["verdict"] == verdict && is_wanted(line)).count()
        })
    }

    /// Counts the cells in which the paper has K-NPSVC++ ahead: confirmed, open and contradicted by the test whose
    /// p-values are in `column`.
    pub fn leads(&self, column: &str) -> [usize; 3] {
        let mut counts = [0; 3];
        for line in &self.0 {
            let ours = self.line(&line["dataset"], OURS);
            let is_lead = number(ours, "paper_mean") > number(line, "paper_mean");
            let Some(p) = number(line, column).filter(|_| is_lead) else { continue };
            let difference = number(line, "reference_minus_method").expect("a difference");
            counts[outcome(p, difference)] += 1;
        }
        counts
    }
}

/// 0 if a lead is confirmed, 1 if it is open, 2 if it is contradicted.
pub fn outcome(p: f64, difference: f64) -> usize {
    match (p < 0.05, difference > 0.0) {
        (false, _) => 1,
        (true, true) => 0,
        (true, false) => 2,
    }
}

pub fn read_csv(path: &str) -> Vec<Line> {
    let mut reader = csv::Reader::from_path(root().join(path)).expect(path);
    reader.deserialize().map(|line| line.expect("a line of a table")).collect()
}

pub fn number(line: &Line, column: &str) -> Option<f64> {
    line[column].parse().ok()
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The accuracies of a method on a dataset.
pub struct Accuracies {
    pub by_split: BTreeMap<usize, f64>,
    /// Test samples for each training sample.
    pub test_to_train: f64,
}

/// The accuracies of a folder, by dataset and label.
pub fn accuracies(folder: &str) -> HashMap<(String, String), Accuracies> {
    let mut all = HashMap::new();
    for record in ledger(folder).iter().filter(|record| record["status"] == "ok") {
        let text = |key: &str| record[key].as_str().expect(key).to_owned();
        let number = |key: &str| record[key].as_f64().expect(key);
        let entry = all.entry((text("dataset"), text("label"))).or_insert_with(|| Accuracies {
            by_split: BTreeMap::new(),
            test_to_train: number("n_test") / number("n_train"),
        });
        entry.by_split.insert(number("split") as usize, number("accuracy"));
    }
    all
}

pub fn ledger(folder: &str) -> Vec<Value> {
    let text = fs::read_to_string(root().join(format!("results/{folder}/ledger.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
