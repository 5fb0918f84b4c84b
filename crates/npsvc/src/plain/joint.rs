//! NHSVM: two hyperplanes per class, of which the solution holds one.
//!
//! With the multipliers `lambda` of the hinges, and `s = -1` on the class, `+1` on the rest, the Lagrangian
//! is smallest at `r f = sum_i s_i lambda_i k_i - sum_p f_i k_i` and `r h = -sum_i s_i lambda_i k_i -
//! sum_q h_j k_j`. Hence the multipliers follow from the coefficients of either function.

use super::samples::Function;
use super::{Common, Recomputed, Samples, Solution, Unclear, hyperplanes};
use crate::Scheme;

pub(super) fn recompute(
    c: f64,
    common: &Common,
    samples: &Samples,
    solution: &Solution,
) -> Result<Recomputed, Unclear> {
    if !solution.is_complete(samples) {
        let text = "with a pivoted factor, the second hyperplane of NHSVM is not known";
        return Err(Unclear(text.to_owned()));
    }
    let mut found = Recomputed::default();
    for (l, known) in samples.functions(solution, common.constant()).iter().enumerate() {
        let is_class = |i: usize| samples.y[i] == l;
        let sign = |i: usize| if is_class(i) { -1.0 } else { 1.0 };
        // The known function is close to these samples, and `side` is its sign in the hinges.
        let (is_close, side): (Box<dyn Fn(usize) -> bool>, f64) = match common.scheme {
            Scheme::Ovr => (Box::new(is_class), 1.0),
            Scheme::Rvo => (Box::new(|i| !is_class(i)), -1.0),
        };
        let b = &solution.coefficients[l];
        let multiplier = |i: usize| {
            let own = if is_close(i) { known.values[i] } else { 0.0 };
            (side * sign(i) * (common.r * b[i] + own)).clamp(0.0, c)
        };
        let lambda: Vec<f64> = (0..b.len()).map(multiplier).collect();
        let pushed: Vec<f64> = (0..b.len()).map(|i| side * sign(i) * lambda[i]).collect();
        let opposite: Vec<f64> = pushed.iter().map(|t| -t).collect();
        let best = minimiser(common, samples, &pushed, &is_close)?;
        let other = minimiser(common, samples, &opposite, &|i| !is_close(i))?;
        let (mut primal, mut rounding) = (0.0, 0.0);
        for function in [known, &other] {
            let (value, error) = hyperplanes::regulariser(common.r, function);
            primal += value;
            rounding += error;
        }
        let mut dual: f64 = lambda.iter().sum();
        for i in 0..b.len() {
            let (close, far) = (known.values[i], other.values[i]);
            let nearest = if is_close(i) { close } else { far };
            let margin = side * sign(i) * (close - far);
            primal += nearest * nearest / 2.0;
            primal += if margin < 1.0 { c * (1.0 - margin) } else { 0.0 };
            dual -= (pushed[i] * best.values[i] + opposite[i] * far) / 2.0;
            rounding += (nearest.abs() + 2.0 * c) * (known.errors[i] + other.errors[i]);
        }
        found.add(primal, Some(dual), rounding);
        hyperplanes::check(&mut found, common, solution, l, known);
    }
    Ok(found)
}

/// The function that minimises `r/2 |f|^2 + 1/2 sum_close f_i^2 - sum_i t_i f_i`.
fn minimiser(
    common: &Common,
    samples: &Samples,
    t: &[f64],
    is_close: &dyn Fn(usize) -> bool,
) -> Result<Function, Unclear> {
    let constant = common.constant();
    let every: Vec<usize> = (0..t.len()).collect();
    let close: Vec<usize> = every.iter().copied().filter(|&i| is_close(i)).collect();
    let target = samples.function(&every, t, constant).values;
    let mut system: Vec<Vec<f64>> = Vec::new();
    for &i in &close {
        let entry = |&j: &usize| {
            samples.kernel_value(i, j) + constant + if i == j { common.r } else { 0.0 }
        };
        system.push(close.iter().map(entry).chain([target[i]]).collect());
    }
    let values = solve(system)?;
    let mut b: Vec<f64> = t.iter().map(|t| t / common.r).collect();
    for (&i, value) in close.iter().zip(values) {
        b[i] -= value / common.r;
    }
    Ok(samples.function(&every, &b, constant))
}

/// Gaussian elimination with row exchanges; the last column is the right-hand side.
fn solve(mut system: Vec<Vec<f64>>) -> Result<Vec<f64>, Unclear> {
    let n = system.len();
    for k in 0..n {
        let size = |i: &usize| system[*i][k].abs();
        let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(k);
        system.swap(k, pivot);
        let row = system[k].clone();
        if row[k] == 0.0 || !row[k].is_finite() {
            return Err(Unclear("a linear system of NHSVM is singular".to_owned()));
        }
        for other in &mut system[k + 1..] {
            let factor = other[k] / row[k];
            for (value, pivot) in other[k..].iter_mut().zip(&row[k..]) {
                *value -= factor * pivot;
            }
        }
    }
    let mut solution = vec![0.0; n];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| system[k][j] * solution[j]).sum();
        solution[k] = (system[k][n] - known) / system[k][k];
    }
    Ok(solution)
}
