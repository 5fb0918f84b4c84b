//! Pivoted partial Cholesky: `K ~ G G^T` with `G` of size n x rank, in O(n rank) memory.
//!
//! With pivots `I`, `G = K_:I L^-T` where `K_II = L L^T`. The approximation is exact on the rows and
//! columns of the pivots. Each pivot is among the samples with the largest error on the diagonal, and
//! the trace of the error bounds its norm. A function `f = sum_i b_i k^(x_i, .)` of the approximate
//! kernel is an expansion in the pivots alone, with the coefficients `L^-T G^T b`. The factor of a
//! linear kernel ends at the number of features.

use faer::{Mat, MatRef, Par};
use ndarray::{ArrayView2, Axis};

use super::fitted::{FittedKernel, not_negative};
use crate::algebra::{
    add_product, add_scaled, column, column_mut, padded_copy, product, solve_transposed,
};

/// A factor of low rank, `K ~ G G^T`.
///
/// ```
/// use npsvc::faer::Par;
/// use npsvc::kernel::{FittedKernel, PivotedFactor};
/// use npsvc::ndarray::Array2;
///
/// let x = Array2::from_shape_fn((50, 3), |(i, j)| ((3 * i + j) as f64).sin());
/// let factor = PivotedFactor::new(&FittedKernel::Linear, x.view(), None, 1e-12, Par::Seq);
/// assert!(factor.rank() <= 3 && factor.error() < 1e-12);
/// ```
#[derive(Clone, Debug)]
pub struct PivotedFactor {
    /// `G^T`, one column per sample.
    rows: Mat<f64>,
    pivots: Vec<usize>,
    /// `L` with `K_II = L L^T`: the rows of `G` at the pivots. Only the lower triangle counts.
    at_pivots: Mat<f64>,
    /// `tr(K - G G^T) / tr K`.
    error: f64,
}

/// Number of candidates per round. The kernel columns of a round are one product of matrices.
const BLOCK: usize = 64;
/// A candidate becomes a pivot if its error is at least this share of the largest error.
const PIVOT_SHARE: f64 = 0.2;

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
        let limit = rank.unwrap_or(x.nrows()).min(x.nrows());
        let mut factor = GrowingFactor::new(kernel.diagonal(x), limit);
        let trace = factor.trace_of_error();
        while factor.rank() < limit && factor.trace_of_error() > tolerance * trace {
            let candidates = largest(&factor.errors, BLOCK.min(2 * (limit - factor.rank())));
            let chosen = x.select(Axis(0), &candidates);
            let remainder = kernel.cross(x, chosen.view(), par);
            if factor.extend(remainder, &candidates, par) == 0 {
                break;
            }
        }
        factor.finish(trace)
    }

    /// Number of columns of `G`.
    pub fn rank(&self) -> usize {
        self.rows.nrows()
    }

    /// `G^T`, one column per sample.
    pub fn rows(&self) -> MatRef<'_, f64> {
        self.rows.as_ref()
    }

    /// The samples in which functions are expanded.
    pub fn pivots(&self) -> &[usize] {
        &self.pivots
    }

    /// `tr(K - G G^T) / tr K`, the share of the squared length of the samples that is lost.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The smallest pivot: the squared distance, in kernel space, of a sample from the span of the
    /// samples chosen before it. It is zero if all kernel values are.
    ///
    /// ```
    /// use npsvc::faer::Par;
    /// use npsvc::kernel::{FittedKernel, PivotedFactor};
    /// use npsvc::ndarray::array;
    ///
    /// let x = array![[3.0, 0.0], [5.0, 0.5], [4.0, 0.0]];
    /// let factor = PivotedFactor::new(&FittedKernel::Linear, x.view(), None, 1e-12, Par::Seq);
    /// // The longest sample is chosen first, then the one farthest from its direction.
    /// assert_eq!(factor.pivots(), [1, 2]);
    /// assert!((factor.smallest_pivot() - (16.0 - 20.0 * 20.0 / 25.25)).abs() < 1e-12);
    /// ```
    pub fn smallest_pivot(&self) -> f64 {
        let norm = self.rows.norm_max();
        let pivots = (0..self.rank()).map(|a| self.at_pivots[(a, a)].powi(2));
        if norm == 0.0 { 0.0 } else { pivots.fold(f64::INFINITY, f64::min) }
    }

    /// Coefficients on the pivots of the functions with coefficients `b` on all samples: `L^-T G^T b`.
    ///
    /// ```
    /// use npsvc::faer::{Par, mat};
    /// use npsvc::kernel::{FittedKernel, PivotedFactor};
    /// use npsvc::ndarray::array;
    ///
    /// // Linear functions on one feature need one pivot, here the longest sample.
    /// let x = array![[1.0], [2.0], [4.0]];
    /// let factor = PivotedFactor::new(&FittedKernel::Linear, x.view(), None, 1e-12, Par::Seq);
    /// assert_eq!(factor.pivots(), [2]);
    /// // f(x) = (1 + 2) x = 3/4 <4, x>
    /// let coefficients = factor.on_pivots(mat![[1.0], [1.0], [0.0]].as_ref(), Par::Seq);
    /// assert!((coefficients[(0, 0)] - 0.75).abs() < 1e-15);
    /// ```
    pub fn on_pivots(&self, b: MatRef<'_, f64>, par: Par) -> Mat<f64> {
        let mut coefficients = product(self.rows.as_ref(), b, par);
        solve_transposed(self.at_pivots.as_ref(), coefficients.as_mut(), par);
        coefficients
    }
}

