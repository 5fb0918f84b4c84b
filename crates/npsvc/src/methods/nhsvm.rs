//! NHSVM: the two hyperplanes of a class against the rest in one problem.
//!
//! ```text
//! min_{f,h}  r/2 (|f|^2 + |h|^2) + 1/2 sum_p f(x_i)^2 + 1/2 sum_q h(x_j)^2
//!            + c sum_p [1 - (h - f)(x_i)]_+ + c sum_q [1 - (f - h)(x_j)]_+
//! ```
//!
//! `f` is close to class `p`, `h` to the rest `q`, and the hinge compares the two as the prediction
//! does. With `s = -1` on `p`, `+1` on `q` and `N_p = K - K_:p (r I + K_pp)^-1 K_p:`, the dual is
//! `min 1/2 l^T (s s^T o (N_p + N_q)) l / r - 1^T l` on `0 <= l <= c`. `ovr` predicts by the nearest
//! `f_l`, `rvo` by the farthest `h_l`. With a factor `K = G G^T`, `N_p = r G C_p^-1 G^T` and
//! `C_p = r I + G_p^T G_p`.

use faer::{Mat, MatRef, Par};

use super::duals::{Planes, cholesky, shifted_gram};
use crate::algebra::{
    Cholesky, Matrix, OwnedMatrix, add_lower_product, add_times_vector, column, column_mut, inner,
    mirror_lower, principal_submatrix, submatrix,
};
use crate::params::{Range, Ranges, method_parameters};
use crate::solve::box_qp::{self, Term};
use crate::sweep::ChainKey;
use crate::training_set::Shape;
use crate::{
    BadParameter, Certificate, Fit, FitError, FitOptions, Info, Method, Scheme, TrainingSet,
};

static INFO: Info = Info {
    name: "nhsvm",
    title: "NHSVM",
    about: "both hyperplanes of a class in one problem (after Shao et al. 2014)",
    losses: ["a²/2 for both planes", "[s − (b − a)]₊ between them"],
    version: 1,
    learns_representation: false,
};

method_parameters! {
    /// NHSVM: both hyperplanes of a class against the rest in one problem.
    ///
    /// ```text
    /// min_{f,h}  r/2 (|f|^2 + |h|^2) + 1/2 sum_p f(x_i)^2 + 1/2 sum_q h(x_j)^2
    ///            + c sum_p [1 - (h - f)(x_i)]_+ + c sum_q [1 - (f - h)(x_j)]_+
    /// ```
    pub struct Nhsvm {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// Regulariser.
        r: f64 = 0.1, Range::Above(0.0);
        /// Which samples a hyperplane is close to.
        scheme: Scheme = Scheme::Ovr;
        /// Append a constant feature, so that the hyperplanes need not pass through the origin.
        bias: bool = false;
        /// Relative duality gap at which a hyperplane counts as solved.
        tolerance: f64 = 1e-5, Range::Above(0.0);
    }
}

impl Method for Nhsvm {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self, _: Option<Shape>) -> Result<(), BadParameter> {
        self.check_ranges()
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }

    fn chain_key(&self) -> ChainKey {
        ChainKey::new(&Self { c: 0.0, ..self.clone() }, &[self.c], self.r)
    }

    fn train(&self, set: &TrainingSet, options: &mut FitOptions<'_>) -> Result<Fit, FitError> {
        let planes =
            Planes { r: self.r, scheme: self.scheme, bias: self.bias, tolerance: self.tolerance };
        let (k, par) = (set.matrix(self.bias), options.par(set));
        let Shape { n, classes, .. } = set.shape();
        let mut b = Mat::zeros(n, classes);
        let mut certificates = Vec::with_capacity(classes);
        let terms = vec![Term::hinge(self.c).rescaled(self.r); n];
        for l in 0..classes {
            let joint = Joint::new(k, self.r, set.y(), l, par)?;
            let solution = box_qp::solve(joint.matrix.view(), &terms, None, planes.settings(par));
            let column = joint.coefficients(k, &solution.x, self.scheme);
            column_mut(&mut b, l).copy_from_slice(&column);
            certificates.push(solution.certificate.scaled(self.r));
        }
        let values = k.times(b.as_ref(), par);
        let machine = planes.machine(b, values.as_ref())?;
        Ok(Fit::new(machine, Certificate::total(certificates)))
    }
}

/// The joint dual of one class against the rest.
struct Joint {
    /// `s s^T o (N_p + N_q)`.
    matrix: OwnedMatrix,
    signs: Vec<f64>,
    class: Side,
    rest: Side,
}

/// Samples that are eliminated, and the factor of `r I + K_pp` or of `C_p`.
struct Side {
    index: Vec<usize>,
    factor: Cholesky,
}

