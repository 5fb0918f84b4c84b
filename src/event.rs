//! What a command is doing, for whoever shows it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::ledger::Record;
use crate::plan::{Loading, Place};

/// Something happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Data is being read.
    Loading(Loading<'a>),
    /// All datasets are loaded.
    Loaded,
    /// Cells were copied from another results folder.
    Reused { cells: usize, from: &'a Path },
    /// These cells are done, but without what the experiment wants recorded of them.
    Unrecorded { cells: usize },
    /// Why cells run again that were done under another plan.
    Rerun { why: &'a str },
    /// This many cells will be worked on; `done` more are in the ledger. `work` is their estimated cost.
    Begin { cells: usize, done: usize, work: f64 },
    /// A network under training ended an epoch; `work` is the estimated cost of its cell.
    Epoch { cell: &'a str, place: Place<'a>, work: f64, epochs: Epochs },
    /// A cell ended; `work` is its share of the whole.
    Cell { record: &'a Record, work: f64 },
    /// No cell runs any more.
    End,
}

/// Told of every event as it happens, from any thread.
pub type Events<'a> = &'a (dyn Fn(Event<'_>) + Sync);

/// How long a training has taken and will take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epochs {
    pub done: usize,
    pub all: usize,
    /// Since this process began with it.
    pub seconds: f64,
    /// An estimate from the epochs so far.
    pub seconds_left: f64,
}
