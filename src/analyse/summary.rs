//! The results of an experiment as a table: datasets in rows, methods in columns, and all that is known of each cell.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::claims::Claim;
use super::paired::{Comparison, Paired};
use super::ranks::{Ranks, Wins};
use super::reproduction::{self, Versus};
use super::text::{clean, letter};
use super::traces::Trace;
use super::warnings::Warning;
use crate::ledger::{Embedding, Plan, PlannedDataset, Record, Status, Tally};
use crate::paper;
use crate::plan::Manifest;
use crate::spec::Rendering;
use crate::stats;

/// A results folder as a table.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The plan, without its cells.
    pub plan: Plan,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// What methods are tested against, if the experiment asks for it.
    pub comparison: Option<Comparison>,
    /// Tests over the datasets that every method completed, if there are two or more.
    pub ranks: Option<Ranks>,
    /// The table of the paper that ours is compared with; only if they have a cell in common.
    pub paper: Option<&'static paper::Table>,
    /// Over all cells of the plan.
    pub counts: Tally,
    /// One sentence: how much of the experiment has run.
    pub state: String,
    /// What the numbers say, in sentences, the most important first.
    pub findings: Vec<String>,
    /// Rows and cells refer to them by their index.
    pub footnotes: Vec<String>,
    /// What a reader must know before believing the table.
    pub warnings: Vec<Warning>,
    /// What made these numbers, in one line.
    pub provenance: String,
    /// `provenance.json`; null if it was not read.
    pub origin: Value,
    /// `spec.yaml`, if it was read.
    pub spec: Option<String>,
    /// Hashes of what was read, by name.
    pub sources: BTreeMap<String, String>,
}

/// A method of the table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its place among all columns.
    pub index: usize,
    /// Registry name.
    pub method: String,
    /// Name in the table.
    pub label: String,
    /// `ovr` or `rvo`, if the method has a scheme.
    pub scheme: Option<String>,
    /// How many points of parameters were tried; 1 if they are fixed.
    pub points: usize,
    pub is_network: bool,
    /// What the registry knows of it.
    pub info: Option<&'static npsvc::MethodInfo>,
    /// Whether the other methods are tested against it.
    pub is_reference: bool,
    /// Average rank over the datasets that every method completed, 1 being best.
    pub rank: Option<f64>,
    /// The reference against this method, over the datasets.
    pub wins: Option<Wins>,
}

/// A dataset of the table.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Its place among all rows.
    pub index: usize,
    pub dataset: String,
    pub data: PlannedDataset,
    /// What the registry knows of the dataset; nothing of the user's own files.
    pub manifest: Option<&'static Manifest>,
    /// `None` if the data is not available.
    pub shape: Option<paper::Shape>,
    /// One per column.
    pub cells: Vec<Cell>,
    /// Whether the paper's row is about other data, a part of it, other images, or another split.
    pub other_problem: bool,
    /// For networks on a single split: how often each is trained. Values then differ by training seed and not by split.
    pub trainings: Option<usize>,
    /// Whether the data came with its own split.
    pub own_split: bool,
    /// Why no split of any method succeeded, where none did.
    pub no_results: Option<String>,
    pub footnotes: Vec<usize>,
}

/// A method on a dataset.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The record of every planned split (or training on the only split), if there is one.
    pub records: BTreeMap<usize, Option<Record>>,
    pub counts: Tally,
    /// Of the test accuracies in percent.
    pub mean: Option<f64>,
    pub deviation: Option<f64>,
    /// Mean time of a fit, its choice of parameters not included.
    pub fit_seconds: Option<f64>,
    pub place: Place,
    /// The reference method minus this one, with all tests of the difference.
    pub paired: Option<Paired>,
    /// The paper's number, and ours compared with it.
    pub paper: Option<Versus>,
    /// The paper's claim that its method is better than this one.
    pub claim: Option<Claim>,
    /// How the fit on the first split went, if that was recorded.
    pub trace: Option<Trace>,
    /// A map of the samples of the first split, if one was recorded.
    pub map: Option<Embedding>,
    pub footnotes: Vec<usize>,
}

/// Place of a cell among the complete cells of its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    Best,
    SecondBest,
    #[default]
    Other,
}

/// A cell with its row and column.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub row: &'a Row,
    pub column: &'a Column,
    pub cell: &'a Cell,
}

impl Summary {
    /// The name of the experiment.
    pub fn name(&self) -> &str {
        &self.plan.experiment.name
    }

    /// The title, or the experiment's name if it has none.
    pub fn heading(&self) -> &str {
        match self.plan.experiment.title.as_str() {
            "" => self.name(),
            title => title,
        }
    }

