//! Running an experiment: plan -> cells -> ledger. Running again resumes.

mod beside;
mod cell;
mod changes;
mod cost;
mod filter;
mod folder;
mod former;
mod fresh;
pub mod host;
mod identity;
mod network;
mod peak;
mod prepare;
mod provenance;
mod recorded;
mod reuse;
mod schedule;
mod select;
mod serve;
mod shard;
pub mod slurm;
mod status;
mod todo;
mod worker;

pub use cost::{Estimate, estimate, size};
pub use filter::Filter;
pub use folder::refuse_locked;
pub use former::Former;
pub use fresh::{Comparison, compare, is_set_aside, set_aside, take_set_aside};
pub use identity::planned_cells;
pub use network::{Epochs, NoDevice, require_device};
pub use prepare::{Candidates, Loading, Prepared, Source, prepare};
pub use provenance::describe as write_plan;
pub use select::{Edge, End, Selection};
pub use serve::serve;
pub use shard::{Part, Shard, group_count};
pub use status::{FolderStatus, folder_status};
pub use worker::Isolation;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use crate::ledger::{self, Contents, Plan, PlannedCell, Record, Status};
use beside::Beside;
use cell::{Bench, Choices, Circumstances};
use folder::Folder;
use peak::Peak;
use provenance::Kept;
use schedule::{Group, Queue};
use todo::Todo;
use worker::{Done, Loss, Request, Setup, Worker};

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Results folder.
    pub out: PathBuf,
    /// Groups side by side; as many as there are cores if left out.
    pub jobs: Option<usize>,
    /// Threads per group; the cores divided by the jobs if left out.
    pub threads: Option<usize>,
    /// Memory budget in bytes; four fifths of what is available if left out.
    pub memory: Option<u64>,
    /// The part of the plan that is to be run.
    pub part: Part,
    /// Run cells again whose last record is a failure.
    pub retry_failed: bool,
    /// Stop at the first failure.
    pub fail_fast: bool,
    /// Results folders of other experiments, whose cells are taken over where they are the same.
    pub reuse: Vec<PathBuf>,
    /// Run cells in processes of their own.
    pub isolation: Option<Isolation>,
    /// What networks are trained on, `cpu` or `cuda:N`; the CPU if there are none. Of several, each
    /// has a worker process, for which there must be an isolation.
    pub devices: Vec<String>,
}

/// Told of every record as it is written.
pub trait Observer: Sync {
    /// `total` cells will be worked on; `resumed` more were already in the ledger.
    fn begin(&self, total: usize, resumed: usize, work: f64);
    /// A cell ended; `work` is its share of the whole, as estimated.
    fn record(&self, record: &Record, work: f64);
    fn end(&self);
    /// Cells are run again that were done under another plan; one sentence per cause.
    fn changed(&self, _causes: &[String]) {}
    /// A network under training ended an epoch.
    fn training(&self, _training: &Training<'_>) {}
    /// Cells were reused from another results folder.
    fn reused(&self, _cells: usize, _from: &Path) {}
    /// So many cells are done, but without what the experiment wants recorded of them.
    fn unrecorded(&self, _cells: usize) {}
}

/// A network under training.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    pub cell: &'a str,
    pub dataset: &'a str,
    pub label: &'a str,
    pub split: usize,
    /// The estimated work of its cell.
    pub work: f64,
    pub epochs: Epochs,
}

/// How a run ended.
#[derive(Debug, Default)]
pub struct Outcome {
    pub done: usize,
    pub failed: usize,
    /// Cells that do not fit into the memory.
    pub skipped: usize,
    /// Datasets that are not on this machine or cannot be used, with the number of their cells that are not done.
    pub cannot_run: Vec<(String, usize)>,
    /// Cells left over: interrupted, or stopped by the first failure.
    pub left: usize,
    /// What the folder shows: the plan, with the former rows of datasets whose new data has no cell yet.
    pub plan: Option<Plan>,
    /// What the folder's ledgers hold now.
    pub contents: Contents,
    /// Hash of these ledgers.
    pub ledger: String,
    /// One sentence per line of the ledgers that was passed over.
    pub warnings: Vec<String>,
}

