//! Optimisers. Each returns a [`Certificate`](crate::Certificate), or numbers to build one from.

pub mod box_qp;
pub mod lanczos;
pub mod simplex;
pub mod smo;
pub mod stiefel;
