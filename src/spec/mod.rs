//! Experiment specs: the YAML types, their schema, and validation with positions.
//!
//! A file becomes a tree in which every value knows its place. The tree is checked against the JSON schema of
//! the types below and becomes an [`Experiment`], whose methods are configured once. So the schema in `docs/`
//! cannot drift from what the program accepts.

mod candidates;
mod check;
mod factor;
mod form;
mod node;
mod phrase;
mod problem;
mod range;
mod read;
mod resolve;
mod sample;
mod schema;
#[cfg(test)]
mod tests;
mod tuning;
mod types;

pub use candidates::Candidates;
pub use factor::{Factor, Pivoted};
pub use problem::{Place, Problem, Source, SpecError};
pub use read::load;
pub use schema::{schema, schema_text};
pub use types::{
    Budget, Compare, Experiment, MethodSpec, Protocol, Recording, Rendering, Reproduces, Resources,
    Search, Select, SelectBy, SelectOn, Slurm, Test,
};

pub use crate::data::{
    Backbone, Conventions, DatasetOptions, DatasetSpec, EncoderSpec, EvaluateOn, FileFormat,
    FilesSpec, Splits,
};

use std::sync::Arc;

use check::Checker;
use form::Form;
use node::Kind;

/// A spec without problems that can be found without data.
pub struct Spec {
    /// With all defaults filled in; parameters of methods stay as given.
    pub experiment: Experiment,
    /// One per method of the experiment.
    pub methods: Arc<[Candidates]>,
    /// For problems that show only later, such as a parameter too large for a dataset.
    pub source: Source,
}

impl Spec {
    /// An experiment that was read and checked before; there is no text to point at.
    pub fn of(experiment: Experiment) -> Result<Self, String> {
        let methods = experiment.methods.iter().map(Candidates::of).collect::<Result<_, _>>()?;
        let source = Source::new(&experiment.name, "");
        Ok(Self { experiment, methods, source })
    }
}

/// Reads a spec from `text`; `name` is the file's name in messages.
pub fn parse(text: &str, name: &str) -> Result<Spec, SpecError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Source::new(name, text);
    let root = node::parse(text).map_err(|problem| source.error(vec![*problem]))?;
    if matches!(root.kind, Kind::Null) {
        let message = "the file holds no experiment, expected at least the keys `name`, `datasets` and `methods`";
        return Err(source.error(vec![Problem::new(root.at, message)]));
    }
    let schema = schema();
    let definitions = schema["$defs"].as_object().expect("the schema has definitions");
    let form = Form::of(&schema, definitions);
    let mut checker = Checker::default();
    let value = checker.value(&root, &form);
    match resolve::resolve(&root, value, &form, checker.problems) {
        Ok((experiment, methods)) => {
            let source = source.with_root(root);
            Ok(Spec { experiment, methods: methods.into(), source })
        }
        Err(problems) => Err(source.error(problems)),
    }
}
