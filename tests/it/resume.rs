//! Promise: after any interruption of a run, running the same command again completes it, and the tables are
//! those of a run nothing stopped.

use std::collections::BTreeMap;
use std::fs;

use crate::program::Folder;
use npsvcpp::ledger::{self, Record, Status};

const TABLES: [&str; 3] = ["table.md", "table.tex", "table.csv"];

const SMALL: &str = "\
name: small
datasets:
  - optdigits: {subsample: 100}
splits: {repeats: 2}
methods:
  - svm
  - lstwsvm: {c: 2}
  - gepsvm
";

fn small() -> Folder {
    let folder = Folder::new();
    folder.write("small.yaml", SMALL);
    folder
}

fn ledger_bytes(folder: &Folder, out: &str) -> Vec<u8> {
    fs::read(folder.path(out).join(ledger::FILE)).unwrap_or_default()
}

fn lines(folder: &Folder, out: &str) -> usize {
    let bytes = ledger_bytes(folder, out);
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

fn records(folder: &Folder, out: &str) -> Vec<Record> {
    folder.records(out)
}

fn tables(folder: &Folder, out: &str) -> [String; 3] {
    TABLES.map(|file| fs::read_to_string(folder.path(out).join(file)).unwrap())
}

/// How often each cell is in the ledger.
fn counts(folder: &Folder, out: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in records(folder, out) {
        *counts.entry(record.cell).or_default() += 1;
    }
    counts
}

fn assert_each_cell_once(folder: &Folder, out: &str, cells: usize) {
    let counts = counts(folder, out);
    assert_eq!(counts.len(), cells);
    assert!(counts.values().all(|&count| count == 1), "{counts:?}");
}

#[test]
fn running_again_fits_nothing() {
    let folder = small();
    assert_eq!(folder.run("run small.yaml --offline").code, 0);
    let before = ledger_bytes(&folder, "results/small");
    let tables_before = tables(&folder, "results/small");
    let again = folder.run("run small.yaml --offline");
    assert_eq!(again.code, 0);
    assert!(again.err.contains("6 of 6 cells are done, 0 to run"), "{}", again.err);
    assert_eq!(ledger_bytes(&folder, "results/small"), before);
    assert_eq!(tables(&folder, "results/small"), tables_before);
    assert_each_cell_once(&folder, "results/small", 6);
}

#[test]
fn cells_of_another_experiment_are_taken_over_under_the_new_names() {
    let folder = small();
    assert_eq!(folder.run("run small.yaml --offline").code, 0);
    let other = SMALL
        .replace("name: small", "name: other")
        .replace("- svm", "- svm: {label: Machine}\n  - twsvm");
    folder.write("other.yaml", other);
    let run = folder.run("run other.yaml --offline --reuse results/small");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("6 cells reused from results/small"), "{}", run.err);
    assert!(run.err.contains("6 of 8 cells are done, 2 to run"), "{}", run.err);
    assert_each_cell_once(&folder, "results/other", 8);
    let taken = records(&folder, "results/other");
    assert!(taken.iter().all(|record| record.experiment == "other"));
    assert_eq!(taken.iter().filter(|record| record.label == "Machine").count(), 2);
    // By itself it comes to the same table.
    assert_eq!(folder.run("run other.yaml --offline --out alone").code, 0);
    assert_eq!(tables(&folder, "alone")[2], tables(&folder, "results/other")[2]);

    let again = folder.run("run other.yaml --offline --reuse results/small");
    assert!(again.err.contains("0 cells reused"), "{}", again.err);
    let nothing = folder.run("run other.yaml --offline --reuse nowhere");
    assert_eq!(nothing.code, 2);
    let said = "--reuse nowhere: ledger.jsonl is missing, expected a results folder";
    assert!(nothing.err.contains(said), "{}", nothing.err);
}

/// An impossible number is not a result: it is not shown, and its cell is not done.
#[test]
fn a_record_with_an_impossible_value_is_passed_over_and_its_cell_run_again() {
    let folder = small();
    assert_eq!(folder.run("run small.yaml --offline").code, 0);
    let whole = tables(&folder, "results/small");
    let ledger = String::from_utf8(ledger_bytes(&folder, "results/small")).unwrap();
    let (before, after) = ledger.split_once("\"accuracy\":").unwrap();
    let (_, rest) = after.split_once(',').unwrap();
    for (value, said) in [
        ("150", "ledger.jsonl:1: skipped a record whose `accuracy` is 150, expected a percentage"),
        (
            "-1.5",
            "ledger.jsonl:1: skipped a record whose `accuracy` is -1.5, expected a percentage",
        ),
        ("NaN", "ledger.jsonl:1: skipped a line that is not a ledger record (expected value)"),
    ] {
        let damaged = format!("{before}\"accuracy\":{value},{rest}");
        folder.write("results/small/ledger.jsonl", damaged);
        let render = folder.run("render results/small");
        assert!(render.err.contains(said), "{}", render.err);
        assert!(!tables(&folder, "results/small")[0].contains(value));
        let again = folder.run("run small.yaml --offline");
        assert_eq!(again.code, 0, "{}", again.err);
        assert_eq!(tables(&folder, "results/small"), whole);
    }
}

