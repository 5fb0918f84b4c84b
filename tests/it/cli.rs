//! Promise: every command does what its help says, and its exit code shows how it ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Folder;
use npsvcpp::methods::METHODS;

const TINY: &str = "\
name: tiny
title: A tiny experiment
seed: 7
datasets:
  - optdigits: {subsample: 100}
splits: {repeats: 2, train_fraction: 0.6}
methods:
  - svm
  - lstwsvm: {c: 2}
  - k-npsvcpp: {scheme: rvo}
compare: {against: k-npsvcpp}
";

/// A folder with `tiny.yaml` in it.
fn tiny() -> Folder {
    let folder = Folder::new();
    folder.write("tiny.yaml", TINY);
    folder
}

/// All files below `path`, relative to it.
fn files(path: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut pending = vec![path.to_path_buf()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap().path();
            if entry.is_dir() {
                pending.push(entry.clone());
            } else {
                found.insert(entry.strip_prefix(path).unwrap().to_path_buf());
            }
        }
    }
    found
}

/// `(split, method)` of every line of the ledger of `folder/results/name`.
fn cells(folder: &Folder, name: &str) -> Vec<(u64, String)> {
    let text = fs::read_to_string(folder.path(&format!("results/{name}/ledger.jsonl"))).unwrap();
    let mut cells: Vec<_> = text
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let method = record["method"].as_str().unwrap().to_owned();
            (record["split"].as_u64().unwrap(), method)
        })
        .collect();
    cells.sort();
    cells
}

/// The first words of the indented lines below `heading`.
fn listed<'a>(help: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, below) = help.split_once(heading).unwrap();
    below
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}

#[test]
fn help_lists_what_there_is_and_nothing_else() {
    let folder = Folder::new();
    let help = folder.run("--help");
    assert_eq!(help.code, 0);
    let commands = listed(&help.out, "Commands:");
    let expected = [
        "run", "render", "check", "status", "audit", "submit", "merge", "list", "data", "splits",
        "schema", "help",
    ];
    assert_eq!(commands, expected);
    for command in &expected[..10] {
        let help = folder.run(&format!("{command} --help"));
        assert_eq!(help.code, 0, "{command}");
    }
}

#[test]
fn run_takes_the_options_that_scripts_rely_on() {
    let help = Folder::new().run("run --help").out;
    let options = "--out --data --jobs --threads --memory --only --dry-run --offline \
                   --retry-failed --fail-fast --shard --isolate --cell-timeout --device --quiet";
    for option in options.split_whitespace() {
        assert!(help.contains(option), "{option} is missing in\n{help}");
    }
}

#[test]
fn a_run_leaves_everything_a_results_folder_has() {
    let folder = tiny();
    let run = folder.run("run tiny.yaml --offline");
    assert_eq!(run.code, 0, "{}", run.err);
    let has = files(&folder.path("results/tiny"));
    for file in "ledger.jsonl plan.json provenance.json splits.json spec.yaml table.md table.tex \
                 table.csv"
        .split_whitespace()
    {
        assert!(has.contains(Path::new(file)), "no {file} in {has:?}");
    }
    assert_eq!(has.contains(Path::new("cells.parquet")), cfg!(feature = "parquet"));
    let traces = has.iter().filter(|path| path.starts_with("traces")).count();
    assert_eq!(traces, 2, "one trace per split of the only iterative method");
    let hidden = has.iter().any(|path| path.to_string_lossy().starts_with('.'));
    assert!(!hidden, "something temporary is left: {has:?}");
    let spec = fs::read_to_string(folder.path("results/tiny/spec.yaml")).unwrap();
    assert_eq!(spec, TINY);
    let all: Vec<(u64, String)> = (0..2)
        .flat_map(|split| ["k-npsvcpp", "lstwsvm", "svm"].map(|name| (split, name.to_owned())))
        .collect();
    assert_eq!(cells(&folder, "tiny"), all);
}

