//! Promise: a run that is killed, interrupted or out of disk space loses nothing. The same command completes it, and
//! the tables are those of a run that nothing stopped.

use std::collections::BTreeSet;

use npsvcpp::ledger::Ledger;

use crate::program::Folder;
use crate::tiny::{self, records, tables};

/// Enough work to be stopped while it runs.
const LONG: &str = "\
name: long
datasets:
  - optdigits: {subsample: 300}
splits: {repeats: 10}
methods:
  - svm
  - twsvm
  - k-npsvcpp: {scheme: rvo}
compare: {against: k-npsvcpp}
";
const LONG_CELLS: usize = 30;

fn assert_each_cell_once(folder: &Folder, out: &str, cells: usize) {
    let records = records(folder, &format!("{out}/ledger.jsonl"));
    let distinct: BTreeSet<_> = records.iter().map(|record| &record.cell).collect();
    assert_eq!((records.len(), distinct.len()), (cells, cells));
}

/// Each run is killed in the middle of a line, after some records more.
#[test]
fn killed_again_and_again_a_run_still_ends_with_each_cell_once() {
    const CELLS: usize = 200;
    let folder = tiny::folder(CELLS / 4);
    let whole = folder.run("run tiny.yaml --offline -q --out whole");
    assert_eq!(whole.code, 0, "{}", whole.err);
    let mut done = 0;
    for records in (0..10).cycle() {
        let run = "run tiny.yaml --offline -q --out killed";
        let ended = folder.run_failing(run, "append", records, "kill");
        if ended.status.success() {
            break;
        }
        assert_eq!(ended.status.code(), None, "a signal ended it");
        done += records;
        assert_eq!(Ledger::read(&folder.path("killed")).unwrap().records().len(), done);
    }
    // The last run had no more records left than its kill waited for.
    assert!((CELLS - 9..=CELLS).contains(&done), "{done}");
    assert_each_cell_once(&folder, "killed", CELLS);
    assert_eq!(tables(&folder, "killed"), tables(&folder, "whole"));
}

#[test]
fn a_full_disk_ends_the_run_with_a_clear_error_and_a_readable_ledger() {
    const CELLS: usize = 400;
    const ROOM: usize = 150;
    let folder = tiny::folder(CELLS / 4);
    let stopped =
        folder.run_failing("run tiny.yaml --offline -q --out full", "append", ROOM, "full");
    let said = String::from_utf8(stopped.stderr).unwrap();
    assert_eq!(stopped.status.code(), Some(1), "{said}");
    for part in ["No space left on device", "run the same command to continue"] {
        assert!(said.contains(part), "{said}");
    }
    let ledger = Ledger::read(&folder.path("full")).unwrap();
    assert_eq!(ledger.records().len(), ROOM);
    assert_eq!(ledger.warnings().len(), 1, "{:?}", ledger.warnings());
    let status = folder.run("status full");
    assert_eq!(status.code, 3, "{}", status.err);
    let done = format!("{ROOM} of {CELLS} cells done");
    assert!(status.out.contains(&done), "{}", status.out);

    // With room again, the same ledger continues.
    let again = folder.run("run tiny.yaml --offline -q --out full");
    assert_eq!(again.code, 0, "{}", again.err);
    assert_each_cell_once(&folder, "full", CELLS);
}

/// The tables of a run of [`LONG`] that nothing stops.
fn undisturbed(folder: &Folder) -> [String; 3] {
    let run = folder.run("run long.yaml --offline -q --out undisturbed");
    assert_eq!(run.code, 0, "{}", run.err);
    tables(folder, "undisturbed")
}

fn long() -> Folder {
    let folder = Folder::new();
    folder.write("long.yaml", LONG);
    folder
}

#[test]
fn a_killed_run_is_completed_by_the_next() {
    let folder = long();
    let expected = undisturbed(&folder);
    for records in [0, 1, 7, 16, LONG_CELLS - 1] {
        let out = format!("killed-{records}");
        let run = format!("run long.yaml --offline --out {out}");
        let ended = folder.run_failing(&run, "append", records, "kill");
        assert_eq!(ended.status.code(), None, "a signal ended it");
        assert_eq!(self::records(&folder, &format!("{out}/ledger.jsonl")).len(), records);
        let again = folder.run(&run);
        assert_eq!(again.code, 0, "{}", again.err);
        assert_eq!(tables(&folder, &out), expected, "killed after {records} records");
        assert_each_cell_once(&folder, &out, LONG_CELLS);
    }
}

/// Every record after the first takes a second, so that the interrupt comes long before the last one.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_cleanly_and_says_how_to_continue() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let folder = long();
    let mut command = folder.command("run long.yaml --offline --jobs 1 --out interrupted");
    command.env("FAILPOINTS", "append=1*off->sleep(1000)");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("[1/30]") {
        assert_ne!(progress.read_line(&mut said).unwrap(), 0, "the run ended early: {said}");
    }
    let mut kill = std::process::Command::new("kill");
    let sent = kill.args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    progress.read_to_string(&mut said).unwrap();
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), Some(130), "{said}");
    assert!(said.contains("finishing the running cells"), "{said}");
    assert!(said.contains("cells are left; run the same command to continue"), "{said}");

    let read = Ledger::read(&folder.path("interrupted")).unwrap();
    assert_eq!(read.warnings(), [""; 0], "no line is torn");
    assert!((1..LONG_CELLS).contains(&read.records().len()));
    assert!(tables(&folder, "interrupted")[0].contains("Unfinished"));

    let again = folder.run("run long.yaml --offline -q --out interrupted");
    assert_eq!((again.code, again.err.as_str()), (0, ""));
    assert_eq!(tables(&folder, "interrupted"), undisturbed(&folder));
    assert_each_cell_once(&folder, "interrupted", LONG_CELLS);
}
