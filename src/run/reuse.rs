//! Cells that another experiment's results hold already: taken over, not run again.
//!
//! A cell's identity says all that its numbers depend on, and neither the experiment's name nor the
//! method's label, so a record is as good in one results folder as in another.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::RunError;
use super::folder::Folder;
use super::recorded;
use crate::ledger::{self, Contents, Plan, Record, Status};

/// Adds to `folder` what the results folder `other` knows of cells of the plan and `known` lacks;
/// says how many that were. Cells of which the experiment wants something recorded that `other` lacks are run.
pub fn take_over(
    plan: &Plan,
    folder: &Folder,
    known: &mut Contents,
    other: &Path,
) -> Result<usize, RunError> {
    let read_error = |source| RunError::Reuse {
        path: other.to_path_buf(),
        source,
    };
    let theirs = ledger::read_folder(other).map_err(read_error)?;
    let theirs: HashMap<&str, &Record> = theirs
        .latest()
        .into_iter()
        .filter(|record| record.status == Status::Ok)
        .map(|record| (record.cell.as_str(), record))
        .collect();
    let settled: HashSet<String> = known
        .latest()
        .into_iter()
        .filter(|record| record.status == Status::Ok)
        .map(|record| record.cell.clone())
        .collect();
    let mut taken = 0;
    for cell in plan
        .cells
        .iter()
        .filter(|cell| !settled.contains(&cell.cell))
        .filter(|cell| !recorded::is_missing(plan, cell, other))
    {
        let Some(&record) = theirs.get(cell.cell.as_str()) else {
            continue;
        };
        let record = Record {
            experiment: plan.experiment.name.clone(),
            label: plan.methods[cell.method].label.clone(),
            ..record.clone()
        };
        folder.take_trace(&cell.cell, other)?;
        folder.take_embedding(&cell.cell, other)?;
        folder.append(&record)?;
        known.records.push(record);
        taken += 1;
    }
    Ok(taken)
}
