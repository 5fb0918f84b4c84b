//! Promise: no number that somebody writes makes the program ask for what the machine does not have.

use crate::program::Folder;
use npsvcpp::ledger::Status;

fn folder(spec: &str) -> Folder {
    let folder = Folder::new();
    let rows = (0..30).map(|i| format!("{} 1:{i} 2:{}\n", i % 2, i * i % 7));
    folder.write("own.txt", rows.collect::<String>());
    folder.write("spec.yaml", spec);
    folder
}

const SVM: &str = "\
name: own
datasets: [{files: {name: own, train: own.txt}}]
splits: {repeats: 2}
methods: [svm]
";

/// Room for the trace was once reserved for all iterations that are allowed.
#[test]
fn iterations_that_are_allowed_take_no_room() {
    let method = "methods: [{k-npsvcpp: {max_iter: 10000000000, tolerance: 0.9, d: 2}}]";
    let folder = folder(&SVM.replace("methods: [svm]", method));
    let run = folder.run("run spec.yaml --offline -q --only split=0");
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
}

#[test]
fn threads_and_jobs_are_at_most_the_cores() {
    let folder = folder(SVM);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let run = folder.run("run spec.yaml --offline --threads 60000 --jobs 50000 --out out");
    assert_eq!(run.code, 0, "{}", run.err);
    for asked in ["--threads 60000", "--jobs 50000"] {
        let said = format!("{asked} is more than this machine has: using {cores}\n");
        assert!(run.err.contains(&said), "{}", run.err);
    }
    let records = folder.records("out");
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|record| record.status == Status::Ok));
    assert!(records.iter().all(|record| record.threads == cores));
    let fitting = folder.run("run spec.yaml --offline --threads 1 --jobs 1 --out fitting");
    assert!(!fitting.err.contains("more than this machine"), "{}", fitting.err);
}

/// 60 samples of ten million features would be 4.8 GB.
#[test]
fn a_sparse_file_of_a_few_bytes_cannot_fill_the_memory() {
    let folder = folder(SVM);
    let rows = (0..60).map(|i| format!("{} 1:{i}\n", i % 2));
    folder.write("own.txt", rows.collect::<String>() + "1 3:1 10000000:1\n");
    let run = folder.run("check spec.yaml --offline -q");
    assert_eq!(run.code, 2, "{}", run.out);
    let said = "own.txt:61:7: found index `10000000`, which makes 61 samples of 10000000 features";
    assert!(run.err.contains(said), "{}", run.err);
}
