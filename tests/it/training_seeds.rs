//! `splits: {seeds: N}`: several trainings of every network on a dataset's own split.

use crate::textures;
use std::collections::BTreeMap;
use std::fs;

use crate::program::Folder;
use npsvcpp::ledger::Record;

const METHODS: &str = "\
methods:
  - cross-entropy: {training: {epochs: 4, fine_tune: 2, batch: 4}}
  - d-npsvcpp: {training: {epochs: 4, fine_tune: 2, batch: 4}}
  - lstwsvm
";

fn collection(seeds: &str) -> Folder {
    let folder = Folder::new();
    textures::write_images(&folder.path("data/dtd"), [8, 12]);
    fs::create_dir_all(folder.path("data/weights")).unwrap();
    let weights = folder.path("data/weights/tiny.safetensors");
    textures::write_weights(&weights, &textures::resnet18());
    write_spec(&folder, seeds);
    folder
}

fn write_spec(folder: &Folder, seeds: &str) {
    let text = format!(
        "name: textures\n\
         datasets: [dtd: {{encoder: {{network: resnet18, size: 32, weights: tiny.safetensors}}}}]\n\
         splits: {{{seeds}}}\n{METHODS}"
    );
    folder.write("spec.yaml", &text);
}

fn run(folder: &Folder, out: &str) -> Vec<Record> {
    let ended = folder.run(&format!("run spec.yaml --data data --offline -q --out {out}"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    folder.records(out)
}

/// Method, training seed, seed and objectives by cell.
fn essence(records: &[Record]) -> BTreeMap<String, String> {
    let shown = |record: &Record| {
        let Record { method, training_seed, seed, accuracy, .. } = record;
        let end = record.certificate.as_ref().map(|end| (end.primal, end.dual));
        format!("{method} {training_seed:?} {seed} {accuracy:?} {end:?}")
    };
    let pairs = records.iter();
    pairs.map(|record| (record.cell.clone(), shown(record))).collect()
}

#[test]
fn networks_are_trained_with_every_seed_and_other_methods_once() {
    let folder = collection("seeds: 3");
    let records = run(&folder, "three");
    let seeds = |method: &str| -> Vec<Option<usize>> {
        let records = records.iter().filter(|record| record.method == method);
        records.map(|record| record.training_seed).collect()
    };
    for network in ["cross-entropy", "d-npsvcpp"] {
        assert_eq!(seeds(network), [Some(0), Some(1), Some(2)]);
    }
    assert_eq!(seeds("lstwsvm"), [None]);
    // The first training of every method comes before the second of any.
    let order: Vec<usize> = records.iter().filter_map(|record| record.training_seed).collect();
    assert!(order.is_sorted(), "{order:?}");
    // Trainings differ.
    let ends: Vec<String> = essence(&records).into_values().collect();
    assert!((1..ends.len()).all(|i| !ends[..i].contains(&ends[i])), "{ends:?}");

    // The first training is the only one of a spec without the key.
    write_spec(&folder, "repeats: 1");
    let one = essence(&run(&folder, "one"));
    assert_eq!(one.len(), 3);
    let three = essence(&records);
    assert_eq!(three.len(), 7);
    for (cell, found) in &one {
        assert_eq!(three.get(cell), Some(found));
    }
}

#[cfg(feature = "failpoints")]
#[test]
fn a_killed_run_continues_every_training_to_the_bit() {
    let folder = collection("seeds: 2");
    let whole = essence(&run(&folder, "whole"));
    // Four trainings of four epochs.
    assert_eq!(kill_often(&folder, 3), 5);
    assert_eq!(essence(&run(&folder, "killed")), whole);
}

#[cfg(feature = "failpoints")]
#[test]
fn the_choices_of_the_authors_code_change_a_training_which_continues_to_the_bit() {
    let folder = collection("seeds: 1");
    let training = "training: {epochs: 4, fine_tune: 2, batch: 4";
    let variants = [
        format!("{training}}}"),
        format!("{training}, frozen_batch_norms: training}}"),
        format!("{training}, mixed_precision: true}}"),
        format!("{training}}}, second_pass: network"),
        format!("{training}}}, tau_gradient: first-columns"),
        format!("{training}}}, hinge: unclipped, margin: 0.05"),
        format!("{training}}}, margin: 0.05"),
        format!("{training}}}, loss_scale: {{near: 3.1, far: 2.7}}"),
        format!("{training}}}, lr: 1e-6, network: {{layer_norm: false}}"),
    ];
    let methods = variants.iter().enumerate();
    let methods: Vec<String> = methods
        .map(|(index, variant)| format!("  - d-npsvcpp: {{label: v{index}, {variant}}}\n"))
        .collect();
    let spec = format!(
        "name: textures\n\
         datasets: [dtd: {{encoder: {{network: resnet18, size: 32, weights: tiny.safetensors}}}}]\n\
         methods:\n{}",
        methods.concat()
    );
    folder.write("spec.yaml", &spec);
    let whole = run(&folder, "whole");
    let ends: Vec<String> = (whole.iter())
        .map(|record| format!("{:?}", record.certificate.as_ref().map(|end| end.primal)))
        .collect();
    let is_new = |i: usize| !ends[..i].contains(&ends[i]);
    assert!((1..ends.len()).all(is_new), "{ends:?}");
    // Nine trainings of four epochs.
    assert_eq!(kill_often(&folder, 5), 7);
    assert_eq!(essence(&run(&folder, "killed")), essence(&whole));
}

/// Runs the spec into `killed` until it ends by itself; each time it is killed after some more epochs: while an encoder
/// is trained, when it is frozen, and between two trainings. Returns how often.
#[cfg(feature = "failpoints")]
fn kill_often(folder: &Folder, epochs: usize) -> usize {
    let command = "run spec.yaml --data data --offline -q --out killed";
    (0..)
        .take_while(|_| {
            let ended = folder.run_failing(command, "checkpoint", epochs - 1, "kill");
            assert!(ended.status.code().is_none_or(|code| code == 0), "{ended:?}");
            !ended.status.success()
        })
        .count()
}

#[test]
fn a_part_is_chosen_by_its_training_seed() {
    let folder = collection("seeds: 2");
    let ended = folder.run("run spec.yaml --data data --offline -q --out part --only seed=1");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let seeds: Vec<_> = folder.records("part").iter().map(|record| record.training_seed).collect();
    assert_eq!(seeds, [Some(1), Some(1)]);
    let ended = folder.run("run spec.yaml --data data --offline -q --out part --only seed=2");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("no training seed 2"), "{}", ended.err);
}

#[test]
fn seeds_on_random_splits_are_refused() {
    let folder = Folder::new();
    folder.write(
        "spec.yaml",
        "name: digits\ndatasets: [optdigits: {subsample: 300}]\nsplits: {seeds: 2}\nmethods: [cross-entropy]\n",
    );
    let ended = folder.run("check spec.yaml --offline");
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    let said = "`seeds` is for datasets with their own split";
    assert!(ended.err.contains(said), "{}", ended.err);
    folder
        .write("spec.yaml", "name: digits\ndatasets: [iris]\nsplits: {seeds: 0}\nmethods: [svm]\n");
    let ended = folder.run("check spec.yaml --offline");
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
}

/// The table of a run that is compared with the paper's Table 3.
fn table(folder: &Folder, encoder: &str, seeds: usize, out: &str) -> String {
    let text = format!(
        "name: textures\nreproduces: {{table: 3}}\n\
         datasets: [dtd: {{encoder: {{network: resnet18, weights: tiny.safetensors{encoder}}}}}]\n\
         splits: {{seeds: {seeds}}}\n\
         methods:\n\
         \x20 - cross-entropy: {{training: {{epochs: 2, fine_tune: 1, batch: 4}}}}\n\
         \x20 - d-npsvcpp: {{training: {{epochs: 2, fine_tune: 1, batch: 4}}}}\n\
         compare: {{against: d-npsvcpp}}\n"
    );
    folder.write("spec.yaml", &text);
    run(folder, out);
    fs::read_to_string(folder.path(out).join("table.md")).unwrap()
}

#[test]
fn tables_say_what_trainings_can_tell() {
    let folder = collection("seeds: 1");
    let said = |text: &str, wanted: &[&str], unwanted: &[&str]| {
        for words in wanted {
            assert!(text.contains(words), "{words}\n{text}");
        }
        for words in unwanted {
            assert!(!text.contains(words), "{words}\n{text}");
        }
    };
    let order = |text: &str| {
        let answers = ["| same order as the paper |", "| other order |"];
        answers.iter().any(|answer| text.contains(answer))
    };
    // One training: nothing is tested, and of the paper's claim only the order is compared.
    let one = table(&folder, "", 1, "one");
    said(&one, &["one training, not tested"], &["variation of training"]);
    assert!(order(&one), "{one}");
    // Several trainings of the paper's problem: a test, and what it is of.
    let three = table(&folder, "", 3, "three");
    said(&three, &["variation of training", "deviation over trainings"], &["not tested"]);
    assert!(!order(&three), "{three}");
    // Smaller images are another problem than the paper's.
    let small = table(&folder, ", size: 32", 3, "small");
    said(&small, &["images of 32 x 32 pixels"], &[]);
    assert!(order(&small), "{small}");
}
