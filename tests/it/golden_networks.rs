//! Golden weights of networks after two epochs, in `tests/golden/networks.json`.
//!
//! On a processor with the same instructions and as many cores the hashes must be equal; elsewhere the objectives
//! must agree within 0.1 %. `NPSVCPP_ACCEPT=1` writes the file again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ndarray::Array2;
use npsvc::Seed;
use npsvcpp::data::{Encoder, Store};
use npsvcpp::methods::{self, TraceRow};
use npsvcpp::networks::{self, NetworkFit, Samples, TrainOptions, TrainedNetwork, TrainingData};
use npsvcpp::spec::{Backbone, EncoderSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::Digits;
use crate::textures;

/// What is kept of a training.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Golden {
    hash: String,
    objective: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    /// What libtorch chooses its instructions, and the order of its sums, by.
    cpu: String,
    trainings: BTreeMap<String, Golden>,
}

fn cpu() -> String {
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! has {
            ($($name:tt)*) => { $(if std::arch::is_x86_feature_detected!($name) { found.push($name); })* };
        }
        has!("avx2" "fma" "avx512f" "avx512vl" "avx512dq" "avx512bw");
    }
    format!("{} {}", std::env::consts::ARCH, found.join(" "))
}

/// A hash of all weights, of the trace without times, and of the classes of `test`.
fn golden(fit: &NetworkFit, test: &Samples) -> Golden {
    let mut hash = Sha256::new();
    let mut weights = fit.network.weights();
    weights.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, values) in weights {
        hash.update(name);
        for value in values {
            hash.update((value as f32).to_bits().to_le_bytes());
        }
    }
    for row in &fit.trace {
        let numbers = row.objectives.iter().chain(&row.tau).chain(&row.tau_star);
        let others = [row.primal, row.dual, row.gradient_norm];
        for number in numbers.chain(&others).chain(&row.accuracy) {
            hash.update(number.to_bits().to_le_bytes());
        }
    }
    for class in fit.network.predict(test).unwrap() {
        hash.update((class as u64).to_le_bytes());
    }
    if let Some(z) = fit.network.represent(test).unwrap() {
        z.iter().for_each(|value| hash.update(value.to_bits().to_le_bytes()));
    }
    let hash = hash.finalize();
    Golden {
        hash: hash[..8].iter().map(|byte| format!("{byte:02x}")).collect(),
        objective: fit.certificate.primal,
    }
}

fn train(
    data: &TrainingData<'_>,
    method: &str,
    params: &Value,
    monitor: Option<&Samples>,
) -> NetworkFit {
    let method = methods::find(method).unwrap().point(params).unwrap();
    let on_epoch = |network: &TrainedNetwork, row: &mut TraceRow| {
        if let Some(samples) = monitor {
            row.accuracy = Some(samples.accuracy(&network.predict(samples)?));
        }
        Ok(())
    };
    let options = TrainOptions { on_epoch: Some(Box::new(on_epoch)), ..TrainOptions::default() };
    let fit = networks::train(method.criterion().unwrap(), data, &Seed::root(3), options);
    fit.unwrap_or_else(|error| panic!("{params}: {error}"))
}

