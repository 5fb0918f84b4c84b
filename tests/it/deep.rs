//! Networks: encoders against published numbers, training against what it must reach, checkpoints
//! against a training that was never stopped.

use crate::textures;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Folder;
use crate::textures::{resnet18, write_weights};
use ndarray::Axis;
use npsvc::Seed;
use npsvcpp::data::{Encoder, Store, splits};
use npsvcpp::methods::{self, METHODS, TraceRow};
use npsvcpp::networks::{self, NetworkFit, Samples, TrainOptions, TrainedNetwork, TrainingData};
use npsvcpp::spec::{Backbone, Conventions, EncoderSpec, Splits};
use serde_json::{Value, json};
use tch::{Device, Kind, Tensor};

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).reshape([-1])).unwrap()
}

fn reference(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn largest(values: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order.truncate(count);
    order
}

/// ResNet50 with ImageNet weights on real photographs, against an independent implementation.
#[test]
#[ignore = "needs NPSVCPP_DATA with weights/resnet50-check.json and the weights and images it names"]
fn a_residual_network_agrees_with_another_implementation() {
    let folder = PathBuf::from(std::env::var_os("NPSVCPP_DATA").expect("NPSVCPP_DATA is set"));
    let check = fs::read(folder.join("weights/resnet50-check.json")).unwrap();
    let check: Value = serde_json::from_slice(&check).unwrap();
    let spec = EncoderSpec {
        network: Backbone::Resnet50,
        conventions: Conventions::Keras,
        ..EncoderSpec::default()
    };
    let weights = folder.join("weights/resnet50-imagenet-v1.safetensors");
    let tensors = Tensor::read_safetensors(&weights).unwrap();
    let tensors: BTreeMap<String, Tensor> = tensors.into_iter().collect();
    let encoder = Encoder::new(spec, weights).unwrap();
    let network = encoder.network(Device::Cpu).unwrap();
    let encode = |pixels: &Tensor| {
        let phi = tch::no_grad(|| network.forward(&network.conventions().normalise(pixels), false));
        let logits = phi.linear(&tensors["fc.weight"], Some(&tensors["fc.bias"]));
        let classes = logits.softmax(-1, Kind::Float);
        (numbers(&phi), numbers(&classes))
    };

    // Planes of red, green and blue; the reference counts them the other way round.
    let pixels: Vec<f32> = (0..3_usize)
        .flat_map(|plane| {
            (0..224_usize).flat_map(move |y| (0..224_usize).map(move |x| (plane, y, x)))
        })
        .map(|(plane, y, x)| ((7 * x + 13 * y + 29 * (2 - plane)) % 256) as f32)
        .collect();
    let (phi, classes) = encode(&Tensor::from_slice(&pixels).view([1, 3, 224, 224]));
    let expected = &check["synthetic"];
    for (found, expected) in phi.iter().zip(reference(&expected["feature_first8"])) {
        assert!((found - expected).abs() <= 0.002, "{found} {expected}");
    }
    let length = expected["feature_l2"].as_f64().unwrap();
    assert!((norm(&phi) / length - 1.0).abs() <= 0.0002);
    assert_eq!(largest(&classes, 1)[0] as u64, expected["top5"][0]["class"]);

    for image in check["images"].as_array().unwrap() {
        let file = image["file"].as_str().unwrap();
        let planes = planes(&folder.join(file));
        let (phi, classes) = encode(&planes);
        for (found, expected) in phi.iter().zip(reference(&image["feature_first8"])) {
            assert!((found - expected).abs() <= 0.25, "{file}: {found} {expected}");
        }
        let length = image["feature_l2"].as_f64().unwrap();
        assert!((norm(&phi) / length - 1.0).abs() <= 0.015, "{file}");
        let top = largest(&classes, 5);
        let expected = image["top5"].as_array().unwrap();
        let expected: Vec<usize> =
            expected.iter().map(|entry| entry["class"].as_u64().unwrap() as usize).collect();
        let common = top.iter().filter(|class| expected.contains(class)).count();
        assert!(common >= 4, "{file}: {top:?} {expected:?}");
        if image["top1_is_clear"] == true {
            assert_eq!(top[0], expected[0], "{file}");
        }
        let probability = image["top5"][0]["prob"].as_f64().unwrap();
        assert!((classes[expected[0]] - probability).abs() <= 0.03, "{file}");
    }
}

/// A photograph as the program's loader reads it.
fn planes(path: &Path) -> Tensor {
    let image = image::open(path).unwrap().into_rgb8();
    let image = image::imageops::resize(&image, 224, 224, image::imageops::FilterType::Triangle);
    let planes: Vec<f32> = (0..3)
        .flat_map(|plane| image.as_raw().iter().skip(plane).step_by(3))
        .map(|&value| f32::from(value))
        .collect();
    Tensor::from_slice(&planes).view([1, 3, 224, 224])
}

/// Optical digits, a random three fifths of them for training.
struct Digits {
    train: Samples,
    test: Samples,
}

fn digits() -> Digits {
    let all = Store::new(None, true).fetch("optdigits", &mut |_| {}).unwrap();
    let split = splits(&all, &Splits::default(), &Seed::root(2024)).unwrap().remove(0);
    let part = |samples: &[usize]| Samples {
        x: all.x.select(Axis(0), samples),
        y: samples.iter().map(|&i| all.y[i]).collect(),
        images: None,
    };
    Digits { train: part(&split.train), test: part(&split.test) }
}

fn train(samples: &Samples, method: &str, params: &Value, options: TrainOptions<'_>) -> NetworkFit {
    let method = methods::find(method).unwrap().point(params).unwrap();
    let data = TrainingData { samples, classes: 10, encoder: None };
    let fit = networks::train(method.criterion().unwrap(), &data, &Seed::root(7), options);
    fit.unwrap_or_else(|error| panic!("{params}: {error}"))
}

/// Of the training in the learning test, alike for all criteria but for the margin's scale.
fn settings(method: &str) -> Value {
    match method {
        "dtwsvn" | "d-npsvcpp" => {
            json!({"lr": 0.1, "margin": 4.0, "scheme": "rvo", "training": {"epochs": 30}})
        }
        _ => json!({"lr": 0.01, "training": {"epochs": 30}}),
    }
}

#[test]
fn every_criterion_learns_digits() {
    let digits = digits();
    let mut largest_objective = BTreeMap::new();
    for entry in METHODS.iter().filter(|entry| entry.is_network) {
        let method = entry.info.name;
        let fit = train(&digits.train, method, &settings(method), TrainOptions::default());
        let predicted = fit.network.predict(&digits.test).unwrap();
        let right = predicted.iter().zip(&digits.test.y).filter(|(l, y)| l == y).count();
        let accuracy = 100.0 * right as f64 / digits.test.y.len() as f64;
        let (first, last) = (fit.trace.first().unwrap(), fit.trace.last().unwrap());
        println!(
            "{method}: {accuracy:.2} %, max J {:.4}, gap {:.4}",
            last.primal,
            last.primal - last.dual
        );
        assert!(accuracy > 95.0, "{method}: {accuracy}");
        assert!(last.primal < first.primal, "{method}");
        assert_eq!(fit.trace.len(), 30);
        if method == "d-npsvcpp" {
            let gap = |row: &TraceRow| row.primal - row.dual;
            assert!(gap(last) < 0.25 * gap(first), "{} {}", gap(first), gap(last));
        }
        largest_objective.insert(method, last.primal);
    }
    // What the weights are for: the worst class is better off than with equal ones.
    assert!(largest_objective["d-npsvcpp"] < largest_objective["dtwsvn"], "{largest_objective:?}");
}

#[test]
fn a_training_continued_from_a_checkpoint_ends_with_the_same_weights() {
    let digits = digits();
    let folder = tempfile::tempdir().unwrap();
    let params = json!({"training": {"epochs": 8}});
    for method in ["d-npsvcpp", "cross-entropy"] {
        let whole = train(&digits.train, method, &params, TrainOptions::default());
        let path = folder.path().join(format!("{method}.safetensors"));
        let taken = folder.path().join(format!("taken/{method}.safetensors"));
        fs::create_dir_all(folder.path().join("taken")).unwrap();
        // In epoch 5 the checkpoint is that of the epoch before.
        let keep = |_: &TrainedNetwork, row: &mut TraceRow| {
            if row.iteration == 5 {
                fs::copy(&path, &taken).unwrap();
            }
            Ok(())
        };
        let from = |path: &Path| TrainOptions {
            checkpoint: Some(path.to_path_buf()),
            ..TrainOptions::default()
        };
        let options = TrainOptions { on_epoch: Some(Box::new(keep)), ..from(&path) };
        train(&digits.train, method, &params, options);
        let resumed = train(&digits.train, method, &params, from(&taken));
        assert_eq!(whole.network.weights(), resumed.network.weights(), "{method}");
        let essence = |fit: &NetworkFit| -> Vec<_> {
            let rows = fit.trace.iter();
            rows.map(|row| (row.iteration, row.objectives.clone(), row.tau.clone())).collect()
        };
        assert_eq!(essence(&whole), essence(&resumed), "{method}");
        let seconds =
            |fit: &NetworkFit| fit.trace.iter().map(|row| row.seconds).collect::<Vec<_>>();
        let finished = train(&digits.train, method, &params, from(&path));
        assert_eq!(seconds(&finished).len(), 8);
        // What was done before was not done again: its times are those of the first training.
        assert_eq!(seconds(&finished)[..5], seconds(&resumed)[..5], "{method}");
    }
}

const SPEC: &str = "\
name: nets
datasets: [optdigits: {subsample: 300}]
splits: {repeats: 2}
methods:
  - cross-entropy: {training: {epochs: 3}}
  - d-npsvcpp: {training: {epochs: 3}, network: {hidden: 32, z: 16}}
  - dtwsvn: {training: {epochs: 2}, network: {hypothesis: z}}
  - lstwsvm
record: [evolution]
";

/// Records without times, by cell.
fn essence(folder: &Folder, out: &str) -> BTreeMap<String, Value> {
    let records = folder.records(out).into_iter();
    records
        .map(|record| {
            let shown = json!([record.status, record.accuracy, record.certificate, record.device]);
            (record.cell, shown)
        })
        .collect()
}

#[test]
fn trainings_do_not_depend_on_jobs_or_processes() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC);
    for (out, options) in [
        ("one", "--jobs 1"),
        ("two", "--jobs 2"),
        ("three", "--isolate --jobs 2"),
        ("four", "--device cpu,cpu"),
    ] {
        let ended = folder.run(&format!("run spec.yaml --offline -q --out {out} {options}"));
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        assert!(!folder.path(out).join("checkpoints").exists());
        for figure in ["convergence", "accuracy"] {
            assert!(folder.path(out).join(format!("figures/{figure}.svg")).exists());
        }
    }
    let one = essence(&folder, "one");
    assert_eq!(one.len(), 8);
    assert_eq!(one, essence(&folder, "two"));
    assert_eq!(one, essence(&folder, "three"));
    assert_eq!(one, essence(&folder, "four"));
}

