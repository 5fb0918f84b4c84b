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
    update(path, |provenance| {
        if provenance.is_empty() {
            *provenance = first(plan, &run);
        }
        add_runs(provenance, vec![run]);
    })
}

/// Adds runs that are not listed yet. A provenance without the list is of version 0.1: its keys describe its first run.
fn add_runs(provenance: &mut Map<String, Value>, new: Vec<Value>) {
    if !provenance.contains_key("runs") {
        let keys = ["version", "git", "machine", "jobs", "threads", "data"].into_iter();
        let known = keys.filter_map(|key| Some((key.to_owned(), provenance.get(key)?.clone())));
        let mut run: Map<String, Value> = known.collect();
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
        "data": hashes(plan.datasets.iter().filter(|row| !row.hash.is_empty())),
        "runs": [],
    });
    keys.as_object().cloned().unwrap_or_default()
}

/// Writes a provenance that is missing from what the ledger knows about its first finished cell, and fills in hashes
/// that version 0.1 lost when it ran without the data.
pub fn repair(dir: &Path, plan: &Plan, known: &Ledger) -> Result<(), Error> {
    let path = dir.join(FILE);
    if !path.exists() {
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
    update(&path, |provenance| {
        // Later versions lose no hash, and what they list describes the first run.
        let is_old = !provenance.contains_key("runs");
        let data = provenance.get_mut("data").filter(|_| is_old).and_then(Value::as_array_mut);
        for entry in data.into_iter().flatten().filter(|entry| entry["sha256"] == "") {
            let done = plan.cells.iter().filter(|cell| known.is_done(&cell.cell));
            let mut rows = done.map(|cell| &plan.datasets[cell.dataset]);
            if let Some(row) = rows.find(|row| entry["name"] == *row.name && !row.hash.is_empty()) {
                entry["sha256"] = json!(row.hash);
            }
        }
    })
}

/// Adds the runs of the provenance `from` to the one at `into`.
pub fn join_runs(from: &Path, into: &Path) -> Result<(), Error> {
    let mut theirs = read_object(from)?;
    if theirs.is_empty() || from == into {
        return Ok(());
    }
    add_runs(&mut theirs, Vec::new());
    let runs = theirs["runs"].as_array().cloned().unwrap_or_default();
    update(into, |ours| {
        if ours.is_empty() {
            *ours = theirs;
        }
        add_runs(ours, runs);
    })
}

/// Adds the splits in the file `from` to the file `into`.
pub fn join_splits(from: &Path, into: &Path) -> Result<(), Error> {
    let theirs = read_object(from)?;
    update(into, |ours| {
        for (hash, split) in theirs {
            ours.entry(hash).or_insert(split);
        }
    })
}

/// The splits that the results folder `dir` knows, by their hashes.
pub fn splits(dir: &Path) -> Result<Map<String, Value>, Error> {
    read_object(&dir.join(SPLITS))
}

/// Names and hashes of datasets.
pub fn hashes<'a>(rows: impl IntoIterator<Item = &'a PlannedDataset>) -> Vec<Value> {
    let rows = rows.into_iter();
    rows.map(|row| json!({"name": row.name, "sha256": row.hash})).collect()
}

/// Changes the object in a file, which is empty if there is no file. Writes the file only if that made a difference.
pub fn update(path: &Path, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), Error> {
    let before = read_object(path)?;
    let mut object = before.clone();
    change(&mut object);
    if object == before { Ok(()) } else { replace_json(path, &object) }
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
