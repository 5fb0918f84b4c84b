//! Two sentences about where a table comes from: how far its run got, and what made its numbers.

use std::path::Path;

use serde_json::Value;

use super::protocol;
use super::summary::Summary;
use super::text::{clean, counted, listed};
use crate::ledger::Tally;

/// `provenance.json` of a results folder; null if it cannot be read, since it is only told.
pub(super) fn recorded(dir: &Path) -> Value {
    let text = std::fs::read(dir.join("provenance.json"));
    text.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or(Value::Null)
}

/// How far the experiment has got.
pub(super) fn state(counts: Tally) -> String {
    let Tally { done: ok, failed, skipped, missing } = counts;
    let planned = counts.planned();
    let ended = [(failed, "failed"), (skipped, "skipped"), (missing, "not run")];
    let rest: Vec<String> = ended
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let rest = rest.join(", ");
    if planned == 0 {
        "The plan has no cells.".to_owned()
    } else if missing == planned {
        format!(
            "Nothing has run yet: none of the {} is in the ledger.",
            counted(planned, "planned cell")
        )
    } else if ok == 0 {
        format!("No cell succeeded: of {planned} planned, {rest}.")
    } else if missing > 0 {
        format!("Unfinished: of {planned} cells {ok} ok, {rest}; all numbers are preliminary.")
    } else if ok < planned {
        format!("Finished: of {planned} cells {ok} ok, {rest}.")
    } else {
        format!("Finished: all {planned} cells ok.")
    }
}

/// One line that identifies what made the numbers; no times, so rendering again changes nothing.
pub(super) fn provenance(summary: &Summary) -> String {
    let plan = &summary.plan;
    let mut builds: Vec<String> = summary
        .records()
        .map(|record| match &record.git {
            Some(git) => format!("{} ({})", clean(&record.version), clean(git)),
            None => clean(&record.version),
        })
        .collect();
    builds.sort_unstable();
    builds.dedup();
    let made = if builds.is_empty() {
        format!("planned by npsvcpp {}", clean(&plan.version))
    } else {
        format!("cells run by npsvcpp {}", listed(&builds))
    };
    format!(
        "Experiment {}, seed {}, {}; {made}.",
        summary.name(),
        plan.experiment.seed,
        clean(&protocol::splits(plan)),
    )
}
