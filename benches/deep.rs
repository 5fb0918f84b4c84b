//! What a step of D-NPSVC++ costs beside cross-entropy, and what keeping a frozen encoder's features
//! saves.
//!
//! `cargo bench --profile dev --features deep --bench deep [-- features]`. A step makes two descents and a tau-step, so it is
//! held against two steps of cross-entropy on the same layers: 64 samples of 512 features. Times are
//! medians over epochs of interleaved trainings; run it on a quiet machine. With `features`, the program
//! trains a network on images as Table 3 does: a ResNet18 fine-tuned for 10 of 50 epochs, the accuracy on
//! the test images recorded after each, of which there are six to one for training, as in Flowers-102.

#[path = "../tests/textures/mod.rs"]
mod textures;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use faer::Par;
use ndarray::Array2;
use npsvcpp::kernel::Kernel;
use npsvcpp::model::deep::Surroundings;
use npsvcpp::model::{Problem, registry};
use npsvcpp::seed::Seed;
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;

/// The most that a training may cost, in one that computes the features in every epoch.
const MOST_WITH_FEATURES: f64 = 0.3;
/// Of a training on images.
const EPOCHS: usize = 50;
/// Images for training and for testing.
const IMAGES: [usize; 2] = [16, 96];
/// The most that a step may cost, in two steps of cross-entropy.
const MOST: f64 = 1.15;
const BATCH: usize = 64;
const STEPS: usize = 50;
const ROUNDS: usize = 7;

fn problem(classes: usize) -> Problem {
    let n = BATCH * STEPS;
    let mut rng = Seed::root(1).rng();
    let x = Array2::from_shape_fn((n, 512), |(i, j)| -> f64 {
        let centre = if j % classes == i % classes { 1.0 } else { 0.0 };
        let noise: f64 = StandardNormal.sample(&mut rng);
        noise + centre
    });
    let y = (0..n).map(|i| i % classes).collect();
    Problem::new(x, y, classes, &Kernel::default(), 0.0, Par::Seq)
}

/// Seconds of a step, the median over the epochs after the first.
fn step(problem: &Problem, method: &str) -> f64 {
    let params = json!({"training": {"epochs": 4, "batch": BATCH}});
    let method = registry::find(method).expect("a criterion of the registry");
    let configured = method.configure(&params).expect("valid parameters");
    let network = configured.network().expect("a network");
    let fit = network
        .train(problem, &Seed::root(2), &Surroundings::default())
        .expect("the training succeeds");
    let epochs = fit.trace[1..].iter();
    let mut seconds: Vec<f64> = epochs.filter_map(|row| row.seconds).collect();
    median(&mut seconds) / STEPS as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Seconds of the program for a training on images.
fn training(folder: &Path, epochs: usize, keep_features: bool) -> f64 {
    let spec = json!({
        "name": format!("epochs-{epochs}-keep-{keep_features}"),
        "datasets": [{"dtd": {"encoder": {"network": "resnet18", "weights": "untrained.safetensors"}}}],
        "splits": {"repeats": 1},
        "methods": [{"cross-entropy": {
            "training": {"epochs": epochs, "fine_tune": epochs.min(10), "batch": 16, "keep_features": keep_features},
        }}],
        "record": ["evolution"],
    });
    // JSON is YAML.
    std::fs::write(folder.join("spec.yaml"), spec.to_string()).expect("a folder to write to");
    let begun = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_npsvcpp"))
        .args("run spec.yaml --data data --offline --quiet".split(' '))
        .current_dir(folder)
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the program ends well"
    );
    begun.elapsed().as_secs_f64()
}

/// Whether keeping the features saves too little.
fn features() -> bool {
    let folder = tempfile::tempdir().expect("a folder for images");
    textures::write_images(&folder.path().join("data/dtd"), IMAGES);
    let weights = folder.path().join("data/weights");
    std::fs::create_dir_all(&weights).expect("a folder for weights");
    textures::write_weights(
        &weights.join("untrained.safetensors"),
        &textures::resnet18(),
    );
    // The vectors of the dataset, which the encoder makes before any training, are kept on disk by the first run.
    training(folder.path(), 1, true);
    let (kept, again) = (
        training(folder.path(), EPOCHS, true),
        training(folder.path(), EPOCHS, false),
    );
    println!(
        "{EPOCHS} epochs, 10 of them fine-tuning: {kept:.1} s with the features kept, {again:.1} s without, \
         {:.3} (at most {MOST_WITH_FEATURES})",
        kept / again
    );
    kept / again > MOST_WITH_FEATURES
}

fn main() {
    // `cargo test --benches` asks for nothing but a start.
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    if !asked("--bench") {
        return;
    }
    if asked("features") {
        std::process::exit(i32::from(features()));
    }
    let mut is_slow = false;
    for classes in [10, 102] {
        let problem = problem(classes);
        let (mut plain, mut levelled) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            plain.push(step(&problem, "cross-entropy"));
            levelled.push(step(&problem, "d-npsvcpp"));
        }
        let pairs = plain.iter().zip(&levelled);
        let mut ratios: Vec<f64> = pairs
            .map(|(plain, levelled)| levelled / (2.0 * plain))
            .collect();
        let ratio = median(&mut ratios);
        is_slow |= ratio > MOST;
        println!(
            "{classes:>3} classes: cross-entropy {:.3} ms, D-NPSVC++ {:.3} ms a step, {ratio:.3} times \
             two of the former (at most {MOST})",
            1e3 * median(&mut plain),
            1e3 * median(&mut levelled)
        );
    }
    if is_slow {
        eprintln!("a step of D-NPSVC++ costs more than {MOST} times two of cross-entropy");
        std::process::exit(1);
    }
}
