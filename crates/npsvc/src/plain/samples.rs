//! Kernel values, functions and neighbour graphs, from the samples.

use ndarray::Axis;

use super::{Solution, Unclear};
use crate::kernel::{GraphOptions, GraphWeights};
use crate::{Kernel, Storage, TrainingSet, Width};

/// Distances this close, relative to the squared length of the samples, may be equal.
const TIE: f64 = 1e-12;

/// The training samples, and a kernel with numbers for parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    pub(super) x: Vec<Vec<f64>>,
    pub(super) y: Vec<usize>,
    pub(super) classes: usize,
    kernel: PlainKernel,
    jitter: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum PlainKernel {
    /// `longest` is the largest squared distance from the mean, in widths.
    Gaussian {
        width: f64,
        longest: f64,
    },
    Linear,
    Polynomial {
        degree: i32,
        offset: f64,
        scale: f64,
    },
}

/// A function `f(x) = sum_j b_j k(x_j, x)` at the training samples.
pub(super) struct Function {
    pub values: Vec<f64>,
    /// How much of each value rounding may explain.
    pub errors: Vec<f64>,
    /// `|f|^2`.
    pub squared_norm: f64,
    /// How much of `|f|^2` rounding may explain.
    pub norm_error: f64,
}

impl Samples {
    /// The samples of `set`. Its kernel must have been made from `kernel`.
    pub fn new(set: &TrainingSet, kernel: &Kernel) -> Self {
        let x: Vec<Vec<f64>> = set.x().axis_iter(Axis(0)).map(|row| row.to_vec()).collect();
        let jitter = match set.storage() {
            Storage::Full { jitter } => jitter,
            Storage::Pivoted { .. } => 0.0,
        };
        let kernel = match *kernel {
            Kernel::Linear => PlainKernel::Linear,
            Kernel::Polynomial { degree, offset, scale } => {
                PlainKernel::Polynomial { degree: degree as i32, offset, scale }
            }
            Kernel::Gaussian { width } => {
                let width = match width {
                    Width::Fixed(width) => width,
                    Width::MeanSquaredDistance => mean_squared_distance(&x),
                };
                PlainKernel::Gaussian { width, longest: longest(&x) / width }
            }
        };
        Self { x, y: set.y().to_vec(), classes: set.shape().classes, kernel, jitter }
    }

    /// `k(x_i, x_j)`, with the jitter if `i` is `j`.
    pub fn kernel_value(&self, i: usize, j: usize) -> f64 {
        let jitter = if i == j { self.jitter } else { 0.0 };
        let (a, b) = (&self.x[i], &self.x[j]);
        let product = || a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let value = match self.kernel {
            PlainKernel::Gaussian { width, .. } => (-squared_distance(a, b) / width).exp(),
            PlainKernel::Linear => product(),
            PlainKernel::Polynomial { degree, offset, scale } => {
                (scale * product() + offset).powi(degree)
            }
        };
        value + jitter
    }

    /// How much of `k(x_i, x_j)` rounding may explain.
    fn kernel_error(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (&self.x[i], &self.x[j]);
        let product = || a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum::<f64>();
        let size = match self.kernel {
            PlainKernel::Gaussian { longest, .. } => 1.0 + longest,
            PlainKernel::Linear => product(),
            PlainKernel::Polynomial { degree, offset, scale } => {
                f64::from(degree) * (scale * product() + offset).powi(degree)
            }
        };
        f64::EPSILON * (8 + a.len()) as f64 * size
    }

    /// The function with these coefficients of the samples `support`. `constant` is added to each kernel
    /// value.
    pub(super) fn function(&self, support: &[usize], b: &[f64], constant: f64) -> Function {
        let mut function = Function {
            values: Vec::with_capacity(self.x.len()),
            errors: Vec::with_capacity(self.x.len()),
            squared_norm: 0.0,
            norm_error: 0.0,
        };
        for i in 0..self.x.len() {
            let (mut value, mut error) = (0.0, 0.0);
            for (&j, &b) in support.iter().zip(b) {
                if b == 0.0 {
                    continue;
                }
                let k = self.kernel_value(i, j) + constant;
                value += k * b;
                error += (self.kernel_error(i, j) + f64::EPSILON * 8.0 * k.abs()) * b.abs();
            }
            function.values.push(value);
            function.errors.push(error);
        }
        for (&j, &b) in support.iter().zip(b) {
            function.squared_norm += b * function.values[j];
            function.norm_error += b.abs() * function.errors[j];
        }
        function
    }

