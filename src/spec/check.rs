//! Checks a YAML tree against a JSON schema and collects every problem on the way.
//!
//! What comes out is JSON in one normal form: floats where the schema says number, integers where
//! it says integer, `{name: {}}` for the bare name of a variant with options.

mod form;
mod words;

pub(super) use words::subject;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::node::{Entry, Kind, Node};
use super::phrase::{did_you_mean, found, name_of, one_of};
use super::problem::{Finding, Place};
use super::schema::{allows, alternatives, names, strings, tag};
use crate::wording::{closest, counted};
use form::{admits_text, content, excess, normal_number, wrong_length};
use words::{expected, known_names, mismatch_help};

/// A key or an index on the way from the root to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

type Form = Map<String, Value>;

/// Walks a tree along a schema.
pub(super) struct Checker<'a> {
    /// Where `$ref`s point into.
    schema: &'a Value,
    path: Vec<Step>,
    /// Every path at or below which there is a problem.
    bad: HashSet<Vec<Step>>,
    pub findings: Vec<Finding>,
}

impl<'a> Checker<'a> {
    pub fn new(schema: &'a Value) -> Self {
        Self { schema, path: Vec::new(), bad: HashSet::new(), findings: Vec::new() }
    }

    /// Starts below the root, so that messages name the value rightly.
    pub fn at(schema: &'a Value, path: Vec<Step>) -> Self {
        Self { path, ..Self::new(schema) }
    }

    /// Whether nothing was found at or below `path`.
    pub fn is_clean(&self, path: &[Step]) -> bool {
        !self.bad.contains(path)
    }

    pub fn root(&mut self, node: &Node) -> Value {
        if matches!(node.kind, Kind::Null) {
            let message = "the file holds no experiment, expected at least the keys `name`, `datasets` and `methods`";
            self.report(Finding::new(node.at, message));
            return Value::Null;
        }
        self.value(node, self.schema)
    }

    /// Checks `node` and gives its normal form; parts with problems come out as null.
    pub fn value(&mut self, node: &Node, schema: &'a Value) -> Value {
        let forms = alternatives(schema, self.schema);
        match &node.kind {
            Kind::Null if forms.iter().any(|form| allows(form, "null")) => Value::Null,
            Kind::Bool(value) if forms.iter().any(|form| allows(form, "boolean")) => json!(value),
            Kind::Null | Kind::Bool(_) => self.mismatch(node, &forms),
            Kind::Int(_) | Kind::Float(_) => self.number(node, &forms),
            Kind::Text(text) => self.text(node, text, &forms),
            Kind::List(items) => self.list(node, items, &forms),
            Kind::Map(entries) => self.map(node, entries, &forms),
        }
    }

    fn report(&mut self, finding: Finding) {
        for end in 0..=self.path.len() {
            self.bad.insert(self.path[..end].to_vec());
        }
        self.findings.push(finding);
    }

    fn below<T>(&mut self, step: Step, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = inner(self);
        self.path.pop();
        result
    }

    /// What `schema` expects, in words.
    pub fn expectation(&self, schema: &Value) -> String {
        expected(&alternatives(schema, self.schema))
    }

    fn mismatch(&mut self, node: &Node, forms: &[&Form]) -> Value {
        let what = subject(&self.path);
        let message = format!("{what} is {}, expected {}", found(node), expected(forms));
        self.report(Finding::new(node.at, message).help(mismatch_help(node, forms)));
        Value::Null
    }

    fn number(&mut self, node: &Node, forms: &[&Form]) -> Value {
        if let Some(value) = forms.iter().find_map(|form| normal_number(node, form)) {
            return value;
        }
        match node.kind {
            Kind::Float(value) if !value.is_finite() => {
                let what = subject(&self.path);
                let message = format!("{what} is {value:?}, expected a finite number");
                self.report(Finding::new(node.at, message));
                Value::Null
            }
            _ => match forms.iter().find_map(|form| excess(node, form)) {
                Some(largest) => {
                    let what = subject(&self.path);
                    let message = format!("{what} is {}, expected at most {largest}", found(node));
                    self.report(Finding::new(node.at, message));
                    Value::Null
                }
                None => self.mismatch(node, forms),
            },
        }
    }

