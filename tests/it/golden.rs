//! Golden values of a rebuild: the same names of cells, splits and defaults, and the same weights of networks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use npsvcpp::ledger::{Ledger, Plan, Record, Status};
use npsvcpp::methods::METHODS;
use npsvcpp::{plan, spec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The published results folders.
fn published() -> Vec<PathBuf> {
    let results = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("results");
    let entries = fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.join(Plan::FILE).is_file()).collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// The name of every published cell follows from its plan, and every finished record has such a name.
#[test]
fn every_published_cell_keeps_its_name() {
    for folder in published() {
        let plan = Plan::read(&folder).unwrap();
        let cells = plan::planned_cells(&plan).unwrap();
        assert_eq!(cells, plan.cells, "{}", folder.display());
        let planned: BTreeSet<&str> = cells.iter().map(|cell| cell.cell.as_str()).collect();
        let records = Ledger::read(&folder).unwrap();
        assert!(records.warnings().is_empty(), "{:?}", records.warnings());
        for record in records.records().filter(|record| record.status == Status::Ok) {
            let name = record.cell.as_str();
            assert!(planned.contains(name), "{}: {name}", folder.display());
        }
    }
}

/// A cell's identity determines its numbers: folders that have a cell in common agree about it.
#[test]
fn published_cells_with_one_identity_have_the_same_numbers() {
    let mut known: BTreeMap<String, (PathBuf, Record)> = BTreeMap::new();
    let mut common = 0;
    for folder in published() {
        for record in Ledger::read(&folder).unwrap().into_records() {
            if record.status != Status::Ok {
                continue;
            }
            let Some((other, then)) = known.get(&record.cell) else {
                known.insert(record.cell.clone(), (folder.clone(), record));
                continue;
            };
            common += 1;
            let place = format!("{} in {} and {}", record.cell, other.display(), folder.display());
            assert_eq!(record.accuracy, then.accuracy, "{place}");
            let certificates = [&record.certificate, &then.certificate];
            let [Some(now), Some(then)] = certificates.map(Option::as_ref) else {
                panic!("{place}: a finished cell without a certificate");
            };
            // Sums in another order differ by far less.
            let rounding = 1e-9 * now.primal.abs().max(1.0);
            let slack = now.gap.abs() + then.gap.abs() + rounding;
            assert!((now.primal - then.primal).abs() <= slack, "{place}: {now:?}, {then:?}");
        }
    }
    assert!(common > 800, "{common}");
}

/// The plan, with all grid points, follows from the spec.
#[test]
fn every_published_spec_gives_its_experiment() {
    for folder in published() {
        let plan = Plan::read(&folder).unwrap();
        let loaded = spec::load(&folder.join("spec.yaml")).unwrap();
        assert_eq!(loaded.experiment, plan.experiment, "{}", folder.display());
    }
}

/// The hash of a split follows from its samples.
#[test]
fn every_published_split_keeps_its_hash() {
    for folder in published() {
        let text = fs::read(folder.join("splits.json")).unwrap();
        let splits: BTreeMap<String, Value> = serde_json::from_slice(&text).unwrap();
        for (hash, split) in &splits {
            let n = split["samples"].as_u64().unwrap() as usize;
            let samples = |part: &str| -> Option<Vec<usize>> {
                let digits: Vec<u32> = (split.get(part)?.as_str().unwrap().chars())
                    .map(|digit| digit.to_digit(16).unwrap())
                    .collect();
                let is_in = |i: &usize| digits[i / 4] >> (i % 4) & 1 == 1;
                Some((0..n).filter(is_in).collect())
            };
            let train = samples("train").unwrap();
            let rest = || (0..n).filter(|i| train.binary_search(i).is_err()).collect();
            let test: Vec<usize> = samples("test").unwrap_or_else(rest);
            let mut found = Sha256::new();
            for part in [&train, &test] {
                found.update((part.len() as u64).to_le_bytes());
                part.iter().for_each(|&i| found.update((i as u64).to_le_bytes()));
            }
            let found: String = found.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, *hash, "{} {}", folder.display(), split["dataset"]);
        }
        let plan = Plan::read(&folder).unwrap();
        for row in plan.datasets.iter().filter(|row| row.unavailable.is_none()) {
            for hash in &row.splits {
                assert!(splits.contains_key(hash), "{} {}", folder.display(), row.name);
            }
        }
    }
}

/// Names, versions and defaults of all methods, and of an experiment, as the JSON text that identities hash.
#[test]
fn defaults_keep_their_text() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/defaults.json");
    let mut found = serde_json::Map::new();
    for entry in METHODS.iter() {
        let defaults = json!({"version": entry.info.version, "params": entry.defaults});
        found.insert(entry.info.name.to_owned(), defaults);
    }
    let folder = tempfile::tempdir().unwrap();
    let smallest = folder.path().join("smallest.yaml");
    fs::write(&smallest, "name: smallest\ndatasets: [usps]\nmethods: [svm]\n").unwrap();
    let loaded = spec::load(&smallest).unwrap();
    found.insert("experiment".to_owned(), json!(loaded.experiment));
    let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
    if std::env::var_os("NPSVCPP_ACCEPT").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}
