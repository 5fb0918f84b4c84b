//! Cells that are computed once more, in child processes, to be compared with their records. Nothing is recorded.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use super::job::{Job, JobEvent, RunContext, Stop, blank};
use super::worker::{Child, Isolation, Worker};
use crate::error::Error;
use crate::event::{Event, Events};
use crate::ledger::{PlannedCell, Record, Selection};
use crate::plan::Prepared;

/// A cell to be computed once more.
#[derive(Clone, Debug)]
pub struct Refit<'a> {
    pub cell: &'a PlannedCell,
    pub threads: usize,
    /// The recorded choice of parameters. A tuned cell without it chooses again.
    pub choice: Option<Selection>,
    /// Estimated operations.
    pub work: f64,
}

/// Computes cells of a plan once more.
pub struct Refits<'a> {
    prepared: &'a Prepared,
    isolation: &'a Isolation,
    events: Events<'a>,
    /// Networks under training are kept here, not in the results folder.
    scratch: TempDir,
    /// The running child process, with its number of threads.
    child: Option<(usize, Child)>,
}

impl<'a> Refits<'a> {
    pub fn new(
        prepared: &'a Prepared,
        isolation: &'a Isolation,
        events: Events<'a>,
    ) -> Result<Self, Error> {
        let scratch = tempfile::tempdir();
        let scratch = scratch.map_err(Error::cannot("write to", &std::env::temp_dir()))?;
        Ok(Self { prepared, isolation, events, scratch, child: None })
    }

    /// The new record of a cell, or why the child process could not compute it. Refits with the same number of threads
    /// share a process until another number is asked for.
    pub fn refit(&mut self, refit: &Refit<'_>) -> Result<Result<Record, String>, Error> {
        let Refit { cell, threads, .. } = *refit;
        let context = context(threads, self.scratch.path().to_path_buf());
        let known = self.child.take().filter(|(of, _)| *of == threads);
        let mut worker = Worker {
            prepared: self.prepared,
            isolation: self.isolation,
            context: &context,
            child: known.map(|(_, child)| child),
        };
        let chosen = refit.choice.clone().map(|choice| (cell.method, choice));
        let job = Job {
            dataset: cell.dataset,
            cells: vec![cell.clone()],
            chosen: chosen.into_iter().collect(),
            bytes: 0.0,
        };
        let answer = Mutex::new(None);
        let ended = worker.run_job(&job, &|_, event| {
            let ending = match event {
                JobEvent::Started => return Ok(()),
                JobEvent::Epoch(epochs) => {
                    let (place, work) = (self.prepared.plan.place(cell), refit.work);
                    (self.events)(Event::Epoch { cell: &cell.cell, place, work, epochs });
                    return Ok(());
                }
                JobEvent::Done { record, .. } => Ok(*record),
                JobEvent::Lost(record) => Err(record.error.unwrap_or_default()),
            };
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(ending);
            Ok(())
        });
        self.child = worker.child.take().map(|child| (threads, child));
        if let Err(Stop::Failed(error)) = ended {
            return Err(error);
        }
        let answer = answer.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(answer.unwrap_or_else(|| Err("its worker process gave no answer".to_owned())))
    }
}

/// What the record of a cell says before anything is computed: what it is of.
pub fn expected(prepared: &Prepared, cell: &PlannedCell) -> Record {
    blank(prepared, cell, &context(1, PathBuf::new()))
}

fn context(threads: usize, checkpoints: PathBuf) -> RunContext {
    RunContext { threads, device: "cpu".to_owned(), checkpoints, is_alone: true }
}
