//! The table as a model: what every exporter shows, computed once from plan and ledger.

use std::collections::{BTreeMap, HashMap};

use super::marks::{Comparison, Verdict};
use super::text::{clean, letter, listed};
use super::{notes, origin, warnings};
use crate::ledger::{Plan, PlannedDataset, Record, Status};
use crate::paper::{self, Unit};
use crate::spec::{DatasetSpec, Test};
use crate::stats::{self, Friedman};

/// A results folder as a table: datasets in rows, methods in columns.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Name of the experiment.
    pub experiment: String,
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Ranks over the datasets that every method completed, if there are two or more.
    pub ranks: Option<Ranks>,
    /// What methods are tested against, if the experiment asks for it.
    pub comparison: Option<Comparison>,
    /// The table of the paper that stands beside ours; only if they have a cell in common.
    pub paper: Option<&'static paper::Table>,
    /// Over all cells of the plan.
    pub counts: Counts,
    /// One sentence: how far the experiment has got.
    pub state: String,
    /// Referred to by rows and cells by their index.
    pub footnotes: Vec<String>,
    /// What a reader must know before believing the table.
    pub warnings: Vec<String>,
    /// What made these numbers.
    pub provenance: String,
    /// The records behind the table, in the plan's order.
    pub records: Vec<Record>,
}

/// A method of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Registry name.
    pub method: String,
    /// Name in the table.
    pub label: String,
}

/// A dataset of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub dataset: String,
    /// `None` if the data is not to be had.
    pub shape: Option<paper::Shape>,
    /// One per column.
    pub cells: Vec<Cell>,
    /// Whether the paper's row is about other data, a part of it, or another split.
    pub other_problem: bool,
    /// Why no split of any method succeeded, where none did.
    pub no_results: Option<String>,
    pub footnotes: Vec<usize>,
}

/// A method on a dataset.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub counts: Counts,
    /// Test accuracy in percent, by split.
    pub values: BTreeMap<usize, f64>,
    pub mean: Option<f64>,
    pub deviation: Option<f64>,
    /// By the paper's paired t-test.
    pub naive: Option<Verdict>,
    /// By the test corrected for overlapping training sets.
    pub corrected: Option<Verdict>,
    pub place: Place,
    pub paper: Option<&'static paper::Cell>,
    /// Ours minus the paper's.
    pub difference: Option<f64>,
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

/// How splits ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub ok: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Planned, but not in the ledger.
    pub missing: usize,
}

/// Average ranks over datasets, 1 being best.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// One per column.
    pub average: Vec<f64>,
    pub datasets: usize,
    /// From three methods on.
    pub friedman: Option<Friedman>,
}

impl Counts {
    pub fn planned(self) -> usize {
        self.ok + self.failed + self.skipped + self.missing
    }

    /// Whether every planned split succeeded.
    pub fn complete(self) -> bool {
        self.ok > 0 && self.ok == self.planned()
    }

    fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Ok(_) => self.ok += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
            Outcome::Missing => self.missing += 1,
        }
    }
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            ok: self.ok + other.ok,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
            missing: self.missing + other.missing,
        }
    }
}

/// What the ledger says about one split of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Ok(f64),
    Failed(String),
    Skipped(String),
    Missing,
}

impl Outcome {
    fn of(record: Option<&Record>) -> Self {
        let Some(record) = record else {
            return Self::Missing;
        };
        let reason = || match &record.error {
            Some(error) => clean(error),
            None => "no reason given".to_owned(),
        };
        match (record.status, record.accuracy) {
            (Status::Ok, Some(accuracy)) if accuracy.is_finite() => Self::Ok(accuracy),
            (Status::Ok, _) => Self::Failed("the record holds no accuracy".to_owned()),
            (Status::Failed, _) => Self::Failed(reason()),
            (Status::Skipped, _) => Self::Skipped(reason()),
        }
    }
}

/// Outcomes by row, column and split.
pub(super) type Outcomes = Vec<Vec<BTreeMap<usize, Outcome>>>;

impl Summary {
    /// Builds the table from a plan and the latest record of each cell.
    ///
    /// Only cells of the plan count; records of others (of older parameters, data or code) are
    /// counted in a warning.
    pub fn new(plan: &Plan, records: &[&Record]) -> Self {
        let by_cell: HashMap<&str, &Record> = records
            .iter()
            .map(|record| (record.cell.as_str(), *record))
            .collect();
        let outcomes = outcomes(plan, &by_cell);
        let columns = columns(plan);
        let (comparison, unknown_reference) = Comparison::of(plan, &columns);
        let (paper, unknown_table) = paper_table(plan);
        let mut rows = rows(plan, &outcomes, comparison.as_ref(), paper);
        let footnotes = notes::attach(plan, &columns, comparison.as_ref(), &outcomes, &mut rows);
        let paper = paper.filter(|_| rows.iter().flat_map(|row| &row.cells).any(has_paper));
        let counts = (rows.iter().flat_map(|row| &row.cells))
            .fold(Counts::default(), |sum, cell| sum + cell.counts);
        let used: Vec<Record> = (plan.cells.iter())
            .filter_map(|cell| by_cell.get(cell.cell.as_str()).map(|r| (*r).clone()))
            .collect();
        let mut summary = Self {
            experiment: clean(&plan.experiment.name),
            title: clean(&plan.experiment.title),
            ranks: ranks(&rows),
            provenance: origin::provenance(plan, &used),
            state: origin::state(counts),
            columns,
            rows,
            comparison,
            paper,
            counts,
            footnotes,
            warnings: unknown_reference.into_iter().chain(unknown_table).collect(),
            records: used,
        };
        let found = warnings::all(plan, &summary, by_cell.len());
        summary.warnings.extend(found);
        summary
    }

