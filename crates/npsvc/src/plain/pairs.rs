//! The one-versus-one SVM: one problem per pair of classes, in LIBSVM's order.

use super::{Recomputed, Samples, Solution};

pub(super) fn recompute(c: f64, samples: &Samples, solution: &Solution) -> Recomputed {
    let mut found = Recomputed::default();
    let mut pair = 0;
    for first in 0..samples.classes {
        for second in first + 1..samples.classes {
            add_pair(&mut found, c, samples, solution, [first, second], pair);
            pair += 1;
        }
    }
    found
}

fn add_pair(
    found: &mut Recomputed,
    c: f64,
    samples: &Samples,
    solution: &Solution,
    [first, second]: [usize; 2],
    pair: usize,
) {
    let (b, offset) = (&solution.coefficients[pair], solution.offsets[pair]);
    let sign = |i: usize| match samples.y[i] {
        y if y == first => 1.0,
        y if y == second => -1.0,
        _ => 0.0,
    };
    // Signed multipliers within their bounds; zero outside of the pair.
    let clipped: Vec<f64> =
        (b.iter().enumerate()).map(|(i, b)| sign(i) * (sign(i) * b).clamp(0.0, c)).collect();
    let function = samples.function(&solution.support, b, 0.0);
    let quadratic = samples.function(&solution.support, &clipped, 0.0).squared_norm;
    let (mut primal, mut dual) = (function.squared_norm / 2.0, -quadratic / 2.0);
    let mut rounding = function.norm_error;
    for (i, &f) in function.values.iter().enumerate() {
        let y = sign(i);
        dual += y * clipped[i];
        if y != 0.0 {
            let margin = y * (f + offset);
            primal += if margin < 1.0 { c * (1.0 - margin) } else { 0.0 };
            rounding += c * (function.errors[i] + f64::EPSILON * 8.0 * (f.abs() + offset.abs()));
        }
    }
    let size: f64 = b.iter().map(|b| b.abs()).sum();
    // A sum that is not zero moves the bound by its product with the offset.
    let most = (primal.abs() / (1.0 + offset.abs())).max(f64::EPSILON * size);
    found.require(&format!("the sum of the multipliers of pair {pair}"), b.iter().sum(), 0.0, most);
    for (i, (b, clipped)) in b.iter().zip(&clipped).enumerate() {
        found.require(&format!("multiplier {i} of pair {pair}"), *b, *clipped, c);
    }
    found.add(primal, Some(dual), rounding);
}
