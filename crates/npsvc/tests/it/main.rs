//! Tests of the crate through its public interface, one module per promise.

mod golden;
mod support;
