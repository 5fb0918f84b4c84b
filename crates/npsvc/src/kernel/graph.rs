//! The k-nearest-neighbour graph and its normalised Laplacian `L = I - D^-1/2 G D^-1/2`.
//!
//! `G_ij` is a weight if `i` is among the k nearest neighbours of `j` or `j` among those of `i`, and
//! zero otherwise; `D_ii = sum_j G_ij`. The paper takes `k = floor(log2 n)`.

use faer::{Mat, MatRef, Par};
use ndarray::{ArrayView2, s};

use super::fitted::{mean_squared_distance, minus_mean, not_negative, squared_norms, view};
use crate::algebra::{add_scaled, column, column_mut, each, set_product};

/// How the neighbour graph is made.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct GraphOptions {
    /// Weights of the edges.
    pub weights: GraphWeights,
    /// Neighbours per sample; `floor(log2 n)` if left out.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub neighbours: Option<usize>,
}

/// Weights of the graph's edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum GraphWeights {
    /// `exp(-d^2 / t)` with `t` the mean squared distance: the paper's text.
    #[default]
    MeanSquaredDistance,
    /// `exp(-d^2 / (2 s^2))` with `s` the mean distance: the authors' code.
    MeanDistance,
}

/// The normalised graph Laplacian: a symmetric sparse matrix, stored by rows.
///
/// ```
/// use npsvc::faer::Par;
/// use npsvc::kernel::{GraphOptions, Laplacian};
/// use npsvc::ndarray::array;
///
/// // The outer points are neighbours of the middle one, but not of each other.
/// let x = array![[0.0], [1.0], [2.0]];
/// let laplacian = Laplacian::new(x.view(), &GraphOptions::default(), Par::Seq);
/// assert_eq!(laplacian.row(0).len(), 2);
/// // `D^1/2 1` is in the null space; the middle point has twice the degree of the others.
/// let product = laplacian.times_vector(&[1.0, 2.0_f64.sqrt(), 1.0]);
/// assert!(product.iter().all(|value| value.abs() < 1e-15));
/// ```
#[derive(Clone, Debug)]
pub struct Laplacian {
    /// Row `i` holds `entries[starts[i]..starts[i + 1]]`, columns ascending.
    starts: Vec<usize>,
    entries: Vec<(usize, f64)>,
}

impl Laplacian {
    /// The graph of the rows of `x`.
    ///
    /// ```
    /// use npsvc::faer::Par;
    /// use npsvc::kernel::{GraphOptions, GraphWeights, Laplacian};
    /// use npsvc::ndarray::array;
    ///
    /// let options = GraphOptions { weights: GraphWeights::MeanDistance, neighbours: Some(1) };
    /// let laplacian = Laplacian::new(array![[0.0], [1.0], [5.0]].view(), &options, Par::Seq);
    /// // The first two samples are neighbours, and the last two.
    /// assert_eq!([0, 1, 2].map(|i| laplacian.row(i).len()), [2, 3, 2]);
    /// ```
    pub fn new(x: ArrayView2<'_, f64>, options: &GraphOptions, par: Par) -> Self {
        let n = x.nrows();
        let x = minus_mean(x, x);
        let x = x.view();
        let k = options.neighbours.unwrap_or((n.max(2) as f64).log2().floor() as usize);
        let (neighbours, mean_distance) = nearest(x, k.min(n.saturating_sub(1)), par);
        let scale = match options.weights {
            GraphWeights::MeanSquaredDistance => mean_squared_distance(x),
            GraphWeights::MeanDistance => 2.0 * mean_distance * mean_distance,
        };
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let mut rows: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
        for (i, nearest) in neighbours.iter().enumerate() {
            for &(squared_distance, j) in nearest {
                let weight = (-squared_distance / scale).exp();
                rows[i].push((j, weight));
                rows[j].push((i, weight));
            }
        }
        for row in &mut rows {
            row.sort_unstable_by_key(|&(j, _)| j);
            row.dedup_by_key(|&mut (j, _)| j);
        }
        Self::from_weights(&rows)
    }

    fn from_weights(rows: &[Vec<(usize, f64)>]) -> Self {
        let scale: Vec<f64> = rows
            .iter()
            .map(|row| {
                let degree: f64 = row.iter().map(|(_, weight)| weight).sum();
                if degree > 0.0 { degree.sqrt().recip() } else { 0.0 }
            })
            .collect();
        let mut laplacian = Self { starts: vec![0], entries: Vec::new() };
        for (i, row) in rows.iter().enumerate() {
            let before = row.partition_point(|&(j, _)| j < i);
            let off_diagonal = |&(j, weight): &(usize, f64)| (j, -scale[i] * weight * scale[j]);
            laplacian.entries.extend(row[..before].iter().map(off_diagonal));
            laplacian.entries.push((i, 1.0));
            laplacian.entries.extend(row[before..].iter().map(off_diagonal));
            laplacian.starts.push(laplacian.entries.len());
        }
        laplacian
    }

    /// Number of samples.
    pub fn n(&self) -> usize {
        self.starts.len() - 1
    }

