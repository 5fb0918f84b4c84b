//! Running an experiment: plan -> cells -> ledger. Running again resumes.

mod description;
mod embedding;
mod evaluate;
mod export;
mod folder;
mod fresh;
mod grid;
pub mod host;
mod job;
mod network;
mod queue;
mod refit;
mod reuse;
mod select;
mod session;
pub mod slurm;
mod status;
mod worker;

pub use description::{describe as write_plan, wrong_splits};
pub use export::{INDEX as EXPORT_INDEX, export_splits};
pub use fresh::{compare, is_set_aside, set_aside, take_set_aside};
pub use network::require_device;
pub use refit::{Refit, Refits, expected};
pub use status::{reasons, time_left};
pub use worker::{Isolation, serve};

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::error::Error;
use crate::event::{Event, Events};
use crate::ledger::{Ledger, Status, Tally, provenance};
use crate::memory;
use crate::plan::{self, Kept, Part, Prepared};
use folder::Folder;
use queue::{Queue, Todo};
use session::{Session, State};

/// How to run, all defaults resolved.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Results folder.
    pub out: PathBuf,
    /// Jobs in parallel, at most.
    pub jobs: usize,
    /// Threads of each job; `None` divides the cores among the jobs that run.
    pub threads: Option<usize>,
    /// Memory of all jobs together, in bytes.
    pub memory: f64,
    /// The part of the plan that is to be run.
    pub part: Part,
    /// Run cells again whose last record is a failure.
    pub retry_failed: bool,
    /// Stop at the first failure.
    pub fail_fast: bool,
    /// Results folders of other experiments, whose cells are reused if they are the same.
    pub reuse: Vec<PathBuf>,
    /// Run cells in child processes.
    pub isolation: Option<Isolation>,
    /// What networks are trained on, `cpu` or `cuda:N`; at least one. Each of several has a child process, so there
    /// must be an isolation.
    pub devices: Vec<String>,
}

impl RunOptions {
    /// Where networks under training are kept: `<cell>.safetensors` and, behind an encoder that is trained no longer,
    /// `<cell>.head.safetensors`.
    fn checkpoints(&self) -> PathBuf {
        self.out.join("checkpoints")
    }
}

/// Bytes of memory that jobs may use: four fifths of what is available, if that is known.
pub fn memory_budget() -> f64 {
    memory::budget().map_or(f64::INFINITY, |bytes| bytes as f64)
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// Cells of the part that was asked for; those of absent data that are not done are counted in `cannot_run`.
    pub tally: Tally,
    /// Datasets of the plan that are not on this machine or cannot be used, with the number of their cells that are
    /// not done.
    pub cannot_run: BTreeMap<usize, usize>,
    /// One sentence per line of the ledgers that was set aside and whose cell has no other record.
    pub warnings: Vec<String>,
}

/// Runs what the ledger of `options.out` lacks. When `interrupted` becomes true, the running cells are finished
/// and recorded.
pub fn run(
    prepared: &Prepared,
    options: &RunOptions,
    events: Events<'_>,
    interrupted: &AtomicBool,
) -> Result<Outcome, Error> {
    let mut folder = Folder::open(&options.out, options.part.name())?;
    let mut known = Ledger::read_planned(&options.out, Some(&prepared.plan))?;
    let mut reused = 0;
    for other in &options.reuse {
        let cells = reuse::copy_cells(prepared, options, &mut folder.ledger, &mut known, other)?;
        events(Event::Reused { cells, from: other });
        reused += cells;
    }
    let todo = Todo::new(prepared, options, &known);
    let done = prepared.plan.cells.iter().filter(|cell| known.is_done(&cell.cell));
    let unrecorded = done.filter(|cell| reuse::lacks(&prepared.plan, cell, &options.out));
    events(Event::Unrecorded { cells: unrecorded.count() });
    let plan = &prepared.plan;
    // Datasets of which the run includes a cell.
    let included: BTreeSet<usize> = options.part.cells(plan).map(|cell| cell.dataset).collect();
    let mut kept = kept(prepared, &included, &known);
    let (before, shown) = description::write_plan(&options.out, prepared, &mut kept)?;
    provenance::repair(&options.out, &shown, &known)?;
    if let Some(before) = before.filter(|before| !before.describes(&prepared.plan)) {
        let is_known = |cell: &str| known.get(cell).is_some();
        for why in plan::causes(&before, prepared, todo.open(), is_known) {
            events(Event::Rerun { why: &why });
        }
    }
    let cells = todo.open().count() + todo.skipped.len();
    events(Event::Begin { cells, done: todo.done, work: todo.work });
    let jobs = options.jobs.clamp(1, todo.jobs.len().max(1));
    let threads = options.threads.unwrap_or_else(|| (host::cores() / jobs).max(1));
    let entry = Some(provenance_entry(prepared, &included, jobs, threads));
    let session = Session {
        prepared,
        options,
        events,
        interrupted,
        jobs,
        threads,
        queue: Queue::new(todo.jobs, options.memory),
        state: Mutex::new(State { folder, ledger: known, kept, entry }),
    };
    let worked = session.work(reused > 0, todo.skipped);
    // One that has files in it stays.
    let _ = std::fs::remove_dir(options.checkpoints());
    events(Event::End);
    worked?;
    let state = &mut *lock(&session.state);
    state.folder.ledger.sync()?;
    let (tally, cannot_run) = count(prepared, options, &state.ledger);
    Ok(Outcome { tally, cannot_run, warnings: state.ledger.warnings() })
}

/// What the folder keeps: numbers that would be computed in another way now, of which there is no new one yet, and those of
/// datasets that this run does not include.
fn kept(prepared: &Prepared, included: &BTreeSet<usize>, known: &Ledger) -> Kept {
    let mut kept = prepared.changed.clone();
    let cells = prepared.plan.cells.iter().filter(|cell| included.contains(&cell.dataset));
    for cell in cells.filter(|cell| known.is_done(&cell.cell)) {
        kept.give_way_to(cell);
    }
    kept
}

/// The entry of a run that begins now in `runs` of the provenance.
fn provenance_entry(
    prepared: &Prepared,
    included: &BTreeSet<usize>,
    jobs: usize,
    threads: usize,
) -> Value {
    let datasets = included.iter().filter(|&&index| prepared.sources[index].is_ok());
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "git": host::commit(),
        "started": job::timestamp(SystemTime::now()),
        "machine": {
            "host": host::pseudonym(),
            "processor": host::processor(),
            "cores": host::cores(),
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
        },
        "jobs": jobs,
        "threads": threads,
        "data": provenance::hashes(datasets.map(|&index| &prepared.plan.datasets[index])),
    })
}

/// How the planned cells ended, and how many of each dataset cannot run.
fn count(
    prepared: &Prepared,
    options: &RunOptions,
    known: &Ledger,
) -> (Tally, BTreeMap<usize, usize>) {
    let (mut tally, mut absent) = (Tally::default(), BTreeMap::new());
    for cell in options.part.cells(&prepared.plan) {
        match known.status(&cell.cell) {
            None | Some(Status::Skipped) if prepared.sources[cell.dataset].is_err() => {
                *absent.entry(cell.dataset).or_default() += 1;
            }
            status => tally.add(status),
        }
    }
    (tally, absent)
}

/// The threads of a job.
fn thread_pool(threads: usize) -> Result<rayon::ThreadPool, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::failed(format!("failed to start {threads} threads: {error}")))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
