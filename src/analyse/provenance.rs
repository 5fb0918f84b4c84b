//! Two sentences about where a table comes from: how far its run got, and what made its numbers.

use super::protocol;
use super::summary::Summary;
use super::text::{clean, counted, listed};
use crate::ledger::{Record, Tally};

/// How far the experiment has got.
pub(super) fn state(counts: Tally) -> String {
    let Tally { done, failed, skipped, missing } = counts;
    let planned = counts.planned();
    let ended = [(done, "ok"), (failed, "failed"), (skipped, "skipped"), (missing, "not run")];
    let ended: Vec<String> = (ended.iter().filter(|(count, _)| *count > 0))
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let ended = ended.join(", ");
    if planned == 0 {
        "The plan has no cells.".to_owned()
    } else if missing == planned {
        let cells = counted(planned, "planned cell");
        format!("Nothing has run yet: none of the {cells} is in the ledger.")
    } else if done == 0 {
        format!("No cell succeeded: of {planned} planned, {ended}.")
    } else if missing > 0 {
        format!("Unfinished: of {planned} cells {ended}; all numbers are preliminary.")
    } else if done < planned {
        format!("Finished: of {planned} cells {ended}.")
    } else {
        format!("Finished: all {planned} cells ok.")
    }
}

/// One line that identifies what made the numbers; no times, so rendering again changes nothing.
pub(super) fn provenance(summary: &Summary) -> String {
    let plan = &summary.plan;
    let programs = summary.distinct(program);
    let made = match programs.is_empty() {
        true => format!("planned by npsvcpp {}", clean(&plan.version)),
        false => format!("cells run by npsvcpp {}", listed(&programs)),
    };
    let splits = clean(&protocol::splits(&summary.plan));
    format!("Experiment {}, seed {}, {splits}; {made}.", summary.name(), plan.experiment.seed)
}

/// Version and commit of the program that ran a cell.
pub fn program(record: &Record) -> String {
    match &record.git {
        Some(git) => clean(&format!("{} ({git})", record.version)),
        None => clean(&record.version),
    }
}
