//! The list of methods, and how a name and JSON parameters become something that can be fitted.

use std::marker::PhantomData;

use serde_json::Value;

use super::{
    Along, BadParameter, Cost, Ctwsvm, Fit, FitError, Gepsvm, KNpsvcpp, Lstwsvm, Method, Nhsvm,
    Npsvm, Pintwsvm, Problem, Rmtbsvm, Scheme, Shape, Svm, Twsvm, fit_finite,
};
use crate::methods::criteria::{
    AmSoftmax, ArcFace, Criterion, CrossEntropy, DNpsvcpp, Dtwsvn, NEEDS_DEEP, Parameters,
};
use crate::seed::Seed;

/// All methods: those of the paper's Table 2 in its order, then the others.
pub static METHODS: &[&dyn Entry] = &[
    &Of::<Svm>::NEW,
    &Of::<Twsvm>::NEW,
    &Of::<Npsvm>::NEW,
    &Of::<Pintwsvm>::NEW,
    &Of::<Rmtbsvm>::NEW,
    &Of::<KNpsvcpp>::NEW,
    &Of::<Lstwsvm>::NEW,
    &Of::<Ctwsvm>::NEW,
    &Of::<Nhsvm>::NEW,
    &Of::<Gepsvm>::NEW,
];

/// Criteria for training networks, those of the paper's Table 3 in its order, then the other.
pub static CRITERIA: &[&dyn Entry] = &[
    &OfNetwork::<CrossEntropy>::NEW,
    &OfNetwork::<ArcFace>::NEW,
    &OfNetwork::<Dtwsvn>::NEW,
    &OfNetwork::<DNpsvcpp>::NEW,
    &OfNetwork::<AmSoftmax>::NEW,
];

/// All that a spec may name, this build able to fit it or not.
pub fn all() -> impl Iterator<Item = &'static dyn Entry> {
    METHODS.iter().chain(CRITERIA).copied()
}

/// The method called `name`.
pub fn find(name: &str) -> Option<&'static dyn Entry> {
    all().find(|entry| entry.name() == name)
}

/// A method of the registry, whatever its parameter type.
pub trait Entry: Sync {
    fn name(&self) -> &'static str;
    fn title(&self) -> &'static str;
    fn about(&self) -> &'static str;
    /// Similarity and dissimilarity loss.
    fn losses(&self) -> [&'static str; 2];
    fn version(&self) -> u32;
    /// JSON schema of the parameters.
    fn schema(&self) -> Value;
    /// Default parameters.
    fn defaults(&self) -> Value;
    /// Parameters from JSON, defaults filled in, checked.
    fn configure(&self, params: &Value) -> Result<Box<dyn Configured>, ConfigureError>;
    /// Whether it trains a network, on features, instead of fitting on a kernel matrix.
    fn is_network(&self) -> bool {
        false
    }
    /// The parameters along which fits of a sweep follow each other, see [`Method::ALONG`].
    fn along(&self) -> &'static [Along] {
        &[Along::Up("c")]
    }
    /// Whether it learns a representation by a kernel, which can be recorded.
    fn learns(&self) -> bool {
        false
    }
    /// What this build lacks to fit it.
    fn lacks(&self) -> Option<&'static str> {
        None
    }
}

/// A method with checked parameters.
pub trait Configured: Send + Sync {
    /// All parameters, as JSON.
    fn params(&self) -> Value;
    fn scheme(&self) -> Option<Scheme>;
    fn check_shape(&self, shape: Shape) -> Result<(), BadParameter>;
    fn cost(&self, shape: Shape) -> Cost;
    fn fit(&self, problem: &Problem, seed: &Seed) -> Result<Fit, FitError>;
    /// What trains a network, where it is such a method.
    fn criterion(&self) -> Option<&Criterion> {
        None
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

/// The registry line of a [`Method`].
struct Of<M>(PhantomData<fn() -> M>);

impl<M> Of<M> {
    const NEW: Self = Self(PhantomData);
}

impl<M: Method> Entry for Of<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn title(&self) -> &'static str {
        M::TITLE
    }

