//! Promise: if cells run in child processes, a cell that hangs or dies fails alone, and the numbers are the same.

use crate::tiny;
use std::process::Stdio;

use crate::tiny::{records, tables};
use npsvcpp::ledger::Status;

/// Cells that end by themselves, and one per split that never would.
const ENDLESS: &str = "\
name: endless
datasets:
  - optdigits: {subsample: 100}
splits: {repeats: 2, stratified: true}
methods:
  - lstwsvm
  - k-npsvcpp: {d: 3, max_iter: 4000000000, tolerance: 0}
  - gepsvm
";

#[test]
fn processes_give_the_same_numbers() {
    let folder = tiny::folder(2);
    let spec = tiny::spec(2).replace(
        "  - gepsvm\n",
        "  - gepsvm\n  - k-npsvcpp: {d: 1}\n  - twsvm: {c: [0.5, 1, 2]}\n",
    );
    for select in ["select: {folds: 2}", "select: {folds: 2, once: true}"] {
        folder.write("tiny.yaml", format!("{spec}{select}\n"));
        let name = select.len();
        let plain = folder.run(&format!("run tiny.yaml --offline --out plain-{name}"));
        assert_eq!(plain.code, 0, "{}", plain.err);
        let isolated = folder
            .run(&format!("run tiny.yaml --offline --isolate --jobs 2 --out isolated-{name}"));
        assert_eq!(isolated.code, 0, "{}", isolated.err);
        assert_eq!(
            tables(&folder, &format!("isolated-{name}")),
            tables(&folder, &format!("plain-{name}"))
        );
        // What was tried and chosen, but for the time it took.
        let choices = |out: &str| {
            let records = records(&folder, &format!("{out}-{name}/ledger.jsonl"));
            let mut choices: Vec<_> = records
                .into_iter()
                .map(|record| {
                    let selection = record.selection.unwrap_or_default();
                    (record.cell, record.params, selection.points)
                })
                .collect();
            choices.sort_by(|a, b| a.0.cmp(&b.0));
            choices
        };
        assert_eq!(choices("isolated"), choices("plain"));
        let traces = |out: &str| {
            let folder = folder.path(&format!("{out}-{name}/traces"));
            let mut files: Vec<_> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .map(|path| (path.file_name().unwrap().to_owned(), std::fs::read(path).unwrap()))
                .collect();
            files.sort();
            files
        };
        assert_eq!(traces("isolated"), traces("plain"));
    }
}

#[test]
fn a_hung_cell_ends_at_its_timeout_and_the_rest_goes_on() {
    let folder = tiny::folder(1);
    folder.write("endless.yaml", ENDLESS);
    let run = folder.run("run endless.yaml --offline --jobs 1 --cell-timeout 5s --out out");
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.out.contains("4 cells done, 2 failed, 0 skipped, 0 left"), "{}", run.out);
    for record in records(&folder, "out/ledger.jsonl") {
        let error = record.error.unwrap_or_default();
        if record.method == "k-npsvcpp" {
            assert_eq!(record.status, Status::Failed);
            assert_eq!(error, "took longer than --cell-timeout 5s and was stopped");
        } else {
            assert_eq!((record.status, error.as_str()), (Status::Ok, ""));
        }
    }
}

/// The processes that `parent` started.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name, in parentheses, may hold anything.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(parent.to_string().as_str())
    };
    numbers.filter(is_child).collect()
}

#[cfg(target_os = "linux")]
fn kill(signal: &str, pid: u32) {
    let sent = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Waits until `done` gives something; a run that never gets there fails the test.
#[cfg(target_os = "linux")]
fn wait_for<T>(mut done: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(found) = done() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("waited in vain");
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_worker_fails_its_cell_and_is_replaced() {
    let folder = tiny::folder(1);
    folder.write("endless.yaml", ENDLESS);
    let lines = || records(&folder, "out/ledger.jsonl").len();
    let mut run = folder
        .command("run endless.yaml --offline -q --jobs 1 --isolate --out out")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for (before, signal) in [(1, "-KILL"), (4, "-ABRT")] {
        wait_for(|| (lines() == before).then_some(()));
        let worker = wait_for(|| children(run.id()).pop());
        kill(signal, worker);
    }
    assert_eq!(run.wait().unwrap().code(), Some(3));
    let ended: Vec<_> = records(&folder, "out/ledger.jsonl")
        .into_iter()
        .map(|record| (record.method, record.error.unwrap_or_default()))
        .collect();
    let killed =
        "its worker process was ended by signal 9 (killed, for example because memory ran out)";
    let aborted = "its worker process was ended by signal 6 (aborted, for example because memory or stack ran out)";
    let expected = [
        ("lstwsvm", ""),
        ("k-npsvcpp", killed),
        ("gepsvm", ""),
        ("lstwsvm", ""),
        ("k-npsvcpp", aborted),
        ("gepsvm", ""),
    ];
    assert_eq!(ended, expected.map(|(m, e)| (m.to_owned(), e.to_owned())));
}

/// A worker in an endless cell must not outlive the run that started it.
#[cfg(target_os = "linux")]
#[test]
fn workers_of_a_killed_run_end() {
    let folder = tiny::folder(1);
    folder.write("endless.yaml", ENDLESS);
    let mut run = folder
        .command("run endless.yaml --offline -q --jobs 1 --isolate --out out")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(|| (records(&folder, "out/ledger.jsonl").len() == 1).then_some(()));
    let worker = wait_for(|| children(run.id()).pop());
    run.kill().unwrap();
    run.wait().unwrap();
    wait_for(|| {
        let state = std::fs::read_to_string(format!("/proc/{worker}/stat")).unwrap_or_default();
        // Where nobody reaps orphans it stays as a zombie.
        let rest = state.rsplit_once(')').map_or("", |(_, rest)| rest);
        (rest.is_empty() || rest.starts_with(" Z")).then_some(())
    });
}
