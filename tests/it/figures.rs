//! Every figure is a sound picture with the expected series, and its numbers are next to it.

use crate::results;
use std::fs;
use std::path::Path;

use crate::results::{plan, records, write_folder};
use npsvcpp::analyse::Summary;
use npsvcpp::ledger::{Cloud, Embedding, Plan, Selection, Tried};
use npsvcpp::render::{self, Figure};
use serde_json::json;

/// A small experiment of which everything was recorded that can be drawn.
fn everything(dir: &Path) -> Summary {
    let mut plan = plan();
    plan.methods[1].scheme = Some("ovr".to_owned());
    plan.methods[2].scheme = Some("rvo".to_owned());
    plan.methods[2].method = "twsvm".to_owned();
    plan.methods[3].points = 4;
    let grid = [
        ("r1".to_owned(), vec![json!(0.1), json!(1.0)]),
        ("d".to_owned(), vec![json!("2K"), json!("4K")]),
    ];
    plan.experiment.methods[3].tuned = grid.to_vec();
    let mut records = records(&plan);
    for record in records.iter_mut().filter(|record| record.method == "k-npsvcpp") {
        let point = |r1: f64, d: &str, mean: f64| Tried {
            params: json!({"r1": r1, "d": d}),
            mean: Some(mean),
            ..Tried::default()
        };
        let base = 70.0 + record.split as f64 / 4.0;
        let points = vec![
            point(0.1, "2K", base),
            point(0.1, "4K", base + 1.0),
            point(1.0, "2K", base + 2.0),
            point(1.0, "4K", base - 3.0),
        ];
        let chosen = 2;
        record.selection = Some(Selection { points, chosen, ..Selection::default() });
    }
    write_folder(dir, &plan, &records);
    write_traces(dir, &plan);
    write_embedding(dir);
    render::read(dir).unwrap().0
}

/// Traces of two entries of one method, and one with an accuracy only, as cross-entropy has it.
fn write_traces(dir: &Path, plan: &Plan) {
    fs::create_dir(dir.join("traces")).unwrap();
    for (cell, level) in [("1-1-0", 8.0), ("1-2-0", 4.0)] {
        assert!(plan.cells.iter().any(|planned| planned.cell == cell));
        let lines = (0..4).map(|iteration| {
            let primal = level - f64::from(iteration);
            let row = json!({
                "iteration": iteration,
                "primal": primal,
                "dual": primal - 1.0 / f64::from(iteration + 1),
                "objectives": [primal, primal / 2.0, primal / 50.0],
                "accuracy": 60.0 + level + f64::from(iteration),
            });
            row.to_string() + "\n"
        });
        fs::write(dir.join(format!("traces/{cell}.jsonl")), lines.collect::<String>()).unwrap();
    }
    let epochs =
        "{\"epoch\": 0, \"accuracy\": 50.0}\n{\"epoch\": 1, \"accuracy\": 61.5}\nnot a line\n";
    fs::write(dir.join("traces/1-0-0.jsonl"), epochs).unwrap();
}

fn write_embedding(dir: &Path) {
    let cloud = |dims: usize, spread: f64| Cloud {
        dims,
        points: (0..6).map(|i| [spread * f64::from(i % 2), f64::from(i)]).collect(),
        silhouette: 0.25 * spread,
        knn_accuracy: 75.0,
    };
    let embedding = Embedding {
        labels: vec![0, 1, 0, 1, 0, 1],
        perplexity: 30.0,
        neighbours: 5,
        raw: cloud(320, 1.0),
        learnt: cloud(72, 3.0),
    };
    let path = Embedding::path(dir, "1-3-0");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, serde_json::to_string(&embedding).unwrap()).unwrap();
}

/// The words of a picture, which must be a sound document.
fn words(drawn: &Figure) -> String {
    let text = drawn.svg().unwrap();
    assert!(!text.contains("NaN") && !text.contains("inf\""), "{}", drawn.name);
    let document = roxmltree::Document::parse(&text).expect("XML");
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    let lines: Vec<&str> = texts.filter_map(|node| node.text()).map(str::trim).collect();
    lines.join("\n")
}

