//! Running an experiment: plan -> cells -> ledger. Running again resumes.

mod beside;
mod cell;
mod folder;
mod fresh;
pub mod host;
mod network;
mod peak;
mod provenance;
mod recorded;
mod reuse;
mod schedule;
mod select;
mod serve;
pub mod slurm;
mod status;
mod todo;
mod worker;

pub use crate::plan::{
    Estimate, Filter, Former, Part, Prepared, Shard, Source, estimate, group_count, planned_cells,
    prepare, size,
};
pub use crate::spec::Candidates;
pub use folder::refuse_locked;
pub use fresh::{Comparison, compare, is_set_aside, set_aside, take_set_aside};
pub use network::{NoDevice, require_device};
pub use provenance::describe as write_plan;
pub use serve::serve;
pub use status::{FolderStatus, folder_status};
pub use worker::Isolation;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use crate::error::Error;
use crate::event::{Epochs, Event, Events, Training};
use crate::ledger::{self, Ledger, Plan, PlannedCell, Record, Selection, Status, Tally};
use crate::memory;
use crate::plan::{self, Kept, cost};
use beside::Beside;
use cell::{Bench, Choices, Circumstances};
use folder::Folder;
use peak::Peak;
use schedule::{Group, Queue};
use todo::Todo;
use worker::{Done, Loss, Request, Setup, Worker};

/// How to run, all defaults resolved.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Results folder.
    pub out: PathBuf,
    /// Jobs in parallel, at most.
    pub jobs: usize,
    pub threads: Threads,
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
    /// What networks are trained on, `cpu` or `cuda:N`; at least one. Of several, each has a worker process, for which
    /// there must be an isolation.
    pub devices: Vec<String>,
}

/// Threads of each job.
#[derive(Clone, Copy, Debug)]
pub enum Threads {
    Each(usize),
    /// This many, divided by the jobs that run.
    Together(usize),
}

