//! Promise: `run --fresh` is the only way to start over. It keeps the former results, compares, and is refused where
//! numbers could not come back.

use std::fs;

use crate::finished::*;
use crate::program::Folder;

#[test]
fn starting_over_keeps_the_former_results_and_compares() {
    let folder = finished();
    let before = files(&folder.path("results/two"));
    let ended = folder.run("run two.yaml --fresh");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_says(
        &ended.out,
        &[
            "moved results/two to results/two.old-1",
            "compared with results/two.old-1: 12 accuracies are the same, 0 moved",
        ],
    );
    assert_eq!(files(&folder.path("results/two.old-1")), before);
    // Other data moves numbers.
    folder.write("a.csv", table(0.0).replace(",p\n", ",r\n").replacen(",q\n", ",r\n", 9));
    let ended = folder.run("run two.yaml --fresh");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_says(
        &ended.out,
        &["moved results/two to results/two.old-2", "a, SVM: mean ", " splits moved, by at most "],
    );
    // Pages do not show what was moved aside.
    let rendered = folder.run("render results/two results/two.old-1 results/two.old-2");
    assert_eq!(rendered.code, 0, "{}", rendered.err);
    assert!(!rendered.out.contains("old-"), "{}", rendered.out);
    assert_eq!(files(&folder.path("results/two.old-1")), before);
}

#[test]
fn starting_over_is_refused_where_numbers_could_not_come_back() {
    let folder = finished();
    for option in ["--only dataset=a", "--shard 1/2", "--reuse results/two"] {
        let ended = changes_nothing(&folder, &format!("run two.yaml --fresh {option}"), 2);
        assert_says(&ended.err, &["--fresh", "cannot be used with"]);
    }
    fs::remove_file(folder.path("a.csv")).unwrap();
    let ended = changes_nothing(&folder, "run two.yaml --fresh", 2);
    assert_says(&ended.err, &["two.yaml:3:29", "a.csv"]);
    // A dataset without a finished cell may be missing.
    let folder = Folder::new();
    folder.write("two.yaml", SPEC.replace("  - files: {name: a, train: a.csv}\n", "  - chg\n"));
    folder.write("b.csv", table(0.5));
    assert_eq!(folder.run("run two.yaml --offline").code, 3);
    let ended = folder.run("run two.yaml --offline --fresh");
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert_says(&ended.out, &["6 accuracies are the same, 0 moved"]);
}

#[test]
fn starting_over_without_a_plan_or_a_name() {
    let folder = finished();
    fs::remove_file(folder.path("results/two/plan.json")).unwrap();
    let ended = folder.run("run two.yaml --fresh");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_says(&ended.err, &["no comparison: the plan in results/two.old-1 cannot be read"]);
    let ended = folder.run("run two.yaml --fresh --out ..");
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert_says(&ended.err, &["--fresh cannot rename ..", "--out"]);
}

/// If a run that starts over is stopped, the comparison comes when it is continued.
#[cfg(feature = "failpoints")]
#[test]
fn the_comparison_survives_an_interruption() {
    let folder = finished();
    let killed = folder.run_failing("run two.yaml --fresh --jobs 1", "append", 3, "kill");
    assert_eq!(killed.status.code(), None, "a signal ended it");
    let ended = folder.run("run two.yaml");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_says(
        &ended.out,
        &["compared with results/two.old-1: 12 accuracies are the same, 0 moved"],
    );
    assert!(!folder.run("run two.yaml").out.contains("compared with"));
}

/// A download that was not needed for finished cells is needed to compute them again.
#[test]
fn starting_over_tries_to_download() {
    let folder = Folder::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(&root.join("results/fig-convergence"), &folder.path("results/fig-convergence"));
    let spec = fs::read(root.join("experiments/fig-convergence.yaml")).unwrap();
    folder.write("fig-convergence.yaml", spec);
    let said = |option: &str| {
        let mut command = folder.command(&format!("run fig-convergence.yaml {option}"));
        let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
        command.envs(proxies.map(|name| (name, "http://127.0.0.1:9")));
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!said("").contains("127.0.0.1"), "{}", said(""));
    let fresh = said("--fresh");
    assert_says(&fresh, &["--fresh cannot compute", "download"]);
}
