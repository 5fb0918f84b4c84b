//! The digits problem all reference numbers were computed on.

use std::path::Path;

use ndarray::Array2;
use npsvc::{Kernel, TrainingSet};
use serde_json::Value;

/// A reference file of the crate npsvc.
pub fn reference(name: &str) -> Value {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/npsvc/tests/reference").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// 300 training and 200 test samples of the UCI optical digits, classes 0..10.
pub struct Digits {
    pub x_train: Array2<f64>,
    pub y_train: Vec<usize>,
    pub x_test: Array2<f64>,
}

impl Digits {
    pub fn load() -> Self {
        let file = reference("k_npsvcpp_digits300.json");
        Self {
            x_train: matrix(&file["x_train"]),
            y_train: labels(&file["y_train"]),
            x_test: matrix(&file["x_test"]),
        }
    }

    /// The training problem with the reference kernel: Gaussian, mean squared distance, 1e-6.
    pub fn set(&self) -> TrainingSet {
        let (x, y) = (self.x_train.clone(), self.y_train.clone());
        TrainingSet::new(x, y, &Kernel::default()).unwrap()
    }
}

/// An array of rows.
pub fn matrix(value: &Value) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = serde_json::from_value(value.clone()).unwrap();
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

/// Labels 1..=10 as classes 0..10.
pub fn labels(value: &Value) -> Vec<usize> {
    let labels: Vec<usize> = serde_json::from_value(value.clone()).unwrap();
    labels.into_iter().map(|label| label - 1).collect()
}

/// A list of numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap()
}
