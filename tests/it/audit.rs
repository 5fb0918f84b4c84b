//! Promise: `audit` tells an honest results folder from one that was edited, and writes nothing into it.

use std::fs;
use std::path::PathBuf;

use crate::program::{Ended, Folder};
use crate::rendered::{assert_same, files};
use crate::tiny;
use npsvcpp::analyse::sha256;
use npsvcpp::{ledger, render};
use serde_json::{Value, json};

/// Two datasets, three splits, two methods with fixed parameters and one that is tuned: 18 cells.
const SPEC: &str = "\
name: tiny
datasets:
  - files: {name: one, train: one.csv}
  - files: {name: two, train: two.csv}
splits: {repeats: 3, stratified: true}
methods: [lstwsvm, gepsvm, twsvm: {c: [0.5, 1, 2]}]
select: {folds: 2}
compare: {against: lstwsvm}
";

/// A folder in which the spec was run with `--out out`, one job after the other, so that the order of the records is
/// that of the plan.
fn finished() -> Folder {
    let folder = tiny::folder(3);
    folder.write("tiny.yaml", SPEC);
    run(&folder, "run tiny.yaml --offline -q --jobs 1 --out out");
    folder
}

fn run(folder: &Folder, arguments: &str) {
    let ended = folder.run(arguments);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
}

/// Audits all cells.
fn audit(folder: &Folder) -> Ended {
    folder.run("audit out --all --offline -q")
}

/// The lines of an audit that say what disagrees.
fn disagreements(ended: &Ended) -> Vec<&str> {
    ended.out.lines().filter_map(|line| line.strip_prefix("disagrees: ")).collect()
}

/// An audit says in one sentence with all these words what disagrees.
fn assert_found(folder: &Folder, words: &[&str]) {
    let ended = audit(folder);
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    let found = disagreements(&ended);
    let has_all = |sentence: &&str| words.iter().all(|word| sentence.contains(word));
    assert!(found.iter().any(has_all), "{words:?}: {found:?}");
}