#[test]
fn rendering_again_gives_the_same_bytes() {
    const TABLES: [&str; 3] = ["table.md", "table.tex", "table.csv"];
    let folder = tiny();
    assert_eq!(folder.run("run tiny.yaml --offline").code, 0);
    let at = |file: &str| folder.path(&format!("results/tiny/{file}"));
    let before = TABLES.map(|file| fs::read(at(file)).unwrap());
    let ledger = fs::read(at("ledger.jsonl")).unwrap();
    TABLES.iter().for_each(|file| fs::remove_file(at(file)).unwrap());
    let render = folder.run("render results/tiny");
    assert_eq!(render.code, 0, "{}", render.err);
    assert!(render.out.contains("wrote results/tiny/table.md"));
    assert_eq!(TABLES.map(|file| fs::read(at(file)).unwrap()), before);
    assert_eq!(fs::read(at("ledger.jsonl")).unwrap(), ledger);
}

#[test]
fn status_counts_cells() {
    let folder = tiny();
    assert_eq!(folder.run("run tiny.yaml --offline --only split=0").code, 0);
    let status = folder.run("status results/tiny");
    assert_eq!(status.code, 3);
    assert!(status.out.starts_with("tiny: 3 of 6 cells done\n"), "{}", status.out);
    assert!(status.out.contains("missing 3"), "{}", status.out);
    assert!(status.out.contains("left on one core"), "{}", status.out);
    assert_eq!(folder.run("run tiny.yaml --offline").code, 0);
    let status = folder.run("status results/tiny");
    assert_eq!(status.code, 0);
    assert!(status.out.starts_with("tiny: 6 of 6 cells done\n"), "{}", status.out);
    assert!(status.out.contains("failed 0, skipped 0, missing 0"));
}

#[test]
fn folders_that_are_no_results_are_named() {
    let folder = Folder::new();
    folder.write("other/file", "");
    for command in ["status", "render", "merge"] {
        let ended = folder.run(&format!("{command} other/file"));
        assert_eq!(ended.code, 2);
        assert_eq!(ended.err, "npsvcpp: there is no folder other/file\n");
        let ended = folder.run(&format!("{command} nowhere"));
        assert_eq!(ended.code, 2);
        assert_eq!(ended.err, "npsvcpp: there is no folder nowhere\n");
        let ended = folder.run(&format!("{command} other"));
        assert_eq!(ended.code, 2);
        assert!(ended.err.starts_with("npsvcpp: other has no plan.json"), "{}", ended.err);
    }
}

/// Nothing in the command is wrong: the folder is.
#[test]
fn a_damaged_file_of_a_results_folder_is_an_error_with_its_place() {
    let folder = tiny();
    assert_eq!(folder.run("run tiny.yaml --offline --out out").code, 0);
    let plan = std::fs::read_to_string(folder.path("out/plan.json")).unwrap();
    let cut = plan.lines().take(2).collect::<Vec<_>>().join("\n");
    for (text, place) in
        [(cut.as_str(), "line 2 column"), ("{\n  \"version\": ]", "line 2 column 14")]
    {
        folder.write("out/plan.json", text);
        for command in ["status", "render", "merge"] {
            let ended = folder.run(&format!("{command} out"));
            assert_eq!(ended.code, 1, "{command}: {}", ended.err);
            assert!(ended.err.contains("out/plan.json: "), "{}", ended.err);
            assert!(ended.err.contains(place), "{}", ended.err);
        }
    }
    folder.write("out/plan.json", plan);
    folder.write("out/slurm/jobs.json", "{\n  7");
    let status = folder.run("status out");
    assert_eq!(status.code, 1, "{}", status.err);
    let said = "cannot read out/slurm/jobs.json: key must be a string at line 2 column 3";
    assert!(status.err.contains(said), "{}", status.err);
}

