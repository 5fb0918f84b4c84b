//! What can go wrong with images, weights, checkpoints and devices: one sentence that names the file or the
//! device, never a panic, and the other cells run.

use crate::textures;
use std::fs;

use crate::program::{Ended, Folder};
use image::codecs::jpeg::JpegEncoder;
use npsvcpp::ledger::{Ledger, Plan, Record, Status};
use tch::Tensor;

const RUN: &str = "run spec.yaml --data data --offline -q --out out";

/// A small collection, an encoder for it, and a spec of two networks.
fn collection() -> Folder {
    let folder = Folder::new();
    textures::write_images(&folder.path("data/dtd"), [4, 4]);
    fs::create_dir_all(folder.path("data/weights")).unwrap();
    let weights = folder.path("data/weights/tiny.safetensors");
    textures::write_weights(&weights, &textures::resnet18());
    folder.write(
        "spec.yaml",
        "name: textures\n\
         datasets: [dtd: {encoder: {network: resnet18, size: 32, weights: tiny.safetensors}}]\n\
         methods:\n\
         \x20 - cross-entropy: {training: {epochs: 3, fine_tune: 2, batch: 4}}\n\
         \x20 - dtwsvn: {training: {epochs: 3, fine_tune: 2, batch: 4}}\n",
    );
    folder
}

fn records(folder: &Folder) -> Vec<Record> {
    Ledger::read(&folder.path("out")).unwrap().into_records()
}

/// Puts `bytes` in the place of one of the images.
fn put_image(folder: &Folder, bytes: &[u8]) {
    folder.write("data/dtd/images/striped/striped_1.png", bytes);
}

fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let image = image::RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([(x * 7) as u8, (y * 5) as u8, 90])
    });
    let mut bytes = Vec::new();
    JpegEncoder::new(&mut bytes).encode_image(&image).unwrap();
    bytes
}

fn one_sentence(ended: &Ended, sentence: &str) {
    assert!(ended.err.contains(sentence), "{sentence}\n{}", ended.err);
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
}

#[test]
fn unusual_images_are_read() {
    let folder = collection();
    let mut grey = Vec::new();
    let image = image::GrayImage::from_pixel(9, 9, image::Luma([80]));
    JpegEncoder::new(&mut grey).encode_image(&image).unwrap();
    let cmyk = include_bytes!("../reference/cmyk.jpg");
    for (what, bytes) in [
        ("grey", grey),
        ("CMYK", cmyk.to_vec()),
        ("1 x 1", jpeg(1, 1)),
        ("20000 px wide", jpeg(20_000, 3)),
    ] {
        put_image(&folder, &bytes);
        let _ = fs::remove_dir_all(folder.path("out"));
        let ended = folder.run(RUN);
        assert_eq!(ended.code, 0, "{what}: {}{}", ended.out, ended.err);
    }
}

#[test]
fn images_that_cannot_be_read_are_named() {
    let folder = collection();
    let whole = jpeg(64, 64);
    for (what, bytes) in [
        ("half of a file", whole[..whole.len() / 2].to_vec()),
        ("the beginning of a file", whole[..30].to_vec()),
        ("nothing", Vec::new()),
        ("too wide", jpeg(20_001, 2)),
    ] {
        put_image(&folder, &bytes);
        let ended = folder.run(RUN);
        assert_eq!(ended.code, 3, "{what}: {}{}", ended.out, ended.err);
        one_sentence(&ended, "striped_1.png: found ");
    }
}

#[test]
fn a_broken_image_spares_the_cells_of_other_datasets() {
    let folder = collection();
    let spec = fs::read_to_string(folder.path("spec.yaml")).unwrap();
    let spec =
        spec.replace("tiny.safetensors}}]", "tiny.safetensors}}, optdigits: {subsample: 100}]");
    folder.write("spec.yaml", spec + "splits: {repeats: 1}\n");
    let whole = fs::read(folder.path("data/dtd/images/striped/striped_1.png")).unwrap();
    put_image(&folder, &whole[..whole.len() / 2]);
    let ended = folder.run(RUN);
    assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
    one_sentence(&ended, "2 cells cannot run here: the images of `dtd` cannot be encoded: ");
    one_sentence(&ended, "striped_1.png: found ");
    let statuses: Vec<_> =
        (records(&folder).iter()).map(|record| (record.dataset.clone(), record.status)).collect();
    assert_eq!(statuses.len(), 2, "{statuses:?}");
    let is_done =
        |(dataset, status): &(String, Status)| dataset == "optdigits" && *status == Status::Ok;
    assert!(statuses.iter().all(is_done), "{statuses:?}");
    // Tables name the image, not the folders of this machine.
    let plan = Plan::read(&folder.path("out")).unwrap();
    let reason = plan.datasets[0].unavailable.clone().unwrap();
    assert!(reason.contains("encoded: striped_1.png: found"), "{reason}");
    // With a whole image the same command completes the experiment.
    put_image(&folder, &whole);
    let ended = folder.run(RUN);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
}

#[test]
fn weights_that_are_not_numbers_are_named() {
    let folder = collection();
    let path = folder.path("data/weights/tiny.safetensors");
    let mut tensors = Tensor::read_safetensors(&path).unwrap();
    let broken = tensors.iter_mut().find(|(name, _)| name == "layer2.0.conv1.weight");
    let _ = broken.unwrap().1.get(0).fill_(f64::NAN);
    Tensor::write_safetensors(&tensors, &path).unwrap();
    let ended = folder.run(RUN);
    assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
    one_sentence(
        &ended,
        "tiny.safetensors: found a value in tensor `layer2.0.conv1.weight` that is not a finite number",
    );
}

#[cfg(feature = "failpoints")]
/// The name of a cell, from a run into another folder.
fn cell(folder: &Folder, method: &str) -> String {
    let ended = folder.run(&RUN.replace("--out out", "--out names"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let mut records = folder.records("names").into_iter();
    records.find(|record| record.method == method).unwrap().cell
}

#[cfg(feature = "failpoints")]
#[test]
fn a_bad_checkpoint_is_reported_and_the_other_cells_run() {
    let folder = collection();
    let cell = cell(&folder, "cross-entropy");
    // A checkpoint of the other training.
    let run = format!("{} --only method=dtwsvn", RUN.replace("out out", "out killed"));
    let killed = folder.run_failing(&run, "checkpoint", 0, "kill");
    assert_eq!(killed.status.code(), None, "a signal ended it");
    let mut files = fs::read_dir(folder.path("killed/checkpoints")).unwrap();
    let other = fs::read(files.next().unwrap().unwrap().path()).unwrap();
    for (bytes, said) in [
        (&other[..other.len() / 3], "is damaged"),
        (&other[..], "belongs to a training of another spec"),
    ] {
        let _ = fs::remove_dir_all(folder.path("out"));
        let checkpoint = format!("out/checkpoints/{cell}.safetensors");
        folder.write(&checkpoint, bytes);
        let ended = folder.run(RUN);
        assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
        let records = records(&folder);
        let status = |method: &str| {
            let record = records.iter().find(|record| record.method == method).unwrap();
            (record.status, record.error.clone().unwrap_or_default())
        };
        let (failed, reason) = status("cross-entropy");
        assert_eq!(failed, Status::Failed);
        assert!(reason.contains(said) && reason.contains(&checkpoint), "{reason}");
        assert_eq!(status("dtwsvn").0, Status::Ok);
        // Nothing was lost: without the file the training starts over.
        fs::remove_file(folder.path(&checkpoint)).unwrap();
        let ended = folder.run(&format!("{RUN} --retry-failed"));
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    }
}
