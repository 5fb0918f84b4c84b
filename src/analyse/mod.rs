//! From a plan and its records to a [`Summary`]: means, ranks, tests, claims, warnings. Nothing is fitted here.
//!
//! [`analyse`] fills the table in one order. Every step reads what the steps before it wrote.

mod claims;
mod findings;
mod notes;
mod paired;
pub mod protocol;
mod provenance;
mod ranks;
mod reproduction;
mod sources;
mod study;
mod summary;
pub mod text;
mod traces;
mod warnings;

pub use crate::paper::Shape;
pub use crate::stats::{Reproduction, SAME, mean, standard_deviation};
pub use claims::{Answer, Claim, OF_TRAININGS, legend as claims_legend};
pub use findings::{claims as claims_sentence, untested};
pub use paired::{Adjusted, CONFIDENCE, Comparison, Paired};
pub use ranks::{Ranks, Wins};
pub use reproduction::{Versus, printed_seconds};
pub use study::{Axis, Point, Study, studies};
pub use summary::{Cell, Column, Entry, Place, Row, Summary};
pub use traces::{Trace, TracePoint};
pub use warnings::{Warning, shape};

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::ledger::{Plan, PlannedDataset, Record, Status, Tally};
use crate::paper::{self, Unit};
use crate::spec::{DatasetOptions, EncoderSpec, EvaluateOn};
use sources::Hash;
use text::clean;

/// The results folder that a table is made from.
#[derive(Clone, Debug, Default)]
pub struct Folder<'a> {
    /// Where the files next to the ledger are; without it none are read.
    pub dir: Option<&'a Path>,
    /// How many lines of the ledgers were skipped because they are not records.
    pub skipped_lines: usize,
    /// Hash of the ledgers.
    pub ledger: String,
}

/// The table of a plan and the last record of every cell.
///
/// Only cells of the plan count. Records of other parameters, data or code are counted in a warning.
pub fn analyse(plan: &Plan, records: Vec<Record>, folder: &Folder<'_>) -> Summary {
    let mut records: HashMap<String, Record> =
        (records.into_iter()).map(|record| (record.cell.clone(), record)).collect();
    let (comparison, no_comparison) = Comparison::of(plan);
    let (table, no_table) = paper_table(plan);
    let reference = comparison.as_ref().map(|comparison| comparison.reference);
    let mut columns = columns(plan, reference);
    let mut rows = rows(plan, &mut records);
    if let Some(reference) = reference {
        rows.iter_mut().for_each(|row| paired::test(row, reference));
        paired::adjust(&mut rows);
        for (index, column) in columns.iter_mut().enumerate() {
            column.wins = ranks::wins(&rows, reference, index);
        }
    }
    if let Some(table) = table {
        for (index, row) in rows.iter_mut().enumerate() {
            compare(row, &columns, table, plan.registered(index));
        }
    }
    let is_compared = |row: &Row| row.cells.iter().any(|cell| cell.paper.is_some());
    let paper = table.filter(|_| rows.iter().any(is_compared));
    if let Some((table, reference)) = paper.zip(reference) {
        claims::answer(&mut rows, &columns, table, reference);
    }
    let mut hash = Hash::default();
    let damaged = folder.dir.map_or(0, |dir| traces::read(dir, &mut rows, &mut hash));
    let ranks = ranks::rank(&rows, &mut columns);
    let footnotes = notes::attach(&mut rows, &columns, comparison.as_ref());
    let counts: Tally = rows.iter().flat_map(|row| &row.cells).map(|cell| cell.counts).sum();
    let mut summary = Summary {
        state: provenance::state(counts),
        origin: folder.dir.map_or(Value::Null, provenance::recorded),
        spec: folder.dir.and_then(|dir| fs::read_to_string(dir.join("spec.yaml")).ok()),
        plan: without_cells(plan),
        provenance: String::new(),
        findings: Vec::new(),
        warnings: Vec::new(),
        sources: BTreeMap::new(),
        columns,
        rows,
        comparison,
        ranks,
        paper,
        counts,
        footnotes,
    };
    summary.provenance = provenance::provenance(&summary);
    summary.sources = sources(plan, &summary, folder, hash);
    // A skipped cell has no number that could be ignored.
    let strays = records.values().filter(|record| record.status != Status::Skipped).count();
    summary.warnings.extend(no_comparison.into_iter().chain(no_table));
    summary.warnings.extend(warnings::all(plan, &summary, strays));
    summary.warnings.extend((damaged > 0).then_some(Warning::DamagedFiles(damaged)));
    // A torn line whose cell was run again takes nothing from the table.
    let lines = Some(folder.skipped_lines).filter(|lines| *lines > 0 && !counts.is_complete());
    summary.warnings.extend(lines.map(Warning::DamagedLines));
    summary.findings = findings::of(&summary);
    summary
}

