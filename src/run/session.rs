//! A run in progress: hands jobs to workers and records what they compute.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::folder::Folder;
use super::job::{Job, JobEvent, RunContext, Stop, blank, run_job};
use super::queue::Queue;
use super::worker::Worker;
use super::{Prepared, RunOptions, cost, host, included, lock, provenance, thread_pool};
use crate::error::Error;
use crate::event::{Event, Events, Training};
use crate::ledger::provenance::hashes;
use crate::ledger::{Ledger, PlannedCell, Record, Selection, Status};
use crate::plan::Kept;

/// Parameters that were chosen once, by dataset and method.
pub(super) type Choices = HashMap<(usize, usize), Selection>;

pub(super) struct Session<'a> {
    pub prepared: &'a Prepared,
    pub options: &'a RunOptions,
    pub events: Events<'a>,
    pub interrupted: &'a AtomicBool,
    pub folder: &'a Folder,
    /// Jobs in parallel.
    pub jobs: usize,
    /// Threads of each job.
    pub threads: usize,
    /// When the run began.
    pub started: String,
    pub queue: Queue,
    pub choices: Mutex<Choices>,
    pub state: Mutex<State>,
}

/// What changes with every record.
pub(super) struct State {
    pub ledger: Ledger,
    /// Rows that still show the former data of their datasets.
    pub kept: Kept,
    /// Whether the provenance lists this run.
    pub is_listed: bool,
}

/// Choices made once per dataset that the ledger already holds.
pub(super) fn known_choices(prepared: &Prepared, known: &Ledger) -> Choices {
    let once = prepared.plan.experiment.chooses_once();
    let cells = prepared.plan.cells.iter().filter(|_| once);
    let choices = cells.filter_map(|cell| {
        let selection = known.get(&cell.cell)?.selection.clone()?;
        Some(((cell.dataset, cell.method), selection))
    });
    choices.collect()
}

impl Session<'_> {
    /// Records the cells that cannot start, and runs all jobs. If the run has records before it begins, it is listed
    /// at once.
    pub fn work(
        &self,
        has_records: bool,
        skipped: Vec<(PlannedCell, String)>,
    ) -> Result<(), Error> {
        if has_records {
            self.list_run(&mut lock(&self.state))?;
        }
        let context = self.context(0);
        for (cell, reason) in skipped {
            let mut record = blank(self.prepared, &cell, &context);
            record.status = Status::Skipped;
            record.error = Some(reason);
            self.record(&cell, record, 0.0)?;
        }
        std::thread::scope(|scope| {
            let start = |number| scope.spawn(move || self.take_jobs(number));
            let workers: Vec<_> = (0..self.jobs).map(start).collect();
            let mut workers = workers.into_iter();
            workers.try_for_each(|worker| worker.join().expect("a thread of a run does not panic"))
        })
    }

    /// How worker number `worker` runs jobs.
    fn context(&self, worker: usize) -> RunContext {
        let devices = &self.options.devices;
        RunContext {
            threads: self.threads,
            device: devices[worker % devices.len()].clone(),
            checkpoints: self.folder.checkpoints(),
            is_alone: self.jobs == 1 || self.options.isolation.is_some(),
        }
    }

    fn take_jobs(&self, number: usize) -> Result<(), Error> {
        let context = self.context(number);
        let pool = thread_pool(self.threads)?;
        let (prepared, isolation) = (self.prepared, self.options.isolation.as_ref());
        let worker = |isolation| Worker { prepared, isolation, context: &context, child: None };
        let mut worker = isolation.map(worker);
        let emit = |cell: &PlannedCell, event| self.handle(cell, event);
        while let Some(mut job) = self.queue.take() {
            job.chosen = self.chosen(&job);
            let ended = match &mut worker {
                Some(worker) => worker.run_job(&job, &emit),
                None => pool.install(|| run_job(prepared, &job, &context, &emit)),
            };
            if ended.is_err() {
                self.queue.close();
            }
            self.queue.finish(&job);
            if let Err(Stop::Failed(error)) = ended {
                return Err(error);
            }
        }
        Ok(())
    }

    /// What was chosen once for the dataset of a job.
    fn chosen(&self, job: &Job) -> BTreeMap<usize, Selection> {
        let choices = lock(&self.choices);
        let ours = choices.iter().filter(|((dataset, _), _)| *dataset == job.dataset);
        ours.map(|((_, method), selection)| (*method, selection.clone())).collect()
    }

    fn handle(&self, cell: &PlannedCell, event: JobEvent) -> Result<(), Stop> {
        let work = cost::cell(self.prepared, cell).flops;
        match event {
            JobEvent::Started => {}
            JobEvent::Epoch(epochs) => {
                (self.events)(Event::Epoch(Training {
                    cell: &cell.cell,
                    dataset: &self.prepared.plan.datasets[cell.dataset].name,
                    label: &self.prepared.plan.methods[cell.method].label,
                    split: cell.split,
                    work,
                    epochs,
                }));
                return Ok(());
            }
            JobEvent::Done { record, files } => {
                for (path, text) in &files {
                    self.folder.write_file(path, text.as_bytes())?;
                }
                let has_failed = record.status == Status::Failed;
                self.record(cell, *record, work)?;
                // A training that failed can be continued with --retry-failed.
                if !has_failed {
                    self.folder.remove_checkpoint(&cell.cell);
                }
                if has_failed && self.options.fail_fast {
                    return Err(Stop::Asked);
                }
            }
        }
        match self.interrupted.load(Ordering::SeqCst) {
            true => Err(Stop::Asked),
            false => Ok(()),
        }
    }

    /// Records a cell. The first record of a run adds the run to the provenance. The first finished one of a dataset
    /// whose data changed switches its row; the record is on the disk by then, so that the next run switches the row
    /// if this one is killed.
    fn record(&self, cell: &PlannedCell, record: Record, work: f64) -> Result<(), Error> {
        let mut state = lock(&self.state);
        self.folder.append(&record)?;
        if record.status == Status::Ok && state.kept.remove(&cell.dataset).is_some() {
            self.folder.sync()?;
            provenance::write_plan(&self.options.out, self.prepared, &mut state.kept)
                .map_err(|source| self.folder.error(source))?;
        }
        if !state.is_listed {
            self.list_run(&mut state)?;
        }
        if let Some(selection) = record.selection.clone()
            && self.prepared.plan.experiment.chooses_once()
        {
            // A choice that another split made first is the same.
            lock(&self.choices).entry((cell.dataset, cell.method)).or_insert(selection);
        }
        (self.events)(Event::Cell { record: &record, work });
        state.ledger.insert(record);
        Ok(())
    }

    /// Adds this run to the provenance.
    fn list_run(&self, state: &mut State) -> Result<(), Error> {
        let Self { prepared, options, .. } = self;
        let datasets = included(prepared, options).into_iter();
        let datasets = datasets.filter(|index| prepared.sources[*index].is_some());
        let entry = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "git": host::commit(),
            "started": self.started,
            "machine": {
                "host": host::pseudonym(),
                "processor": host::processor(),
                "cores": host::cores(),
                "system": std::env::consts::OS,
                "architecture": std::env::consts::ARCH,
            },
            "jobs": self.jobs,
            "threads": self.threads,
            "data": hashes(datasets.map(|index| &prepared.plan.datasets[index])),
        });
        let plan = prepared.plan_with(&state.kept);
        provenance::add_run(&options.out, options.part.name(), &plan, entry)
            .map_err(|source| self.folder.error(source))?;
        state.is_listed = true;
        Ok(())
    }
}
