//! One iteration or epoch of a fit, as a results folder records it.

use serde::{Deserialize, Serialize};

/// One iteration of K-NPSVC++, or one epoch of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceRow {
    pub iteration: usize,
    /// `max_l J_l`.
    pub primal: f64,
    /// `sum_l tau_l J_l`.
    pub dual: f64,
    /// `J_l` of every class.
    pub objectives: Vec<f64>,
    /// The weights used in this iteration.
    pub tau: Vec<f64>,
    /// The optimum of this iteration's tau-step, before momentum.
    pub tau_star: Vec<f64>,
    /// Norm of the combined Riemannian gradient under `tau_star`.
    pub gradient_norm: f64,
    /// The manifold term `mu/2 tr(Z L Z^T)` contained in every objective.
    pub manifold: f64,
    /// Percent of the test samples classified correctly after this iteration, if the spec asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Duration of this iteration, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl From<&npsvc::TraceRow> for TraceRow {
    fn from(row: &npsvc::TraceRow) -> Self {
        let row = row.clone();
        Self {
            iteration: row.iteration,
            primal: row.primal,
            dual: row.dual,
            objectives: row.objectives,
            tau: row.tau,
            tau_star: row.tau_star,
            gradient_norm: row.gradient_norm,
            manifold: row.manifold,
            accuracy: None,
            seconds: None,
        }
    }
}
