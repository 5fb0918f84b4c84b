//! Slurm: an experiment as job arrays of shards.
//!
//! No process has to keep running: a submission writes a script per array into `slurm/` of the results folder, gives it to
//! `sbatch` and notes the job in `slurm/jobs.json`. Each task runs one shard into its own ledger. [`Left`] finds the
//! shards that have cells left, from the ledgers and the queue; submitting again submits just these.

mod queue;
mod script;

pub use queue::{Job, Jobs, Queue};
pub use script::{Submission, array_list, quoted};

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{Ledger, Plan, PlannedCell};
use crate::plan::{Filter, Prepared, estimate, with_shard};
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
    let cells = prepared.plan.cells.iter().filter(|cell| methods.contains(&cell.method));
    let threads = resources.cpus.map_or(1, |cpus| cpus as usize);
    let cell = estimate(prepared, cells, threads).bytes;
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
    /// The shards of an array that have cells left and neither wait nor run, out of this number of `shards`.
    pub fn shards(&self, only: &[String], shards: usize) -> BTreeSet<usize> {
        let is_left = |cell: &PlannedCell| {
            self.can_run[cell.dataset] && !self.known.is_settled(&cell.cell, self.retry_failed)
        };
        let jobs = self.jobs.jobs.iter().filter(|job| job.shards == shards && job.only == only);
        let is_queued = |shard| jobs.clone().any(|job| self.queue.state(&job.job, shard).is_some());
        let only: Vec<Filter> = only.iter().filter_map(|only| only.parse().ok()).collect();
        let left = with_shard(self.plan, shards)
            .filter(|(_, cell)| Filter::keep(&only, self.plan, cell) && is_left(cell));
        let left: BTreeSet<usize> = left.map(|(shard, _)| shard).collect();
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
