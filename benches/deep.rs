//! Three comparisons: a step of D-NPSVC++ with one of cross-entropy, training with and without stored features of a
//! frozen encoder, and training and encoding with plain PyTorch.
//!
//! `scripts/bench-deep` runs all of them. `cargo bench --profile dev --features deep --bench deep [-- MODE]` runs one:
//!
//! - no mode: the time of a step of D-NPSVC++ (two descents and a tau-step), divided by that of a step of
//!   cross-entropy on the same layers, with 64 samples of 512 features. Medians over epochs; the trainings alternate.
//! - `features`: a training on images as in Table 3, once with the features of the frozen encoder stored and once
//!   computed in every epoch. A ResNet18 is fine-tuned for 10 of 50 epochs, and the accuracy on the test images is
//!   recorded after each epoch. As in Flowers-102, there are six test images for each training image.
//! - `pytorch PYTHON`: a step of fine-tuning a ResNet34 at 128 px, and encoding, compared with
//!   `benches/deep_pytorch.py` on the same number of threads. Both programs take turns. Ratios are of medians.

#[path = "../tests/it/textures.rs"]
mod textures;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use ndarray::Array2;
use npsvc::Seed;
use npsvcpp::data::{Encoder, Store};
use npsvcpp::methods::{self, TraceRow};
use npsvcpp::networks::{self, Samples, TrainOptions, TrainingData};
use npsvcpp::spec::EncoderSpec;
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};

/// Limit of the time with stored features, divided by the time without.
const MOST_WITH_FEATURES: f64 = 0.3;
/// Epochs of a training on images.
const EPOCHS: usize = 50;
/// Images for training and for testing.
const IMAGES: [usize; 2] = [16, 96];
/// Limit of the time of a step, divided by that of cross-entropy.
const MOST: f64 = 2.05;
/// Limit of our time for a step of fine-tuning, or for encoding, divided by PyTorch's.
const MOST_OF_PYTORCH: f64 = 1.1;
/// Width of the images for the comparison with PyTorch, and their number for training and for encoding.
const SIDE: u32 = 128;
const TRAINED: usize = 128;
const ENCODED: usize = 512;
const BATCH: usize = 64;
const STEPS: usize = 50;
const ROUNDS: usize = 7;

fn samples(classes: usize) -> Samples {
    let n = BATCH * STEPS;
    let mut rng = Seed::root(1).rng();
    let x = Array2::from_shape_fn((n, 512), |(i, j)| -> f64 {
        let centre = if j % classes == i % classes { 1.0 } else { 0.0 };
        let noise: f64 = StandardNormal.sample(&mut rng);
        noise + centre
    });
    let y = (0..n).map(|i| i % classes).collect();
    let images = None;
    Samples { x, y, images }
}

/// The epochs of a training.
fn train(data: &TrainingData<'_>, method: &str, training: Value) -> Vec<TraceRow> {
    let method = methods::find(method).expect("a criterion of the registry");
    let point = method.point(&json!({"training": training}));
    let point = point.expect("valid parameters");
    let criterion = point.criterion().expect("a network");
    let fit = networks::train(criterion, data, &Seed::root(2), TrainOptions::default());
    fit.expect("the training succeeds").trace
}

