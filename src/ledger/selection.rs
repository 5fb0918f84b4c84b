//! How the parameters of a cell were chosen, as a ledger records it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What was tried and what was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// The key `select` of the spec.
    pub settings: Value,
    /// Samples that were scored.
    pub samples: usize,
    pub points: Vec<Tried>,
    /// Index of the point chosen: the best mean, the earlier one among equals.
    pub chosen: usize,
    /// Points one step of one parameter away from it, which only older records list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<usize>,
    /// Parameters whose best value is at an end of their grid, with a worse one next to it: beyond
    /// the end there may be better ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge>,
    pub seconds: f64,
    /// What other versions write.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The inner scores of one point, in percent, one per fold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    pub params: Value,
    pub scores: Vec<f64>,
    /// Mean score; absent where a fold failed or not all were scored.
    pub mean: Option<f64>,
    /// The number of folds after which successive halving dropped the point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A parameter whose best value is at an end of its grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    pub parameter: String,
    pub value: Value,
    pub end: End,
}

/// An end of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    Smallest,
    Largest,
}
