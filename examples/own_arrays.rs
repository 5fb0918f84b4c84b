//! K-NPSVC++ on one's own arrays, through linfa's traits.
//!
//! Run with `cargo run --example own_arrays`.

use linfa::prelude::*;
use ndarray::{Array1, Array2, Axis};
use npsvcpp::kernel::{Gaussian, Kernel, Width};
use npsvcpp::model::linfa::{Error, Learner};
use npsvcpp::model::{KNpsvcpp, Scheme};

fn main() -> Result<(), Error> {
    // Put your own arrays here: a sample per row, a label per sample, any whole numbers as labels.
    let (x, y): (Array2<f64>, Array1<usize>) = spirals();

    // Every third row is kept for testing.
    let (test, train): (Vec<usize>, Vec<usize>) = (0..x.nrows()).partition(|row| row % 3 == 0);
    let part = |rows: &[usize]| Dataset::new(x.select(Axis(0), rows), y.select(Axis(0), rows));
    let (train, test) = (part(&train), part(&test));

    let method = KNpsvcpp {
        c: 1.0,
        scheme: Scheme::Rvo,
        ..KNpsvcpp::default()
    };
    let kernel = Kernel::Gaussian(Gaussian {
        width: Width::Fixed(0.1),
    });
    let model = Learner::new(method).kernel(kernel).seed(7).fit(&train)?;

    let confusion = model.predict(&test).confusion_matrix(&test)?;
    println!("{confusion:?}");
    println!("accuracy: {:.1} %", 100.0 * confusion.accuracy());

    println!("iteration  max_l J_l  sum_l tau_l J_l");
    for row in model.trace() {
        println!(
            "{:>9}  {:>9.4}  {:>15.4}",
            row.iteration, row.primal, row.dual
        );
    }
    let certificate = model.certificate();
    println!(
        "{} after {} iterations, gap {:.1e}",
        if certificate.converged {
            "converged"
        } else {
            "stopped"
        },
        certificate.iterations,
        certificate.gap
    );
    Ok(())
}

/// Three arms of a spiral in the plane, 100 points each, labelled 10, 20 and 30.
fn spirals() -> (Array2<f64>, Array1<usize>) {
    const ARMS: usize = 3;
    const POINTS: usize = 100;
    let x = Array2::from_shape_fn((ARMS * POINTS, 2), |(row, axis)| {
        let (arm, step) = (row / POINTS, row % POINTS);
        let radius = 0.2 + step as f64 / POINTS as f64;
        let turn = 0.6 * radius + arm as f64 / ARMS as f64;
        let angle = std::f64::consts::TAU * turn;
        radius * if axis == 0 { angle.cos() } else { angle.sin() }
    });
    let y = Array1::from_shape_fn(ARMS * POINTS, |row| 10 * (row / POINTS + 1));
    (x, y)
}