/// What keeps a run from being carried out.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RunError {
    #[error("failed to write to {}: {source}", .path.display())]
    #[diagnostic(help("choose a folder you can write to with --out"))]
    Output { path: PathBuf, source: io::Error },
    #[error("failed to record a cell in {}: {source}; fix this, then run the same command to continue", .path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Damaged(io::Error),
    #[error("cannot read the results to reuse in {}: {source}", .path.display())]
    Reuse { path: PathBuf, source: io::Error },
    #[error("failed to start a worker process: {0}")]
    Worker(io::Error),
    #[error("another run is writing to {}{}", .path.display(), .holder.as_ref().map_or_else(String::new, |pid| format!(" (process {pid})")))]
    #[diagnostic(help("wait for it to end, or choose another folder with --out"))]
    Locked { path: PathBuf, holder: Option<String> },
}

/// Runs what the ledger of `options.out` lacks. Sets nothing on fire when `interrupted` becomes
/// true: cells in flight are finished and recorded.
pub fn run(
    prepared: &Prepared,
    options: &Options,
    observer: &dyn Observer,
    interrupted: &AtomicBool,
) -> Result<Outcome, RunError> {
    let part = options.part.name();
    let folder = Folder::open(&options.out, part.as_deref())?;
    let mut known = folder.read()?;
    let mut reused = 0;
    for other in &options.reuse {
        let taken = reuse::take_over(prepared, options, &folder, &mut known, other)?;
        observer.reused(taken, other);
        reused += taken;
    }
    let todo = Todo::new(prepared, options, &known);
    observer.unrecorded(unrecorded(&prepared.plan, &known, &options.out));
    let mut kept = kept_rows(prepared, options, &known);
    let (before, shown) = folder.write_plan(prepared, &mut kept)?;
    folder.repair(&shown, &known)?;
    if let Some(before) = before.filter(|before| !before.describes(&prepared.plan)) {
        observer.changed(&causes(&before, &prepared.plan, &todo, &known));
    }
    let (jobs, threads) = parallelism(options, todo.groups.len());
    let circumstances = Circumstances {
        host: host::pseudonym(),
        threads,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: host::commit(),
        device: first_device(options),
        checkpoints: Some(folder.checkpoints()),
    };
    observer.begin(todo.cells, todo.resumed, todo.work);
    let isolation = options.isolation.as_ref().map(|isolation| {
        let setup = |device: &String| Setup {
            experiment: prepared.plan.experiment.clone(),
            circumstances: Circumstances { device: device.clone(), ..circumstances.clone() },
            data: isolation.data.clone(),
        };
        let setups = match options.devices.as_slice() {
            [] => vec![setup(&circumstances.device)],
            devices => devices.iter().map(setup).collect(),
        };
        (isolation, setups)
    });
    let session = Session {
        prepared,
        folder: &folder,
        circumstances,
        isolation,
        observer,
        interrupted,
        fail_fast: options.fail_fast,
        choices: known_choices(prepared, &known),
        queue: Queue::new(todo.groups, todo.budget),
        part,
        datasets: included(prepared, options),
        jobs,
        started: SystemTime::now(),
        kept: Mutex::new(kept),
        written: Mutex::default(),
        failure: Mutex::new(None),
    };
    if reused > 0 {
        session.add_run(&shown)?;
    }
    session.skip(todo.skipped)?;
    session.work(jobs, threads);
    folder.remove_checkpoints();
    observer.end();
    if let Some(error) = session.failure.into_inner().unwrap_or_else(|poison| poison.into_inner()) {
        return Err(error);
    }
    folder.sync()?;
    let mut kept = session.kept.into_inner();
    let kept = kept.as_mut().unwrap_or_else(|poison| poison.get_mut());
    let (_, shown) = folder.write_plan(prepared, kept)?;
    let written = session.written.into_inner();
    let written = written.unwrap_or_else(|poison| poison.into_inner());
    let mut outcome = count(prepared, options, &known, &written);
    outcome.plan = Some(shown);
    known.records.extend(written);
    outcome.warnings = std::mem::take(&mut known.warnings);
    outcome.contents = known;
    outcome.ledger = ledger::hash(&options.out).map_err(|source| folder.error(source))?;
    Ok(outcome)
}

