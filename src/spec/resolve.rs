//! From checked JSON to an [`Experiment`]: ranges expanded, names and labels resolved, and all the
//! checks that no schema can express.

mod tuning;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::catalogue::Catalogue;
use super::check::{Checker, Step, subject};
use super::node::Node;
use super::phrase::{did_you_mean, name_of, one_of};
use super::problem::{Finding, Place};
use super::schema::{FILES, LABEL};
use super::types::{DatasetSpec, Experiment, FilesSpec, MethodSpec};
use crate::wording::{closest, counted};

/// Resolves the normal form `value` of the tree `root`. Parts in which `checker` found problems are
/// passed over, so that one run reports as much as can be known.
pub(super) fn resolve(
    root: &Node,
    value: Value,
    checker: Checker<'_>,
    catalogue: &Catalogue,
) -> Result<Experiment, Vec<Finding>> {
    let mut resolver = Resolver { root, value, checker, catalogue, findings: Vec::new() };
    let datasets = resolver.datasets();
    let methods = resolver.methods();
    let against = resolver.against(&methods);
    resolver.slurm(&methods);
    resolver.check_table();
    let Resolver { mut value, checker, mut findings, .. } = resolver;
    findings.extend(checker.findings);
    if !findings.is_empty() {
        return Err(findings);
    }
    value["datasets"] = json!(datasets);
    value["methods"] = json!(methods);
    if let Some(against) = against {
        value["compare"]["against"] = json!(against);
    }
    serde_json::from_value(value)
        .map_err(|error| vec![Finding::new(root.at, format!("not a valid experiment: {error}"))])
}

struct Resolver<'a> {
    root: &'a Node,
    value: Value,
    checker: Checker<'a>,
    catalogue: &'a Catalogue,
    findings: Vec<Finding>,
}

/// An entry of `methods` or `datasets`.
struct Named<'a> {
    path: Vec<Step>,
    name: String,
    name_at: Place,
    /// Missing where only the name is given.
    options: Option<&'a Node>,
    values: Map<String, Value>,
}

impl Named<'_> {
    /// Where `option` is given, or else the name.
    fn place(&self, option: &str) -> Place {
        self.option(option).map_or(self.name_at, |node| node.at)
    }

    fn option(&self, option: &str) -> Option<&Node> {
        Some(&self.options?.get(option)?.value)
    }

    fn subject(&self, option: &str) -> String {
        subject(&self.path_of(option))
    }

    fn path_of(&self, option: &str) -> Vec<Step> {
        let mut path = self.path.clone();
        path.push(Step::Key(option.to_owned()));
        path
    }
}

impl<'a> Resolver<'a> {
    /// The sound entries of the list under `key`.
    fn entries(&self, key: &str) -> Vec<Named<'a>> {
        let nodes = self.root.get(key).map_or(&[][..], |entry| entry.value.items());
        let values = self.value[key].as_array().map_or(&[][..], Vec::as_slice);
        let entry = |(index, (node, value)): (usize, (&'a Node, &Value))| {
            let mut path = vec![Step::Key(key.to_owned()), Step::Index(index)];
            if !self.checker.is_clean(&path) {
                return None;
            }
            let (name, values) = value.as_object()?.iter().next()?;
            path.push(Step::Key(name.clone()));
            let first = node.entries().first();
            Some(Named {
                path,
                name: name.clone(),
                name_at: first.map_or(node.at, |entry| entry.key_at),
                options: first.map(|entry| &entry.value),
                values: values.as_object().cloned().unwrap_or_default(),
            })
        };
        nodes.iter().zip(values).enumerate().filter_map(entry).collect()
    }

    fn datasets(&mut self) -> Vec<DatasetSpec> {
        let mut datasets = Vec::new();
        let mut seen: HashMap<String, Place> = HashMap::new();
        for entry in self.entries("datasets") {
            let at = match entry.name == FILES {
                true => entry.place("name"),
                false => entry.name_at,
            };
            let dataset = match dataset(&entry) {
                Ok(dataset) => dataset,
                Err(error) => {
                    let message = format!("{} is not valid: {error}", name_of(&entry.name));
                    self.findings.push(Finding::new(at, message));
                    continue;
                }
            };
            let name = dataset.name().into_owned();
            if let Some(first) = seen.get(&name) {
                let name = name_of(&name);
                let message =
                    format!("two datasets are called {name}, the first in line {}", first.line);
                let help =
                    (entry.name == FILES).then(|| "give one of them another `name`".to_owned());
                self.findings
                    .push(Finding::new(at, message).help(help).also(*first, "first named here"));
            } else {
                seen.insert(name, at);
            }
            datasets.push(dataset);
        }
        datasets
    }

