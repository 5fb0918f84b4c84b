//! The list of methods.
