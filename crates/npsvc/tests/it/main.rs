//! Tests of the crate through its public interface, one module per promise.

mod allocation;
mod bad_input;
mod box_qp;
mod certificates;
mod clarabel_scipy_reference;
mod decision;
mod dependencies;
mod digits;
mod factor;
mod golden;
mod iterations;
#[cfg(feature = "linfa")]
mod learner;
mod model_files;
mod nonparallel_reference;
mod plain;
mod properties;
mod readme;
mod samples;
mod sharing;
mod support;
mod svm;
mod threads;
mod training_set;