#[test]
fn a_torn_last_line_is_passed_over_and_its_cell_run_again() {
    let folder = small();
    assert_eq!(folder.run("run small.yaml --offline").code, 0);
    let whole = tables(&folder, "results/small");
    let mut torn = ledger_bytes(&folder, "results/small");
    torn.truncate(torn.len() - 60);
    folder.write("results/small/ledger.jsonl", &torn);

    let status = folder.run("status results/small");
    assert_eq!(status.code, 3);
    let said = "ledger.jsonl:6: skipped a line that is not a ledger record: it breaks off\n";
    assert!(status.err.contains(said), "{}", status.err);
    assert!(status.out.contains("5 of 6 cells done"), "{}", status.out);
    let render = folder.run("render results/small");
    assert!(render.err.contains(said), "{}", render.err);
    assert!(tables(&folder, "results/small")[0].contains("run again to replace what was lost"));

    let again = folder.run("run small.yaml --offline");
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(!again.err.contains("skipped"), "{}", again.err);
    assert!(again.err.contains("5 of 6 cells are done, 1 to run"), "{}", again.err);
    assert!(ledger_bytes(&folder, "results/small").starts_with(&torn), "nothing is rewritten");
    assert_each_cell_once(&folder, "results/small", 6);
    // The gap is filled, so there is nothing left to say about it.
    assert_eq!(tables(&folder, "results/small"), whole);
}

#[test]
fn lines_that_are_no_records_harm_no_others() {
    let folder = small();
    assert_eq!(folder.run("run small.yaml --offline --only split=0").code, 0);
    let mut bytes = b"\n{\"cell\": 3}\n\xff\xfe\n[]\n".to_vec();
    bytes.extend(ledger_bytes(&folder, "results/small"));
    folder.write("results/small/ledger.jsonl", bytes);
    let again = folder.run("run small.yaml --offline");
    assert_eq!(again.code, 0, "{}", again.err);
    for line in 2..=4 {
        assert!(again.err.contains(&format!("ledger.jsonl:{line}: skipped")), "{}", again.err);
    }
    assert_each_cell_once(&folder, "results/small", 6);
}

/// Fields that a later version writes do not make a cell unfinished.
#[test]
fn records_with_unknown_fields_count() {
    let folder = small();
    assert_eq!(folder.run("run small.yaml --offline").code, 0);
    let text = String::from_utf8(ledger_bytes(&folder, "results/small")).unwrap();
    let later = |line: &str| {
        let (fields, _) = line.rsplit_once(",\"crc\":").unwrap();
        fields.replace("{\"cell\"", "{\"energy\":{\"joule\":3},\"cell\"") + "}\n"
    };
    let later: String = text.lines().map(later).collect();
    folder.write("results/small/ledger.jsonl", &later);
    assert_eq!(folder.run("run small.yaml --offline").code, 0);
    assert_eq!(ledger_bytes(&folder, "results/small"), later.as_bytes());
}

#[test]
fn a_changed_parameter_reruns_the_cells_it_touches() {
    let folder = small();
    assert_eq!(folder.run("run small.yaml --offline").code, 0);
    let before = records(&folder, "results/small").len();
    let rerun = |spec: String| {
        folder.write("small.yaml", spec);
        let had = records(&folder, "results/small").len();
        let run = folder.run("run small.yaml --offline");
        assert_eq!(run.code, 0, "{}", run.err);
        let new = records(&folder, "results/small").split_off(had);
        let mut names: Vec<_> = new.into_iter().map(|r| (r.method, r.split)).collect();
        names.sort();
        names
    };
    let named = |name: &str, split| (name.to_owned(), split);
    // Another parameter: the cells of its method.
    let changed = SMALL.replace("c: 2", "c: 4");
    assert_eq!(rerun(changed.clone()), [named("lstwsvm", 0), named("lstwsvm", 1)]);
    // Another label or title: nothing.
    let titled = changed.replace("c: 4", "c: 4, label: squares") + "title: Other words\n";
    assert_eq!(rerun(titled), []);
    // One split more: its cells.
    let longer = changed.replace("repeats: 2", "repeats: 3");
    let third = ["gepsvm", "lstwsvm", "svm"].map(|name| named(name, 2));
    assert_eq!(rerun(longer), third);
    // Another kernel: all cells.
    assert_eq!(rerun(changed.clone() + "kernel: linear\n").len(), before);
    // Back again: all of it is still known.
    assert_eq!(rerun(SMALL.to_owned()), []);
}

