//! Promise: processes that do not know each other run the shards of a plan. Merged, the shards equal a single run.

use crate::tiny;
use std::collections::BTreeSet;
use std::fs;

use crate::program::Folder;
use crate::tiny::{records, tables};
use npsvcpp::ledger::{Record, Status};

const REPEATS: usize = 5;
const CELLS: usize = 4 * REPEATS;

/// Runs all `count` shards into `out`.
fn run_shards(folder: &Folder, count: usize, out: &str) {
    for number in 1..=count {
        let run =
            folder.run(&format!("run tiny.yaml --offline --shard {number}/{count} --out {out}"));
        assert_eq!(run.code, 0, "{}", run.err);
        let hint = format!("`npsvcpp merge {out}` merges the shards and renders");
        assert!(run.out.contains(&hint), "{}", run.out);
    }
}

fn whole(folder: &Folder) -> [String; 3] {
    let run = folder.run("run tiny.yaml --offline --out whole");
    assert_eq!(run.code, 0, "{}", run.err);
    tables(folder, "whole")
}

fn groups(records: &[Record]) -> BTreeSet<(String, usize)> {
    let groups = records.iter().map(|r| (r.dataset.clone(), r.split));
    groups.collect()
}

fn assert_each_cell_once(folder: &Folder, ledger: &str, cells: usize) {
    let records = records(folder, ledger);
    let distinct: BTreeSet<_> = records.iter().map(|record| &record.cell).collect();
    assert_eq!((records.len(), distinct.len()), (cells, cells));
}

fn ledger(folder: &Folder, out: &str) -> Vec<u8> {
    fs::read(folder.path(out).join("ledger.jsonl")).unwrap_or_default()
}

#[test]
fn shards_share_out_the_splits_and_merge_to_what_one_run_gives() {
    let folder = tiny::folder(REPEATS);
    let expected = whole(&folder);
    // Ten groups: one shard, some that do not divide them, more than there are groups.
    for count in [1, 3, 12] {
        let out = format!("in-{count}");
        run_shards(&folder, count, &out);
        let mut seen = BTreeSet::new();
        for number in 1..=count {
            let shard = records(&folder, &format!("{out}/shards/{number}-of-{count}.jsonl"));
            // A split's methods stay together, for they share a kernel matrix.
            assert_eq!(shard.len(), 2 * groups(&shard).len());
            for group in groups(&shard) {
                assert!(seen.insert(group.clone()), "{group:?} is in two shards");
            }
        }
        assert_eq!(seen.len(), CELLS / 2);
        assert!(!folder.path(&out).join("table.md").exists());

        let status = folder.run(&format!("status {out}"));
        assert_eq!(status.code, 0, "{}", status.err);
        assert!(status.out.contains("20 of 20 cells done"), "{}", status.out);
        // Several ledgers are rendered like one.
        assert_eq!(folder.run(&format!("render {out}")).code, 0);
        assert_eq!(tables(&folder, &out), expected);

        let merged = folder.run(&format!("merge {out}"));
        assert_eq!(merged.code, 0, "{}", merged.err);
        assert!(merged.out.contains("20 records added; 20 cells are known"), "{}", merged.out);
        assert_each_cell_once(&folder, &format!("{out}/ledger.jsonl"), CELLS);
        assert_eq!(tables(&folder, &out), expected);
        // Nothing is left for a run of the whole.
        let run = folder.run(&format!("run tiny.yaml --offline --out {out}"));
        assert!(run.err.contains("20 of 20 cells are done, 0 to run"), "{}", run.err);
    }
}

#[test]
fn what_a_shard_did_is_not_done_again_in_another_division() {
    let folder = tiny::folder(REPEATS);
    let expected = whole(&folder);
    let run = folder.run("run tiny.yaml --offline --shard 1/2 --out out");
    assert!(run.out.contains("10 cells done, 0 failed, 0 skipped, 0 left"), "{}", run.out);
    let status = folder.run("status out");
    assert_eq!(status.code, 3);
    assert!(status.out.contains("10 of 20 cells done"), "{}", status.out);
    run_shards(&folder, 3, "out");
    let lines: usize = ["1-of-2", "1-of-3", "2-of-3", "3-of-3"]
        .map(|name| records(&folder, &format!("out/shards/{name}.jsonl")).len())
        .iter()
        .sum();
    assert_eq!(lines, CELLS);
    assert_eq!(folder.run("merge out").code, 0);
    assert_eq!(tables(&folder, "out"), expected);
}

#[test]
fn merging_again_changes_nothing() {
    let folder = tiny::folder(REPEATS);
    run_shards(&folder, 2, "out");
    assert_eq!(folder.run("merge out").code, 0);
    let before = ledger(&folder, "out");
    let again = folder.run("merge out out/ ./out");
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(again.out.contains("0 records added"), "{}", again.out);
    assert_eq!(ledger(&folder, "out"), before);
}

