//! Solvers. Each returns a [`Certificate`](crate::Certificate), or numbers to build one from.
//!
//! | module | problem |
//! |---|---|
//! | [`box_qp`] | `min 1/2 x^T Q x + sum_i h_i(x_i)` on a box |
//! | [`smo`] | the dual of a two-class support vector machine |
//! | [`simplex`] | `min 1/2 tau^T G tau - h^T tau` on the simplex |
//! | [`lanczos`] | the largest eigenvalue of a symmetric operator |
//! | [`stiefel`] | the orthonormal frame nearest to a matrix |

pub mod box_qp;
pub mod lanczos;
pub mod simplex;
pub mod smo;
pub mod stiefel;