    /// All cells, row by row.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.rows.iter().flat_map(|row| self.entries_of(row))
    }

    /// The cells of a row.
    pub fn entries_of<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = Entry<'a>> {
        let cells = self.columns.iter().zip(&row.cells);
        cells.map(move |(column, cell)| Entry { row, column, cell })
    }

    /// All cells without their rows and columns.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.rows.iter().flat_map(|row| &row.cells)
    }

    /// All records of the plan's cells, row by row.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.cells().flat_map(Cell::records)
    }

    /// The different values of a field of the records, in order.
    pub fn distinct<T: Ord>(&self, get: fn(&Record) -> T) -> Vec<T> {
        self.records().map(get).collect::<BTreeSet<T>>().into_iter().collect()
    }

    /// The method that the others are tested against.
    pub fn reference(&self) -> Option<&Column> {
        self.columns.iter().find(|column| column.is_reference)
    }

    /// The parameters of a column's first cell that was fitted.
    pub fn parameters(&self, column: usize) -> Option<&Value> {
        let mut records = self.rows.iter().flat_map(|row| row.cells[column].records());
        records.find(|record| record.status == Status::Ok).map(|record| &record.params)
    }

    /// The marks of a cell by both tests: the paper's, and in parentheses the corrected one.
    pub fn marks(&self, cell: &Cell) -> String {
        self.comparison.as_ref().map_or(String::new(), |comparison| comparison.marks(cell))
    }

    /// What means and deviations are over: splits, or trainings of networks on a dataset's own split.
    pub fn repeats(&self) -> &'static str {
        match !self.rows.is_empty() && self.rows.iter().all(Row::is_repeated) {
            true => "trainings",
            false => "splits",
        }
    }

    /// `a`, `b`, ... for the footnotes with these indices.
    pub fn letters(&self, footnotes: &[usize]) -> String {
        let letters: Vec<String> = footnotes.iter().map(|&index| letter(index)).collect();
        letters.join(",")
    }

    /// The lines that explain marks, ranks and verdicts.
    pub fn legend(&self) -> Vec<String> {
        let marks = self.comparison.as_ref().zip(self.reference());
        let marks = marks.and_then(|(comparison, column)| comparison.legend(&column.label));
        let ranks = self.ranks.as_ref().map(Ranks::legend);
        let verdicts = self.paper.map(|_| reproduction::legend());
        marks.into_iter().chain(ranks).chain(verdicts).chain(self.other_problem()).collect()
    }

    /// The line that explains the sign of rows with another problem, if there are any.
    pub fn other_problem(&self) -> Option<String> {
        let is_used = self.rows.iter().any(|row| row.other_problem);
        is_used.then(|| "≠: the problem differs from the paper's, see the warnings.".to_owned())
    }

    /// The kinds of the warnings, as words for scripts such as `chosen-on-test`.
    pub fn cautions(&self) -> Vec<&'static str> {
        let mut kinds: Vec<&str> = self.warnings.iter().map(Warning::kind).collect();
        kinds.dedup();
        kinds
    }

    /// Whether the experiment asks for `file`, a path in its results folder with `/` between folders. Data
    /// files, such as `cells.parquet`, are always written.
    pub fn asks_for(&self, file: &str) -> bool {
        let kinds: &[Rendering] = match file.split_once('/') {
            Some(("figures", figure)) if figure.starts_with("critical-difference.") => {
                &[Rendering::Figures, Rendering::CriticalDifference]
            }
            Some(("figures", _)) => &[Rendering::Figures],
            None if file.starts_with("table.") => &[Rendering::Table],
            None if file == "report.html" => &[Rendering::Report],
            _ => return true,
        };
        kinds.iter().any(|kind| self.plan.experiment.render.contains(kind))
    }
}

impl Column {
    pub(super) fn new(plan: &Plan, index: usize, reference: Option<usize>) -> Self {
        let method = &plan.methods[index];
        Self {
            index,
            method: clean(&method.method),
            label: clean(&method.label),
            scheme: method.scheme.clone(),
            points: method.points,
            is_network: method.is_network(),
            info: method.entry().map(|entry| &entry.info),
            is_reference: reference == Some(index),
            rank: None,
            wins: None,
        }
    }
}

impl Row {
    pub(super) fn new(plan: &Plan, index: usize, cells: Vec<Cell>) -> Self {
        let data = plan.datasets[index].clone();
        let shape = data.unavailable.is_none().then_some(paper::Shape {
            n_train: data.n_train,
            n_test: data.n_test,
            dims: data.dims,
            classes: data.classes.len(),
        });
        let has_networks = plan.methods.iter().any(|method| method.is_network());
        let is_trained = data.splits.len() == 1 && has_networks;
        let mut row = Self {
            index,
            dataset: clean(&data.name),
            manifest: plan.manifest(index),
            shape,
            cells,
            trainings: is_trained.then_some(plan.experiment.splits.seeds),
            own_split: plan.has_own_split(&data),
            data,
            ..Self::default()
        };
        row.place();
        row
    }