#[test]
fn torn_lines_and_duplicates_of_a_shard_do_no_harm() {
    let folder = tiny::folder(REPEATS);
    let expected = whole(&folder);
    run_shards(&folder, 2, "out");
    let path = folder.path("out/shards/1-of-2.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    let first = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    bytes.extend_from_within(..=first);
    bytes.extend_from_within(..first / 2);
    fs::write(&path, &bytes).unwrap();
    let merged = folder.run("merge out");
    assert_eq!(merged.code, 0, "{}", merged.err);
    let said = "1-of-2.jsonl:12: skipped a line that is not a ledger record";
    assert!(merged.err.contains(said), "{}", merged.err);
    assert_each_cell_once(&folder, "out/ledger.jsonl", CELLS);
    assert_eq!(tables(&folder, "out"), expected);
}

/// One machine's clock is years ahead, and its failure must not hide another's success.
#[test]
fn clocks_do_not_decide_which_record_counts() {
    let folder = tiny::folder(REPEATS);
    let expected = whole(&folder);
    run_shards(&folder, 2, "out");
    let mut late = records(&folder, "out/shards/1-of-2.jsonl").swap_remove(0);
    late.status = Status::Failed;
    late.error = Some("the machine was on fire".into());
    late.started = "2099-01-01T00:00:00Z".into();
    let line = serde_json::to_vec(&late).unwrap();
    folder.write("out/shards/0-of-9.jsonl", &line);
    assert_eq!(folder.run("merge out").code, 0);
    assert_eq!(tables(&folder, "out"), expected);
    // A failure that is all there is counts; a success that comes later takes its place.
    let mut failures = line.clone();
    failures.push(b'\n');
    folder.write("late/ledger.jsonl", &failures);
    for name in ["plan.json", "spec.yaml"] {
        let copy = fs::read(folder.path("out").join(name)).unwrap();
        folder.write(&format!("late/{name}"), copy);
    }
    assert_eq!(folder.run("merge late").code, 3);
    assert_eq!(folder.run("merge late out").code, 0);
    assert_eq!(tables(&folder, "late"), expected);
    assert_eq!(records(&folder, "late/ledger.jsonl").len(), CELLS + 1);
}

#[test]
fn folders_of_several_machines_are_joined_into_a_new_one() {
    let folder = tiny::folder(REPEATS);
    let expected = whole(&folder);
    for number in 1..=3 {
        let run = folder
            .run(&format!("run tiny.yaml --offline --shard {number}/3 --out machine-{number}"));
        assert_eq!(run.code, 0, "{}", run.err);
    }
    let part = folder.run("merge machine-1 machine-3 --out joined");
    assert_eq!(part.code, 3, "{}", part.err);
    let merged = folder.run("merge machine-1 machine-2 machine-3 --out joined");
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert_eq!(tables(&folder, "joined"), expected);
    assert_each_cell_once(&folder, "joined/ledger.jsonl", CELLS);
    for name in ["plan.json", "spec.yaml", "splits.json", "provenance.json"] {
        assert!(folder.path("joined").join(name).exists(), "{name}");
    }
    assert!(ledger(&folder, "machine-1").is_empty());
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let folder = tiny::folder(1);
    assert_eq!(folder.run("run tiny.yaml --offline --out a").code, 0);
    let other = tiny::spec(1).replace("name: tiny", "name: other");
    folder.write("other.yaml", other);
    assert_eq!(folder.run("run other.yaml --offline --out b").code, 0);
    let before = ledger(&folder, "a");
    let mixed = folder.run("merge a b");
    assert_eq!(mixed.code, 2);
    assert!(
        mixed.err.contains("b holds the experiment `other`, but a holds `tiny`"),
        "{}",
        mixed.err
    );
    assert_eq!(ledger(&folder, "a"), before);
    let missing = folder.run("merge nowhere");
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("there is no folder nowhere"), "{}", missing.err);
    folder.write("empty/file", "");
    let plain = folder.run("merge empty");
    assert_eq!(plain.code, 2);
    assert!(plain.err.contains("empty has no plan.json"), "{}", plain.err);
}

#[test]
fn shards_that_make_no_sense_are_refused() {
    let folder = tiny::folder(1);
    for shard in ["0/4", "5/4", "1", "1/0", "x/y"] {
        let run = folder.run(&format!("run tiny.yaml --offline --shard {shard}"));
        assert_eq!(run.code, 2, "{shard}");
        assert!(run.err.contains("such as 2/8"), "{}", run.err);
    }
}
