//! NHSVM: the two hyperplanes of a class against the rest in ONE problem.
//!
//! ```text
//! min_{f,h}  r/2 (|f|^2 + |h|^2) + 1/2 sum_p f(x_i)^2 + 1/2 sum_q h(x_j)^2
//!            + c sum_p [1 - (h - f)(x_i)]_+ + c sum_q [1 - (f - h)(x_j)]_+
//! ```
//!
//! `f` is close to class `p`, `h` to the rest `q`, and the hinge compares the two as the prediction
//! does. With `s = -1` on `p`, `+1` on `q` and `N_p = K - K_:p (r I + K_pp)^-1 K_p:`, the dual is
//! `min 1/2 l^T (s s^T o (N_p + N_q)) l / r - 1^T l` on `0 <= l <= c`. `ovr` predicts by the nearest
//! `f_l`, `rvo` by the farthest `h_l`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use faer::{Mat, MatRef, Par};

use super::nonparallel::{self, Hyperplanes};
use super::plane::{Sides, cholesky, shifted_gram};
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::kernel::algebra::{add_lower_product, add_times_vector, column, column_mut, inner};
use crate::kernel::{Cholesky, Gram, mirror_lower, principal_submatrix, submatrix};
use crate::seed::Seed;
use crate::solve::Certificate;
use crate::solve::box_qp::{self, Dense, Factored, Term};

/// Parameters of NHSVM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Nhsvm {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Regulariser.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub r: f64,
    pub scheme: Scheme,
    /// Append a constant feature, so that the hyperplanes need not pass through the origin.
    pub bias: bool,
    /// Relative duality gap at which a hyperplane counts as solved.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
}

impl Default for Nhsvm {
    fn default() -> Self {
        Self {
            c: 1.0,
            r: 0.1,
            scheme: Scheme::Ovr,
            bias: false,
            tolerance: 1e-5,
        }
    }
}

impl Method for Nhsvm {
    const NAME: &'static str = "nhsvm";
    const TITLE: &'static str = "NHSVM";
    const ABOUT: &'static str =
        "both hyperplanes of a class in one problem (after Shao et al. 2014)";
    const LOSSES: [&'static str; 2] = ["a²/2 for both planes", "[s − (b − a)]₊ between them"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("r", self.r)?;
        BadParameter::unless_positive("tolerance", self.tolerance)
    }

    fn fit(&self, problem: &Problem, _: &Seed) -> Result<Fit, FitError> {
        let hyperplanes = Hyperplanes {
            r: self.r,
            scheme: self.scheme,
            bias: self.bias,
            tolerance: self.tolerance,
        };
        problem.require_every_class()?;
        let (k, par) = (problem.gram_with(self.bias), problem.par());
        let Shape { n, classes, .. } = problem.shape();
        let mut coefficients = Mat::zeros(n, classes);
        let mut certificates = Vec::with_capacity(classes);
        for l in 0..classes {
            let sides = Scheme::Ovr.sides(problem.y(), l);
            let terms = vec![Term::hinge(self.c).in_coefficients(self.r); n];
            let settings = hyperplanes.settings(par);
            let (solution, column) = match k {
                Gram::Full(k) => {
                    let pair = Pair::new(k, self.r, &sides, par)?;
                    let matrix = pair.matrix.as_ref();
                    let solution = box_qp::solve(&Dense { matrix }, &terms, None, settings);
                    let column = pair.coefficients(k, &solution.x, &sides, self.scheme);
                    (solution, column)
                }
                Gram::LowRank(low) => {
                    let pair = FactoredPair::new(low.rows(), self.r, &sides, par)?;
                    let rows = pair.rows.as_ref();
                    let solution = box_qp::solve(&Factored { rows }, &terms, None, settings);
                    let column = pair.coefficients(low.rows(), &solution.x, &sides, self.scheme);
                    (solution, column)
                }
            };
            for (i, value) in column.into_iter().enumerate() {
                coefficients[(i, l)] = value;
            }
            certificates.push(solution.certificate.scaled(self.r));
        }
        let machine = hyperplanes.machine(coefficients, k, par)?;
        Ok(Fit {
            machine,
            certificate: Certificate::total(certificates),
            trace: Vec::new(),
            learnt: None,
        })
    }