fn read(path: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn records(folder: &Folder) -> Vec<Value> {
    let text = fs::read_to_string(folder.path("out/ledger.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes the ledger as a careful forger does: without checksums, and with tables that follow from it.
fn forge(folder: &Folder, mut records: Vec<Value>) {
    for record in &mut records {
        record.as_object_mut().unwrap().remove("crc");
    }
    let lines = records.iter().map(|record| format!("{record}\n"));
    folder.write("out/ledger.jsonl", lines.collect::<String>());
    run(folder, "render out -q");
}

/// Changes a file, and its hash in the list of outputs.
fn replace(folder: &Folder, name: &str, change: impl Fn(String) -> String) {
    let path = folder.path("out").join(name);
    let text = fs::read_to_string(&path).unwrap();
    let changed = change(text.clone());
    assert_ne!(text, changed);
    fs::write(&path, &changed).unwrap();
    relist(folder, |list| list["files"][name] = json!(sha256(changed.as_bytes())));
}

fn relist(folder: &Folder, change: impl FnOnce(&mut Value)) {
    let mut list = read(folder.path("out/outputs.json"));
    change(&mut list);
    folder.write("out/outputs.json", list.to_string());
}

#[test]
fn an_honest_folder_passes_and_is_left_alone() {
    let folder = finished();
    let before = files(&folder.path("out"));
    let ended = audit(&folder);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert_eq!(ended.err, "");
    assert_same(&files(&folder.path("out")), &before, "audit");
    let count = |words: &str| ended.out.matches(words).count();
    // Lines are cut at 80 columns, so a verdict may take two.
    assert_eq!((count("repeated"), count("recorded choice")), (2, 4), "{}", ended.out);
    assert!(ended.out.contains("18 refitted cells and "), "{}", ended.out);
    assert!(ended.out.ends_with("agree, nothing disagrees in out\n"), "{}", ended.out);
    let widest = ended.out.lines().filter(|line| line.starts_with('│'));
    assert!(widest.map(|line| line.chars().count()).max().unwrap() <= 80);
}

#[test]
fn a_sample_follows_from_its_seed() {
    let folder = finished();
    let table = |options: &str| {
        let ended = folder.run(&format!("audit out --offline {options}"));
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        ended.out
    };
    let first = table("--sample 4 -q");
    assert!(first.contains("4 refitted cells and "), "{first}");
    assert_eq!(first, table("--sample 4 --seed 1 --threads 1"));
    assert_ne!(first, table("--sample 4 --seed 2"));
    assert!(table("").contains("10 refitted cells and "));
}

#[test]
fn an_edited_accuracy_is_found() {
    let folder = finished();
    let mut records = records(&folder);
    let record = &mut records[4];
    let one = 100.0 / record["n_test"].as_f64().unwrap();
    let was = record["accuracy"].as_f64().unwrap();
    record["accuracy"] = json!(if was > 50.0 { was - one } else { was + one });
    let place = format!("{}, split {}", record["dataset"].as_str().unwrap(), record["split"]);
    forge(&folder, records);
    assert_found(&folder, &[&place, "accuracy"]);
}

#[test]
fn an_edited_objective_and_an_edited_choice_are_found() {
    let folder = finished();
    let mut edited = records(&folder);
    let objective = edited[0]["certificate"]["primal"].as_f64().unwrap();
    edited[0]["certificate"]["primal"] = json!(objective * 1.01);
    let tuned = edited.iter_mut().find(|record| record["method"] == "twsvm").unwrap();
    let chosen = tuned["selection"]["chosen"].as_u64().unwrap();
    tuned["selection"]["chosen"] = json!((chosen + 1) % 3);
    forge(&folder, edited);
    assert_found(&folder, &["objective"]);
    assert_found(&folder, &["chosen"]);
}

#[test]
fn swapped_labels_and_methods_are_found() {
    for key in ["label", "method"] {
        let folder = finished();
        let mut records = records(&folder);
        assert_ne!(records[0][key], records[1][key]);
        let first = records[0][key].clone();
        records[0][key] = records[1][key].clone();
        records[1][key] = first;
        forge(&folder, records);
        assert_found(&folder, &[key]);
    }
}

#[test]
fn a_cell_from_another_seed_is_found() {
    let folder = finished();
    folder.write("other.yaml", format!("{SPEC}seed: 12\n"));
    run(&folder, "run other.yaml --offline -q --out other");
    let mut records = records(&folder);
    let other = folder.path("other/ledger.jsonl");
    let line = fs::read_to_string(other).unwrap().lines().next().unwrap().to_owned();
    let mut stranger: Value = serde_json::from_str(&line).unwrap();
    let own = records.iter_mut().find(|record| {
        ["dataset", "method", "split"].iter().all(|key| record[*key] == stranger[*key])
    });
    let own = own.unwrap();
    stranger["cell"] = own["cell"].clone();
    *own = stranger;
    forge(&folder, records);
    assert_found(&folder, &["split_hash"]);
}

#[test]
fn a_plan_that_its_cells_do_not_follow_from_is_found() {
    let folder = finished();
    let mut plan = read(folder.path("out/plan.json"));
    plan["experiment"]["seed"] = json!(12);
    folder.write("out/plan.json", plan.to_string());
    run(&folder, "render out -q");
    assert_found(&folder, &["one", "split_hash"]);
    plan["experiment"]["seed"] = json!(2024);
    plan["experiment"]["jitter"] = json!(1e-3);
    folder.write("out/plan.json", plan.to_string());
    run(&folder, "render out -q");
    assert_found(&folder, &["one, 9 cells", "identity", "plan.json"]);
}

#[test]
fn other_splits_and_another_spec_are_found() {
    let folder = finished();
    let mut splits = read(folder.path("out/splits.json"));
    let (_, first) = splits.as_object_mut().unwrap().iter_mut().next().unwrap();
    first["train"] = json!("0".repeat(first["train"].as_str().unwrap().len()));
    folder.write("out/splits.json", splits.to_string());
    assert_found(&folder, &["splits.json", "one, split 0"]);
    folder.write("out/spec.yaml", format!("{SPEC}seed: 12\n"));
    run(&folder, "render out -q");
    assert_found(&folder, &["spec.yaml", "plan.json"]);
}

#[test]
fn a_file_edited_by_hand_is_found() {
    for name in ["table.csv", "table.md", "figures/accuracy.csv", "report.html"] {
        let folder = finished();
        let edit = |text: String| {
            let at = text.rfind(|c: char| c.is_ascii_digit()).unwrap();
            let other = if &text[at..=at] == "7" { "6" } else { "7" };
            format!("{}{other}{}", &text[..at], &text[at + 1..])
        };
        let path = folder.path("out").join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, edit(text.clone())).unwrap();
        assert_found(&folder, &[name, "changed"]);
        fs::write(&path, text).unwrap();
        replace(&folder, name, edit);
        assert_found(&folder, &[name, "does not follow"]);
    }
}

#[test]
fn missing_and_outdated_files_are_found() {
    let folder = finished();
    fs::remove_file(folder.path("out/table.tex")).unwrap();
    assert_found(&folder, &["table.tex", "missing"]);
    run(&folder, "render out -q");
    relist(&folder, |list| list["sources"]["ledger"] = json!("0".repeat(64)));
    assert_found(&folder, &["outputs.json", "ledger"]);
}

#[test]
fn files_of_another_version_are_compared_by_their_numbers() {
    let folder = finished();
    relist(&folder, |list| list["format"] = json!(render::FORMAT - 1));
    replace(&folder, "table.md", |text| text.replace("## ", "### "));
    let ended = audit(&folder);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let accuracy = |text: &str| {
        let table = text.lines().find(|line| line.starts_with("one,")).unwrap().to_owned();
        table.split(',').find(|cell| cell.contains('.')).unwrap().to_owned()
    };
    let csv = fs::read_to_string(folder.path("out/table.csv")).unwrap();
    let number = accuracy(&csv);
    replace(&folder, "table.csv", |text| text.replacen(&number, "12.3456789", 1));
    assert_found(&folder, &["table.csv", "12.3456789"]);
    replace(&folder, "table.md", |text| text + "\nThe mean is 12.3456789.\n");
    assert_found(&folder, &["table.md", "12.3456789"]);
}

#[test]
fn lines_that_the_ledger_sets_aside_are_reported() {
    let folder = finished();
    let path = folder.path("out").join(ledger::FILE);
    let mut text = fs::read_to_string(&path).unwrap();
    text.insert_str(0, "{\"cell\": 7}\n");
    fs::write(&path, text).unwrap();
    run(&folder, "render out -q");
    assert_found(&folder, &["ledger.jsonl:1", "skipped"]);
}

#[test]
fn cells_of_absent_data_are_not_checked() {
    let folder = finished();
    fs::remove_file(folder.path("one.csv")).unwrap();
    let ended = audit(&folder);
    assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("not checked: 9 cells of one: "), "{}", ended.out);
    assert!(ended.out.contains("one.csv"), "{}", ended.out);
    assert!(ended.out.contains("9 refitted cells and "), "{}", ended.out);
}

#[test]
fn other_data_disagrees() {
    let folder = finished();
    folder.write("one.csv", tiny::clouds(26));
    assert_found(&folder, &["one, 9 cells", "data_hash"]);
}

#[test]
fn cells_that_take_long_are_included_by_all() {
    let folder = tiny::folder(1);
    let spec = tiny::spec(1)
        .replace("  - gepsvm\n", "  - k-npsvcpp: {d: 1, max_iter: 4000000000, tolerance: 0.9}\n");
    folder.write("tiny.yaml", spec);
    run(&folder, "run tiny.yaml --offline -q --out out");
    let ended = folder.run("audit out --offline -q");
    assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("not checked: 1 cell of K-NPSVC++ on one: "), "{}", ended.out);
    assert!(ended.out.contains("--all includes it"), "{}", ended.out);
    assert_eq!(audit(&folder).code, 0);
}

#[test]
fn a_wrong_folder_or_option_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("empty")).unwrap();
    folder.write("damaged/plan.json", "{");
    for (arguments, words) in [
        ("audit nowhere", "there is no folder nowhere"),
        ("audit empty", "has no plan.json"),
        ("audit damaged", "cannot read"),
        ("audit empty --sample few", "invalid value 'few'"),
        ("audit empty --sample 3 --all", "cannot be used with"),
        ("audit", "required"),
    ] {
        let ended = folder.run(arguments);
        assert_eq!(ended.code, 2, "{arguments}: {}", ended.err);
        assert!(ended.err.contains(words), "{arguments}: {}", ended.err);
    }
}