impl Threads {
    fn of(self, jobs: usize) -> usize {
        match self {
            Self::Each(threads) => threads,
            Self::Together(threads) => (threads / jobs).max(1),
        }
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
    /// Datasets that are not on this machine or cannot be used, with the number of their cells that are not done.
    pub cannot_run: Vec<(String, usize)>,
    /// What the folder shows: the plan, with the former rows of datasets whose new data has no cell yet.
    pub plan: Plan,
    /// What the folder's ledgers hold now.
    pub ledger: Ledger,
    /// Hash of these ledgers.
    pub hash: String,
    /// One sentence per line of the ledgers that was skipped.
    pub warnings: Vec<String>,
}

/// Runs what the ledger of `options.out` lacks. Sets nothing on fire when `interrupted` becomes
/// true: cells in flight are finished and recorded.
pub fn run(
    prepared: &Prepared,
    options: &RunOptions,
    events: Events<'_>,
    interrupted: &AtomicBool,
) -> Result<Outcome, Error> {
    let part = options.part.name();
    let folder = Folder::open(&options.out, part.as_deref())?;
    let mut known = folder.read()?;
    let mut reused = 0;
    for other in &options.reuse {
        let taken = reuse::take_over(prepared, options, &folder, &mut known, other)?;
        events(Event::Reused { cells: taken, from: other });
        reused += taken;
    }
    let todo = Todo::new(prepared, options, &known);
    let cells = unrecorded(&prepared.plan, &known, &options.out);
    events(Event::Unrecorded { cells });
    let mut kept = kept_rows(prepared, options, &known);
    let (before, shown) = folder.write_plan(prepared, &mut kept)?;
    folder.repair(&shown, &known)?;
    if let Some(before) = before.filter(|before| !before.describes(&prepared.plan)) {
        for why in causes(&before, &prepared.plan, &todo, &known) {
            events(Event::Rerun { why: &why });
        }
    }
    let jobs = options.jobs.clamp(1, todo.groups.len().max(1));
    let threads = options.threads.of(jobs);
    let circumstances = Circumstances {
        host: host::pseudonym(),
        threads,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: host::commit(),
        device: options.devices[0].clone(),
        checkpoints: Some(folder.checkpoints()),
    };
    events(Event::Begin { cells: todo.cells, done: todo.resumed, work: todo.work });
    let isolation = options.isolation.as_ref().map(|isolation| {
        let setup = |device: &String| Setup {
            experiment: prepared.plan.experiment.clone(),
            circumstances: Circumstances { device: device.clone(), ..circumstances.clone() },
            data: isolation.data.clone(),
        };
        (isolation, options.devices.iter().map(setup).collect())
    });
    let session = Session {
        prepared,
        folder: &folder,
        circumstances,
        isolation,
        events,
        interrupted,
        fail_fast: options.fail_fast,
        choices: known_choices(prepared, &known),
        queue: Queue::new(todo.groups, options.memory),
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
    events(Event::End);
    if let Some(error) = session.failure.into_inner().unwrap_or_else(|poison| poison.into_inner()) {
        return Err(error);
    }
    folder.sync()?;
    let mut kept = session.kept.into_inner();
    let kept = kept.as_mut().unwrap_or_else(|poison| poison.get_mut());
    let (_, shown) = folder.write_plan(prepared, kept)?;
    let written = session.written.into_inner();
    let written = written.unwrap_or_else(|poison| poison.into_inner());
    written.into_iter().for_each(|record| known.insert(record));
    let (tally, cannot_run) = count(prepared, options, &known);
    let hash = ledger::hash(&options.out).map_err(|source| folder.error(source))?;
    let warnings = std::mem::take(&mut known.warnings);
    Ok(Outcome { tally, cannot_run, plan: shown, ledger: known, hash, warnings })
}

/// Datasets of which the run includes a cell.
fn included(prepared: &Prepared, options: &RunOptions) -> BTreeSet<usize> {
    let cells = options.part.cells(&prepared.plan).into_iter();
    cells.map(|index| prepared.plan.cells[index].dataset).collect()
}

/// Rows that the folder keeps although their data changed: those of which the new data has no finished cell yet, and
/// those that this run does not include.
fn kept_rows(prepared: &Prepared, options: &RunOptions, known: &Ledger) -> Kept {
    let mut kept: Kept = prepared.changed.iter().cloned().collect();
    if kept.is_empty() {
        return kept;
    }
    let included = included(prepared, options);
    for cell in &prepared.plan.cells {
        if included.contains(&cell.dataset) && known.is_done(&cell.cell) {
            kept.remove(&cell.dataset);
        }
    }
    kept
}

/// Cells that are done, but not with what the experiment wants recorded.
fn unrecorded(plan: &Plan, known: &Ledger, dir: &Path) -> usize {
    if plan.experiment.record.is_empty() {
        return 0;
    }
    let cells = plan.cells.iter().filter(|cell| known.is_done(&cell.cell));
    cells.filter(|cell| recorded::is_missing(plan, cell, dir)).count()
}

/// Why cells that the ledger knew under the plan `before` are to be run again.
fn causes(before: &Plan, plan: &Plan, todo: &Todo, known: &Ledger) -> Vec<String> {
    let cells = todo.groups.iter().flat_map(|group| group.cells.iter().copied());
    plan::causes(before, plan, cells, |cell| known.get(cell).is_some())
}

/// Choices made once per dataset that the ledger already holds.
fn known_choices(prepared: &Prepared, known: &Ledger) -> Choices {
    let mut choices = HashMap::new();
    let once = prepared.plan.experiment.chooses_once();
    for cell in prepared.plan.cells.iter().filter(|_| once) {
        let selection = known.get(&cell.cell).and_then(|record| record.selection.clone());
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
    events: Events<'a>,
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
    failure: Mutex<Option<Error>>,
}

impl Session<'_> {
    /// Records cells that cannot be started.
    fn skip(&self, skipped: Vec<(usize, String)>) -> Result<(), Error> {
        for (index, reason) in skipped {
            let cell = &self.prepared.plan.cells[index];
            let mut record =
                cell::blank(self.prepared, cell, &self.circumstances, SystemTime::now());
            record.status = Status::Skipped;
            record.error = Some(reason);
            (self.events)(Event::Cell { record: &record, work: 0.0 });
            self.append(cell.dataset, record)?;
        }
        Ok(())
    }

    /// Records a cell. The first one of a run adds the run to the provenance. The first finished one of a dataset
    /// whose data changed switches its row; the record is on the disk by then, so that the next run switches the row if
    /// this one is killed.
    fn append(&self, dataset: usize, record: Record) -> Result<(), Error> {
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

    fn add_run(&self, plan: &Plan) -> Result<(), Error> {
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
    ) -> Result<(), Error> {
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
            (self.events)(Event::Cell { record: &record, work });
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
        (self.events)(Event::Epoch(Training {
            cell: &cell.cell,
            dataset: &self.prepared.plan.datasets[cell.dataset].name,
            label: &self.prepared.plan.methods[cell.method].label,
            split: cell.split,
            work,
            epochs,
        }));
    }

    /// Has a cell run by a worker process; the cell fails if that is lost.
    fn run_elsewhere(
        &self,
        cell: &PlannedCell,
        worker: &mut Worker<'_>,
        on_epoch: &dyn Fn(Epochs),
    ) -> Result<Done, Error> {
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
            Err(Loss::NoWorker(error)) => {
                Err(Error::failed(format!("failed to start a worker process: {error}")))
            }
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
        let Some(selection) = record.selection.clone() else {
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

/// How the planned cells ended, and how many of each dataset cannot run.
fn count(
    prepared: &Prepared,
    options: &RunOptions,
    known: &Ledger,
) -> (Tally, Vec<(String, usize)>) {
    let plan = &prepared.plan;
    let (mut tally, mut absent) = (Tally::default(), vec![0; plan.datasets.len()]);
    for index in options.part.cells(plan) {
        let cell = &plan.cells[index];
        let status = known.status(&cell.cell);
        let is_absent = prepared.sources[cell.dataset].is_none();
        match status {
            None | Some(Status::Skipped) if is_absent => absent[cell.dataset] += 1,
            status => tally.add(status),
        }
    }
    let rows = plan.datasets.iter().zip(absent).filter(|(_, cells)| *cells > 0);
    (tally, rows.map(|(row, cells)| (row.name.clone(), cells)).collect())
}
