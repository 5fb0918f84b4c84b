//! Which cells are computed again, and how.

use std::collections::HashMap;

use npsvc::Seed;
use npsvc::seed::shuffle;

use super::Options;
use super::records::Finished;
use super::report::Reasons;
use crate::ledger::Record;
use crate::methods::Cost;
use crate::plan::{Prepared, cost, size};
use crate::run::{self, Refit};
use crate::wording::duration;

/// Longest time of a refit, in seconds by the estimate of the plan, unless all cells are wanted. The choice of
/// parameters may take as long again.
const LONGEST: f64 = 300.0;

/// Tuned cells of a method that repeat the choice of parameters.
const CHOICES: usize = 2;

/// What happens to the parameters of a drawn cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// They are not tuned.
    Fixed,
    /// They are chosen once more.
    Repeated,
    /// They are those of the record.
    Recorded,
}

/// A cell to be computed again.
#[derive(Clone, Debug)]
pub(super) struct Drawn<'a> {
    pub record: &'a Record,
    pub refit: Refit<'a>,
    pub choice: Choice,
    /// Its place in the plan.
    pub order: usize,
}

/// Draws cells that this machine can compute; the others are counted by reason.
pub(super) fn draw<'a>(
    finished: &[Finished<'a>],
    prepared: &Prepared,
    options: &Options,
    unchecked: &mut Reasons,
) -> Vec<Drawn<'a>> {
    let mut able = Vec::new();
    for (index, one) in finished.iter().enumerate() {
        match obstacle(one, prepared, options) {
            None => able.push(index),
            Some((of, reason)) => unchecked.add(of, reason),
        }
    }
    if let Some(sample) = options.sample {
        shuffle(&mut able, &mut Seed::root(options.seed).child("audit").rng());
        able.truncate(sample);
    }
    let mut repeated: HashMap<usize, usize> = HashMap::new();
    let mut drawn: Vec<Drawn<'a>> = Vec::new();
    for index in able {
        let Finished { cell, record, order } = finished[index];
        let threads = threads(options, record);
        let fit = cost::last_fit(prepared, cell, threads).flops;
        let (choice, work) = match choice_work(prepared, &finished[index], threads) {
            None => (Choice::Fixed, fit),
            Some(work) => {
                let count = repeated.entry(cell.method).or_default();
                let is_long = seconds(work) > LONGEST && options.sample.is_some();
                match *count < CHOICES && !is_long {
                    true => {
                        *count += 1;
                        (Choice::Repeated, fit + work)
                    }
                    false => (Choice::Recorded, fit),
                }
            }
        };
        let refit = Refit {
            cell,
            threads,
            choice: record.selection.clone().filter(|_| choice == Choice::Recorded),
            work,
        };
        drawn.push(Drawn { record, refit, choice, order });
    }
    // Refits with the same number of threads share a process, which holds one dataset at a time.
    drawn.sort_by_key(|one| (one.refit.threads, one.refit.cell.dataset, one.order));
    drawn
}

/// Threads of a refit: another number than the record's.
fn threads(options: &Options, record: &Record) -> usize {
    options.threads.unwrap_or(if record.threads == 1 { 2 } else { 1 })
}

/// Operations of the choice of a tuned cell's parameters; `None` if its parameters are fixed.
fn choice_work(prepared: &Prepared, one: &Finished<'_>, threads: usize) -> Option<f64> {
    let select = prepared.plan.experiment.select.as_ref()?;
    one.record.selection.as_ref()?;
    let [all, fit] =
        [cost::cell, cost::last_fit].map(|cost| cost(prepared, one.cell, threads).flops);
    // The estimate of a choice that all splits share is divided among them.
    let splits = prepared.plan.datasets[one.cell.dataset].splits.len();
    Some((all - fit) * if select.once { splits as f64 } else { 1.0 })
}

fn seconds(flops: f64) -> f64 {
    Cost { flops, bytes: 0.0 }.seconds()
}

/// Why this machine does not compute a cell again, after what that holds for.
fn obstacle(
    one: &Finished<'_>,
    prepared: &Prepared,
    options: &Options,
) -> Option<(String, String)> {
    let (dataset, label, ..) = prepared.plan.place(one.cell);
    if let Err(reason) = &prepared.sources[one.cell.dataset] {
        return Some((dataset.to_owned(), reason.to_string()));
    }
    let method = format!("{label} on {dataset}");
    let entry = prepared.candidates[one.cell.method].entry;
    if let Some(reason) = entry.unavailable_reason() {
        return Some((method, format!("the method {reason}")));
    }
    if one.record.device != "cpu" {
        let device = &one.record.device;
        return Some((method, format!("computed on {device}, and the audit uses the CPU")));
    }
    let cost = cost::last_fit(prepared, one.cell, threads(options, one.record));
    let (bytes, budget) = (cost.bytes, run::memory_budget());
    if bytes > budget {
        let [needs, has] = [bytes, budget].map(size);
        return Some((method, format!("a fit needs about {needs} of memory, more than {has}")));
    }
    let is_long = cost.seconds() > LONGEST && options.sample.is_some();
    is_long.then(|| {
        let time = duration(cost.seconds());
        (method, format!("a fit takes about {time}; --all includes it"))
    })
}
