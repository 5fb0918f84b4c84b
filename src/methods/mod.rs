//! What every build knows of the methods, with or without libtorch.

pub mod criteria;
