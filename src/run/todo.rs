//! What a run still has to do: the cells of its part of the plan that the ledger lacks.

use std::collections::HashMap;

use super::job::Job;
use super::{Prepared, RunOptions, cost};
use crate::ledger::{Ledger, PlannedCell, Status};

/// The cells a run still has to work on.
#[derive(Default)]
pub(super) struct Todo {
    pub jobs: Vec<Job>,
    /// Cells that do not fit into the memory, with the reason.
    pub skipped: Vec<(PlannedCell, String)>,
    /// Number of cells that are done.
    pub done: usize,
    /// Estimated operations of all jobs.
    pub work: f64,
}

impl Todo {
    pub fn new(prepared: &Prepared, options: &RunOptions, known: &Ledger) -> Self {
        let plan = &prepared.plan;
        let mut todo = Self::default();
        let mut jobs: HashMap<(usize, usize, Option<usize>), usize> = HashMap::new();
        for index in options.part.cells(plan) {
            let cell = &plan.cells[index];
            let last = known.get(&cell.cell);
            let is_settled = last.is_some_and(|record| match record.status {
                Status::Ok => true,
                Status::Failed => !options.retry_failed,
                Status::Skipped => false,
            });
            if is_settled {
                todo.done += 1;
                continue;
            }
            // Whether the data is here is a fact of this machine, so it is not recorded.
            if prepared.sources[cell.dataset].is_none() {
                continue;
            }
            let estimate = cost::cell(prepared, cell);
            if estimate.bytes > options.memory {
                let reason = too_large(estimate.bytes, options.memory);
                // A reason that is recorded already is not recorded again.
                let is_known = last.is_some_and(|record| record.error.as_ref() == Some(&reason));
                match is_known {
                    true => todo.done += 1,
                    false => todo.skipped.push((cell.clone(), reason)),
                }
                continue;
            }
            todo.work += estimate.flops;
            // Networks share no kernel matrix, so several devices train them at the same time.
            let is_network = prepared.candidates[cell.method].entry.is_network;
            let apart = (is_network && options.devices.len() > 1).then_some(index);
            let at = *jobs.entry((cell.dataset, cell.split, apart)).or_insert_with(|| {
                let (dataset, split) = (cell.dataset, cell.split);
                todo.jobs.push(Job { dataset, split, ..Job::default() });
                todo.jobs.len() - 1
            });
            let job = &mut todo.jobs[at];
            job.cells.push(cell.clone());
            job.bytes = job.bytes.max(estimate.bytes);
        }
        todo
    }

    /// The cells of all jobs.
    pub fn open(&self) -> impl Iterator<Item = &PlannedCell> {
        self.jobs.iter().flat_map(|job| &job.cells)
    }
}

fn too_large(needs: f64, budget: f64) -> String {
    format!(
        "needs about {} of memory, more than the budget of {}; raise it with --memory",
        cost::size(needs),
        cost::size(budget)
    )
}
