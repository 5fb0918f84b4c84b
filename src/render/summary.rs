//! The table as a model: what every exporter shows, computed once from plan and ledger.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::across::{self, Ranks, Tally};
use super::claims::{self, Claim};
use super::compare::{self, Paired};
pub use super::counts::Counts;
use super::counts::{Outcome, Outcomes};
use super::marks::{Comparison, Verdict};
use super::sidecar::{Mapped, Trace};
use super::text::{clean, letter, listed};
use super::{findings, notes, origin, protocol, reproduction, warnings};
use crate::ledger::{Plan, PlannedDataset, Record, Status};
use crate::paper::{self, Unit};
use crate::spec::{DatasetOptions, DatasetSpec, EncoderSpec, EvaluateOn, Protocol, Rendering};
use crate::stats::{self, Reproduction, Welch};

/// A results folder as a table: datasets in rows, methods in columns.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Name of the experiment.
    pub experiment: String,
    pub title: String,
    /// How the parameters were set, where the experiment says so.
    pub protocol: Option<Protocol>,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Ranks over the datasets that every method completed, if there are two or more.
    pub ranks: Option<Ranks>,
    /// The reference method against each of the others, over the datasets; one per column.
    pub tallies: Vec<Option<Tally>>,
    /// The paper's claims about its method, as far as ours can speak to them.
    pub claims: Vec<Claim>,
    /// What methods are tested against, if the experiment asks for it.
    pub comparison: Option<Comparison>,
    /// The table of the paper that stands beside ours; only if they have a cell in common.
    pub paper: Option<&'static paper::Table>,
    /// Over all cells of the plan.
    pub counts: Counts,
    /// One sentence: how far the experiment has got.
    pub state: String,
    /// What the numbers say, in sentences, the most important first.
    pub findings: Vec<String>,
    /// Referred to by rows and cells by their index.
    pub footnotes: Vec<String>,
    /// What a reader must know before believing the table.
    pub warnings: Vec<String>,
    /// The same as words for scripts, such as `chosen-on-test`.
    pub cautions: Vec<&'static str>,
    /// What made these numbers.
    pub provenance: String,
    /// The records behind the table, in the plan's order.
    pub records: Vec<Record>,
    /// What the experiment wants written.
    pub render: Vec<Rendering>,
    /// Row and column of each record.
    places: Vec<(usize, usize)>,
    /// The plan, without its cells.
    pub plan: Plan,
    /// Traces of the first split's fits, if they were read.
    pub traces: Vec<Trace>,
    /// Maps of samples, if they were read.
    pub maps: Vec<Mapped>,
    /// `provenance.json`, as far as it was read; null if not.
    pub origin: Value,
    /// `spec.yaml`, if it was read.
    pub spec: Option<String>,
    /// Hash of the ledgers, if they were read.
    pub ledger: String,
    /// Hash of everything else that was read.
    pub inputs: String,
    /// Hash of the traces and maps that were read.
    pub traced: String,
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
    /// Whether the paper's row is about other data, a part of it, other images, or another split.
    pub other_problem: bool,
    /// For networks on a single split: how often each is trained. Values then differ by training seed
    /// and not by split.
    pub trainings: Option<usize>,
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
    /// Mean time of a fit, its choice of parameters not included.
    pub fit_seconds: Option<f64>,
    /// By the paper's paired t-test.
    pub naive: Option<Verdict>,
    /// By the test corrected for overlapping training sets.
    pub corrected: Option<Verdict>,
    /// Everything known about the difference from the reference.
    pub paired: Option<Paired>,
    pub place: Place,
    pub paper: Option<&'static paper::Cell>,
    /// Ours minus the paper's.
    pub difference: Option<f64>,
    /// Ours against the paper's, where both have a deviation.
    pub welch: Option<Welch>,
    /// What ours says about the paper's; `None` where the paper has no number.
    pub reproduction: Option<Reproduction>,
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

impl Summary {
    /// Builds the table from a plan and the latest record of each cell.
    ///
    /// Only cells of the plan count; records of others (of older parameters, data or code) are
    /// counted in a warning.
    pub fn new(plan: &Plan, records: &[&Record]) -> Self {
        Self::of(plan, records.iter().map(|record| (*record).clone()).collect())
    }

