//! From checked JSON to an [`Experiment`]: names and labels resolved, methods configured, and all the
//! checks that no schema can express.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::DatasetSpec;
use super::candidates::Candidates;
use super::form::Form;
use super::node::{Kind, Node};
use super::phrase::{did_you_mean, name_of, one_of};
use super::problem::{Place, Problem};
use super::schema::{FILES, LABEL};
use super::types::{Experiment, MethodSpec};
use crate::paper;
use crate::wording::{closest, counted};

/// Resolves the normal form `value` of the tree `root`. Entries in which there are `problems` are skipped, so
/// that one run reports as much as can be known.
pub(super) fn resolve(
    root: &Node,
    mut value: Value,
    form: &Form,
    problems: Vec<Problem>,
) -> Result<(Experiment, Vec<Candidates>), Vec<Problem>> {
    let mut resolver = Resolver { root, value: &value, form, problems };
    let datasets = resolver.datasets();
    let (methods, candidates) = resolver.methods();
    let against = resolver.against(&methods);
    resolver.check_slurm(&methods);
    resolver.check_table();
    if !resolver.problems.is_empty() {
        return Err(resolver.problems);
    }
    value["datasets"] = json!(datasets);
    value["methods"] = json!(methods);
    if let Some(against) = against {
        value["compare"]["against"] = json!(against);
    }
    let experiment = serde_json::from_value(value)
        .map_err(|error| vec![Problem::new(root.at, format!("not a valid experiment: {error}"))])?;
    Ok((experiment, candidates))
}

pub(super) struct Resolver<'a> {
    pub root: &'a Node,
    pub value: &'a Value,
    /// Of a spec.
    pub form: &'a Form,
    pub problems: Vec<Problem>,
}

/// An entry of `methods` or `datasets`.
pub(super) struct Named<'a> {
    pub name: &'a str,
    pub at: Place,
    /// Missing if only the name is given.
    options: Option<&'a Node>,
    pub values: Map<String, Value>,
}

impl Named<'_> {
    /// Where `option` is given, or else the name.
    pub fn place(&self, option: &str) -> Place {
        self.option(option).map_or(self.at, |node| node.at)
    }

    pub fn option(&self, option: &str) -> Option<&Node> {
        self.options?.get(option)
    }

    pub fn subject(&self, option: &str) -> String {
        format!("{} of {}", name_of(option), name_of(self.name))
    }
}

