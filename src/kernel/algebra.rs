//! Products and decompositions by faer, each of which leaves the vector registers clean (see
//! `registers`). Everything outside this folder multiplies matrices through here.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::{Accum, ColMut, ColRef, Mat, MatMut, MatRef, Par, Side};

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
    let par = by_work(par, a.nrows(), a.ncols(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, par);
    clear_upper_halves();
    out
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

/// Eigenvalues, ascending, and eigenvectors of a symmetric matrix; `None` if it holds values that
/// are not finite.
pub fn symmetric_eigen(m: MatRef<'_, f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    let eigen = m.self_adjoint_eigen(Side::Lower).ok();
    clear_upper_halves();
    let eigen = eigen?;
    let values = eigen.S().column_vector().iter().copied().collect();
    Some((values, eigen.U().to_owned()))
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
}
