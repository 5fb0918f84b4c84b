//! Places and expectations in words.

use serde_json::{Value, json};

use super::{Form, Step};
use crate::spec::node::{Kind, Node};
use crate::spec::phrase::{did_you_mean, name_of, one_of};
use crate::spec::schema::{allows, names, tag};
use crate::wording::closest;

/// The value at `path` in words: "`splits.repeats`", "item 2 of `render`", "`c` of `svm`".
pub(in crate::spec) fn subject(path: &[Step]) -> String {
    let (mut phrase, steps) = match path {
        [] => return "the spec".into(),
        [Step::Key(list), Step::Index(_), Step::Key(owner), inner @ ..]
            if list == "methods" || list == "datasets" =>
        {
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

fn keys_of(keys: &[&str], owner: &str) -> String {
    match (keys, owner) {
        ([], owner) => owner.to_owned(),
        (keys, "") => name_of(&keys.join(".")),
        (keys, owner) => format!("{} of {owner}", name_of(&keys.join("."))),
    }
}

/// All names of a union: plain strings and tags.
pub(super) fn known_names<'a>(forms: &[&'a Form]) -> Vec<&'a str> {
    let mut all = Vec::new();
    for form in forms {
        for name in names(form).chain(tag(form).map(|(name, _)| name)) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

/// The forms in words: "a number above 0 or `mean-squared-distance`".
pub(super) fn expected(forms: &[&Form]) -> String {
    let scalar = |form: &Form| {
        !allows(form, "array")
            && !allows(form, "object")
            && form.get("type") != Some(&json!("null"))
    };
    let tunable =
        forms.iter().any(|form| allows(form, "array")) && forms.iter().any(|form| scalar(form));
    // That a list or a range would do as well only distracts from a wrong scalar.
    let forms: Vec<&Form> = forms.iter().filter(|form| !tunable || scalar(form)).copied().collect();
    let mut parts: Vec<String> = Vec::new();
    for form in &forms {
        let part = match form {
            form if names(form).next().is_some() || tag(form).is_some() && forms.len() > 1 => {
                continue;
            }
            form if allows(form, "integer") || allows(form, "number") => number_in_words(form),
            form if allows(form, "string") => text_in_words(form),
            form if allows(form, "boolean") => "true or false".into(),
            form if allows(form, "array") => "a list".into(),
            form if allows(form, "object") => "a mapping".into(),
            _ => continue,
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let names = if forms.len() > 1 || parts.is_empty() { known_names(&forms) } else { Vec::new() };
    if !names.is_empty() {
        parts.push(one_of(names));
    }
    parts.join(" or ")
}

fn number_in_words(form: &Form) -> String {
    let noun = if allows(form, "number") { "a number" } else { "a whole number" };
    let limit = |key: &str| form.get(key).and_then(Value::as_f64);
    if let (Some(min), Some(max)) = (limit("minimum"), limit("maximum")) {
        return format!("{noun} from {min} to {max}");
    }
    let low = limit("minimum").map(|min| format!("of at least {min}"));
    let low = low.or_else(|| limit("exclusiveMinimum").map(|min| format!("above {min}")));
    let high = limit("maximum").map(|max| format!("at most {max}"));
    let high = high.or_else(|| limit("exclusiveMaximum").map(|max| format!("below {max}")));
    match (low, high) {
        (Some(low), Some(high)) => format!("{noun} {low} and {high}"),
        (Some(limit), None) | (None, Some(limit)) => format!("{noun} {limit}"),
        (None, None) => noun.into(),
    }
}

fn text_in_words(form: &Form) -> String {
    let text = |key: &str| form.get(key).and_then(Value::as_str);
    if let Some(words) = text("patternErrorMessage") {
        return words.into();
    }
    match (text("pattern"), form.get("minLength").and_then(Value::as_u64)) {
        (Some(pattern), _) => format!("a string that matches `{pattern}`"),
        (None, Some(1..)) => "a string that is not empty".into(),
        (None, _) => "a string".into(),
    }
}

pub(super) fn mismatch_help(node: &Node, forms: &[&Form]) -> Option<String> {
    let wants = |kind: &str| forms.iter().any(|form| allows(form, kind));
    match &node.kind {
        Kind::Text(text) if wants("boolean") => {
            let truth = match text.to_lowercase().as_str() {
                "yes" | "y" | "on" => Some("true"),
                "no" | "n" | "off" => Some("false"),
                text => closest(text, ["true", "false"]),
            };
            truth.map(did_you_mean)
        }
        Kind::Text(text) if wants("number") || wants("integer") => {
            let number = text.trim().parse::<f64>().is_ok_and(f64::is_finite);
            number.then(|| "write the number without quotes".into())
        }
        Kind::Text(_) | Kind::Int(_) | Kind::Float(_) | Kind::Bool(_)
            if forms.iter().all(|form| allows(form, "array")) =>
        {
            Some("put it in brackets to make it a list".into())
        }
        Kind::Int(_) | Kind::Float(_) | Kind::Bool(_)
            if wants("string") && !wants("integer") && known_names(forms).is_empty() =>
        {
            Some("put it in quotes to make it a string".into())
        }
        _ => None,
    }
}