    /// As [`Summary::new`], without copies: a ledger may hold 100,000 records.
    pub(super) fn of(plan: &Plan, records: Vec<Record>) -> Self {
        let mut owned: HashMap<String, Record> =
            (records.into_iter()).map(|record| (record.cell.clone(), record)).collect();
        let by_cell: HashMap<&str, &Record> =
            (owned.iter()).map(|(cell, record)| (cell.as_str(), record)).collect();
        let outcomes = outcomes(plan, &by_cell);
        let columns = columns(plan);
        let (comparison, unknown_reference) = Comparison::of(plan, &columns);
        let (paper, unknown_table) = paper_table(plan);
        let mut rows = rows(plan, &outcomes, comparison.as_ref(), paper);
        compare::adjust(&mut rows);
        let mut footnotes =
            notes::attach(plan, &columns, comparison.as_ref(), &outcomes, &mut rows);
        let paper = paper.filter(|_| rows.iter().flat_map(|row| &row.cells).any(has_paper));
        let counts = (rows.iter().flat_map(|row| &row.cells))
            .fold(Counts::default(), |sum, cell| sum + cell.counts);
        let (places, used): (Vec<_>, Vec<_>) = (plan.cells.iter())
            .filter_map(|cell| {
                let record = owned.remove(&cell.cell)?;
                Some(((cell.dataset, cell.method), record))
            })
            .unzip();
        // A skipped cell has no number that could be ignored.
        let is_stray = |record: &&Record| record.status != Status::Skipped;
        let strays = owned.values().filter(is_stray).count();
        notes::about_fits(&columns, &places, &used, &mut rows, &mut footnotes);
        let mut summary = Self {
            experiment: clean(&plan.experiment.name),
            title: clean(&plan.experiment.title),
            protocol: plan.experiment.protocol,
            ranks: across::ranks(&rows),
            tallies: across::tallies(&rows, comparison.as_ref(), columns.len()),
            claims: claims::of(paper, &columns, comparison.as_ref(), &rows),
            findings: Vec::new(),
            cautions: Vec::new(),
            provenance: origin::provenance(plan, &used),
            state: origin::state(counts),
            columns,
            rows,
            comparison,
            paper,
            counts,
            footnotes,
            warnings: Vec::new(),
            records: used,
            render: plan.experiment.render.clone(),
            places,
            plan: without_cells(plan),
            traces: Vec::new(),
            maps: Vec::new(),
            origin: Value::Null,
            spec: None,
            ledger: String::new(),
            inputs: String::new(),
            traced: String::new(),
        };
        for text in unknown_reference.into_iter().chain(unknown_table) {
            summary.warn("unknown-name", text);
        }
        for warning in warnings::all(plan, &summary, strays) {
            summary.warn(warning.caution, warning.text);
        }
        summary.findings = findings::of(&summary);
        summary
    }

    /// Adds a warning, and the word for it.
    pub(super) fn warn(&mut self, caution: &'static str, text: String) {
        self.warnings.push(text);
        if !self.cautions.contains(&caution) {
            self.cautions.push(caution);
        }
    }

    /// The records of every row and column.
    pub fn cells(&self) -> Vec<Vec<Vec<&Record>>> {
        let mut cells = vec![vec![Vec::new(); self.columns.len()]; self.rows.len()];
        for (record, &(row, column)) in self.records.iter().zip(&self.places) {
            let cell = cells.get_mut(row).and_then(|row| row.get_mut(column));
            if let Some(cell) = cell {
                cell.push(record);
            }
        }
        cells
    }

    /// The parameters of a column's first cell that was fitted.
    pub fn parameters(&self, column: usize) -> Option<&Value> {
        let mut records = self.records.iter().zip(&self.places);
        let fitted =
            records.find(|(record, place)| place.1 == column && record.status == Status::Ok);
        fitted.map(|(record, _)| &record.params)
    }

