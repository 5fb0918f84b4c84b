//! The samples of every split as CSV, for other tools.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use ndarray::Array2;
use serde_json::{Value, json};

use crate::data::{Dataset, Split};
use crate::error::Error;
use crate::ledger::{self, provenance};
use crate::plan::{PlannedDataset, Prepared};
use crate::spec::DatasetSpec;

/// Name of the file that lists datasets and splits.
pub const INDEX: &str = "index.json";

/// The training, test and validation rows of a split.
struct Parts {
    hash: String,
    rows: Vec<(usize, &'static str)>,
}

/// Writes `out/index.json` and `out/<dataset>/split-<k>.csv`. With `data`, which loads a dataset by its place in the
/// experiment before any part of it is taken, also its samples. A dataset without data takes its splits from the
/// results folder `results`. Gives the reason of each dataset that cannot be exported.
pub fn export_splits(
    prepared: &Prepared,
    results: Option<&Path>,
    out: &Path,
    data: Option<&dyn Fn(usize) -> Result<Dataset, Error>>,
) -> Result<Vec<String>, Error> {
    let known = match results {
        Some(folder) => provenance::splits(folder)?,
        None => serde_json::Map::new(),
    };
    let (mut datasets, mut reasons) = (Vec::new(), Vec::new());
    let mut folders = HashSet::new();
    for (index, row) in prepared.plan.datasets.iter().enumerate() {
        let changed = prepared.changed.rows.get(&index);
        let row = changed.unwrap_or(row);
        let parts = match &prepared.sources[index] {
            Ok(source) if changed.is_none() => {
                Ok(source.splits.iter().map(|split| parts(split, &source.dataset)).collect())
            }
            source => {
                let reason = match source {
                    Ok(_) => "the data on this machine is not the one of the results".to_owned(),
                    Err(reason) => reason.to_string(),
                };
                let spec = &prepared.plan.experiment.datasets[index];
                recorded(row, spec, &known).ok_or(reason.clone()).and_then(|parts| match data {
                    Some(_) => Err(reason),
                    None => Ok(parts),
                })
            }
        };
        let parts: Vec<Parts> = match parts {
            Ok(parts) => parts,
            Err(reason) => {
                reasons.push(format!("`{}` cannot be exported: {reason}", row.name));
                continue;
            }
        };
        let name = folder_name(&row.name, &mut folders);
        let folder = out.join(&name);
        fs::create_dir_all(&folder).map_err(Error::cannot("write", &folder))?;
        if let Some(load) = data {
            write_data(&folder, &load(index)?)?;
        }
        datasets.push(write_dataset(&folder, &name, row, &parts)?);
    }
    let experiment = &prepared.plan.experiment;
    let index = json!({"name": experiment.name, "seed": experiment.seed, "datasets": datasets});
    ledger::replace_json(&out.join(INDEX), &index)?;
    Ok(reasons)
}

/// Writes the splits of a dataset; its entry in the index.
fn write_dataset(
    folder: &Path,
    name: &str,
    row: &PlannedDataset,
    parts: &[Parts],
) -> Result<Value, Error> {
    let mut splits = Vec::new();
    for (number, split) in parts.iter().enumerate() {
        let file = format!("split-{number}.csv");
        let lines = split.rows.iter().map(|(row, part)| format!("{row},{part}\n"));
        let text = "row,part\n".to_owned() + &lines.collect::<String>();
        ledger::replace(&folder.join(&file), text.as_bytes())?;
        splits.push(json!({"split": number, "file": format!("{name}/{file}"), "hash": split.hash}));
    }
    Ok(json!({
        "name": row.name,
        "folder": name,
        "hash": row.hash,
        "n": row.samples,
        "features": row.dims,
        "classes": row.classes,
        "splits": splits,
    }))
}

/// The rows of a split, as they are numbered in the data before a part of it was taken.
fn parts(split: &Split, dataset: &Dataset) -> Parts {
    let row = |index: usize| dataset.rows.as_ref().map_or(index, |rows| rows[index]);
    let named = [("train", &split.train), ("test", &split.test), ("valid", &split.validation)];
    let rows = named
        .into_iter()
        .flat_map(|(part, indices)| indices.iter().map(move |&index| (row(index), part)));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    Parts { hash: split.hash.clone(), rows }
}

/// The splits of a dataset as a results folder recorded them; `None` if it lacks one, or if they are those of a part,
/// whose rows only the data tells.
fn recorded(
    row: &PlannedDataset,
    spec: &DatasetSpec,
    known: &serde_json::Map<String, Value>,
) -> Option<Vec<Parts>> {
    let part = match spec {
        DatasetSpec::Registered { options, .. } => options.subsample,
        DatasetSpec::Files(files) => files.subsample,
    };
    if part.is_some() || row.hash.is_empty() {
        return None;
    }
    let of = |hash: &String| {
        let entry = known.get(hash)?;
        let samples = usize::try_from(entry["samples"].as_u64()?).ok()?;
        let mask = |part: &str| mask(entry[part].as_str());
        let (train, test, valid) = (mask("train")?, mask("test"), mask("validation"));
        let has = |mask: &Option<Vec<u8>>, row: usize| {
            mask.as_ref().is_some_and(|mask| is_set(mask, row))
        };
        let part = |row: usize| match is_set(&train, row) {
            true => Some("train"),
            false if has(&valid, row) => Some("valid"),
            // Without a mask, all others are test samples.
            false => (test.is_none() || has(&test, row)).then_some("test"),
        };
        let rows = (0..samples).filter_map(|row| Some((row, part(row)?))).collect();
        Some(Parts { hash: hash.clone(), rows })
    };
    row.splits.iter().map(of).collect()
}

/// The digits of a mask.
fn mask(digits: Option<&str>) -> Option<Vec<u8>> {
    digits?.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect()
}

/// Bit `row % 4` of digit `row / 4`.
fn is_set(mask: &[u8], row: usize) -> bool {
    mask.get(row / 4).is_some_and(|digit| digit >> (row % 4) & 1 == 1)
}

/// The name of a dataset as that of a folder, other than those that are taken.
fn folder_name(name: &str, taken: &mut HashSet<String>) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain: String = name.chars().map(|c| if safe(c) { c } else { '-' }).collect();
    let plain = format!("{}{plain}", if plain.starts_with('.') { "_" } else { "" });
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    // Some file systems do not distinguish upper and lower case.
    names.find(|name| taken.insert(name.to_lowercase())).unwrap_or(plain)
}

fn write_data(folder: &Path, dataset: &Dataset) -> Result<(), Error> {
    let x: &Array2<f64> = &dataset.x;
    let values = x.iter().flat_map(|value| value.to_le_bytes());
    ledger::replace(&folder.join("x.npy"), &npy("<f8", x.shape(), values))?;
    let classes = dataset.y.iter().flat_map(|&class| (class as i64).to_le_bytes());
    ledger::replace(&folder.join("y.npy"), &npy("<i8", &[dataset.y.len()], classes))
}

/// A file of NumPy, version 1.0: the header, filled with spaces to a multiple of 64 bytes, and the values.
fn npy(descr: &str, shape: &[usize], values: impl Iterator<Item = u8>) -> Vec<u8> {
    let shape: String = shape.iter().map(|length| format!("{length}, ")).collect();
    let mut header = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}",
        shape.trim_end()
    );
    let filled = (10 + header.len() + 1).next_multiple_of(64) - 11;
    header = format!("{header:<filled$}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(values);
    file
}
