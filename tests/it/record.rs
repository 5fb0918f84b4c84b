//! Recordings that a spec asks for are next to the ledger, agree with it, and are drawn.

use std::fs;

use crate::program::Folder;
use serde_json::Value;

const SPEC: &str = "\
name: small
datasets: [optdigits: {subsample: 80}]
splits: {repeats: 2, train_fraction: 0.6}
methods: [lstwsvm, k-npsvcpp: {max_iter: 3, tolerance: 0}]
";

fn records(folder: &Folder) -> Vec<Value> {
    let text = fs::read_to_string(folder.path("results/small/ledger.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn cell<'a>(records: &'a [Value], method: &str, split: u64) -> &'a Value {
    let mut records = records.iter();
    let found = records.find(|record| record["method"] == method && record["split"] == split);
    found.expect("every cell was run")
}

fn trace(folder: &Folder, record: &Value) -> Vec<Value> {
    let name = record["cell"].as_str().unwrap();
    let text =
        fs::read_to_string(folder.path(&format!("results/small/traces/{name}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn missing_recordings_are_reported_and_others_reused() {
    let folder = Folder::new();
    folder.write("plain.yaml", SPEC);
    folder.write("spec.yaml", format!("{SPEC}record: [evolution, embedding]\n"));
    let run = |arguments: &str| {
        let ended = folder.run(arguments);
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        ended.err
    };
    assert!(!run("run plain.yaml --out plain").contains("warning"));
    let said =
        "warning: 1 cell done without the recordings that `record` requests will not run again";
    assert!(run("run spec.yaml --out plain").contains(said));
    let taken = run("run spec.yaml --out recorded --reuse plain");
    assert!(taken.contains("3 cells reused from plain"), "{taken}");
    let taken = run("run spec.yaml --out again --reuse recorded");
    assert!(taken.contains("4 cells reused from recorded"), "{taken}");
    assert!(!taken.contains("warning: "), "{taken}");
    assert!(folder.path("again/figures/embedding.svg").exists());
}

#[test]
fn the_evolution_ends_where_the_fit_does() {
    let folder = Folder::new();
    folder.write("spec.yaml", format!("{SPEC}record: [evolution, embedding]\n"));
    let ended = folder.run("--quiet run spec.yaml");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let records = records(&folder);
    let first = cell(&records, "k-npsvcpp", 0);
    let trace_of_first = trace(&folder, first);
    assert_eq!(trace_of_first.len(), 3);
    assert!(trace_of_first.iter().all(|row| row["accuracy"].is_number()));
    assert_eq!(trace_of_first[2]["accuracy"], first["accuracy"]);
    let second = trace(&folder, cell(&records, "k-npsvcpp", 1));
    assert!(second.iter().all(|row| row.get("accuracy").is_none()), "only the first split's");

    let name = first["cell"].as_str().unwrap();
    let text =
        fs::read_to_string(folder.path(&format!("results/small/embeddings/{name}.json"))).unwrap();
    let map: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(map["labels"].as_array().unwrap().len(), 32, "the test samples");
    assert_eq!((&map["raw"]["dims"], &map["learnt"]["dims"]), (&64.into(), &20.into()));
    for name in ["convergence", "embedding"] {
        assert!(folder.path(&format!("results/small/figures/{name}.svg")).exists(), "{name}");
    }
}

#[test]
fn nothing_is_recorded_unasked_and_numbers_do_not_depend_on_it() {
    let (plain, recorded) = (Folder::new(), Folder::new());
    plain.write("spec.yaml", SPEC);
    recorded.write("spec.yaml", format!("{SPEC}record: [evolution]\n"));
    for folder in [&plain, &recorded] {
        assert_eq!(folder.run("--quiet run spec.yaml").code, 0);
    }
    assert!(!plain.path("results/small/embeddings").exists());
    let (plain, recorded) = (records(&plain), records(&recorded));
    for record in &plain {
        let method = record["method"].as_str().unwrap();
        let same = cell(&recorded, method, record["split"].as_u64().unwrap());
        assert_eq!((&record["cell"], &record["accuracy"]), (&same["cell"], &same["accuracy"]));
    }
}

#[test]
fn what_cannot_be_recorded_is_refused_by_name() {
    let folder = Folder::new();
    folder.write("spec.yaml", format!("{SPEC}record: [evolutions]\n"));
    let ended = folder.run("check spec.yaml");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("did you mean `evolution`?"), "{}", ended.err);
}

#[test]
fn several_folders_are_rendered_with_an_index_and_files_among_them_passed_over() {
    let folder = Folder::new();
    folder.write("a.yaml", SPEC);
    folder.write("b.yaml", SPEC.replace("name: small", "name: other"));
    assert_eq!(folder.run("--quiet run a.yaml b.yaml").code, 0);
    let index = folder.path("results/index.html");
    assert!(!index.exists());
    let both = "--quiet render results/other results/small";
    assert_eq!(folder.run(both).code, 0);
    let page = fs::read_to_string(&index).unwrap();
    assert!(
        page.contains("href=\"other/report.html\"") && page.contains("href=\"small/report.html\"")
    );
    // The second time `results/*` names the index page, too.
    let ended = folder.run("--quiet render results/index.html results/other results/small");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.is_empty(), "quiet: {}", ended.out);
    assert_eq!(page, fs::read_to_string(&index).unwrap());
}
