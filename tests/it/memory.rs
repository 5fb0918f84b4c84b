//! Promise: a cell that does not fit into the memory budget is skipped with a sentence that names
//! `--memory`, and run once the budget allows.

use std::collections::BTreeMap;

use crate::program::Folder;
use npsvcpp::ledger::{Ledger, Status};

const SPEC: &str = "\
name: roomy
datasets:
  - optdigits: {subsample: 200}
  - files: {name: own, train: own.txt}
splits: {repeats: 2}
methods:
  - svm
  - twsvm
";

fn folder() -> Folder {
    let folder = Folder::new();
    let rows: String = (0..30).map(|i| format!("{} 1:{} 2:{}\n", i % 2, i, i * i % 7)).collect();
    folder.write("own.txt", rows);
    folder.write("roomy.yaml", SPEC);
    folder
}

/// Cells of each dataset and ending.
fn endings(folder: &Folder) -> BTreeMap<(String, &'static str), usize> {
    let ledger = Ledger::read(&folder.path("results/roomy")).unwrap();
    let mut endings = BTreeMap::new();
    for record in ledger.records() {
        let ending = match record.status {
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        };
        *endings.entry((record.dataset.clone(), ending)).or_default() += 1;
    }
    endings
}

#[test]
fn cells_beyond_the_budget_are_skipped_in_words() {
    let folder = folder();
    let run = folder.run("run roomy.yaml --offline -q --memory 100KB");
    assert_eq!(run.code, 3, "{}", run.err);
    let own = |ending| ("own".to_owned(), ending);
    let digits = |ending| ("optdigits".to_owned(), ending);
    assert_eq!(endings(&folder), [(own("ok"), 4), (digits("skipped"), 4)].into());
    // 120 training and 80 test samples: the two kernel matrices alone have 24,000 values.
    let said = "MB of memory, more than the budget of 0.10 MB; raise it with --memory";
    assert!(run.out.contains(said), "{}", run.out);
    let table = std::fs::read_to_string(folder.path("results/roomy/table.md")).unwrap();
    assert!(table.contains(said), "{table}");
    let status = folder.run("status results/roomy");
    assert_eq!(status.code, 3);
    assert!(status.out.contains("skipped 4"), "{}", status.out);
    assert!(status.out.contains(said), "{}", status.out);

    let enough = folder.run("run roomy.yaml --offline -q --memory 1GB");
    assert_eq!(enough.code, 0, "{}", enough.err);
    assert_eq!(endings(&folder), [(own("ok"), 4), (digits("ok"), 4)].into());
}

/// Small numbers used to read `needs about 0.00 GB, more than the budget of 0.00 GB`.
#[test]
fn sizes_have_a_readable_unit() {
    let folder = folder();
    let run = folder.run("run roomy.yaml --offline -q --memory 2KB");
    assert_eq!(run.code, 3);
    assert!(run.out.contains("more than the budget of 2.00 KB"), "{}", run.out);
    assert!(!run.out.contains("0.00 GB"), "{}", run.out);
    let check = folder.run("check roomy.yaml --offline");
    assert!(!check.out.contains("0.00 GB"), "{}", check.out);
}
