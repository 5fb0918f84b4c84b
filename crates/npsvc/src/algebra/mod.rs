//! Products, decompositions and parallel loops for dense matrices, on top of faer.
//!
//! Each function that calls faer leaves the vector registers clean (see `simd`). The rest of the
//! crate multiplies matrices through this module. No result depends on the number of threads. What a method outside this crate needs is public:
//!
//! ```
//! use npsvc::algebra::{Cholesky, column, inner, product};
//! use npsvc::faer::{Par, mat};
//!
//! // The normal equations of a line through (0, 1), (1, 2) and (2, 4).
//! let x = mat![[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]];
//! let y = mat![[1.0], [2.0], [4.0]];
//! let mut line = product(x.transpose(), y.as_ref(), Par::Seq);
//! Cholesky::new(product(x.transpose(), x.as_ref(), Par::Seq), Par::Seq)?.solve(line.as_mut());
//! assert!((inner(&[1.0, 2.0], column(line.as_ref(), 0)) - 23.0 / 6.0).abs() < 1e-12);
//! # Ok::<(), npsvc::algebra::NotPositiveDefinite>(())
//! ```

mod factorization;
pub(crate) mod huge_pages;
mod matrix;
pub(crate) mod simd;

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::{Accum, ColMut, ColRef, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

pub use factorization::{Cholesky, NotPositiveDefinite};
pub(crate) use factorization::{solve_by_lu, solve_transposed};
pub use matrix::Matrix;
pub(crate) use matrix::OwnedMatrix;
use simd::{clear_upper_halves, then_clear};

/// Number of operations below which a second thread costs more than it saves.
const MIN_PARALLEL_FLOPS: f64 = 2e7;

/// One thread for small products, `par` for others.
fn threads_for(par: Par, rows: usize, inner: usize, columns: usize) -> Par {
    if 2.0 * rows as f64 * inner as f64 * columns as f64 > MIN_PARALLEL_FLOPS {
        par
    } else {
        Par::Seq
    }
}

/// Calls `work` for each item, in parallel if `par` has several threads. The results keep the order
/// of the items.
pub(crate) fn each<I, T, R>(par: Par, items: I, work: impl Fn(T) -> R + Sync) -> Vec<R>
where
    I: IntoIterator<Item = T> + IntoParallelIterator<Item = T, Iter: IndexedParallelIterator>,
    T: Send,
    R: Send,
{
    // Each thread may come from a product.
    let work = |item| {
        clear_upper_halves();
        work(item)
    };
    if par.degree() > 1 {
        items.into_par_iter().map(work).collect()
    } else {
        items.into_iter().map(work).collect()
    }
}

/// `a b`.
pub fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    set_product(&mut out, a, b, par);
    out
}

/// `out = a b`.
pub(crate) fn set_product(out: &mut Mat<f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) {
    multiply(out.as_mut(), Accum::Replace, 1.0, a, b, par);
}

/// `out += scale a b`.
pub(crate) fn add_product(
    out: MatMut<'_, f64>,
    scale: f64,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    par: Par,
) {
    multiply(out, Accum::Add, scale, a, b, par);
}

fn multiply(
    out: MatMut<'_, f64>,
    accum: Accum,
    scale: f64,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    par: Par,
) {
    let par = threads_for(par, a.nrows(), a.ncols(), b.ncols());
    let copy = needs_padding(a, b).then(|| padded_copy(a));
    let a = copy.as_ref().map_or(a, Mat::as_ref);
    match par {
        Par::Rayon(_) if b.ncols() == 1 => multiply_by_vector(out, accum, scale, a, b, par),
        Par::Rayon(_) if a.nrows() == 1 => {
            let (a, b) = (b.transpose(), a.transpose());
            multiply_by_vector(out.transpose_mut(), accum, scale, a, b, par);
        }
        _ => then_clear(|| matmul(out, accum, a, b, scale, par)),
    }
}

/// A product with a single column, in which each thread computes some of the rows. faer would give each
/// thread some of the columns and add up what they found, so the rounding would depend on the number
/// of threads.
fn multiply_by_vector(
    out: MatMut<'_, f64>,
    accum: Accum,
    scale: f64,
    a: MatRef<'_, f64>,
    x: MatRef<'_, f64>,
    par: Par,
) {
    let rows = a.nrows().div_ceil(par.degree()).next_multiple_of(REGISTER);
    let blocks = out.par_row_chunks_mut(rows).zip(a.par_row_chunks(rows));
    blocks.for_each(|(out, a)| then_clear(|| matmul(out, accum, a, x, scale, Par::Seq)));
}

