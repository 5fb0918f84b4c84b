//! Experiment specs: the YAML types, their schema, and validation with positions.
//!
//! A file becomes a tree in which every value knows its place; the tree is checked against the JSON
//! schema of the types below, and what is left becomes an [`Experiment`]. The schema of these types
//! is what validates a file, so the schema in `docs/` cannot drift from what the program accepts.
//! Which methods and datasets exist is handed in as a [`Catalogue`]: this module knows neither.

mod catalogue;
mod check;
mod encoder;
mod factor;
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
mod types;

pub use catalogue::{Catalogue, Check, DatasetEntry, MethodEntry};
pub use encoder::{Backbone, Conventions, EncoderSpec};
pub use factor::{Factor, Pivoted};
pub use problem::{Place, Problem, Source, SpecError};
pub use read::load;
pub use schema::{schema, schema_text};
pub use types::{
    Budget, Compare, DatasetOptions, DatasetSpec, EvaluateOn, Experiment, FileFormat, FilesSpec,
    MethodSpec, Protocol, Recording, Rendering, Reproduces, Resources, Search, Select, SelectBy,
    SelectOn, Slurm, Splits, Test,
};

use check::Checker;
use problem::Finding;

/// A spec that is sound as far as can be told without data.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// With all defaults filled in; parameters of methods stay as given.
    pub experiment: Experiment,
    /// For problems that show only later, such as a parameter too large for a dataset.
    pub source: Source,
}

impl Loaded {
    /// An experiment that was read and checked before; there is no text to point at.
    pub fn resolved(experiment: Experiment) -> Self {
        let source = Source::new(&experiment.name, "");
        Self { experiment, source }
    }
}

/// Reads a spec from `text`; `name` is the file's name in messages.
pub fn parse(text: &str, name: &str, catalogue: &Catalogue) -> Result<Loaded, SpecError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut source = Source::new(name, text);
    let fail = |source: &Source, findings: Vec<Finding>| {
        let problem = |finding| source.problem_of(finding);
        SpecError::new(findings.into_iter().map(problem).collect())
    };
    let mut findings = Vec::new();
    source.root = match node::parse(text, &mut findings) {
        Ok(root) => root,
        Err(finding) => return Err(fail(&source, vec![*finding])),
    };
    let schema = schema(catalogue);
    let mut checker = Checker::new(&schema);
    let value = checker.root(&source.root);
    checker.findings.extend(findings);
    match resolve::resolve(&source.root, value, checker, catalogue) {
        Ok(experiment) => Ok(Loaded { experiment, source }),
        Err(findings) => Err(fail(&source, findings)),
    }
}