/// The `count` samples with the largest values, largest first. Among equals the lower index is first.
fn largest(values: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by_size = |a: &usize, b: &usize| values[*b].total_cmp(&values[*a]).then(a.cmp(b));
    if count < order.len() {
        order.select_nth_unstable_by(count, by_size);
        order.truncate(count);
    }
    order.sort_unstable_by(by_size);
    order
}

/// `G` with one column per pivot so far.
struct GrowingFactor {
    g: Mat<f64>,
    pivots: Vec<usize>,
    /// The diagonal of `K - G G^T`.
    errors: Vec<f64>,
    /// Largest number of columns.
    limit: usize,
    /// Errors below this are rounding. Without it, the errors would never vanish.
    least: f64,
}

impl GrowingFactor {
    fn new(diagonal: Vec<f64>, limit: usize) -> Self {
        let n = diagonal.len();
        Self {
            g: Mat::zeros(n, limit.min(BLOCK)),
            pivots: Vec::new(),
            limit,
            least: f64::EPSILON * n as f64 * diagonal.iter().copied().fold(0.0, f64::max),
            errors: diagonal,
        }
    }

    fn rank(&self) -> usize {
        self.pivots.len()
    }

    fn trace_of_error(&self) -> f64 {
        self.errors.iter().sum()
    }

    /// Chooses pivots among the candidates, whose kernel columns are given. Returns how many.
    fn extend(&mut self, mut remainder: Mat<f64>, candidates: &[usize], par: Par) -> usize {
        let first = self.rank();
        let done = self.g.as_ref().subcols(0, first);
        let at = Mat::from_fn(candidates.len(), first, |a, j| done[(candidates[a], j)]);
        add_product(remainder.as_mut(), -1.0, done, at.transpose(), par);
        let enough = (PIVOT_SHARE * self.errors[candidates[0]]).max(self.least);
        self.reserve(first + candidates.len());
        let mut open: Vec<usize> = (0..candidates.len()).collect();
        while self.rank() < self.limit {
            let error = |a: usize| self.errors[candidates[open[a]]];
            let worst = (0..open.len()).max_by(|&a, &b| error(a).total_cmp(&error(b)));
            let Some(worst) = worst else { break };
            let c = open.swap_remove(worst);
            let pivot = candidates[c];
            if self.errors[pivot] <= enough {
                break;
            }
            self.append(column(remainder.as_ref(), c), first, pivot);
        }
        self.rank() - first
    }

    /// Makes room for `count` columns. Capacity doubles each time, as in a vector.
    fn reserve(&mut self, count: usize) {
        if count > self.g.ncols() {
            let columns = count.max(2 * self.g.ncols()).min(self.limit);
            self.g.resize_with(self.g.nrows(), columns, |_, _| 0.0);
        }
    }

    /// Appends the column of `pivot`: its remainder, less the part that the columns from `first` on
    /// explain.
    fn append(&mut self, remainder: &[f64], first: usize, pivot: usize) {
        let mut new = remainder.to_vec();
        for j in first..self.rank() {
            let done = column(self.g.as_ref(), j);
            add_scaled(&mut new, -done[pivot], done);
        }
        let diagonal = new[pivot];
        if diagonal > self.least {
            let scale = diagonal.sqrt().recip();
            for (new, error) in new.iter_mut().zip(&mut self.errors) {
                *new *= scale;
                *error = not_negative(*error - *new * *new);
            }
            column_mut(&mut self.g, self.pivots.len()).copy_from_slice(&new);
            self.pivots.push(pivot);
        }
        self.errors[pivot] = if diagonal.is_nan() { diagonal } else { 0.0 };
    }

    fn finish(self, trace: f64) -> PivotedFactor {
        let error = self.trace_of_error() / trace.max(f64::MIN_POSITIVE);
        let Self { g, pivots, .. } = self;
        if pivots.is_empty() {
            // The kernel is zero everywhere. One column of zeros avoids a special case.
            return PivotedFactor {
                rows: Mat::zeros(1, g.nrows()),
                pivots: vec![0],
                at_pivots: Mat::identity(1, 1),
                error,
            };
        }
        let rank = pivots.len();
        PivotedFactor {
            rows: padded_copy(g.as_ref().subcols(0, rank).transpose()),
            at_pivots: Mat::from_fn(rank, rank, |a, b| g[(pivots[a], b)]),
            pivots,
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
        (0..k.nrows()).map(|i| k[(i, i)] - approximate[(i, i)]).sum()
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
