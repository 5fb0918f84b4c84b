//! Promise: the datasets of the paper are read as what they are, and a cell of Table 2 runs on them.
//!
//! Run them with `NPSVCPP_DATA=FOLDER cargo test --test it real_data -- --ignored`.

use std::path::PathBuf;

use crate::program::Folder;
use npsvcpp::data::{Store, registry};
use npsvcpp::ledger::Status;

fn data() -> PathBuf {
    PathBuf::from(std::env::var_os("NPSVCPP_DATA").expect("NPSVCPP_DATA is set"))
}

/// Samples, features and classes as in Table 2.
#[test]
#[ignore = "needs NPSVCPP_DATA with the datasets of the paper"]
fn the_papers_data_has_its_shape() {
    let expected = [
        ("usps", (7291, 256), 10),
        ("pendigits", (10992, 16), 10),
        ("dna", (2000, 180), 3),
        ("binalpha", (1404, 320), 36),
        ("20news", (16242, 100), 4),
    ];
    let store = Store::in_folder(data(), true);
    for (name, shape, classes) in expected {
        let dataset = store.verify(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((dataset.x.dim(), dataset.classes.len()), (shape, classes), "{name}");
    }
}

/// All files of the LIBSVM site that are there are known copies, with the shapes and hashes of the list.
#[test]
#[ignore = "needs NPSVCPP_DATA with datasets of the LIBSVM site"]
fn files_of_the_libsvm_site_are_known_copies() {
    let store = Store::in_folder(data(), true);
    let mut verified = 0;
    for entry in registry::all().iter().filter(|entry| store.find_files(entry).is_some()) {
        let manifest = &entry.manifest;
        if manifest.homepage.contains("libsvmtools") {
            let name = &manifest.name;
            let dataset = store.verify(name).unwrap_or_else(|error| panic!("{error}"));
            let is_unknown = |note: &String| note.contains("none of the copies known");
            assert!(!dataset.notes.iter().any(is_unknown), "{name}: {:?}", dataset.notes);
            verified += 1;
        }
    }
    assert!(verified > 0, "NPSVCPP_DATA has none of these datasets");
}

#[test]
#[ignore = "needs NPSVCPP_DATA with the datasets of the paper"]
fn a_cell_of_table_2_runs() {
    let folder = Folder::new();
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/table2.yaml");
    folder.write("table2.yaml", std::fs::read(spec).unwrap());
    let only = "--only dataset=binalpha --only split=0 --only method=svm";
    let data = std::path::absolute(data()).unwrap();
    let run = folder
        .run(&format!("run table2.yaml --offline -q --out out {only} --data {}", data.display()));
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    let records = folder.records("out");
    let [record] = &records[..] else {
        panic!("{records:?}");
    };
    assert_eq!((record.status, record.n_train, record.n_test), (Status::Ok, 842, 562));
    // The paper has 71.10 on average over its splits.
    assert!(record.accuracy.is_some_and(|percent| (percent - 71.0).abs() < 6.0), "{record:?}");
}
