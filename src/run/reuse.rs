//! Cells that another experiment's results hold already: reused, not run again.
//!
//! A cell's identity says all that its numbers depend on, and neither the experiment's name nor the
//! method's label, so a record is as good in one results folder as in another.

use std::path::Path;

use super::folder::Folder;
use super::{Prepared, RunOptions, recorded};
use crate::error::Error;
use crate::ledger::{Embedding, Ledger, Record, Status};

/// Adds to `folder` what the results folder `other` knows of cells of the plan and `known` lacks;
/// says how many that were. Cells of which the experiment wants something recorded that `other` lacks are run.
pub fn take_over(
    prepared: &Prepared,
    options: &RunOptions,
    folder: &Folder,
    known: &mut Ledger,
    other: &Path,
) -> Result<usize, Error> {
    let read_error = |source| {
        let folder = other.display();
        Error::input(format!("cannot read the results to reuse in {folder}: {source}"))
    };
    let theirs = Ledger::read(other).map_err(read_error)?;
    let mut taken = 0;
    let plan = &prepared.plan;
    let included = options.part.cells(plan).into_iter();
    for cell in included
        .map(|index| &plan.cells[index])
        .filter(|cell| !recorded::is_missing(plan, cell, other))
    {
        let record = theirs.get(&cell.cell).filter(|record| record.status == Status::Ok);
        let Some(record) = record.filter(|_| !known.is_done(&cell.cell)) else {
            continue;
        };
        let record = Record {
            experiment: plan.experiment.name.clone(),
            label: plan.methods[cell.method].label.clone(),
            ..record.clone()
        };
        for file in [recorded::trace_path(&cell.cell), Embedding::path(Path::new(""), &cell.cell)] {
            folder.copy_file(&file, other)?;
        }
        folder.append(&record)?;
        known.insert(record);
        taken += 1;
    }
    Ok(taken)
}
