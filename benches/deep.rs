//! What a step of D-NPSVC++ costs beside cross-entropy.
//!
//! `cargo bench --profile dev --features deep --bench deep`. It makes two descents and a tau-step, so it is
//! held against two steps of cross-entropy on the same layers: 64 samples of 512 features. Times are
//! medians over epochs of interleaved trainings; run it on a quiet machine.

use faer::Par;
use ndarray::Array2;
use npsvcpp::kernel::Kernel;
use npsvcpp::model::deep::Surroundings;
use npsvcpp::model::{Problem, registry};
use npsvcpp::seed::Seed;
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;

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

fn main() {
    // `cargo test --benches` asks for nothing but a start.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
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
