//! Promise: nothing is lost. If a run, its disk, its folder or its input is damaged, its ledger
//! stays readable, the next run continues, and what changed runs again, with the reason.

use crate::tiny;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::program::Folder;
use crate::tiny::{records, tables};

/// An experiment that never ends by itself.
const ENDLESS: &str = "\
name: endless
datasets: [optdigits: {subsample: 100}]
splits: {repeats: 2}
methods:
  - lstwsvm
  - k-npsvcpp: {d: 3, max_iter: 4000000000, tolerance: 0}
";

/// A run that has recorded its first cell and is in its second one.
fn started(folder: &Folder, arguments: &str) -> Child {
    let mut command = folder.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.starts_with("[1/")), "the run ended early");
    child
}

#[test]
fn a_second_run_on_a_folder_is_refused() {
    let folder = tiny::folder(1);
    folder.write("endless.yaml", ENDLESS);
    let run = "run endless.yaml --offline --jobs 1 --out out";
    let mut first = started(&folder, run);
    let said = "another run is writing to out\n";
    let before = fs::read(folder.path("out/ledger.jsonl")).unwrap();
    // A second run of the whole, and one of a shard, which waits for some seconds first.
    for second in [run.to_owned(), format!("{run} --shard 1/2")] {
        let refused = folder.run(&second);
        assert_eq!(refused.code, 2);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    assert_eq!(folder.run("merge out").code, 2);
    assert_eq!(fs::read(folder.path("out/ledger.jsonl")).unwrap(), before);
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn a_run_of_the_whole_is_refused_while_a_shard_runs_and_other_shards_are_not() {
    let folder = tiny::folder(1);
    folder.write("endless.yaml", ENDLESS);
    let run = "run endless.yaml --offline --jobs 1 --out out";
    let shard = format!("{run} --shard 1/2");
    let mut first = started(&folder, &shard);
    let said = "another run is writing to out\n";
    for second in [run, shard.as_str()] {
        let refused = folder.run(second);
        assert_eq!(refused.code, 2);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    let other = folder.run(&format!("{run} --shard 2/2 --only method=lstwsvm"));
    assert_eq!(other.code, 0, "{}", other.err);
    // What is done can be merged and rendered at the same time.
    assert_eq!(folder.run("merge out").code, 3);
    assert_eq!(records(&folder, "out/ledger.jsonl").len(), 2);
    first.kill().unwrap();
    first.wait().unwrap();
}

/// Lines as an earlier version wrote them: fields that came later are missing, one that is gone is there.
#[test]
fn a_ledger_of_an_older_version_is_still_read() {
    let folder = tiny::folder(2);
    assert_eq!(folder.run("run tiny.yaml --offline -q --out out").code, 0);
    let expected = tables(&folder, "out");
    let text = fs::read_to_string(folder.path("out/ledger.jsonl")).unwrap();
    let older: String = text
        .lines()
        .map(|line| {
            let mut record: serde_json::Map<_, _> = serde_json::from_str(line).unwrap();
            for later in ["kernel_seconds", "peak_mb", "split_hash", "data_hash", "crc"] {
                record.remove(later);
            }
            record.insert("hostname".into(), "gone".into());
            serde_json::to_string(&record).unwrap() + "\n"
        })
        .collect();
    folder.write("out/ledger.jsonl", &older);
    let again = folder.run("run tiny.yaml --offline --out out");
    assert_eq!(again.code, 0, "{}", again.err);
    let said = "8 of 8 cells are done, 0 to run";
    assert!(again.err.contains(said), "{}", again.err);
    assert_eq!(fs::read_to_string(folder.path("out/ledger.jsonl")).unwrap(), older);
    assert_eq!(tables(&folder, "out"), expected);
}

#[test]
fn what_changed_runs_again_with_the_reason() {
    let folder = tiny::folder(2);
    assert_eq!(folder.run("run tiny.yaml --offline --out out").code, 0);
    let mut had = 8;
    // Runs again, and gives what was said about it and how many cells were run.
    let mut rerun = || {
        let run = folder.run("run tiny.yaml --offline --out out");
        assert_eq!(run.code, 0, "{}", run.err);
        let records = records(&folder, "out/ledger.jsonl");
        let new: BTreeSet<_> =
            records[had..].iter().map(|r| (r.dataset.clone(), r.method.clone(), r.split)).collect();
        had = records.len();
        let said: Vec<String> =
            run.err.lines().filter(|line| line.contains("run again:")).map(str::to_owned).collect();
        (said, new)
    };
    assert_eq!(rerun().0, Vec::<String>::new());

    folder.write("one.csv", tiny::points().replace("0,", "9,"));
    let (said, new) = rerun();
    assert_eq!(said, ["4 cells are run again: the data of `one` changed"]);
    assert_eq!(new.len(), 4);
    assert!(new.iter().all(|(dataset, ..)| dataset == "one"));

    let spec = tiny::spec(2);
    let changed = spec.replace("  - lstwsvm\n", "  - lstwsvm: {c: 2.5}\n");
    folder.write("tiny.yaml", &changed);
    let (said, new) = rerun();
    let because = "`c` of LSTWSVM changed from its default to 2.5";
    assert_eq!(said, [format!("4 cells are run again: {because}")]);
    assert!(new.len() == 4 && new.iter().all(|(_, method, _)| method == "lstwsvm"));

    folder.write("tiny.yaml", changed.clone() + "kernel: linear\n");
    let (said, new) = rerun();
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("8 cells are run again: `kernel` changed from "), "{said:?}");
    assert_eq!(new.len(), 8);

    // An additional split does not change the others.
    folder.write("tiny.yaml", changed.replace("repeats: 2", "repeats: 3") + "kernel: linear\n");
    let (said, new) = rerun();
    assert_eq!(said, Vec::<String>::new());
    assert!(new.len() == 4 && new.iter().all(|(.., split)| *split == 2));
}