/// Datasets of which the run includes a cell.
fn included(prepared: &Prepared, options: &Options) -> BTreeSet<usize> {
    let cells = options.part.cells(&prepared.plan).into_iter();
    cells.map(|index| prepared.plan.cells[index].dataset).collect()
}

/// Rows that the folder keeps although their data changed: those of which the new data has no finished cell yet, and
/// those that this run does not include.
fn kept_rows(prepared: &Prepared, options: &Options, known: &Contents) -> Kept {
    let mut kept: Kept = prepared.changed.iter().cloned().collect();
    if kept.is_empty() {
        return kept;
    }
    let finished: HashSet<&str> = (known.records.iter())
        .filter(|record| record.status == Status::Ok)
        .map(|record| record.cell.as_str())
        .collect();
    let included = included(prepared, options);
    for cell in &prepared.plan.cells {
        if included.contains(&cell.dataset) && finished.contains(cell.cell.as_str()) {
            kept.remove(&cell.dataset);
        }
    }
    kept
}

/// Cells that are done, but not with what the experiment wants recorded.
fn unrecorded(plan: &Plan, known: &Contents, dir: &Path) -> usize {
    if plan.experiment.record.is_empty() {
        return 0;
    }
    let done = known.records.iter().filter(|record| record.status == Status::Ok);
    let done: HashSet<&str> = done.map(|record| record.cell.as_str()).collect();
    let cells = plan.cells.iter().filter(|cell| done.contains(cell.cell.as_str()));
    cells.filter(|cell| recorded::is_missing(plan, cell, dir)).count()
}

/// Why cells that the ledger knew under the plan `before` are to be run again.
fn causes(before: &Plan, plan: &Plan, todo: &Todo, known: &Contents) -> Vec<String> {
    let recorded: HashSet<&str> = known.records.iter().map(|r| r.cell.as_str()).collect();
    let cells = todo.groups.iter().flat_map(|group| group.cells.iter().copied());
    changes::causes(before, plan, cells, |cell| recorded.contains(cell))
}

fn first_device(options: &Options) -> String {
    (options.devices.first()).map_or_else(|| "cpu".to_owned(), String::clone)
}

/// Jobs and threads per job: all cores, groups first.
fn parallelism(options: &Options, groups: usize) -> (usize, usize) {
    let cores = host::cores();
    let jobs = match (options.jobs, options.threads) {
        _ if options.devices.len() > 1 => options.devices.len(),
        (Some(jobs), _) => jobs,
        (None, Some(threads)) => (cores / threads.max(1)).max(1),
        (None, None) => cores,
    };
    let jobs = jobs.clamp(1, groups.max(1));
    (jobs, options.threads.unwrap_or_else(|| (cores / jobs).max(1)).max(1))
}

/// Choices made once per dataset that the ledger already holds.
fn known_choices(prepared: &Prepared, known: &Contents) -> Choices {
    let mut choices = HashMap::new();
    let once = prepared.plan.experiment.chooses_once();
    let by_cell: HashMap<&str, &Record> =
        known.latest().into_iter().map(|record| (record.cell.as_str(), record)).collect();
    for cell in prepared.plan.cells.iter().filter(|_| once) {
        let selection = by_cell
            .get(cell.cell.as_str())
            .and_then(|record| record.selection.clone())
            .and_then(|value| serde_json::from_value::<Selection>(value).ok());
        if let Some(selection) = selection {
            let slot: Arc<OnceLock<_>> = Arc::default();
            // The slot is new, so setting it cannot fail.
            let _ = slot.set(Ok(selection));
            choices.insert((cell.dataset, cell.method), slot);
        }
    }
    Mutex::new(choices)
}

/// A run in progress.
struct Session<'a> {
    prepared: &'a Prepared,
    folder: &'a Folder,
    circumstances: Circumstances,
    /// What workers are told at the start; one for each device.
    isolation: Option<(&'a Isolation, Vec<Setup>)>,
    observer: &'a dyn Observer,
    interrupted: &'a AtomicBool,
    fail_fast: bool,
    choices: Choices,
    queue: Queue,
    /// Name of the shard, if this is a run of one.
    part: Option<String>,
    /// Datasets that the run includes.
    datasets: BTreeSet<usize>,
    jobs: usize,
    started: SystemTime,
    kept: Mutex<Kept>,
    /// The records of this run, in the order of the ledger.
    written: Mutex<Vec<Record>>,
    failure: Mutex<Option<RunError>>,
}

