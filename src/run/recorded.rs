//! Whether a results folder has what an experiment wants recorded of a cell.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::ledger::{Embedding, Plan, PlannedCell, TRACES};
use crate::methods;
use crate::spec::Recording;

/// Whether `dir` lacks a trace with accuracies, or a map, that the experiment asks for and the method can give.
pub fn is_missing(plan: &Plan, cell: &PlannedCell, dir: &Path) -> bool {
    let Some(entry) = methods::find(&plan.methods[cell.method].method) else {
        return false;
    };
    // Nothing is recorded of other splits than the first.
    if cell.split != 0 || !(entry.info.learns_representation || entry.is_network) {
        return false;
    }
    let wants = |recording| plan.experiment.record.contains(&recording);
    let given = plan.experiment.methods.get(cell.method);
    let has_map = given.is_none_or(|given| given.fixed.get("network").is_none_or(has_z));
    (wants(Recording::Evolution) && !has_accuracies(dir, &cell.cell))
        || (wants(Recording::Embedding) && has_map && !Embedding::path(dir, &cell.cell).exists())
}

/// Where the trace of a cell lies in a results folder.
pub(super) fn trace_path(cell: &str) -> PathBuf {
    PathBuf::from(format!("{TRACES}/{cell}.jsonl"))
}

/// Whether the hypothesis of a network has a representation of its own.
fn has_z(network: &Value) -> bool {
    network["hypothesis"] != "phi"
}

fn has_accuracies(dir: &Path, cell: &str) -> bool {
    let text = fs::read_to_string(dir.join(trace_path(cell)));
    let first = text.ok().and_then(|text| {
        let first: Value = serde_json::from_str(text.lines().next()?).ok()?;
        Some(first)
    });
    first.is_some_and(|row| row["accuracy"].is_number())
}