impl Joint {
    fn new(k: Matrix<'_>, r: f64, y: &[usize], l: usize, par: Par) -> Result<Self, FitError> {
        let (class, rest) = Scheme::Ovr.sides(y, l);
        let signs: Vec<f64> = y.iter().map(|&y| if y == l { -1.0 } else { 1.0 }).collect();
        let (matrix, class, rest) = match k {
            Matrix::Full(k) => full(k, r, &signs, class, rest, par)?,
            Matrix::Factor(rows) => factored(rows, r, &signs, class, rest, par)?,
        };
        Ok(Self { matrix, signs, class, rest })
    }

    /// The coefficients of `f` (scheme ovr) or `h` (scheme rvo) from the dual variables over `r`.
    fn coefficients(&self, k: Matrix<'_>, x: &[f64], scheme: Scheme) -> Vec<f64> {
        let (Side { index, factor }, sign) = match scheme {
            Scheme::Ovr => (&self.class, 1.0),
            Scheme::Rvo => (&self.rest, -1.0),
        };
        let signed = |(x, s): (&f64, &f64)| sign * s * x;
        let mut coefficients: Vec<f64> = x.iter().zip(&self.signs).map(signed).collect();
        match k {
            Matrix::Full(k) => {
                let mut values = Mat::from_fn(index.len(), 1, |a, _| {
                    let value = |(j, b): (usize, &f64)| k[(j, index[a])] * b;
                    coefficients.iter().enumerate().map(value).sum()
                });
                factor.solve(values.as_mut());
                for (a, &i) in index.iter().enumerate() {
                    coefficients[i] -= values[(a, 0)];
                }
            }
            // `(r I + K_pp)^-1 K_p: b = G_p C_p^-1 G^T b`.
            Matrix::Factor(rows) => {
                let mut inside = Mat::zeros(rows.nrows(), 1);
                let sum = column_mut(&mut inside, 0);
                add_times_vector(sum, 1.0, rows, &coefficients, Par::Seq);
                factor.solve(inside.as_mut());
                let inside = column(inside.as_ref(), 0);
                for &i in index {
                    coefficients[i] -= inner(column(rows, i), inside);
                }
            }
        }
        coefficients
    }
}

fn full(
    k: MatRef<'_, f64>,
    r: f64,
    signs: &[f64],
    class: Vec<usize>,
    rest: Vec<usize>,
    par: Par,
) -> Result<(OwnedMatrix, Side, Side), FitError> {
    let n = k.nrows();
    let mut matrix = Mat::from_fn(n, n, |i, j| 2.0 * k[(i, j)]);
    let class = subtract_eliminated(&mut matrix, k, r, class, par)?;
    let rest = subtract_eliminated(&mut matrix, k, r, rest, par)?;
    for j in 0..n {
        for i in j..n {
            matrix[(i, j)] *= signs[i] * signs[j];
        }
    }
    mirror_lower(&mut matrix, par);
    Ok((OwnedMatrix::Full(matrix), class, rest))
}

/// Subtracts `K_:p (r I + K_pp)^-1 K_p:` from the lower triangle of `matrix`.
fn subtract_eliminated(
    matrix: &mut Mat<f64>,
    k: MatRef<'_, f64>,
    r: f64,
    index: Vec<usize>,
    par: Par,
) -> Result<Side, FitError> {
    let factor = cholesky(principal_submatrix(k, &index, r), r, par)?;
    let every: Vec<usize> = (0..k.nrows()).collect();
    let mut w = submatrix(k, &index, &every);
    factor.solve_lower(w.as_mut());
    add_lower_product(matrix.as_mut(), -1.0, w.transpose(), w.as_ref(), par);
    Ok(Side { index, factor })
}

/// The factor of the joint matrix: `sqrt(r) L^-1 G^T` of both sides, one above the other, the columns
/// times their signs.
fn factored(
    g: MatRef<'_, f64>,
    r: f64,
    signs: &[f64],
    class: Vec<usize>,
    rest: Vec<usize>,
    par: Par,
) -> Result<(OwnedMatrix, Side, Side), FitError> {
    let side = |index: Vec<usize>| {
        let factor = shifted_gram(g, &index, r, par)?;
        Ok::<Side, FitError>(Side { index, factor })
    };
    let (class, rest) = (side(class)?, side(rest)?);
    let rank = g.nrows();
    let mut rows = Mat::from_fn(2 * rank, g.ncols(), |a, i| r.sqrt() * signs[i] * g[(a % rank, i)]);
    let (above, below) = rows.as_mut().split_at_row_mut(rank);
    class.factor.solve_lower(above);
    rest.factor.solve_lower(below);
    Ok((OwnedMatrix::Factor(rows), class, rest))
}
