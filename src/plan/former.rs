//! What a results folder remembers: the plan it was computed from, and the cells that are finished.
//!
//! A plan follows from the spec, not from the data of one machine. If the data of a dataset is absent, the row of
//! the folder's plan (hash, shape, class names, splits) takes its place, so that finished cells keep their identity.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::{Part, Plan, PlannedCell, PlannedDataset, Prepared, Remembered};
use crate::spec::{DatasetSpec, Experiment};

/// The plan and the finished cells of a results folder.
pub struct Former {
    pub folder: PathBuf,
    /// The experiment whose results it holds, by its plan or else by its ledger; `None` if it has neither.
    pub experiment: Option<String>,
    /// `None` if the folder has no plan that can be read.
    pub plan: Option<Plan>,
    /// The dataset of every finished cell.
    pub finished: HashMap<String, String>,
}

impl Former {
    /// The row of a dataset that `experiment` describes in the same words: same data, same way to split it.
    pub fn row(&self, experiment: &Experiment, spec: &DatasetSpec) -> Option<PlannedDataset> {
        let known = self.plan.iter().flat_map(Plan::known_datasets);
        let mut known: Vec<Remembered> = known
            .filter(|known| {
                known.spec == *spec
                    && known.seed == experiment.seed
                    && known.splits.draw_alike(&experiment.splits)
                    && known.row.validation.is_some() == experiment.chooses_on_validation()
            })
            .collect();
        // The plan's own row is the first, but a former spec may have had more splits of the same data.
        let hash = known.first()?.row.hash.clone();
        known.retain(|known| known.row.hash == hash);
        let most = known.into_iter().rev().max_by_key(|known| known.row.splits.len())?;
        let Remembered { splits, mut row, .. } = most;
        // A dataset with its own split has that one, however many are asked for.
        if !row.has_own_split(&splits) {
            let repeats = experiment.splits.repeats;
            row.splits.truncate(repeats);
            row.splits.extend((row.splits.len()..repeats).map(unknown_split));
        }
        Some(row)
    }

    pub fn is_finished(&self, cell: &str) -> bool {
        self.finished.contains_key(cell)
    }

    /// The finished cells of a dataset.
    pub fn finished_of<'a>(&'a self, dataset: &'a str) -> impl Iterator<Item = &'a str> {
        let cells = self.finished.iter();
        cells.filter(move |(_, of)| *of == dataset).map(|(cell, _)| cell.as_str())
    }

    /// Finished cells that are not in the plan any more: all of them, and those that `part` does not compute again.
    pub fn leaving(&self, prepared: &Prepared, part: &Part) -> (usize, usize) {
        let plan = &prepared.plan;
        let Some(former) = self.plan.as_ref().filter(|former| !former.describes(plan)) else {
            return (0, 0);
        };
        // Changed data and methods have their own messages, and their numbers stay until they are computed again.
        let changed = prepared.changed.rows.keys().map(|&index| &plan.datasets[index].name);
        let changed: HashSet<&String> = changed.collect();
        let shown = prepared.plan_with(&prepared.changed);
        let planned = plan.cells.iter().chain(&shown.cells);
        let planned: HashSet<&String> = planned.map(|cell| &cell.cell).collect();
        let mut skipped = plan.by_place();
        for cell in part.cells(plan) {
            skipped.remove(&plan.place(cell));
        }
        let leaving = former.cells.iter().filter(|cell| {
            !planned.contains(&cell.cell)
                && !changed.contains(&former.datasets[cell.dataset].name)
                && self.is_finished(&cell.cell)
        });
        let for_good = leaving.clone().filter(|cell| skipped.contains_key(&former.place(cell)));
        (leaving.count(), for_good.count())
    }

    /// Finished cells of an absent dataset that the spec describes in other words than before. Writing the plan
    /// would remove their numbers from the table, and nothing could replace them.
    pub fn lost(&self, dataset: &str, plan: &Plan) -> usize {
        let Some(former) = &self.plan else {
            return self.finished_of(dataset).count();
        };
        let places = former.by_place();
        let cells = plan.cells.iter().filter(|cell| plan.datasets[cell.dataset].name == dataset);
        let is_lost = |cell: &&PlannedCell| {
            let was = places.get(&plan.place(cell));
            was.is_some_and(|was| self.is_finished(&was.cell) && was.cell != cell.cell)
        };
        cells.filter(is_lost).count()
    }
}

/// Takes the place of the hash of a split whose samples are not known.
pub fn unknown_split(number: usize) -> String {
    format!("split {number}")
}