#[test]
fn check_prints_the_plan_and_writes_nothing() {
    let folder = tiny();
    let check = folder.run("check tiny.yaml --offline");
    assert_eq!(check.code, 0, "{}", check.err);
    for said in [
        "tiny: A tiny experiment",
        "2 random splits of each dataset with 60 % for training",
        "100 samples x 64 dims x 10 classes, 60 train / 40 test, 2 splits",
        "\"c\":2.0,\"r\":0.1",
        "6 cells, 6 to run; the whole experiment takes about a second",
    ] {
        assert!(check.out.contains(said), "no `{said}` in\n{}", check.out);
    }
    assert_eq!(files(&folder.path("")), [PathBuf::from("tiny.yaml")].into());
}

#[test]
fn a_dry_run_is_a_check() {
    let folder = tiny();
    let dry = folder.run("run tiny.yaml --offline --dry-run --out here");
    assert_eq!(dry.code, 0, "{}", dry.err);
    assert_eq!(dry.out, folder.run("check tiny.yaml --offline").out);
    assert_eq!(files(&folder.path("")), [PathBuf::from("tiny.yaml")].into());
}

#[test]
fn list_names_every_method_dataset_and_experiment() {
    let folder = Folder::new();
    let methods = folder.run("list methods");
    assert_eq!(methods.code, 0);
    let names: Vec<_> = methods
        .out
        .lines()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let expected: Vec<_> = METHODS.iter().map(|entry| entry.info.name).collect();
    assert_eq!(names, expected);
    let networks = METHODS.iter().filter(|entry| entry.is_network).count();
    let lacking = methods.out.matches("needs a program built with").count();
    assert_eq!(lacking, if cfg!(feature = "deep") { 0 } else { networks });
    let datasets = folder.run("list datasets --offline");
    assert_eq!(datasets.code, 0);
    let listed: Vec<_> = datasets
        .out
        .lines()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(listed, npsvcpp::data::registry::names().collect::<Vec<_>>());
    folder.write("experiments/tiny.yaml", TINY);
    folder.write("experiments/broken.yaml", "name: [\n");
    let experiments = folder.run("list experiments");
    assert_eq!(experiments.code, 0);
    let lines: Vec<_> = experiments.out.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("not valid"), "{}", lines[0]);
    assert!(lines[1].contains("A tiny experiment"), "{}", lines[1]);
}

#[test]
fn the_schema_in_the_repository_is_the_programs() {
    let schema = Folder::new().run("schema");
    assert_eq!(schema.code, 0);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/experiment.schema.json");
    assert!(
        fs::read_to_string(&kept).unwrap() == schema.out,
        "write it anew: cargo run -- schema > docs/experiment.schema.json"
    );
}

#[test]
fn every_experiment_of_the_repository_is_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let loaded = npsvcpp::spec::load(&path).unwrap();
        let stem = path.file_stem().unwrap().to_string_lossy();
        assert_eq!(loaded.experiment.name, stem, "results/<name> is found by it");
        let text = fs::read_to_string(&path).unwrap();
        let line = "# yaml-language-server: $schema=../docs/experiment.schema.json\n";
        assert!(text.starts_with(line), "{}: editors get no schema", path.display());
        count += 1;
    }
    assert!(count >= 3, "quickstart, table2 and table2-tuned");
}

#[test]
fn exit_codes_tell_how_it_went() {
    let folder = tiny();
    assert_eq!(folder.run("run tiny.yaml --offline --out fine").code, 0);
    // An error that is not the user's input: a table that cannot be replaced.
    folder.write("blocked/table.md/file", "");
    let blocked = folder.run("run tiny.yaml --offline --out blocked");
    assert_eq!(blocked.code, 1);
    assert!(blocked.err.contains("cannot write blocked/table.md"), "{}", blocked.err);
    for bad in [
        "",
        "frobnicate",
        "run",
        "run nowhere.yaml",
        "run tiny.yaml --jobs 0",
        "run tiny.yaml --memory lots",
        "run tiny.yaml --data nowhere",
        "data fetch nonsense --offline",
    ] {
        assert_eq!(folder.run(bad).code, 2, "npsvcpp {bad}");
    }
    folder.write("chg.yaml", TINY.replace("- optdigits: {subsample: 100}", "- chg"));
    assert_eq!(folder.run("run chg.yaml --offline --out missing").code, 3);
}

