//! Promise: what the program says about an experiment is true. Each test here tells the story of a sentence or a number
//! that was not.

use std::fs;
#[cfg(unix)]
use std::path::Path;

use npsvcpp::data::Store;
use npsvcpp::ledger::Plan;
use npsvcpp::plan::{self, Part, Prepared};
use npsvcpp::spec;

use crate::finished::assert_says;
use crate::program::Folder;
use crate::tiny;

/// 60 % of the samples were in the training file by chance, and the program called the split random.
#[test]
fn a_split_that_comes_with_the_data_is_never_called_random() {
    let folder = Folder::new();
    let points = tiny::clouds(40);
    let (header, rows) = points.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    folder.write("train.csv", format!("{header}\n{}\n", rows[..24].join("\n")));
    folder.write("test.csv", format!("{header}\n{}\n", rows[24..].join("\n")));
    let spec = "name: own\ndatasets:\n  - files: {name: one, train: train.csv, test: test.csv}\n\
                splits: {repeats: 1, train_fraction: 0.6}\nmethods: [lstwsvm]\n";
    folder.write("own.yaml", spec);
    let ended = folder.run("run own.yaml --offline --out out");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let table = fs::read_to_string(folder.path("out/table.md")).unwrap();
    assert_says(&table, &["the predefined split of one"]);
    assert!(!table.contains("random"), "{table}");
    // Without the data, more repeats are not more splits.
    fs::remove_file(folder.path("train.csv")).unwrap();
    folder.write("own.yaml", spec.replace("repeats: 1", "repeats: 5"));
    let ended = folder.run("run own.yaml --offline --out out");
    assert_eq!(ended.code, 0, "{}", ended.out);
    assert_says(&ended.err, &["1 of 1 cells are done, 0 to run"]);
}

/// A folder in the place of a shard's ledger was reported as a failure to write a record.
#[test]
fn a_ledger_that_cannot_be_read_is_not_called_one_that_cannot_be_written() {
    let folder = tiny::folder(1);
    assert_eq!(folder.run("run tiny.yaml --offline --out out").code, 0);
    fs::create_dir_all(folder.path("out/shards/1-of-2.jsonl")).unwrap();
    for command in ["run tiny.yaml --offline --out out", "status out", "render out", "merge out"] {
        let ended = folder.run(command);
        assert_ne!(ended.code, 0);
        assert_says(&ended.err, &["cannot read out/shards/1-of-2.jsonl: "]);
        assert!(!ended.err.contains("record a cell"), "{}", ended.err);
    }
}

/// A later version may add keys to specs. Its plan could not be rendered, and a run replaced it without a word.
#[test]
fn a_plan_with_unknown_keys_is_read_and_a_plan_that_is_damaged_is_announced() {
    let folder = tiny::folder(1);
    assert_eq!(folder.run("run tiny.yaml --offline --out out").code, 0);
    let text = fs::read_to_string(folder.path("out/plan.json")).unwrap();
    let later = text.replacen("\"seed\":", "\"scale\": \"none\", \"seed\":", 1);
    assert_ne!(later, text);
    folder.write("out/plan.json", &later);
    for command in ["render out", "status out", "run tiny.yaml --offline --out out"] {
        let ended = folder.run(command);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(!ended.err.contains("warning"), "{}", ended.err);
    }
    assert_eq!(fs::read_to_string(folder.path("out/plan.json")).unwrap(), later);

    folder.write("out/plan.json", &text[..text.len() / 2]);
    assert_ne!(folder.run("render out").code, 0);
    let ended = folder.run("run tiny.yaml --offline --out out");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let said =
        ["warning: cannot read out/plan.json: ", "a run replaces this file by the plan of the"];
    assert_says(&ended.err, &said);
    assert_eq!(fs::read_to_string(folder.path("out/plan.json")).unwrap(), text);
}

/// Data that is absent and comes with its own split was planned with as many splits as are drawn of other data, so the
/// number of cells changed once it was there.
#[test]
fn absent_data_with_its_own_split_has_one() {
    let folder = tiny::folder(3);
    let absent = "  - flowers102-resnet50\nsplits";
    folder.write("tiny.yaml", tiny::spec(3).replacen("splits", absent, 1));
    let ended = folder.run("run tiny.yaml --offline --out out");
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert_says(&ended.out, &["12 cells done", "2 cells cannot run here"]);
    let plan = Plan::read(&folder.path("out")).unwrap();
    assert_eq!(plan.datasets[2].splits.len(), 1);
}

/// The estimate of memory depended on the threads of whoever asked for it.
#[test]
fn an_estimate_depends_on_the_threads_of_the_job_only() {
    let text = "name: x\ndatasets: [optdigits: {subsample: 500}]\nmethods: [svm]\n";
    let spec = spec::parse(text, "x.yaml").unwrap();
    let store = Store::new(None, true).for_plan();
    let Ok(prepared) = plan::prepare(&spec, &store, &[], &Part::default(), &|_| ()) else {
        panic!("a sound spec")
    };
    let prepared: &Prepared = &prepared;
    let estimate = |asking: usize, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(asking).build().unwrap();
        pool.install(|| plan::estimate(prepared, &prepared.plan.cells, threads).bytes)
    };
    assert_eq!(estimate(1, 2), estimate(3, 2));
    assert!(estimate(1, 1) < estimate(1, 2));
}

