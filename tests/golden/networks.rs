//! Golden weights of networks after two epochs, in `tests/golden/networks.json`.
//!
//! On a processor with the same instructions and as many cores the hashes must be equal; elsewhere the objectives
//! must agree within 0.1 %. `NPSVCPP_ACCEPT=1` writes the file again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use faer::Par;
use ndarray::Array2;
use npsvcpp::data::{Encoder, Images, Store};
use npsvcpp::kernel::Kernel;
use npsvcpp::model::deep::{NetworkFit, Queries, Surroundings};
use npsvcpp::model::{Pictures, Problem, Watched, registry};
use npsvcpp::seed::Seed;
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

/// A hash of all weights, of the trace without times, and of the classes of `queries`.
fn golden(fit: &NetworkFit, queries: Queries<'_>) -> Golden {
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
    for class in fit.network.predict(queries).unwrap() {
        hash.update((class as u64).to_le_bytes());
    }
    if let Some(z) = fit.network.represent(queries).unwrap() {
        z.iter()
            .for_each(|value| hash.update(value.to_bits().to_le_bytes()));
    }
    let hash = hash.finalize();
    Golden {
        hash: hash[..8].iter().map(|byte| format!("{byte:02x}")).collect(),
        objective: fit.certificate.primal,
    }
}

fn train(problem: &Problem, method: &str, params: &Value) -> NetworkFit {
    let method = registry::find(method).unwrap().configure(params).unwrap();
    let network = method.network().unwrap();
    let fit = network.train(problem, &Seed::root(3), &Surroundings::default());
    fit.unwrap_or_else(|error| panic!("{params}: {error}"))
}

/// Every criterion on given vectors, and every choice that D-NPSVC++ has.
fn on_vectors(trainings: &mut BTreeMap<String, Golden>) {
    let digits = Digits::load();
    let problem = digits.problem(Par::Seq);
    let queries = Queries {
        x: digits.x_test.view(),
        images: None,
    };
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
        (
            "d-npsvcpp",
            json!({"gamma": {"max": 0.1, "t_max": 1}, "network": {"layer_norm": false}}),
        ),
        ("d-npsvcpp", json!({"network": {"hypothesis": "z"}})),
        ("d-npsvcpp", json!({"network": {"hypothesis": "phi"}})),
        ("arcface", json!({"network": {"hypothesis": "phi"}})),
    ];
    for (method, mut params) in choices {
        let key = format!("{method} {params}");
        params["training"] = json!({"epochs": 2});
        params["lr"] = json!(0.01);
        let fit = train(&problem, method, &params);
        trainings.insert(key, golden(&fit, queries));
    }
}

/// Trainings in which a small encoder learns in the first epoch.
fn on_images(trainings: &mut BTreeMap<String, Golden>) {
    let folder = tempfile::tempdir().unwrap();
    textures::write_images(&folder.path().join("dtd"), [8, 4]);
    let weights = folder.path().join("untrained.safetensors");
    textures::write_weights(&weights, &textures::resnet18());
    let dataset = Store::new(Some(folder.path().to_path_buf()), true);
    let dataset = dataset.load("dtd").unwrap();
    let spec = EncoderSpec {
        network: Backbone::Resnet18,
        size: 32,
        ..EncoderSpec::default()
    };
    let encoder = Encoder::new(spec, weights).unwrap();
    let images = dataset.images.as_ref().unwrap().resized(32);
    let part = |samples: std::ops::Range<usize>| -> (Images, Vec<usize>) {
        let y = samples.clone().map(|i| dataset.y[i]).collect();
        (images.select(&samples.collect::<Vec<_>>()), y)
    };
    let ((pictures, y), (test, test_y)) = (part(0..8), part(8..12));
    for (method, mut params, training) in [
        ("d-npsvcpp", json!({"scheme": "ovr"}), json!({})),
        (
            "d-npsvcpp",
            json!({"scheme": "rvo", "second_pass": "network"}),
            json!({}),
        ),
        (
            "arcface",
            json!({}),
            json!({"frozen_batch_norms": "training"}),
        ),
    ] {
        let key = format!("{method} {params} {training} with its encoder");
        let mut common = json!({"epochs": 2, "fine_tune": 1, "batch": 4});
        for (name, value) in training.as_object().unwrap() {
            common[name] = value.clone();
        }
        params["training"] = common;
        let problem = Problem::new(
            Array2::zeros((8, 512)),
            y.clone(),
            2,
            &Kernel::default(),
            0.0,
            Par::Seq,
        )
        .picturing(Some(Pictures {
            images: pictures.clone(),
            encoder: encoder.clone(),
        }))
        .watching(Some(Watched {
            x: Array2::zeros((4, 512)),
            y: test_y.clone(),
            images: Some(test.clone()),
        }));
        let fit = train(&problem, method, &params);
        let x = Array2::zeros((4, 512));
        let queries = Queries {
            x: x.view(),
            images: Some(&test),
        };
        trainings.insert(key, golden(&fit, queries));
    }
}

#[test]
fn every_training_ends_with_the_same_weights() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/networks.json");
    let cores = std::thread::available_parallelism().unwrap();
    let mut found = File {
        cpu: format!("{}, {cores} cores", crate::cpu()),
        trainings: BTreeMap::new(),
    };
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
