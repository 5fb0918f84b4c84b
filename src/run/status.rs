//! What is left of a results folder: why cells failed or could not run, and the time the others will take.

use std::collections::HashMap;

use indexmap::IndexMap;

use crate::ledger::{Ledger, Plan, Record, Status};

/// Reasons of cells that failed or could not run, with how many share each.
pub fn reasons<'a>(plan: &'a Plan, ledger: &'a Ledger) -> IndexMap<&'a str, usize> {
    let mut reasons = IndexMap::new();
    for cell in &plan.cells {
        let reason = match ledger.get(&cell.cell) {
            None => plan.datasets[cell.dataset].unavailable.as_deref(),
            Some(Record { status: Status::Ok, .. }) => None,
            Some(record) => record.error.as_deref().or(Some("no reason on record")),
        };
        if let Some(reason) = reason {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    reasons
}

/// Seconds of work that are left, from the mean time of finished cells of the same dataset and method, and the number
/// of missing cells that they do not count, because no such cell has finished.
pub fn time_left(plan: &Plan, ledger: &Ledger) -> (f64, usize) {
    let mut times: HashMap<(usize, usize), (f64, usize)> = HashMap::new();
    for cell in &plan.cells {
        if let Some(seconds) = ledger.get(&cell.cell).and_then(seconds) {
            let (sum, count) = times.entry((cell.dataset, cell.method)).or_default();
            *sum += seconds;
            *count += 1;
        }
    }
    let (mut seconds, mut untimed) = (0.0, 0);
    for cell in plan.cells.iter().filter(|cell| ledger.get(&cell.cell).is_none()) {
        match times.get(&(cell.dataset, cell.method)) {
            _ if plan.datasets[cell.dataset].unavailable.is_some() => {}
            Some((sum, count)) => seconds += sum / *count as f64,
            None => untimed += 1,
        }
    }
    (seconds, untimed)
}

/// What a finished cell took, its choice of parameters included.
fn seconds(record: &Record) -> Option<f64> {
    // Version 0.1 has them in the selection only.
    let selection = record.selection.as_ref().map(|selection| selection.seconds);
    let select = record.select_seconds.or(selection);
    Some(record.fit_seconds? + record.predict_seconds? + select.unwrap_or_default())
}
