//! Experiment specs: the YAML types, their schema, and validation with positions.
//!
//! A file becomes a tree in which every value knows its place. The tree is checked against the JSON schema of
//! the types below and becomes an [`Experiment`], whose methods are configured once. So the schema in `docs/`
//! cannot drift from what the program accepts.

mod axis;
mod candidates;
mod check;
mod form;
mod node;
mod phrase;
mod problem;
mod range;
mod read;
mod resolve;
mod schema;
#[cfg(test)]
mod tests;
mod tuning;
mod types;

pub use candidates::Candidates;
pub use problem::{Place, Problem, SpecError, SpecText};
pub use read::{files, load};
pub use schema::{schema, schema_text, slurm_option};
pub use types::{
    Budget, Compare, Experiment, Factor, MethodSpec, Pivoted, Protocol, Recording, Rendering,
    Reproduces, Resources, Search, Select, SelectBy, SelectOn, Slurm, Test,
};

pub use crate::data::{
    Backbone, Conventions, DatasetOptions, DatasetSpec, EncoderSpec, EvaluateOn, FileFormat,
    FilesSpec, Splits,
};

use std::sync::Arc;

use node::Kind;

/// A spec without problems that can be found without data.
pub struct Spec {
    /// With all defaults filled in; parameters of methods stay as given.
    pub experiment: Experiment,
    /// One per method of the experiment.
    pub methods: Arc<[Candidates]>,
    /// For problems that show only later, such as a parameter too large for a dataset.
    pub text: SpecText,
}

impl Spec {
    /// An experiment that was read and checked before; there is no text to point at.
    pub fn of(experiment: Experiment) -> Result<Self, String> {
        let methods = experiment.methods.iter().map(Candidates::of).collect::<Result<_, _>>()?;
        let text = SpecText::new(&experiment.name, "");
        Ok(Self { experiment, methods, text })
    }

    /// Whether the text has this key.
    pub fn gives(&self, key: &str) -> bool {
        self.text.root.get(key).is_some()
    }
}

/// Reads a spec from `text`; `name` is the file's name in messages.
pub fn parse(text: &str, name: &str) -> Result<Spec, SpecError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut source = SpecText::new(name, text);
    source.root = node::parse(text).map_err(|problem| source.error(vec![*problem]))?;
    if matches!(source.root.kind, Kind::Null) {
        let message = "the file holds no experiment, expected at least the keys `name`, `datasets` and `methods`";
        return Err(source.error(vec![source.problem(&[], message, None)]));
    }
    let (experiment, methods) =
        resolve::resolve(&source).map_err(|problems| source.error(problems))?;
    Ok(Spec { experiment, methods: methods.into(), text: source })
}
