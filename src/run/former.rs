//! What a results folder remembers: the plan it was computed from, and the cells that are finished.
//!
//! A plan follows from the spec, not from the data of one machine. If the data of a dataset is absent, the row of
//! the folder's plan (hash, shape, class names, splits) takes its place, so that finished cells keep their identity.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::prepare::Prepared;
use crate::ledger::{self, Plan, PlannedDataset, Record, Status};
use crate::spec::{DatasetSpec, Experiment};

/// The plan and the finished cells of a results folder.
pub struct Former {
    pub folder: PathBuf,
    /// `None` if the folder has no plan that can be read.
    pub plan: Option<Plan>,
    /// The dataset of every finished cell; read when it is first asked for.
    finished: OnceCell<HashMap<String, String>>,
}

impl Former {
    pub fn read(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            plan: Plan::read(folder).ok(),
            finished: OnceCell::new(),
        }
    }

    /// The experiment whose results the folder holds, by its plan or else by its ledger.
    pub fn experiment(&self) -> Option<String> {
        if let Some(plan) = &self.plan {
            return Some(plan.experiment.name.clone());
        }
        let mut records = self.records().into_iter();
        records.next().map(|record| record.experiment)
    }

    /// Whether the folder holds a plan or a record.
    pub fn is_empty(&self) -> bool {
        self.plan.is_none() && self.records().is_empty()
    }

    /// The row of a dataset that `experiment` describes in the same words: same data, same way to split it.
    pub fn row(&self, experiment: &Experiment, spec: &DatasetSpec) -> Option<PlannedDataset> {
        let plan = self.plan.as_ref()?;
        let index = (plan.experiment.datasets.iter()).position(|former| former == spec)?;
        let row = plan.datasets.get(index)?;
        let (former, splits) = (&plan.experiment.splits, &experiment.splits);
        let is_same = row.unavailable.is_none()
            && row.name == spec.name()
            && plan.experiment.seed == experiment.seed
            && former.draw_alike(splits);
        if !is_same {
            return None;
        }
        let mut row = row.clone();
        // A dataset with its own split has that one, however many are asked for.
        if row.splits.len() == former.repeats {
            row.splits.truncate(splits.repeats);
            row.splits
                .extend((row.splits.len()..splits.repeats).map(unknown_split));
        }
        Some(row)
    }

    pub fn is_finished(&self, cell: &str) -> bool {
        self.finished().contains_key(cell)
    }

    /// The finished cells of a dataset.
    pub fn finished_of<'a>(&'a self, dataset: &'a str) -> impl Iterator<Item = &'a str> {
        let cells = self.finished().iter();
        cells
            .filter(move |(_, of)| *of == dataset)
            .map(|(cell, _)| cell.as_str())
    }

    /// Datasets that are absent here and whose finished cells all belong to a former spec, with the number of these
    /// cells. To write the plan would take their numbers out of the table, and nothing could take their place.
    pub fn lost(&self, prepared: &Prepared) -> Vec<(String, usize)> {
        let mut lost = Vec::new();
        for (name, _) in &prepared.missing {
            let finished: Vec<&str> = self.finished_of(name).collect();
            let is_planned = |cell: &&str| prepared.plan.cells.iter().any(|c| c.cell == **cell);
            if !finished.is_empty() && !finished.iter().any(is_planned) {
                lost.push((name.clone(), finished.len()));
            }
        }
        lost
    }

    fn finished(&self) -> &HashMap<String, String> {
        self.finished.get_or_init(|| {
            let records = self.records().into_iter();
            records
                .filter(|record| record.status == Status::Ok)
                .map(|record| (record.cell, record.dataset))
                .collect()
        })
    }

    /// The latest record of every cell. A ledger that cannot be read is reported by the run that opens it.
    fn records(&self) -> Vec<Record> {
        ledger::read_folder(&self.folder).map_or_else(|_| Vec::new(), |found| found.into_latest())
    }
}

/// Takes the place of the hash of a split whose samples are not known.
pub fn unknown_split(number: usize) -> String {
    format!("split {number}")
}
