//! From checked JSON to an [`Experiment`]: names and labels resolved, methods configured, and all the
//! checks that no schema can express.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::{Value, json};

use super::candidates::Candidates;
use super::check::Checker;
use super::node::Node;
use super::phrase::{did_you_mean, name_of, one_of};
use super::problem::{Place, Problem, SpecText};
use super::schema::{FILES, FORM, LABEL};
use super::types::{Experiment, MethodSpec};
use super::{DatasetSpec, FilesSpec};
use crate::paper;
use crate::wording::{closest, counted};

/// The experiment that `text` describes, and the points of its methods. Entries in which there are problems are
/// skipped, so that one run reports as much as can be known.
pub(super) fn resolve(text: &SpecText) -> Result<(Experiment, Vec<Candidates>), Vec<Problem>> {
    let mut checker = Checker::default();
    let mut value = checker.value(&text.root, &FORM);
    let mut resolver = Resolver { text, value: &value, problems: checker.problems };
    let datasets = resolver.datasets();
    let (methods, candidates) = resolver.methods();
    let against = resolver.against(&methods);
    resolver.check_slurm(&methods);
    resolver.check_table();
    if !resolver.problems.is_empty() {
        return Err(resolver.problems);
    }
    (value["datasets"], value["methods"]) = (json!([]), json!([]));
    let mut experiment: Experiment = serde_json::from_value(value).map_err(|error| {
        vec![text.problem(&[], format!("not a valid experiment: {error}"), None)]
    })?;
    if let (Some(compare), Some(against)) = (&mut experiment.compare, against) {
        compare.against = against;
    }
    Ok((Experiment { datasets, methods, ..experiment }, candidates))
}

pub(super) struct Resolver<'a> {
    pub text: &'a SpecText,
    pub value: &'a Value,
    pub problems: Vec<Problem>,
}

/// An entry of `methods` or `datasets`.
pub(super) struct Entry<'a> {
    list: &'a str,
    index: String,
    pub name: &'a str,
    pub options: &'a Value,
}

impl Entry<'_> {
    pub fn subject(&self, option: &str) -> String {
        format!("{} of {}", name_of(option), name_of(self.name))
    }
}