/// Whether a run has left a checkpoint whose name ends so.
#[cfg(feature = "failpoints")]
fn has_checkpoint(folder: &Folder, out: &str, ending: &str) -> bool {
    let files = fs::read_dir(folder.path(out).join("checkpoints"));
    let names = files.into_iter().flatten().flatten().map(|file| file.file_name());
    { names }.any(|name| name.to_string_lossy().ends_with(ending))
}

#[cfg(feature = "failpoints")]
#[test]
fn a_killed_program_continues_its_training_from_the_checkpoint() {
    let folder = Folder::new();
    folder.write(
        "spec.yaml",
        "name: long\ndatasets: [optdigits: {subsample: 300}]\nsplits: {repeats: 1}\n\
         methods: [d-npsvcpp: {training: {epochs: 10}}]\n",
    );
    let command = |out: &str| format!("run spec.yaml --offline -q --out {out}");
    let killed = folder.run_failing(&command("killed"), "checkpoint", 5, "kill");
    assert_eq!(killed.status.code(), None, "a signal ended it");
    assert!(has_checkpoint(&folder, "killed", ".safetensors"));
    for out in ["killed", "whole"] {
        let ended = folder.run(&command(out));
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        assert!(!folder.path(out).join("checkpoints").exists());
    }
    assert_eq!(essence(&folder, "killed"), essence(&folder, "whole"));
}

