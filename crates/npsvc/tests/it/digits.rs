//! The digits that all reference numbers were computed on, and the reference files.

use std::path::Path;

use npsvc::ndarray::Array2;
use npsvc::{Kernel, Storage, TrainingSet};
use serde_json::Value;

/// A reference file.
pub fn reference(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// 300 training and 200 test samples of the UCI optical digits, classes 0..10.
#[derive(Clone)]
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

    /// The training set with the reference kernel: Gaussian, mean squared distance, jitter 1e-6.
    pub fn set(&self) -> TrainingSet {
        self.stored(&Kernel::default(), Storage::default())
    }

    /// The training set with this kernel and this storage.
    pub fn stored(&self, kernel: &Kernel, storage: Storage) -> TrainingSet {
        let (x, y) = (self.x_train.clone(), self.y_train.clone());
        let set = TrainingSet::new(x, y, kernel).unwrap();
        set.with_storage(storage).unwrap()
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
