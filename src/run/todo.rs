//! What a run still has to do: the cells of its part of the plan that the ledger lacks.

use std::collections::HashMap;

use super::schedule::Group;
use super::{Prepared, RunOptions, cost};
use crate::ledger::{Ledger, Status};

/// The cells a run still has to work on.
pub struct Todo {
    pub groups: Vec<Group>,
    /// Cells that do not fit into the memory, with the reason.
    pub skipped: Vec<(usize, String)>,
    pub cells: usize,
    pub resumed: usize,
    pub work: f64,
}

impl Todo {
    pub fn new(prepared: &Prepared, options: &RunOptions, known: &Ledger) -> Self {
        let plan = &prepared.plan;
        let mut todo = Self { groups: vec![], skipped: vec![], cells: 0, resumed: 0, work: 0.0 };
        let mut groups: HashMap<(usize, usize, Option<usize>), usize> = HashMap::new();
        for index in options.part.cells(plan) {
            let cell = &plan.cells[index];
            let last = known.get(&cell.cell);
            let is_settled = last.is_some_and(|record| match record.status {
                Status::Ok => true,
                Status::Failed => !options.retry_failed,
                Status::Skipped => false,
            });
            if is_settled {
                todo.resumed += 1;
                continue;
            }
            // Whether the data is here is a fact of this machine, so the ledger keeps quiet about it.
            if prepared.sources[cell.dataset].is_none() {
                continue;
            }
            let estimate = cost::cell(prepared, cell);
            let needs = estimate.bytes;
            if needs > options.memory {
                let reason = too_large(needs, options.memory);
                // What the ledger already says in the same words is not said again.
                let is_known = last.is_some_and(|record| {
                    record.status == Status::Skipped && record.error.as_ref() == Some(&reason)
                });
                if is_known {
                    todo.resumed += 1;
                } else {
                    todo.cells += 1;
                    todo.skipped.push((index, reason));
                }
                continue;
            }
            todo.cells += 1;
            todo.work += estimate.flops;
            // Networks share no kernel matrix, so several devices train them at the same time.
            let is_network = prepared.candidates[cell.method].entry.is_network;
            let apart = (is_network && options.devices.len() > 1).then_some(index);
            let key = (cell.dataset, cell.split, apart);
            let at = *groups.entry(key).or_insert_with(|| {
                let (dataset, split) = (cell.dataset, cell.split);
                todo.groups.push(Group { dataset, split, cells: Vec::new(), bytes: 0.0 });
                todo.groups.len() - 1
            });
            let group = &mut todo.groups[at];
            group.cells.push(index);
            group.bytes = group.bytes.max(needs);
        }
        todo
    }
}

fn too_large(needs: f64, budget: f64) -> String {
    format!(
        "needs about {} of memory, more than the budget of {}; raise it with --memory",
        cost::size(needs),
        cost::size(budget)
    )
}
