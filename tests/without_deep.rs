//! A build without libtorch knows networks by name and says in one sentence what they need.
#![cfg(not(feature = "deep"))]

mod program;

use program::Folder;

const SPEC: &str = "\
name: nets
datasets: [optdigits: {subsample: 100}]
splits: {repeats: 1}
methods: [svm, cross-entropy, d-npsvcpp: {margin: 4}]
";

#[test]
fn a_spec_with_networks_is_refused_in_one_sentence() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC);
    let ended = folder.run("run spec.yaml --offline");
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    let sentence = "method `cross-entropy` needs a program built with `--features deep`";
    assert!(ended.err.contains(sentence), "{}", ended.err);
    let count = ended.err.matches("--features deep").count();
    assert_eq!(count, 2, "the help repeats it");
    let ended = folder.run("run spec.yaml --offline --device cuda:0");
    assert_eq!(ended.code, 2, "{}", ended.err);
}

#[test]
fn their_cost_is_known_all_the_same() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC);
    let ended = folder.run("check spec.yaml --offline");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("cross-entropy; about"), "{}", ended.out);
}

#[test]
fn their_parameters_are_checked_all_the_same() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC.replace("margin: 4", "margn: 4"));
    let ended = folder.run("check spec.yaml --offline");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("did you mean `margin`"), "{}", ended.err);
}

#[test]
fn a_device_needs_the_feature_too() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC.replace(", cross-entropy, d-npsvcpp: {margin: 4}", ""));
    let ended = folder.run("run spec.yaml --offline --device cuda:0");
    assert_eq!(ended.code, 2);
    let sentence = "--device cuda:0 needs a program built with `--features deep`";
    assert!(ended.err.contains(sentence), "{}", ended.err);
    assert_eq!(folder.run("run spec.yaml --offline -q --device cpu").code, 0);
}