    fn cost(&self, shape: Shape) -> Cost {
        let (n, classes) = (shape.n as f64, shape.classes as f64);
        let plain = nonparallel::full_dual_cost(shape);
        if shape.rank.is_some() {
            return Cost {
                flops: 4.0 * plain.flops,
                bytes: 2.0 * plain.bytes,
            };
        }
        Cost {
            flops: plain.flops + classes * 2.0 * n.powi(3),
            bytes: plain.bytes + 24.0 * n * n,
        }
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}

/// The joint dual of one class against the rest.
struct Pair {
    /// `s s^T o (N_p + N_q)`.
    matrix: Mat<f64>,
    signs: Vec<f64>,
    near: Cholesky,
    far: Cholesky,
}

impl Pair {
    fn new(k: MatRef<'_, f64>, r: f64, sides: &Sides, par: Par) -> Result<Self, FitError> {
        let n = k.nrows();
        let mut signs = vec![1.0; n];
        for &i in &sides.near {
            signs[i] = -1.0;
        }
        let mut matrix = Mat::from_fn(n, n, |i, j| 2.0 * k[(i, j)]);
        let near = subtract_eliminated(&mut matrix, k, r, &sides.near, par)?;
        let far = subtract_eliminated(&mut matrix, k, r, &sides.far, par)?;
        for j in 0..n {
            for i in j..n {
                matrix[(i, j)] *= signs[i] * signs[j];
            }
        }
        mirror_lower(&mut matrix, par);
        Ok(Self {
            matrix,
            signs,
            near,
            far,
        })
    }

    /// Expansion of `f` (scheme ovr) or `h` (scheme rvo) from the dual variables over `r`.
    fn coefficients(
        &self,
        k: MatRef<'_, f64>,
        x: &[f64],
        sides: &Sides,
        scheme: Scheme,
    ) -> Vec<f64> {
        let (index, factor, sign) = match scheme {
            Scheme::Ovr => (&sides.near, &self.near, 1.0),
            Scheme::Rvo => (&sides.far, &self.far, -1.0),
        };
        let mut coefficients: Vec<f64> = x
            .iter()
            .zip(&self.signs)
            .map(|(x, s)| sign * s * x)
            .collect();
        let mut values = Mat::from_fn(index.len(), 1, |a, _| {
            coefficients
                .iter()
                .enumerate()
                .map(|(j, b)| k[(j, index[a])] * b)
                .sum()
        });
        factor.solve(values.as_mut());
        for (a, &i) in index.iter().enumerate() {
            coefficients[i] -= values[(a, 0)];
        }
        coefficients
    }
}

/// The same with a factor `K = G G^T`: `N_p = r G C_p^-1 G^T` with `C_p = r I + G_p^T G_p`.
struct FactoredPair {
    /// The factor of the joint matrix: `sqrt(r) L^-1 G^T` for both sides, one above the other, the
    /// columns times their signs.
    rows: Mat<f64>,
    signs: Vec<f64>,
    near: Cholesky,
    far: Cholesky,
}

impl FactoredPair {
    fn new(g: MatRef<'_, f64>, r: f64, sides: &Sides, par: Par) -> Result<Self, FitError> {
        let mut signs = vec![1.0; g.ncols()];
        for &i in &sides.near {
            signs[i] = -1.0;
        }
        let near = shifted_gram(g, &sides.near, r, par)?;
        let far = shifted_gram(g, &sides.far, r, par)?;
        let rank = g.nrows();
        let mut rows = Mat::from_fn(2 * rank, g.ncols(), |a, i| {
            r.sqrt() * signs[i] * g[(a % rank, i)]
        });
        let (above, below) = rows.as_mut().split_at_row_mut(rank);
        near.solve_lower(above);
        far.solve_lower(below);
        Ok(Self {
            rows,
            signs,
            near,
            far,
        })
    }

    /// As [`Pair::coefficients`]: `(r I + K_pp)^-1 K_p: b = G_p C_p^-1 G^T b`.
    fn coefficients(
        &self,
        g: MatRef<'_, f64>,
        x: &[f64],
        sides: &Sides,
        scheme: Scheme,
    ) -> Vec<f64> {
        let (index, factor, sign) = match scheme {
            Scheme::Ovr => (&sides.near, &self.near, 1.0),
            Scheme::Rvo => (&sides.far, &self.far, -1.0),
        };
        let mut coefficients: Vec<f64> = x
            .iter()
            .zip(&self.signs)
            .map(|(x, s)| sign * s * x)
            .collect();
        let mut inside = Mat::zeros(g.nrows(), 1);
        add_times_vector(column_mut(&mut inside, 0), 1.0, g, &coefficients, Par::Seq);
        factor.solve(inside.as_mut());
        let inside = column(inside.as_ref(), 0);
        for &i in index {
            coefficients[i] -= inner(column(g, i), inside);
        }
        coefficients
    }
}

/// Subtracts `K_:p (r I + K_pp)^-1 K_p:` from the lower triangle of `matrix`.
fn subtract_eliminated(
    matrix: &mut Mat<f64>,
    k: MatRef<'_, f64>,
    r: f64,
    index: &[usize],
    par: Par,
) -> Result<Cholesky, FitError> {
    let factor = cholesky(principal_submatrix(k, index, r), r, par)?;
    let every: Vec<usize> = (0..k.nrows()).collect();
    let mut w = submatrix(k, index, &every);
    factor.solve_lower(w.as_mut());
    add_lower_product(matrix.as_mut(), -1.0, w.transpose(), w.as_ref(), par);
    Ok(factor)
}
