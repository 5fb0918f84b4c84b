//! Promise: a run never damages results. What a folder was computed from stays known, even if a machine lacks data or a
//! run covers only a part.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::finished::*;
use crate::program::Folder;
use serde_json::{Value, json};

/// A clone with some of the published experiments and their results, and no data.
fn clone_of(experiments: &[&str]) -> Folder {
    let folder = Folder::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in experiments {
        let spec = fs::read(root.join(format!("experiments/{name}.yaml"))).unwrap();
        folder.write(&format!("experiments/{name}.yaml"), spec);
        let results = format!("results/{name}");
        copy(&root.join(&results), &folder.path(&results));
    }
    folder
}

#[test]
fn a_published_experiment_without_its_data() {
    let folder = clone_of(&["table2"]);
    let ended = changes_nothing(&folder, "run experiments/table2.yaml --offline", 3);
    assert_says(&ended.out, &["300 cells done, 0 failed, 0 skipped, 0 left"]);
    assert_says(
        last_line(&ended),
        &["60 cells cannot run here", "no `chg/Set1` and", "labicvl.github.io", "chg"],
    );
    assert_says(
        &ended.err,
        &[
            "the data of `usps` is not on this machine; SHA-256 of the data behind its 60 finished cells: 0ea9c12f7960",
            "300 of 300 cells are done, 0 to run",
        ],
    );
    let status = folder.run("status results/table2");
    assert_says(&status.out, &["300 of 360 cells done"]);
}

#[test]
fn narrower_runs_of_a_published_experiment_without_its_data() {
    let folder = clone_of(&["table2"]);
    for (only, code) in [
        ("--only dataset=pendigits", 0),
        ("--only dataset=pendigits --only split=0 --only method=svm", 0),
        ("--only dataset=usps", 0),
        ("--only dataset=chg", 3),
        ("--shard 1/4", 3),
        ("--shard 1/4 --only dataset=usps", 0),
        ("--dry-run", 3),
        ("--dry-run --only dataset=usps", 0),
    ] {
        let arguments = format!("run experiments/table2.yaml --offline {only}");
        changes_nothing(&folder, &arguments, code);
    }
    let check = changes_nothing(&folder, "check experiments/table2.yaml --offline", 3);
    assert_says(
        last_line(&check),
        &["360 cells, 300 done in results/table2, 60 cannot run here, 0 to run"],
    );
    changes_nothing(&folder, "render results/table2", 0);
    changes_nothing(&folder, "merge results/table2", 3);
}

#[test]
fn several_published_experiments_without_their_data() {
    let folder = clone_of(&["table2", "table2-tuned", "schemes", "fig-tsne"]);
    let specs = "experiments/table2.yaml experiments/table2-tuned.yaml experiments/schemes.yaml \
                 experiments/fig-tsne.yaml";
    let ended = changes_nothing(&folder, &format!("run {specs} --offline"), 3);
    assert_says(&ended.out, &["130 cells done, 0 failed, 0 skipped, 0 left"]);
}

#[test]
fn reusing_published_results_without_their_data() {
    let folder = clone_of(&["table2", "fair-comparison"]);
    let run = "run experiments/fair-comparison.yaml --reuse results/table2 --offline";
    let ended = changes_nothing(&folder, run, 3);
    assert_says(&ended.out, &["1050 cells done"]);
    // A new folder takes the hashes and splits from the results it reuses.
    let new = folder.run(&format!("{run} --only dataset=usps --out new"));
    assert_eq!(new.code, 3, "{}", new.err);
    assert_says(&new.err, &["50 cells reused from results/table2"]);
}