/// Whether the left factor `a` should be copied by [`padded_copy`] before the product.
///
/// faer reads the columns of an aligned matrix in whole vector registers. The last register of a
/// column also holds the memory behind it. This does not change the result, but if that memory
/// happens to hold denormal numbers, a product of 20 rows has been measured to take 60 times as long.
fn needs_padding(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> bool {
    /// With this many rows a copy costs more than it saves: the share of the last registers is small,
    /// and the memory of a large matrix is usually fresh, so it holds zeros.
    const MANY: usize = 128;
    let is_read_by_register = a.row_stride() == 1 && (2..MANY).contains(&a.nrows());
    is_read_by_register && !a.nrows().is_multiple_of(REGISTER) && b.ncols() > 1
}

/// Numbers in the largest vector register.
const REGISTER: usize = 8;

/// A copy of a matrix with zeros between the end of each column and the start of the next one, for
/// matrices that are often left factors. Clones do not keep these zeros.
pub(crate) fn padded_copy(m: MatRef<'_, f64>) -> Mat<f64> {
    let mut copy = Mat::zeros(m.nrows().next_multiple_of(REGISTER), m.ncols());
    copy.subrows_mut(0, m.nrows()).copy_from(m);
    copy.truncate(m.nrows(), m.ncols());
    copy
}

/// The lower triangle of `scale a b`, set or added.
pub(crate) fn lower_product(
    out: MatMut<'_, f64>,
    accum: Accum,
    scale: f64,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    par: Par,
) {
    let par = threads_for(par, a.nrows(), a.ncols(), b.ncols());
    let whole = BlockStructure::Rectangular;
    let lower = BlockStructure::TriangularLower;
    then_clear(|| triangular_matmul(out, lower, accum, a, whole, b, whole, scale, par));
}

/// `out = a x + b y + c z`, in one pass.
pub(crate) fn set_combination(out: &mut Mat<f64>, [a, b, c]: [f64; 3], [x, y, z]: [&Mat<f64>; 3]) {
    for j in 0..out.ncols() {
        let out = column_mut(out, j);
        let [x, y, z] = [x, y, z].map(|m| column(m.as_ref(), j));
        for (((out, x), y), z) in out.iter_mut().zip(x).zip(y).zip(z) {
            *out = a * x + b * y + c * z;
        }
    }
}

/// `out += scale m x`.
pub(crate) fn add_times_vector(
    out: &mut [f64],
    scale: f64,
    m: MatRef<'_, f64>,
    x: &[f64],
    par: Par,
) {
    let out = ColMut::from_slice_mut(out).as_mat_mut();
    add_product(out, scale, m, ColRef::from_slice(x).as_mat(), par);
}

/// `a^T b`.
pub fn inner(a: &[f64], b: &[f64]) -> f64 {
    // Several sums at once, because a single sum would wait for itself at each addition.
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// `out += scale x`.
pub(crate) fn add_scaled(out: &mut [f64], scale: f64, x: &[f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += scale * x;
    }
}

/// `f64::min` for loops that must be vectorised: one instruction. If `a` is NaN, the result is `b`.
#[inline(always)]
pub(crate) fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// `f64::max` for loops that must be vectorised: one instruction. If `a` is NaN, the result is `b`.
#[inline(always)]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Column `j` of a column-major matrix.
pub fn column(m: MatRef<'_, f64>, j: usize) -> &[f64] {
    m.col(j).try_as_col_major().expect("matrices here are column-major").as_slice()
}

/// Column `j` of a matrix, writable.
pub(crate) fn column_mut(m: &mut Mat<f64>, j: usize) -> &mut [f64] {
    m.col_mut(j).try_as_col_major_mut().expect("a Mat is column-major").as_slice_mut()
}

/// All columns of a matrix, writable.
fn columns_mut(m: &mut Mat<f64>) -> Vec<&mut [f64]> {
    m.col_iter_mut()
        .map(|column| column.try_as_col_major_mut().expect("a Mat is column-major").as_slice_mut())
        .collect()
}

/// Calls `work(j, column j)` for each column, in parallel if `par` has several threads.
pub(crate) fn for_each_column(m: &mut Mat<f64>, par: Par, work: impl Fn(usize, &mut [f64]) + Sync) {
    let columns: Vec<_> = columns_mut(m).into_iter().enumerate().collect();
    each(par, columns, |(j, column)| work(j, column));
}

/// The rows `rows` and columns `columns` of `m`.
pub(crate) fn submatrix(m: MatRef<'_, f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| m[(rows[i], columns[j])])
}

/// The columns `index` of `m`.
pub(crate) fn columns(m: MatRef<'_, f64>, index: &[usize]) -> Mat<f64> {
    Mat::from_fn(m.nrows(), index.len(), |i, j| m[(i, index[j])])
}

/// Adds `shift(i)` to diagonal entry `i`.
pub(crate) fn shift_diagonal(m: &mut Mat<f64>, shift: impl Fn(usize) -> f64) {
    for i in 0..m.nrows() {
        m[(i, i)] += shift(i);
    }
}

/// The lower triangle of the rows and columns `index` of a symmetric `m`, for [`Cholesky::new`]. It adds
/// `shift(i)` to diagonal entry `i`.
pub(crate) fn lower_submatrix(
    m: MatRef<'_, f64>,
    index: &[usize],
    shift: impl Fn(usize) -> f64,
) -> Mat<f64> {
    let mut lower = Mat::zeros(index.len(), index.len());
    for (i, &j) in index.iter().enumerate() {
        let (source, target) = (column(m, j), column_mut(&mut lower, i));
        for (target, &row) in target[i..].iter_mut().zip(&index[i..]) {
            *target = source[row];
        }
    }
    shift_diagonal(&mut lower, shift);
    lower
}

/// `x^T M x`.
///
/// ```
/// use npsvc::algebra::quadratic_form;
/// use npsvc::faer::mat;
///
/// assert_eq!(quadratic_form(mat![[2.0, 1.0], [1.0, 3.0]].as_ref(), &[1.0, -1.0]), 3.0);
/// ```
pub fn quadratic_form(m: MatRef<'_, f64>, x: &[f64]) -> f64 {
    let entry = |i: usize| x[i] * (0..x.len()).map(|j| m[(i, j)] * x[j]).sum::<f64>();
    (0..x.len()).map(entry).sum()
}

/// Copies the lower triangle onto the upper one, block by block.
pub(crate) fn mirror_lower(m: &mut Mat<f64>, par: Par) {
    const BLOCK: usize = 64;
    // Each column in two parts: above the diagonal, which is written, and the rest, which is read.
    let (mut uppers, lowers): (Vec<&mut [f64]>, Vec<&[f64]>) = columns_mut(m)
        .into_iter()
        .enumerate()
        .map(|(j, column)| {
            let (upper, lower) = column.split_at_mut(j);
            (upper, &*lower)
        })
        .unzip();
    let blocks: Vec<_> = uppers.chunks_mut(BLOCK).enumerate().collect();
    each(par, blocks, |(block, uppers)| {
        let i0 = block * BLOCK;
        for j0 in (0..=i0).step_by(BLOCK) {
            for (i, upper) in (i0..).zip(uppers.iter_mut()) {
                let sources = (j0..).zip(&lowers[j0..i.min(j0 + BLOCK)]);
                for (target, (j, source)) in upper[j0..].iter_mut().zip(sources) {
                    *target = source[i - j];
                }
            }
        }
    });
}

/// Eigenvalues, ascending, and eigenvectors of a symmetric matrix, of which the lower half is read.
/// `None` if it holds numbers that are not finite.
///
/// It uses one thread, because faer adds up in another order with another number of threads.
pub(crate) fn symmetric_eigen(m: MatRef<'_, f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    let (n, par) = (m.nrows(), Par::Seq);
    let (mut values, mut vectors) = (Diag::zeros(n), Mat::zeros(n, n));
    let scratch =
        evd::self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, par, Default::default());
    let mut buffer = MemBuffer::new(scratch);
    then_clear(|| {
        let (stack, vectors) = (MemStack::new(&mut buffer), Some(vectors.as_mut()));
        evd::self_adjoint_evd(m, values.as_mut(), vectors, par, stack, Default::default())
    })
    .ok()?;
    let values = values.column_vector().iter().copied().collect();
    Some((values, vectors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_agrees_with_the_plain_sum_at_every_length() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let b: Vec<f64> = (0..n).map(|i| 1.0 + 2.0 * i as f64).collect();
            let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert_eq!(inner(&a, &b), plain);
        }
    }

    #[test]
    fn only_columns_that_end_within_a_register_are_padded() {
        let m = Mat::from_fn(20, 30, |i, j| (i + 2 * j) as f64);
        let b = Mat::from_fn(30, 2, |i, j| (i * j) as f64);
        assert!(needs_padding(m.as_ref(), b.as_ref()));
        assert!(!needs_padding(m.as_ref(), b.subcols(0, 1)));
        assert!(!needs_padding(m.subrows(0, 16), b.as_ref()));
        assert!(!needs_padding(b.transpose(), m.transpose()));
        let copy = padded_copy(m.as_ref());
        assert_eq!((&copy, copy.col_stride()), (&m, 24));
    }

    #[test]
    fn results_keep_the_order_of_the_items() {
        for par in [Par::Seq, Par::rayon(2)] {
            assert_eq!(each(par, 0..5, |i| i * i), [0, 1, 4, 9, 16]);
        }
    }

    #[test]
    fn the_mirrored_triangle_is_the_lower_one() {
        for n in [1, 63, 64, 65, 130] {
            let mut m = Mat::from_fn(n, n, |i, j| (i * n + j) as f64);
            mirror_lower(&mut m, Par::Seq);
            let expected = Mat::from_fn(n, n, |i, j| (i.max(j) * n + i.min(j)) as f64);
            assert_eq!(m, expected);
        }
    }
}
