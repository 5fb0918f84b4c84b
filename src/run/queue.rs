//! What a run still has to do, and when a job may start: as many run in parallel as fit into memory.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

use indexmap::IndexMap;

use super::job::Job;
use super::{RunOptions, host, lock};
use crate::ledger::{Ledger, PlannedCell};
use crate::plan::{Prepared, cost};

/// The cells a run still has to work on.
#[derive(Default)]
pub(super) struct Todo {
    pub jobs: Vec<Job>,
    /// Cells that do not fit into the memory, with the reason.
    pub skipped: Vec<(PlannedCell, String)>,
    /// Number of cells that are done.
    pub done: usize,
    /// Estimated operations of all jobs.
    pub work: f64,
}

impl Todo {
    pub fn new(prepared: &Prepared, options: &RunOptions, known: &Ledger) -> Self {
        let plan = &prepared.plan;
        // How many threads a job gets is not known before the jobs are.
        let threads = options.threads.unwrap_or_else(host::cores);
        let mut todo = Self::default();
        let mut jobs: IndexMap<(usize, usize, Option<&str>), Job> = IndexMap::new();
        for cell in options.part.cells(plan) {
            if known.is_settled(&cell.cell, options.retry_failed) {
                todo.done += 1;
                continue;
            }
            // Whether the data is here is a fact of this machine, so it is not recorded.
            if prepared.sources[cell.dataset].is_err() {
                continue;
            }
            let estimate = cost::cell(prepared, cell, threads);
            if estimate.bytes > options.memory {
                let [needs, budget] = [estimate.bytes, options.memory].map(cost::size);
                let reason = format!(
                    "needs about {needs} of memory, more than the budget of {budget}; raise it with --memory"
                );
                // A reason that is recorded already is not recorded again.
                let last = known.get(&cell.cell);
                let is_known = last.is_some_and(|record| record.error.as_ref() == Some(&reason));
                match is_known {
                    true => todo.done += 1,
                    false => todo.skipped.push((cell.clone(), reason)),
                }
                continue;
            }
            todo.work += estimate.flops;
            // Networks share no kernel matrix, so several devices train them at the same time.
            let is_network = prepared.candidates[cell.method].entry.is_network;
            let apart = (is_network && options.devices.len() > 1).then_some(cell.cell.as_str());
            let job = jobs.entry((cell.dataset, cell.split, apart)).or_default();
            job.dataset = cell.dataset;
            job.cells.push(cell.clone());
            job.bytes = job.bytes.max(estimate.bytes);
        }
        todo.jobs = jobs.into_values().collect();
        todo
    }

    /// The cells of all jobs.
    pub fn open(&self) -> impl Iterator<Item = &PlannedCell> {
        self.jobs.iter().flat_map(|job| &job.cells)
    }
}

/// Hands out jobs within a memory budget.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    pending: VecDeque<Job>,
    free_bytes: f64,
    running: usize,
    closed: bool,
}

impl Queue {
    /// A job that needs more than `budget` on its own must not be in `jobs`.
    pub fn new(jobs: Vec<Job>, budget: f64) -> Self {
        let state = State { pending: jobs.into(), free_bytes: budget, running: 0, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The first job that fits now; waits while others hold the memory. `None` when all is done.
    pub fn take(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        loop {
            if state.closed || state.pending.is_empty() {
                return None;
            }
            let free = state.free_bytes;
            let first = state.pending.iter().position(|job| job.bytes <= free);
            // Alone a job always fits, even if sums and differences have left a rounding error.
            if let Some(at) = first.or((state.running == 0).then_some(0)) {
                let job = state.pending.remove(at)?;
                state.free_bytes -= job.bytes;
                state.running += 1;
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(|poison| poison.into_inner());
        }
    }

    /// Gives a job's memory back.
    pub fn finish(&self, job: &Job) {
        let mut state = lock(&self.state);
        state.free_bytes += job.bytes;
        state.running -= 1;
        self.changed.notify_all();
    }

    /// No further jobs are handed out.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(dataset: usize, bytes: f64) -> Job {
        Job { dataset, bytes, ..Job::default() }
    }

    #[test]
    fn a_job_that_does_not_fit_is_overtaken_not_lost() {
        let queue = Queue::new(vec![job(0, 6.0), job(1, 6.0), job(2, 3.0)], 10.0);
        let first = queue.take().unwrap();
        assert_eq!(first.dataset, 0);
        assert_eq!(queue.take().unwrap().dataset, 2);
        queue.finish(&first);
        assert_eq!(queue.take().unwrap().dataset, 1);
        assert!(queue.take().is_none());
    }

    #[test]
    fn rounding_keeps_no_job_waiting_for_ever() {
        let (budget, part) = (0.9, 0.2);
        let queue = Queue::new(vec![job(0, part), job(1, part), job(2, budget)], budget);
        let (first, second) = (queue.take().unwrap(), queue.take().unwrap());
        queue.finish(&first);
        queue.finish(&second);
        let free = lock(&queue.state).free_bytes;
        assert!(free < budget, "this test is about a shortfall, not {free}");
        assert_eq!(queue.take().unwrap().dataset, 2);
    }

    #[test]
    fn memory_that_is_held_keeps_others_waiting() {
        let queue = Queue::new(vec![job(0, 6.0), job(1, 6.0)], 10.0);
        let first = queue.take().unwrap();
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let queue = &queue;
            scope.spawn(move || sender.send(queue.take().map(|job| job.dataset)));
            // At no time can the thread have been given the second job.
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(receiver.try_recv().is_err());
            queue.finish(&first);
            assert_eq!(receiver.recv(), Ok(Some(1)));
        });
    }

    #[test]
    fn a_closed_queue_hands_out_nothing() {
        let queue = Queue::new(vec![job(0, 1.0)], 10.0);
        queue.close();
        assert!(queue.take().is_none());
    }
}
