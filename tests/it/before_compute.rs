//! Promise: all errors in specs and data are reported at once, with their places, before anything is computed.

use crate::program::Folder;
use npsvcpp::ledger::Record;

fn spec(name: &str, datasets: &str, rest: &str) -> String {
    format!("name: {name}\ndatasets:\n{datasets}\nsplits: {{repeats: 1}}\nmethods: [svm]\n{rest}")
}

fn folder() -> Folder {
    let folder = Folder::new();
    let rows = (0..30).map(|i| format!("{} 1:{i} 2:{}\n", i % 2, i * i % 7));
    folder.write("own.txt", rows.collect::<String>());
    let good = "  - files: {name: own, train: own.txt}";
    folder.write("good.yaml", spec("good", good, ""));
    folder
}

#[test]
fn no_spec_is_run_unless_all_can_be() {
    let folder = folder();
    let bad = "  - files: {name: gone, train: gone.txt}";
    folder.write("bad.yaml", spec("bad", bad, ""));
    let run = folder.run("run good.yaml bad.yaml --offline -q");
    assert_eq!(run.code, 2);
    assert!(run.err.starts_with("bad.yaml:3:32: failed to read gone.txt: "), "{}", run.err);
    assert!(!folder.path("results").exists());
}

#[test]
fn all_bad_files_are_reported_at_once() {
    let folder = folder();
    folder.write("odd.csv", "1,a\n2,b\nx,a\n3,b\n");
    let datasets = "  - files: {name: gone, train: gone.txt}
  - optdigits: {subsample: 100}
  - files: {name: odd, train: odd.csv}
  - files: {name: half, train: own.txt, test: away.txt}
  - files: {name: idle, train: own.txt, label: species}";
    folder.write("bad.yaml", spec("bad", datasets, ""));
    let run = folder.run("check bad.yaml --offline -q");
    assert_eq!(run.code, 2);
    let lines: Vec<&str> = run.err.lines().collect();
    let expected = [
        "bad.yaml:3:32: failed to read gone.txt: ",
        "bad.yaml:5:31: odd.csv:3, field 1: found `x`, expected a finite number; encode text as numbers, or leave",
        "bad.yaml:6:47: failed to read away.txt: ",
        "bad.yaml:7:32: own.txt: found `label: species`, expected no `label`",
    ];
    assert_eq!(lines.len(), expected.len(), "{}", run.err);
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}\n{expected}");
    }
}

#[test]
fn a_dry_run_ends_as_check_does() {
    let folder = folder();
    folder.write("part.yaml", spec("part", "  - binalpha\n  - optdigits", ""));
    for (file, code) in [("good.yaml", 0), ("part.yaml", 3)] {
        let check = folder.run(&format!("check {file} --offline -q"));
        let dry = folder.run(&format!("run {file} --offline -q --dry-run"));
        assert_eq!((check.code, dry.code), (code, code), "{file}: {}", dry.err);
        assert_eq!(check.out, dry.out);
    }
    assert!(!folder.path("results").exists());
}

/// An empty folder is not data that someone put there.
#[test]
fn an_empty_folder_is_missing_data() {
    let folder = folder();
    folder.write("data/chg/readme.txt", "to be filled");
    folder.write("hands.yaml", spec("hands", "  - chg\n  - optdigits: {subsample: 50}", ""));
    let run = folder.run("run hands.yaml --offline -q --data data");
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.out.contains("no copy of `chg` on this machine"), "{}", run.out);
}

#[test]
fn a_table_the_paper_does_not_have_is_refused() {
    let folder = folder();
    let good = "  - files: {name: own, train: own.txt}";
    folder.write("spec.yaml", spec("spec", good, "reproduces: {table: 99}\n"));
    let run = folder.run("check spec.yaml --offline -q");
    let said = "spec.yaml:6:21: `reproduces.table` is 99, which is not a known table of \
                the paper, expected one of `2`, `3`\n";
    assert_eq!((run.code, run.err.as_str()), (2, said));
    folder.write("spec.yaml", spec("spec", good, "reproduces: {table: 2}\n"));
    assert_eq!(folder.run("check spec.yaml --offline -q").code, 0);
}

