//! Which groups of cells run side by side: as many as there are jobs and as fit into memory.
//!
//! A group is all cells of one split of one dataset; they share a kernel matrix, so they run one
//! after the other on one worker. The scheduler knows nothing of fits: it hands out groups.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

/// Cells that share a kernel matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub dataset: usize,
    pub split: usize,
    /// Indices into the plan's cells.
    pub cells: Vec<usize>,
    /// Peak memory of the group, estimated.
    pub bytes: f64,
}

/// Hands out groups within a memory budget.
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    pending: VecDeque<Group>,
    free_bytes: f64,
    running: usize,
    handed_out: usize,
    closed: bool,
}

impl Queue {
    /// Groups that need more than `budget` all by themselves must not be in `groups`.
    pub fn new(groups: Vec<Group>, budget: f64) -> Self {
        let state = State {
            pending: groups.into(),
            free_bytes: budget,
            running: 0,
            handed_out: 0,
            closed: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The first group that fits now; waits while others hold the memory. `None` when all is done.
    pub fn take(&self) -> Option<Group> {
        let mut state = self.lock();
        loop {
            if state.closed || state.pending.is_empty() {
                return None;
            }
            let free = state.free_bytes;
            let first = state.pending.iter().position(|group| group.bytes <= free);
            // Alone a group always fits, even if sums and differences have left a rounding error.
            if let Some(at) = first.or((state.running == 0).then_some(0)) {
                let group = state.pending.remove(at)?;
                state.free_bytes -= group.bytes;
                state.running += 1;
                state.handed_out += 1;
                return Some(group);
            }
            state = self.changed.wait(state).unwrap_or_else(|poison| poison.into_inner());
        }
    }

    /// Gives a group's memory back.
    pub fn finish(&self, group: &Group) {
        let mut state = self.lock();
        state.free_bytes += group.bytes;
        state.running -= 1;
        self.changed.notify_all();
    }

    /// How many groups have been handed out, if only one of them is running. The same number twice
    /// means that no other ran in between.
    pub fn alone(&self) -> Option<usize> {
        let state = self.lock();
        (state.running == 1).then_some(state.handed_out)
    }

    /// No further groups are handed out.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(dataset: usize, bytes: f64) -> Group {
        Group { dataset, split: 0, cells: Vec::new(), bytes }
    }

    #[test]
    fn a_group_that_does_not_fit_is_overtaken_not_lost() {
        let queue = Queue::new(vec![group(0, 6.0), group(1, 6.0), group(2, 3.0)], 10.0);
        let first = queue.take().unwrap();
        assert_eq!(first.dataset, 0);
        assert_eq!(queue.take().unwrap().dataset, 2);
        queue.finish(&first);
        assert_eq!(queue.take().unwrap().dataset, 1);
        assert!(queue.take().is_none());
    }

    #[test]
    fn rounding_keeps_no_group_waiting_for_ever() {
        let (budget, part) = (0.9, 0.2);
        let queue = Queue::new(vec![group(0, part), group(1, part), group(2, budget)], budget);
        let (first, second) = (queue.take().unwrap(), queue.take().unwrap());
        queue.finish(&first);
        queue.finish(&second);
        let free = queue.lock().free_bytes;
        assert!(free < budget, "this test is about a shortfall, not {free}");
        assert_eq!(queue.take().unwrap().dataset, 2);
    }

    #[test]
    fn memory_that_is_held_keeps_others_waiting() {
        let queue = Queue::new(vec![group(0, 6.0), group(1, 6.0)], 10.0);
        let first = queue.take().unwrap();
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let queue = &queue;
            scope.spawn(move || sender.send(queue.take().map(|group| group.dataset)));
            // Whatever the thread does in the meantime, it cannot have been given the second group.
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(receiver.try_recv().is_err());
            queue.finish(&first);
            assert_eq!(receiver.recv(), Ok(Some(1)));
        });
    }

    #[test]
    fn a_group_is_alone_until_another_is_handed_out() {
        let queue = Queue::new(vec![group(0, 1.0), group(1, 1.0)], 10.0);
        let _first = queue.take().unwrap();
        let before = queue.alone();
        assert!(before.is_some());
        let second = queue.take().unwrap();
        assert_eq!(queue.alone(), None);
        queue.finish(&second);
        assert_ne!(queue.alone(), before);
    }

    #[test]
    fn a_closed_queue_hands_out_nothing() {
        let queue = Queue::new(vec![group(0, 1.0)], 10.0);
        queue.close();
        assert!(queue.take().is_none());
    }
}
