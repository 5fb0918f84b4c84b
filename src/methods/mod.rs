//! The methods that a spec can name: parameters, cost and how to fit them.
//!
//! Every build knows all methods, so that every build checks a spec in the same way. Networks are
//! trained only by a build with the feature `deep`.

pub mod cost;
pub mod criteria;
mod parameters;
mod svm;
mod trace;

use std::sync::LazyLock;

use npsvc::{
    BadParameter, Ctwsvm, Gepsvm, KNpsvcpp, Lstwsvm, Method, MethodInfo, Nhsvm, Npsvm, Pintwsvm,
    Rmtbsvm, Scheme, Shape, Twsvm,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use cost::Cost;
pub use svm::{Engine, Svm};
pub use trace::TraceRow;

use criteria::{
    AmSoftmax, ArcFace, Criterion, CrossEntropy, DNpsvcpp, Dtwsvn, Loss, NEEDS_DEEP, Parameters,
};
pub(crate) use parameters::{is_default, spec_parameters};

/// All methods: those of the paper's Table 2 in its order, the other kernel methods, then the criteria of
/// networks, those of Table 3 first.
pub static METHODS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        kernel::<Svm>(cost::svm),
        kernel::<Twsvm>(|twsvm, shape, _| cost::square_similarity(twsvm.scheme, shape)),
        kernel::<Npsvm>(|_, shape, _| cost::full_dual(shape)),
        kernel::<Pintwsvm>(|pintwsvm, shape, _| cost::square_similarity(pintwsvm.scheme, shape)),
        kernel::<Rmtbsvm>(|_, shape, _| cost::rmtbsvm(shape)),
        kernel::<KNpsvcpp>(|k_npsvcpp, shape, _| cost::k_npsvcpp(k_npsvcpp, shape)),
        kernel::<Lstwsvm>(|lstwsvm, shape, _| cost::square_similarity(lstwsvm.scheme, shape)),
        kernel::<Ctwsvm>(|_, shape, _| cost::full_dual(shape)),
        kernel::<Nhsvm>(|_, shape, _| cost::nhsvm(shape)),
        kernel::<Gepsvm>(|gepsvm, shape, _| cost::square_similarity(gepsvm.scheme, shape)),
        network::<CrossEntropy>(),
        network::<ArcFace>(),
        network::<Dtwsvn>(),
        network::<DNpsvcpp>(),
        network::<AmSoftmax>(),
    ]
});

/// The method called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    METHODS.iter().find(|entry| entry.info.name == name)
}

/// A method that a spec can name.
pub struct Entry {
    pub info: MethodInfo,
    /// Whether it trains a network on features instead of fitting on a kernel matrix.
    pub is_network: bool,
    /// Default parameters.
    pub defaults: Value,
    schema: fn(&mut SchemaGenerator) -> Schema,
    configure: Configure,
}

type Configure = Box<dyn Fn(&Value) -> Result<Point, ConfigureError> + Send + Sync>;

impl Entry {
    /// JSON schema of the parameters, with all definitions.
    pub fn schema(&self) -> Value {
        let mut generator = SchemaGenerator::default();
        let mut schema = self.json_schema(&mut generator);
        schema["$defs"] = generator.take_definitions(true).into();
        schema
    }

    /// JSON schema of the parameters, whose definitions `generator` keeps.
    pub fn json_schema(&self, generator: &mut SchemaGenerator) -> Value {
        (self.schema)(generator).to_value()
    }

    /// The method with these parameters, checked; missing ones have their defaults.
    pub fn point(&self, params: &Value) -> Result<Point, ConfigureError> {
        (self.configure)(params)
    }

    /// Why this build cannot fit it.
    pub fn unavailable_reason(&self) -> Option<&'static str> {
        (self.is_network && !cfg!(feature = "deep")).then_some(NEEDS_DEEP)
    }
}

/// A method with checked parameters.
pub struct Point {
    /// All parameters, as JSON.
    pub params: Value,
    pub(crate) fitter: Fitter,
}

/// Cost of a fit on a training set of this shape with this number of threads.
type CostOf = Box<dyn Fn(Shape, usize) -> Cost + Send + Sync>;

/// What fits a point.
pub(crate) enum Fitter {
    Kernel(Box<dyn Method>, CostOf),
    Network(Box<Criterion>),
}

impl Point {
    /// The multi-class scheme, if the method has one.
    pub fn scheme(&self) -> Option<Scheme> {
        match &self.fitter {
            Fitter::Kernel(method, _) => method.scheme(),
            Fitter::Network(criterion) => criterion.scheme(),
        }
    }

