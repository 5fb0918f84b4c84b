//! Validation samples of a dataset: parameters are chosen on them, or a study is measured on them.

use crate::textures;
use std::fs;

use crate::program::Folder;
use matrw::{matfile, matvar};
use npsvcpp::ledger::Record;

/// A collection in the layout of Flowers-102: images 1 to 4 for training, 5 to 8 for validation, 9 to 12 for
/// testing.
fn flowers() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("data/flowers102/jpg")).unwrap();
    fs::create_dir_all(folder.path("data/weights")).unwrap();
    let weights = folder.path("data/weights/tiny.safetensors");
    textures::write_weights(&weights, &textures::resnet18());
    for number in 1..=12 {
        write_image(&folder, number, number);
    }
    let save = |name: &str, file| {
        let path = folder.path(&format!("data/flowers102/{name}.mat"));
        matrw::save_matfile_v7(path.to_str().unwrap(), file, true).unwrap();
    };
    let labels = matvar!([[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]]);
    save("imagelabels", matfile!(labels: labels));
    save(
        "setid",
        matfile!(
            trnid: matvar!([[1.0, 2.0, 3.0, 4.0]]),
            valid: matvar!([[5.0, 6.0, 7.0, 8.0]]),
            tstid: matvar!([[9.0, 10.0, 11.0, 12.0]])
        ),
    );
    folder
}

fn write_image(folder: &Folder, number: u32, colour: u32) {
    let image = image::RgbImage::from_fn(16, 16, |x, y| {
        let wave = if colour % 2 == 1 { x / 4 % 2 } else { y / 4 % 2 };
        image::Rgb([(200 * wave) as u8, (20 * colour) as u8, (x * y) as u8])
    });
    let name = format!("data/flowers102/jpg/image_{number:05}.jpg");
    image.save(folder.path(&name)).unwrap();
}

const ENCODER: &str = "encoder: {network: resnet18, size: 32, weights: tiny.safetensors}";

fn run(folder: &Folder, spec: &str, out: &str) -> Vec<Record> {
    folder.write("spec.yaml", spec);
    let ended = folder.run(&format!("run spec.yaml --data data --offline -q --out {out}"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    folder.records(out)
}

#[test]
fn parameters_are_chosen_on_validation_samples_and_test_samples_have_no_part_in_it() {
    let spec = format!(
        "name: tuned\ndatasets: [flowers102: {{{ENCODER}}}]\n\
         methods: [lstwsvm: {{c: [0.1, 1, 10]}}, twsvm: {{c: 1}}, cross-entropy: {{lr: [0.1, 0.001], training: {{epochs: 1, fine_tune: 0}}}}]\n\
         select: {{on: validation}}\n"
    );
    let folder = flowers();
    let first = run(&folder, &spec, "first");
    for record in first.iter().filter(|record| record.method != "twsvm") {
        let selection = record.selection.as_ref().unwrap();
        assert_eq!(selection.samples, 4);
        assert_eq!(selection.points[0].scores.len(), 1);
        assert_eq!((record.n_train, record.n_test), (4, 4));
    }
    let choice = |records: &[Record]| {
        let records = records.iter().map(|record| record.selection.as_ref());
        let points = records.map(|selection| selection.map(|found| found.points.clone()));
        points.collect::<Vec<_>>()
    };
    // Other test images: the same scores.
    for number in 9..=12 {
        write_image(&folder, number, number + 3);
    }
    let other = run(&folder, &spec, "other-test");
    assert_eq!(choice(&first), choice(&other));
    // Other validation images: tuned cells are others, and the cell of fixed parameters is the same.
    for number in 5..=8 {
        write_image(&folder, number, number + 3);
    }
    let last = run(&folder, &spec, "other-validation");
    let cells = |records: &[Record]| records.iter().map(|r| r.cell.clone()).collect::<Vec<_>>();
    let (other, last) = (cells(&other), cells(&last));
    assert_ne!(other[0], last[0]);
    assert_eq!(other[1], last[1]);
    assert_ne!(other[2], last[2]);
}

#[test]
fn a_study_is_measured_on_validation_samples() {
    let spec = |options: &str| {
        format!(
            "name: study\ndatasets: [flowers102: {{{options}{ENCODER}}}]\n\
             methods: [cross-entropy: {{training: {{epochs: 2, fine_tune: 1, batch: 4}}}}]\n"
        )
    };
    let folder = flowers();
    let on_test = run(&folder, &spec(""), "test");
    let study = run(&folder, &spec("evaluate_on: validation, "), "study");
    assert_ne!(on_test[0].cell, study[0].cell);
    assert_eq!(study[0].n_test, 4);
    let table = fs::read_to_string(folder.path("study/table.md")).unwrap();
    assert!(table.contains("accuracies are those on the validation samples"), "{table}");
    // The test images may be missing: they are not looked at.
    let before = study[0].accuracy;
    for number in 9..=11 {
        write_image(&folder, number, number + 5);
    }
    let again = run(&folder, &spec("evaluate_on: validation, "), "again");
    assert_eq!((&again[0].cell, again[0].accuracy), (&study[0].cell, before));
}

#[test]
fn a_dataset_without_validation_samples_is_named() {
    let folder = Folder::new();
    for (dataset, select, said) in [
        ("optdigits", "{on: validation}", "it has no validation part"),
        ("optdigits: {evaluate_on: validation}", "{}", "it has no validation part"),
    ] {
        folder.write(
            "spec.yaml",
            format!("name: a\ndatasets: [{dataset}]\nmethods: [lstwsvm: {{c: [1, 2]}}]\nselect: {select}\n"),
        );
        let ended = folder.run("check spec.yaml --offline");
        assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
        assert!(ended.err.contains(said), "{}", ended.err);
        assert!(ended.err.contains("`flowers102`"), "{}", ended.err);
    }
}