    /// `a`, `b`, ... for the footnotes with these indices.
    pub(super) fn letters(&self, footnotes: &[usize]) -> String {
        let letters: Vec<String> = footnotes.iter().map(|&index| letter(index)).collect();
        letters.join(",")
    }

    /// The lines that explain marks and ranks.
    pub fn legend(&self) -> Vec<String> {
        let marks = self.comparison.as_ref().and_then(|comparison| {
            let label = &self.columns.get(comparison.reference)?.label;
            comparison.legend(label)
        });
        let ranks = self.ranks.as_ref().map(|ranks| {
            let test = ranks.friedman.map(|test| {
                format!(
                    "; Friedman's chi-squared {:.2}, p = {:.4}",
                    test.chi2, test.p
                )
            });
            format!(
                "Average rank (1 is best) over the {} datasets that every method completed{}.",
                ranks.datasets,
                test.unwrap_or_default()
            )
        });
        marks.into_iter().chain(ranks).collect()
    }
}

impl Row {
    fn new(dataset: &PlannedDataset, outcomes: &[BTreeMap<usize, Outcome>]) -> Self {
        let shape = dataset.unavailable.is_none().then_some(paper::Shape {
            n_train: dataset.n_train,
            n_test: dataset.n_test,
            dims: dataset.dims,
            classes: dataset.classes.len(),
        });
        Self {
            dataset: clean(&dataset.name),
            shape,
            cells: outcomes.iter().map(Cell::new).collect(),
            other_problem: false,
            no_results: None,
            footnotes: Vec::new(),
        }
    }

    /// The largest number of splits planned for a cell.
    pub fn splits(&self) -> usize {
        let planned = self.cells.iter().map(|cell| cell.counts.planned());
        planned.max().unwrap_or(0)
    }

    /// Tests every method against the reference on the splits both have.
    fn compare(&mut self, comparison: Option<&Comparison>) {
        let Some(comparison) = comparison else {
            return;
        };
        let Some(reference) = self.cells.get(comparison.reference) else {
            return;
        };
        let reference = reference.values.clone();
        let test_to_train = self
            .shape
            .map(|shape| shape.n_test as f64 / shape.n_train as f64);
        for (index, cell) in self.cells.iter_mut().enumerate() {
            if index == comparison.reference {
                continue;
            }
            let differences = stats::common_differences(&reference, &cell.values);
            if comparison.tests.contains(&Test::PairedT) {
                let test = stats::paired_t(&differences);
                cell.naive = test.map(|test| comparison.judge(test));
            }
            if comparison.tests.contains(&Test::NadeauBengio) {
                let test = test_to_train.and_then(|q| stats::corrected_t(&differences, q));
                cell.corrected = test.map(|test| comparison.judge(test));
            }
        }
    }

    /// Finds best and second best among the complete cells, if at least two are.
    fn place(&mut self) {
        let complete = |cell: &Cell| cell.mean.filter(|_| cell.counts.complete());
        let mut means: Vec<f64> = self.cells.iter().filter_map(complete).collect();
        if means.len() < 2 {
            return;
        }
        means.sort_by(|a, b| b.total_cmp(a));
        // Two cells that share the first place leave no second.
        let (best, second) = (means[0], means[1]);
        for cell in &mut self.cells {
            cell.place = match complete(cell) {
                Some(mean) if mean == best => Place::Best,
                Some(mean) if mean == second => Place::SecondBest,
                _ => Place::Other,
            };
        }
    }

    /// Adds the paper's numbers for a dataset of the registry.
    fn set_beside(
        &mut self,
        paper: Option<&'static paper::Table>,
        registered: Option<(&str, Option<usize>)>,
        plan: &Plan,
    ) {
        let Some((name, subsample)) = registered else {
            return;
        };
        let Some(row) = paper.and_then(|table| table.row(name)) else {
            return;
        };
        for (cell, method) in self.cells.iter_mut().zip(&plan.methods) {
            cell.paper = row.cells.get(&method.method);
            cell.difference = cell
                .paper
                .zip(cell.mean)
                .map(|(paper, mean)| mean - paper.value);
        }
        let differs = |printed| self.shape.is_some_and(|ours| ours != printed);
        self.other_problem = subsample.is_some() || row.shape.is_some_and(differs);
    }
}

