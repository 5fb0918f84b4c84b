//! Checks a YAML tree against the forms of a schema and collects every problem on the way.
//!
//! What comes out is JSON in one normal form: floats where the schema says number, integers where
//! it says integer, `{name: {}}` for the bare name of a variant with options. A part with a problem
//! comes out as null, and an item of a list as a whole.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::form::{Form, Type};
use super::node::{Entry, Kind, Node};
use super::phrase::{did_you_mean, found, name_of, one_of};
use super::problem::{Place, Problem};
use crate::wording::{closest, counted};

/// A key or an index on the way from the root to a node.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// Walks a tree along its forms.
#[derive(Default)]
pub(super) struct Checker<'a> {
    path: Vec<Step<'a>>,
    pub problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    /// Checks `node` and gives its normal form.
    pub fn value(&mut self, node: &'a Node, form: &'a Form) -> Value {
        match &node.kind {
            Kind::Null if form.of_type("null").is_some() => Value::Null,
            Kind::Bool(value) if form.of_type("boolean").is_some() => json!(value),
            Kind::Int(_) | Kind::Float(_) => self.number(node, form),
            Kind::Text(text) => self.text(node, text, form),
            Kind::List(items) => match form.list() {
                Some(list) => self.list(node, items, list),
                None => self.mismatch(node, form),
            },
            Kind::Map(entries) => {
                let entries = self.distinct(entries);
                let names = form.range.as_deref().unwrap_or(form);
                match form.of_type("object") {
                    Some(mapping) => self.map(node.at, &entries, mapping),
                    None if names.variants.values().any(Option::is_some) => {
                        self.variant(node, &entries, names)
                    }
                    None => self.mismatch(node, names),
                }
            }
            Kind::Null | Kind::Bool(_) => self.mismatch(node, form),
        }
    }

    /// Checks something below the current node.
    fn below(&mut self, step: Step<'a>, check: impl FnOnce(&mut Self) -> Value) -> Value {
        self.path.push(step);
        let value = check(self);
        self.path.pop();
        value
    }

    fn report(&mut self, at: Place, message: String, help: Option<String>) -> Value {
        self.problems.push(Problem::new(at, message).help(help));
        Value::Null
    }

    fn mismatch(&mut self, node: &Node, form: &Form) -> Value {
        let (what, expected) = (self.subject(), form.expected());
        let message = format!("{what} is {}, expected {expected}", found(node));
        self.report(node.at, message, mismatch_help(node, form))
    }

    fn number(&mut self, node: &Node, form: &Form) -> Value {
        let number = form.number();
        if let Some(value) = number.and_then(|number| number.value(&node.kind)) {
            return value;
        }
        let expected = match (&node.kind, number.and_then(|number| number.exceeded(&node.kind))) {
            (Kind::Float(value), _) if !value.is_finite() => "a finite number".into(),
            (_, Some(largest)) => format!("at most {largest}"),
            (_, None) => return self.mismatch(node, form),
        };
        let message = format!("{} is {}, expected {expected}", self.subject(), found(node));
        self.report(node.at, message, None)
    }

    fn text(&mut self, node: &Node, text: &'a str, form: &'a Form) -> Value {
        let variant = form.variants.get(text);
        let options = variant.map(|content| content.as_ref()?.of_type("object"));
        match (options, form.of_type("string")) {
            // The name alone means the variant with default options.
            (Some(Some(options)), _) => {
                let map = |checker: &mut Self| checker.map(node.at, &[], options);
                json!({text: self.below(Step::Key(text), map)})
            }
            (Some(None), _) => json!(text),
            (_, Some(string)) if string.admits(text) => json!(text),
            (_, None) if !form.variants.is_empty() => self.unknown(node.at, text, form),
            _ => self.mismatch(node, form),
        }
    }

    /// A name that is none of those a union knows.
    fn unknown(&mut self, at: Place, name: &str, form: &Form) -> Value {
        let unknown = name_of(name);
        let what = match self.path.as_slice() {
            [Step::Key("methods"), Step::Index(_)] => format!("unknown method {unknown}"),
            [Step::Key("datasets"), Step::Index(_)] => format!("unknown dataset {unknown}"),
            _ => format!("unknown value {unknown} for {}", self.subject()),
        };
        let help = closest(name, form.variants.keys().map(String::as_str)).map(did_you_mean);
        self.report(at, format!("{what}, expected {}", form.expected()), help)
    }

    fn list(&mut self, node: &Node, items: &'a [Node], list: &'a Type) -> Value {
        if let Some(expected) = list.wrong_length(items.len()) {
            let length = match items.len() {
                0 => "an empty list".into(),
                several => format!("a list of {}", counted(several, "item")),
            };
            let message = format!("{} is {length}, expected {expected}", self.subject());
            self.report(node.at, message, None);
        }
        let mut seen = HashSet::new();
        let item = |(index, item): (usize, &'a Node)| {
            let before = self.problems.len();
            let value = self.below(Step::Index(index), |checker| {
                let value = checker.value(item, &list.items);
                let is_new = value.is_null() || seen.insert(value.to_string());
                if list.unique_items && !is_new {
                    let message = format!("{} repeats the value {value}", checker.subject());
                    checker.report(item.at, message, None);
                }
                value
            });
            if self.problems.len() > before { Value::Null } else { value }
        };
        items.iter().enumerate().map(item).collect()
    }

    /// The entries of a map without those whose key was given before.
    fn distinct(&mut self, entries: &'a [Entry]) -> Vec<&'a Entry> {
        let mut distinct: IndexMap<&str, &Entry> = IndexMap::new();
        for entry in entries {
            let first = *distinct.entry(&entry.key).or_insert(entry);
            if !std::ptr::eq(first, entry) {
                let (name, at) = (name_of(&entry.key), first.key_at);
                let message = format!("the key {name} is given twice, first in line {}", at.line);
                let problem = Problem::new(entry.key_at, message).also(at, "first given here");
                self.problems.push(problem);
            }
        }
        distinct.into_values().collect()
    }

    /// One of several externally tagged variants: a map with a single key.
    fn variant(&mut self, node: &Node, entries: &[&'a Entry], form: &'a Form) -> Value {
        let [Entry { key, key_at, value }] = entries else {
            let keys = counted(entries.len(), "key");
            let message = format!("{} has {keys}, expected exactly one", self.subject());
            let at = entries.get(1).map_or(node.at, |second| second.key_at);
            let first = entries.first().map(|first| first.key.as_str());
            let known = first.filter(|key| matches!(form.variants.get(*key), Some(Some(_))));
            let help = known.map(|key| {
                let name = name_of(key);
                format!("to give options to {name}, indent them below it or write `{key}: {{...}}`")
            });
            return self.report(at, message, help);
        };
        match form.variants.get(key) {
            Some(Some(content)) => {
                let options = self.below(Step::Key(key), |checker| checker.value(value, content));
                json!({key: options})
            }
            Some(None) => {
                let name = name_of(key);
                self.report(
                    *key_at,
                    format!("{name} takes no options, expected {name} alone"),
                    None,
                )
            }
            None => self.unknown(*key_at, key, form),
        }
    }

    fn map(&mut self, at: Place, entries: &[&'a Entry], mapping: &'a Type) -> Value {
        let mut values = Map::new();
        let mut meant = Vec::new();
        for &Entry { key, value, key_at } in entries {
            match mapping.key(key) {
                None => meant.extend(self.unknown_key(key, *key_at, entries, mapping)),
                Some(form) => {
                    let value = self.below(Step::Key(key), |checker| checker.value(value, form));
                    values.insert(key.clone(), value);
                }
            }
        }
        let is_given = |key: &&String| values.contains_key(*key) || meant.contains(&key.as_str());
        for key in mapping.required.iter().filter(|key| !is_given(key)) {
            let name = name_of(key);
            let message = match self.path.as_slice() {
                [] => format!("the key {name} is missing"),
                _ => format!("{} lacks the key {name}", self.subject()),
            };
            self.report(entries.first().map_or(at, |first| first.key_at), message, None);
        }
        Value::Object(values)
    }

    /// Reports a key that is not known and gives the one that was probably meant.
    fn unknown_key(
        &mut self,
        key: &str,
        at: Place,
        siblings: &[&Entry],
        mapping: &'a Type,
    ) -> Option<&'a str> {
        let name = name_of(key);
        let what = match self.path.as_slice() {
            [] => format!("unknown key {name}"),
            [Step::Key("methods"), _, Step::Key(owner)] => {
                format!("unknown parameter {name} of {}", name_of(owner))
            }
            [Step::Key("datasets"), _, Step::Key(owner)] => {
                format!("unknown option {name} of {}", name_of(owner))
            }
            _ => format!("unknown key {name} in {}", self.subject()),
        };
        let is_missing = |known: &&str| siblings.iter().all(|other| other.key != *known);
        let meant = closest(key, mapping.keys.keys().map(String::as_str).filter(is_missing));
        let message = format!("{what}, expected {}", one_of(mapping.keys.keys()));
        self.report(at, message, meant.map(did_you_mean));
        meant
    }

    /// The value at the path in words: "`splits.repeats`", "item 2 of `render`", "`c` of `svm`".
    fn subject(&self) -> String {
        let (mut phrase, steps) = match self.path.as_slice() {
            [] => return "the spec".into(),
            // A method or dataset.
            [_, Step::Index(_), Step::Key(owner), inner @ ..] => (name_of(owner), inner),
            steps => (String::new(), steps),
        };
        let mut keys: Vec<&str> = Vec::new();
        for step in steps {
            match step {
                Step::Key(key) => keys.push(key),
                Step::Index(index) => {
                    phrase = format!("item {} of {}", index + 1, keys_of(&keys, &phrase));
                    keys.clear();
                }
            }
        }
        keys_of(&keys, &phrase)
    }
}

fn keys_of(keys: &[&str], owner: &str) -> String {
    match (keys, owner) {
        ([], owner) => owner.to_owned(),
        (keys, "") => name_of(&keys.join(".")),
        (keys, owner) => format!("{} of {owner}", name_of(&keys.join("."))),
    }
}

fn mismatch_help(node: &Node, form: &Form) -> Option<String> {
    match &node.kind {
        Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        Kind::Text(text) if form.of_type("boolean").is_some() => {
            let truth = match text.to_lowercase().as_str() {
                "yes" | "y" | "on" => Some("true"),
                "no" | "n" | "off" => Some("false"),
                text => closest(text, ["true", "false"]),
            };
            truth.map(did_you_mean)
        }
        Kind::Text(text) if form.number().is_some() => {
            let number = text.trim().parse::<f64>().is_ok_and(f64::is_finite);
            number.then(|| "write the number without quotes".into())
        }
        _ if form.expected() == "a list" => Some("put it in brackets to make it a list".into()),
        Kind::Text(_) => None,
        Kind::Int(_) | Kind::Float(_) | Kind::Bool(_) => {
            let is_text = form.of_type("string").is_some() && form.number().is_none();
            let is_only_text = is_text && form.variants.is_empty();
            is_only_text.then(|| "put it in quotes to make it a string".into())
        }
    }
}
