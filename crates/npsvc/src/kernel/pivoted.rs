//! Pivoted partial Cholesky: `K ~ G G^T` with `G` of size n x rank, in O(n rank) memory.
//!
//! With pivots `I`, `G = K_:I L^-T` where `K_II = L L^T`: the approximation is exact on the rows and
//! columns of the pivots. Each pivot is among the samples whose diagonal is approximated worst, and
//! what is left of the diagonal's sum bounds the error. A function `f = sum_i b_i k^(x_i, .)` of the
//! approximate kernel is an expansion in the pivots alone, with coefficients `L^-T G^T b`. The factor
//! of a linear kernel ends by itself at the number of features.

use faer::{Mat, MatRef, Par};
use ndarray::{ArrayView2, Axis};

use super::fitted::FittedKernel;
use crate::algebra::{add_product, column, column_mut, padded_copy, product, solve_transposed};

/// `K ~ G G^T`.
#[derive(Clone, Debug)]
pub struct PivotedFactor {
    /// `G^T`, so that the row of a sample is contiguous.
    rows: Mat<f64>,
    pivots: Vec<usize>,
    /// `L` with `K_II = L L^T`, the factor's rows of the pivots.
    at_pivots: Mat<f64>,
    /// `tr(K - G G^T) / tr K`.
    error: f64,
}

/// Candidates looked at together: the kernel's columns are then products of matrices.
const BLOCK: usize = 64;
/// A candidate is taken while its diagonal is off by at least this share of the worst one's.
const WORTH: f64 = 0.2;

impl PivotedFactor {
    /// Factors the kernel matrix of the rows of `x`. It stops at `rank` columns, or when the trace of
    /// the error is at most `tolerance` times the trace of the kernel matrix.
    pub fn new(
        kernel: &FittedKernel,
        x: ArrayView2<'_, f64>,
        rank: Option<usize>,
        tolerance: f64,
        par: Par,
    ) -> Self {
        let n = x.nrows();
        let most = rank.unwrap_or(n).min(n);
        let mut left = kernel.diagonal(x);
        let trace: f64 = left.iter().sum();
        // Rounding keeps what is left of the diagonal from ever vanishing.
        let least = f64::EPSILON * n as f64 * left.iter().copied().fold(0.0, f64::max);
        let mut columns = Columns::new(n, most, least);
        while columns.count < most && left.iter().sum::<f64>() > tolerance * trace {
            let candidates = worst(&left, BLOCK.min(2 * (most - columns.count)));
            let chosen = x.select(Axis(0), &candidates);
            let remainder = kernel.cross(x, chosen.view(), par);
            if columns.extend(remainder, &candidates, &mut left, par) == 0 {
                break;
            }
        }
        columns.finish(left.iter().sum::<f64>() / trace.max(f64::MIN_POSITIVE))
    }

    /// Number of samples.
    pub fn n(&self) -> usize {
        self.rows.ncols()
    }

    /// Columns of `G`.
    pub fn rank(&self) -> usize {
        self.rows.nrows()
    }

    /// `G^T`, a column per sample.
    pub fn rows(&self) -> MatRef<'_, f64> {
        self.rows.as_ref()
    }

    /// The samples that functions are expansions in.
    pub fn pivots(&self) -> &[usize] {
        &self.pivots
    }

    /// `tr(K - G G^T) / tr K`: the share of the samples' squared length that is lost.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Coefficients on the pivots of the functions with coefficients `b` on all samples: `L^-T G^T b`.
    pub fn on_pivots(&self, b: MatRef<'_, f64>, par: Par) -> Mat<f64> {
        let mut coefficients = product(self.rows.as_ref(), b, par);
        solve_transposed(self.at_pivots.as_ref(), coefficients.as_mut(), par);
        coefficients
    }
}

/// The samples with the largest values in `left`, largest first, the lower index first among equals.
fn worst(left: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..left.len()).collect();
    let by_size = |a: &usize, b: &usize| left[*b].total_cmp(&left[*a]).then(a.cmp(b));
    if count < order.len() {
        order.select_nth_unstable_by(count, by_size);
        order.truncate(count);
    }
    order.sort_unstable_by(by_size);
    order
}

/// The factor as it grows: `G` with the columns made so far.
struct Columns {
    g: Mat<f64>,
    count: usize,
    /// Largest number of columns.
    limit: usize,
    /// A diagonal entry below this is rounding.
    least: f64,
    pivots: Vec<usize>,
}

impl Columns {
    fn new(n: usize, limit: usize, least: f64) -> Self {
        Self {
            g: Mat::zeros(n, limit.min(BLOCK)),
            count: 0,
            limit,
            least,
            pivots: Vec::new(),
        }
    }

    /// Takes pivots among the candidates, whose columns of the kernel matrix are given; how many.
    fn extend(
        &mut self,
        mut remainder: Mat<f64>,
        candidates: &[usize],
        left: &mut [f64],
        par: Par,
    ) -> usize {
        let done = self.g.as_ref().subcols(0, self.count);
        let at = Mat::from_fn(candidates.len(), self.count, |a, j| {
            done[(candidates[a], j)]
        });
        add_product(remainder.as_mut(), -1.0, done, at.transpose(), par);
        let enough = (WORTH * left[candidates[0]]).max(self.least);
        let first = self.count;
        self.reserve(first + candidates.len());
        let mut open: Vec<usize> = (0..candidates.len()).collect();
        while self.count < self.limit {
            let worst = (0..open.len())
                .max_by(|&a, &b| left[candidates[open[a]]].total_cmp(&left[candidates[open[b]]]));
            let Some(place) = worst else { break };
            let c = open.swap_remove(place);
            let pivot = candidates[c];
            if left[pivot] <= enough {
                break;
            }
            self.append(column(remainder.as_ref(), c), first, pivot, left);
        }
        self.count - first
    }

