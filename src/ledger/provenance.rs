//! `provenance.json` and `splits.json` of a results folder: which runs made its numbers, and from which samples.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Plan, PlannedDataset, replace_json};

/// Name of the provenance in a results folder.
pub const FILE: &str = "provenance.json";
/// Name of the file with the samples of every split.
pub const SPLITS: &str = "splits.json";
/// Name of the copy of the spec.
pub const SPEC: &str = "spec.yaml";

/// Adds a run to the provenance at `path`.
pub fn append(path: &Path, plan: &Plan, entry: Value) -> io::Result<()> {
    let mut provenance = read_object(path)?;
    if provenance.is_empty() {
        provenance = first(plan, &entry);
    }
    add_entries(&mut provenance, vec![entry]);
    replace_json(path, &provenance)
}

/// Adds runs that are not listed yet. A provenance without the list is of version 0.1: what it says is its first run.
fn add_entries(provenance: &mut Map<String, Value>, entries: Vec<Value>) {
    if !provenance.contains_key("runs") {
        let mut run = Map::new();
        for key in ["version", "git", "machine", "jobs", "threads", "data"] {
            run.extend(provenance.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        let started = provenance.get("last_started").cloned();
        run.insert("started".to_owned(), started.unwrap_or_default());
        provenance.insert("runs".to_owned(), json!([run]));
    }
    if let Some(runs) = provenance.get_mut("runs").and_then(Value::as_array_mut) {
        for entry in entries {
            if !runs.contains(&entry) {
                runs.push(entry);
            }
        }
    }
}

/// The keys at the top, which describe the first run.
fn first(plan: &Plan, entry: &Value) -> Map<String, Value> {
    let keys = [
        ("program", json!("npsvcpp")),
        ("version", entry["version"].clone()),
        ("git", entry["git"].clone()),
        ("experiment", json!(plan.experiment.name)),
        ("seed", json!(plan.experiment.seed)),
        ("last_started", entry["started"].clone()),
        ("machine", entry["machine"].clone()),
        ("jobs", entry["jobs"].clone()),
        ("threads", entry["threads"].clone()),
        ("data", json!(hashes(&plan.datasets))),
        ("runs", json!([])),
    ];
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Adds the runs of the provenance `from` to the one at `into`.
pub fn join_runs(from: &Path, into: &Path) -> io::Result<()> {
    let (mut theirs, mut ours) = (read_object(from)?, read_object(into)?);
    if theirs.is_empty() || from == into {
        return Ok(());
    }
    add_entries(&mut theirs, Vec::new());
    if ours.is_empty() {
        return replace_json(into, &theirs);
    }
    let before = ours.clone();
    let runs = theirs.remove("runs").unwrap_or_default();
    add_entries(&mut ours, runs.as_array().cloned().unwrap_or_default());
    if ours == before { Ok(()) } else { replace_json(into, &ours) }
}

/// Adds the splits in the file `from` to the file `into`.
pub fn join_splits(from: &Path, into: &Path) -> io::Result<()> {
    let mut ours = read_object(into)?;
    let before = ours.len();
    for (hash, split) in read_object(from)? {
        ours.entry(hash).or_insert(split);
    }
    if ours.len() == before { Ok(()) } else { replace_json(into, &ours) }
}

/// Names and hashes of datasets.
pub fn hashes<'a>(rows: impl IntoIterator<Item = &'a PlannedDataset>) -> Vec<Value> {
    let rows = rows.into_iter();
    rows.map(|row| json!({"name": row.name, "sha256": row.hash})).collect()
}

/// The object in a file; empty if there is none. What cannot be read is never replaced.
pub fn read_object(path: &Path) -> io::Result<Map<String, Value>> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        text => text?,
    };
    serde_json::from_slice(&text).map_err(|error| {
        let remedy = "restore it, or delete it to have it written again";
        let problem = format!("{} is damaged ({error}); {remedy}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })
}
