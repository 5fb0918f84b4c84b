//! What a command is doing, for the display of its progress.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::Progress;

/// What a reader knows a cell by: dataset, label of the method, split and training seed.
pub type Place<'a> = (&'a str, &'a str, usize, usize);

/// Something happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// This dataset is about to be read, or downloaded first.
    Loading(&'a str),
    /// Some of a download has arrived.
    Download(Progress<'a>),
    /// Images are about to be encoded, which takes a while once.
    Encoding { dataset: &'a str, images: usize },
    /// All datasets are loaded.
    Loaded,
    /// Cells were copied from another results folder.
    Reused { cells: usize, from: &'a Path },
    /// These cells are done, but without a recording that the experiment asks for.
    Unrecorded { cells: usize },
    /// Why cells run again that were done under another plan.
    Rerun { why: &'a str },
    /// This many cells will be worked on; `done` more are in the ledger. `work` is their estimated cost.
    Begin { cells: usize, done: usize, work: f64 },
    /// A network under training ended an epoch; `work` is the estimated cost of its cell.
    Epoch { cell: &'a str, place: Place<'a>, work: f64, epochs: Epochs },
    /// A cell ended; `work` is its share of the whole.
    Cell { cell: &'a str, place: Place<'a>, work: f64, ending: Ending<'a> },
    /// The last cell has ended.
    End,
}

/// How a cell ended.
#[derive(Clone, Copy, Debug)]
pub enum Ending<'a> {
    /// With this accuracy in percent, after a fit that took these seconds.
    Done {
        accuracy: f64,
        seconds: f64,
    },
    Skipped,
    /// The reason of the failure.
    Failed(&'a str),
}

/// Receives every event as it happens, from any thread.
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