    /// Room for `count` columns in all, doubled each time as a vector's would be.
    fn reserve(&mut self, count: usize) {
        if count > self.g.ncols() {
            let columns = count.max(2 * self.g.ncols()).min(self.limit);
            self.g.resize_with(self.g.nrows(), columns, |_, _| 0.0);
        }
    }

    /// One column: the remainder of the kernel's, less what this block has taken off it already.
    fn append(&mut self, remainder: &[f64], first: usize, pivot: usize, left: &mut [f64]) {
        let mut new = remainder.to_vec();
        for j in first..self.count {
            let done = column(self.g.as_ref(), j);
            let factor = done[pivot];
            for (new, done) in new.iter_mut().zip(done) {
                *new -= factor * done;
            }
        }
        let diagonal = new[pivot];
        if diagonal <= self.least {
            left[pivot] = 0.0;
            return;
        }
        let scale = diagonal.sqrt().recip();
        for (new, left) in new.iter_mut().zip(left.iter_mut()) {
            *new *= scale;
            *left = (*left - *new * *new).max(0.0);
        }
        left[pivot] = 0.0;
        column_mut(&mut self.g, self.count).copy_from_slice(&new);
        self.pivots.push(pivot);
        self.count += 1;
    }

    fn finish(self, error: f64) -> PivotedFactor {
        if self.count == 0 {
            // A kernel that is zero everywhere: one column of zeros spares everyone the case.
            return PivotedFactor {
                rows: Mat::zeros(1, self.g.nrows()),
                pivots: vec![0],
                at_pivots: Mat::identity(1, 1),
                error,
            };
        }
        let Self {
            g, count, pivots, ..
        } = self;
        let at_pivots = Mat::from_fn(
            count,
            count,
            |a, b| {
                if b <= a { g[(pivots[a], b)] } else { 0.0 }
            },
        );
        PivotedFactor {
            rows: padded_copy(g.as_ref().subcols(0, count).transpose()),
            pivots,
            at_pivots,
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::algebra::Matrix;

    fn samples(n: usize, dims: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, dims), |(i, j)| ((7 * i + 5 * j + i * j) as f64).sin())
    }

    fn factor(
        kernel: &FittedKernel,
        x: &Array2<f64>,
        rank: Option<usize>,
        tolerance: f64,
    ) -> PivotedFactor {
        PivotedFactor::new(kernel, x.view(), rank, tolerance, Par::Seq)
    }

    fn error(low: &PivotedFactor, k: &Mat<f64>) -> f64 {
        let approximate = product(low.rows().transpose(), low.rows(), Par::Seq);
        (0..k.nrows())
            .map(|i| k[(i, i)] - approximate[(i, i)])
            .sum()
    }

    #[test]
    fn the_error_is_that_of_the_trace_and_below_the_tolerance() {
        let (kernel, x) = (FittedKernel::Gaussian { width: 3.0 }, samples(200, 4));
        let k = kernel.gram(x.view(), 0.0, Par::Seq);
        let mut last = f64::INFINITY;
        for rank in [5, 20, 60] {
            let low = factor(&kernel, &x, Some(rank), 0.0);
            assert_eq!(low.rank(), rank);
            let error = error(&low, &k) / 200.0;
            assert!((error - low.error()).abs() < 1e-10, "{error}");
            assert!(error < last);
            last = error;
        }
        let low = factor(&kernel, &x, None, 1e-5);
        assert!(low.error() <= 1e-5 && low.rank() < 200);
    }

    #[test]
    fn a_linear_kernel_ends_at_its_features_and_is_exact() {
        let x = samples(150, 6);
        let low = factor(&FittedKernel::Linear, &x, None, 0.0);
        assert_eq!(low.rank(), 6);
        assert!(low.error() < 1e-12);
    }

    #[test]
    fn an_expansion_in_the_pivots_has_the_same_values() {
        let (kernel, x) = (FittedKernel::Gaussian { width: 3.0 }, samples(120, 4));
        let low = factor(&kernel, &x, Some(40), 0.0);
        let b = Mat::from_fn(120, 2, |i, l| ((3 * i + l) as f64).cos());
        let values = Matrix::Factor(low.rows()).times(b.as_ref(), Par::Seq);
        let few = low.on_pivots(b.as_ref(), Par::Seq);
        let pivots = x.select(Axis(0), low.pivots());
        let cross = kernel.cross(x.view(), pivots.view(), Par::Seq);
        let again = product(cross.as_ref(), few.as_ref(), Par::Seq);
        assert!((values - again).norm_max() < 1e-6);
    }

    #[test]
    fn duplicates_and_constant_samples_end_early() {
        let x = Array2::from_elem((30, 3), 2.0);
        let low = factor(&FittedKernel::Gaussian { width: 1.0 }, &x, None, 0.0);
        assert_eq!(low.rank(), 1);
        let zeros = Array2::zeros((30, 3));
        let low = factor(&FittedKernel::Linear, &zeros, None, 0.0);
        assert_eq!((low.rank(), low.rows().norm_max()), (1, 0.0));
    }
}