    fn text(&mut self, node: &Node, text: &str, forms: &[&'a Form]) -> Value {
        if let Some(content) = content(forms, text)
            && alternatives(content, self.schema).iter().any(|form| allows(form, "object"))
        {
            let nothing = Node { kind: Kind::Map(Vec::new()), at: node.at };
            let step = Step::Key(text.to_owned());
            let options = self.below(step, |checker| checker.value(&nothing, content));
            return json!({text: options});
        }
        let texts: Vec<&Form> =
            forms.iter().copied().filter(|form| allows(form, "string")).collect();
        let limited = !texts.is_empty() && texts.iter().all(|form| names(form).next().is_some());
        if texts.iter().any(|form| admits_text(form, text)) {
            json!(text)
        } else if limited {
            self.unknown(node.at, text, forms)
        } else {
            self.mismatch(node, forms)
        }
    }

    /// A name that is none of those a union knows.
    fn unknown(&mut self, at: Place, name: &str, forms: &[&Form]) -> Value {
        let expected = expected(forms);
        let what = match self.entry_noun() {
            Some(noun) => format!("unknown {noun} {}", name_of(name)),
            None => format!("unknown value {} for {}", name_of(name), subject(&self.path)),
        };
        let help = closest(name, known_names(forms)).map(did_you_mean);
        self.report(Finding::new(at, format!("{what}, expected {expected}")).help(help));
        Value::Null
    }

    /// What an entry of this list is called, where the path leads to such an entry.
    fn entry_noun(&self) -> Option<&'static str> {
        match self.path.as_slice() {
            [Step::Key(list), Step::Index(_)] if list == "methods" => Some("method"),
            [Step::Key(list), Step::Index(_)] if list == "datasets" => Some("dataset"),
            _ => None,
        }
    }

    fn list(&mut self, node: &Node, items: &[Node], forms: &[&'a Form]) -> Value {
        let Some(form) = forms.iter().find(|form| allows(form, "array")) else {
            return self.mismatch(node, forms);
        };
        if let Some(expected) = wrong_length(items.len(), form) {
            let length = match items.len() {
                0 => "an empty list".into(),
                several => format!("a list of {}", counted(several, "item")),
            };
            let message = format!("{} is {length}, expected {expected}", subject(&self.path));
            self.report(Finding::new(node.at, message));
        }
        let anything = &Value::Bool(true);
        let schema = form.get("items").unwrap_or(anything);
        let unique = form.get("uniqueItems") == Some(&Value::Bool(true));
        let mut seen = HashSet::new();
        let mut values = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            values.push(self.below(Step::Index(index), |checker| {
                let value = checker.value(item, schema);
                if unique && !value.is_null() && !seen.insert(value.to_string()) {
                    let message = format!("{} repeats the value {value}", subject(&checker.path));
                    checker.report(Finding::new(item.at, message));
                }
                value
            }));
        }
        Value::Array(values)
    }

