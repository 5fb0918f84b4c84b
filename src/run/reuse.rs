//! Cells that another experiment's results hold already: reused, not run again. A folder may lack what is recorded of
//! them.
//!
//! A cell's identity contains everything that its numbers depend on. The experiment's name and the method's label are
//! not part of it, so a record is as good in one results folder as in another.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::RunOptions;
use crate::error::Error;
use crate::ledger::{
    self, Embedding, Ledger, Plan, PlannedCell, Record, Status, Writer, read_present, replace,
};
use crate::plan::Prepared;
use crate::spec::Recording;

/// Adds to the ledger the finished cells of the plan that the results folder `other` has and `known` lacks, and gives
/// their number. If `other` lacks a recording of a cell that the experiment asks for, the cell runs.
pub(super) fn copy_cells(
    prepared: &Prepared,
    options: &RunOptions,
    writer: &mut Writer,
    known: &mut Ledger,
    other: &Path,
) -> Result<usize, Error> {
    let plan = &prepared.plan;
    let theirs = Ledger::read_planned(other, Some(plan))?;
    let mut reused = 0;
    for cell in options.part.cells(plan) {
        let record = theirs.get(&cell.cell).filter(|record| record.status == Status::Ok);
        let Some(record) = record.filter(|_| !known.is_done(&cell.cell)) else {
            continue;
        };
        if lacks(plan, cell, other) {
            continue;
        }
        for path in [ledger::trace_path, Embedding::path] {
            if let Some(bytes) = read_present(&path(other, &cell.cell))? {
                replace(&path(&options.out, &cell.cell), &bytes)?;
            }
        }
        let record = Record {
            experiment: plan.experiment.name.clone(),
            label: plan.methods[cell.method].label.clone(),
            ..record.clone()
        };
        writer.append(&record)?;
        known.insert(record);
        reused += 1;
    }
    Ok(reused)
}

/// Whether `dir` lacks a trace with accuracies, or a map, that the experiment asks for and the method can give.
pub(super) fn lacks(plan: &Plan, cell: &PlannedCell, dir: &Path) -> bool {
    let Some(entry) = plan.methods[cell.method].entry() else {
        return false;
    };
    // Nothing is recorded of other splits than the first.
    if cell.split != 0 || !(entry.info.learns_representation || entry.is_network) {
        return false;
    }
    let wants = |recording| plan.experiment.record.contains(&recording);
    let given = plan.experiment.methods.get(cell.method);
    let has_map = given.is_none_or(|given| given.fixed.get("network").is_none_or(has_z));
    (wants(Recording::Evolution) && !has_accuracies(dir, &cell.cell))
        || (wants(Recording::Embedding) && has_map && !Embedding::path(dir, &cell.cell).exists())
}

/// Whether the hypothesis of a network has its own representation.
fn has_z(network: &Value) -> bool {
    network["hypothesis"] != "phi"
}

fn has_accuracies(dir: &Path, cell: &str) -> bool {
    let text = fs::read_to_string(ledger::trace_path(dir, cell)).unwrap_or_default();
    let first: Option<Value> = text.lines().next().and_then(|row| serde_json::from_str(row).ok());
    first.is_some_and(|row| row["accuracy"].is_number())
}
