//! Slurm: an experiment as job arrays of shards.
//!
//! Nothing stays up: a submission writes a script per array into `slurm/` of the results folder, hands
//! it to `sbatch` and notes the job in `slurm/jobs.json`. Each task runs one shard into a ledger of its
//! own. What is left to do follows from the ledgers and the queue, so submitting again submits just
//! the shards that ended with work left.

mod queue;
mod script;

pub use queue::{Job, Jobs, Queue, State};
pub use script::{Submission, array_list, quoted};

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::shard::shard_numbers;
use super::{Filter, Part, Prepared, estimate};
use crate::ledger::{Contents, Plan, Status};
use crate::spec::{Resources, Slurm};

/// Folder of scripts, logs and jobs in a results folder.
pub const FOLDER: &str = "slurm";

/// A job array: some methods of an experiment, in shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Methods of this array; empty for all.
    pub only: Vec<Filter>,
    pub resources: Resources,
    /// Memory of a task in MiB.
    pub memory: u64,
    pub shards: usize,
    /// Numbers of the shards to submit.
    pub tasks: Vec<usize>,
}

/// The arrays of an experiment, one per set of methods that get the same resources, with all their
/// shards. Their methods are named only where there is more than one array.
pub fn arrays(prepared: &Prepared, slurm: &Slurm, shards: usize) -> Vec<Array> {
    let plan = &prepared.plan;
    let mut sets: BTreeMap<Resources, Vec<usize>> = BTreeMap::new();
    for (index, method) in plan.methods.iter().enumerate() {
        let own = slurm.methods.get(&method.label);
        let own = own.or_else(|| slurm.methods.get(&method.method));
        let resources = own.map_or_else(|| slurm.task.clone(), |own| own.or(&slurm.task));
        sets.entry(resources).or_default().push(index);
    }
    let is_whole = sets.len() == 1;
    let array = |(resources, methods): (Resources, Vec<usize>)| {
        let labels = methods.iter().map(|&index| plan.methods[index].label.clone());
        Array {
            only: match is_whole {
                true => Vec::new(),
                false => labels.map(Filter::Method).collect(),
            },
            memory: memory(prepared, &methods, &resources),
            resources,
            shards,
            tasks: (1..=shards).collect(),
        }
    };
    sets.into_iter().map(array).collect()
}

/// MiB a task asks for: what was said, or half as much again as is estimated, for Slurm kills what
/// takes more.
fn memory(prepared: &Prepared, methods: &[usize], resources: &Resources) -> u64 {
    const MIB: f64 = 1024.0 * 1024.0;
    if let Some(said) = resources.memory.as_deref().and_then(mebibytes) {
        return said;
    }
    let cells = methods.iter().map(|&index| estimate(prepared, None, Some(index)).bytes);
    let cell = cells.fold(0.0, f64::max);
    let data: usize =
        (prepared.sources.iter().flatten()).map(|source| source.dataset.x.len()).sum();
    let cpus = f64::from(resources.cpus.unwrap_or(1));
    ((1.5 * cpus * cell + 8.0 * data as f64) / MIB).ceil() as u64 + 512
}

/// `8G` as Slurm means it.
fn mebibytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match &text[digits.len()..] {
        "K" => Some(number.div_ceil(1024)),
        "" | "M" => Some(number),
        "G" => number.checked_mul(1024),
        "T" => number.checked_mul(1024 * 1024),
        _ => None,
    }
}

/// The shards of a division that have cells left, not counting datasets that cannot run.
pub fn unfinished(
    plan: &Plan,
    known: &Contents,
    only: &[Filter],
    shards: usize,
    retry_failed: bool,
    can_run: impl Fn(usize) -> bool,
) -> BTreeSet<usize> {
    let status: HashMap<&str, Status> =
        known.latest().into_iter().map(|record| (record.cell.as_str(), record.status)).collect();
    let is_left = |index: usize| match status.get(plan.cells[index].cell.as_str()) {
        Some(Status::Skipped) | None if !can_run(plan.cells[index].dataset) => false,
        None => true,
        Some(Status::Ok) => false,
        Some(Status::Failed) => retry_failed,
        // What was in the way may be gone, such as too small a budget of memory; `run` tries again too.
        Some(Status::Skipped) => true,
    };
    let numbers = shard_numbers(plan, shards);
    let part = Part { only: only.to_vec(), shard: None };
    let left = part.cells(plan).into_iter().filter(|&index| is_left(index));
    left.map(|index| numbers[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_slurm_means_them() {
        assert_eq!(mebibytes("500"), Some(500));
        assert_eq!(mebibytes("8G"), Some(8192));
        assert_eq!(mebibytes("1T"), Some(1 << 20));
        assert_eq!(mebibytes("1500K"), Some(2));
        assert_eq!(mebibytes("8X"), None);
        assert_eq!(mebibytes("999999999999999T"), None);
    }
}