impl Session<'_> {
    /// Records cells that cannot be started.
    fn skip(&self, skipped: Vec<(usize, String)>) -> Result<(), RunError> {
        for (index, reason) in skipped {
            let cell = &self.prepared.plan.cells[index];
            let mut record =
                cell::blank(self.prepared, cell, &self.circumstances, SystemTime::now());
            record.status = Status::Skipped;
            record.error = Some(reason);
            self.observer.record(&record, 0.0);
            self.append(cell.dataset, record)?;
        }
        Ok(())
    }

    /// Records a cell. The first one of a run adds the run to the provenance. The first finished one of a dataset
    /// whose data changed switches its row; the record is on the disk by then, so that the next run switches the row if
    /// this one is killed.
    fn append(&self, dataset: usize, record: Record) -> Result<(), RunError> {
        let mut written = self.written.lock().unwrap_or_else(|poison| poison.into_inner());
        let is_finished = record.status == Status::Ok;
        self.folder.append(&record)?;
        written.push(record);
        let mut kept = self.kept.lock().unwrap_or_else(|poison| poison.into_inner());
        if is_finished && kept.remove(&dataset).is_some() {
            self.folder.sync()?;
            self.folder.write_plan(self.prepared, &mut kept)?;
        }
        if written.len() == 1 {
            self.add_run(&self.prepared.plan_with(&kept))?;
        }
        Ok(())
    }

    fn add_run(&self, plan: &Plan) -> Result<(), RunError> {
        let datasets = self.datasets.iter();
        let datasets = datasets.filter(|index| self.prepared.sources[**index].is_some());
        let origin = provenance::Origin {
            circumstances: &self.circumstances,
            jobs: self.jobs,
            started: humantime::format_rfc3339_seconds(self.started).to_string(),
            datasets: datasets.map(|index| &self.prepared.plan.datasets[*index]).collect(),
        };
        self.folder.add_run(self.part.as_deref(), plan, &origin)
    }

    /// Works the queue off with `jobs` workers of `threads` threads each.
    fn work(&self, jobs: usize, threads: usize) {
        std::thread::scope(|scope| {
            for job in 0..jobs {
                scope.spawn(move || {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    match pool {
                        Ok(pool) => pool.install(|| self.worker(job, threads)),
                        // Without threads of its own a worker still works.
                        Err(_) => self.worker(job, 1),
                    }
                });
            }
        });
    }

    fn worker(&self, job: usize, threads: usize) {
        let mut process = (self.isolation.as_ref())
            .map(|(isolation, setups)| Worker::new(isolation, &setups[job % setups.len()]));
        while let Some(group) = self.queue.take() {
            if let Err(error) = self.work_group(&group, process.as_mut(), threads) {
                *self.failure.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(error);
                self.queue.close();
            }
            self.queue.finish(&group);
        }
    }

    fn work_group<'a>(
        &'a self,
        group: &Group,
        process: Option<&mut Worker<'a>>,
        threads: usize,
    ) -> Result<(), RunError> {
        let Some(source) = &self.prepared.sources[group.dataset] else {
            return Ok(());
        };
        let mut hands = match process {
            Some(worker) => Hands::Worker(worker),
            None => Hands::Here(Box::new(Bench::new(
                self.prepared,
                source,
                group.dataset,
                group.split,
                threads,
            ))),
        };
        for &index in &group.cells {
            if self.interrupted.load(Ordering::SeqCst) {
                self.queue.close();
                return Ok(());
            }
            let cell = &self.prepared.plan.cells[index];
            let work = cost::cell(self.prepared, cell).flops;
            let on_epoch = |epochs: Epochs| self.observe_training(cell, work, epochs);
            let done = match &mut hands {
                Hands::Here(bench) => {
                    let peak = Peak::begin(&self.queue);
                    let (mut record, beside) =
                        bench.run(cell, &self.circumstances, &self.choices, &on_epoch);
                    record.peak_mb = peak.and_then(|peak| peak.end(&self.queue));
                    Done::new(record, beside)
                }
                Hands::Worker(worker) => self.run_elsewhere(cell, worker, &on_epoch)?,
            };
            let Done { record, trace, embedding } = done;
            self.folder.write_trace(&record.cell, &trace)?;
            if let Some(embedding) = &embedding {
                self.folder.write_embedding(&record.cell, embedding)?;
            }
            let has_failed = record.status == Status::Failed;
            self.observer.record(&record, work);
            self.append(cell.dataset, record)?;
            // A training that failed can be continued with --retry-failed.
            if !has_failed {
                self.folder.remove_checkpoint(&cell.cell);
            }
            if self.fail_fast && has_failed {
                self.queue.close();
                return Ok(());
            }
        }
        Ok(())
    }

    fn observe_training(&self, cell: &PlannedCell, work: f64, epochs: Epochs) {
        self.observer.training(&Training {
            cell: &cell.cell,
            dataset: &self.prepared.plan.datasets[cell.dataset].name,
            label: &self.prepared.plan.methods[cell.method].label,
            split: cell.split,
            work,
            epochs,
        });
    }

    /// Has a cell run by a worker process; the cell fails if that is lost.
    fn run_elsewhere(
        &self,
        cell: &PlannedCell,
        worker: &mut Worker<'_>,
        on_epoch: &dyn Fn(Epochs),
    ) -> Result<Done, RunError> {
        let started = SystemTime::now();
        let request = Request {
            cell: cell.cell.clone(),
            dataset: cell.dataset,
            method: cell.method,
            split: cell.split,
            selection: self.known_choice(cell),
        };
        match worker.run(&request, on_epoch) {
            Ok(done) => {
                self.remember_choice(cell, &done.record);
                Ok(done)
            }
            Err(Loss::NoWorker(error)) => Err(RunError::Worker(error)),
            Err(Loss::Failed(reason)) => {
                let mut record = cell::blank(self.prepared, cell, &self.circumstances, started);
                record.device = worker.device().to_owned();
                record.error = Some(reason);
                Ok(Done::new(record, Beside::default()))
            }
        }
    }

    /// The choice made once for the dataset of `cell`, where there is one.
    fn known_choice(&self, cell: &PlannedCell) -> Option<Selection> {
        let choices = self.choices.lock().unwrap_or_else(|poison| poison.into_inner());
        let slot = choices.get(&(cell.dataset, cell.method))?;
        slot.get()?.clone().ok()
    }

    fn remember_choice(&self, cell: &PlannedCell, record: &Record) {
        if !self.prepared.plan.experiment.chooses_once() {
            return;
        }
        let Some(selection) =
            record.selection.clone().and_then(|value| serde_json::from_value(value).ok())
        else {
            return;
        };
        let mut choices = self.choices.lock().unwrap_or_else(|poison| poison.into_inner());
        let slot = choices.entry((cell.dataset, cell.method)).or_default();
        // A choice that another split made first is the same.
        let _ = slot.set(Ok(selection));
    }
}

