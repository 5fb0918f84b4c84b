//! Promise: the datasets of the paper are read as what they are, and a cell of Table 2 runs on them.
//!
//! Checked only where `NPSVCPP_DATA` names a folder that has them; elsewhere each test says so.

mod program;

use std::path::PathBuf;

use npsvcpp::data::{Store, verify};
use npsvcpp::ledger::{self, Status};
use program::Folder;

fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("NPSVCPP_DATA").filter(|folder| !folder.is_empty());
    if folder.is_none() {
        println!("not checked: NPSVCPP_DATA names no folder with the datasets of the paper");
    }
    folder.map(PathBuf::from)
}

/// Samples, features and classes as in Table 2.
#[test]
fn the_papers_data_has_its_shape() {
    let Some(folder) = data() else { return };
    let expected = [
        ("usps", (7291, 256), 10),
        ("pendigits", (10992, 16), 10),
        ("dna", (2000, 180), 3),
        ("binalpha", (1404, 320), 36),
        ("20news", (16242, 100), 4),
    ];
    let store = Store::in_folder(folder, true);
    let names = expected.map(|(name, ..)| name);
    for ((name, result), (_, shape, classes)) in verify(&store, &names).into_iter().zip(expected) {
        let dataset = result.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((dataset.x.dim(), dataset.classes.len()), (shape, classes), "{name}");
    }
}

#[test]
fn a_cell_of_table_2_runs() {
    let Some(data) = data() else { return };
    let folder = Folder::new();
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/table2.yaml");
    folder.write("table2.yaml", std::fs::read(spec).unwrap());
    let only = "--only dataset=binalpha --only split=0 --only method=svm";
    let data = std::path::absolute(data).unwrap();
    let run = folder
        .run(&format!("run table2.yaml --offline -q --out out {only} --data {}", data.display()));
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    let read = ledger::read(&folder.path("out").join(ledger::FILE)).unwrap();
    let [record] = &read.records[..] else {
        panic!("{:?}", read.records);
    };
    assert_eq!((record.status, record.n_train, record.n_test), (Status::Ok, 842, 562));
    // The paper has 71.10 on average over its splits.
    assert!(record.accuracy.is_some_and(|percent| (percent - 71.0).abs() < 6.0), "{record:?}");
}