impl<'a> Resolver<'a> {
    /// The entries of the list under `key`; nothing in place of those with a problem.
    fn entries(&self, key: &str) -> Vec<Option<Named<'a>>> {
        let nodes = self.root.get(key).map_or(&[][..], Node::items);
        let values = self.value[key].as_array().map_or(&[][..], Vec::as_slice);
        let entry = |(node, value): (&'a Node, &'a Value)| {
            let (name, values) = value.as_object()?.iter().next()?;
            let first = node.entries().first();
            Some(Named {
                name,
                at: first.map_or(node.at, |entry| entry.key_at),
                options: first.map(|entry| &entry.value),
                values: values.as_object().cloned().unwrap_or_default(),
            })
        };
        nodes.iter().zip(values).map(entry).collect()
    }

    /// Whether all methods are known, so that one can say which are not.
    fn has_all_methods(&self) -> bool {
        self.entries("methods").iter().all(Option::is_some)
    }

    fn datasets(&mut self) -> Vec<DatasetSpec> {
        let mut datasets = Vec::new();
        let mut seen: HashMap<String, Place> = HashMap::new();
        for entry in self.entries("datasets").into_iter().flatten() {
            let is_own = entry.name == FILES;
            let at = if is_own { entry.place("name") } else { entry.at };
            let dataset = match dataset(&entry) {
                Ok(dataset) => dataset,
                Err(error) => {
                    let message = format!("{} is not valid: {error}", name_of(entry.name));
                    self.problems.push(Problem::new(at, message));
                    continue;
                }
            };
            let name = dataset.name().into_owned();
            if let Some(&first) = seen.get(&name) {
                let (name, line) = (name_of(&name), first.line);
                let message = format!("two datasets are called {name}, the first in line {line}");
                let help = is_own.then(|| "give one of them another `name`".to_owned());
                let problem = Problem::new(at, message).also(first, "first named here");
                self.problems.push(problem.help(help));
            } else {
                seen.insert(name, at);
            }
            datasets.push(dataset);
        }
        datasets
    }

    /// The method entries, and the points of those without problems.
    fn methods(&mut self) -> (Vec<MethodSpec>, Vec<Candidates>) {
        let mut specs = Vec::new();
        let mut labels: HashMap<String, Place> = HashMap::new();
        let mut known: Vec<(Place, String, Candidates)> = Vec::new();
        for entry in self.entries("methods").into_iter().flatten() {
            let before = self.problems.len();
            let spec = self.method(&entry);
            let points = match self.problems.len() == before {
                true => self.candidates(&entry, &spec),
                false => None,
            };
            let label = spec.label.clone().unwrap_or_default();
            specs.push(spec);
            let same = points.as_ref().and_then(|points| {
                let (at, label, _) = known.iter().find(|(.., other)| other.is_same(points))?;
                Some((*at, label))
            });
            if let Some(&first) = labels.get(&label) {
                let (name, line) = (name_of(&label), first.line);
                let message = format!("two methods are labelled {name}, the first in line {line}");
                let problem = Problem::new(entry.place(LABEL), message);
                let help = "give one of them a `label` of its own".to_owned();
                self.problems.push(problem.also(first, "first named here").help(help));
            } else if let Some((first, theirs)) = same {
                // Its cells would be the same cells, whatever it is labelled.
                let message = format!(
                    "this is the method of line {} with the same parameters, labelled {} there",
                    first.line,
                    name_of(theirs)
                );
                let problem = Problem::new(entry.at, message).also(first, "first given here");
                let help = "remove one of the two or change a parameter".to_owned();
                self.problems.push(problem.help(help));
            }
            labels.entry(label.clone()).or_insert_with(|| entry.place(LABEL));
            known.extend(points.map(|points| (entry.at, label, points)));
        }
        (specs, known.into_iter().map(|(.., points)| points).collect())
    }

    /// Refuses a table that the paper does not have.
    fn check_table(&mut self) {
        let node = self.root.get("reproduces").and_then(|node| node.get("table"));
        let table = self.value["reproduces"]["table"].as_u64();
        let (Some(node), Some(table)) = (node, table) else {
            return;
        };
        // Tables of the appendix have no number that `reproduces` could name.
        let known = paper::tables().iter().filter(|known| known.table.parse::<u32>().is_ok());
        let known: Vec<&str> = known.map(|known| known.table.as_ref()).collect();
        if !known.contains(&table.to_string().as_str()) {
            let message = format!(
                "`reproduces.table` is {table}, which is no table of the paper known here, \
                 expected {}",
                one_of(known)
            );
            self.problems.push(Problem::new(node.at, message));
        }
    }

    /// The label of the method to compare with.
    fn against(&mut self, methods: &[MethodSpec]) -> Option<String> {
        let node = self.root.get("compare")?.get("against")?;
        let Kind::Text(against) = &node.kind else {
            return None;
        };
        if !self.has_all_methods() {
            return None;
        }
        let labels = || methods.iter().filter_map(|method| method.label.as_ref());
        if labels().any(|label| label == against) {
            return Some(against.clone());
        }
        let meant: Vec<_> = methods.iter().filter(|method| method.method == *against).collect();
        let (which, expected, help) = match meant.as_slice() {
            [only] => return only.label.clone(),
            [] => {
                let names = || methods.iter().map(|method| method.method.as_str());
                let mut known: Vec<&str> = names().collect();
                known.dedup();
                let meant = closest(against, names().chain(labels().map(String::as_str)));
                let which = "is no method of this experiment".to_owned();
                (which, one_of(known), meant.map(did_you_mean))
            }
            several => {
                let labels = several.iter().filter_map(|method| method.label.as_deref());
                (format!("stands for {}", counted(several.len(), "method")), one_of(labels), None)
            }
        };
        let against = name_of(against);
        let message = format!("`compare.against` is {against}, which {which}, expected {expected}");
        self.problems.push(Problem::new(node.at, message).help(help));
        None
    }

    /// Every method that is to be submitted apart is one of the experiment's.
    fn check_slurm(&mut self, methods: &[MethodSpec]) {
        let named = self.root.get("slurm").and_then(|slurm| slurm.get("methods"));
        if !self.has_all_methods() {
            return;
        }
        let labels = methods.iter().filter_map(|method| method.label.as_deref());
        let names = methods.iter().map(|method| method.method.as_str()).chain(labels);
        let names: Vec<&str> = names.collect();
        let mut known = names.clone();
        known.sort_unstable();
        known.dedup();
        for entry in named.map_or(&[][..], Node::entries) {
            if !known.contains(&entry.key.as_str()) {
                let message = format!(
                    "`slurm.methods` names {}, which is no method of this experiment, expected {}",
                    name_of(&entry.key),
                    one_of(known.iter().copied())
                );
                let meant = closest(&entry.key, names.iter().copied()).map(did_you_mean);
                self.problems.push(Problem::new(entry.key_at, message).help(meant));
            }
        }
    }
}

fn dataset(entry: &Named<'_>) -> Result<DatasetSpec, serde_json::Error> {
    let values = Value::Object(entry.values.clone());
    if entry.name == FILES {
        return serde_json::from_value(values).map(DatasetSpec::Files);
    }
    let options = serde_json::from_value(values)?;
    Ok(DatasetSpec::Registered { name: entry.name.to_owned(), options })
}
