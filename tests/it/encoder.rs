//! Encoders of images: the forward pass against PyTorch's, the input size, and the file of weights.

use crate::textures;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Folder;
use npsvcpp::data::Encoder;
use npsvcpp::ledger::Plan;
use npsvcpp::networks::{ResNet, channels_last};
use npsvcpp::spec::EncoderSpec;
use serde_json::Value;
use tch::{Device, Kind, Tensor};

/// Features that PyTorch computed; the file says of what.
fn reference() -> Value {
    serde_json::from_str(include_str!("../reference/resnet34.json")).unwrap()
}

fn network(weights: &Path) -> ResNet {
    let encoder = Encoder::new(EncoderSpec::default(), weights.to_path_buf()).unwrap();
    encoder.network(Device::Cpu).unwrap()
}

/// Images whose pixels follow from their places.
fn pixels(side: usize, images: usize) -> Tensor {
    let mut values = Vec::new();
    for image in 0..images {
        for (plane, y) in (0..3).flat_map(|plane| (0..side).map(move |y| (plane, y))) {
            let value = |x| ((7 * x + 13 * y + 29 * plane + 51 * image) % 256) as f32;
            values.extend((0..side).map(value));
        }
    }
    let side = side as i64;
    Tensor::from_slice(&values).view([images as i64, 3, side, side])
}

/// The untrained weights of `tests/reference/resnet34.py`. They are whole numbers, so every machine has the same.
fn write_untrained(path: &Path) {
    let mut convolutions = 0;
    let tensor = |(name, shape): (String, Vec<usize>)| {
        let options = (Kind::Float, Device::Cpu);
        let sizes: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        let tensor = match sizes[..] {
            [_] => {
                let is_one = name.ends_with("running_var")
                    || name.ends_with(".weight") && !name.contains("conv");
                Tensor::full(&sizes[..], f64::from(u8::from(is_one)), options)
            }
            _ => {
                let number = convolutions;
                convolutions += 1;
                let count: i64 = sizes.iter().product();
                let scale = (6.0 * sizes[0] as f64 / count as f64).sqrt();
                let value = |i: i64| {
                    let hashed = (i * i % 65521 * (i % 8191 + 1 + number) + i * 40503) % 65536;
                    ((hashed as f64 / 32768.0 - 1.0) * scale) as f32
                };
                let values: Vec<f32> = (0..count).map(value).collect();
                Tensor::from_slice(&values).view(&sizes[..])
            }
        };
        (name, tensor)
    };
    let tensors: Vec<_> = textures::resnet34().into_iter().map(tensor).collect();
    Tensor::write_safetensors(&tensors, path).unwrap();
}

/// The distance of the last image's features from the reference, relative to their length.
fn error(network: &ResNet, images: &Tensor, training: bool, expected: &Value) -> f64 {
    let images = network.conventions().normalise(images);
    let phi = tch::no_grad(|| network.forward(&images, training));
    let phi = phi.get(-1).to_kind(Kind::Double);
    let expected: Vec<f64> = serde_json::from_value(expected.clone()).unwrap();
    let expected = Tensor::from_slice(&expected);
    ((phi - &expected).norm() / expected.norm()).double_value(&[])
}

#[test]
fn a_resnet34_agrees_with_pytorch() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("untrained.safetensors");
    write_untrained(&file);
    let expected = &reference()["untrained"];
    let (one, four) = (pixels(64, 1), pixels(64, 4));
    let found = error(&network(&file), &four, true, &expected["training"]);
    assert!(found < 1e-4, "{found}");
    let mut network = network(&file);
    let found = error(&network, &one, false, &expected["evaluation"]);
    assert!(found < 1e-4, "{found}");
    network.set_channels_last();
    let found = error(&network, &channels_last(&one), false, &expected["evaluation"]);
    assert!(found < 1e-4, "{found}");
}

#[test]
#[ignore = "needs NPSVCPP_DATA with weights/resnet34-imagenet-v1-bn-reestimated.safetensors"]
fn a_resnet34_with_published_weights_agrees_with_pytorch() {
    let folder = PathBuf::from(std::env::var_os("NPSVCPP_DATA").expect("NPSVCPP_DATA is set"));
    let file = folder.join("weights/resnet34-imagenet-v1-bn-reestimated.safetensors");
    let mut network = network(&file);
    let found = error(&network, &pixels(224, 1), false, &reference()["pretrained"]);
    assert!(found < 1e-4, "{found}");
    // The storage of pixels changes only the last digits. An untrained network would amplify these.
    let images = network.conventions().normalise(&pixels(64, 8));
    let usual = tch::no_grad(|| network.forward(&images, true));
    network.set_channels_last();
    let other = tch::no_grad(|| network.forward(&channels_last(&images), true));
    let difference = ((&usual - other).norm() / usual.norm()).double_value(&[]);
    assert!(difference < 1e-3, "{difference}");
}

/// A small collection, its spec with these options of the encoder, and the folder of both.
fn collection() -> Folder {
    let folder = Folder::new();
    textures::write_images(&folder.path("data/dtd"), [4, 4]);
    fs::create_dir_all(folder.path("data/weights")).unwrap();
    for name in ["one", "two"] {
        let mut weights = textures::resnet18();
        if name == "two" {
            // Other numbers follow from another order.
            weights.reverse();
        }
        let file = folder.path(&format!("data/weights/{name}.safetensors"));
        textures::write_weights(&file, &weights);
    }
    folder
}

fn write_spec(folder: &Folder, encoder: &str) {
    let text = format!(
        "name: textures\ndatasets: [dtd: {{encoder: {{network: resnet18, {encoder}}}}}]\n\
         methods: [cross-entropy: {{training: {{epochs: 2, fine_tune: 1, batch: 4}}}}]\n"
    );
    folder.write("spec.yaml", &text);
}

#[test]
fn size_and_weights_are_part_of_the_identity_and_the_usual_size_is_not() {
    let folder = collection();
    let mut seen: Vec<(String, String)> = Vec::new();
    for (out, encoder) in [
        ("usual", "weights: one.safetensors"),
        ("given", "weights: one.safetensors, size: 224"),
        ("small", "weights: one.safetensors, size: 64"),
        ("other", "weights: two.safetensors, size: 64"),
    ] {
        write_spec(&folder, encoder);
        let ended = folder.run(&format!("run spec.yaml --data data --offline --out {out}"));
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        // The vectors of the usual size are kept for both of its spellings.
        let is_encoded = ended.err.contains("encoding 8 images");
        assert_eq!(is_encoded, out != "given", "{out}: {}", ended.err);
        let record = folder.records(out).swap_remove(0);
        let hash = record.weights_hash.unwrap();
        let notes = Plan::read(&folder.path(out)).unwrap().datasets[0].notes.join("; ");
        assert!(notes.contains(&hash[..16]), "{notes}");
        let file = encoder.split([' ', ',']).nth(1).unwrap();
        assert!(notes.contains(file), "{notes}");
        seen.push((record.cell, hash));
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[1].0, seen[2].0);
    assert_ne!(seen[2].0, seen[3].0);
    assert_eq!(seen[1].1, seen[2].1);
    assert_ne!(seen[2].1, seen[3].1);
}

#[test]
fn a_size_that_no_encoder_takes_is_refused() {
    let folder = collection();
    for (size, said) in [("8", "size"), ("0", "size"), ("big", "size")] {
        write_spec(&folder, &format!("weights: one.safetensors, size: {size}"));
        let ended = folder.run("check spec.yaml --data data --offline");
        assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
        assert!(ended.err.contains(said), "{}", ended.err);
    }
}
