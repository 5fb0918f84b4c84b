//! Promise: a cell that does not fit into the memory budget is skipped with a sentence that names
//! `--memory`, and run once the budget allows.

mod program;

use std::collections::BTreeMap;

use npsvcpp::ledger::{self, Status};
use program::Folder;

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
    let read = ledger::read(&folder.path("results/roomy").join(ledger::FILE)).unwrap();
    let mut endings = BTreeMap::new();
    for record in read.latest() {
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
fn sizes_are_told_in_units_that_show_them() {
    let folder = folder();
    let run = folder.run("run roomy.yaml --offline -q --memory 2KB");
    assert_eq!(run.code, 3);
    assert!(run.out.contains("more than the budget of 2.00 KB"), "{}", run.out);
    assert!(!run.out.contains("0.00 GB"), "{}", run.out);
    let check = folder.run("check roomy.yaml --offline");
    assert!(!check.out.contains("0.00 GB"), "{}", check.out);
}

const SPLITS: &str = "\
name: splits
datasets: [{optdigits: {subsample: 150}}]
splits: {repeats: 4}
methods: [svm, twsvm]
";

/// The cells of `splits.yaml` and how many of them no other ran beside, with two jobs and `memory`.
fn cells_alone(folder: &Folder, memory: &str) -> (usize, usize) {
    let run = folder.run(&format!(
        "run splits.yaml --offline -q --jobs 2 --threads 1 --memory {memory} --out {memory}"
    ));
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    let read = ledger::read(&folder.path(memory).join(ledger::FILE)).unwrap();
    assert!(read.records.iter().all(|record| record.status == Status::Ok));
    let alone = read.records.iter().filter(|record| record.peak_mb.is_some());
    (read.records.len(), alone.count())
}

/// With room for one split at a time, two jobs take turns. That no other cell ran beside a cell shows
/// in its peak memory, which is known only then; this needs a system that measures it.
#[test]
#[cfg(target_os = "linux")]
fn jobs_wait_for_each_others_memory() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 || std::fs::write("/proc/self/clear_refs", "5").is_err() {
        println!("not checked: this machine has one core or does not measure peaks");
        return;
    }
    let folder = Folder::new();
    folder.write("splits.yaml", SPLITS);
    let check = folder.run("check splits.yaml --offline");
    let per_job = check.out.split("at most ").nth(1).unwrap();
    let (size, _) = per_job.split_once(" per job").unwrap();
    let (number, unit) = size.split_once(' ').unwrap();
    let one_and_a_half = 1.5 * number.parse::<f64>().unwrap();
    assert_eq!(cells_alone(&folder, &format!("{one_and_a_half}{unit}")), (8, 8));
    let (cells, alone) = cells_alone(&folder, "1GB");
    assert!(alone < cells, "with room for all, jobs run side by side");
}
