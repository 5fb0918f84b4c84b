//! From checked JSON to an [`Experiment`]: ranges expanded, names and labels resolved, and all the
//! checks that no schema can express.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::catalogue::{Catalogue, MethodEntry};
use super::check::{Checker, Step, subject};
use super::node::{Kind, Node};
use super::phrase::{closest, count, did_you_mean, name_of, one_of};
use super::problem::{Finding, Place};
use super::range::{MOST_POINTS, expand};
use super::schema::{FILES, LABEL, is_tunable};
use super::types::{DatasetSpec, Experiment, FilesSpec, MethodSpec};

/// Resolves the normal form `value` of the tree `root`. Parts in which `checker` found problems are
/// passed over, so that one run reports as much as can be known.
pub(super) fn resolve(
    root: &Node,
    value: Value,
    checker: Checker<'_>,
    catalogue: &Catalogue,
) -> Result<Experiment, Vec<Finding>> {
    let mut resolver = Resolver {
        root,
        value,
        checker,
        catalogue,
        findings: Vec::new(),
    };
    let datasets = resolver.datasets();
    let methods = resolver.methods();
    let against = resolver.against(&methods);
    let Resolver {
        mut value,
        checker,
        mut findings,
        ..
    } = resolver;
    findings.extend(checker.findings);
    if !findings.is_empty() {
        return Err(findings);
    }
    value["datasets"] = json!(datasets);
    value["methods"] = json!(methods);
    if let Some(against) = against {
        value["compare"]["against"] = json!(against);
    }
    serde_json::from_value(value).map_err(|error| {
        vec![Finding::new(
            root.at,
            format!("not a valid experiment: {error}"),
        )]
    })
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
        let nodes = self
            .root
            .get(key)
            .map_or(&[][..], |entry| entry.value.items());
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
        nodes
            .iter()
            .zip(values)
            .enumerate()
            .filter_map(entry)
            .collect()
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
                let message = format!(
                    "two datasets are called {name}, the first in line {}",
                    first.line
                );
                let help =
                    (entry.name == FILES).then(|| "give one of them another `name`".to_owned());
                self.findings.push(
                    Finding::new(at, message)
                        .help(help)
                        .also(*first, "first named here"),
                );
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
        for entry in self.entries("methods") {
            let Some(method) = self.catalogue.method(&entry.name) else {
                continue;
            };
            let before = self.findings.len();
            let spec = self.method(&entry, method);
            if self.findings.len() == before {
                self.check_tuning(&entry, method, &spec);
            }
            let label = spec.label.clone().unwrap_or_default();
            let at = entry.place(LABEL);
            if let Some(first) = seen.get(&label) {
                let label = name_of(&label);
                let message = format!(
                    "two methods are labelled {label}, the first in line {}",
                    first.line
                );
                let finding = Finding::new(at, message).also(*first, "first named here");
                self.findings
                    .push(finding.help("give one of them a `label` of its own".to_owned()));
            } else {
                seen.insert(label, at);
            }
            methods.push(spec);
        }
        methods
    }

    fn method(&mut self, entry: &Named<'_>, method: &MethodEntry) -> MethodSpec {
        let mut spec = MethodSpec {
            method: entry.name.clone(),
            label: Some(method.title.to_owned()),
            fixed: Map::new(),
            tuned: Vec::new(),
        };
        for (name, value) in &entry.values {
            let values = match value {
                Value::String(label) if name == LABEL => {
                    spec.label = Some(label.clone());
                    continue;
                }
                Value::Array(values) if is_tunable(method, name) => values.clone(),
                Value::Object(range) if is_tunable(method, name) => {
                    self.range(entry, method, name, range)
                }
                single => vec![single.clone()],
            };
            match <[Value; 1]>::try_from(values) {
                Ok([single]) => {
                    spec.fixed.insert(name.clone(), single);
                }
                Err(several) => spec.tuned.push((name.clone(), several)),
            }
        }
        spec
    }

    /// The values of a range, each checked against the parameter's own schema.
    fn range(
        &mut self,
        entry: &Named<'_>,
        method: &MethodEntry,
        name: &str,
        range: &Map<String, Value>,
    ) -> Vec<Value> {
        let at = entry.place(name);
        let bounds = range.iter().next().and_then(|(scale, bounds)| {
            let bounds: Vec<f64> = bounds
                .as_array()?
                .iter()
                .filter_map(Value::as_f64)
                .collect();
            Some((scale, <[f64; 3]>::try_from(bounds).ok()?))
        });
        let Some((scale, bounds)) = bounds else {
            return Vec::new();
        };
        let numbers = match expand(scale, bounds) {
            Ok(numbers) => numbers,
            Err(wrong) => {
                let message = format!("the range of {} {wrong}", entry.subject(name));
                self.findings.push(Finding::new(at, message));
                return Vec::new();
            }
        };
        let mut checker = Checker::at(&method.schema, entry.path_of(name));
        let property = &method.schema["properties"][name];
        let mut values = Vec::with_capacity(numbers.len());
        for number in numbers {
            let kind = Kind::Float(number);
            values.push(checker.value(&Node { kind, at }, property));
            if !checker.findings.is_empty() {
                let message = format!(
                    "the range of {} holds {number}, expected {}",
                    entry.subject(name),
                    checker.expectation(property)
                );
                self.findings.push(Finding::new(at, message));
                break;
            }
        }
        values
    }

    /// Checks that tuned parameters can be chosen, and that every point of the grid is allowed.
    fn check_tuning(&mut self, entry: &Named<'_>, method: &MethodEntry, spec: &MethodSpec) {
        if let Some((name, values)) = spec.tuned.first() {
            let selected = self.root.get("select");
            if selected.is_none_or(|select| matches!(select.value.kind, Kind::Null)) {
                let values = count(values.len(), "value");
                let message = format!(
                    "{} has {values}, but nothing says how to choose one",
                    entry.subject(name)
                );
                let help = "add `select: {by: cross-validation, folds: 5}`".to_owned();
                self.findings
                    .push(Finding::new(entry.place(name), message).help(help));
            }
            let points = spec.points();
            if points > MOST_POINTS {
                let message = format!(
                    "{} has a grid of {points} points, expected at most {MOST_POINTS}",
                    name_of(&entry.name)
                );
                self.findings.push(Finding::new(entry.place(name), message));
                return;
            }
        }
        for index in 0..spec.points() {
            let point = spec.point(index);
            if let Err((name, wrong)) = (method.check)(&Value::Object(point.clone())) {
                let message = format!("{} {wrong}", entry.subject(&name));
                let at = place_of_value(entry, spec, &name, point.get(&name));
                self.findings.push(Finding::new(at, message));
                return;
            }
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
        let meant: Vec<_> = methods
            .iter()
            .filter(|method| method.method == against)
            .collect();
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
                    count(several.len(), "method"),
                    one_of(labels)
                );
                Finding::new(node.at, message)
            }
        };
        self.findings.push(finding);
        None
    }
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

/// Where the value of a parameter stands: the item of a list, or the parameter.
fn place_of_value(
    entry: &Named<'_>,
    spec: &MethodSpec,
    name: &str,
    value: Option<&Value>,
) -> Place {
    let tuned = spec.tuned.iter().find(|(tuned, _)| tuned == name);
    let index = tuned.and_then(|(_, values)| values.iter().position(|other| Some(other) == value));
    let item = index.and_then(|index| entry.option(name)?.items().get(index));
    item.map_or_else(|| entry.place(name), |item| item.at)
}
