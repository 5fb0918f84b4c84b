//! Promise: a number depends on the seed, the data, the split and the method's own parameters, and on
//! nothing else: not on jobs or threads, not on the other methods, not on their order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::program::Folder;
use npsvcpp::ledger::{Ledger, Record};
use npsvcpp::methods::METHODS;
use serde_json::Value;

/// Methods with parameters that matter here: another scheme, a limit of iterations, tuned ones.
const SPECIAL: [&str; 4] = [
    "twsvm: {label: rvo, scheme: rvo}",
    "rmtbsvm: {label: limited, max_iter: 3}",
    "lstwsvm: {label: tuned, c: [0.5, 8], r: [0.01, 1]}",
    "k-npsvcpp: {label: tuned too, scheme: rvo, c: [1, 50, 100], gamma: [0.1, 4], r1: [0.05, 0.5]}",
];

/// All kernel methods with their defaults, and the special ones.
fn methods() -> Vec<&'static str> {
    let kernel_methods = METHODS.iter().filter(|entry| !entry.is_network);
    kernel_methods.map(|entry| entry.info.name).chain(SPECIAL).collect()
}

fn spec(datasets: &[&str], methods: &[&str]) -> String {
    let list =
        |items: &[&str]| items.iter().map(|item| format!("  - {item}\n")).collect::<String>();
    format!(
        "name: same\nseed: 11\ndatasets:\n{}splits: {{repeats: 3}}\nselect: {{folds: 2}}\nmethods:\n{}",
        list(datasets),
        list(methods)
    )
}

const DIGITS: &str = "optdigits: {subsample: 150}";

