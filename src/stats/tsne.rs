//! t-SNE, exact: maps of some hundred samples in two dimensions.
//!
//! Similarities `p_ij` in the space are Gaussian, with a width per sample such that its neighbours
//! have a given perplexity; in the map they are `q_ij ~ 1 / (1 + |y_i - y_j|^2)`. Gradient descent
//! with momentum and gains makes `KL(p | q)` small, early on with exaggerated `p`. (van der Maaten
//! and Hinton 2008, settings as in scikit-learn.)

use ndarray::ArrayView2;
use rand_distr::{Distribution, StandardNormal};

use super::separability::squared_distances;
use npsvc::Seed;

const ITERATIONS: usize = 1000;
/// Iterations with exaggerated similarities.
const EARLY: usize = 250;
const EXAGGERATION: f64 = 12.0;
const SMALLEST_GAIN: f64 = 0.01;

/// A map of the rows of `x`; the same seed gives the same map.
///
/// `None` for fewer than four rows or values that are not finite. The perplexity is lowered where
/// there are too few rows for it.
pub fn tsne(x: ArrayView2<'_, f64>, perplexity: f64, seed: &Seed) -> Option<Vec<[f64; 2]>> {
    let n = x.nrows();
    if n < 4 {
        return None;
    }
    let perplexity = perplexity.min((n - 1) as f64 / 3.0).max(1.0);
    let p = similarities(&squared_distances(x)?, perplexity);
    let mut rng = seed.rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut y: Vec<[f64; 2]> = (0..n).map(|_| [1e-4 * normal(), 1e-4 * normal()]).collect();
    let mut velocity = vec![[0.0; 2]; n];
    let mut gains = vec![[1.0_f64; 2]; n];
    let rate = (n as f64 / EXAGGERATION / 4.0).max(50.0);
    for iteration in 0..ITERATIONS {
        let early = iteration < EARLY;
        let factor = if early { EXAGGERATION } else { 1.0 };
        let momentum = if early { 0.5 } else { 0.8 };
        let gradient = gradient(&p, factor, &y);
        for i in 0..n {
            for axis in 0..2 {
                let against = gradient[i][axis] * velocity[i][axis] < 0.0;
                let gain = &mut gains[i][axis];
                *gain = if against { *gain + 0.2 } else { *gain * 0.8 }.max(SMALLEST_GAIN);
                velocity[i][axis] = momentum * velocity[i][axis] - rate * *gain * gradient[i][axis];
                y[i][axis] += velocity[i][axis];
            }
        }
    }
    y.iter().flatten().all(|value| value.is_finite()).then_some(y)
}

/// Symmetric similarities that add up to 1.
fn similarities(distances: &[Vec<f64>], perplexity: f64) -> Vec<Vec<f64>> {
    let n = distances.len();
    let conditional: Vec<Vec<f64>> =
        (0..n).map(|i| neighbours(&distances[i], i, perplexity.ln())).collect();
    let mut p = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..n {
            p[i][j] = (conditional[i][j] + conditional[j][i]) / (2.0 * n as f64);
        }
    }
    p
}

/// `p_{j|i}` with the given entropy, by bisection of the precision.
fn neighbours(distances: &[f64], own: usize, entropy: f64) -> Vec<f64> {
    let others = || distances.iter().enumerate().filter(move |(j, _)| *j != own);
    let nearest = others().map(|(_, d)| *d).fold(f64::INFINITY, f64::min);
    let mean = others().map(|(_, d)| d - nearest).sum::<f64>() / (distances.len() - 1) as f64;
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut precision = if mean > 0.0 { 1.0 / mean } else { 1.0 };
    let mut weights = vec![0.0; distances.len()];
    for _ in 0..64 {
        // Distances are taken from the nearest on, so that the largest weight is 1.
        let (mut sum, mut moment) = (0.0, 0.0);
        for (j, distance) in distances.iter().enumerate() {
            let beyond = distance - nearest;
            weights[j] = if j == own { 0.0 } else { (-precision * beyond).exp() };
            sum += weights[j];
            moment += weights[j] * beyond;
        }
        let found = sum.ln() + precision * moment / sum;
        weights.iter_mut().for_each(|weight| *weight /= sum);
        if (found - entropy).abs() < 1e-7 {
            break;
        }
        if found > entropy {
            low = precision;
            precision = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * precision };
        } else {
            high = precision;
            precision = 0.5 * (low + high);
        }
    }
    weights
}

/// `4 sum_j (factor p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2)`.
fn gradient(p: &[Vec<f64>], factor: f64, y: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let n = y.len();
    let closeness =
        |a: [f64; 2], b: [f64; 2]| 1.0 / (1.0 + (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2));
    let mut total = 0.0;
    for i in 0..n {
        for j in 0..i {
            total += 2.0 * closeness(y[i], y[j]);
        }
    }
    let total = total.max(f64::MIN_POSITIVE);
    let mut gradient = vec![[0.0; 2]; n];
    for i in 0..n {
        let mut sum = [0.0; 2];
        for j in 0..n {
            let close = closeness(y[i], y[j]);
            let pull = 4.0 * (factor * p[i][j] - close / total) * close;
            sum[0] += pull * (y[i][0] - y[j][0]);
            sum[1] += pull * (y[i][1] - y[j][1]);
        }
        gradient[i] = sum;
    }
    gradient
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::stats::knn_accuracy;

    /// Three clusters in five dimensions.
    fn clusters() -> (Array2<f64>, Vec<usize>) {
        let mut rng = Seed::root(3).rng();
        let labels: Vec<usize> = (0..45).map(|i| i % 3).collect();
        let x = Array2::from_shape_fn((45, 5), |(i, j)| {
            let noise: f64 = StandardNormal.sample(&mut rng);
            0.3 * noise + if j == labels[i] { 5.0 } else { 0.0 }
        });
        (x, labels)
    }

    #[test]
    fn clusters_stay_apart_and_the_same_seed_gives_the_same_map() {
        let (x, labels) = clusters();
        let map = tsne(x.view(), 10.0, &Seed::root(1)).unwrap();
        assert_eq!(map, tsne(x.view(), 10.0, &Seed::root(1)).unwrap());
        let flat = Array2::from_shape_fn((45, 2), |(i, j)| map[i][j]);
        assert_eq!(knn_accuracy(flat.view(), &labels, 5), Some(100.0));
    }

    #[test]
    fn neighbours_have_the_perplexity_asked_for() {
        let (x, _) = clusters();
        let distances = squared_distances(x.view()).unwrap();
        let p = neighbours(&distances[0], 0, 10.0_f64.ln());
        let entropy: f64 = p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        assert!((entropy.exp() - 10.0).abs() < 1e-3);
        assert_eq!(p[0], 0.0);
    }

    #[test]
    fn degenerate_samples_are_answered_or_refused() {
        let same = Array2::from_elem((6, 2), 1.0);
        assert!(tsne(same.view(), 30.0, &Seed::root(1)).is_some());
        assert_eq!(tsne(Array2::zeros((3, 2)).view(), 30.0, &Seed::root(1)), None);
        let mut bad = Array2::zeros((6, 2));
        bad[[1, 1]] = f64::NAN;
        assert_eq!(tsne(bad.view(), 30.0, &Seed::root(1)), None);
    }
}