    fn about(&self) -> &'static str {
        M::ABOUT
    }

    fn losses(&self) -> [&'static str; 2] {
        M::LOSSES
    }

    fn version(&self) -> u32 {
        M::VERSION
    }

    fn along(&self) -> &'static [Along] {
        M::ALONG
    }

    fn learns(&self) -> bool {
        M::LEARNS
    }

    fn schema(&self) -> Value {
        schemars::schema_for!(M).to_value()
    }

    fn defaults(&self) -> Value {
        to_value(&M::default())
    }

    fn configure(&self, params: &Value) -> Result<Box<dyn Configured>, ConfigureError> {
        let method: M = serde_json::from_value(params.clone())?;
        method.check()?;
        Ok(Box::new(method))
    }
}

impl<M: Method> Configured for M {
    fn params(&self) -> Value {
        to_value(self)
    }

    fn scheme(&self) -> Option<Scheme> {
        Method::scheme(self)
    }

    fn check_shape(&self, shape: Shape) -> Result<(), BadParameter> {
        Method::check_shape(self, shape)
    }

    fn cost(&self, shape: Shape) -> Cost {
        Method::cost(self, shape)
    }

    fn fit(&self, problem: &Problem, seed: &Seed) -> Result<Fit, FitError> {
        fit_finite(self, problem, seed)
    }
}

/// The registry line of a [`Criterion`].
struct OfNetwork<P>(PhantomData<fn() -> P>);

impl<P> OfNetwork<P> {
    const NEW: Self = Self(PhantomData);
}

impl<P: Parameters> Entry for OfNetwork<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn title(&self) -> &'static str {
        P::TITLE
    }

    fn about(&self) -> &'static str {
        P::ABOUT
    }

    fn losses(&self) -> [&'static str; 2] {
        P::LOSSES
    }

    fn version(&self) -> u32 {
        P::VERSION
    }

    fn schema(&self) -> Value {
        schemars::schema_for!(P).to_value()
    }

    fn defaults(&self) -> Value {
        to_value(&P::default())
    }

    fn configure(&self, params: &Value) -> Result<Box<dyn Configured>, ConfigureError> {
        let parameters: P = serde_json::from_value(params.clone())?;
        let params = to_value(&parameters);
        let criterion: Criterion = parameters.into();
        criterion.check()?;
        Ok(Box::new(OnNetwork { params, criterion }))
    }

    fn is_network(&self) -> bool {
        true
    }

    fn lacks(&self) -> Option<&'static str> {
        (!cfg!(feature = "deep")).then_some(NEEDS_DEEP)
    }
}

/// A criterion with checked parameters.
struct OnNetwork {
    params: Value,
    criterion: Criterion,
}

impl Configured for OnNetwork {
    fn params(&self) -> Value {
        self.params.clone()
    }

    fn scheme(&self) -> Option<Scheme> {
        self.criterion.scheme()
    }

    fn check_shape(&self, _: Shape) -> Result<(), BadParameter> {
        Ok(())
    }

    fn cost(&self, shape: Shape) -> Cost {
        self.criterion.cost(shape)
    }

    fn fit(&self, _: &Problem, _: &Seed) -> Result<Fit, FitError> {
        Err(FitError::Engine {
            engine: "libtorch",
            message: "a network has no kernel expansion".to_owned(),
        })
    }

    fn criterion(&self) -> Option<&Criterion> {
        Some(&self.criterion)
    }
}

fn to_value(parameters: &impl serde::Serialize) -> Value {
    serde_json::to_value(parameters).expect("parameters are numbers, names and flags")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_unique_and_defaults_are_sound() {
        let mut names: Vec<_> = all().map(|entry| entry.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METHODS.len() + CRITERIA.len());
        for entry in all() {
            let configured = entry.configure(&json!({})).unwrap();
            assert_eq!(configured.params(), entry.defaults(), "{}", entry.name());
        }
    }

    #[test]
    fn bad_parameters_are_refused_by_name() {
        let refused = |name: &str, params| match find(name).unwrap().configure(&params) {
            Ok(_) => panic!("{name} accepted {params}"),
            Err(error) => error.to_string(),
        };
        let text = refused("twsvm", json!({"c": -1.0}));
        assert_eq!(text, "`c` is -1, expected a number above 0");
        assert!(refused("k-npsvcpp", json!({"d": "2L"})).contains("2K"));
        assert!(refused("svm", json!({"cc": 1})).contains("unknown field `cc`"));
    }
}