#[test]
fn devices_are_named_and_a_missing_one_is_reported() {
    let folder = Folder::new();
    folder.write("spec.yaml", SPEC);
    let ended = folder.run("run spec.yaml --offline --device gpu");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("`gpu` is not a device"), "{}", ended.err);
    // The first device that this machine lacks.
    let found = tch::Cuda::device_count();
    let missing = format!("cuda:{found}");
    let said = match found {
        0 => format!("--device {missing}: libtorch finds no CUDA device"),
        _ => format!("--device {missing}: libtorch finds {found} CUDA devices"),
    };
    for devices in [missing.clone(), format!("cpu,{missing}")] {
        let ended = folder.run(&format!("run spec.yaml --offline --device {devices}"));
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert!(ended.err.contains(&said), "{}", ended.err);
        assert!(!folder.path("results").exists(), "nothing was begun");
    }
}

/// A folder with a small collection in DTD's layout, of two classes, and an encoder for it.
fn textures() -> Folder {
    let folder = Folder::new();
    textures::write_images(&folder.path("data/dtd"), [4, 4]);
    fs::create_dir_all(folder.path("data/weights")).unwrap();
    write_weights(&folder.path("data/weights/tiny.safetensors"), &resnet18());
    folder.write(
        "spec.yaml",
        "name: textures\n\
         datasets: [dtd: {encoder: {network: resnet18, weights: tiny.safetensors}}]\n\
         splits: {repeats: 1}\n\
         methods:\n\
         \x20 - cross-entropy: {training: {epochs: 2, fine_tune: 1, batch: 4}}\n\
         \x20 - d-npsvcpp: {training: {epochs: 1, fine_tune: 1, batch: 4}}\n\
         \x20 - lstwsvm\n\
         record: [evolution]\n",
    );
    folder
}

