//! A run in progress: hands jobs to workers and records what they compute.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::folder::Folder;
use super::job::{Job, JobEvent, RunContext, Stop, blank, run_job};
use super::queue::Queue;
use super::worker::Worker;
use super::{RunOptions, description, lock, thread_pool};
use crate::error::Error;
use crate::event::{Ending, Event, Events};
use crate::ledger::{Ledger, PlannedCell, Record, Selection, Status, provenance, replace};
use crate::plan::{Kept, Prepared, cost};

pub(super) struct Session<'a> {
    pub prepared: &'a Prepared,
    pub options: &'a RunOptions,
    pub events: Events<'a>,
    pub interrupted: &'a AtomicBool,
    /// Jobs in parallel.
    pub jobs: usize,
    /// Threads of each job.
    pub threads: usize,
    pub queue: Queue,
    pub state: Mutex<State>,
}

/// What changes with every record.
pub(super) struct State {
    pub folder: Folder,
    pub ledger: Ledger,
    /// What the table still shows of the former plan.
    pub kept: Kept,
    /// The entry of this run in the provenance, until it is written there.
    pub entry: Option<Value>,
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
            checkpoints: self.options.checkpoints(),
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

    /// What was chosen once for the dataset of a job, by method.
    fn chosen(&self, job: &Job) -> BTreeMap<usize, Selection> {
        let plan = &self.prepared.plan;
        if !plan.experiment.chooses_once() {
            return BTreeMap::new();
        }
        let ledger = &lock(&self.state).ledger;
        // All splits make the same choice.
        let cells = plan.cells.iter().filter(|cell| cell.dataset == job.dataset);
        cells
            .filter_map(|cell| Some((cell.method, ledger.get(&cell.cell)?.selection.clone()?)))
            .collect()
    }

    fn handle(&self, cell: &PlannedCell, event: JobEvent) -> Result<(), Stop> {
        let work = cost::cell(self.prepared, cell, self.threads).flops;
        let ended = match event {
            JobEvent::Started => None,
            JobEvent::Epoch(epochs) => {
                let place = self.prepared.plan.place(cell);
                (self.events)(Event::Epoch { cell: &cell.cell, place, work, epochs });
                return Ok(());
            }
            JobEvent::Done { record, files } => Some((record, files)),
            JobEvent::Lost(record) => Some((record, Vec::new())),
        };
        if let Some((record, files)) = ended {
            for (path, text) in &files {
                replace(&self.options.out.join(path), text.as_bytes())?;
            }
            let has_failed = record.status == Status::Failed;
            self.record(cell, *record, work)?;
            // A training that failed can be continued with --retry-failed.
            if !has_failed {
                self.remove_checkpoint(&cell.cell);
            }
            if has_failed && self.options.fail_fast {
                return Err(Stop::Asked);
            }
        }
        match self.interrupted.load(Ordering::SeqCst) {
            true => Err(Stop::Asked),
            false => Ok(()),
        }
    }

    /// Records a cell. The first record of a run adds the run to the provenance. The first finished one of a dataset
    /// whose data changed, or of a method whose version was raised, switches what the table shows; the record is on the
    /// disk by then, so that the next run does so if this one is killed.
    fn record(&self, cell: &PlannedCell, record: Record, work: f64) -> Result<(), Error> {
        let mut state = lock(&self.state);
        state.folder.ledger.append(&record)?;
        if record.status == Status::Ok && state.kept.give_way_to(cell) {
            state.folder.ledger.sync()?;
            description::write_plan(&self.options.out, self.prepared, &mut state.kept)?;
        }
        self.list_run(&mut state)?;
        let ending = match (record.status, record.accuracy, record.fit_seconds) {
            (Status::Ok, Some(accuracy), Some(seconds)) => Ending::Done { accuracy, seconds },
            (Status::Skipped, ..) => Ending::Skipped,
            _ => Ending::Failed(record.error.as_deref().unwrap_or("no reason")),
        };
        let place = self.prepared.plan.place(cell);
        (self.events)(Event::Cell { cell: &cell.cell, place, work, ending });
        state.ledger.insert(record);
        Ok(())
    }

    /// Adds this run to the provenance, once.
    fn list_run(&self, state: &mut State) -> Result<(), Error> {
        let Some(entry) = state.entry.take() else {
            return Ok(());
        };
        let plan = self.prepared.plan_with(&state.kept);
        provenance::add_run(&self.options.out, self.options.part.name(), &plan, entry)
    }

    /// Removes the files that an interrupted training of a cell continues from. Most cells have none.
    fn remove_checkpoint(&self, cell: &str) {
        for ending in ["safetensors", "part", "head.safetensors", "head.part"] {
            let path = self.options.checkpoints().join(format!("{cell}.{ending}"));
            let _ = std::fs::remove_file(path);
        }
    }
}
