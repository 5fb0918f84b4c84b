//! `status DIR`: the progress of a results folder, and what Slurm has of it.

use std::collections::BTreeMap;
use std::path::Path;

use npsvcpp::ledger::{self, Ledger, Plan, Tally};
use npsvcpp::run;
use npsvcpp::run::slurm::{Jobs, Left, Queue, array_list};
use npsvcpp::wording::{counted, duration};
use npsvcpp::{Error, Exit};

use super::{Failure, warn};
use crate::output::show;

/// `status DIR`
pub fn status(folder: &Path) -> Result<Exit, Failure> {
    let plan = Plan::read(folder)?;
    let known = Ledger::read_planned(folder, Some(&plan))?;
    warn(&known.warnings());
    let tally = known.tally(&plan.cells);
    let Tally { done, failed, skipped, missing } = tally;
    let total = tally.planned();
    show!("{}: {done} of {total} cells done", plan.experiment.name);
    // The first ledger is the folder's own.
    match ledger::ledgers(folder)?.len() {
        0 | 1 => {}
        2 => show!("1 shard has a ledger"),
        ledgers => show!("{} shards have a ledger", ledgers - 1),
    }
    for (index, dataset) in plan.datasets.iter().enumerate() {
        let tally = known.tally(plan.cells.iter().filter(|cell| cell.dataset == index));
        show!("  {:<16} {:>5} of {}", dataset.name, tally.done, tally.planned());
    }
    show!("failed {failed}, skipped {skipped}, missing {missing}");
    for (reason, count) in run::reasons(&plan, &known) {
        show!("  {count} x {reason}");
    }
    let (seconds, untimed_cells) = run::time_left(&plan, &known);
    let untimed = format!(", and {} whose time is unknown", counted(untimed_cells, "cell"));
    let untimed = if untimed_cells > 0 { &untimed } else { "" };
    if seconds > 0.0 {
        show!("about {} of work left on one core{untimed}", duration(seconds));
    } else if untimed_cells > 0 {
        show!("time left unknown: no cell of the same dataset and method has finished yet");
    }
    jobs(folder, &plan, &known)?;
    Ok(if done == total { Exit::Complete } else { Exit::Incomplete })
}

/// What Slurm says about the jobs of a folder, if there are any.
fn jobs(folder: &Path, plan: &Plan, known: &Ledger) -> Result<(), Error> {
    let Some(jobs) = Jobs::read(folder)? else {
        return Ok(());
    };
    let queue = match Queue::now() {
        Ok(queue) => queue,
        Err(error) => {
            show!("slurm: no answer from squeue ({error})");
            return Ok(());
        }
    };
    let states = queue.states(&jobs.jobs).into_iter();
    let states: Vec<String> = states.map(|(state, tasks)| format!("{tasks} {state}")).collect();
    let states =
        if states.is_empty() { "no task is waiting or running".into() } else { states.join(", ") };
    show!("slurm: {states}");
    let can_run = plan.datasets.iter().map(|dataset| dataset.unavailable.is_none()).collect();
    let left = Left { plan, known, jobs: &jobs, queue: &queue, retry_failed: true, can_run };
    let left = left.ended();
    let ends = if left.is_empty() { Queue::default() } else { Queue::ended(&jobs.jobs) };
    for (job, tasks) in &left {
        let mut by_end: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for &task in tasks {
            by_end.entry(ends.state(&job.job, task)).or_default().push(task);
        }
        let tasks = by_end.iter().map(|(end, tasks)| match end {
            None => array_list(tasks),
            Some(end) => format!("{} ({end})", array_list(tasks)),
        });
        let tasks = tasks.collect::<Vec<_>>().join(", ");
        show!("  shards of job {} that ended unfinished: {tasks}", job.job);
    }
    if !left.is_empty() {
        show!("  submit them again: {}", jobs.command);
    }
    Ok(())
}