    /// The criterion, if the method trains a network.
    pub fn criterion(&self) -> Option<&Criterion> {
        match &self.fitter {
            Fitter::Kernel(..) => None,
            Fitter::Network(criterion) => Some(criterion),
        }
    }

    /// The kernel method, unless the method trains a network.
    pub fn kernel_method(&self) -> Option<&dyn Method> {
        match &self.fitter {
            Fitter::Kernel(method, _) => Some(method.as_ref()),
            Fitter::Network(_) => None,
        }
    }

    /// Checks the parameters against a training set of this shape.
    pub fn check_shape(&self, shape: Shape) -> Result<(), BadParameter> {
        self.kernel_method().map_or(Ok(()), |method| method.check(Some(shape)))
    }

    /// Rough cost of a fit with this number of threads.
    pub fn cost(&self, shape: Shape, threads: usize) -> Cost {
        match &self.fitter {
            Fitter::Kernel(_, cost) => cost(shape, threads),
            Fitter::Network(criterion) => criterion.cost(shape),
        }
    }
}

/// Why parameters were refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    #[error("{0}")]
    Shape(#[from] serde_json::Error),
    #[error("{0}")]
    Range(#[from] BadParameter),
}

/// What parameters need so that a spec can contain them.
trait Text: Serialize + DeserializeOwned + JsonSchema + Clone + Default + 'static {}

impl<T: Serialize + DeserializeOwned + JsonSchema + Clone + Default + 'static> Text for T {}

/// The entry of a kernel method, with its cost.
fn kernel<M: Method + Text>(
    cost: impl Fn(&M, Shape, usize) -> Cost + Copy + Send + Sync + 'static,
) -> Entry {
    entry(*M::default().info(), false, move |method: M| {
        method.check(None)?;
        let same = method.clone();
        let cost = move |shape, threads| cost(&same, shape, threads);
        Ok(Fitter::Kernel(Box::new(method), Box::new(cost)))
    })
}

/// The entry of a criterion of networks.
fn network<P: Parameters>() -> Entry {
    let default: Criterion = P::default().into();
    let losses = match default.loss {
        Loss::Softmax(_) => ["–", "–"],
        Loss::Hyperplanes(_) => ["a²/2", "[s − a]₊²/2"],
    };
    entry(P::info(losses), true, |parameters: P| {
        parameters.check_ranges()?;
        let criterion: Criterion = parameters.into();
        criterion.check()?;
        Ok(Fitter::Network(Box::new(criterion)))
    })
}

fn entry<P: Text>(
    info: MethodInfo,
    is_network: bool,
    check: impl Fn(P) -> Result<Fitter, BadParameter> + Send + Sync + 'static,
) -> Entry {
    let configure = move |params: &Value| {
        let parameters: P = serde_json::from_value(params.clone())?;
        Ok(Point { params: to_value(&parameters), fitter: check(parameters)? })
    };
    let defaults = to_value(&P::default());
    Entry { info, is_network, defaults, schema: P::json_schema, configure: Box::new(configure) }
}

fn to_value(parameters: &impl Serialize) -> Value {
    serde_json::to_value(parameters).expect("parameters are numbers, names and flags")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_unique_and_defaults_are_in_range() {
        let mut names: Vec<_> = METHODS.iter().map(|entry| entry.info.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METHODS.len());
        for entry in METHODS.iter() {
            let point = entry.point(&json!({})).unwrap();
            assert_eq!(point.params, entry.defaults, "{}", entry.info.name);
        }
    }

    #[test]
    fn a_spec_can_name_every_method_of_the_crate() {
        for method in npsvc::AnyMethod::all() {
            let name = method.info().name;
            assert!(find(name).is_some(), "{name} has no line in METHODS");
        }
    }

    #[test]
    fn bad_parameters_are_refused_by_name() {
        let refused = |name: &str, params| match find(name).unwrap().point(&params) {
            Ok(_) => panic!("{name} accepted {params}"),
            Err(error) => error.to_string(),
        };
        let text = refused("twsvm", json!({"c": -1.0}));
        assert_eq!(text, "`c` is -1, expected a number above 0");
        assert!(refused("k-npsvcpp", json!({"d": "2L"})).contains("2K"));
        assert!(refused("svm", json!({"cc": 1})).contains("unknown field `cc`"));
    }
}
