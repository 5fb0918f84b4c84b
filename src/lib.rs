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
//! * [`kernel`], [`solve`] and [`model`] are the mathematics: kernels, certified optimisers, methods,
//! * `deep`, with the feature of that name, encodes images,
//! * [`run`] plans cells, executes them and appends to the [`ledger`],
//! * [`stats`], [`paper`] and [`render`] turn a ledger into tables beside the paper's own numbers.

mod catalogue;
pub mod data;
#[cfg(feature = "deep")]
pub mod deep;
pub mod ledger;
mod memory;
pub mod model;
pub mod paper;
pub mod render;
pub mod run;
pub mod spec;
pub mod stats;
mod wording;

pub use catalogue::catalogue;
pub use npsvc::{kernel, seed, solve};
