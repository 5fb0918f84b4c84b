//! Why cells that were done before are run again: what differs between the last plan and this one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::identity::Identity;
use super::{Plan, PlannedCell, Prepared};
use crate::spec::{Candidates, MethodSpec};
use crate::wording::counted;

/// One sentence per cause, with the number of cells of `todo` that run again because of it. They are cells of `new`.
/// A cell counts if `old` had one of the same dataset, method, split and training seed that was `known`.
pub fn causes<'a>(
    old: &Plan,
    new: &Prepared,
    todo: impl IntoIterator<Item = &'a PlannedCell>,
    known: impl Fn(&str) -> bool,
) -> Vec<String> {
    let former: Vec<Option<Candidates>> =
        old.experiment.methods.iter().map(|spec| Candidates::of(spec).ok()).collect();
    let places = old.by_place();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for cell in todo {
        let (dataset, label, ..) = new.plan.place(cell);
        let before = places.get(&new.plan.place(cell));
        let Some(before) = before.filter(|old| old.cell != cell.cell && known(&old.cell)) else {
            continue;
        };
        let was = former.get(before.method).and_then(Option::as_ref);
        let was = was.map(|method| identity(old, before, method));
        let is = identity(&new.plan, cell, &new.candidates[cell.method]);
        let mut causes = was.map_or_else(Vec::new, |was| changed_keys(dataset, &was, &is));
        let given = &new.plan.experiment.methods[cell.method];
        if let Some(former) = old.experiment.methods.get(before.method) {
            causes.extend(changed_parameters(label, former, given));
        }
        if causes.is_empty() {
            causes.push(format!("the program computes {label} in another way now"));
        }
        *counts.entry(causes.join(", ")).or_default() += 1;
    }
    let sentence = |(cause, cells): (String, usize)| {
        let are = if cells == 1 { "is" } else { "are" };
        format!("{} {are} run again: {cause}", counted(cells, "cell"))
    };
    counts.into_iter().map(sentence).collect()
}

fn identity<'a>(plan: &'a Plan, cell: &PlannedCell, method: &'a Candidates) -> Identity<'a> {
    let row = &plan.datasets[cell.dataset];
    Identity::new(&plan.experiment, row, method, cell.split, cell.training_seed)
}

/// What differs between the identities of a cell of `dataset`, apart from the parameters.
fn changed_keys(dataset: &str, was: &Identity<'_>, is: &Identity<'_>) -> Vec<String> {
    let mut changes = Vec::new();
    let mut has_other_samples = false;
    for (key, [was, is]) in differences(&was.keys(), &is.keys()) {
        match key {
            "data" => changes.push(format!("the data of `{dataset}` changed")),
            "samples" | "validation" => has_other_samples = true,
            // Parameters are compared as the spec gives them; without them nothing is selected.
            "points" | "method" | "version" => {}
            "select" if was == "null" || is == "null" => {}
            key => changes.push(format!("`{key}` changed from {was} to {is}")),
        }
    }
    // Another seed or other data makes other splits; that is said already.
    if has_other_samples && changes.is_empty() {
        changes.push(format!("the splits of `{dataset}` changed"));
    }
    changes
}

/// The parameters of a method that are not what they were.
fn changed_parameters(label: &str, was: &MethodSpec, is: &MethodSpec) -> Vec<String> {
    let drawn = format!("other points are drawn for {label}");
    let drawn = (was.sampled != is.sampled).then_some(drawn);
    let (was, is) = (given(was), given(is));
    let changes = differences(&was, &is)
        .map(|(name, [was, is])| format!("`{name}` of {label} changed from {was} to {is}"));
    drawn.into_iter().chain(changes).collect()
}

/// The parameters that a spec gives.
fn given(spec: &MethodSpec) -> BTreeMap<String, Value> {
    let tuned = spec.tuned.iter().map(|(name, values)| (name.clone(), json!(values)));
    let fixed = spec.fixed.iter().map(|(name, value)| (name.clone(), value.clone()));
    fixed.chain(tuned).collect()
}

/// The keys whose values differ, with both values as text.
fn differences<'a>(
    was: &'a BTreeMap<String, Value>,
    is: &'a BTreeMap<String, Value>,
) -> impl Iterator<Item = (&'a str, [String; 2])> {
    let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    keys.into_iter().filter(|key| was.get(*key) != is.get(*key)).map(move |key| {
        let values = [was, is].map(|values| values.get(key));
        let text = |value: Option<&Value>| value.map_or("its default".to_owned(), Value::to_string);
        (key.as_str(), values.map(text))
    })
}
