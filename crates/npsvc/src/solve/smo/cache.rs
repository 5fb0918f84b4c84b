//! A cache of kernel columns, restricted to the active samples.

/// Memory for copied kernel columns, per problem that is being solved.
pub const CACHE_BYTES: usize = 64 << 20;

/// Copies of kernel columns, one after the other. The kernel matrix holds all of them, but it is too
/// large for the processor's cache. The column that was unused for longest is replaced first.
pub(super) struct ColumnCache {
    height: usize,
    /// Largest number of slots. At least two, because a step needs two columns.
    slots: usize,
    pub data: Vec<f64>,
    /// Sample whose column a slot holds.
    owner: Vec<usize>,
    /// When a slot was last used.
    used: Vec<u64>,
    /// Slot of each sample.
    slot_of: Vec<Option<usize>>,
    clock: u64,
}

impl ColumnCache {
    pub fn new(height: usize) -> Self {
        let bytes = height.max(1) * size_of::<f64>();
        Self::with_slots(height, (CACHE_BYTES / bytes).min(height))
    }

    pub fn with_slots(height: usize, slots: usize) -> Self {
        let slots = slots.max(2);
        Self {
            height,
            slots,
            data: Vec::with_capacity(slots * height),
            owner: Vec::with_capacity(slots),
            used: Vec::with_capacity(slots),
            slot_of: vec![None; height],
            clock: 0,
        }
    }

    pub fn get(&self, slot: usize) -> &[f64] {
        &self.data[slot * self.height..][..self.height]
    }

    pub fn get_mut(&mut self, slot: usize) -> &mut [f64] {
        &mut self.data[slot * self.height..][..self.height]
    }

    pub fn find(&self, sample: usize) -> Option<usize> {
        self.slot_of[sample]
    }

    /// The slot of `sample`, and whether the caller has to fill it. The slot returned before this one
    /// is never replaced.
    pub fn slot(&mut self, sample: usize) -> (usize, bool) {
        self.clock += 1;
        if let Some(slot) = self.find(sample) {
            self.used[slot] = self.clock;
            return (slot, false);
        }
        let slot = if self.owner.len() < self.slots {
            self.data.resize(self.data.len() + self.height, 0.0);
            self.owner.push(sample);
            self.used.push(self.clock);
            self.owner.len() - 1
        } else {
            let oldest = (0..self.used.len()).min_by_key(|&slot| self.used[slot]).unwrap_or(0);
            self.slot_of[self.owner[oldest]] = None;
            self.owner[oldest] = sample;
            self.used[oldest] = self.clock;
            oldest
        };
        self.slot_of[sample] = Some(slot);
        (slot, true)
    }

    /// Copies row `from` onto row `to` in each column.
    pub fn move_row(&mut self, from: usize, to: usize) {
        for column in self.data.chunks_exact_mut(self.height) {
            column[to] = column[from];
        }
    }

    pub fn clear(&mut self) {
        for &sample in &self.owner {
            self.slot_of[sample] = None;
        }
        self.data.clear();
        self.owner.clear();
        self.used.clear();
    }
}
