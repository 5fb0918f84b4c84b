//! Every method by name, with parameters as JSON.

use npsvc::{
    Ctwsvm, FitOptions, Gepsvm, KNpsvcpp, Lstwsvm, Method, Model, Nhsvm, Npsvm, Pintwsvm, Rmtbsvm,
    Scheme, Seed, Storage, Svm, TrainingSet, Twsvm,
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

/// A fit of the method called `name`.
pub fn fit(name: &str, params: &Value, set: &TrainingSet, seed: u64) -> Model {
    let options = FitOptions::seeded(Seed::root(seed));
    let model = method(name, params).fit(set, options);
    model.unwrap_or_else(|error| panic!("{name} {params}: {error}"))
}

pub fn pivoted(rank: Option<usize>, tolerance: f64) -> Storage {
    Storage::Pivoted { rank, tolerance }
}
