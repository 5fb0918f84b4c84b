//! Peak memory of a cell, where it can be told.

use super::schedule::Queue;
use crate::memory;

/// A measurement of the process's peak memory, which says something of a cell only while no other
/// runs beside it.
pub(super) struct Peak {
    handed_out: usize,
}

impl Peak {
    /// `None` where another group runs or the system cannot measure.
    pub fn begin(queue: &Queue) -> Option<Self> {
        let handed_out = queue.alone()?;
        memory::reset_peak().then_some(Self { handed_out })
    }

    /// The peak in MiB; `None` if another group ran in the meantime.
    pub fn end(self, queue: &Queue) -> Option<f64> {
        let bytes = memory::peak()?;
        let was_alone = queue.alone() == Some(self.handed_out);
        was_alone.then(|| mebibytes(bytes))
    }
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
