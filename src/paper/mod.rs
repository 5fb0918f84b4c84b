//! The paper's own numbers: Tables 2, 3 and A.1 as data.
//!
//! They are in `tables.yaml` next to this file, under the names that datasets and methods have in this program, and are
//! only read for comparison. Nothing is computed from them.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::sync::LazyLock;

use serde::Deserialize;

/// A table of the paper.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its number as printed, such as `2` or `A.1`.
    pub table: String,
    pub caption: String,
    pub unit: Unit,
    /// The method that the marks refer to.
    #[serde(default)]
    pub against: Option<String>,
    pub methods: Vec<String>,
    pub rows: Vec<Row>,
}

/// What the numbers of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Test accuracy.
    Percent,
    /// Training time.
    Seconds,
}

/// A dataset of a table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub dataset: String,
    /// Features of its images by a frozen encoder, which the kernel machines saw.
    #[serde(default)]
    pub features: Option<String>,
    /// As printed next to the name, where it is.
    #[serde(default)]
    pub shape: Option<Shape>,
    /// By method.
    pub cells: BTreeMap<String, Cell>,
}

/// Samples for training and testing, dimensions and classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    pub n_train: usize,
    pub n_test: usize,
    pub dims: usize,
    pub classes: usize,
}

/// `(540, 360, 8000, 10)`, as in the paper.
impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { n_train, n_test, dims, classes } = self;
        write!(f, "({n_train}, {n_test}, {dims}, {classes})")
    }
}

/// One printed number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    pub value: f64,
    /// Standard deviation over the splits, where printed.
    #[serde(default)]
    pub deviation: Option<f64>,
    #[serde(default)]
    pub mark: Option<Mark>,
    /// The wording, where `value` was converted from another unit.
    #[serde(default)]
    pub printed: Option<String>,
}

/// The paper's marks of a significant difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Mark {
    /// At level 0.1.
    #[serde(rename = "†")]
    Dagger,
    /// At level 0.05.
    #[serde(rename = "‡")]
    DoubleDagger,
}

impl Mark {
    /// The printed symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Dagger => "†",
            Self::DoubleDagger => "‡",
        }
    }

    /// The level that the symbol means.
    pub fn level(self) -> f64 {
        match self {
            Self::Dagger => 0.1,
            Self::DoubleDagger => 0.05,
        }
    }
}

impl Table {
    /// The row of a dataset.
    pub fn row(&self, dataset: &str) -> Option<&Row> {
        let is_it = |row: &&Row| row.dataset == dataset || row.features.as_deref() == Some(dataset);
        self.rows.iter().find(is_it)
    }

    /// The number of a method on a dataset.
    pub fn cell(&self, dataset: &str, method: &str) -> Option<&Cell> {
        self.row(dataset)?.cells.get(method)
    }
}

static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    serde_saphyr::from_str(include_str!("tables.yaml")).expect("the embedded tables.yaml is valid")
});

/// All tables held here, in the paper's order.
pub fn tables() -> &'static [Table] {
    &TABLES
}

/// The tables of accuracies, or of times.
pub fn tables_of(unit: Unit) -> impl Iterator<Item = &'static Table> {
    tables().iter().filter(move |table| table.unit == unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(number: &str) -> Option<&'static Table> {
        tables().iter().find(|table| table.table == number)
    }

    #[test]
    fn every_row_has_every_method_and_no_other() {
        assert_eq!(tables().len(), 3);
        for table in tables() {
            let mut methods: Vec<_> = table.methods.iter().map(String::as_str).collect();
            methods.sort_unstable();
            for row in &table.rows {
                let cells: Vec<_> = row.cells.keys().map(String::as_str).collect();
                assert_eq!(cells, methods, "table {} row {}", table.table, row.dataset);
            }
        }
    }

    #[test]
    fn table_2_says_what_the_text_says_about_it() {
        let table = table("2").unwrap();
        let names: Vec<_> = table.rows.iter().map(|row| row.dataset.as_str()).collect();
        assert_eq!(names, ["chg", "binalpha", "20news", "pendigits", "dna", "usps"]);
        for row in &table.rows {
            let reference = &row.cells["k-npsvcpp"];
            assert_eq!(reference.mark, None);
            // "K-NPSVC++ always outperforms the other compared methods, except for the DNA dataset"
            let best = row.cells.values().all(|c| c.value <= reference.value);
            assert_eq!(best, row.dataset != "dna");
            // "it shows significance against all methods on CHG and USPS"
            let marked = row.cells.values().filter(|c| c.mark.is_some()).count();
            assert_eq!(marked == 5, ["chg", "usps"].contains(&row.dataset.as_str()));
        }
    }

    #[test]
    fn table_2_splits_are_sixty_to_forty_rounded_down() {
        for row in &table("2").unwrap().rows {
            let shape = row.shape.unwrap();
            let samples = shape.n_train + shape.n_test;
            assert_eq!(shape.n_train, samples * 6 / 10, "{}", row.dataset);
        }
    }

    #[test]
    fn spot_checks() {
        let cell = table("2").unwrap().cell("binalpha", "pintwsvm").unwrap();
        assert_eq!((cell.value, cell.deviation), (64.5, Some(1.46)));
        assert_eq!(cell.mark.map(Mark::symbol), Some("‡"));
        let cell = table("2").unwrap().cell("chg", "pintwsvm").unwrap();
        assert_eq!(cell.mark.map(Mark::level), Some(0.1));
        assert_eq!(table("3").unwrap().cell("dtd", "k-npsvcpp").unwrap().value, 66.54);
        let time = table("A.1").unwrap().cell("cifar10", "d-npsvcpp").unwrap();
        assert_eq!((time.value, time.printed.as_deref()), (13080.0, Some("218min")));
        assert_eq!(table("9"), None);
        assert_eq!(table("2").unwrap().cell("mnist", "svm"), None);
    }
}