/// Trace rows without times.
fn traces(folder: &Folder, out: &str) -> Vec<Value> {
    let files = fs::read_dir(folder.path(out).join("traces")).unwrap();
    let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let rows = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    rows.map(|row| {
        let mut row: Value = serde_json::from_str(&row).unwrap();
        row.as_object_mut().unwrap().remove("seconds");
        row
    })
    .collect()
}

#[cfg(feature = "failpoints")]
#[test]
fn a_killed_fine_tuning_of_an_encoder_continues_to_the_bit() {
    let folder = textures();
    folder.write(
        "spec.yaml",
        "name: textures\n\
         datasets: [dtd: {encoder: {network: resnet18, weights: tiny.safetensors}}]\n\
         splits: {repeats: 1}\n\
         methods: [d-npsvcpp: {training: {epochs: 6, fine_tune: 2, batch: 4}}]\n\
         record: [evolution]\n",
    );
    let command = |out: &str| format!("run spec.yaml --data data --offline -q --out {out}");
    let ended = folder.run(&command("whole"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    // Killed after the first epoch, in which the encoder was trained, and after the third, in which it was frozen.
    for (passes, ending) in [(0, ".safetensors"), (1, ".head.safetensors")] {
        let killed = folder.run_failing(&command("killed"), "checkpoint", passes, "kill");
        assert_eq!(killed.status.code(), None, "a signal ended it");
        assert!(has_checkpoint(&folder, "killed", ending), "{ending}");
    }
    let ended = folder.run(&command("killed"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert_eq!(traces(&folder, "killed").len(), 6);
    assert_eq!(traces(&folder, "killed"), traces(&folder, "whole"));
    assert_eq!(essence(&folder, "killed"), essence(&folder, "whole"));
}

#[test]
fn images_are_encoded_once_and_encoders_fine_tuned() {
    let folder = textures();
    let ended = folder.run("run spec.yaml --data data --offline --out first");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("encoding 8 images of dtd, once"), "{}", ended.err);
    let second = "run spec.yaml --data data --offline --out second --only method=cross-entropy --only method=lstwsvm";
    let ended = folder.run(second);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(!ended.err.contains("encoding"), "they are kept: {}", ended.err);
    let first = essence(&folder, "first");
    assert_eq!(first.len(), 3);
    let second = essence(&folder, "second");
    assert_eq!(second.len(), 2);
    for (cell, found) in &second {
        assert_eq!(first.get(cell), Some(found));
    }
}

#[test]
fn a_map_is_made_of_what_a_network_learnt() {
    let folder = Folder::new();
    folder.write(
        "spec.yaml",
        "name: map\n\
         datasets: [optdigits: {subsample: 200}]\n\
         splits: {repeats: 2}\n\
         methods:\n\
         \x20 - cross-entropy: {training: {epochs: 1}, network: {z: 7}}\n\
         \x20 - cross-entropy: {label: without, training: {epochs: 1}, network: {hypothesis: phi}}\n\
         record: [embedding]\n",
    );
    let ended = folder.run("run spec.yaml --offline --out out");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let files: Vec<_> = fs::read_dir(folder.path("out/embeddings")).unwrap().collect();
    assert_eq!(files.len(), 1, "of the first split, where there is a z");
    let text = fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
    let map: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(map["learnt"]["dims"], 7);
    assert_eq!(map["raw"]["dims"], 64);
    assert!(folder.path("out/figures/embedding.svg").exists());
}

#[test]
fn what_is_wrong_with_images_and_weights_is_named() {
    let folder = textures();
    let ends = |code: i32, sentence: &str| {
        let ended = folder.run("run spec.yaml --data data --offline");
        assert_eq!(ended.code, code, "{}{}", ended.out, ended.err);
        let said = ended.out + &ended.err;
        assert!(said.contains(sentence), "{sentence}\n{said}");
    };
    let weights = folder.path("data/weights/tiny.safetensors");
    let whole = fs::read(&weights).unwrap();

    // The cells of the dataset cannot run; others could.
    fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    ends(3, "tiny.safetensors: found an incomplete or damaged safetensors file");
    let mut other = resnet18();
    other[0].1 = vec![64, 3, 5, 5];
    write_weights(&weights, &other);
    ends(3, "found tensor `conv1.weight` of shape [64, 3, 5, 5], expected shape [64, 3, 7, 7]");
    other.remove(0);
    write_weights(&weights, &other);
    ends(3, "found no tensor `conv1.weight`, expected one of shape [64, 3, 7, 7]");
    // What the spec names is not there.
    fs::remove_file(&weights).unwrap();
    ends(2, "there is no file tiny.safetensors of weights");
    fs::write(&weights, &whole).unwrap();

    folder.write("data/dtd/images/striped/striped_1.png", "no image");
    ends(3, "striped_1.png: found ");
    let png = fs::read(folder.path("data/dtd/images/striped/striped_2.png")).unwrap();
    folder.write("data/dtd/images/striped/striped_1.png", &png[..png.len() / 2]);
    ends(3, "striped_1.png: found ");
    fs::remove_file(folder.path("data/dtd/images/striped/striped_1.png")).unwrap();
    ends(2, "found `striped/striped_1.png`, which is not an image under images/");
}