/// Median seconds of a step over the epochs after the first.
fn step(data: &TrainingData<'_>, method: &str) -> f64 {
    let trace = train(data, method, json!({"epochs": 4, "batch": BATCH}));
    let epochs = trace[1..].iter();
    let mut seconds: Vec<f64> = epochs.filter_map(|row| row.seconds).collect();
    median(&mut seconds) / STEPS as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Seconds of the program for a training on images.
fn training(folder: &Path, epochs: usize, frozen_batch_norms: &str) -> f64 {
    let spec = json!({
        "name": format!("epochs-{epochs}-{frozen_batch_norms}"),
        "datasets": [{"dtd": {"encoder": {"network": "resnet18", "weights": "untrained.safetensors"}}}],
        "splits": {"repeats": 1},
        "methods": [{"cross-entropy": {
            "training": {
                "epochs": epochs, "fine_tune": epochs.min(10), "batch": 16, "frozen_batch_norms": frozen_batch_norms,
            },
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
    assert!(status.is_ok_and(|status| status.success()), "the program ends well");
    begun.elapsed().as_secs_f64()
}

/// Whether storing the features saves too little time.
fn features() -> bool {
    let folder = tempfile::tempdir().expect("a folder for images");
    textures::write_images(&folder.path().join("data/dtd"), IMAGES);
    let weights = folder.path().join("data/weights");
    std::fs::create_dir_all(&weights).expect("a folder for weights");
    textures::write_weights(&weights.join("untrained.safetensors"), &textures::resnet18());
    // The first run stores the vectors of the dataset on disk. The encoder computes them before any training.
    training(folder.path(), 1, "evaluation");
    // Batch norms in training mode need every image in every epoch.
    let (stored, computed) = (
        training(folder.path(), EPOCHS, "evaluation"),
        training(folder.path(), EPOCHS, "training"),
    );
    println!(
        "{EPOCHS} epochs, 10 of them fine-tuning: {stored:.1} s with stored features, {computed:.1} s without, \
         ratio {:.3} (at most {MOST_WITH_FEATURES})",
        stored / computed
    );
    stored / computed > MOST_WITH_FEATURES
}

/// A process of plain PyTorch that measures once for each line of input.
struct Peer {
    process: std::process::Child,
}

impl Peer {
    fn new(python: &str, what: &str, images: usize) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let numbers = [SIDE as usize, images, BATCH, threads].map(|number| number.to_string());
        let process = Command::new(python)
            .args(["benches/deep_pytorch.py", what])
            .args(numbers)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        Self { process }
    }

    fn seconds(&mut self) -> f64 {
        let input = self.process.stdin.as_mut().expect("a pipe");
        input.write_all(b"\n").expect("it listens");
        let mut line = String::new();
        let output = self.process.stdout.as_mut().expect("a pipe");
        // Each answer is one line, so nothing is left in the buffer.
        BufReader::new(output).read_line(&mut line).expect("it answers");
        line.trim().parse().expect("a number of seconds")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether a step of fine-tuning, or encoding, takes too long.
fn pytorch(python: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder for images");
    textures::write_images(&folder.path().join("dtd"), [TRAINED, ENCODED - TRAINED]);
    let weights = folder.path().join("untrained.safetensors");
    textures::write_weights(&weights, &textures::resnet34());
    let store = Store::new(Some(folder.path().to_path_buf()), true);
    let dataset = store.fetch("dtd", &mut |_| {}).expect("images were written");
    let spec = EncoderSpec { size: SIDE, ..EncoderSpec::default() };
    let encoder = Encoder::new(spec, weights).expect("weights were written");
    let images = dataset.images.expect("a collection of images").resized(SIDE);
    let training: Vec<usize> = (0..TRAINED).collect();
    let samples = Samples {
        x: Array2::zeros((TRAINED, 512)),
        y: training.iter().map(|&i| dataset.y[i]).collect(),
        images: Some(images.select(&training)),
    };
    let data = TrainingData { samples: &samples, classes: 2, encoder: Some(&encoder) };
    let encode = || {
        let begun = Instant::now();
        networks::features(&images, &encoder, "cpu", None, || ()).expect("the images are encoded");
        begun.elapsed().as_secs_f64()
    };
    let step = || {
        let training = json!({"epochs": 2, "fine_tune": 2, "batch": BATCH});
        let trace = train(&data, "cross-entropy", training);
        trace[1].seconds.expect("epochs are timed") / (TRAINED / BATCH) as f64
    };
    let mut is_slow = compare("a step of fine-tuning", step, Peer::new(python, "step", TRAINED));
    is_slow |= compare("encoding", encode, Peer::new(python, "encode", ENCODED));
    is_slow
}

fn compare(what: &str, ours: impl Fn() -> f64, mut theirs: Peer) -> bool {
    // Warm-up: memory pages, pixels, and convolution kernels of this size.
    let _ = (ours(), theirs.seconds());
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        here.push(ours());
        there.push(theirs.seconds());
    }
    let (here, there) = (median(&mut here), median(&mut there));
    println!(
        "{what} at {SIDE} px: {here:.3} s, PyTorch {there:.3} s, ratio {:.3} (at most {MOST_OF_PYTORCH})",
        here / there
    );
    here / there > MOST_OF_PYTORCH
}

fn main() {
    // `cargo test --benches` only starts the program.
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    if !asked("--bench") {
        return;
    }
    if asked("pytorch") {
        let python = std::env::args().skip_while(|word| word != "pytorch").nth(1);
        let python = python.expect("`pytorch` is followed by a Python that has torch");
        std::process::exit(i32::from(pytorch(&python)));
    }
    if asked("features") {
        std::process::exit(i32::from(features()));
    }
    let mut is_slow = false;
    for classes in [10, 102] {
        let samples = samples(classes);
        let data = TrainingData { samples: &samples, classes, encoder: None };
        let (mut cross_entropy, mut d_npsvcpp) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            cross_entropy.push(step(&data, "cross-entropy"));
            d_npsvcpp.push(step(&data, "d-npsvcpp"));
        }
        let pairs = cross_entropy.iter().zip(&d_npsvcpp);
        let mut ratios: Vec<f64> = pairs.map(|(theirs, ours)| ours / theirs).collect();
        let ratio = median(&mut ratios);
        is_slow |= ratio > MOST;
        println!(
            "{classes:>3} classes: cross-entropy {:.3} ms, D-NPSVC++ {:.3} ms per step, ratio {ratio:.3} \
             (at most {MOST})",
            1e3 * median(&mut cross_entropy),
            1e3 * median(&mut d_npsvcpp)
        );
    }
    if is_slow {
        eprintln!("a step of D-NPSVC++ takes longer than {MOST} steps of cross-entropy");
        std::process::exit(1);
    }
}