/// Runs `spec` into `out`.
fn run(folder: &Folder, out: &str, spec: &str, options: &str) {
    folder.write("spec.yaml", spec);
    let ended = folder.run(&format!("run spec.yaml --offline -q --out {out} {options}"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
}

fn records(folder: &Folder, out: &str) -> BTreeMap<String, Record> {
    let read = Ledger::read(&folder.path(out)).unwrap();
    assert_eq!(read.warnings(), [""; 0]);
    read.into_records().into_iter().map(|record| (record.cell.clone(), record)).collect()
}

const TIMES: [&str; 3] = ["peak_mb", "started", "threads"];

/// A record without what may differ from run to run: times, memory and the place among the others.
fn essence(record: &Record) -> Value {
    let mut value = serde_json::to_value(record).unwrap();
    let fields = value.as_object_mut().unwrap();
    fields.retain(|name, _| !(name.ends_with("_seconds") || TIMES.contains(&name.as_str())));
    if let Some(selection) = fields.get_mut("selection").and_then(Value::as_object_mut) {
        selection.remove("seconds");
    }
    value
}

fn essences(folder: &Folder, out: &str) -> BTreeMap<String, Value> {
    let records = records(folder, out);
    records.iter().map(|(cell, record)| (cell.clone(), essence(record))).collect()
}

fn text(folder: &Folder, out: &str, file: &str) -> String {
    fs::read_to_string(folder.path(out).join(file)).unwrap()
}

#[test]
fn jobs_and_threads_change_nothing() {
    let folder = Folder::new();
    let spec = spec(&[DIGITS], &methods());
    run(&folder, "one", &spec, "--jobs 1 --threads 1");
    run(&folder, "jobs", &spec, "--jobs 2 --threads 1");
    run(&folder, "threads", &spec, "--jobs 1 --threads 2");
    run(&folder, "both", &spec, "--jobs 2 --threads 2");
    assert_eq!(essences(&folder, "one").len(), 3 * methods().len());
    assert_eq!(essences(&folder, "one"), essences(&folder, "jobs"));
    // Threads may sum in another order, so certificates agree up to rounding only.
    let accuracies = |out: &str| -> BTreeMap<String, (Option<f64>, Option<f64>, Value)> {
        let records = records(&folder, out).into_iter();
        records.map(|(cell, r)| (cell, (r.accuracy, r.balanced_accuracy, r.params))).collect()
    };
    assert_eq!(accuracies("one"), accuracies("threads"));
    assert_eq!(accuracies("one"), accuracies("both"));
    for out in ["jobs", "threads", "both"] {
        for file in ["table.csv", "table.md", "table.tex", "splits.json"] {
            assert_eq!(text(&folder, "one", file), text(&folder, out, file), "{out} {file}");
        }
    }
}

#[test]
fn splits_do_not_depend_on_the_methods_or_on_other_datasets() {
    let folder = Folder::new();
    run(&folder, "svm", &spec(&[DIGITS], &["svm"]), "");
    run(&folder, "others", &spec(&[DIGITS], &["twsvm", "npsvm"]), "");
    run(&folder, "more", &spec(&["pendigits: {subsample: 60}", DIGITS], &["svm", "twsvm"]), "");
    let splits = text(&folder, "svm", "splits.json");
    assert_eq!(splits, text(&folder, "others", "splits.json"));
    let parse = |text: &str| -> BTreeMap<String, Value> { serde_json::from_str(text).unwrap() };
    let (own, more) = (parse(&splits), parse(&text(&folder, "more", "splits.json")));
    assert_eq!((own.len(), more.len()), (3, 6));
    for (hash, split) in &own {
        assert_eq!(more.get(hash), Some(split));
    }
    // Every record names its split by the hash under which its samples are kept.
    for (cell, record) in records(&folder, "others") {
        let hash = record.split_hash.unwrap();
        let kept = &own[&hash];
        assert_eq!(kept["split"], record.split, "{cell}");
        let mask = kept["train"].as_str().unwrap();
        let ones: u32 = mask.chars().map(|digit| digit.to_digit(16).unwrap().count_ones()).sum();
        assert_eq!(ones as usize, record.n_train);
        assert_eq!(kept["samples"], record.n_train + record.n_test);
    }
    let distinct: BTreeSet<_> = own.values().map(|split| split["train"].to_string()).collect();
    assert_eq!(distinct.len(), 3, "three splits, not one three times");
}

#[test]
fn a_methods_numbers_do_not_depend_on_the_other_methods() {
    let folder = Folder::new();
    run(&folder, "all", &spec(&[DIGITS], &methods()), "");
    let all = essences(&folder, "all");
    for (number, method) in methods().into_iter().enumerate() {
        let out = format!("alone-{number}");
        run(&folder, &out, &spec(&[DIGITS], &[method]), "");
        let alone = essences(&folder, &out);
        assert_eq!(alone.len(), 3);
        for (cell, record) in alone {
            assert_eq!(all.get(&cell), Some(&record), "{method}");
        }
    }
}

#[test]
fn the_order_of_methods_does_not_matter() {
    let folder = Folder::new();
    let mut backwards = methods();
    backwards.reverse();
    run(&folder, "forwards", &spec(&[DIGITS], &methods()), "");
    run(&folder, "backwards", &spec(&[DIGITS], &backwards), "");
    assert_eq!(essences(&folder, "forwards"), essences(&folder, "backwards"));
    let rows = |out: &str| -> BTreeSet<String> {
        text(&folder, out, "table.csv").lines().map(str::to_owned).collect()
    };
    assert_eq!(rows("forwards"), rows("backwards"));
    let labels = |out: &str| -> Vec<String> {
        let csv = text(&folder, out, "table.csv");
        csv.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().to_owned()).collect()
    };
    let mut reversed = labels("backwards");
    reversed.reverse();
    assert_eq!(labels("forwards"), reversed, "columns are in the spec's order");
}

#[test]
fn another_seed_gives_other_splits() {
    let folder = Folder::new();
    let first = spec(&[DIGITS], &["svm"]);
    run(&folder, "first", &first, "");
    run(&folder, "second", &first.replace("seed: 11", "seed: 12"), "");
    assert_ne!(text(&folder, "first", "splits.json"), text(&folder, "second", "splits.json"));
    let cells = |out: &str| -> BTreeSet<String> { records(&folder, out).into_keys().collect() };
    assert!(cells("first").is_disjoint(&cells("second")));
}
