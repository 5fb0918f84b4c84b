//! Datasets: one file per format and per dataset, a registry, download, splits.

use ndarray::Array2;

/// Labelled samples, checked: finite values, as many labels as rows, every class present.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The name used in specs and tables.
    pub name: String,
    /// Samples in rows.
    pub x: Array2<f64>,
    /// Class of each sample, `0..classes.len()`.
    pub y: Vec<usize>,
    /// The labels as the source writes them, in class order.
    pub classes: Vec<String>,
    /// SHA-256 over shape, values and labels: the same data has the same hash whatever its format.
    pub hash: String,
    /// For data with a split of its own: the first this many rows are for training.
    pub fixed_train: Option<usize>,
    /// Remarks for the report, such as a class count that differs from the paper's.
    pub notes: Vec<String>,
}
