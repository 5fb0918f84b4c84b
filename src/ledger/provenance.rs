//! `provenance.json` and `splits.json` of a results folder: which runs made its numbers, and from which samples.
//!
//! The keys at the top of the provenance describe the first run; `runs` lists every run that recorded a cell.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Ledger, Plan, PlannedDataset, SHARDS, Status, read_present, replace_json};
use crate::error::Error;

/// Name of the provenance in a results folder.
pub const FILE: &str = "provenance.json";
/// Name of the file with the samples of every split.
pub const SPLITS: &str = "splits.json";
/// Name of the copy of the spec.
pub const SPEC: &str = "spec.yaml";

/// Adds a run to the provenance of the results folder `dir`. A shard has its own file, which `merge` joins with the
/// folder's.
pub fn add_run(
    dir: &Path,
    shard: Option<String>,
    plan: &Plan,
    mut run: Value,
) -> Result<(), Error> {
    let own = dir.join(FILE);
    if let Some(shard) = shard {
        run["shard"] = json!(shard);
        append(&dir.join(SHARDS).join(format!("{shard}.{FILE}")), plan, run.clone())?;
        if own.exists() {
            return Ok(());
        }
    }
    append(&own, plan, run)
}

fn append(path: &Path, plan: &Plan, run: Value) -> Result<(), Error> {
    let mut provenance = read_object(path)?;
    if provenance.is_empty() {
        provenance = first(plan, &run);
    }
    add_runs(&mut provenance, vec![run]);
    replace_json(path, &provenance)
}

/// Adds runs that are not listed yet. A provenance without the list is of version 0.1: what it says is its first run.
fn add_runs(provenance: &mut Map<String, Value>, new: Vec<Value>) {
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
        for run in new {
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
    }
}

/// The keys at the top, which describe the first run.
fn first(plan: &Plan, run: &Value) -> Map<String, Value> {
    let keys = json!({
        "program": "npsvcpp",
        "version": run["version"],
        "git": run["git"],
        "experiment": plan.experiment.name,
        "seed": plan.experiment.seed,
        "last_started": run["started"],
        "machine": run["machine"],
        "jobs": run["jobs"],
        "threads": run["threads"],
        "data": hashes(&plan.datasets),
        "runs": [],
    });
    keys.as_object().cloned().unwrap_or_default()
}

/// Writes a provenance that is missing from what the ledger knows about its first finished cell, and fills in hashes
/// that version 0.1 lost when it ran without the data.
pub fn repair(dir: &Path, plan: &Plan, known: &Ledger) -> Result<(), Error> {
    let path = dir.join(FILE);
    let mut provenance = read_object(&path)?;
    if provenance.is_empty() {
        let Some(record) = known.records().find(|record| record.status == Status::Ok) else {
            return Ok(());
        };
        let run = json!({
            "version": record.version,
            "git": record.git,
            "started": record.started,
            "machine": {"host": record.host},
            "threads": record.threads,
            "data": hashes(plan.datasets.iter().filter(|row| !row.hash.is_empty())),
        });
        return append(&path, plan, run);
    }
    // Later versions lose no hash, and what they list describes the first run.
    if provenance.contains_key("runs") {
        return Ok(());
    }
    let before = provenance.clone();
    let data = provenance.get_mut("data").and_then(Value::as_array_mut);
    for entry in data.into_iter().flatten().filter(|entry| entry["sha256"] == "") {
        let done = plan.cells.iter().filter(|cell| known.is_done(&cell.cell));
        let mut rows = done.map(|cell| &plan.datasets[cell.dataset]);
        if let Some(row) = rows.find(|row| entry["name"] == *row.name && !row.hash.is_empty()) {
            entry["sha256"] = json!(row.hash);
        }
    }
    if provenance == before { Ok(()) } else { replace_json(&path, &provenance) }
}

/// Adds the runs of the provenance `from` to the one at `into`.
pub fn join_runs(from: &Path, into: &Path) -> Result<(), Error> {
    let (mut theirs, mut ours) = (read_object(from)?, read_object(into)?);
    if theirs.is_empty() || from == into {
        return Ok(());
    }
    add_runs(&mut theirs, Vec::new());
    let before = ours.clone();
    if ours.is_empty() {
        ours = theirs.clone();
    }
    add_runs(&mut ours, theirs["runs"].as_array().cloned().unwrap_or_default());
    if ours == before { Ok(()) } else { replace_json(into, &ours) }
}

/// Adds the splits in the file `from` to the file `into`.
pub fn join_splits(from: &Path, into: &Path) -> Result<(), Error> {
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
pub fn read_object(path: &Path) -> Result<Map<String, Value>, Error> {
    let Some(text) = read_present(path)? else {
        return Ok(Map::new());
    };
    serde_json::from_slice(&text).map_err(|error| {
        let remedy = "restore it, or delete it to have it written again";
        Error::input(format!("{} is damaged ({error}); {remedy}", path.display()))
    })
}
