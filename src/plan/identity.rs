//! The identity of cells: everything their numbers depend on, and nothing else.

use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Plan, PlannedCell, PlannedDataset};
use crate::spec::{Candidates, Experiment};

/// The cells of all datasets, in the order in which they are run.
pub(super) fn cells(datasets: &[PlannedDataset], settings: &Settings) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for (dataset, planned) in datasets.iter().enumerate() {
        let row = row_cells(planned, settings);
        cells.extend(row.map(|(cell, method, split, training_seed)| PlannedCell {
            cell,
            dataset,
            method,
            split,
            training_seed,
        }));
    }
    cells
}

/// The cells of a plan, computed again from its experiment and its datasets.
pub fn planned_cells(plan: &Plan) -> Result<Vec<PlannedCell>, String> {
    let methods = plan.experiment.methods.iter();
    let candidates: Vec<Candidates> = methods.map(Candidates::of).collect::<Result<_, _>>()?;
    let settings = all_settings(&plan.experiment, &candidates);
    Ok(cells(&plan.datasets, &settings))
}

/// What the identities of an experiment's cells depend on besides the data.
pub(super) struct Settings {
    /// One per method: the part of a cell's identity that its cells have in common.
    methods: Vec<MethodSettings>,
    /// Trainings of every network on a split.
    seeds: usize,
}

struct MethodSettings {
    text: String,
    is_network: bool,
    is_tuned: bool,
}

/// Identity, method, split and training seed of every cell of a dataset.
pub(super) fn row_cells(
    planned: &PlannedDataset,
    settings: &Settings,
) -> impl Iterator<Item = (String, usize, usize, usize)> {
    let splits = planned.splits.iter().enumerate();
    let places = splits.flat_map(|split| (0..settings.seeds).map(move |seed| (split, seed)));
    places.flat_map(move |((split, split_hash), training_seed)| {
        let mut place = json!({
            "dataset": planned.name,
            "data": planned.hash,
            "split": split,
            "samples": split_hash,
        });
        // The first training has the name that it has without `seeds`.
        if training_seed > 0 {
            place["training_seed"] = json!(training_seed);
        }
        let fixed = place.to_string();
        // Only a choice depends on validation samples.
        if let Some(hash) = &planned.validation {
            place["validation"] = json!(hash);
        }
        let chosen = place.to_string();
        let methods = settings.methods.iter().enumerate();
        let methods = methods.filter(move |(_, method)| training_seed == 0 || method.is_network);
        methods.map(move |(index, method)| {
            let place = if method.is_tuned { &chosen } else { &fixed };
            (identity(place, &method.text), index, split, training_seed)
        })
    })
}

pub(super) fn all_settings(experiment: &Experiment, candidates: &[Candidates]) -> Settings {
    let one = |candidates: &Candidates| MethodSettings {
        text: settings_of(experiment, candidates),
        is_network: candidates.entry.is_network,
        is_tuned: candidates.points.len() > 1,
    };
    Settings { methods: candidates.iter().map(one).collect(), seeds: experiment.splits.seeds }
}

/// The part of a cell's identity that a method's cells have in common, as a JSON object.
fn settings_of(experiment: &Experiment, candidates: &Candidates) -> String {
    let is_tuned = candidates.points.len() > 1;
    let points: Vec<Value> = candidates.points.iter().map(|point| point.params.clone()).collect();
    let mut settings = json!({
        "seed": experiment.seed,
        "kernel": experiment.kernel,
        "jitter": experiment.jitter,
        "method": candidates.entry.info.name,
        "version": candidates.entry.info.version,
        "points": points,
        "select": is_tuned.then_some(&experiment.select),
    });
    // Left out where it is not used, so that the cells of ledgers older than the key keep their names.
    if !experiment.factor.is_full() {
        settings["factor"] = json!(experiment.factor);
    }
    settings.to_string()
}

/// A cell's identity: everything its numbers depend on, and nothing else. It is the hash of one JSON
/// object, given here in two parts.
fn identity(place: &str, settings: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(place.strip_suffix('}').unwrap_or(place));
    hash.update(",");
    hash.update(settings.strip_prefix('{').unwrap_or(settings));
    let digest = hash.finalize();
    let mut digits = String::with_capacity(24);
    for byte in digest.iter().take(12) {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ledgers refer to cells by this hash, so it must never change by accident.
    #[test]
    fn an_identity_is_the_hash_of_one_object() {
        let (place, settings) = (json!({"dataset": "a", "split": 3}), json!({"seed": 1}));
        let whole = json!({"dataset": "a", "split": 3, "seed": 1}).to_string();
        let digest = Sha256::digest(whole.as_bytes());
        let expected: String = digest.iter().take(12).map(|b| format!("{b:02x}")).collect();
        assert_eq!(identity(&place.to_string(), &settings.to_string()), expected);
    }
}