    /// Finds best and second best among the complete cells, if at least two are.
    fn place(&mut self) {
        let complete = |cell: &Cell| cell.mean.filter(|_| cell.is_complete());
        let mut means: Vec<f64> = self.cells.iter().filter_map(complete).collect();
        if means.len() < 2 {
            return;
        }
        means.sort_by(|a, b| b.total_cmp(a));
        // If two cells share the first place, there is no second.
        let (best, second) = (means[0], means[1]);
        for cell in &mut self.cells {
            cell.place = match complete(cell) {
                Some(mean) if best - mean <= stats::SAME => Place::Best,
                Some(mean) if second - mean <= stats::SAME => Place::SecondBest,
                _ => Place::Other,
            };
        }
    }

    /// Samples, dimensions and classes.
    pub fn size(&self) -> String {
        let PlannedDataset { n_train, n_test, dims, classes, .. } = &self.data;
        format!(
            "{n_train} samples for training, {n_test} for testing, {dims} dimensions, {} classes",
            classes.len()
        )
    }

    /// The largest number of splits planned for a cell.
    pub fn splits(&self) -> usize {
        let planned = self.cells.iter().map(|cell| cell.counts.planned());
        planned.max().unwrap_or(0)
    }

    /// Whether networks are trained several times on the only split.
    pub fn is_repeated(&self) -> bool {
        self.trainings.is_some_and(|trainings| trainings > 1)
    }

    /// The name, with a sign if the paper's row is about another problem.
    pub fn name(&self) -> String {
        let other = if self.other_problem { " ≠" } else { "" };
        format!("{}{other}", self.dataset)
    }
}

impl Cell {
    pub(super) fn new(records: BTreeMap<usize, Option<Record>>) -> Self {
        let mut cell = Self { records, ..Self::default() };
        for record in cell.records.values() {
            cell.counts.add(record.as_ref().map(|record| match accuracy(record) {
                None => record.status.min(Status::Failed),
                Some(_) => Status::Ok,
            }));
        }
        let fitted = cell.records().filter(|record| accuracy(record).is_some());
        let seconds: Vec<f64> = fitted.filter_map(|record| record.fit_seconds).collect();
        let accuracies: Vec<f64> = cell.values().map(|(_, accuracy)| accuracy).collect();
        cell.fit_seconds = stats::mean(&seconds);
        cell.mean = stats::mean(&accuracies);
        cell.deviation = stats::standard_deviation(&accuracies);
        cell
    }

    /// The records of all splits that have one.
    pub fn records(&self) -> impl Iterator<Item = &Record> + Clone {
        self.records.values().flatten()
    }

    /// Test accuracy in percent of every split that succeeded, by split.
    pub fn values(&self) -> impl Iterator<Item = (usize, f64)> + Clone {
        let records = self.records.iter();
        records.filter_map(|(split, record)| Some((*split, accuracy(record.as_ref()?)?)))
    }

    /// Whether every planned split succeeded.
    pub fn is_complete(&self) -> bool {
        self.counts.is_complete()
    }

    /// The word in the table if there is no mean.
    pub fn word(&self) -> &'static str {
        match self.counts {
            Tally { failed: 1.., .. } => "failed",
            Tally { skipped: 1.., .. } => "skipped",
            Tally { missing: 1.., .. } => "not run",
            _ => "–",
        }
    }

    /// `9/10`, where only some of the splits succeeded.
    pub fn share(&self) -> Option<String> {
        let partial = self.counts.done > 0 && !self.is_complete();
        partial.then(|| format!("{}/{}", self.counts.done, self.counts.planned()))
    }
}

/// The accuracy of a record, if it succeeded.
fn accuracy(record: &Record) -> Option<f64> {
    let accuracy = record.accuracy.filter(|accuracy| accuracy.is_finite());
    accuracy.filter(|_| record.status == Status::Ok)
}

/// How a record ended without an accuracy, and why, such as `failed: out of memory`.
pub fn failure(record: &Record) -> Option<String> {
    let word = match record.status {
        Status::Skipped => "skipped",
        _ => "failed",
    };
    let reason = match &record.error {
        _ if record.status == Status::Ok => "the record holds no accuracy".to_owned(),
        Some(error) => clean(error),
        None => "no reason given".to_owned(),
    };
    accuracy(record).is_none().then(|| format!("{word}: {reason}"))
}