fn find<'a>(figures: &'a [Figure], name: &str) -> &'a Figure {
    let names: Vec<&str> = figures.iter().map(|drawn| drawn.name).collect();
    let found = figures.iter().find(|drawn| drawn.name == name);
    found.unwrap_or_else(|| panic!("{name} is not among {names:?}"))
}

#[test]
fn every_figure_has_its_series() {
    let dir = tempfile::tempdir().unwrap();
    let figures = render::figures(&everything(dir.path()));
    let expected: &[(&str, &[&str])] = &[
        ("accuracy", &["SVM", "binalpha"]),
        ("differences", &["SVM", "binalpha", "corrected interval", "K-NPSVC++ minus"]),
        ("paper", &["SVM", "binalpha", "pendigits ≠", "practical margin", "Table 2"]),
        ("critical-difference", &["SVM  4.00", "CD = ", "Friedman"]),
        ("time", &["SVM", "seconds per fit", "dna"]),
        ("effect", &["TWSVM", "ovr, fixed", "rvo, fixed", "dna"]),
        (
            "convergence",
            &["primal: max J", "dual: sum tau J", "accuracy of SVM", "TWSVM_1 on binalpha"],
        ),
        ("ablation", &["TWSVM_1", "NPSVM", "binalpha"]),
        ("radar", &["TWSVM_1", "NPSVM", "binalpha, iteration 0, logarithmic", "iteration 3"]),
        ("hyperparameters", &["K-NPSVC++ on binalpha", "r1", "d upwards", "4K"]),
        (
            "embedding",
            &[
                "binalpha: raw data, 320 dimensions",
                "z(x) of K-NPSVC++, 72 dimensions",
                "silhouette 0.75",
            ],
        ),
    ];
    assert_eq!(figures.len(), expected.len());
    for (name, series) in expected {
        let words = words(find(&figures, name));
        for text in *series {
            assert!(words.contains(text), "{name}: {text} in {words}");
        }
    }
}

#[test]
fn the_numbers_drawn_are_next_to_each_figure() {
    let dir = tempfile::tempdir().unwrap();
    for drawn in render::figures(&everything(dir.path())) {
        if drawn.name != "accuracy" {
            insta::assert_snapshot!(format!("data_{}", drawn.name), drawn.data);
        }
    }
}

#[test]
fn every_figure_is_written_as_svg_png_and_csv() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<&str> =
        render::figures(&everything(dir.path())).iter().map(|d| d.name).collect();
    let files = render::folder(dir.path()).unwrap().files.all;
    for name in names {
        for end in ["svg", "png", "csv"] {
            let path = dir.path().join(format!("figures/{name}.{end}"));
            assert!(files.contains(&path), "{}", path.display());
        }
        let png = fs::read(dir.path().join(format!("figures/{name}.png"))).unwrap();
        let picture = image::load_from_memory(&png).unwrap();
        assert_eq!(picture.width(), 1920, "{name}");
    }
}

#[test]
fn figures_of_a_former_rendering_are_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    everything(dir.path());
    let figure = |name: &str| dir.path().join(format!("figures/{name}"));
    let drawn = render::folder(dir.path()).unwrap().files.all;
    fs::write(figure("mine.svg"), "a picture of the user's own").unwrap();
    // A plan of other methods, none of which has run, leaves two figures.
    let mut plan = plan();
    plan.cells.iter_mut().for_each(|cell| cell.cell += "-new");
    write_folder(dir.path(), &plan, &[]);
    let kept = render::folder(dir.path()).unwrap().files.all;
    assert!(kept.len() < drawn.len());
    for path in drawn {
        assert_eq!(path.exists(), kept.contains(&path), "{}", path.display());
    }
    assert!(figure("mine.svg").exists());
}

