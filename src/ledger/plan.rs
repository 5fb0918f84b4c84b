//! `plan.json`: the resolved experiment and the cells it consists of.
//!
//! Written by a run before its first cell. Together with the ledger it is all that rendering needs.

use std::path::Path;

use super::{Ledger, Status, replace_json};
use crate::plan::{Former, Plan};

impl Plan {
    /// Name of the file in a results folder.
    pub const FILE: &str = "plan.json";

    /// Reads `dir/plan.json`.
    pub fn read(dir: &Path) -> std::io::Result<Self> {
        let text = std::fs::read(dir.join(Self::FILE))?;
        let plan: Self = serde_json::from_slice(&text).map_err(std::io::Error::other)?;
        plan.check().map_err(std::io::Error::other)?;
        Ok(plan)
    }

    /// Everybody indexes by what a cell says.
    fn check(&self) -> Result<(), String> {
        for (number, cell) in self.cells.iter().enumerate() {
            let splits = self.datasets.get(cell.dataset).map_or(0, |row| row.splits.len());
            let indices = [
                ("dataset", cell.dataset, self.datasets.len()),
                ("method", cell.method, self.methods.len()),
                ("split", cell.split, splits),
            ];
            if let Some((what, index, count)) = indices.iter().find(|(_, i, count)| i >= count) {
                let file = Self::FILE;
                return Err(format!(
                    "cell {number} of {file} names {what} {index}, expected one below {count}"
                ));
            }
        }
        Ok(())
    }

    /// Writes `dir/plan.json`, whole or not at all.
    pub fn write(&self, dir: &Path) -> std::io::Result<()> {
        replace_json(&dir.join(Self::FILE), self)
    }
}

impl Former {
    /// What the results folder at `folder` remembers. A ledger that cannot be read is reported by the run that
    /// opens it.
    pub fn read(folder: &Path) -> Self {
        let plan = Plan::read(folder).ok();
        let records = Ledger::read(folder).map_or_else(|_| Vec::new(), Ledger::into_records);
        let planned = plan.as_ref().map(|plan| plan.experiment.name.clone());
        Self {
            folder: folder.to_path_buf(),
            experiment: planned.or_else(|| Some(records.first()?.experiment.clone())),
            plan,
            finished: (records.into_iter())
                .filter(|record| record.status == Status::Ok)
                .map(|record| (record.cell, record.dataset))
                .collect(),
        }
    }
}
