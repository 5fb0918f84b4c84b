//! `status DIR`: how far a results folder is, and what Slurm has of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use npsvcpp::ledger::{self, Contents, Plan};
use npsvcpp::render;
use npsvcpp::run::folder_status;
use npsvcpp::run::slurm::{self, Jobs, Queue, array_list};

use super::{Ending, Failure, counted, duration, submitted};
use crate::output::{note, show};

/// `status DIR`
pub fn status(folder: &Path) -> Result<Ending, Failure> {
    let plan = render::plan(folder)?;
    let known = render::records(folder)?;
    let status = folder_status(&plan, &known);
    for warning in &known.warnings {
        note!("warning: {warning}");
    }
    let total = status.done + status.failed + status.skipped + status.missing;
    show!("{}: {} of {total} cells done", status.name, status.done);
    match shards(folder)? {
        0 => {}
        1 => show!("1 shard has a ledger"),
        several => show!("{several} shards have a ledger"),
    }
    for (dataset, done, planned) in &status.datasets {
        show!("  {dataset:<16} {done:>5} of {planned}");
    }
    show!("failed {}, skipped {}, missing {}", status.failed, status.skipped, status.missing);
    for (reason, count) in &status.reasons {
        show!("  {count} x {reason}");
    }
    let left = duration(status.seconds_left);
    let untimed = counted(status.untimed, "cell");
    match (status.seconds_left > 0.0, status.untimed) {
        (false, 0) => {}
        (true, 0) => show!("about {left} of work left on one core"),
        (false, _) => {
            show!("time left unknown: no cell of the same dataset and method has finished yet")
        }
        (true, _) => {
            show!("about {left} of work left on one core, and {untimed} whose time is unknown")
        }
    }
    jobs(folder, &plan, &known)?;
    let is_complete = status.done == total;
    Ok(if is_complete { Ending::Complete } else { Ending::Incomplete })
}

/// How many shards have a ledger.
fn shards(folder: &Path) -> Result<usize, Failure> {
    let ledgers = ledger::ledgers(folder)
        .map_err(|error| Failure::Other(format!("cannot read {}: {error}", folder.display())))?;
    // The first is the folder's own.
    Ok(ledgers.len() - 1)
}

/// What Slurm says about the jobs of a folder, where there are any.
fn jobs(folder: &Path, plan: &Plan, known: &Contents) -> Result<(), Failure> {
    let Some(jobs) = submitted(folder)? else {
        return Ok(());
    };
    let queue = match Queue::now() {
        Ok(queue) => queue,
        Err(error) => {
            show!("slurm: no answer from squeue ({error})");
            return Ok(());
        }
    };
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for (_, state) in jobs.jobs.iter().flat_map(|job| queue.of(&job.job)) {
        let state = match state.reason.as_str() {
            "" | "None" => state.state.to_lowercase(),
            reason => format!("{} ({reason})", state.state.to_lowercase()),
        };
        *states.entry(state).or_default() += 1;
    }
    let states: Vec<String> =
        (states.iter()).map(|(state, count)| format!("{count} {state}")).collect();
    show!(
        "slurm: {}",
        match states.is_empty() {
            true => "no task waits or runs".to_owned(),
            false => states.join(", "),
        }
    );
    let left = left(&jobs, &queue, plan, known);
    for (job, tasks) in &left {
        show!("  shards of job {job} that ended with work left: {tasks}");
    }
    if !left.is_empty() {
        show!("  submit them again: {}", jobs.command);
    }
    Ok(())
}

/// Per array, the shards that are out of the queue but not done, with how they ended if that is known.
fn left(jobs: &Jobs, queue: &Queue, plan: &Plan, known: &Contents) -> Vec<(String, String)> {
    let ended = Queue::ended(&jobs.jobs);
    let mut seen = BTreeSet::new();
    let mut left = Vec::new();
    // The latest job a shard was in tells how it ended.
    for job in jobs.jobs.iter().rev() {
        let can_run = |dataset: usize| plan.datasets[dataset].unavailable.is_none();
        let unfinished = slurm::unfinished(plan, known, &job.filters(), job.shards, true, can_run);
        let mut ends: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &task in &job.tasks {
            let is_new = seen.insert((job.shards, job.only.clone(), task));
            if is_new && unfinished.contains(&task) && queue.task(&job.job, task).is_none() {
                let state = ended.task(&job.job, task);
                let state = state.map_or("", |state| state.state.as_str());
                ends.entry(state).or_default().push(task);
            }
        }
        let tasks: Vec<String> = (ends.iter())
            .map(|(state, tasks)| match state.is_empty() {
                true => array_list(tasks),
                false => format!("{} ({})", array_list(tasks), state.to_lowercase()),
            })
            .collect();
        if !tasks.is_empty() {
            left.push((job.job.clone(), tasks.join(", ")));
        }
    }
    left
}