/// Every criterion on given vectors, and every choice that D-NPSVC++ has.
fn on_vectors(trainings: &mut BTreeMap<String, Golden>) {
    let digits = Digits::load();
    let samples = Samples { x: digits.x_train, y: digits.y_train, images: None };
    let data = TrainingData { samples: &samples, classes: 10, encoder: None };
    let test = Samples { y: vec![0; digits.x_test.nrows()], x: digits.x_test, images: None };
    let choices = [
        ("cross-entropy", json!({})),
        ("arcface", json!({})),
        ("am-softmax", json!({})),
        ("dtwsvn", json!({"scheme": "ovr"})),
        ("dtwsvn", json!({"scheme": "rvo"})),
        ("d-npsvcpp", json!({"scheme": "ovr"})),
        ("d-npsvcpp", json!({"scheme": "rvo"})),
        ("d-npsvcpp", json!({"tau_gradient": "first-columns"})),
        (
            "d-npsvcpp",
            json!({"scheme": "rvo", "hinge": "unclipped", "loss_scale": {"near": 3.0, "far": 2.5}}),
        ),
        ("d-npsvcpp", json!({"gamma": {"max": 0.1, "t_max": 1}, "network": {"layer_norm": false}})),
        ("d-npsvcpp", json!({"network": {"hypothesis": "z"}})),
        ("d-npsvcpp", json!({"network": {"hypothesis": "phi"}})),
        ("arcface", json!({"network": {"hypothesis": "phi"}})),
    ];
    for (method, mut params) in choices {
        let key = format!("{method} {params}");
        params["training"] = json!({"epochs": 2});
        params["lr"] = json!(0.01);
        let fit = train(&data, method, &params, None);
        trainings.insert(key, golden(&fit, &test));
    }
}

/// Trainings in which a small encoder learns in the first epoch.
fn on_images(trainings: &mut BTreeMap<String, Golden>) {
    let folder = tempfile::tempdir().unwrap();
    textures::write_images(&folder.path().join("dtd"), [8, 4]);
    let weights = folder.path().join("untrained.safetensors");
    textures::write_weights(&weights, &textures::resnet18());
    let dataset = Store::new(Some(folder.path().to_path_buf()), true);
    let dataset = dataset.fetch("dtd", &mut |_| ()).unwrap();
    let spec = EncoderSpec { network: Backbone::Resnet18, size: 32, ..EncoderSpec::default() };
    let encoder = Encoder::new(spec, weights).unwrap();
    let images = dataset.images.as_ref().unwrap().resized(32);
    let part = |samples: std::ops::Range<usize>| Samples {
        x: Array2::zeros((samples.len(), 512)),
        y: samples.clone().map(|i| dataset.y[i]).collect(),
        images: Some(images.select(&samples.collect::<Vec<_>>())),
    };
    let (samples, test) = (part(0..8), part(8..12));
    let data = TrainingData { samples: &samples, classes: 2, encoder: Some(&encoder) };
    for (method, mut params, training) in [
        ("d-npsvcpp", json!({"scheme": "ovr"}), json!({})),
        ("d-npsvcpp", json!({"scheme": "rvo", "second_pass": "network"}), json!({})),
        ("arcface", json!({}), json!({"frozen_batch_norms": "training"})),
    ] {
        let key = format!("{method} {params} {training} with its encoder");
        let mut common = json!({"epochs": 2, "fine_tune": 1, "batch": 4});
        for (name, value) in training.as_object().unwrap() {
            common[name] = value.clone();
        }
        params["training"] = common;
        let fit = train(&data, method, &params, Some(&test));
        trainings.insert(key, golden(&fit, &test));
    }
}

#[test]
fn every_training_ends_with_the_same_weights() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/networks.json");
    let cores = std::thread::available_parallelism().unwrap();
    let mut found = File { cpu: format!("{}, {cores} cores", cpu()), trainings: BTreeMap::new() };
    on_vectors(&mut found.trainings);
    on_images(&mut found.trainings);
    if std::env::var_os("NPSVCPP_ACCEPT").is_some() {
        let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
        fs::write(&path, text).unwrap();
    }
    let known: File = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let names = |file: &File| file.trainings.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&known));
    let has_same_cpu = found.cpu == known.cpu;
    let mut moved = Vec::new();
    for (name, now) in &found.trainings {
        let then = &known.trainings[name];
        let distance = (now.objective - then.objective).abs();
        let agrees = match has_same_cpu {
            true => now.hash == then.hash,
            false => distance <= 1e-3 * then.objective.abs(),
        };
        if !agrees {
            moved.push(format!("{name}: {then:?} is now {now:?}"));
        }
    }
    assert!(moved.is_empty(), "{}", moved.join("\n"));
}