impl<'a> Resolver<'a> {
    /// The entries of the list under `key` without those that have a problem.
    fn entries(&self, list: &'a str) -> Vec<Entry<'a>> {
        let values = self.value[list].as_array().into_iter().flatten().enumerate();
        let entry = |(index, value): (usize, &'a Value)| {
            let (name, options) = value.as_object()?.iter().next()?;
            Some(Entry { list, index: index.to_string(), name, options })
        };
        values.filter_map(entry).collect()
    }

    /// Where an option of an entry is given, or an item of it; else where the entry is.
    pub fn place(&self, entry: &Entry<'_>, option: &[&str]) -> Place {
        self.text.place(&[&[entry.list, &entry.index], option].concat())
    }

    /// Whether all methods are known, so that a name can be called unknown.
    fn has_all_methods(&self) -> bool {
        let methods = self.value["methods"].as_array();
        methods.is_none_or(|methods| methods.iter().all(Value::is_object))
    }

    fn datasets(&mut self) -> Vec<DatasetSpec> {
        let (mut datasets, mut names) = (Vec::new(), HashMap::new());
        for entry in self.entries("datasets") {
            let is_own = entry.name == FILES;
            let at = self.place(&entry, if is_own { &["name"] } else { &[] });
            match dataset(&entry) {
                Ok(dataset) => {
                    let help = is_own.then_some("give one of them another `name`");
                    self.claim(&mut names, dataset.name(), at, "datasets are called", help);
                    datasets.push(dataset);
                }
                Err(error) => {
                    let message = format!("{} is not valid: {error}", name_of(entry.name));
                    self.problems.push(Problem::new(at, message));
                }
            }
        }
        datasets
    }

    /// The method entries, and the points of those without problems.
    fn methods(&mut self) -> (Vec<MethodSpec>, Vec<Candidates>) {
        let (mut specs, mut names) = (Vec::new(), HashMap::new());
        let mut known: Vec<(Place, String, Candidates)> = Vec::new();
        for entry in self.entries("methods") {
            let (at, label_at) = (self.place(&entry, &[]), self.place(&entry, &[LABEL]));
            let (spec, points) = self.method(&entry);
            let is_same =
                |other: &Candidates| points.as_ref().is_some_and(|own| own.is_same(other));
            let (label, help) = (spec.label.clone(), "give one of them another `label`");
            if self.claim(&mut names, label, label_at, "methods are labelled", Some(help))
                && let Some((first, theirs, _)) = known.iter().find(|(.., other)| is_same(other))
            {
                // Its cells would be the same cells under any label.
                let message = format!(
                    "this is the method of line {} with the same parameters, labelled {} there",
                    first.line,
                    name_of(theirs)
                );
                let problem = Problem::new(at, message).also(*first, "first given here");
                let help = "remove one of the two or change a parameter".to_owned();
                self.problems.push(problem.help(help));
            }
            known.extend(points.map(|points| (at, spec.label.clone(), points)));
            specs.push(spec);
        }
        (specs, known.into_iter().map(|(.., points)| points).collect())
    }

    /// Gives a name to the entry at `at`, unless another has it; `are` is "datasets are called" or alike.
    fn claim(
        &mut self,
        names: &mut HashMap<String, Place>,
        name: String,
        at: Place,
        are: &str,
        help: Option<&str>,
    ) -> bool {
        let Some(&first) = names.get(&name) else {
            names.insert(name, at);
            return true;
        };
        let message = format!("two {are} {}, the first in line {}", name_of(&name), first.line);
        let problem = Problem::new(at, message).also(first, "first named here");
        self.problems.push(problem.help(help.map(str::to_owned)));
        false
    }

    /// Refuses a table that the paper does not have.
    fn check_table(&mut self) {
        let Some(table) = self.value["reproduces"]["table"].as_u64() else {
            return;
        };
        // Tables of the appendix have no number that `reproduces` could name.
        let tables = paper::tables().iter().map(|known| known.table.as_str());
        let known: Vec<&str> = tables.filter(|name| name.parse::<u32>().is_ok()).collect();
        if !known.contains(&table.to_string().as_str()) {
            let message = format!(
                "`reproduces.table` is {table}, which is not a known table of the paper, expected {}",
                one_of(known)
            );
            self.problems.push(self.text.problem(&["reproduces", "table"], message, None));
        }
    }

    /// The label of the method to compare with.
    fn against(&mut self, methods: &[MethodSpec]) -> Option<String> {
        let against = self.value["compare"]["against"].as_str()?;
        let at = self.text.place(&["compare", "against"]);
        if !self.has_all_methods() || labels(methods).any(|label| label == against) {
            return Some(against.to_owned());
        }
        let named = methods.iter().filter(|method| method.method == against);
        match labels(named).collect::<Vec<_>>().as_slice() {
            [label] => return Some((*label).to_owned()),
            [] => {
                let mut known: Vec<&str> = names(methods).collect();
                known.dedup();
                self.unknown_method("`compare.against` is", against, at, known, methods);
            }
            labels => {
                let message = format!(
                    "`compare.against` is {}, which could mean any of {}, expected {}",
                    name_of(against),
                    counted(labels.len(), "method"),
                    one_of(labels)
                );
                self.problems.push(Problem::new(at, message));
            }
        }
        None
    }

    /// Refuses resources for a method that the experiment does not have.
    fn check_slurm(&mut self, methods: &[MethodSpec]) {
        let named = self.text.root.get("slurm").and_then(|slurm| slurm.get("methods"));
        let entries = named.filter(|_| self.has_all_methods()).map_or(&[][..], Node::entries);
        let known: BTreeSet<&str> = names(methods).chain(labels(methods)).collect();
        for entry in entries.iter().filter(|entry| !known.contains(entry.key.as_str())) {
            let (name, at) = (&entry.key, entry.key_at);
            self.unknown_method("`slurm.methods` names", name, at, known.clone(), methods);
        }
    }

    /// Reports a name that neither a method nor a label has; `known` are those to choose from.
    fn unknown_method<'n>(
        &mut self,
        clause: &str,
        name: &str,
        at: Place,
        known: impl IntoIterator<Item = &'n str>,
        methods: &[MethodSpec],
    ) {
        let (found, expected) = (name_of(name), one_of(known));
        let message = format!(
            "{clause} {found}, which is not a method of this experiment, expected {expected}"
        );
        // Of a name and a label that are equally close, the name.
        let meant = closest(name, names(methods).chain(labels(methods)));
        self.problems.push(Problem::new(at, message).help(meant.map(did_you_mean)));
    }
}

fn names(methods: &[MethodSpec]) -> impl Iterator<Item = &str> {
    methods.iter().map(|method| method.method.as_str())
}

fn labels<'a>(methods: impl IntoIterator<Item = &'a MethodSpec>) -> impl Iterator<Item = &'a str> {
    methods.into_iter().map(|method| method.label.as_str())
}

fn dataset(entry: &Entry<'_>) -> Result<DatasetSpec, serde_json::Error> {
    if entry.name == FILES {
        return FilesSpec::deserialize(entry.options).map(DatasetSpec::Files);
    }
    // Nothing after the name means no options.
    let options = Option::deserialize(entry.options)?.unwrap_or_default();
    Ok(DatasetSpec::Registered { name: entry.name.to_owned(), options })
}
