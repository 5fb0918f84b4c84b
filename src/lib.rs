//! NPSVC++ and its rivals, from a YAML experiment to the paper's tables.
//!
//! Data moves through the crate in one direction:
//!
//! ```text
//! spec -> plan -> data -> split -> fit -> ledger -> analyse -> render
//! ```
//!
//! * [`spec`] reads and validates an experiment,
//! * [`data`] loads datasets and splits them,
//! * [`methods`] lists the methods: those of the crate [`npsvc`], and the criteria of networks,
//! * `networks`, with the feature `deep`, trains networks on these criteria,
//! * [`plan`] reads the data and names every cell,
//! * [`run`] executes the cells and appends to the [`ledger`],
//! * [`analyse`], with [`stats`] and [`paper`], computes means, tests and warnings from a ledger,
//! * [`render`] writes them as tables, figures and a report,
//! * [`audit`] computes cells again and checks that all of it follows from the ledger.

pub mod analyse;
pub mod audit;
pub mod data;
mod error;
mod event;
pub mod ledger;
mod memory;
pub mod methods;
#[cfg(feature = "deep")]
pub mod networks;
pub mod paper;
pub mod plan;
pub mod render;
pub mod run;
pub mod spec;
pub mod stats;
pub mod wording;

pub use error::{Error, Exit};
pub use event::{Ending, Epochs, Event, Events};
