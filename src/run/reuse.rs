//! Cells that another experiment's results hold already: reused, not run again.
//!
//! A cell's identity says all that its numbers depend on, and neither the experiment's name nor the
//! method's label, so a record is as good in one results folder as in another.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::folder::Folder;
use super::{Options, Prepared, RunError, recorded};
use crate::ledger::{self, Contents, Record, Status};

/// Adds to `folder` what the results folder `other` knows of cells of the plan and `known` lacks;
/// says how many that were. Cells of which the experiment wants something recorded that `other` lacks are run.
pub fn take_over(
    prepared: &Prepared,
    options: &Options,
    folder: &Folder,
    known: &mut Contents,
    other: &Path,
) -> Result<usize, RunError> {
    let read_error = |source| RunError::Reuse { path: other.to_path_buf(), source };
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
    let plan = &prepared.plan;
    let included = options.part.cells(plan).into_iter();
    for cell in included
        .map(|index| &plan.cells[index])
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
