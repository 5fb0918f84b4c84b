//! A build without libtorch knows networks by name and says in one sentence what they need.

use crate::program::Folder;
use npsvcpp::methods::METHODS;

/// A spec of a kernel method and of all networks.
fn spec() -> String {
    let networks = METHODS.iter().filter(|entry| entry.is_network);
    let networks: String = networks.map(|entry| format!(", {}", entry.info.name)).collect();
    format!(
        "name: nets\ndatasets: [optdigits: {{subsample: 100}}]\nsplits: {{repeats: 1}}\nmethods: [svm{networks}]\n"
    )
}

#[test]
fn a_spec_with_networks_is_refused_in_one_sentence() {
    let folder = Folder::new();
    folder.write("spec.yaml", spec());
    let ended = folder.run("run spec.yaml --offline");
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    let first = METHODS.iter().find(|entry| entry.is_network).unwrap().info.name;
    let sentence = format!("method `{first}` needs a program built with `--features deep`");
    assert!(ended.err.contains(&sentence), "{}", ended.err);
    let count = ended.err.matches("--features deep").count();
    assert_eq!(count, 2, "the help repeats it");
    let ended = folder.run("run spec.yaml --offline --device cuda:0");
    assert_eq!(ended.code, 2, "{}", ended.err);
}

#[test]
fn the_cost_of_networks_is_known_without_libtorch() {
    let folder = Folder::new();
    folder.write("spec.yaml", spec());
    let ended = folder.run("check spec.yaml --offline");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    for entry in METHODS.iter().filter(|entry| entry.is_network) {
        assert!(ended.out.contains(&format!("{}; about", entry.info.name)), "{}", ended.out);
    }
}

/// Neither images nor weights are looked into: these files hold nothing that could be.
#[test]
fn check_encodes_no_image() {
    let folder = Folder::new();
    for (list, number) in [("train1", 0), ("test1", 1)] {
        let names = ["dotted", "striped"].map(|class| format!("{class}/{class}_{number}.png"));
        for name in &names {
            folder.write(&format!("data/dtd/images/{name}"), "not an image");
        }
        folder.write(&format!("data/dtd/labels/{list}.txt"), names.join("\n"));
    }
    folder.write("data/weights/tiny.safetensors", "not weights");
    folder.write(
        "spec.yaml",
        "name: images\n\
         datasets: [dtd: {encoder: {network: resnet18, size: 64, weights: tiny.safetensors}}]\n\
         methods: [cross-entropy, d-npsvcpp]\n",
    );
    let ended = folder.run("check spec.yaml --data data --offline");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    for said in ["d-npsvcpp; about", " per job", "2 cells"] {
        assert!(ended.out.contains(said), "{said}\n{}", ended.out);
    }
    assert!(!ended.err.contains("encoding"), "{}", ended.err);
}

#[test]
fn parameters_of_networks_are_checked_without_libtorch() {
    let folder = Folder::new();
    folder.write("spec.yaml", spec().replace("d-npsvcpp", "d-npsvcpp: {margn: 4}"));
    let ended = folder.run("check spec.yaml --offline");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("did you mean `margin`"), "{}", ended.err);
}

#[test]
fn a_graphics_processor_needs_the_feature() {
    let folder = Folder::new();
    let spec = "name: kernels\ndatasets: [optdigits: {subsample: 100}]\nmethods: [svm]\n";
    folder.write("spec.yaml", spec);
    let ended = folder.run("run spec.yaml --offline --device cuda:0");
    assert_eq!(ended.code, 2);
    let sentence = "--device cuda:0 needs a program built with `--features deep`";
    assert!(ended.err.contains(sentence), "{}", ended.err);
    assert_eq!(folder.run("run spec.yaml --offline -q --device cpu").code, 0);
}
