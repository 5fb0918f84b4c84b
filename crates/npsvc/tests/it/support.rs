//! The digits that all reference numbers were computed on, and methods by name.

use std::path::Path;

use npsvc::ndarray::Array2;
use npsvc::{
    Ctwsvm, Gepsvm, KNpsvcpp, Kernel, Lstwsvm, Method, Nhsvm, Npsvm, Pintwsvm, Rmtbsvm, Storage,
    Svm, TrainingSet, Twsvm,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A method with the parameters given as JSON; the others have their defaults.
type Configure = fn(&Value) -> Box<dyn Method>;

fn configure<M: Method + DeserializeOwned + 'static>(params: &Value) -> Box<dyn Method> {
    Box::new(serde_json::from_value::<M>(params.clone()).unwrap())
}

/// A method: its defaults as JSON, and how to configure it.
pub struct Entry {
    pub name: &'static str,
    pub defaults: Value,
    pub configure: Configure,
}

fn entry<M: Method + Default + Serialize + DeserializeOwned + 'static>() -> Entry {
    Entry {
        name: M::default().info().name,
        defaults: json!(M::default()),
        configure: configure::<M>,
    }
}

/// Every method.
pub fn methods() -> Vec<Entry> {
    vec![
        entry::<Svm>(),
        entry::<Twsvm>(),
        entry::<Npsvm>(),
        entry::<Pintwsvm>(),
        entry::<Rmtbsvm>(),
        entry::<KNpsvcpp>(),
        entry::<Lstwsvm>(),
        entry::<Ctwsvm>(),
        entry::<Nhsvm>(),
        entry::<Gepsvm>(),
    ]
}

/// The method called `name` with these parameters.
pub fn method(name: &str, params: &Value) -> Box<dyn Method> {
    let methods = methods();
    let entry = methods.iter().find(|entry| entry.name == name);
    (entry.unwrap().configure)(params)
}

/// A reference file.
pub fn reference(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/reference")
        .join(name);
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

    /// The training set with the reference kernel: Gaussian, mean squared distance, jitter 1e-6.
    pub fn set(&self) -> TrainingSet {
        let (x, y) = (self.x_train.clone(), self.y_train.clone());
        TrainingSet::new(x, y, &Kernel::default()).unwrap()
    }

    /// The same with a pivoted factor of this rank.
    pub fn pivoted(&self, rank: usize) -> TrainingSet {
        let storage = Storage::Pivoted {
            rank: Some(rank),
            tolerance: 1e-6,
        };
        self.set().with_storage(storage).unwrap()
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
