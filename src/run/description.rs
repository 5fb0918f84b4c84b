//! `plan.json`, `spec.yaml` and `splits.json`: what a results folder is computed from.
//!
//! Plan and splits follow the spec and never shrink because a run is narrower than the spec or lacks data.

use std::path::Path;

use serde_json::{Value, json};

use crate::data::Split;
use crate::error::Error;
use crate::ledger::provenance::{self, SPEC, SPLITS};
use crate::ledger::{self, Plan};
use crate::plan::{Kept, Prepared, Source};

/// Writes the plan that shows `kept` in place of what is to be run, with its spec and splits. Gives the plan that was there
/// and the one that is there now.
///
/// Shards do this at the same time: what another one has switched is no longer kept, and a row that only another one
/// knows stays. The plan is written last, so that the next run does all of it again if this one is killed.
pub(super) fn write_plan(
    folder: &Path,
    prepared: &Prepared,
    kept: &mut Kept,
) -> Result<(Option<Plan>, Plan), Error> {
    let _lock = ledger::lock(folder);
    // A plan that cannot be read is replaced.
    let former = Plan::read(folder).ok();
    if let Some(former) = &former {
        kept.retain_shown(former, prepared);
    }
    let mut plan = prepared.plan_with(kept);
    if let Some(former) = &former {
        plan.learn_from(former);
        plan.remember(former);
    }
    let is_same = former.as_ref().is_some_and(|former| former.describes(&plan));
    // The spec as it was read: its file may change during the run, and a pipe is read only once. Other comments do not
    // replace it.
    let path = folder.join(SPEC);
    if !is_same || !path.exists() {
        ledger::replace(&path, prepared.spec.as_bytes())?;
    }
    grow_splits(folder, prepared, &plan)?;
    if !is_same {
        plan.write(folder)?;
    }
    Ok((former, plan))
}

/// Writes the plan of a results folder before its first run; numbers of data and methods that changed stay as they are.
pub fn describe(folder: &Path, prepared: &Prepared) -> Result<(), Error> {
    write_plan(folder, prepared, &mut prepared.changed.clone())?;
    Ok(())
}

/// Adds the splits of the plan that `splits.json` lacks.
fn grow_splits(folder: &Path, prepared: &Prepared, plan: &Plan) -> Result<(), Error> {
    provenance::update(&folder.join(SPLITS), |splits| {
        let mut known = std::mem::take(splits);
        for (row, source) in plan.datasets.iter().zip(&prepared.sources) {
            for (number, hash) in row.splits.iter().enumerate() {
                let entry = known.remove(hash).or_else(|| {
                    let source = source.as_ref().ok()?;
                    let split = source.splits.get(number).filter(|split| split.hash == *hash)?;
                    Some(split_entry(source, number, split))
                });
                splits.extend(entry.map(|entry| (hash.clone(), entry)));
            }
        }
        splits.extend(known);
    })
}

/// The splits of this machine's data that `splits.json` of a results folder lacks or describes in another way: dataset
/// and number.
pub fn wrong_splits<'a>(
    folder: &Path,
    prepared: &'a Prepared,
) -> Result<Vec<(&'a str, usize)>, Error> {
    let known = provenance::read_object(&folder.join(SPLITS))?;
    let mut wrong = Vec::new();
    for (row, source) in prepared.plan.datasets.iter().zip(&prepared.sources) {
        let Ok(source) = source else { continue };
        for (number, split) in source.splits.iter().enumerate() {
            if known.get(&split.hash) != Some(&split_entry(source, number, split)) {
                wrong.push((row.name.as_str(), number));
            }
        }
    }
    Ok(wrong)
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