    /// Each function of a solution.
    pub(super) fn functions(&self, solution: &Solution, constant: f64) -> Vec<Function> {
        let function = |b: &Vec<f64>| self.function(&solution.support, b, constant);
        solution.coefficients.iter().map(function).collect()
    }

    /// The normalised Laplacian of the neighbour graph, as a dense matrix.
    pub(super) fn laplacian(&self, options: &GraphOptions) -> Result<Vec<Vec<f64>>, Unclear> {
        let (n, x) = (self.x.len(), &self.x);
        let most = n.saturating_sub(1);
        let log2 = (n.max(2) as f64).log2().floor() as usize;
        let k = options.neighbours.unwrap_or(log2).min(most);
        let scale = match options.weights {
            GraphWeights::MeanSquaredDistance => mean_squared_distance(x),
            GraphWeights::MeanDistance => {
                let mean = mean_over_pairs(x, |a, b| squared_distance(a, b).sqrt());
                2.0 * mean * mean
            }
        };
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let smallest_difference = TIE * longest(x).max(f64::MIN_POSITIVE);
        let mut graph = vec![vec![0.0; n]; n];
        for i in 0..n {
            let mut others: Vec<(f64, usize)> =
                (0..n).filter(|&j| j != i).map(|j| (squared_distance(&x[i], &x[j]), j)).collect();
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            if k < others.len() && k > 0 && others[k].0 - others[k - 1].0 <= smallest_difference {
                let text =
                    "the neighbour graph is not unique: two distances are equal up to rounding";
                return Err(Unclear(text.to_owned()));
            }
            for &(squared, j) in &others[..k] {
                let weight = (-squared / scale).exp();
                graph[i][j] = weight;
                graph[j][i] = weight;
            }
        }
        let degrees: Vec<f64> = graph.iter().map(|row| row.iter().sum()).collect();
        for i in 0..n {
            for j in 0..n {
                let product: f64 = degrees[i] * degrees[j];
                let normalised = if product > 0.0 { graph[i][j] / product.sqrt() } else { 0.0 };
                graph[i][j] = if i == j { 1.0 } else { -normalised };
            }
        }
        Ok(graph)
    }
}

/// `a^T L b`.
pub(super) fn bilinear(laplacian: &[Vec<f64>], a: &[f64], b: &[f64]) -> f64 {
    let row = |(row, a): (&Vec<f64>, &f64)| {
        a * row.iter().zip(b).map(|(weight, b)| weight * b).sum::<f64>()
    };
    laplacian.iter().zip(a).map(row).sum()
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn mean_over_pairs(x: &[Vec<f64>], value: impl Fn(&[f64], &[f64]) -> f64) -> f64 {
    let sum: f64 = x.iter().map(|a| x.iter().map(|b| value(a, b)).sum::<f64>()).sum();
    sum / (x.len() * x.len()) as f64
}

/// One if all samples are equal: then each width gives the same kernel.
fn mean_squared_distance(x: &[Vec<f64>]) -> f64 {
    let mean = mean_over_pairs(x, squared_distance);
    if mean > 0.0 { mean } else { 1.0 }
}

/// The largest squared distance of a sample from the mean.
fn longest(x: &[Vec<f64>]) -> f64 {
    let n = x.len() as f64;
    let mean: Vec<f64> =
        (0..x[0].len()).map(|k| x.iter().map(|row| row[k]).sum::<f64>() / n).collect();
    x.iter().map(|row| squared_distance(row, &mean)).fold(0.0, f64::max)
}
