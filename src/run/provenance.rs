//! `plan.json`, `spec.yaml`, `splits.json` and `provenance.json`: what a results folder was computed from, and how
//! to repeat it.
//!
//! Plan and splits follow the spec and never shrink because a run is narrower than the spec or lacks data. A run
//! that records a cell adds an entry to `runs` of the provenance; the keys at its top describe the first run.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Prepared, Source};
use crate::data::Split;
use crate::ledger::provenance::{FILE, SPEC, SPLITS, append, hashes, read_object};
use crate::ledger::{self, Ledger, Plan, SHARDS, Status, replace_json};
use crate::plan::Kept;

/// Writes the plan that shows the rows `kept` in place of those to be run, with its spec and splits. Gives the plan
/// that was there and the one that is there now.
///
/// Shards do this at the same time: a row that another one has switched is no longer kept, and a row that only another
/// one knows stays. The plan is written last, so that the next run does all of it again if this one is killed.
pub(super) fn write_plan(
    folder: &Path,
    prepared: &Prepared,
    kept: &mut Kept,
) -> io::Result<(Option<Plan>, Plan)> {
    let _lock = ledger::lock(folder);
    // A plan that cannot be read is replaced.
    let former = Plan::read(folder).ok();
    if let Some(former) = &former {
        let rows = &former.datasets;
        kept.retain(|_, row| rows.iter().any(|r| r.name == row.name && r.hash == row.hash));
    }
    let mut plan = prepared.plan_with(kept);
    if let Some(former) = &former {
        plan.learn_from(former);
        plan.remember(former);
    }
    let is_same = former.as_ref().is_some_and(|former| former.describes(&plan));
    // The spec as it was read: its file may change during the run, and a pipe is read only once.
    let (path, text) = (folder.join(SPEC), prepared.spec.as_bytes());
    if std::fs::read(&path).ok().as_deref() != Some(text) {
        ledger::replace(&path, text)?;
    }
    grow_splits(folder, prepared, &plan)?;
    if !is_same {
        plan.write(folder)?;
    }
    Ok((former, plan))
}

/// Writes the plan of a results folder before its first run; rows of datasets whose data changed stay as they are.
pub fn describe(folder: &Path, prepared: &Prepared) -> io::Result<()> {
    let mut kept = prepared.changed.iter().cloned().collect();
    write_plan(folder, prepared, &mut kept)?;
    Ok(())
}

/// Adds the splits of the plan that `splits.json` lacks.
fn grow_splits(folder: &Path, prepared: &Prepared, plan: &Plan) -> io::Result<()> {
    let path = folder.join(SPLITS);
    let mut known = read_object(&path)?;
    let before = known.len();
    let mut all = Map::new();
    for (row, source) in plan.datasets.iter().zip(&prepared.sources) {
        for (number, hash) in row.splits.iter().enumerate() {
            let entry = known.remove(hash).or_else(|| {
                let source = source.as_ref()?;
                let split = source.splits.get(number).filter(|s| s.hash == *hash)?;
                Some(split_entry(source, number, split))
            });
            all.extend(entry.map(|entry| (hash.clone(), entry)));
        }
    }
    all.extend(known);
    if all.len() == before && path.exists() {
        return Ok(());
    }
    replace_json(&path, &Value::Object(all))
}

/// The training samples of a split, as a bit mask in hexadecimal: bit `i % 4` of digit `i / 4` is sample `i`. All
/// others are test samples, unless there are masks for them and for validation samples too.
fn split_entry(source: &Source, number: usize, split: &Split) -> Value {
    let samples = source.dataset.y.len();
    let mask = |part: &[usize]| -> String {
        let mut digits = vec![0_u8; samples.div_ceil(4)];
        for &i in part {
            digits[i / 4] |= 1 << (i % 4);
        }
        digits.iter().map(|digit| format!("{digit:x}")).collect()
    };
    let mut entry = json!({
        "dataset": source.dataset.name,
        "split": number,
        "samples": samples,
        "train": mask(&split.train),
    });
    if split.train.len() + split.test.len() < samples {
        entry["test"] = json!(mask(&split.test));
    }
    if !split.validation.is_empty() {
        entry["validation"] = json!(mask(&split.validation));
    }
    entry
}

/// Adds a run to the provenance. A shard has its own file, which `merge` joins with the folder's.
pub(super) fn add_run(
    folder: &Path,
    part: Option<String>,
    plan: &Plan,
    mut entry: Value,
) -> io::Result<()> {
    let own = folder.join(FILE);
    let Some(part) = part else {
        return append(&own, plan, entry);
    };
    entry["shard"] = json!(part);
    if !own.exists() {
        append(&own, plan, entry.clone())?;
    }
    append(&folder.join(SHARDS).join(format!("{part}.{FILE}")), plan, entry)
}

/// Fills in hashes that version 0.1 lost when it ran without the data, and writes a provenance that is missing from
/// what the ledger knows about its first finished cell.
pub(super) fn repair(folder: &Path, plan: &Plan, known: &Ledger) -> io::Result<()> {
    let path = folder.join(FILE);
    let mut provenance = read_object(&path)?;
    if provenance.is_empty() {
        let mut records = known.records();
        let Some(record) = records.find(|record| record.status == Status::Ok) else {
            return Ok(());
        };
        let entry = json!({
            "version": record.version,
            "git": record.git,
            "started": record.started,
            "machine": {"host": record.host},
            "threads": record.threads,
            "data": hashes(plan.datasets.iter().filter(|row| !row.hash.is_empty())),
        });
        return append(&path, plan, entry);
    }
    // Later versions lose no hash, and what they list describes the first run.
    if provenance.contains_key("runs") {
        return Ok(());
    }
    let computed = plan.cells.iter().filter(|cell| known.is_done(&cell.cell));
    let computed: BTreeSet<usize> = computed.map(|cell| cell.dataset).collect();
    let mut has_changed = false;
    let data = provenance.get_mut("data").and_then(Value::as_array_mut);
    for entry in data.into_iter().flatten().filter(|entry| entry["sha256"] == "") {
        let mut rows = computed.iter().map(|&index| &plan.datasets[index]);
        let row = rows.find(|row| entry["name"] == row.name.as_str() && !row.hash.is_empty());
        if let Some(row) = row {
            entry["sha256"] = json!(row.hash);
            has_changed = true;
        }
    }
    if has_changed {
        replace_json(&path, &Value::Object(provenance))?;
    }
    Ok(())
}
