//! Promise: nothing is lost. Whatever happens to a run, to its disk, to its folder or to its input, its
//! ledger stays readable, the next run goes on, and what changed is run again with the reason said.

use crate::tiny;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::program::Folder;
use crate::tiny::{records, tables};

fn start(folder: &Folder, arguments: &str) -> Child {
    let mut command = folder.command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// An experiment that never ends by itself.
const ENDLESS: &str = "\
name: endless
datasets: [optdigits: {subsample: 100}]
splits: {repeats: 2}
methods:
  - lstwsvm
  - k-npsvcpp: {d: 3, max_iter: 4000000000, tolerance: 0}
";

fn started(folder: &Folder, arguments: &str, ledger: &str) -> Child {
    let mut child = start(folder, arguments);
    for _ in 0..6000 {
        if !records(folder, ledger).is_empty() {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    let has_ended = child.try_wait().unwrap();
    assert_eq!(has_ended, None, "the run does not get on");
    child
}

#[test]
fn a_second_run_on_a_folder_is_refused_with_the_firsts_process() {
    let folder = tiny::folder(1);
    folder.write("endless.yaml", ENDLESS);
    let run = "run endless.yaml --offline --jobs 1 --out out";
    let mut first = started(&folder, run, "out/ledger.jsonl");
    let said = format!("another run is writing to out (process {})", first.id());
    let before = fs::read(folder.path("out/ledger.jsonl")).unwrap();
    // A second run of the whole, and one of a shard, which waits for some seconds first.
    for second in [run.to_owned(), format!("{run} --shard 1/2")] {
        let refused = folder.run(&second);
        assert_eq!(refused.code, 2);
        assert!(refused.err.contains(&said), "{}", refused.err);
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
    let mut first = started(&folder, &shard, "out/shards/1-of-2.jsonl");
    let said = format!("another run is writing to out (process {})", first.id());
    for second in [run, shard.as_str()] {
        let refused = folder.run(second);
        assert_eq!(refused.code, 2);
        assert!(refused.err.contains(&said), "{}", refused.err);
    }
    let other = folder.run(&format!("{run} --shard 2/2 --only method=lstwsvm"));
    assert_eq!(other.code, 0, "{}", other.err);
    // What is there can be merged and rendered meanwhile.
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
            for later in ["kernel_seconds", "peak_mb", "split_hash", "data_hash"] {
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
fn what_changed_is_run_again_and_said() {
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

    // A split more is no change of what there is.
    folder.write("tiny.yaml", changed.replace("repeats: 2", "repeats: 3") + "kernel: linear\n");
    let (said, new) = rerun();
    assert_eq!(said, Vec::<String>::new());
    assert!(new.len() == 4 && new.iter().all(|(.., split)| *split == 2));
}