#[test]
fn quiet_means_results_and_errors_only() {
    let folder = tiny();
    let loud = folder.run("run tiny.yaml --offline --out loud");
    assert!(loud.err.contains("loading optdigits"), "{}", loud.err);
    assert!(loud.err.contains("[6/6] optdigits split"), "{}", loud.err);
    assert!(loud.out.contains("6 cells done"));
    let quiet = folder.run("run tiny.yaml --offline --out quiet --quiet");
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
    assert!(quiet.out.contains("K-NPSVC++"), "the table is the result");
    assert!(!quiet.out.contains("6 cells done"));
    let again = folder.run("-q run tiny.yaml --offline --out quiet");
    assert_eq!((again.code, again.err.as_str()), (0, ""));
    assert_eq!(again.out, quiet.out);
    let render = folder.run("render quiet -q");
    assert_eq!((render.out.as_str(), render.err.as_str()), ("", ""));
    let error = folder.run("run nowhere.yaml -q");
    assert_eq!(error.err, "nowhere.yaml: there is no such file\n");
}

#[test]
fn only_runs_a_part() {
    let folder = tiny();
    let part = folder.run("run tiny.yaml --offline --only split=1 --only method=svm");
    assert_eq!(part.code, 0, "{}", part.err);
    assert_eq!(cells(&folder, "tiny"), [(1, "svm".to_owned())]);
    // A label is as good as a name.
    assert_eq!(folder.run("run tiny.yaml --offline --only method=LSTWSVM").code, 0);
    assert_eq!(cells(&folder, "tiny").len(), 3);
    for (filter, said) in [
        ("method=tsvm", "no method `tsvm` in this experiment, expected one of `SVM`, `LSTWSVM`"),
        ("dataset=usps", "no dataset `usps` in this experiment, expected one of `optdigits`"),
        ("split=2", "no split 2 in this experiment, they count from 0"),
        (
            "splits=2",
            "unknown key `splits`, expected dataset=NAME, method=NAME, split=NUMBER or seed=NUMBER",
        ),
        ("split=x", "split `x` is not a whole number"),
        ("svm", "no `=`"),
    ] {
        let refused = folder.run(&format!("run tiny.yaml --offline --only {filter}"));
        assert_eq!(refused.code, 2, "{filter}");
        assert!(refused.err.contains(said), "{}", refused.err);
    }
}

/// Two filters of one key used to contradict each other: nothing ran, and the exit code was 0.
#[test]
fn only_takes_alternatives() {
    let folder = tiny();
    let run = folder
        .run("run tiny.yaml --offline --only method=svm --only method=lstwsvm --only split=0");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(cells(&folder, "tiny"), [(0, "lstwsvm".to_owned()), (0, "svm".to_owned())]);
    // A dataset with a predefined split has only split 0, so no cell meets both conditions.
    let rows: String = (0..12).map(|i| format!("{} 1:{i}\n", i % 2)).collect();
    folder.write("own.txt", rows);
    folder.write(
        "both.yaml",
        TINY.replace(
            "subsample: 100}\n",
            "subsample: 100}\n  - files: {name: own, train: own.txt, test: own.txt}\n",
        )
        .replace("{scheme: rvo}", "{d: 2}"),
    );
    let none = folder.run("run both.yaml --offline --only dataset=own --only split=1");
    assert_eq!(none.code, 2, "{}", none.out);
    assert!(none.err.contains("--only: no cell of this experiment matches all"), "{}", none.err);
}

