//! `plan.json`: the resolved experiment and the cells it consists of.
//!
//! Written by a run before its first cell. Together with the ledger it is all that rendering needs.

use std::io;
use std::path::Path;

use super::{Ledger, Status, read_present, replace_json};
use crate::error::Error;
use crate::plan::{Former, Plan};

impl Plan {
    /// Name of the file in a results folder.
    pub const FILE: &str = "plan.json";

    /// Reads `dir/plan.json`.
    pub fn read(dir: &Path) -> Result<Self, Error> {
        if !dir.is_dir() {
            return Err(Error::input(format!("there is no folder {}", dir.display())));
        }
        let path = dir.join(Self::FILE);
        let text = read_present(&path)?.ok_or_else(|| {
            Error::input(format!(
                "{} has no {}, so it is not the results folder of a run, or the file was deleted; name the folder that \
                 `npsvcpp run` wrote, such as results/<spec name>, or run its spec again",
                dir.display(),
                Self::FILE
            ))
        })?;
        let plan = serde_json::from_slice(&text).map_err(io::Error::from);
        let checked = plan.and_then(|plan: Self| plan.check().map(|()| plan));
        checked.map_err(Error::cannot("read", &path))
    }

    /// The numbers of a cell are used as indices without another check.
    fn check(&self) -> io::Result<()> {
        for (number, cell) in self.cells.iter().enumerate() {
            let splits = self.datasets.get(cell.dataset).map_or(0, |row| row.splits.len());
            let indices = [
                ("dataset", cell.dataset, self.datasets.len()),
                ("method", cell.method, self.methods.len()),
                ("split", cell.split, splits),
            ];
            if let Some((what, index, count)) = indices.iter().find(|(_, i, count)| i >= count) {
                let file = Self::FILE;
                return Err(io::Error::other(format!(
                    "cell {number} of {file} names {what} {index}, expected one below {count}"
                )));
            }
        }
        Ok(())
    }

    /// Writes `dir/plan.json`, whole or not at all.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
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