/// What carries out the cells of a group.
enum Hands<'w, 'a> {
    Here(Box<Bench<'a>>),
    Worker(&'w mut Worker<'a>),
}

/// The state of the planned cells after a run that wrote records beyond the `known` ones.
fn count(prepared: &Prepared, options: &Options, known: &Contents, written: &[Record]) -> Outcome {
    let plan = &prepared.plan;
    let records = known.records.iter().chain(written);
    let last: HashMap<&str, Status> = records.map(|r| (r.cell.as_str(), r.status)).collect();
    let mut outcome = Outcome::default();
    let mut absent = vec![0; plan.datasets.len()];
    for index in options.part.cells(plan) {
        let cell = &plan.cells[index];
        match last.get(cell.cell.as_str()) {
            Some(Status::Ok) => outcome.done += 1,
            Some(Status::Failed) => outcome.failed += 1,
            _ if prepared.sources[cell.dataset].is_none() => absent[cell.dataset] += 1,
            Some(Status::Skipped) => outcome.skipped += 1,
            None => outcome.left += 1,
        }
    }
    let rows = plan.datasets.iter().zip(absent);
    outcome.cannot_run = rows
        .filter(|(_, cells)| *cells > 0)
        .map(|(row, cells)| (row.name.clone(), cells))
        .collect();
    outcome
}
