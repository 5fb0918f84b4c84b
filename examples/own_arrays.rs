//! A method of this crate on one's own arrays, through linfa's traits.
//!
//! Run with `cargo run --example own_arrays`.

use linfa::prelude::*;
use ndarray::{Array1, Array2, Ix1};
use npsvcpp::model::Svm as Classifier;
use npsvcpp::model::linfa::{Error, Learner};

fn main() -> Result<(), Error> {
    let (train, test) = (spirals(0.0), spirals(0.5));

    let model = Learner::<Classifier>::default().seed(7).fit(&train)?;

    let confusion = model.predict(&test).confusion_matrix(&test)?;
    println!("{confusion:?}");
    println!("accuracy: {:.1} %", 100.0 * confusion.accuracy());

    let certificate = model.certificate();
    println!(
        "objective {:.4}, at most {:.1e} from the optimum after {} iterations",
        certificate.primal, certificate.gap, certificate.iterations
    );
    for row in model.trace() {
        println!("{:>3}  {:.6}", row.iteration, row.primal);
    }
    Ok(())
}

/// Three arms of a spiral, labelled 10, 20 and 30, sampled at `shift` between the grid points.
fn spirals(shift: f64) -> Dataset<f64, usize, Ix1> {
    const ARMS: usize = 3;
    const PER_ARM: usize = 60;
    let records = Array2::from_shape_fn((ARMS * PER_ARM, 2), |(i, axis)| {
        let (arm, step) = (i % ARMS, i / ARMS);
        let radius = 0.2 + (step as f64 + shift) / PER_ARM as f64;
        let turn = 0.6 * radius + arm as f64 / ARMS as f64;
        let angle = std::f64::consts::TAU * turn;
        radius * if axis == 0 { angle.cos() } else { angle.sin() }
    });
    let targets = Array1::from_shape_fn(ARMS * PER_ARM, |i| 10 * (i % ARMS + 1));
    Dataset::new(records, targets)
}
