//! Optimisers, each of which returns a [`Certificate`]: how far it got and how far it can be off.

pub mod box_qp;
pub mod lanczos;
pub mod simplex;
pub mod smo;
pub mod stiefel;

use serde::{Deserialize, Serialize};

/// What an optimiser can vouch for when it ends. For the convex methods `dual` is a bound. The others (K-NPSVC++,
/// the reweighted ones, GEPSVM, networks) have no such bound to offer: docs/fidelity.md says what theirs is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Objective of the point returned.
    pub primal: f64,
    /// Lower bound on every attainable objective, where the problem is convex.
    pub dual: f64,
    /// `primal - dual`; never negative beyond rounding.
    pub gap: f64,
    pub iterations: usize,
    /// Whether the stopping rule was met, as opposed to a limit.
    pub converged: bool,
}

impl Certificate {
    /// The same certificate for an objective `factor > 0` times as large.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            primal: factor * self.primal,
            dual: factor * self.dual,
            gap: factor * self.gap,
            ..self
        }
    }

    /// The certificate of several independent problems: sums, and whether all converged.
    pub fn total(parts: impl IntoIterator<Item = Self>) -> Self {
        let zero = Self {
            converged: true,
            ..Self::default()
        };
        parts.into_iter().fold(zero, |sum, part| Self {
            primal: sum.primal + part.primal,
            dual: sum.dual + part.dual,
            gap: sum.gap + part.gap,
            iterations: sum.iterations + part.iterations,
            converged: sum.converged && part.converged,
        })
    }
}