fn columns(plan: &Plan, reference: Option<usize>) -> Vec<Column> {
    let methods = plan.methods.iter().enumerate();
    let column = |(index, method)| Column::new(index, method, reference == Some(index));
    methods.map(column).collect()
}

/// The rows of the table with the records of their cells. What is left in `records` belongs to no cell of the plan.
fn rows(plan: &Plan, records: &mut HashMap<String, Record>) -> Vec<Row> {
    let mut table = vec![vec![BTreeMap::new(); plan.methods.len()]; plan.datasets.len()];
    for planned in &plan.cells {
        let record = records.remove(&planned.cell);
        // Cells that are not in the table are left to the warnings.
        let row = table.get_mut(planned.dataset);
        if let Some(cell) = row.and_then(|row| row.get_mut(planned.method)) {
            // Random splits have one training each, and several trainings have one split.
            cell.insert(planned.split + planned.training_seed, record);
        }
    }
    let rows = plan.datasets.iter().zip(table).enumerate();
    rows.map(|(index, (data, cells))| {
        let cells = cells.into_iter().map(Cell::new).collect();
        Row::new(index, data, plan.manifest(index), cells, trainings(plan, data))
    })
    .collect()
}

/// How often networks are trained on the only split of a dataset, if there are networks.
fn trainings(plan: &Plan, dataset: &PlannedDataset) -> Option<usize> {
    let has_networks = plan.methods.iter().any(|method| method.is_network());
    (dataset.splits.len() == 1 && has_networks).then_some(plan.experiment.splits.seeds)
}

/// Compares a row with the paper's, if its dataset is `registered` and in the paper's table.
fn compare(
    row: &mut Row,
    columns: &[Column],
    table: &'static paper::Table,
    registered: Option<(&str, &DatasetOptions)>,
) {
    let Some((name, options)) = registered else {
        return;
    };
    let Some(printed) = table.row(name) else {
        return;
    };
    let differs = |printed| row.shape.is_some_and(|ours| ours != printed);
    let is_smaller = |encoder: &EncoderSpec| encoder.size != EncoderSpec::SIZE;
    row.other_problem = options.subsample.is_some()
        || options.evaluate_on != EvaluateOn::Test
        || options.encoder.as_ref().is_some_and(is_smaller)
        || printed.shape.is_some_and(differs);
    for (cell, column) in row.cells.iter_mut().zip(columns) {
        // The paper's networks saw images, its kernel machines the features of a frozen encoder.
        let is_other = printed.features.as_deref() == Some(name) && column.is_network;
        let number = printed.cells.get(&column.method).filter(|_| !is_other);
        cell.paper = number.map(|number| Versus::new(cell, number, row.other_problem));
    }
}

/// The paper's table that the experiment reproduces, or a warning that there is none.
fn paper_table(plan: &Plan) -> (Option<&'static paper::Table>, Option<Warning>) {
    let Some(reproduces) = &plan.experiment.reproduces else {
        return (None, None);
    };
    let number = reproduces.table;
    let is_held = |table: &&paper::Table| table.unit == Unit::Percent;
    if let Some(table) = paper::table(&number.to_string()).filter(is_held) {
        return (Some(table), None);
    }
    let held = paper::tables().iter().filter(is_held).map(|table| table.table.as_str());
    (None, Some(Warning::NoTable { number, held: held.collect() }))
}

/// The plan as the table shows it: its names are one line each.
fn without_cells(plan: &Plan) -> Plan {
    let mut experiment = plan.experiment.clone();
    experiment.name = clean(&experiment.name);
    experiment.title = clean(&experiment.title);
    Plan {
        version: plan.version.clone(),
        experiment,
        datasets: plan.datasets.clone(),
        methods: plan.methods.clone(),
        cells: Vec::new(),
        remembered: Vec::new(),
    }
}

/// Hashes of everything that was read, by name.
fn sources(
    plan: &Plan,
    summary: &Summary,
    folder: &Folder<'_>,
    traced: Hash,
) -> BTreeMap<String, String> {
    let mut inputs = Hash::default();
    inputs.add_plan(plan);
    inputs.add_json("provenance", &summary.origin);
    inputs.add_json("spec", &summary.spec);
    let sources = [
        ("ledger", folder.ledger.clone()),
        ("inputs", inputs.finish()),
        ("traces", traced.finish()),
    ];
    sources.map(|(name, hash)| (name.to_owned(), hash)).into()
}