#[test]
fn several_specs_run_one_after_the_other() {
    let folder = tiny();
    folder.write("other.yaml", TINY.replace("name: tiny", "name: other"));
    assert_eq!(folder.run("run tiny.yaml other.yaml --offline -q").code, 0);
    assert_eq!(cells(&folder, "tiny"), cells(&folder, "other"));
    assert_eq!(folder.run("run tiny.yaml other.yaml --offline -q --out all").code, 0);
    for name in ["tiny", "other"] {
        assert!(folder.path(&format!("all/{name}/table.md")).exists());
    }
    let files = ["table.md", "table.tex", "table.csv", "report.html"];
    for file in files {
        for name in ["tiny", "other"] {
            let file = folder.path(&format!("all/{name}/{file}"));
            fs::remove_file(file).unwrap();
        }
    }
    let render = folder.run("render all/tiny all/other");
    for file in files {
        for name in ["tiny", "other"] {
            let line = format!("wrote all/{name}/{file}\n");
            assert!(render.out.contains(&line), "{line} in {}", render.out);
        }
    }
    assert!(render.out.contains("wrote all/index.html\n"));
    // All specs are read before the first one runs.
    folder.write("bad.yaml", TINY.replace("seed: 7", "sede: 7"));
    let refused = folder.run("run tiny.yaml bad.yaml --offline --out none");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("bad.yaml:3:1"), "{}", refused.err);
    assert!(!folder.path("none").exists());
}

/// A folder below a regular file cannot be made even by root, whom no permission stops.
#[test]
fn an_output_folder_that_cannot_be_written_is_named() {
    let folder = tiny();
    folder.write("file", "");
    for out in ["file/below", "file"] {
        let refused = folder.run(&format!("run tiny.yaml --offline -q --out {out}"));
        assert_eq!(refused.code, 2);
        let said = format!("npsvcpp: cannot write {out}/ledger.jsonl: ");
        assert!(refused.err.starts_with(&said), "{}", refused.err);
        assert!(refused.err.contains("--out"), "{}", refused.err);
    }
}

#[test]
fn a_folder_another_run_writes_to_is_left_alone() {
    let folder = tiny();
    assert_eq!(folder.run("run tiny.yaml --offline --only split=0").code, 0);
    let path = folder.path("results/tiny/ledger.jsonl");
    let before = fs::read(&path).unwrap();
    let ledger = fs::File::options().append(true).open(&path).unwrap();
    ledger.lock().unwrap();
    let refused = folder.run("run tiny.yaml --offline -q");
    assert_eq!(refused.code, 2);
    assert_eq!(
        refused.err,
        "npsvcpp: another run is writing to results/tiny\n  help: wait for it to end, or choose \
         another folder with --out\n"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    // Reading is not writing.
    assert_eq!(folder.run("status results/tiny").code, 3);
    assert_eq!(folder.run("render results/tiny").code, 0);
    drop(ledger);
    assert_eq!(folder.run("run tiny.yaml --offline -q").code, 0);
}

#[test]
fn data_says_where_datasets_are_and_whether_they_are_right() {
    let folder = Folder::new();
    let path = folder.run("data path optdigits pendigits");
    assert_eq!(path.code, 0);
    assert_eq!(path.out.matches("part of the program").count(), 2, "{}", path.out);
    let verify = folder.run("data verify optdigits --offline");
    assert_eq!(verify.code, 0);
    assert!(
        verify
            .out
            .contains("1797 samples x 64 dims x 10 classes, sha256 of the values cbbcf27184ca")
    );
    // Images have no dims until an encoder makes vectors of them.
    for batch in ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4"]
        .iter()
        .chain(&["data_batch_5", "test_batch"])
    {
        let path = format!("data/cifar10/cifar-10-batches-bin/{batch}.bin");
        folder.write(&path, include_bytes!("../corpus/cifar/batch.bin"));
    }
    let verify = folder.run("data verify cifar10 --data data --offline");
    let said = "12 images x 2 classes, sha256 of the values";
    assert!(verify.out.contains(said), "{}", verify.out);
    let fetch = folder.run("data fetch optdigits usps --offline -q");
    assert_eq!(fetch.code, 3);
    assert!(fetch.out.contains("part of the program"), "{}", fetch.out);
    assert!(fetch.out.contains("--offline prevents downloading it"), "{}", fetch.out);
}
