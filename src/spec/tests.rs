//! Sound specs and what becomes of them, the schema, later problems, and arbitrary text.
//! The sentences for bad specs are tested in `tests/it/bad_spec.rs`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::data::Column;

const SOUND: &str = "\
# yaml-language-server: $schema=../docs/experiment.schema.json
name: table2
title: Classification performance of SVMs
reproduces: {table: 2}
protocol: tuned
datasets:
  - usps
  - pendigits: {subsample: 2e3}
  - optdigits:
  - files: {train: data/a.csv.bz2, test: data/b.csv, label: 5}
splits: {repeats: 10, train_fraction: 0.6}
kernel: {gaussian: {width: mean-squared-distance}}
methods:
  - svm: {c: 1}
  - twsvm: {c: 1, r: 0.1, scheme: ovr}
  - k-npsvcpp:
      label: K-NPSVC++ (tuned)
      c: [0.1, 1, 10]
      r1: {log2: [-2, 2, 2]}
      scheme: [ovr, rvo]
      max_iter: {linear: [1, 3, 2]}
      d: [3, 2K]
      graph: {neighbours: 7}
select: {by: cross-validation, folds: 5, on: training, subsample: 2000, once: true}
compare: {against: svm, levels: [0.05, 0.1], test: [paired-t, nadeau-bengio]}
render: [table]
";

fn sound(text: &str) -> Spec {
    parse(text, "x.yaml").unwrap_or_else(|error| panic!("{}", error.plain()))
}

/// A short sound spec with `lines` added to it.
fn minimal(lines: &str) -> Experiment {
    sound(&format!("name: x\ndatasets: [usps]\nmethods: [svm]\n{lines}\n")).experiment
}

#[test]
fn a_sound_spec_becomes_an_experiment() {
    let experiment = sound(SOUND).experiment;
    let names: Vec<_> = experiment.datasets.iter().map(DatasetSpec::name).collect();
    assert_eq!(names, ["usps", "pendigits", "optdigits", "a"]);
    let subsample = Some(2000);
    assert_eq!(
        experiment.datasets[1],
        DatasetSpec::Registered {
            name: "pendigits".into(),
            options: DatasetOptions { subsample, ..DatasetOptions::default() }
        }
    );
    let DatasetSpec::Files(files) = &experiment.datasets[3] else {
        panic!("{:?}", experiment.datasets[3]);
    };
    assert!(matches!(files.label, Some(Column::Position(5))), "{:?}", files.label);
    assert_eq!(experiment.seed, 2024);
    assert_eq!(experiment.protocol, Some(Protocol::Tuned));
    assert!(experiment.select.is_some_and(|select| select.once));
}

#[test]
fn parameters_come_in_one_normal_form() {
    let methods = sound(SOUND).experiment.methods;
    assert_eq!(json!(methods[0].fixed), json!({"c": 1.0}));
    assert_eq!(methods[1].label, "TWSVM");
    assert_eq!(json!(methods[1].fixed), json!({"c": 1.0, "r": 0.1, "scheme": "ovr"}));
    assert_eq!(json!(methods[2].fixed), json!({"graph": {"neighbours": 7}}));
    let tuned = json!([
        ["c", [0.1, 1.0, 10.0]],
        ["r1", [0.25, 1.0, 4.0]],
        ["scheme", ["ovr", "rvo"]],
        ["max_iter", [1, 3]],
        ["d", [3, "2K"]],
    ]);
    assert_eq!(json!(methods[2].tuned), tuned);
}

#[test]
fn the_grid_is_walked_with_the_last_parameter_fastest() {
    let spec = &sound(SOUND).experiment.methods[2];
    assert_eq!(spec.points(), 3 * 3 * 2 * 2 * 2);
    let at = |index| json!(spec.point(index));
    assert_eq!(at(0)["d"], json!(3));
    assert_eq!(at(1)["d"], json!("2K"));
    assert_eq!(at(1)["c"], json!(0.1));
    assert_eq!(at(71)["c"], json!(10.0));
    let all: std::collections::HashSet<_> = (0..spec.points()).map(|i| at(i).to_string()).collect();
    assert_eq!(all.len(), spec.points());
}

#[test]
fn one_value_in_a_list_is_not_tuned() {
    let text = "name: x\ndatasets: [usps]\nmethods: [svm: {c: [2], engine: smo}]\n";
    let method = &sound(text).experiment.methods[0];
    assert_eq!(json!(method.fixed), json!({"c": 2.0, "engine": "smo"}));
    assert!(method.tuned.is_empty());
}

#[test]
fn a_bare_kernel_has_default_options() {
    let default = minimal("").kernel;
    assert_eq!(minimal("kernel: gaussian").kernel, default);
    assert_eq!(minimal("kernel: {gaussian: {}}").kernel, default);
    assert_eq!(minimal("kernel: linear").kernel, npsvc::Kernel::Linear);
    let width = json!(minimal("kernel: {gaussian: {width: 2}}").kernel);
    assert_eq!(width, json!({"gaussian": {"width": 2.0}}));
}

#[test]
fn a_comparison_by_name_or_label_ends_as_the_label() {
    let against = |text: &str| minimal(text).compare.map(|compare| compare.against);
    assert_eq!(against("compare: {against: svm}").as_deref(), Some("SVM"));
    assert_eq!(against("compare: {against: SVM}").as_deref(), Some("SVM"));
    assert_eq!(against(""), None);
}

