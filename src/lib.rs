//! NPSVC++ and its rivals, from a YAML experiment to the paper's tables.
//!
//! The data's way through the crate is one-way:
//!
//! ```text
//! spec -> plan -> data -> split -> fit -> ledger -> statistics -> render
//! ```
//!
//! * [`spec`] reads and validates an experiment,
//! * [`data`] loads datasets and splits them,
//! * [`methods`] lists the methods: those of the crate [`npsvc`], and the criteria of networks,
//! * [`methods`] holds what every build knows of networks, and `networks`, with the feature `deep`, trains them,
//! * [`run`] plans cells, executes them and appends to the [`ledger`],
//! * [`stats`], [`paper`] and [`render`] turn a ledger into tables beside the paper's own numbers.

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
pub use event::{Epochs, Event, Events, Training};
