//! Promise: if a method computes other numbers in a new version, old and new ones never mix. The old ones stay in the
//! table of a dataset until a run records its first new cell; from then on nothing shows or mentions them.

use std::collections::HashMap;
use std::fs;

use npsvcpp::ledger::{Plan, Record, Status};
use npsvcpp::plan;

use crate::program::Folder;
use crate::tiny;

/// The accuracy of every cell of the former version, which no fit has.
const FORMER: f64 = 10.0;
const SAID: &str = "K-NPSVC++ has version 2 now, and out has numbers of version 1 on one, two; they stay until a run \
                    records the first new cell there";

/// The tiny experiment with a method of which there are two versions, finished in `out` when it had the first one.
fn finished_before() -> Folder {
    let folder = tiny::folder(2);
    folder
        .write("tiny.yaml", tiny::spec(2).replace("- gepsvm", "- k-npsvcpp: {d: 1, max_iter: 2}"));
    let ended = folder.run("run tiny.yaml --offline --out out");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut plan = Plan::read(&folder.path("out")).unwrap();
    let earlier = plan::earlier_names(&plan).unwrap();
    let earlier: HashMap<_, _> = earlier.into_iter().map(|(then, now)| (now, then)).collect();
    assert_eq!(earlier.len(), 4, "one name for each cell of the method");
    for cell in &mut plan.cells {
        cell.cell = earlier.get(&cell.cell).unwrap_or(&cell.cell).clone();
    }
    plan.write(&folder.path("out")).unwrap();
    let records = tiny::records(&folder, "out/ledger.jsonl").into_iter().map(|mut record| {
        if let Some(then) = earlier.get(&record.cell) {
            record.cell.clone_from(then);
            record.accuracy = Some(FORMER);
        }
        String::from_utf8(record.line()).unwrap()
    });
    folder.write("out/ledger.jsonl", records.collect::<String>());
    assert_eq!(folder.run("render out").code, 0);
    folder
}

/// The datasets in whose row the method has its former numbers, those with new ones, and those with neither.
fn shown(folder: &Folder) -> [Vec<String>; 3] {
    let text = fs::read_to_string(folder.path("out/table.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let lines = reader.deserialize::<HashMap<String, String>>().map(Result::unwrap);
    let mut found = [const { Vec::new() }; 3];
    for line in lines.filter(|line| line["label"] == "K-NPSVC++") {
        let kind = match line["mean"].parse::<f64>() {
            Ok(mean) if mean == FORMER => 0,
            Ok(_) => 1,
            Err(_) => 2,
        };
        found[kind].push(line["dataset"].clone());
    }
    found
}

fn warns_of_strays(folder: &Folder) -> bool {
    fs::read_to_string(folder.path("out/table.md")).unwrap().contains("ignored")
}

#[test]
fn former_numbers_stay_until_the_first_new_one() {
    let folder = finished_before();
    let all = ["one".to_owned(), "two".to_owned()].to_vec();
    assert_eq!(shown(&folder), [all.clone(), vec![], vec![]]);
    // Neither a look nor a run of something else changes the tables.
    for arguments in ["--dry-run", "--only method=lstwsvm"] {
        let ended = folder.run(&format!("run tiny.yaml --offline --out out {arguments}"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.err.contains(SAID), "{}", ended.err);
        assert!(!ended.err.contains("leave the tables"), "{}", ended.err);
        assert_eq!(shown(&folder), [all.clone(), vec![], vec![]]);
        assert!(!warns_of_strays(&folder));
    }
    let ended = folder.run("run tiny.yaml --offline --out out --only dataset=one --only split=0");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("1 cell is run again: the program computes K-NPSVC++ in another"));
    assert_eq!(shown(&folder), [vec!["two".to_owned()], vec!["one".to_owned()], vec![]]);
    assert!(!warns_of_strays(&folder));

    let ended = folder.run("run tiny.yaml --offline --out out");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("numbers of version 1 on two; they stay"), "{}", ended.err);
    assert_eq!(shown(&folder), [vec![], all, vec![]]);
    let ended = folder.run("run tiny.yaml --offline --out out");
    assert!(!ended.err.contains("version"), "{}", ended.err);
    assert!(ended.err.contains("8 of 8 cells are done, 0 to run"), "{}", ended.err);
    assert!(!warns_of_strays(&folder));
}

/// A failure is not a number.
#[test]
fn a_failed_cell_replaces_no_former_number() {
    let folder = finished_before();
    let records = tiny::records(&folder, "out/ledger.jsonl");
    let plan = Plan::read(&folder.path("out")).unwrap();
    let earlier = plan::earlier_names(&plan).unwrap();
    let failed = records.iter().filter_map(|record| {
        let cell = earlier.get(&record.cell)?.clone();
        let (status, accuracy) = (Status::Failed, None);
        let record = Record { cell, status, accuracy, ..record.clone() };
        Some(String::from_utf8(record.line()).unwrap())
    });
    let text = fs::read_to_string(folder.path("out/ledger.jsonl")).unwrap();
    folder.write("out/ledger.jsonl", text + &failed.collect::<String>());
    let ended = folder.run("run tiny.yaml --offline --out out");
    assert_eq!(ended.code, 3, "{}", ended.err);
    let all = ["one".to_owned(), "two".to_owned()].to_vec();
    assert_eq!(shown(&folder), [all, vec![], vec![]]);
}

/// Without its data, a cell cannot be computed in the new way, and its former number is not lost.
#[test]
fn former_numbers_of_absent_data_stay() {
    let folder = finished_before();
    fs::remove_file(folder.path("two.csv")).unwrap();
    let ended = folder.run("run tiny.yaml --offline --out out");
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.out.contains("2 cells cannot run here"), "{}", ended.out);
    assert_eq!(shown(&folder), [vec!["two".to_owned()], vec!["one".to_owned()], vec![]]);
    assert!(!warns_of_strays(&folder));
}

/// Data that changed takes the former version along: its row is all new.
#[test]
fn changed_data_and_a_new_version_switch_together() {
    let folder = finished_before();
    folder.write("two.csv", tiny::points().replace("3,", "5,"));
    let ended = folder.run("run tiny.yaml --offline --out out --only dataset=one");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(shown(&folder), [vec!["two".to_owned()], vec!["one".to_owned()], vec![]]);
    let ended = folder.run("run tiny.yaml --offline --out out --only method=lstwsvm");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(shown(&folder), [vec![], vec!["one".to_owned()], vec!["two".to_owned()]]);
}