/// `scripts/reproduce` with the built program instead of cargo.
#[cfg(unix)]
#[test]
fn reproducing_published_experiments_without_their_data() {
    use std::os::unix::fs::PermissionsExt;
    let folder = clone_of(&["table2", "schemes", "fig-tsne"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(&root.join("scripts"), &folder.path("scripts"));
    let render = folder.run("render results/fig-tsne results/schemes results/table2");
    assert_eq!(render.code, 0, "{}", render.err);
    let program = env!("CARGO_BIN_EXE_npsvcpp");
    folder.write(
        "bin/cargo",
        format!("#!/bin/sh\n[ \"$1\" = build ] && exit 0\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec {program} \"$@\"\n"),
    );
    for script in ["bin/cargo", "scripts/reproduce"] {
        fs::set_permissions(folder.path(script), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let reproduce = |words: &[&str]| {
        let output = Command::new(folder.path("scripts/reproduce"))
            .args(words)
            .env("PATH", format!("{}:{path}", folder.path("bin").display()))
            .env("XDG_CACHE_HOME", folder.path("cache"))
            .env_remove("NPSVCPP_DATA")
            // No server answers there, so every download fails at once.
            .envs(
                ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, "http://127.0.0.1:9")),
            )
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    let before = files(&folder.path("results"));
    let (code, said) = reproduce(&["table2", "schemes", "fig-tsne"]);
    assert_eq!(code, Some(3), "{said}");
    assert_says(&said, &["not complete: table2"]);
    let none: [PathBuf; 0] = [];
    assert_eq!(differences(&before, &folder.path("results")), none, "{said}");
    // A page over some of the experiments would lose the others.
    let ended = folder.run("render results/table2 results/schemes");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(differences(&before, &folder.path("results")), none, "{}", ended.out);
    // To start over needs the data.
    let (code, said) = reproduce(&["--fresh", "schemes"]);
    assert_ne!(code, Some(0), "{said}");
    assert_says(&said, &["--fresh cannot compute `binalpha` again"]);
    assert_eq!(differences(&before, &folder.path("results")), none, "{said}");
}

#[test]
fn own_files_that_are_gone() {
    let folder = finished();
    let hash = hash_of(&folder, 0);
    fs::remove_file(folder.path("a.csv")).unwrap();
    let ended = changes_nothing(&folder, "run two.yaml", 0);
    assert_says(
        &ended.err,
        &[
            "the data of `a` is not on this machine; SHA-256 of the data behind its 6 finished cells",
            &hash[..12],
        ],
    );
    changes_nothing(&folder, "check two.yaml", 0);
    changes_nothing(&folder, "run two.yaml --only method=svm", 0);
    folder.write("two.yaml", format!("{SPEC}# A comment.\n"));
    changes_nothing(&folder, "run two.yaml", 0);
    // In another folder nothing is known about the file.
    let ended = folder.run("run two.yaml --out new");
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert_says(&ended.err, &["two.yaml:3", "a.csv"]);
}

#[test]
fn cells_that_cannot_run_here_are_counted_and_not_recorded() {
    let folder = Folder::new();
    folder.write("two.yaml", SPEC);
    folder.write("a.csv", table(0.0));
    folder.write("b.csv", table(0.5));
    assert_eq!(folder.run("run two.yaml --only split=0").code, 0);
    fs::remove_file(folder.path("a.csv")).unwrap();
    let before = fs::read(folder.path("results/two/ledger.jsonl")).unwrap();
    let ended = folder.run("run two.yaml");
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert_says(&ended.out, &["8 cells done, 0 failed, 0 skipped, 0 left"]);
    assert_says(last_line(&ended), &["4 cells cannot run here", "a.csv"]);
    let after = fs::read(folder.path("results/two/ledger.jsonl")).unwrap();
    assert!(after.starts_with(&before), "records are only appended");
    let text = String::from_utf8(after).unwrap();
    assert_eq!(text.lines().count(), 8);
    assert!(!text.contains("skipped"), "{text}");
    changes_nothing(&folder, "run two.yaml", 3);
    let quiet = changes_nothing(&folder, "run two.yaml --quiet", 3);
    assert_says(&quiet.err, &["4 cells cannot run here"]);
    // With the data, the rest runs.
    folder.write("a.csv", table(0.0));
    assert_eq!(folder.run("run two.yaml").code, 0);
}

#[test]
fn more_splits_of_data_that_is_gone() {
    let folder = finished();
    fs::remove_file(folder.path("a.csv")).unwrap();
    folder.write("two.yaml", SPEC.replace("repeats: 3", "repeats: 5"));
    let ended = folder.run("run two.yaml");
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert_says(&ended.out, &["16 cells done"]);
    assert_says(last_line(&ended), &["4 cells cannot run here"]);
    folder.write("a.csv", table(0.0));
    let ended = folder.run("run two.yaml");
    assert_says(&ended.err, &["16 of 20 cells are done, 4 to run"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
}

/// A changed spec would take the finished cells of absent data out of the table.
#[test]
fn another_spec_for_data_that_is_absent() {
    let folder = clone_of(&["table2"]);
    let spec = fs::read_to_string(folder.path("experiments/table2.yaml")).unwrap();
    folder.write("experiments/table2.yaml", spec.replace("seed: 2024", "seed: 7"));
    for command in ["run", "check", "run --only dataset=pendigits"] {
        let command = format!("{command} experiments/table2.yaml --offline");
        let ended = changes_nothing(&folder, &command, 2);
        assert_says(
            &ended.err,
            &[
                "the spec changed, so 60 finished cells of `binalpha` in results/table2 would leave the tables",
                "binaryalphadigs.mat",
                "--out",
            ],
        );
    }
    // One other parameter is enough.
    folder.write("experiments/table2.yaml", spec.replace("svm: {c: 1}", "svm: {c: 2}"));
    let ended = changes_nothing(&folder, "run experiments/table2.yaml --offline", 2);
    assert_says(&ended.err, &["so 10 finished cells of `binalpha`"]);
    // Without its plan, nobody knows which cells are whose.
    let plan = fs::read(folder.path("results/table2/plan.json")).unwrap();
    fs::remove_file(folder.path("results/table2/plan.json")).unwrap();
    folder.write("experiments/table2.yaml", &spec);
    let ended = changes_nothing(&folder, "run experiments/table2.yaml --offline", 2);
    assert_says(&ended.err, &["its plan.json cannot be read"]);
    folder.write("results/table2/plan.json", plan);
    // Without a method, the cells of the others stay in the table.
    let spec = spec.replace("  - svm: {c: 1}\n", "");
    folder.write("experiments/table2.yaml", spec);
    let ended = folder.run("run experiments/table2.yaml --offline");
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert_says(&ended.out, &["250 cells done"]);
}

#[test]
fn changed_data_is_announced_and_never_mixed() {
    let folder = finished();
    let (former, b) = (hash_of(&folder, 0), hash_of(&folder, 1));
    let old_rows = fs::read_to_string(folder.path("results/two/table.csv")).unwrap();
    folder.write("a.csv", table(100.0) + "5,5,p\n");
    let said = ["the data of `a` changed", &former[..12], "this machine has"];
    // Looking changes nothing.
    for command in ["run two.yaml --dry-run", "check two.yaml"] {
        let ended = changes_nothing(&folder, command, 0);
        assert_says(&ended.err, &said);
    }
    changes_nothing(&folder, "run two.yaml --only dataset=b", 0);
    // The first new cell of the dataset switches its row.
    let ended = folder.run("run two.yaml --only dataset=a --only split=0 --only method=svm");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_says(&ended.err, &said);
    let now = hash_of(&folder, 0);
    assert_ne!(now, former);
    assert_eq!(hash_of(&folder, 1), b);
    let rows = fs::read_to_string(folder.path("results/two/table.csv")).unwrap();
    let row = |text: &str, dataset: &str| -> Vec<String> {
        let is_row = |line: &&str| line.starts_with(&format!("{dataset},"));
        // The last column holds warnings about the whole table.
        let numbers = |line: &str| line.rsplit_once(',').unwrap().0.to_owned();
        text.lines().filter(is_row).map(numbers).collect()
    };
    assert_eq!(row(&rows, "b"), row(&old_rows, "b"));
    // One split of the SVM and none of the other method: nothing of the former six cells.
    let fields = |line: &str| -> Vec<String> { line.split(',').map(str::to_owned).collect() };
    let splits: Vec<String> =
        (row(&rows, "a").iter()).map(|line| fields(line)[3].clone()).collect();
    assert_eq!(splits, ["1", "0"], "{rows}");
    assert_eq!(
        folder.run("status results/two").out.lines().next().unwrap(),
        "two: 7 of 12 cells done"
    );
    // The splits of the former data stay known.
    let splits = json(&folder, "results/two/splits.json");
    assert_eq!(splits.as_object().unwrap().len(), 9);
    // The former data brings the former numbers back.
    folder.write("a.csv", table(0.0));
    assert_eq!(folder.run("run two.yaml").code, 0);
    assert_eq!(hash_of(&folder, 0), former);
    let rows = fs::read_to_string(folder.path("results/two/table.csv")).unwrap();
    assert_eq!(row(&rows, "a"), row(&old_rows, "a"));
}

/// Whether a cell fits into the memory is a matter of the machine, and a failure is not a number.
#[test]
fn only_a_finished_cell_switches_the_row_of_changed_data() {
    let folder = finished();
    let former = hash_of(&folder, 0);
    let old = fs::read(folder.path("results/two/table.csv")).unwrap();
    folder.write("a.csv", table(100.0));
    let ended = folder.run("run two.yaml --memory 1KB");
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert_eq!(hash_of(&folder, 0), former);
    let new = fs::read(folder.path("results/two/table.csv")).unwrap();
    assert_eq!(String::from_utf8(new).unwrap(), String::from_utf8(old).unwrap());
}

/// Every dataset is in the provenance with the data that its cells were computed from.
#[test]
fn provenance_names_the_data_of_each_run() {
    let folder = finished();
    folder.write("a.csv", table(100.0));
    folder.write("b.csv", table(200.0));
    assert_eq!(folder.run("run two.yaml --jobs 1").code, 0);
    let runs = json(&folder, "results/two/provenance.json")["runs"].clone();
    let last = runs.as_array().unwrap().last().unwrap();
    for dataset in [0, 1] {
        assert_eq!(last["data"][dataset]["sha256"], hash_of(&folder, dataset));
    }
    // A run that includes one dataset names one.
    folder.write("two.yaml", SPEC.replace("repeats: 3", "repeats: 4"));
    assert_eq!(folder.run("run two.yaml --only dataset=b").code, 0);
    let runs = json(&folder, "results/two/provenance.json")["runs"].clone();
    let last = runs.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["data"].as_array().unwrap().len(), 1);
    assert_eq!(last["data"][0]["name"], "b");
}

/// The spec may ask for fewer splits or datasets for a while.
#[test]
fn what_left_the_spec_is_remembered() {
    let folder = finished();
    let before = fs::read(folder.path("results/two/table.csv")).unwrap();
    fs::remove_file(folder.path("a.csv")).unwrap();
    let without = SPEC.replace("  - files: {name: a, train: a.csv}\n", "");
    for spec in [SPEC.replace("repeats: 3", "repeats: 2"), without] {
        folder.write("two.yaml", spec);
        assert_eq!(folder.run("run two.yaml").code, 0);
        folder.write("two.yaml", SPEC);
        let ended = folder.run("run two.yaml");
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        assert_eq!(fs::read(folder.path("results/two/table.csv")).unwrap(), before);
    }
}

/// Another spec takes finished cells out of the tables; a part of it must not do that to the rest.
#[test]
fn cells_that_leave_the_tables_are_announced() {
    let folder = finished();
    folder.write("two.yaml", format!("seed: 7\n{SPEC}"));
    let only = "run two.yaml --only dataset=b --only split=0";
    let ended = changes_nothing(&folder, only, 2);
    assert_says(
        &ended.err,
        &["the spec changed, so 10 finished cells in results/two would leave the tables", "--out"],
    );
    for command in ["check two.yaml", "run two.yaml --dry-run"] {
        let ended = changes_nothing(&folder, command, 0);
        assert_says(
            &ended.err,
            &["the spec changed: 12 finished cells in results/two leave the tables"],
        );
    }
    folder.write("two.yaml", SPEC.replace("repeats: 3", "repeats: 2"));
    let ended = folder.run("run two.yaml");
    assert_says(
        &ended.err,
        &["the spec changed: 4 finished cells in results/two leave the tables"],
    );
    // More of everything takes nothing away.
    folder.write("two.yaml", SPEC);
    let ended = folder.run("run two.yaml --only dataset=b");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.err.contains("the spec changed"), "{}", ended.err);
}

#[test]
fn tables_whose_ledger_is_gone_are_kept() {
    let folder = finished();
    let path = folder.path("results/two/ledger.jsonl");
    let bytes = fs::read(&path).unwrap();
    for text in [None, Some("")] {
        match text {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        for command in ["run two.yaml", "render results/two", "check two.yaml"] {
            let ended = changes_nothing(&folder, command, 2);
            assert_says(&ended.err, &["results/two has no ledger any more", "--fresh"]);
        }
    }
    fs::write(&path, bytes).unwrap();
    changes_nothing(&folder, "run two.yaml", 0);
}

#[test]
fn figures_whose_traces_are_gone_are_kept() {
    let folder = clone_of(&["fig-convergence"]);
    let traces = folder.path("results/fig-convergence/traces");
    fs::rename(&traces, folder.path("traces")).unwrap();
    for command in
        ["run experiments/fig-convergence.yaml --offline", "render results/fig-convergence"]
    {
        let ended = changes_nothing(&folder, command, 1);
        assert_says(&ended.err, &["figures/", "cannot be drawn again", "restore"]);
    }
    fs::rename(folder.path("traces"), &traces).unwrap();
    changes_nothing(&folder, "render results/fig-convergence", 0);
}

#[test]
fn damaged_descriptions_are_never_replaced() {
    for name in ["splits.json", "provenance.json"] {
        let folder = finished();
        let path = format!("results/two/{name}");
        let text = fs::read_to_string(folder.path(&path)).unwrap();
        folder.write(&path, format!("<<<<<<< HEAD\n{text}"));
        let ended = changes_nothing(&folder, "run two.yaml", 2);
        assert_says(&ended.err, &[&path, "is damaged", "restore it, or delete it"]);
    }
}

#[test]
fn data_that_cannot_be_read_changes_nothing() {
    let folder = finished();
    let text = table(0.0);
    for bad in ["", "x,y,label\n", &text[..text.len() - 3]] {
        folder.write("a.csv", bad);
        let ended = changes_nothing(&folder, "run two.yaml", 2);
        assert_says(&ended.err, &["a.csv"]);
    }
}

#[test]
fn provenance_lists_the_runs_that_recorded_cells() {
    let folder = Folder::new();
    folder.write("two.yaml", SPEC);
    folder.write("a.csv", table(0.0));
    folder.write("b.csv", table(0.5));
    for (command, runs) in [
        ("run two.yaml --only dataset=a", 1),
        ("run two.yaml --only dataset=a", 1),
        ("run two.yaml --jobs 1", 2),
        ("run two.yaml", 2),
    ] {
        assert_eq!(folder.run(command).code, 0);
        let provenance = json(&folder, "results/two/provenance.json");
        assert_eq!(provenance["runs"].as_array().unwrap().len(), runs, "{command}");
    }
    // A folder of version 0.1 has no such list: its keys at the top are the first run.
    let mut provenance = json(&folder, "results/two/provenance.json");
    provenance.as_object_mut().unwrap().remove("runs");
    provenance["git"] = json!("abcdef");
    folder.write("results/two/provenance.json", provenance.to_string());
    folder.write("two.yaml", SPEC.replace("repeats: 3", "repeats: 4"));
    assert_eq!(folder.run("run two.yaml").code, 0);
    let after = json(&folder, "results/two/provenance.json");
    for key in ["git", "machine", "data", "last_started"] {
        assert_eq!(after[key], provenance[key], "{key}");
    }
    assert_eq!(after["runs"].as_array().unwrap().len(), 2);
    assert_eq!(after["runs"][0]["git"], "abcdef");
}

#[test]
fn a_folder_that_version_0_1_damaged_is_repaired() {
    let folder = finished();
    let before = files(&folder.path("results"));
    // Version 0.1, run without a.csv: the row forgets its data, its splits are gone, skips are recorded.
    let mut plan = json(&folder, "results/two/plan.json");
    let row = &mut plan["datasets"][0];
    let reason = "no copy of `a` on this machine; get it from elsewhere";
    *row = json!({
        "name": "a", "unavailable": reason, "hash": "", "samples": 0, "dims": 0, "classes": [], "class_counts": [],
        "n_train": 0, "n_test": 0, "splits": ["split 0", "split 1", "split 2"],
    });
    let ledger = fs::read_to_string(folder.path("results/two/ledger.jsonl")).unwrap();
    let mut damaged = ledger.clone();
    for cell in plan["cells"].as_array_mut().unwrap() {
        if cell["dataset"] == 0 {
            let line = ledger.lines().find(|line| line.contains(cell["cell"].as_str().unwrap()));
            let mut record: Value = serde_json::from_str(line.unwrap()).unwrap();
            let placeholder = format!("damaged{}{}", cell["method"], cell["split"]);
            cell["cell"] = json!(placeholder);
            record["cell"] = json!(placeholder);
            record["status"] = json!("skipped");
            record["accuracy"] = Value::Null;
            record["error"] = json!(reason);
            damaged += &(record.to_string() + "\n");
        }
    }
    let mut splits = json(&folder, "results/two/splits.json");
    splits.as_object_mut().unwrap().retain(|_, split| split["dataset"] == "b");
    let mut provenance = json(&folder, "results/two/provenance.json");
    provenance.as_object_mut().unwrap().remove("runs");
    provenance["data"][0]["sha256"] = json!("");
    for (name, text) in [
        ("plan.json", plan.to_string()),
        ("ledger.jsonl", damaged),
        ("splits.json", splits.to_string()),
        ("provenance.json", provenance.to_string()),
    ] {
        folder.write(&format!("results/two/{name}"), text);
    }
    assert_eq!(folder.run("render results/two").code, 0);
    // Without the data there is nothing to repair it with, and nothing more is lost.
    fs::rename(folder.path("a.csv"), folder.path("away.csv")).unwrap();
    let ended = changes_nothing(&folder, "run two.yaml", 2);
    assert_says(&ended.err, &["a.csv"]);
    fs::rename(folder.path("away.csv"), folder.path("a.csv")).unwrap();
    let ended = folder.run("run two.yaml");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.out.contains("ignored"), "{}", ended.out);
    let provenance = json(&folder, "results/two/provenance.json");
    assert_eq!(provenance["data"][0]["sha256"], hash_of(&folder, 0));
    // Except for the ledger, which keeps the skips, and the lists of what was computed when, all is as it was.
    let changed = differences(&before, &folder.path("results"));
    let expected =
        ["two/ledger.jsonl", "two/outputs.json", "two/provenance.json"].map(PathBuf::from);
    assert!(changed.iter().all(|name| expected.contains(name)), "{changed:?}");
}

#[test]
fn files_that_are_deleted_come_back() {
    for name in ["splits.json", "spec.yaml", "provenance.json", "plan.json"] {
        let folder = finished();
        let before = files(&folder.path("results"));
        fs::remove_file(folder.path("results/two").join(name)).unwrap();
        assert_eq!(folder.run("run two.yaml").code, 0, "{name}");
        let changed = differences(&before, &folder.path("results"));
        // A provenance made from the ledger knows less about the machine.
        let is_expected =
            |file: &PathBuf| name == "provenance.json" && !file.ends_with("table.csv");
        assert!(changed.iter().all(is_expected), "{name}: {changed:?}");
        assert!(folder.path("results/two").join(name).exists());
    }
}

#[test]
fn a_folder_of_another_experiment_is_refused() {
    let folder = finished();
    folder.write("other.yaml", SPEC.replace("name: two", "name: other"));
    let said = ["results/two holds the experiment `two`, not `other`", "--out"];
    for command in ["run other.yaml --out results/two", "run other.yaml --out results/two --fresh"]
    {
        assert_says(&changes_nothing(&folder, command, 2).err, &said);
    }
    // Without a plan, the ledger knows whose it is.
    fs::remove_file(folder.path("results/two/plan.json")).unwrap();
    assert_says(&changes_nothing(&folder, "run other.yaml --out results/two", 2).err, &said);
    let other = folder.run("run other.yaml");
    assert_eq!(other.code, 0, "{}", other.err);
    let ended = folder.run("merge results/other --out results/two");
    assert_eq!(ended.code, 2, "{}", ended.err);
}

#[test]
fn merging_takes_what_each_folder_knows() {
    let folder = Folder::new();
    folder.write("two.yaml", SPEC.replace("  - files: {name: b, train: b.csv}\n", "  - usps\n"));
    folder.write("a.csv", table(0.0));
    // One machine has a.csv only; of the other one, which had usps, this is what its plan says.
    assert_eq!(folder.run("run two.yaml --offline --out one").code, 3);
    copy(&folder.path("one"), &folder.path("two"));
    let mut plan = json(&folder, "two/plan.json");
    let row = plan["datasets"][1].as_object_mut().unwrap();
    row.remove("unavailable");
    row.insert("hash".to_owned(), json!("ab"));
    for cell in plan["cells"].as_array_mut().unwrap() {
        if cell["dataset"] == 1 {
            cell["cell"] = json!(format!("usps{}{}", cell["method"], cell["split"]));
        }
    }
    folder.write("two/plan.json", plan.to_string());
    folder.write("two/splits.json", r#"{"s": {"dataset": "usps"}}"#);
    let mut provenance = json(&folder, "two/provenance.json");
    provenance["runs"][0]["git"] = json!("abcdef");
    folder.write("two/provenance.json", provenance.to_string());
    let ended = folder.run("merge one two");
    assert_eq!(ended.code, 3, "{}", ended.err);
    let merged = json(&folder, "one/plan.json");
    assert_eq!(merged["datasets"], plan["datasets"]);
    assert_eq!(merged["cells"], plan["cells"]);
    assert_eq!(json(&folder, "one/splits.json").as_object().unwrap().len(), 4);
    assert_eq!(json(&folder, "one/provenance.json")["runs"].as_array().unwrap().len(), 2);
}

/// Cells of another spec are other cells, even where the methods have the same names.
#[test]
fn merging_never_mixes_parameters() {
    let folder = Folder::new();
    let spec = SPEC.replace("  - files: {name: b, train: b.csv}\n", "  - usps\n");
    folder.write("two.yaml", &spec);
    folder.write("a.csv", table(0.0));
    assert_eq!(folder.run("run two.yaml --offline --out one").code, 3);
    copy(&folder.path("one"), &folder.path("other"));
    let mut plan = json(&folder, "other/plan.json");
    let row = plan["datasets"][1].as_object_mut().unwrap();
    row.remove("unavailable");
    row.insert("hash".to_owned(), json!("ab"));
    plan["experiment"]["methods"][0]["fixed"] = json!({"c": 0.01});
    folder.write("other/plan.json", plan.to_string());
    let before = json(&folder, "one/plan.json")["datasets"].clone();
    assert_eq!(folder.run("merge one other").code, 3);
    assert_eq!(json(&folder, "one/plan.json")["datasets"], before);
}

/// A shard on a machine without the data of another shard ends last.
#[test]
fn a_shard_keeps_what_another_one_knows() {
    let folder = Folder::new();
    folder.write("two.yaml", SPEC.replace("  - files: {name: b, train: b.csv}\n", "  - usps\n"));
    folder.write("a.csv", table(0.0));
    assert_eq!(folder.run("run two.yaml --offline --shard 1/2").code, 3);
    // What a shard with the data of usps writes.
    let mut plan = json(&folder, "results/two/plan.json");
    let row = plan["datasets"][1].as_object_mut().unwrap();
    row.remove("unavailable");
    row.insert("hash".to_owned(), json!("ab"));
    folder.write("results/two/plan.json", plan.to_string());
    assert_eq!(folder.run("run two.yaml --offline --shard 2/2").code, 3);
    assert_eq!(json(&folder, "results/two/plan.json")["datasets"], plan["datasets"]);
    let runs = |shard: &str| {
        json(&folder, &format!("results/two/shards/{shard}.provenance.json"))["runs"].clone()
    };
    assert_eq!(runs("1-of-2")[0]["shard"], "1-of-2");
    assert_eq!(folder.run("merge results/two").code, 3);
    let runs = json(&folder, "results/two/provenance.json")["runs"].clone();
    assert_eq!(runs.as_array().unwrap().len(), 2);
}

#[test]
fn the_index_page_comes_back_and_keeps_its_experiments() {
    let folder = clone_of(&["schemes", "fig-tsne", "fig-convergence"]);
    let render = "render results/schemes results/fig-tsne";
    assert_eq!(folder.run(render).code, 0);
    let before = files(&folder.path("results"));
    for command in [
        "run experiments/fig-tsne.yaml --offline",
        "render results/fig-convergence",
        "merge results/schemes",
    ] {
        fs::remove_file(folder.path("results/index.html")).unwrap();
        assert_eq!(folder.run(command).code, 0, "{command}");
        let none: [PathBuf; 0] = [];
        assert_eq!(differences(&before, &folder.path("results")), none, "{command}");
    }
    // A page over more experiments has them all.
    assert_eq!(folder.run("render results/fig-convergence results/fig-tsne").code, 0);
    let page = fs::read_to_string(folder.path("results/index.html")).unwrap();
    assert_says(
        &page,
        &["schemes/report.html", "fig-tsne/report.html", "fig-convergence/report.html"],
    );
}

/// Rendering takes plan and ledger as they are, also while a run is not finished.
#[test]
fn rendering_in_between_narrows_nothing() {
    let folder = Folder::new();
    folder.write("two.yaml", SPEC);
    folder.write("a.csv", table(0.0));
    folder.write("b.csv", table(0.5));
    assert_eq!(folder.run("run two.yaml --only split=0").code, 0);
    changes_nothing(&folder, "render results/two", 0);
    assert_eq!(folder.run("run two.yaml").code, 0);
    let whole = finished();
    let table = |folder: &Folder| fs::read(folder.path("results/two/table.csv")).unwrap();
    assert_eq!(table(&folder), table(&whole));
}