    fn map(&mut self, node: &Node, entries: &[Entry], forms: &[&'a Form]) -> Value {
        let objects: Vec<&Form> =
            forms.iter().copied().filter(|form| allows(form, "object")).collect();
        let bare = |name| forms.iter().any(|form| names(form).any(|other| other == name));
        match objects.as_slice() {
            [] => self.mismatch(node, forms),
            [only] if !tag(only).is_some_and(|(name, _)| bare(name)) => {
                self.object(node, entries, only)
            }
            several if several.iter().all(|form| tag(form).is_some()) => {
                self.variant(node, entries, forms, several)
            }
            several => {
                let overlap = |form: &&&Form| {
                    let properties = form.get("properties").and_then(Value::as_object);
                    let known =
                        |entry: &&Entry| properties.is_some_and(|p| p.contains_key(&entry.key));
                    entries.iter().filter(known).count()
                };
                match several.iter().max_by_key(overlap) {
                    Some(form) => self.object(node, entries, form),
                    None => self.mismatch(node, forms),
                }
            }
        }
    }

    /// One of several externally tagged variants: a map with a single key.
    fn variant(
        &mut self,
        node: &Node,
        entries: &[Entry],
        forms: &[&Form],
        variants: &[&'a Form],
    ) -> Value {
        let [entry] = entries else {
            let message = format!(
                "{} has {}, expected exactly one",
                subject(&self.path),
                counted(entries.len(), "key")
            );
            let at = entries.get(1).map_or(node.at, |second| second.key_at);
            let help = entries.first().filter(|first| content(variants, &first.key).is_some()).map(
                |first| {
                    let name = &first.key;
                    format!(
                        "to give options to {}, indent them below it or write `{name}: {{...}}`",
                        name_of(name)
                    )
                },
            );
            self.report(Finding::new(at, message).help(help));
            return Value::Null;
        };
        if let Some(content) = content(variants, &entry.key) {
            let step = Step::Key(entry.key.clone());
            let value = self.below(step, |checker| checker.value(&entry.value, content));
            return json!({entry.key.as_str(): value});
        }
        if forms.iter().any(|form| names(form).any(|name| name == entry.key)) {
            let name = name_of(&entry.key);
            let message = format!("{name} takes no options, expected {name} alone");
            self.report(Finding::new(entry.key_at, message));
            return Value::Null;
        }
        // Where a list would do as well, this is a range and the scalars are no rivals of its name.
        match forms.iter().any(|form| allows(form, "array")) {
            true => self.unknown(entry.key_at, &entry.key, variants),
            false => self.unknown(entry.key_at, &entry.key, forms),
        }
    }

    fn object(&mut self, node: &Node, entries: &[Entry], form: &'a Form) -> Value {
        let none = Map::new();
        let properties = form.get("properties").and_then(Value::as_object);
        let mut values = Map::new();
        let mut mistyped = Vec::new();
        for entry in entries {
            let schema = properties.and_then(|known| known.get(&entry.key));
            let schema = schema.or_else(|| match form.get("additionalProperties") {
                Some(Value::Bool(false)) => None,
                Some(schema) => Some(schema),
                None => Some(&Value::Bool(true)),
            });
            let Some(schema) = schema else {
                mistyped.extend(self.unknown_key(entry, entries, properties.unwrap_or(&none)));
                continue;
            };
            let step = Step::Key(entry.key.clone());
            let value = self.below(step, |checker| checker.value(&entry.value, schema));
            values.insert(entry.key.clone(), value);
        }
        for key in strings(form.get("required")) {
            let given = entries.iter().any(|entry| entry.key == key);
            if !given && !mistyped.contains(&key) {
                let message = match self.path.as_slice() {
                    [] => format!("the key {} is missing", name_of(key)),
                    path => format!("{} lacks the key {}", subject(path), name_of(key)),
                };
                let at = entries.first().map_or(node.at, |first| first.key_at);
                self.report(Finding::new(at, message));
            }
        }
        Value::Object(values)
    }

    /// Reports a key that is not known and gives the one that was probably meant.
    fn unknown_key<'k>(
        &mut self,
        entry: &Entry,
        siblings: &[Entry],
        known: &'k Map<String, Value>,
    ) -> Option<&'k str> {
        let name = name_of(&entry.key);
        let what = match self.path.as_slice() {
            [] => format!("unknown key {name}"),
            [Step::Key(list), _, Step::Key(owner)] if list == "methods" => {
                format!("unknown parameter {name} of {}", name_of(owner))
            }
            [Step::Key(list), _, Step::Key(owner)] if list == "datasets" => {
                format!("unknown option {name} of {}", name_of(owner))
            }
            path => format!("unknown key {name} in {}", subject(path)),
        };
        let expected = match known.is_empty() {
            true => "none".into(),
            false => one_of(known.keys().map(String::as_str)),
        };
        let missing =
            known.keys().map(String::as_str).filter(|key| siblings.iter().all(|s| s.key != *key));
        let meant = closest(&entry.key, missing);
        let help = meant.map(did_you_mean);
        let finding = Finding::new(entry.key_at, format!("{what}, expected {expected}")).help(help);
        self.report(finding);
        meant
    }
}
