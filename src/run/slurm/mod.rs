//! Slurm: an experiment as job arrays of shards.
//!
//! No process stays up: a submission writes a script per array into `slurm/` of the results folder, gives it to
//! `sbatch` and notes the job in `slurm/jobs.json`. Each task runs one shard into its own ledger. [`Left`] says which
//! shards have cells left, from the ledgers and the queue; submitting again submits just these.

mod queue;
mod script;

pub use queue::{Job, Jobs, Queue};
pub use script::{Submission, array_list, quoted};

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{Ledger, Plan, Status};
use crate::plan::{Part, Prepared, estimate, shard_numbers};
use crate::spec::{Resources, Slurm};

/// Folder of scripts, logs and jobs in a results folder.
pub const FOLDER: &str = "slurm";

/// A job array: some methods of an experiment, in shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Methods of this array, as `--only` takes them; empty for all.
    pub only: Vec<String>,
    pub resources: Resources,
    /// Memory of a task in MiB.
    pub memory: u64,
    pub shards: usize,
    /// Numbers of the shards to submit.
    pub tasks: Vec<usize>,
}

/// The arrays of an experiment, one per set of methods that get the same resources, with all their
/// shards. Their methods are named only if there is more than one array.
pub fn arrays(prepared: &Prepared, slurm: &Slurm, shards: usize) -> Vec<Array> {
    let plan = &prepared.plan;
    let mut sets: BTreeMap<Resources, Vec<usize>> = BTreeMap::new();
    for (index, method) in plan.methods.iter().enumerate() {
        let own = slurm.methods.get(&method.label).or_else(|| slurm.methods.get(&method.method));
        let resources = own.map_or_else(|| slurm.task.clone(), |own| own.or(&slurm.task));
        sets.entry(resources).or_default().push(index);
    }
    let is_whole = sets.len() == 1;
    let array = |(resources, methods): (Resources, Vec<usize>)| {
        let named = methods.iter().filter(|_| !is_whole);
        Array {
            only: named.map(|&index| format!("method={}", plan.methods[index].label)).collect(),
            memory: memory(prepared, &methods, &resources),
            resources,
            shards,
            tasks: (1..=shards).collect(),
        }
    };
    sets.into_iter().map(array).collect()
}

/// MiB a task asks for: as given, or half as much again as is estimated, because Slurm kills what takes more.
fn memory(prepared: &Prepared, methods: &[usize], resources: &Resources) -> u64 {
    const MIB: f64 = 1024.0 * 1024.0;
    if let Some(given) = resources.memory.as_deref().and_then(mebibytes) {
        return given;
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

/// What is left of an experiment on a cluster: the view of `submit` and of `status`.
pub struct Left<'a> {
    pub plan: &'a Plan,
    pub known: &'a Ledger,
    pub jobs: &'a Jobs,
    pub queue: &'a Queue,
    /// Whether failed cells are left, too.
    pub retry_failed: bool,
    /// For each dataset of the plan, whether its cells can run.
    pub can_run: Vec<bool>,
}

impl Left<'_> {
    /// Of an array in so many `shards`, those with cells left that neither wait nor run.
    pub fn shards(&self, only: &[String], shards: usize) -> BTreeSet<usize> {
        let is_left = |index: usize| match self.known.status(&self.plan.cells[index].cell) {
            Some(Status::Ok) => false,
            Some(Status::Failed) => self.retry_failed,
            // The reason of a skip may be gone, such as too small a budget of memory; `run` tries again, too.
            Some(Status::Skipped) | None => self.can_run[self.plan.cells[index].dataset],
        };
        let jobs = self.jobs.jobs.iter().filter(|job| job.shards == shards && job.only == only);
        let is_queued = |shard| jobs.clone().any(|job| self.queue.state(&job.job, shard).is_some());
        let only = only.iter().filter_map(|only| only.parse().ok()).collect();
        let cells = Part { only, shard: None }.cells(self.plan).into_iter();
        let numbers = shard_numbers(self.plan, shards);
        let left: BTreeSet<_> =
            cells.filter(|&index| is_left(index)).map(|index| numbers[index]).collect();
        left.into_iter().filter(|&shard| !is_queued(shard)).collect()
    }

    /// Shards of submitted jobs that ended with cells left, with the last job each was in.
    pub fn ended(&self) -> Vec<(&Job, Vec<usize>)> {
        let mut seen = BTreeSet::new();
        let ended = self.jobs.jobs.iter().rev().map(|job| {
            let left = self.shards(&job.only, job.shards).into_iter();
            let tasks = left.filter(|task| {
                job.tasks.contains(task) && seen.insert((job.shards, &job.only, *task))
            });
            (job, tasks.collect::<Vec<_>>())
        });
        ended.filter(|(_, tasks)| !tasks.is_empty()).collect()
    }
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