    /// What means and deviations are over: splits, or trainings of networks on a dataset's own split.
    pub(super) fn repeats(&self) -> &'static str {
        let is_repeated = |row: &Row| row.trainings.is_some_and(|trainings| trainings > 1);
        match !self.rows.is_empty() && self.rows.iter().all(is_repeated) {
            true => "trainings",
            false => "splits",
        }
    }

    /// The title, or the experiment's name if it has none.
    pub fn heading(&self) -> &str {
        if self.title.is_empty() { &self.experiment } else { &self.title }
    }

    /// `a`, `b`, ... for the footnotes with these indices.
    pub(super) fn letters(&self, footnotes: &[usize]) -> String {
        let letters: Vec<String> = footnotes.iter().map(|&index| letter(index)).collect();
        letters.join(",")
    }

    /// The lines that explain marks, ranks and verdicts.
    pub fn legend(&self) -> Vec<String> {
        let marks = self.comparison.as_ref().and_then(|comparison| {
            let label = &self.columns.get(comparison.reference)?.label;
            comparison.legend(label)
        });
        let ranks = self.ranks.as_ref().map(Ranks::legend);
        let verdicts = self.paper.map(|_| reproduction::legend());
        marks.into_iter().chain(ranks).chain(verdicts).collect()
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
            trainings: None,
            no_results: None,
            footnotes: Vec::new(),
        }
    }

    /// The largest number of splits planned for a cell.
    pub fn splits(&self) -> usize {
        let planned = self.cells.iter().map(|cell| cell.counts.planned());
        planned.max().unwrap_or(0)
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
                Some(mean) if best - mean <= stats::SAME => Place::Best,
                Some(mean) if second - mean <= stats::SAME => Place::SecondBest,
                _ => Place::Other,
            };
        }
    }

    /// Adds the paper's numbers for a dataset of the registry.
    fn set_beside(
        &mut self,
        paper: Option<&'static paper::Table>,
        registered: Option<(&str, &DatasetOptions)>,
        plan: &Plan,
    ) {
        let Some((name, options)) = registered else {
            return;
        };
        let Some(row) = paper.and_then(|table| table.row(name)) else {
            return;
        };
        let differs = |printed| self.shape.is_some_and(|ours| ours != printed);
        let is_smaller = |encoder: &EncoderSpec| encoder.size != EncoderSpec::SIZE;
        self.other_problem = options.subsample.is_some()
            || options.evaluate_on != EvaluateOn::Test
            || options.encoder.as_ref().is_some_and(is_smaller)
            || row.shape.is_some_and(differs);
        for (cell, method) in self.cells.iter_mut().zip(&plan.methods) {
            // The paper's networks saw images, its kernel machines the features of a frozen encoder.
            let is_other =
                row.features.as_deref() == Some(name) && protocol::is_network(&method.method);
            cell.paper = row.cells.get(&method.method).filter(|_| !is_other);
            reproduction::judge(cell, self.other_problem);
        }
    }
}

impl Cell {
    fn new(outcomes: &BTreeMap<usize, Outcome>) -> Self {
        let mut counts = Counts::default();
        let mut values = BTreeMap::new();
        let mut seconds = Vec::new();
        for (&split, outcome) in outcomes {
            counts.count(outcome);
            if let Outcome::Ok(accuracy, taken) = outcome {
                values.insert(split, *accuracy);
                seconds.extend(*taken);
            }
        }
        let accuracies: Vec<f64> = values.values().copied().collect();
        Self {
            counts,
            mean: stats::mean(&accuracies),
            deviation: stats::standard_deviation(&accuracies),
            fit_seconds: stats::mean(&seconds),
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

fn without_cells(plan: &Plan) -> Plan {
    Plan {
        version: plan.version.clone(),
        experiment: plan.experiment.clone(),
        datasets: plan.datasets.clone(),
        methods: plan.methods.clone(),
        cells: Vec::new(),
        remembered: Vec::new(),
    }
}

fn columns(plan: &Plan) -> Vec<Column> {
    plan.methods
        .iter()
        .map(|method| Column { method: clean(&method.method), label: clean(&method.label) })
        .collect()
}

/// Sorts the plan's cells into the table; cells that point outside it are left to the warnings.
fn outcomes(plan: &Plan, by_cell: &HashMap<&str, &Record>) -> Outcomes {
    let mut table = vec![vec![BTreeMap::new(); plan.methods.len()]; plan.datasets.len()];
    for planned in &plan.cells {
        let row = table.get_mut(planned.dataset);
        if let Some(cell) = row.and_then(|row| row.get_mut(planned.method)) {
            let record = by_cell.get(planned.cell.as_str()).copied();
            // Random splits have one training each, and several trainings have one split.
            cell.insert(planned.split + planned.training_seed, Outcome::of(record));
        }
    }
    table
}

/// How often networks are trained on the only split of a dataset, if there are networks.
fn trainings(plan: &Plan, dataset: &PlannedDataset) -> Option<usize> {
    let mut methods = plan.methods.iter();
    let has_networks = methods.any(|method| protocol::is_network(&method.method));
    (dataset.splits.len() == 1 && has_networks).then_some(plan.experiment.splits.seeds)
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
            row.trainings = trainings(plan, dataset);
            compare::row(&mut row, comparison);
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

/// The registry's name of a dataset and its options; `None` for the user's own files.
pub(super) fn registered<'a>(
    plan: &'a Plan,
    index: usize,
    dataset: &PlannedDataset,
) -> Option<(&'a str, &'a DatasetOptions)> {
    let of = |spec: &'a DatasetSpec| match spec {
        DatasetSpec::Registered { name, options } if *name == dataset.name => {
            Some((name.as_str(), options))
        }
        _ => None,
    };
    // Rows follow the spec's order; a plan of a part of the spec is searched by name.
    let specs = &plan.experiment.datasets;
    let in_place = specs.get(index).and_then(of);
    in_place.or_else(|| specs.iter().find_map(of))
}