#[test]
fn render_selects_what_is_written() {
    let folder = folder();
    let good = "  - files: {name: own, train: own.txt}";
    let written = |render: &str| {
        folder.write("spec.yaml", spec("spec", good, render));
        let out = format!("out-{}", render.len());
        let run = folder.run(&format!("run spec.yaml --offline -q --out {out}"));
        assert_eq!(run.code, 0, "{}", run.err);
        ["table.md", "table.csv", "figures"].map(|file| folder.path(&out).join(file).exists())
    };
    assert_eq!(written(""), [true; 3]);
    assert_eq!(written("render: [table]\n"), [true, true, false]);
    assert_eq!(written("render: [figures]\n"), [false, false, true]);
    folder.write("spec.yaml", spec("spec", good, "render: [table, critical-diference]\n"));
    let run = folder.run("check spec.yaml --offline -q");
    assert_eq!(run.code, 2);
    let said = "spec.yaml:6:17: unknown value `critical-diference`";
    assert!(run.err.starts_with(said), "{}", run.err);
    assert!(run.err.contains("did you mean `critical-difference`?"), "{}", run.err);
}

/// The spec may come through a pipe, which is read only once.
#[test]
fn the_spec_is_kept_with_the_results() {
    let folder = folder();
    let text = std::fs::read_to_string(folder.path("good.yaml")).unwrap();
    let mut command = assert_cmd::Command::from(folder.command("run /dev/stdin --offline -q"));
    let output = command.write_stdin(text.clone()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = std::fs::read_to_string(folder.path("results/good/spec.yaml")).unwrap();
    assert_eq!(kept, text);
}

#[test]
fn a_damaged_plan_is_reported() {
    let folder = folder();
    assert_eq!(folder.run("run good.yaml --offline -q").code, 0);
    let plan = std::fs::read_to_string(folder.path("results/good/plan.json")).unwrap();
    for (key, number) in [("dataset", 7), ("method", 9), ("split", 3)] {
        let sound = format!("\"{key}\": 0");
        assert!(plan.contains(&sound), "{plan}");
        let damaged = plan.replacen(&sound, &format!("\"{key}\": {number}"), 1);
        folder.write("results/good/plan.json", damaged);
        let said = format!("cell 0 of plan.json names {key} {number}, expected one below 1");
        for command in ["status results/good", "render results/good"] {
            let ended = folder.run(command);
            assert!((1..=2).contains(&ended.code), "{command}: {}", ended.code);
            assert!(ended.err.contains(&said), "{command}: {}", ended.err);
        }
    }
}

fn records(folder: &Folder, name: &str) -> Vec<Record> {
    folder.records(name)
}

/// Fixed parameters are known even for a cell without results; tuned ones are not.
#[test]
fn cells_without_results_have_their_fixed_parameters() {
    let folder = folder();
    let text = "name: few\ndatasets: [optdigits]\nsplits: {repeats: 1}\nselect: {folds: 2}\n\
                methods: [{svm: {c: 3}}, {twsvm: {c: [1, 2], r: 0.5}}]\n";
    folder.write("few.yaml", text);
    assert_eq!(folder.run("run few.yaml --offline -q --out few --memory 1KB").code, 3);
    let records = records(&folder, "few");
    let [svm, twsvm] = &records[..] else {
        panic!("{records:?}");
    };
    assert_eq!(svm.params["c"], 3.0);
    assert_eq!((twsvm.params["r"].as_f64(), twsvm.params.get("c")), (Some(0.5), None));
    assert!(twsvm.params.get("tolerance").is_some(), "defaults are known too");
}
