//! Promise: what a spec leaves open is chosen on training samples as the spec says, every point that
//! was tried is in the ledger, and doubtful choices are reported.

use crate::program::Folder;
use crate::tiny;
use crate::tiny::{records, tables};
use npsvcpp::ledger::Selection;

/// Runs `tiny.yaml` with one tuned method and gives the selections in the ledger.
fn selections(folder: &Folder, method: &str, select: &str, out: &str) -> Vec<Selection> {
    let spec = format!(
        "name: tiny\ndatasets:\n  - files: {{name: one, train: one.csv}}\nsplits: {{repeats: 2, \
         stratified: true}}\nmethods:\n  - {method}\nselect: {select}\n"
    );
    folder.write("tiny.yaml", spec);
    let run = folder.run(&format!("run tiny.yaml --offline --out {out}"));
    assert_eq!(run.code, 0, "{}", run.err);
    let records = records(folder, &format!("{out}/ledger.jsonl"));
    records.into_iter().map(|r| r.selection.unwrap()).collect()
}

fn values(selection: &Selection, parameter: &str) -> Vec<f64> {
    let points = selection.points.iter();
    points.map(|point| point.params[parameter].as_f64().unwrap()).collect()
}

#[test]
fn a_grid_has_every_point_and_every_score_in_the_ledger() {
    let folder = tiny::folder(1);
    let method = "lstwsvm: {c: [0.5, 1, 2], r: {log10: [-2, 0, 1]}}";
    let all = selections(&folder, method, "{folds: 3}", "out");
    assert_eq!(all.len(), 2);
    for selection in &all {
        assert_eq!(values(selection, "c").len(), 9);
        for point in &selection.points {
            assert_eq!(point.scores.len(), 3);
            assert!(point.mean.is_some());
        }
    }
}

#[test]
fn the_time_of_a_choice_is_recorded_where_it_was_made() {
    let folder = tiny::folder(1);
    let spec = "name: tiny\ndatasets:\n  - files: {name: one, train: one.csv}\nsplits: {repeats: 2, \
                stratified: true}\nmethods:\n  - lstwsvm: {c: [0.5, 1, 2]}\n  - gepsvm\n\
                select: {folds: 2, once: true}\n";
    folder.write("tiny.yaml", spec);
    let run = folder.run("run tiny.yaml --offline --jobs 1 --out out");
    assert_eq!(run.code, 0, "{}", run.err);
    let records = records(&folder, "out/ledger.jsonl");
    let seconds = |method: &str| -> Vec<f64> {
        let records = records.iter().filter(|record| record.method == method);
        records.map(|record| record.select_seconds.unwrap()).collect()
    };
    let [first, second] = seconds("lstwsvm")[..] else { panic!("two splits") };
    assert!(first > 0.0 && second == 0.0, "{first} {second}");
    assert_eq!(seconds("gepsvm"), [0.0, 0.0]);
}

#[test]
fn points_are_drawn_at_random_or_evenly() {
    let folder = tiny::folder(1);
    let method = "lstwsvm: {c: {log2: [-4, 4]}, r: [0.01, 0.1, 1]}";
    for (kind, out) in [("random", "random"), ("latin-hypercube", "latin")] {
        let select = format!("{{folds: 2, search: {{{kind}: {{budget: 8}}}}}}");
        let all = selections(&folder, method, &select, out);
        let c = values(&all[0], "c");
        assert_eq!(c.len(), 8);
        assert!(c.iter().all(|c| (0.0625..=16.0).contains(c)), "{c:?}");
        // The same points in every split, and in every run.
        assert_eq!(c, values(&all[1], "c"));
        let again = selections(&folder, method, &select, &format!("{out}-again"));
        assert_eq!(c, values(&again[0], "c"));
        if kind == "latin-hypercube" {
            let mut parts: Vec<i64> = c.iter().map(|c| c.log2().floor() as i64).collect();
            parts.sort_unstable();
            assert_eq!(parts, [-4, -3, -2, -1, 0, 1, 2, 3]);
        }
    }
}

#[test]
fn halving_scores_fewer_points_from_fold_to_fold_with_a_warning() {
    let folder = tiny::folder(1);
    let method = "lstwsvm: {c: {log2: [-3, 4, 1]}}";
    let plain = selections(&folder, method, "{folds: 3}", "plain");
    let halved = selections(&folder, method, "{folds: 3, halving: true}", "halved");
    for (plain, halved) in plain.iter().zip(&halved) {
        let scores = |selection: &Selection| -> Vec<usize> {
            selection.points.iter().map(|point| point.scores.len()).collect()
        };
        assert_eq!(scores(plain), [3; 8]);
        let mut counts = scores(halved);
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 1, 1, 2, 2, 3, 3]);
        assert_eq!(halved.points[halved.chosen].dropped, None);
        assert_eq!(scores(halved)[halved.chosen], 3);
    }
    let said = |out: &str| tables(&folder, out)[0].contains("chosen by successive halving");
    assert!(said("halved") && !said("plain"));
}

#[test]
fn a_best_value_at_the_end_of_its_grid_has_a_warning() {
    let folder = tiny::folder(1);
    // With hardly any weight on errors all samples fall into one class.
    let method = "svm: {c: [1.0e-9, 1.0e-8, 1.0e-7, 1]}";
    let all = selections(&folder, method, "{folds: 2}", "out");
    let edges: usize = all.iter().map(|selection| selection.edges.len()).sum();
    let [table, ..] = tables(&folder, "out");
    let said = format!(
        "grids may be too narrow (how often the smallest and the largest value was the best): c of SVM 0 and {edges} of 2"
    );
    assert!(edges > 0, "{all:?}");
    assert!(table.contains(&said), "{table}");
}

#[test]
fn searches_that_make_no_sense_are_refused() {
    let folder = tiny::folder(1);
    let spec = |method: &str, select: &str| {
        let head = "name: x\ndatasets: [{files: {train: one.csv}}]\nmethods:\n";
        folder.write("x.yaml", format!("{head}  - {method}\nselect: {select}\n"));
        let run = folder.run("check x.yaml");
        assert_eq!(run.code, 2, "{}", run.out);
        run.err
    };
    let cases = [
        ("svm: {c: {log2: [1, 2]}}", "{}", "has no step"),
        ("svm: {c: {log2: [2, 1]}}", "{search: {random: {budget: 4}}}", "goes from 2 to 1"),
        (
            "svm: {c: {linear: [-1, 0]}}",
            "{search: {random: {budget: 4}}}",
            "expected a number above 0",
        ),
        (
            "svm: {c: [1, 2]}",
            "{search: {random: {budget: 1}}}",
            "`select.search.random.budget` is 1",
        ),
        ("svm: {c: [1, 2]}", "{search: {random: {}}}", "lacks the key `budget`"),
        ("svm: {c: [1, 2]}", "{search: rnadom}", "did you mean `random`?"),
    ];
    for (method, select, said) in cases {
        let err = spec(method, select);
        assert!(err.contains(said), "{said}\n{err}");
    }
}
