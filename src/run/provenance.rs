//! `provenance.json`, `spec.yaml` and `splits.json`: how to repeat a run.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::cell::Circumstances;
use super::host;
use super::prepare::Prepared;
use crate::ledger::{self, SHARDS, replace_json};

/// Writes where the numbers of a folder come from; a shard's part of it lies beside its ledger.
pub(super) fn write(
    folder: &Path,
    part: Option<&str>,
    prepared: &Prepared,
    circumstances: &Circumstances,
    jobs: usize,
) -> io::Result<()> {
    let plan = &prepared.plan;
    let data: Vec<Value> = plan
        .datasets
        .iter()
        .map(|dataset| json!({"name": dataset.name, "sha256": dataset.hash}))
        .collect();
    let provenance = json!({
        "program": "npsvcpp",
        "version": circumstances.version,
        "git": circumstances.git,
        "experiment": plan.experiment.name,
        "seed": plan.experiment.seed,
        "last_started": humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        "machine": {
            "host": circumstances.host,
            "processor": host::processor(),
            "cores": host::cores(),
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
        },
        "jobs": jobs,
        "threads": circumstances.threads,
        "data": data,
    });
    // The spec as it was read: its file may change during the run, and a pipe is read only once.
    ledger::replace(&folder.join("spec.yaml"), prepared.spec.as_bytes())?;
    let own = folder.join("provenance.json");
    match part {
        Some(part) => {
            let path = folder.join(SHARDS).join(format!("{part}.provenance.json"));
            replace_json(&path, &provenance)?;
            // The folder's own is the first shard's, until a run of the whole replaces it.
            if !own.exists() {
                replace_json(&own, &provenance)?;
            }
        }
        None => replace_json(&own, &provenance)?,
    }
    replace_json(&folder.join("splits.json"), &splits(prepared))
}

/// The training samples of every split under the split's hash, as a bit mask in hexadecimal: bit
/// `i % 4` of digit `i / 4` stands for sample `i`.
fn splits(prepared: &Prepared) -> Value {
    let mut all = serde_json::Map::new();
    for source in prepared.sources.iter().flatten() {
        for (number, split) in source.splits.iter().enumerate() {
            let mut digits = vec![0_u8; source.dataset.y.len().div_ceil(4)];
            for &i in &split.train {
                digits[i / 4] |= 1 << (i % 4);
            }
            let mask: String = digits.iter().map(|digit| format!("{digit:x}")).collect();
            let entry = json!({
                "dataset": source.dataset.name,
                "split": number,
                "samples": source.dataset.y.len(),
                "train": mask,
            });
            all.insert(split.hash.clone(), entry);
        }
    }
    Value::Object(all)
}