    fn methods(&mut self) -> Vec<MethodSpec> {
        let mut methods = Vec::new();
        let mut seen: HashMap<String, Place> = HashMap::new();
        let mut known = Vec::new();
        for entry in self.entries("methods") {
            let Some(method) = self.catalogue.method(&entry.name) else {
                continue;
            };
            let before = self.findings.len();
            let spec = self.method(&entry, method);
            let points = match self.findings.len() == before {
                true => self.check_tuning(&entry, method, &spec),
                false => None,
            };
            let label = spec.label.clone().unwrap_or_default();
            let at = entry.place(LABEL);
            let same = points.and_then(|points| {
                let this = (entry.name_at, label.clone());
                same_parameters(&mut known, (entry.name.clone(), points), this)
            });
            if let Some(first) = seen.get(&label) {
                let label = name_of(&label);
                let message =
                    format!("two methods are labelled {label}, the first in line {}", first.line);
                let finding = Finding::new(at, message).also(*first, "first named here");
                self.findings
                    .push(finding.help("give one of them a `label` of its own".to_owned()));
            } else {
                self.findings.extend(same);
                seen.insert(label, at);
            }
            methods.push(spec);
        }
        methods
    }

    /// Refuses a table that the paper does not have.
    fn check_table(&mut self) {
        let Some(table) = self.value["reproduces"]["table"].as_u64() else {
            return;
        };
        let tables = &self.catalogue.tables;
        let node = (self.root.get("reproduces")).and_then(|entry| entry.value.get("table"));
        if let Some(entry) = node
            && !tables.iter().any(|&known| u64::from(known) == table)
        {
            let known: Vec<String> = tables.iter().map(u32::to_string).collect();
            let message = format!(
                "`reproduces.table` is {table}, which is no table of the paper known here, \
                 expected {}",
                one_of(known.iter().map(String::as_str))
            );
            self.findings.push(Finding::new(entry.value.at, message));
        }
    }

    /// The label of the method to compare with.
    fn against(&mut self, methods: &[MethodSpec]) -> Option<String> {
        let path = [Step::Key("compare".into()), Step::Key("against".into())];
        let against = self.value["compare"]["against"].as_str()?;
        let sound =
            self.checker.is_clean(&path) && self.checker.is_clean(&[Step::Key("methods".into())]);
        let node = &self.root.get("compare")?.value.get("against")?.value;
        if !sound {
            return None;
        }
        let labels = || methods.iter().filter_map(|method| method.label.as_deref());
        if let Some(label) = labels().find(|label| *label == against) {
            return Some(label.to_owned());
        }
        let meant: Vec<_> = methods.iter().filter(|method| method.method == against).collect();
        let finding = match meant.as_slice() {
            [only] => return only.label.clone(),
            [] => {
                let names = || methods.iter().map(|method| method.method.as_str());
                let mut known: Vec<&str> = names().collect();
                known.dedup();
                let message = format!(
                    "`compare.against` is {}, which is no method of this experiment, expected {}",
                    name_of(against),
                    one_of(known)
                );
                let meant = closest(against, names().chain(labels()));
                Finding::new(node.at, message).help(meant.map(did_you_mean))
            }
            several => {
                let labels = several.iter().filter_map(|method| method.label.as_deref());
                let message = format!(
                    "`compare.against` is {}, which stands for {}, expected {}",
                    name_of(against),
                    counted(several.len(), "method"),
                    one_of(labels)
                );
                Finding::new(node.at, message)
            }
        };
        self.findings.push(finding);
        None
    }
}

impl Resolver<'_> {
    /// Every method that is to be submitted apart is one of the experiment's.
    fn slurm(&mut self, methods: &[MethodSpec]) {
        let named = self.root.get("slurm").and_then(|slurm| slurm.value.get("methods"));
        if !self.checker.is_clean(&[Step::Key("methods".into())]) {
            return;
        }
        for entry in named.map_or(&[][..], |methods| methods.value.entries()) {
            let names = || {
                let labels = methods.iter().filter_map(|method| method.label.as_deref());
                methods.iter().map(|method| method.method.as_str()).chain(labels)
            };
            if names().all(|name| name != entry.key) {
                let mut known: Vec<&str> = names().collect();
                known.sort_unstable();
                known.dedup();
                let message = format!(
                    "`slurm.methods` names {}, which is no method of this experiment, expected {}",
                    name_of(&entry.key),
                    one_of(known)
                );
                let meant = closest(&entry.key, names()).map(did_you_mean);
                self.findings.push(Finding::new(entry.key_at, message).help(meant));
            }
        }
    }
}

/// A method and its parameter points, and where it stands under which label.
type Known = ((String, Vec<Value>), (Place, String));

/// Remembers an entry. A finding if it asks for what an earlier one asks for: its cells would be the
/// same cells, whatever it is labelled.
fn same_parameters(
    known: &mut Vec<Known>,
    asked: (String, Vec<Value>),
    (at, label): (Place, String),
) -> Option<Finding> {
    let Some((_, (first, theirs))) = known.iter().find(|(other, _)| *other == asked) else {
        known.push((asked, (at, label)));
        return None;
    };
    let message = format!(
        "this is the method of line {} with the same parameters, labelled {} there",
        first.line,
        name_of(theirs)
    );
    let help = "remove one of the two or change a parameter".to_owned();
    let finding = Finding::new(at, message).also(*first, "first given here");
    Some(finding.help(help))
}

fn dataset(entry: &Named<'_>) -> Result<DatasetSpec, serde_json::Error> {
    let values = Value::Object(entry.values.clone());
    if entry.name == FILES {
        return serde_json::from_value::<FilesSpec>(values).map(DatasetSpec::Files);
    }
    Ok(DatasetSpec::Registered {
        name: entry.name.clone(),
        options: serde_json::from_value(values)?,
    })
}
