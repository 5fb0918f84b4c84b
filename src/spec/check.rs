//! Checks a YAML tree against the forms of a schema and collects every problem on the way.
//!
//! What comes out is JSON in one normal form: floats where the schema says number, integers where
//! it says integer, `{name: {}}` for the bare name of a variant with options. A part with a problem
//! comes out as null, and an item of a list as a whole.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::form::Form;
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
                match (form.of_type("object"), form.range.as_deref().unwrap_or(form)) {
                    (Some(form), _) => self.map(node.at, &entries, form),
                    (None, form) if form.variants().values().any(Option::is_some) => {
                        self.variant(node, &entries, form)
                    }
                    (None, form) => self.mismatch(node, form),
                }
            }
            Kind::Null | Kind::Bool(_) => self.mismatch(node, form),
        }
    }

    /// Checks a node below the current one.
    fn below(&mut self, step: Step<'a>, node: &'a Node, form: &'a Form) -> Value {
        self.path.push(step);
        let value = self.value(node, form);
        self.path.pop();
        value
    }

    fn report(&mut self, problem: Problem) -> Value {
        self.problems.push(problem);
        Value::Null
    }

    fn mismatch(&mut self, node: &Node, form: &Form) -> Value {
        let (what, expected) = (self.subject(), form.expected());
        let message = format!("{what} is {}, expected {expected}", found(node));
        self.report(Problem::new(node.at, message).help(mismatch_help(node, form)))
    }

    fn number(&mut self, node: &Node, form: &Form) -> Value {
        let number = form.number();
        if let Some(value) = number.and_then(|form| form.value(&node.kind)) {
            return value;
        }
        let expected = match (&node.kind, number.and_then(|form| form.exceeded(&node.kind))) {
            (Kind::Float(value), _) if !value.is_finite() => "a finite number".into(),
            (_, Some(largest)) => format!("at most {largest}"),
            (_, None) => return self.mismatch(node, form),
        };
        let message = format!("{} is {}, expected {expected}", self.subject(), found(node));
        self.report(Problem::new(node.at, message))
    }

    fn text(&mut self, node: &Node, text: &'a str, form: &'a Form) -> Value {
        let (variants, string) = (form.variants(), form.of_type("string"));
        let variant = variants.get(text).copied();
        if let Some(options) = variant.flatten().and_then(|content| content.of_type("object")) {
            self.path.push(Step::Key(text));
            let options = self.map(node.at, &[], options);
            self.path.pop();
            return json!({text: options});
        }
        match string {
            _ if variant == Some(None) => json!(text),
            Some(string) if string.admits(text) => json!(text),
            None if !variants.is_empty() => self.unknown(node.at, text, form),
            _ => self.mismatch(node, form),
        }
    }

    /// A name that is none of those a union knows.
    fn unknown(&mut self, at: Place, name: &str, form: &Form) -> Value {
        let expected = form.expected();
        let what = match self.path.as_slice() {
            [Step::Key("methods"), Step::Index(_)] => format!("unknown method {}", name_of(name)),
            [Step::Key("datasets"), Step::Index(_)] => format!("unknown dataset {}", name_of(name)),
            _ => format!("unknown value {} for {}", name_of(name), self.subject()),
        };
        let help = closest(name, form.variants().into_keys()).map(did_you_mean);
        self.report(Problem::new(at, format!("{what}, expected {expected}")).help(help))
    }

    fn list(&mut self, node: &Node, items: &'a [Node], form: &'a Form) -> Value {
        if let Some(expected) = form.wrong_length(items.len()) {
            let length = match items.len() {
                0 => "an empty list".into(),
                several => format!("a list of {}", counted(several, "item")),
            };
            let message = format!("{} is {length}, expected {expected}", self.subject());
            self.report(Problem::new(node.at, message));
        }
        let of_items = form.items.as_deref().expect("a list has a schema of its items");
        let (mut values, mut seen) = (Vec::new(), HashSet::new());
        for (index, item) in items.iter().enumerate() {
            let before = self.problems.len();
            self.path.push(Step::Index(index));
            let value = self.value(item, of_items);
            if form.unique_items && !value.is_null() && !seen.insert(value.to_string()) {
                let message = format!("{} repeats the value {value}", self.subject());
                self.report(Problem::new(item.at, message));
            }
            self.path.pop();
            values.push(if self.problems.len() > before { Value::Null } else { value });
        }
        values.into()
    }

    /// The entries of a map without those whose key was given before.
    fn distinct(&mut self, entries: &'a [Entry]) -> Vec<&'a Entry> {
        let mut distinct: IndexMap<&str, &Entry> = IndexMap::new();
        for entry in entries {
            if let Some(first) = distinct.get(entry.key.as_str()) {
                let (name, at) = (name_of(&entry.key), first.key_at);
                let message = format!("the key {name} is given twice, first in line {}", at.line);
                self.report(Problem::new(entry.key_at, message).also(at, "first given here"));
            } else {
                distinct.insert(&entry.key, entry);
            }
        }
        distinct.into_values().collect()
    }

    /// One of several externally tagged variants: a map with a single key.
    fn variant(&mut self, node: &Node, entries: &[&'a Entry], form: &'a Form) -> Value {
        let variants = form.variants();
        let [entry] = entries else {
            let keys = counted(entries.len(), "key");
            let message = format!("{} has {keys}, expected exactly one", self.subject());
            let at = entries.get(1).map_or(node.at, |second| second.key_at);
            let known = entries.first().map(|first| first.key.as_str());
            let known = known.filter(|key| variants.get(key).is_some_and(Option::is_some));
            let help = known.map(|key| {
                let name = name_of(key);
                format!("to give options to {name}, indent them below it or write `{key}: {{...}}`")
            });
            return self.report(Problem::new(at, message).help(help));
        };
        match variants.get(entry.key.as_str()) {
            Some(Some(content)) => {
                let options = self.below(Step::Key(&entry.key), &entry.value, content);
                json!({entry.key.as_str(): options})
            }
            Some(None) => {
                let name = name_of(&entry.key);
                let message = format!("{name} takes no options, expected {name} alone");
                self.report(Problem::new(entry.key_at, message))
            }
            None => self.unknown(entry.key_at, &entry.key, form),
        }
    }

    fn map(&mut self, at: Place, entries: &[&'a Entry], form: &'a Form) -> Value {
        let mut values = Map::new();
        let mut meant = Vec::new();
        for entry in entries {
            match form.key(&entry.key) {
                None => meant.extend(self.unknown_key(entry, entries, form)),
                Some(form) => {
                    let value = self.below(Step::Key(&entry.key), &entry.value, form);
                    values.insert(entry.key.clone(), value);
                }
            }
        }
        let is_given = |key: &&String| values.contains_key(*key) || meant.contains(&key.as_str());
        for key in form.required.iter().filter(|key| !is_given(key)) {
            let name = name_of(key);
            let message = match self.path.as_slice() {
                [] => format!("the key {name} is missing"),
                _ => format!("{} lacks the key {name}", self.subject()),
            };
            let at = entries.first().map_or(at, |first| first.key_at);
            self.report(Problem::new(at, message));
        }
        Value::Object(values)
    }

    /// Reports a key that is not known and gives the one that was probably meant.
    fn unknown_key(
        &mut self,
        entry: &Entry,
        siblings: &[&Entry],
        form: &'a Form,
    ) -> Option<&'a str> {
        let name = name_of(&entry.key);
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
        let missing = form.keys().filter(|key| siblings.iter().all(|other| other.key != *key));
        let meant = closest(&entry.key, missing);
        let message = format!("{what}, expected {}", one_of(form.keys()));
        self.report(Problem::new(entry.key_at, message).help(meant.map(did_you_mean)));
        meant
    }

    /// The value at the path in words: "`splits.repeats`", "item 2 of `render`", "`c` of `svm`".
    fn subject(&self) -> String {
        let (mut phrase, steps) = match self.path.as_slice() {
            [] => return "the spec".into(),
            [Step::Key("methods" | "datasets"), Step::Index(_), Step::Key(owner), inner @ ..] => {
                (name_of(owner), inner)
            }
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
            let is_only_text = is_text && form.variants().is_empty();
            is_only_text.then(|| "put it in quotes to make it a string".into())
        }
    }
}