#[test]
fn failed_cells_are_run_again_when_asked_for() {
    let folder = small();
    assert_eq!(folder.run("run small.yaml --offline").code, 0);
    let whole = tables(&folder, "results/small");
    let mut failed = records(&folder, "results/small").swap_remove(1);
    let failed_cell = failed.cell.clone();
    failed.status = Status::Failed;
    failed.error = Some("the machine was on fire".into());
    (failed.accuracy, failed.balanced_accuracy, failed.certificate) = (None, None, None);
    let mut bytes = ledger_bytes(&folder, "results/small");
    bytes.extend(serde_json::to_vec(&failed).unwrap());
    bytes.push(b'\n');
    folder.write("results/small/ledger.jsonl", &bytes);

    let plain = folder.run("run small.yaml --offline");
    assert_eq!(plain.code, 3);
    assert_eq!(ledger_bytes(&folder, "results/small"), bytes);
    assert!(plain.out.contains("the machine was on fire"), "{}", plain.out);
    let status = folder.run("status results/small");
    assert!(status.out.contains("1 x the machine was on fire"), "{}", status.out);

    let retried = folder.run("run small.yaml --offline --retry-failed");
    assert_eq!(retried.code, 0, "{}", retried.err);
    assert!(retried.err.contains("5 of 6 cells are done, 1 to run"), "{}", retried.err);
    assert_eq!(records(&folder, "results/small").last().unwrap().cell, failed_cell);
    assert_eq!(tables(&folder, "results/small"), whole);
}

#[test]
fn failing_fast_leaves_the_rest() {
    let folder = Folder::new();
    // Two samples of class `b`: some split has none of them for training.
    let rows: String = (0..20)
        .map(|i| format!("{},{},{}\n", i, i * i, if i % 10 == 9 { "b" } else { "a" }))
        .collect();
    folder.write("rare.csv", rows);
    folder.write(
        "rare.yaml",
        "name: rare\ndatasets: [{files: {train: rare.csv}}]\nsplits: {repeats: 12, \
         train_fraction: 0.3}\nmethods: [svm, lstwsvm]\n",
    );
    let fast = folder.run("run rare.yaml --offline --fail-fast --jobs 1 --out fast");
    assert_eq!(fast.code, 3);
    let stopped = records(&folder, "fast");
    let failures = stopped.iter().filter(|record| record.status == Status::Failed).count();
    assert_eq!(failures, 1);
    assert!(stopped.len() < 24);
    // The class is called what the file calls it.
    let reason = stopped.last().unwrap().error.clone().unwrap();
    assert_eq!(reason, "class `b` has no training sample in this split");
    let slow = folder.run("run rare.yaml --offline --out slow");
    assert_eq!(slow.code, 3);
    assert_eq!(records(&folder, "slow").len(), 24);
    // Continuing after the first failure gives the same tables.
    assert_eq!(folder.run("run rare.yaml --offline --out fast").code, 3);
    assert_eq!(tables(&folder, "fast"), tables(&folder, "slow"));
}

/// Each run used to add the same skipped records once more.
#[test]
fn cells_without_data_are_never_recorded() {
    let folder = Folder::new();
    folder.write(
        "small.yaml",
        SMALL.replace(
            "  - optdigits: {subsample: 100}\n",
            "  - optdigits: {subsample: 100}\n  - chg\n",
        ),
    );
    assert_eq!(folder.run("run small.yaml --offline").code, 3);
    let before = ledger_bytes(&folder, "results/small");
    let whole = tables(&folder, "results/small");
    let again = folder.run("run small.yaml --offline");
    assert_eq!(again.code, 3);
    assert!(again.out.contains("6 cells done, 0 failed, 0 skipped, 0 left"), "{}", again.out);
    assert_eq!(ledger_bytes(&folder, "results/small"), before);
    assert_eq!(tables(&folder, "results/small"), whole);
}

/// A file system that takes no more than some kilobytes simulates a full disk. The exit code used to
/// be that of bad input, found before any compute.
#[cfg(unix)]
#[test]
fn a_ledger_that_cannot_be_written_ends_the_run_with_an_error() {
    let folder = Folder::new();
    folder.write(
        "long.yaml",
        "name: long\ndatasets: [optdigits: {subsample: 300}]\nsplits: {repeats: 10}\nmethods: [svm, twsvm]\n",
    );
    let program = folder.command("run long.yaml --offline -q --out full");
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 15; exec \"$0\" \"$@\""])
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(folder.path(""))
        .env_remove("NPSVCPP_DATA")
        .env_remove("CARGO_MANIFEST_DIR");
    let stopped = shell.output().unwrap();
    let said = String::from_utf8(stopped.stderr).unwrap();
    assert_eq!(stopped.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write full/ledger.jsonl: File too large"), "{said}");
    assert!(said.contains("run the same command to continue"), "{said}");
    assert!((1..20).contains(&lines(&folder, "full")));
    let again = folder.run("run long.yaml --offline --out full");
    assert_eq!(again.code, 0, "{}", again.err);
    assert_each_cell_once(&folder, "full", 20);
    assert_eq!(folder.run("run long.yaml --offline -q --out whole").code, 0);
    assert_eq!(tables(&folder, "full"), tables(&folder, "whole"));
}
