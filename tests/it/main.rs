//! The tests of the program and its library, one module per subject. `fuzz` has its own binary, for its allocator.

mod absent_data;
mod audit;
mod bad_data;
mod bad_input;
mod bad_spec;
mod before_compute;
mod cli;
mod closed_pipes;
#[cfg(feature = "deep")]
mod deep;
#[cfg(feature = "deep")]
mod deep_faults;
mod dependencies;
mod determinism;
mod devices;
mod documents;
#[cfg(feature = "deep")]
mod encoder;
mod faults;
mod figure;
mod figures;
mod findings;
mod finished;
mod fresh;
mod golden;
#[cfg(feature = "deep")]
mod golden_networks;
mod golden_numbers;
mod integrity;
#[cfg(feature = "failpoints")]
mod interrupted;
mod isolate;
#[cfg(feature = "failpoints")]
mod killed;
mod limits;
mod memory;
mod only;
mod outputs;
mod own_files;
mod program;
mod published;
mod quickstart;
mod real_data;
mod record;
mod render;
mod rendered;
mod report;
mod results;
mod resume;
mod shard;
#[cfg(unix)]
mod slurm;
mod splits;
mod statistics;
mod support;
mod svm_reference;
mod sweep;
#[cfg(feature = "deep")]
mod textures;
mod tiny;
#[cfg(feature = "deep")]
mod training_seeds;
mod truths;
#[cfg(feature = "deep")]
mod validation;
mod versions;
#[cfg(not(feature = "deep"))]
mod without_deep;
