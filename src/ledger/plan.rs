//! `plan.json`: the resolved experiment and the cells it consists of.
//!
//! Written by a run before its first cell. Together with the ledger it is all that rendering needs.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::{Ledger, PlannedCell, Record, Status, read_present, replace_json};
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

/// The cells of a plan by name, to hold records against.
pub(super) struct Planned<'a> {
    pub plan: &'a Plan,
    cells: HashMap<&'a str, &'a PlannedCell>,
}

impl<'a> Planned<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        let cells = plan.cells.iter().map(|cell| (cell.cell.as_str(), cell)).collect();
        Self { plan, cells }
    }

    /// What a record says about a cell of the plan that is not true. Hashes that older records lack are not compared.
    pub fn contradiction(&self, record: &Record) -> Option<String> {
        let cell = self.cells.get(record.cell.as_str())?;
        let (row, method) = (&self.plan.datasets[cell.dataset], &self.plan.methods[cell.method]);
        let pairs = [
            ("dataset", Some(&record.dataset), &row.name),
            ("method", Some(&record.method), &method.method),
            ("split_hash", record.split_hash.as_ref(), &row.splits[cell.split]),
            ("data_hash", record.data_hash.as_ref(), &row.hash),
        ];
        pairs.into_iter().find_map(|(name, found, expected)| {
            let found = found.filter(|found| *found != expected)?;
            Some(format!(
                "a record whose `{name}` is {found}, expected {expected} as {} has it for its cell",
                Plan::FILE
            ))
        })
    }
}

impl Former {
    /// What the results folder at `folder` remembers. A ledger that cannot be read is reported by the run that
    /// opens it.
    pub fn read(folder: &Path) -> Self {
        let plan = Plan::read(folder).ok();
        let ledger = Ledger::read_planned(folder, plan.as_ref());
        let records = ledger.map_or_else(|_| Vec::new(), Ledger::into_records);
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