#[test]
fn an_experiment_survives_json() {
    for experiment in [sound(SOUND).experiment, minimal("")] {
        let text = serde_json::to_string(&experiment).expect("serialises");
        let back: Experiment = serde_json::from_str(&text).expect("deserialises");
        assert_eq!(back, experiment);
    }
}

#[test]
fn anchors_byte_order_marks_and_windows_lines_are_fine() {
    let text = "\u{feff}name: x\r\ndatasets: [usps]\r\nmethods:\r\n  - twsvm: &twsvm {c: 1}\r\n  - twsvm: {<<: *twsvm, label: B, r: 2}\r\n";
    let methods = sound(text).experiment.methods;
    assert_eq!(methods[0].fixed["c"], methods[1].fixed["c"]);
    assert_eq!(methods[1].fixed["r"], 2.0);
}

#[test]
fn later_problems_point_into_the_file() {
    let source = sound(SOUND).text;
    let place = |path: &[&str]| {
        let error = source.error(vec![source.problem(path, "m", None)]);
        error.to_string().trim_end_matches(": m").to_owned()
    };
    assert_eq!(place(&["methods", "2", "d"]), "x.yaml:22:10");
    assert_eq!(place(&["methods", "2", "k-npsvcpp", "d", "1"]), "x.yaml:22:14");
    assert_eq!(place(&["methods", "1", "d"]), "x.yaml:15:5");
    assert_eq!(place(&["datasets", "0"]), "x.yaml:7:5");
    assert_eq!(place(&["datasets", "1", "subsample"]), "x.yaml:8:28");
    assert_eq!(place(&["jitter"]), "x.yaml:2:1");
    let problem = source.problem(&["seed"], "is odd", Some("add one".to_owned()));
    assert_eq!(source.error(vec![problem]).to_string(), "x.yaml:2:1: is odd; add one");
}

#[test]
fn the_schema_is_closed_and_ends_with_a_line() {
    let schema = schema();
    let text = schema_text();
    assert!(text.ends_with("}\n"));
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), schema);
    for target in text.split("\"$ref\": \"#").skip(1) {
        let target = target.split('"').next().unwrap_or_default();
        assert!(schema.pointer(target).is_some_and(Value::is_object), "{target}");
    }
}

#[test]
fn the_schema_offers_lists_of_all_values_and_ranges_of_numbers() {
    let schema = schema();
    let variants = schema["$defs"]["Method"]["oneOf"].as_array().expect("variants");
    let twsvm = variants.iter().find_map(|form| form["properties"].get("twsvm")).expect("TWSVM");
    let c = json!({"type": "number", "format": "double", "exclusiveMinimum": 0});
    assert_eq!(
        twsvm["properties"]["c"]["anyOf"],
        json!([
            c,
            {"type": "array", "items": c, "minItems": 1, "uniqueItems": true},
            {"$ref": "#/$defs/Range"},
        ])
    );
    assert_eq!(twsvm["properties"]["c"]["default"], 1.0);
    let scheme = twsvm["properties"]["scheme"]["anyOf"].as_array();
    assert_eq!(scheme.map(Vec::len), Some(2), "no range");
    assert!(variants.iter().any(|form| form["const"] == "twsvm"));
}

#[test]
fn a_key_given_three_times_is_reported_twice_with_both_places() {
    let text = "name: x\ndatasets: [usps]\nname: y\nmethods: [svm]\nname: z\n";
    let error = parse(text, "x.yaml").err().expect("a key is given twice");
    let lines: Vec<_> = error.problems().iter().filter_map(|problem| problem.place).collect();
    assert_eq!(lines.iter().map(|place| place.line).collect::<Vec<_>>(), [3, 5]);
    assert!(error.problems()[1].message.contains("first in line 1"));
}

#[test]
fn options_of_slurm_are_checked_by_the_patterns_of_the_schema() {
    for (key, good, bad) in [
        ("time", "1-12:30", "soon"),
        ("memory", "8G", "lots"),
        ("gpus", "a100:2", "two words"),
        ("partition", "short,long", "a b"),
        ("account", "lab", "-x"),
    ] {
        assert_eq!(slurm_option(key, good), Ok(good.to_owned()), "{key}");
        assert!(slurm_option(key, bad).is_err(), "{key}");
    }
    assert!(slurm_option("time", "soon").unwrap_err().contains("a time as Slurm writes it"));
    assert!(slurm_option("nothing", "x").is_err());
}

/// For any text, the answer is an experiment or problems that can be shown.
fn is_answered(text: &str) {
    if let Err(error) = parse(text, "x.yaml") {
        assert!(!error.problems().is_empty());
        let graphical = error.graphical(true, 80);
        for problem in error.problems() {
            let place = problem.place.expect("a place in the text");
            assert!(place.line > 0 && place.column > 0, "{error}");
            assert!(place.offset + place.length <= text.len());
            assert!(!problem.message.contains('\n'));
        }
        assert!(!graphical.is_empty());
    }
}

proptest! {
    #[test]
    fn arbitrary_text_is_answered(text in any::<String>()) {
        is_answered(&text);
    }

    #[test]
    fn text_that_looks_like_yaml_is_answered(text in "([a-z&*!:?|>%@{}\\[\\],#\"' \t\n\r-]|svm|name|methods|<<|é){0,80}") {
        is_answered(&text);
    }

    #[test]
    fn damaged_specs_are_answered(
        start in 0..SOUND.len(),
        length in 0..40usize,
        with in "[-a-z0-9:{}\\[\\], \n\"'.~]{0,12}",
    ) {
        let end = (start + length).min(SOUND.len());
        is_answered(&format!("{}{with}{}", &SOUND[..start], &SOUND[end..]));
    }
}