/// Folders rendered before are rendered again if the number of the format is another. So other bytes need another number.
///
/// Where functions such as the logarithm round differently, pictures may differ in their last digits.
#[cfg(target_os = "linux")]
#[test]
fn other_bytes_need_another_format_number() {
    const ACCEPT: &str = "NPSVCPP_ACCEPT";
    let dir = tempfile::tempdir().unwrap();
    let folders = ["one", "two"].map(|name| dir.path().join(name));
    let summaries = folders.each_ref().map(|folder| {
        fs::create_dir(folder).unwrap();
        everything(folder);
        render::folder(folder).unwrap().summary
    });
    let both = [("one".to_owned(), &summaries[0]), ("two".to_owned(), &summaries[1])];
    render::index(dir.path(), &both).unwrap();
    let lists = ["one/outputs.json", "index.outputs.json"];
    let mut found = serde_json::Map::new();
    for name in lists {
        let text = fs::read(dir.path().join(name)).unwrap();
        let mut list: serde_json::Value = serde_json::from_slice(&text).unwrap();
        // Its bytes depend on another crate's version.
        list["files"].as_object_mut().unwrap().shift_remove("cells.parquet");
        found.insert(name.to_owned(), list);
    }
    let found = serde_json::Value::Object(found);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/outputs.json");
    let known = fs::read(&path).unwrap_or_default();
    let known: serde_json::Value = serde_json::from_slice(&known).unwrap_or_default();
    if found == known {
        return;
    }
    let is_raised = lists.iter().all(|list| {
        let other = |key: &str| known[list][key] != found[list][key];
        other("format") || other("sources")
    });
    assert!(
        is_raised,
        "the renderer writes other bytes for the same results folder: raise FORMAT in src/render/outputs.rs, run this \
         test with {ACCEPT}=1 and `npsvcpp render results/*/`"
    );
    assert!(
        std::env::var_os(ACCEPT).is_some(),
        "FORMAT or the folders of this test changed: run it with {ACCEPT}=1, which rewrites {}",
        path.display()
    );
    fs::write(path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
}

#[test]
fn every_warning_is_under_every_figure() {
    let dir = tempfile::tempdir().unwrap();
    let summary = everything(dir.path());
    assert!(!summary.warnings.is_empty());
    for drawn in render::figures(&summary) {
        for warning in &summary.warnings {
            assert!(drawn.caption.contains(&warning.to_string()), "{}: {warning}", drawn.name);
        }
    }
}

#[test]
fn a_ledger_without_results_has_no_figure_but_the_one_that_says_so() {
    let plan = plan();
    let figures = render::figures(&results::summary(&plan, &[]));
    let names: Vec<&str> = figures.iter().map(|drawn| drawn.name).collect();
    assert_eq!(names, ["accuracy", "paper"]);
    assert!(words(find(&figures, "paper")).contains("not run"));
}

#[test]
fn files_next_to_the_ledger_may_be_broken() {
    let dir = tempfile::tempdir().unwrap();
    everything(dir.path());
    fs::write(dir.path().join("traces/1-1-0.jsonl"), "{]\n\u{0}").unwrap();
    fs::write(dir.path().join("traces/1-2-0.jsonl"), "{\"iteration\": 1, \"primal\": 1e999}\n")
        .unwrap();
    fs::write(Embedding::path(dir.path(), "1-3-0"), "{\"labels\": [1, 2]}").unwrap();
    let summary = render::read(dir.path()).unwrap().0;
    let said = "ignored: 4 files with a trace or a map";
    assert!(
        summary.warnings.iter().any(|warning| warning.to_string().starts_with(said)),
        "{:?}",
        summary.warnings
    );
    let figures = render::figures(&summary);
    let names: Vec<&str> = figures.iter().map(|drawn| drawn.name).collect();
    assert!(!names.contains(&"embedding") && !names.contains(&"radar"), "{names:?}");
    figures.iter().for_each(|drawn| drop(words(drawn)));
}
