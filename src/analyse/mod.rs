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
mod study;
mod summary;
pub mod text;
mod traces;
mod warnings;

pub use crate::paper::Shape;
pub use crate::stats::{CONFIDENCE, Reproduction, SAME, mean, standard_deviation};
pub use claims::{
    Answer, Claim, OF_TRAININGS, legend as claims_legend, sentence as claims_sentence,
};
pub use findings::untested;
pub use paired::{Adjusted, Comparison, Paired};
pub use provenance::program;
pub use ranks::{Ranks, Wins};
pub use reproduction::{Versus, printed_seconds};
pub use study::{Axis, Point, Study, studies};
pub use summary::{Cell, Column, Entry, Place, Row, Summary, failure};
pub use traces::{Trace, TracePoint};
pub use warnings::Warning;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::ledger::{Plan, Record, Status};
use crate::plan;
use text::clean;
use warnings::Ignored;

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
pub fn analyse(mut plan: Plan, records: Vec<Record>, folder: &Folder<'_>) -> Summary {
    let read = |file: &str| fs::read_to_string(folder.dir?.join(file)).ok();
    let origin = read("provenance.json").and_then(|text| serde_json::from_str(&text).ok());
    let (origin, spec) = (origin.unwrap_or(Value::Null), read("spec.yaml"));
    let mut sources = BTreeMap::from([("ledger".to_owned(), folder.ledger.clone())]);
    sources.insert("inputs".to_owned(), inputs(&plan, &origin, spec.as_deref()));
    plan.experiment.name = clean(&plan.experiment.name);
    plan.experiment.title = clean(&plan.experiment.title);

    let comparison = Comparison::of(&plan);
    let reference = comparison.as_ref().map(|comparison| comparison.reference);
    let (mut rows, mut ignored) = rows(&mut plan, records);
    ignored.lines = folder.skipped_lines;
    let columns = 0..plan.methods.len();
    let mut columns: Vec<Column> =
        columns.map(|index| Column::new(&plan, index, reference)).collect();
    if let Some(reference) = reference {
        paired::test(&mut rows, reference);
        ranks::count_wins(&rows, &mut columns, reference);
    }
    let (paper, others) = reproduction::compare(&plan, &mut rows, &columns);
    if let Some((table, reference)) = paper.zip(reference) {
        claims::answer(&mut rows, &columns, table, reference);
    }
    if let Some(dir) = folder.dir {
        let files = traces::read(dir, &mut rows);
        sources.insert("traces".to_owned(), files.hash());
        ignored.files = files.damaged;
    }
    let ranks = ranks::rank(&rows, &mut columns);
    let footnotes = notes::attach(&mut rows, &columns);
    let counts = rows.iter().flat_map(|row| &row.cells).map(|cell| cell.counts).sum();
    let mut summary = Summary {
        state: provenance::state(counts),
        provenance: String::new(),
        findings: Vec::new(),
        warnings: Vec::new(),
        plan,
        origin,
        spec,
        sources,
        columns,
        rows,
        comparison,
        ranks,
        paper,
        counts,
        footnotes,
    };
    summary.provenance = provenance::provenance(&summary);
    summary.warnings = warnings::all(&summary, others, &ignored);
    summary.findings = findings::of(&summary);
    summary
}

/// The rows of the table with the records of their cells, and what belongs to none. The plan's cells are taken.
fn rows(plan: &mut Plan, records: Vec<Record>) -> (Vec<Row>, Ignored) {
    let mut records: HashMap<String, Record> =
        records.into_iter().map(|record| (record.cell.clone(), record)).collect();
    let mut table = vec![vec![BTreeMap::new(); plan.methods.len()]; plan.datasets.len()];
    let mut ignored = Ignored::default();
    for planned in std::mem::take(&mut plan.cells) {
        let record = records.remove(&planned.cell);
        let row = table.get_mut(planned.dataset);
        match row.and_then(|row| row.get_mut(planned.method)) {
            // Random splits have one training each, and several trainings have one split.
            Some(cell) => drop(cell.insert(planned.split + planned.training_seed, record)),
            None => ignored.planned += 1,
        }
    }
    if !records.is_empty() {
        ignored.records = strays(plan, records.values());
    }
    let rows = table.into_iter().enumerate().map(|(index, cells)| {
        let cells = cells.into_iter().map(Cell::new).collect();
        Row::new(plan, index, cells)
    });
    (rows.collect(), ignored)
}

/// How many records have numbers that the table ignores. A skipped cell has none, and those of earlier versions of the
/// methods have been replaced.
fn strays<'a>(plan: &Plan, records: impl Iterator<Item = &'a Record>) -> usize {
    let replaced = plan::earlier_names(plan).unwrap_or_default();
    let is_stray =
        |record: &&Record| record.status != Status::Skipped && !replaced.contains_key(&record.cell);
    records.filter(is_stray).count()
}

/// Hash of what the files depend on besides ledger and traces. The version is left out: it does not change the plan.
fn inputs(plan: &Plan, origin: &Value, spec: Option<&str>) -> String {
    let Plan { version: _, experiment, datasets, methods, cells, remembered: _ } = plan;
    let inputs = serde_json::to_vec(&(experiment, datasets, methods, cells, origin, spec));
    sha256(&inputs.unwrap_or_default())
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