/// `jitter` was accepted next to a pivoted factor, which does not have any.
#[test]
fn a_key_without_effect_is_named() {
    let folder = tiny::folder(1);
    let said = "`jitter` has no effect, because `factor` is pivoted";
    for (rest, is_named) in [
        ("jitter: 1e-4\nfactor: pivoted\n", true),
        ("jitter: 1e-4\nfactor: full\n", false),
        ("jitter: 1e-4\n", false),
        ("factor: pivoted\n", false),
    ] {
        folder.write("tiny.yaml", tiny::spec(1) + rest);
        for command in ["check tiny.yaml", "run tiny.yaml --offline --dry-run --out out"] {
            let ended = folder.run(command);
            assert_eq!(ended.err.contains(said), is_named, "{rest}{}", ended.err);
        }
    }
}

/// A worker process that never got its data loaded was waited for without end.
#[cfg(unix)]
#[test]
fn a_worker_that_never_begins_is_stopped() {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use npsvcpp::run::{self, Isolation, RunOptions};

    let folder = Folder::new();
    folder.write("silent", "#!/bin/sh\nexec sleep 600\n");
    let program = folder.path("silent");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = "name: x\ndatasets: [optdigits: {subsample: 100}]\nsplits: {repeats: 1}\n\
                methods: [lstwsvm, gepsvm]\n";
    let spec = spec::parse(text, "x.yaml").unwrap();
    let store = Store::new(None, true);
    let Ok(prepared) = plan::prepare(&spec, &store, &[], &Part::default(), &|_| ()) else {
        panic!("a sound spec")
    };
    let loading = Duration::from_millis(300);
    let options = RunOptions {
        out: folder.path("out"),
        jobs: 1,
        threads: Some(1),
        memory: f64::INFINITY,
        part: Part::default(),
        retry_failed: false,
        fail_fast: false,
        reuse: Vec::new(),
        isolation: Some(Isolation { program, data: None, timeout: None, loading }),
        devices: vec!["cpu".to_owned()],
    };
    let outcome = run::run(&prepared, &options, &|_| (), &AtomicBool::new(false)).unwrap();
    assert_eq!((outcome.tally.failed, outcome.tally.done), (2, 0));
    let ledger = npsvcpp::ledger::Ledger::read(Path::new(&options.out)).unwrap();
    for record in ledger.records() {
        let error = record.error.as_deref();
        assert_eq!(error, Some("did not begin within 300ms, and its worker process was stopped"));
    }
}

/// Whoever watched a run heard of a record that was not written yet.
#[cfg(feature = "failpoints")]
#[test]
fn a_cell_is_reported_after_its_record_is_written() {
    let folder = tiny::folder(1);
    for written in 0..4 {
        let out = format!("out-{written}");
        let arguments = format!("run tiny.yaml --offline --jobs 1 --out {out}");
        let ended = folder.run_failing(&arguments, "append", written, "full");
        let said = String::from_utf8(ended.stderr).unwrap();
        // Lines that follow each other quickly are left out.
        let counts = said.lines().filter_map(|line| line.strip_prefix('[')?.split('/').next());
        let reported = counts.map(|count| count.parse().unwrap()).max().unwrap_or(0);
        assert!(reported <= written, "{said}");
        assert!(said.contains("No space left on device"), "{said}");
    }
}

/// A trace was written in place, before its record: a killed run left half of it.
#[cfg(feature = "failpoints")]
#[test]
fn a_trace_is_whole_or_not_there() {
    let folder = Folder::new();
    let spec = "name: x\ndatasets: [optdigits: {subsample: 80}]\nsplits: {repeats: 1}\n\
                methods: [k-npsvcpp: {max_iter: 3, tolerance: 0}]\nrecord: [evolution, embedding]\n";
    folder.write("x.yaml", spec);
    let mut killed = 0;
    loop {
        let out = format!("out-{killed}");
        let arguments = format!("run x.yaml --offline -q --out {out}");
        let ended = folder.run_failing(&arguments, "replace", killed, "kill");
        for kind in ["traces", "embeddings"] {
            let entries = fs::read_dir(folder.path(&format!("{out}/{kind}"))).into_iter().flatten();
            let names = entries.map(|entry| entry.unwrap().path());
            for path in names.filter(|path| !path.to_string_lossy().contains(".replacing-")) {
                let text = fs::read_to_string(&path).unwrap();
                for line in text.lines() {
                    assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
                }
                assert!(!text.is_empty());
            }
        }
        if ended.status.success() {
            break;
        }
        killed += 1;
    }
    assert!(killed > 5, "{killed}");
}