    /// The non-zero entries of row `i`.
    pub fn row(&self, i: usize) -> &[(usize, f64)] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }

    /// `L m`.
    ///
    /// ```
    /// use npsvc::faer::{Mat, Par};
    /// use npsvc::kernel::{GraphOptions, Laplacian};
    /// use npsvc::ndarray::array;
    ///
    /// let x = array![[0.0], [1.0], [2.0], [4.0]];
    /// let laplacian = Laplacian::new(x.view(), &GraphOptions::default(), Par::Seq);
    /// let dense = laplacian.times(Mat::identity(4, 4).as_ref());
    /// assert_eq!(dense[(1, 0)], laplacian.row(1)[0].1);
    /// // `L` is symmetric, so rows times `L` give the transpose.
    /// let m = Mat::from_fn(4, 1, |i, _| i as f64);
    /// let mut rows = Mat::zeros(1, 4);
    /// laplacian.set_rows_times(&mut rows, m.transpose().to_owned().as_ref());
    /// assert!((rows.transpose() - laplacian.times(m.as_ref())).norm_max() < 1e-15);
    /// ```
    pub fn times(&self, m: MatRef<'_, f64>) -> Mat<f64> {
        let mut product = Mat::zeros(m.ncols(), m.nrows());
        self.set_rows_times(&mut product, m.transpose().to_owned().as_ref());
        product.transpose().to_owned()
    }

    /// `out = mt L` for a column-major `mt`. Each weight multiplies a contiguous column.
    pub fn set_rows_times(&self, out: &mut Mat<f64>, mt: MatRef<'_, f64>) {
        // This number of sums fits into registers, so each sum is written once.
        const LANES: usize = 24;
        for i in 0..self.n() {
            let (blocks, rest) = column_mut(out, i).as_chunks_mut::<LANES>();
            for (at, block) in blocks.iter_mut().enumerate() {
                let mut sums = [0.0; LANES];
                for &(j, weight) in self.row(i) {
                    let source = &column(mt, j)[at * LANES..][..LANES];
                    for (sum, source) in sums.iter_mut().zip(source) {
                        *sum += weight * source;
                    }
                }
                *block = sums;
            }
            let done = blocks.len() * LANES;
            rest.fill(0.0);
            for &(j, weight) in self.row(i) {
                add_scaled(rest, weight, &column(mt, j)[done..]);
            }
        }
    }

    /// `L x`.
    pub fn times_vector(&self, x: &[f64]) -> Vec<f64> {
        let entry = |i| self.row(i).iter().map(|&(j, weight)| weight * x[j]).sum();
        (0..self.n()).map(entry).collect()
    }
}

/// The `k` nearest other rows of each row with their squared distances, nearest first, and the mean
/// distance over all n^2 pairs. Distances are computed from products of centred rows, so rounding may
/// decide between rows at the same distance. If two distances are equal to the bit, the lower index
/// comes first.
fn nearest(x: ArrayView2<'_, f64>, k: usize, par: Par) -> (Vec<Vec<(f64, usize)>>, f64) {
    // Blocks of columns: memory stays O(n), not O(n^2).
    const BLOCK: usize = 512;
    let n = x.nrows();
    let norms = squared_norms(x);
    let mut neighbours = Vec::with_capacity(n);
    let mut total = 0.0;
    for start in (0..n).step_by(BLOCK) {
        let block = x.slice(s![start..(start + BLOCK).min(n), ..]);
        let mut products = Mat::zeros(n, block.nrows());
        set_product(&mut products, view(x), view(block).transpose(), par);
        let found = each(par, 0..block.nrows(), |c| {
            let j = start + c;
            let distance = |i: usize| not_negative(norms[i] + norms[j] - 2.0 * products[(i, c)]);
            let mut others: Vec<(f64, usize)> =
                (0..n).filter(|&i| i != j).map(|i| (distance(i), i)).collect();
            let sum: f64 = others.iter().map(|(squared, _)| squared.sqrt()).sum();
            let order =
                |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if k < others.len() {
                others.select_nth_unstable_by(k, order);
                others.truncate(k);
            }
            others.sort_unstable_by(order);
            // Frees the memory of the other samples: for all rows it would be O(n^2).
            others.shrink_to_fit();
            (others, sum)
        });
        for (nearest, sum) in found {
            neighbours.push(nearest);
            total += sum;
        }
    }
    (neighbours, total / (n as f64 * n as f64).max(1.0))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn products_of_each_width_agree_with_the_dense_matrix() {
        let x = Array2::from_shape_fn((30, 3), |(i, j)| ((3 * i + 5 * j + i * j) as f64).sin());
        let laplacian = Laplacian::new(x.view(), &GraphOptions::default(), Par::Seq);
        let mut dense = Mat::<f64>::zeros(30, 30);
        for i in 0..30 {
            for &(j, weight) in laplacian.row(i) {
                dense[(i, j)] = weight;
            }
        }
        for d in [1, 23, 24, 25, 72] {
            let mt = Mat::from_fn(d, 30, |i, j| ((7 * i + 2 * j) as f64).cos());
            // The old contents must not matter.
            let mut out = Mat::from_fn(d, 30, |_, _| f64::NAN);
            laplacian.set_rows_times(&mut out, mt.as_ref());
            let error = (&out - &mt * &dense).norm_max();
            assert!(error < 1e-14, "{d}: {error}");
        }
    }
}
