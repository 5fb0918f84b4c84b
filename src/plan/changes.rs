//! Why cells that were done before are run again: what differs between the last plan and this one.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Plan, PlannedCell};
use crate::spec::MethodSpec;

/// One sentence per cause with the number of cells it has run again, out of `todo`, which are cells of `new`.
/// A cell counts if `old` had one of the same dataset, method, split and training seed that was `known`.
pub fn causes<'a>(
    old: &Plan,
    new: &Plan,
    todo: impl IntoIterator<Item = &'a PlannedCell>,
    known: impl Fn(&str) -> bool,
) -> Vec<String> {
    let places: HashMap<_, &PlannedCell> =
        old.cells.iter().filter_map(|cell| Some((place(old, cell)?, cell))).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: HashMap<(usize, usize, usize, usize), String> = HashMap::new();
    for cell in todo {
        let Some(before) = place(new, cell).and_then(|place| places.get(&place)) else {
            continue;
        };
        if before.cell == cell.cell || !known(&before.cell) {
            continue;
        }
        let key = (cell.dataset, cell.method, cell.split, cell.training_seed);
        let cause = found.entry(key).or_insert_with(|| cause(old, before, new, cell));
        *counts.entry(cause.clone()).or_default() += 1;
    }
    let sentence = |(cause, count): (String, usize)| match count {
        1 => format!("1 cell is run again: {cause}"),
        several => format!("{several} cells are run again: {cause}"),
    };
    counts.into_iter().map(sentence).collect()
}

/// What a reader knows a cell by.
fn place<'a>(plan: &'a Plan, cell: &PlannedCell) -> Option<(&'a str, &'a str, usize, usize)> {
    let dataset = plan.datasets.get(cell.dataset)?;
    let method = plan.methods.get(cell.method)?;
    Some((&dataset.name, &method.label, cell.split, cell.training_seed))
}

fn cause(old: &Plan, before: &PlannedCell, new: &Plan, cell: &PlannedCell) -> String {
    let (was, is) = (&old.experiment, &new.experiment);
    let (data_before, data) = (&old.datasets[before.dataset], &new.datasets[cell.dataset]);
    let mut causes = Vec::new();
    if data_before.hash != data.hash {
        causes.push(format!("the data of `{}` changed", data.name));
    }
    changed(&mut causes, "`seed`", &was.seed, &is.seed);
    changed(&mut causes, "`kernel`", &was.kernel, &is.kernel);
    changed(&mut causes, "`jitter`", &was.jitter, &is.jitter);
    changed(&mut causes, "`factor`", &was.factor, &is.factor);
    // Another seed or other data makes other splits; that is said already.
    if causes.is_empty() && data_before.splits.get(before.split) != data.splits.get(cell.split) {
        causes.push(format!("the splits of `{}` changed", data.name));
    }
    let label = &new.methods[cell.method].label;
    if let (Some(was), Some(is)) = (was.methods.get(before.method), is.methods.get(cell.method)) {
        parameters(&mut causes, label, was, is);
    }
    if new.methods[cell.method].points > 1 {
        changed(&mut causes, "`select`", &was.select, &is.select);
    }
    if causes.is_empty() {
        causes.push(format!("the program computes {label} in another way now"));
    }
    causes.join(", ")
}

fn changed<T: PartialEq + Serialize>(causes: &mut Vec<String>, what: &str, was: &T, is: &T) {
    if was != is {
        let (was, is) = (json!(was), json!(is));
        causes.push(format!("{what} changed from {was} to {is}"));
    }
}

/// The parameters of a method that are not what they were.
fn parameters(causes: &mut Vec<String>, label: &str, was: &MethodSpec, is: &MethodSpec) {
    if was.sampled != is.sampled {
        causes.push(format!("other points are drawn for {label}"));
    }
    let (was, is) = (given(was), given(is));
    let mut names: Vec<&String> = was.keys().chain(is.keys()).collect();
    names.sort();
    names.dedup();
    let text = |value: Option<&Value>| value.map_or("its default".into(), Value::to_string);
    for name in names {
        if was.get(name) != is.get(name) {
            let (was, is) = (text(was.get(name)), text(is.get(name)));
            causes.push(format!("`{name}` of {label} changed from {was} to {is}"));
        }
    }
}

fn given(spec: &MethodSpec) -> Map<String, Value> {
    let tuned = spec.tuned.iter();
    let tuned = tuned.map(|(name, values)| (name.clone(), Value::Array(values.clone())));
    spec.fixed.clone().into_iter().chain(tuned).collect()
}
