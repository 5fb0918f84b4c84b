//! Products and decompositions by faer, each of which leaves the vector registers clean (see
//! `registers`). Everything outside this folder multiplies matrices through here.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::{Accum, ColMut, ColRef, Mat, MatMut, MatRef, Par};

use super::registers::clear_upper_halves;

/// Operations below which a second thread costs more than it saves.
const WORTH_A_THREAD: f64 = 2e7;

/// One thread for small products, `par` for others.
fn by_work(par: Par, rows: usize, inner: usize, columns: usize) -> Par {
    if 2.0 * rows as f64 * inner as f64 * columns as f64 > WORTH_A_THREAD {
        par
    } else {
        Par::Seq
    }
}

/// `a b`.
pub fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    set_product(&mut out, a, b, par);
    out
}

/// `out = a b`.
pub fn set_product(out: &mut Mat<f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) {
    let par = by_work(par, a.nrows(), a.ncols(), b.ncols());
    let copy = padded(a, b);
    let a = copy.as_ref().map_or(a, Mat::as_ref);
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, par);
    clear_upper_halves();
}

/// A copy of the left factor `a` with zeros behind its columns, where the product needs one.
///
/// faer reads columns of an aligned matrix in whole vector registers, the last of which holds
/// whatever lies in memory behind the column. That changes no result, but where it happens to be a
/// denormal number a product of 20 rows has been measured to take 60 times as long.
fn padded(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Option<Mat<f64>> {
    /// Rows from which on a copy costs more than it is worth: the larger a matrix, the smaller the
    /// share of its last registers, and the likelier its memory came fresh, and hence as zeros.
    const MANY: usize = 128;
    let is_read_by_register = a.row_stride() == 1 && (2..MANY).contains(&a.nrows());
    let is_needed = is_read_by_register && !a.nrows().is_multiple_of(REGISTER) && b.ncols() > 1;
    is_needed.then(|| with_zeros_behind(a))
}

/// Numbers in the largest vector register.
const REGISTER: usize = 8;

/// A copy of a matrix with zeros between the end of each column and the next one's beginning, for
/// matrices that are often left factors; clones do not have them.
pub fn with_zeros_behind(m: MatRef<'_, f64>) -> Mat<f64> {
    let mut copy = Mat::zeros(m.nrows().next_multiple_of(REGISTER), m.ncols());
    copy.subrows_mut(0, m.nrows()).copy_from(m);
    copy.truncate(m.nrows(), m.ncols());
    copy
}

/// `out += factor a b`.
pub fn add_product(
    out: MatMut<'_, f64>,
    factor: f64,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    par: Par,
) {
    let par = by_work(par, a.nrows(), a.ncols(), b.ncols());
    let copy = padded(a, b);
    let a = copy.as_ref().map_or(a, Mat::as_ref);
    matmul(out, Accum::Add, a, b, factor, par);
    clear_upper_halves();
}

/// `out += factor a b`, the lower triangle only.
pub fn add_lower_product(
    out: MatMut<'_, f64>,
    factor: f64,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    par: Par,
) {
    let whole = BlockStructure::Rectangular;
    let lower = BlockStructure::TriangularLower;
    let par = by_work(par, a.nrows(), a.ncols(), b.ncols());
    triangular_matmul(out, lower, Accum::Add, a, whole, b, whole, factor, par);
    clear_upper_halves();
}

/// `out = a x + b y + c z`, in one pass.
pub fn set_combination(out: &mut Mat<f64>, [a, b, c]: [f64; 3], [x, y, z]: [&Mat<f64>; 3]) {
    for j in 0..out.ncols() {
        let out = column_mut(out, j);
        let [x, y, z] = [x, y, z].map(|m| column(m.as_ref(), j));
        for (((out, x), y), z) in out.iter_mut().zip(x).zip(y).zip(z) {
            *out = a * x + b * y + c * z;
        }
    }
}

/// `out += factor m x`.
pub fn add_times_vector(out: &mut [f64], factor: f64, m: MatRef<'_, f64>, x: &[f64], par: Par) {
    let out = ColMut::from_slice_mut(out).as_mat_mut();
    add_product(out, factor, m, ColRef::from_slice(x).as_mat(), par);
}

/// `a^T b`.
pub fn inner(a: &[f64], b: &[f64]) -> f64 {
    // Several sums at once, because one would wait for itself at every addition.
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_chunks
        .remainder()
        .iter()
        .zip(b_chunks.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// `out += factor x`.
pub fn add_scaled(out: &mut [f64], factor: f64, x: &[f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += factor * x;
    }
}

/// Column `j` of a column-major matrix.
pub fn column(m: MatRef<'_, f64>, j: usize) -> &[f64] {
    m.col(j)
        .try_as_col_major()
        .expect("matrices here are column-major")
        .as_slice()
}

/// Column `j` of a matrix, to be written.
pub fn column_mut(m: &mut Mat<f64>, j: usize) -> &mut [f64] {
    m.col_mut(j)
        .try_as_col_major_mut()
        .expect("a Mat is column-major")
        .as_slice_mut()
}

/// Eigenvalues, ascending, and eigenvectors of a symmetric matrix, of which the lower half is read;
/// `None` if it holds values that are not finite.
///
/// faer's own `self_adjoint_eigen` uses all threads there are, whatever a caller was given, and
/// those take longer to wake than a small matrix takes.
pub fn symmetric_eigen(m: MatRef<'_, f64>, par: Par) -> Option<(Vec<f64>, Mat<f64>)> {
    let n = m.nrows();
    let par = by_work(par, n, n, n);
    let (mut values, mut vectors) = (Diag::zeros(n), Mat::zeros(n, n));
    let scratch =
        evd::self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, par, Default::default());
    let decomposed = evd::self_adjoint_evd(
        m,
        values.as_mut(),
        Some(vectors.as_mut()),
        par,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    clear_upper_halves();
    decomposed.ok()?;
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
    fn only_columns_that_end_within_a_register_are_copied() {
        let m = Mat::from_fn(20, 30, |i, j| (i + 2 * j) as f64);
        let b = Mat::from_fn(30, 2, |i, j| (i * j) as f64);
        let copy = padded(m.as_ref(), b.as_ref()).unwrap();
        assert_eq!((&copy, copy.col_stride()), (&m, 24));
        assert!(padded(m.as_ref(), b.subcols(0, 1)).is_none());
        assert!(padded(m.subrows(0, 16), b.as_ref()).is_none());
        assert!(padded(b.transpose(), m.transpose()).is_none());
    }
}
