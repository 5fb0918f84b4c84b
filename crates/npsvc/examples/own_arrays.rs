//! K-NPSVC++ on your own arrays.
//!
//! Run with `cargo run -p npsvc --example own_arrays`.

use npsvc::ndarray::{Array2, Axis};
use npsvc::{FitOptions, KNpsvcpp, Kernel, Method, Scheme, Seed, TrainingSet, Width};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Put your own arrays here: one sample per row, and the class of each sample, from 0.
    let (x, y): (Array2<f64>, Vec<usize>) = spirals();

    // Every third row is kept for testing.
    let (test, train): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|row| row % 3 == 0);
    let rows = |index: &[usize]| x.select(Axis(0), index);
    let classes = |index: &[usize]| index.iter().map(|&row| y[row]).collect::<Vec<_>>();

    let kernel = Kernel::Gaussian { width: Width::Fixed(0.1) };
    let set = TrainingSet::new(rows(&train), classes(&train), &kernel)?;
    let method = KNpsvcpp { c: 1.0, scheme: Scheme::Rvo, ..KNpsvcpp::default() };
    let model = method.fit(&set, FitOptions::seeded(Seed::root(7)))?;

    let predicted = model.predict(rows(&test).view())?;
    let right = predicted.iter().zip(classes(&test));
    let right = right.filter(|(a, b)| *a == b).count();
    println!("accuracy: {right} of {}", test.len());

    println!("iteration  max_l J_l  sum_l tau_l J_l");
    for row in model.trace() {
        println!("{:>9}  {:>9.4}  {:>15.4}", row.iteration, row.primal, row.dual);
    }
    let certificate = model.certificate();
    println!(
        "{:?} after {} iterations, gap {:.1e}",
        certificate.termination, certificate.iterations, certificate.gap
    );
    Ok(())
}

/// Three arms of a spiral in the plane, 100 points each.
fn spirals() -> (Array2<f64>, Vec<usize>) {
    const ARMS: usize = 3;
    const POINTS: usize = 100;
    let x = Array2::from_shape_fn((ARMS * POINTS, 2), |(row, axis)| {
        let (arm, step) = (row / POINTS, row % POINTS);
        let radius = 0.2 + step as f64 / POINTS as f64;
        let turn = 0.6 * radius + arm as f64 / ARMS as f64;
        let angle = std::f64::consts::TAU * turn;
        radius * if axis == 0 { angle.cos() } else { angle.sin() }
    });
    (x, (0..ARMS * POINTS).map(|row| row / POINTS).collect())
}
