//! How far a results folder is: done, failed, skipped, missing, and the time that is left.

use std::collections::HashMap;

use indexmap::IndexMap;

use crate::ledger::{Ledger, Plan, Record, Status, Tally};

/// The state of an experiment on disk.
#[derive(Clone, Debug, Default)]
pub struct FolderStatus {
    pub tally: Tally,
    /// Per dataset of the plan.
    pub datasets: Vec<Tally>,
    /// Reasons of cells that failed or could not run, with how many share each.
    pub reasons: IndexMap<String, usize>,
    /// Seconds of work that are left, from the mean time of finished cells of the same dataset and method.
    pub seconds_left: f64,
    /// Missing cells that the seconds do not count, because no cell of their dataset and method has finished.
    pub untimed: usize,
}

/// How far the ledgers of a results folder are with its plan.
pub fn folder_status(plan: &Plan, ledger: &Ledger) -> FolderStatus {
    let mut status = FolderStatus {
        tally: ledger.tally(&plan.cells),
        datasets: vec![Tally::default(); plan.datasets.len()],
        ..FolderStatus::default()
    };
    let mut seconds: HashMap<(usize, usize), (f64, usize)> = HashMap::new();
    let mut to_run = Vec::new();
    for cell in &plan.cells {
        let record = ledger.get(&cell.cell);
        status.datasets[cell.dataset].add(record.map(|record| record.status));
        let place = (cell.dataset, cell.method);
        if let Some(spent) = record.and_then(spent) {
            let (sum, count) = seconds.entry(place).or_default();
            *sum += spent;
            *count += 1;
        }
        let reason = match (record, &plan.datasets[cell.dataset].unavailable) {
            (None, None) => {
                to_run.push(place);
                continue;
            }
            (None, Some(reason)) => reason,
            (Some(Record { status: Status::Ok, .. }), _) => continue,
            (Some(record), _) => record.error.as_deref().unwrap_or("no reason on record"),
        };
        *status.reasons.entry(reason.to_owned()).or_default() += 1;
    }
    for place in &to_run {
        match seconds.get(place) {
            Some((sum, count)) => status.seconds_left += sum / *count as f64,
            None => status.untimed += 1,
        }
    }
    status
}

/// Seconds a finished cell took, its choice of parameters included.
fn spent(record: &Record) -> Option<f64> {
    // Version 0.1 has them in the selection only.
    let selection = record.selection.as_ref().map(|selection| selection.seconds);
    let select = record.select_seconds.or(selection);
    Some(record.fit_seconds? + record.predict_seconds? + select.unwrap_or_default())
}
