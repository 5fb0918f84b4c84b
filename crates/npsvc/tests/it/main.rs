//! Tests of the crate through its public interface, one module per promise.

mod box_qp;
mod clarabel_scipy_reference;
mod digits;
mod factor;
mod golden;
mod nonparallel_reference;
mod properties;
mod samples;
mod sharing;
mod support;
mod svm;
mod threads;