impl Cell {
    fn new(outcomes: &BTreeMap<usize, Outcome>) -> Self {
        let mut counts = Counts::default();
        let mut values = BTreeMap::new();
        for (&split, outcome) in outcomes {
            counts.count(outcome);
            if let Outcome::Ok(accuracy) = outcome {
                values.insert(split, *accuracy);
            }
        }
        let accuracies: Vec<f64> = values.values().copied().collect();
        Self {
            counts,
            mean: stats::mean(&accuracies),
            deviation: stats::standard_deviation(&accuracies),
            values,
            ..Self::default()
        }
    }

    /// What stands in the table where there is no mean.
    pub fn word(&self) -> &'static str {
        match self.counts {
            Counts { failed: 1.., .. } => "failed",
            Counts { skipped: 1.., .. } => "skipped",
            Counts { missing: 1.., .. } => "not run",
            _ => "–",
        }
    }

    /// `9/10`, where only some of the splits succeeded.
    pub fn share(&self) -> Option<String> {
        let partial = self.counts.ok > 0 && !self.counts.complete();
        partial.then(|| format!("{}/{}", self.counts.ok, self.counts.planned()))
    }

    /// The marks of both tests: the paper's, and in parentheses the corrected one.
    pub fn marks(&self) -> String {
        let mark = |verdict: &Option<Verdict>| verdict.as_ref().map(Verdict::mark);
        match (mark(&self.naive), mark(&self.corrected)) {
            (None, None) => String::new(),
            (Some(naive), None) => naive,
            (naive, Some(corrected)) => match (naive.unwrap_or_default(), corrected) {
                (naive, corrected) if naive.is_empty() && corrected.is_empty() => String::new(),
                (naive, corrected) if corrected.is_empty() => format!("{naive}(–)"),
                (naive, corrected) => format!("{naive}({corrected})"),
            },
        }
    }
}

fn has_paper(cell: &Cell) -> bool {
    cell.paper.is_some()
}

fn columns(plan: &Plan) -> Vec<Column> {
    plan.methods
        .iter()
        .map(|method| Column {
            method: clean(&method.method),
            label: clean(&method.label),
        })
        .collect()
}

/// Sorts the plan's cells into the table; cells that point outside it are left to the warnings.
fn outcomes(plan: &Plan, by_cell: &HashMap<&str, &Record>) -> Outcomes {
    let mut table = vec![vec![BTreeMap::new(); plan.methods.len()]; plan.datasets.len()];
    for planned in &plan.cells {
        let row = table.get_mut(planned.dataset);
        if let Some(cell) = row.and_then(|row| row.get_mut(planned.method)) {
            let record = by_cell.get(planned.cell.as_str()).copied();
            cell.insert(planned.split, Outcome::of(record));
        }
    }
    table
}

fn rows(
    plan: &Plan,
    outcomes: &Outcomes,
    comparison: Option<&Comparison>,
    paper: Option<&'static paper::Table>,
) -> Vec<Row> {
    (plan.datasets.iter().zip(outcomes).enumerate())
        .map(|(index, (dataset, outcomes))| {
            let mut row = Row::new(dataset, outcomes);
            row.compare(comparison);
            row.place();
            row.set_beside(paper, registered(plan, index, dataset), plan);
            row
        })
        .collect()
}

/// The paper's table that the experiment reproduces, or a warning that there is none.
fn paper_table(plan: &Plan) -> (Option<&'static paper::Table>, Option<String>) {
    let Some(reproduces) = &plan.experiment.reproduces else {
        return (None, None);
    };
    let number = reproduces.table.to_string();
    match paper::table(&number) {
        Some(table) if table.unit == Unit::Percent => (Some(table), None),
        _ => {
            let held: Vec<&str> = paper::tables()
                .iter()
                .filter(|table| table.unit == Unit::Percent)
                .map(|table| table.table.as_str())
                .collect();
            let warning = format!(
                "the experiment names Table {number} of the paper, but accuracies are held of Tables {} only",
                listed(&held)
            );
            (None, Some(warning))
        }
    }
}

/// The registry's name of a dataset and its `subsample`; `None` for files of one's own.
pub(super) fn registered<'a>(
    plan: &'a Plan,
    index: usize,
    dataset: &PlannedDataset,
) -> Option<(&'a str, Option<usize>)> {
    let of = |spec: &'a DatasetSpec| match spec {
        DatasetSpec::Registered { name, options } if *name == dataset.name => {
            Some((name.as_str(), options.subsample))
        }
        _ => None,
    };
    // Rows follow the spec's order; a plan of a part of the spec is searched by name.
    let specs = &plan.experiment.datasets;
    let in_place = specs.get(index).and_then(of);
    in_place.or_else(|| specs.iter().find_map(of))
}

fn ranks(rows: &[Row]) -> Option<Ranks> {
    let complete: Vec<Vec<f64>> = rows
        .iter()
        .filter(|row| row.cells.len() > 1 && row.cells.iter().all(|c| c.counts.complete()))
        .filter_map(|row| row.cells.iter().map(|cell| cell.mean).collect())
        .collect();
    if complete.len() < 2 {
        return None;
    }
    Some(Ranks {
        average: stats::average_ranks(&complete)?,
        datasets: complete.len(),
        friedman: stats::friedman(&complete),
    })
}
