//! Promise: the first experiment of the README runs as it is printed there, without network or data, and
//! every method has an answer.

use std::collections::BTreeSet;

use crate::program::Folder;
use npsvcpp::ledger::Status;
use npsvcpp::methods::METHODS;

#[test]
fn the_quickstart_runs_every_method() {
    let folder = Folder::new();
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/quickstart.yaml");
    folder.write("quickstart.yaml", std::fs::read(spec).unwrap());
    let run = folder.run("run quickstart.yaml --offline -q --only split=0");
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    let records = folder.records("results/quickstart");
    let mut cells = BTreeSet::new();
    for record in &records {
        assert_eq!(record.status, Status::Ok, "{record:?}");
        // Chance is 10 percent; this only distinguishes a working prediction from a broken one.
        assert!(record.accuracy.is_some_and(|percent| percent > 50.0), "{record:?}");
        cells.insert((record.dataset.as_str(), record.method.as_str()));
    }
    let datasets = ["optdigits", "pendigits"];
    let kernel_methods = || METHODS.iter().filter(|entry| !entry.is_network);
    let every = datasets
        .into_iter()
        .flat_map(|dataset| kernel_methods().map(move |method| (dataset, method.info.name)));
    assert_eq!(cells, every.collect());
    for file in ["table.md", "table.tex", "table.csv", "spec.yaml", "plan.json"] {
        assert!(folder.path("results/quickstart").join(file).is_file(), "{file}");
    }
}
