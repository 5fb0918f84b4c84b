//! How far a results folder is: done, failed, skipped, missing, and the time that is left.

use std::collections::HashMap;

use crate::ledger::{Contents, Plan, Record, Status};

/// The state of an experiment on disk.
#[derive(Clone, Debug, Default)]
pub struct FolderStatus {
    pub name: String,
    pub done: usize,
    pub failed: usize,
    pub skipped: usize,
    pub missing: usize,
    /// Seconds of work that are left, from the mean time of finished cells of the same dataset and method.
    pub seconds_left: f64,
    /// Missing cells that the seconds do not count, because no cell of their dataset and method has finished.
    pub untimed: usize,
    /// Per dataset: name, cells done, cells planned.
    pub datasets: Vec<(String, usize, usize)>,
    /// Reasons of cells that failed or could not run, with how many share each.
    pub reasons: Vec<(String, usize)>,
}

/// How far the ledgers of a results folder are with its plan.
pub fn folder_status(plan: &Plan, contents: &Contents) -> FolderStatus {
    let latest: HashMap<&str, &Record> =
        contents.latest().into_iter().map(|record| (record.cell.as_str(), record)).collect();
    let mut status = FolderStatus {
        name: plan.experiment.name.clone(),
        datasets: plan.datasets.iter().map(|dataset| (dataset.name.clone(), 0, 0)).collect(),
        ..FolderStatus::default()
    };
    let mut seconds: HashMap<(usize, usize), (f64, usize)> = HashMap::new();
    let mut missing = Vec::new();
    for cell in &plan.cells {
        status.datasets[cell.dataset].2 += 1;
        match latest.get(cell.cell.as_str()) {
            None => match &plan.datasets[cell.dataset].unavailable {
                Some(reason) => {
                    status.missing += 1;
                    add_reason(&mut status, reason);
                }
                None => missing.push((cell.dataset, cell.method)),
            },
            Some(record) => {
                tally(&mut status, record, cell.dataset);
                if let Some(spent) = spent(record) {
                    let (sum, count) = seconds.entry((cell.dataset, cell.method)).or_default();
                    *sum += spent;
                    *count += 1;
                }
            }
        }
    }
    status.missing += missing.len();
    for key in &missing {
        match seconds.get(key) {
            Some((sum, count)) => status.seconds_left += sum / *count as f64,
            None => status.untimed += 1,
        }
    }
    status
}

fn tally(status: &mut FolderStatus, record: &Record, dataset: usize) {
    match record.status {
        Status::Ok => {
            status.done += 1;
            status.datasets[dataset].1 += 1;
            return;
        }
        Status::Failed => status.failed += 1,
        Status::Skipped => status.skipped += 1,
    }
    let reason = record.error.as_deref();
    add_reason(status, reason.unwrap_or("no reason on record"));
}

fn add_reason(status: &mut FolderStatus, reason: &str) {
    let mut known = status.reasons.iter_mut();
    match known.find(|(known, _)| known == reason) {
        Some((_, count)) => *count += 1,
        None => status.reasons.push((reason.to_owned(), 1)),
    }
}

/// Seconds a finished cell took, its choice of parameters included.
fn spent(record: &Record) -> Option<f64> {
    let selection = record.selection.as_ref().and_then(|selection| selection["seconds"].as_f64());
    Some(record.fit_seconds? + record.predict_seconds? + selection.unwrap_or(0.0))
}
