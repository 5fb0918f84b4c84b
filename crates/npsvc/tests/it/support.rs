//! Every method by name, with parameters as JSON.

use npsvc::{AnyMethod, FitError, FitOptions, Model, Scheme, Seed, Storage, TrainingSet};
use serde_json::{Value, json};

/// A method and its defaults as JSON.
pub struct Entry {
    pub name: &'static str,
    pub defaults: Value,
}

impl Entry {
    pub fn has(&self, parameter: &str) -> bool {
        self.defaults.get(parameter).is_some()
    }

    /// Every method but the one-versus-one SVM has hyperplanes for single classes.
    pub fn is_nonparallel(&self) -> bool {
        self.has("scheme")
    }

    /// One set of parameters per scheme.
    pub fn schemes(&self) -> Vec<Value> {
        match self.is_nonparallel() {
            true => vec![json!({"scheme": Scheme::Ovr}), json!({"scheme": Scheme::Rvo})],
            false => vec![json!({})],
        }
    }

    /// Asks for this relative duality gap, if the method can choose it.
    pub fn set_accuracy(&self, params: &mut Value, gap: f64) {
        let names = ["qp_tolerance", "tolerance"].into_iter();
        if let Some(name) = names.into_iter().find(|name| self.has(name)) {
            params[name] = json!(gap);
        }
    }

    /// The dimensions of a learned representation, if the method has one.
    pub fn set_dimensions(&self, params: &mut Value, d: usize) {
        if self.has("d") {
            params["d"] = json!(d);
        }
    }
}

/// Every method.
pub fn methods() -> Vec<Entry> {
    let entry = |method: AnyMethod| {
        let name = method.info().name;
        Entry { name, defaults: json!(method)[name].clone() }
    };
    AnyMethod::all().into_iter().map(entry).collect()
}

/// The method called `name` with these parameters; the others have their defaults.
pub fn method(name: &str, params: &Value) -> AnyMethod {
    serde_json::from_value(json!({name: params})).unwrap()
}

/// A fit of the method called `name`.
pub fn fit(name: &str, params: &Value, set: &TrainingSet, seed: u64) -> Model {
    let options = FitOptions::seeded(Seed::root(seed));
    let model = method(name, params).fit(set, options);
    model.unwrap_or_else(|error| panic!("{name} {params}: {error}"))
}

/// As [`fit`]; `None` if a hyperplane is zero, as that of a capped loss may be on few dimensions.
pub fn fit_unless_zero(name: &str, params: &Value, set: &TrainingSet, seed: u64) -> Option<Model> {
    let options = FitOptions::seeded(Seed::root(seed));
    match method(name, params).fit(set, options) {
        Err(FitError::ZeroHyperplane { .. }) => None,
        model => Some(model.unwrap_or_else(|error| panic!("{name} {params}: {error}"))),
    }
}

pub fn pivoted(rank: Option<usize>, tolerance: f64) -> Storage {
    Storage::Pivoted { rank, tolerance }
}
