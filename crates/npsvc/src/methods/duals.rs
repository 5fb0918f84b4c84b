//! The dual problems of all hyperplanes.
//!
//! Hyperplane `l` has similar samples `p` and dissimilar samples `q`, and minimises
//!
//! ```text
//! r/2 |u - g|^2 + sum_p similarity(f_i) + sum_q dissimilarity(f_j),      f_i = <u, phi(x_i)>,
//! ```
//!
//! where `g` is a known function (zero for the plain methods, `P v_l` in K-NPSVC++). The dual in all
//! expansion coefficients is a box QP with the kernel matrix. If the similarity loss is the square
//! loss, the similar samples can be eliminated exactly. With `S = K + r I`, what remains is a box QP in the
//! dissimilar samples with the matrix
//!
//! ```text
//! M / r,   M = K_qq - K_qp (S_pp)^-1 K_pq,
//! ```
//!
//! and the linear part `g_q - K_qp (S_pp)^-1 g_p`. Then `f_p = (S_pp)^-1 (r g_p + K_pq lambda)` and
//! `u = g + phi(X) e / r` with `e_q = lambda`, `e_p = -f_p`.
//!
//! Elimination pays off in two cases. Under rest versus one `q` is small, and one inverse of `S` serves
//! all classes: `M = ((S^-1)_qq)^-1 - r I` and `(S_pp)^-1 K_pq = -(S^-1)_pq ((S^-1)_qq)^-1`. With a
//! factor `K = G G^T`, `C = r I + G_p^T G_p` is small: `M = r G_q C^-1 G_q^T`,
//! `K_qp (S_pp)^-1 = G_q C^-1 G_p^T` and `f_p = g_p + G_p C^-1 (G_q^T lambda - G_p^T g_p)`.

use std::sync::Arc;

use faer::{Accum, Mat, MatRef, Par};

use crate::algebra::{
    Cholesky, Matrix, NotPositiveDefinite, OwnedMatrix, add_scaled, add_times_vector, column,
    column_mut, columns, each, inner, lower_product, lower_submatrix, product, shift_diagonal,
};
use crate::memo::Memo;
use crate::model::{KernelMachine, Rule};
use crate::solve::box_qp::{self, BoxQp, Settings, Solution, Term};
use crate::{Certificate, FitError, FitOptions, Scheme, Termination, Trained, TrainingSet, plain};

/// Rounding of function values that come from the jitter only.
const JITTER_ROUNDING: f64 = 1e-12;

/// The parameters that every nonparallel method has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CommonParameters {
    /// Regulariser.
    pub r: f64,
    pub scheme: Scheme,
    /// Append a constant feature, which makes the kernel `k + 1`.
    pub bias: bool,
    /// Relative duality gap per hyperplane.
    pub tolerance: f64,
}

impl CommonParameters {
    pub fn new(r: f64, scheme: Scheme, bias: bool, tolerance: f64) -> Self {
        Self { r, scheme, bias, tolerance }
    }

    /// The same for a plain computation.
    pub fn plain(&self) -> plain::Common {
        plain::Common { r: self.r, scheme: self.scheme, bias: self.bias }
    }

    pub fn settings(&self, par: Par) -> Settings {
        Settings { tolerance: self.tolerance, par, ..Settings::default() }
    }

    /// The result with `coefficients` (one column per class), whose functions have these `values` on the
    /// samples of `set`, and the certificate of each class.
    pub fn trained(
        &self,
        set: &TrainingSet,
        coefficients: Mat<f64>,
        values: MatRef<'_, f64>,
        certificates: impl IntoIterator<Item = Certificate>,
    ) -> Result<Trained, FitError> {
        let certificate = Certificate::total(certificates);
        let squared = |l| inner(column(coefficients.as_ref(), l), column(values, l)).max(0.0);
        let norms = (0..coefficients.ncols()).map(|l| squared(l).sqrt()).collect();
        Ok(Trained::new(self.machine(set, coefficients, values, norms)?, certificate))
    }

    /// The machine of `coefficients` and the norms of the hyperplanes. It predicts with the plain
    /// kernel: a constant feature becomes the offset `sum_i b_il`.
    pub fn machine(
        &self,
        set: &TrainingSet,
        coefficients: Mat<f64>,
        values: MatRef<'_, f64>,
        norms: Vec<f64>,
    ) -> Result<KernelMachine, FitError> {
        if !coefficients.is_all_finite() || !norms.iter().all(|norm| norm.is_finite()) {
            return Err(FitError::NotFinite);
        }
        let k = set.matrix(self.bias);
        let lengths: Vec<f64> = (0..k.n()).map(|i| k.diagonal(i).sqrt()).collect();
        let is_zero = |&class: &usize| {
            let (b, f) = (column(coefficients.as_ref(), class), column(values, class));
            norms[class] <= 0.0 || is_zero_function(b, f, &lengths, set.jitter())
        };
        if let Some(class) = (0..norms.len()).find(is_zero) {
            return Err(FitError::ZeroHyperplane { class });
        }
        let rule = Rule::of_scheme(self.scheme, norms);
        let offsets = column_sums(coefficients.as_ref(), self.bias);
        Ok(KernelMachine { coefficients, offsets, rule })
    }
}

/// Whether the function with coefficients `b` and `values` on the training samples is zero up to rounding:
/// its norm, next to the norms of its summands (`lengths` are those of the samples), or all its values.
/// The jitter is part of these values, but not of the function anywhere else.
fn is_zero_function(b: &[f64], values: &[f64], lengths: &[f64], jitter: f64) -> bool {
    let rounding = f64::EPSILON * b.len() as f64;
    let size: f64 = b.iter().zip(lengths).map(|(b, length)| b.abs() * length).sum();
    let is_jitter = |(b, f): (&f64, &f64)| (f - jitter * b).abs() <= JITTER_ROUNDING * f.abs();
    inner(b, values) <= rounding * size * size || b.iter().zip(values).all(is_jitter)
}

/// The sum of each column if `bias`, otherwise zeros: what a constant feature adds to a function.
pub(crate) fn column_sums(coefficients: MatRef<'_, f64>, bias: bool) -> Vec<f64> {
    let sum = |l| {
        if bias { coefficients.col(l).iter().sum() } else { 0.0 }
    };
    (0..coefficients.ncols()).map(sum).collect()
}

/// The dual problems of all classes on one matrix.
pub(crate) struct Duals<'a> {
    pub k: Matrix<'a>,
    pub y: &'a [usize],
    pub classes: usize,
    pub common: CommonParameters,
    pub par: Par,
    form: Form<'a>,
}

/// Whether the similar samples are eliminated, and by what.
enum Form<'a> {
    All,
    /// `(K + r I)^-1`.
    Inverse(Arc<Mat<f64>>),
    /// `G^T`.
    Factor(MatRef<'a, f64>),
}

impl<'a> Duals<'a> {
    /// The duals in all coefficients, on the matrix `k`.
    pub fn full(k: Matrix<'a>, set: &'a TrainingSet, common: CommonParameters, par: Par) -> Self {
        Self { k, y: set.y(), classes: set.shape().classes, common, par, form: Form::All }
    }

    /// The duals for a square loss on the similar samples, which are eliminated if that pays off.
    pub fn of_square_loss(
        set: &'a TrainingSet,
        common: CommonParameters,
        options: &FitOptions<'_>,
    ) -> Result<Self, FitError> {
        let (r, par) = (common.r, options.par(set));
        let mut duals = Self::full(set.matrix(common.bias), set, common, par);
        duals.form = match (duals.k, common.scheme) {
            (Matrix::Full(_), Scheme::Ovr) => Form::All,
            (Matrix::Full(k), Scheme::Rvo) => {
                let make = || Cholesky::shifted_inverse(k, r, par).map_err(not_definite(r));
                let memo = options.sweep.map(|sweep| &sweep.inverses);
                Form::Inverse(Memo::try_get_in(memo, (r.to_bits(), common.bias), make)?)
            }
            (Matrix::Factor(rows), _) => Form::Factor(rows),
        };
        Ok(duals)
    }

    /// Whether the similar samples are eliminated.
    pub fn is_eliminated(&self) -> bool {
        !matches!(self.form, Form::All)
    }

    pub fn is_similar(&self, i: usize, l: usize) -> bool {
        self.common.scheme.is_similar(self.y[i], l)
    }

    /// Solves the duals in all coefficients. The loss of sample `i` for class `l` has the conjugate
    /// `term(l, i, is_similar)`. Class `l` begins at `start(l)`, and a gap of `absolute(l)` is accepted
    /// in any case.
    pub fn solve_all<'s>(
        &self,
        start: impl Fn(usize) -> Option<&'s [f64]>,
        absolute: impl Fn(usize) -> f64,
        term: impl Fn(usize, usize, bool) -> Term,
    ) -> Vec<Solution> {
        let term = |l: usize, i: usize| term(l, i, self.is_similar(i, l)).rescaled(self.common.r);
        let terms: Vec<Vec<Term>> =
            (0..self.classes).map(|l| (0..self.k.n()).map(|i| term(l, i)).collect()).collect();
        let problems: Vec<BoxQp<'_>> = (terms.iter().enumerate())
            .map(|(l, terms)| BoxQp { terms, start: start(l), absolute: absolute(l) })
            .collect();
        box_qp::solve_all(self.k, &problems, self.common.settings(self.par))
    }

    /// The dual of class `l` with its similar samples eliminated.
    pub fn reduced(&self, l: usize) -> Result<ReducedDual<'a>, FitError> {
        let (similar, dissimilar) = self.common.scheme.sides(self.y, l);
        let r = self.common.r;
        let (matrix, elimination) = match &self.form {
            Form::All => unreachable!("only eliminated duals are reduced"),
            Form::Inverse(s_inverse) => {
                let block = lower_submatrix(s_inverse.as_ref().as_ref(), &dissimilar, |_| 0.0);
                let schur = cholesky(block, r, self.par)?.into_inverse();
                let mut m = schur.clone();
                shift_diagonal(&mut m, |_| -r);
                (OwnedMatrix::Full(m), Elimination::Inverse { s_inverse: s_inverse.clone(), schur })
            }
            Form::Factor(rows) => {
                let c = shifted_gram(*rows, &similar, r, self.par)?;
                let mut m = columns(*rows, &dissimilar);
                m *= faer::Scale(r.sqrt());
                c.solve_lower(m.as_mut());
                (OwnedMatrix::Factor(m), Elimination::Factor { rows: *rows, c: c.sequential() })
            }
        };
        Ok(ReducedDual { similar, dissimilar, matrix, elimination })
    }

    /// What known functions with the values `g` (one column per class) contribute to each dual.
    pub fn known_parts(&self, duals: &[ReducedDual<'_>], g: MatRef<'_, f64>) -> Vec<KnownPart> {
        let masked = Mat::from_fn(self.y.len(), self.classes, |i, l| {
            if self.is_similar(i, l) { g[(i, l)] } else { 0.0 }
        });
        let products = match &self.form {
            Form::All => unreachable!("only eliminated duals are reduced"),
            Form::Inverse(s_inverse) => {
                Matrix::Full(s_inverse.as_ref().as_ref()).times(masked.as_ref(), self.par)
            }
            Form::Factor(rows) => product(*rows, masked.as_ref(), self.par),
        };
        let part = |(l, dual): (usize, &ReducedDual<'_>)| {
            let (g, product) = (column(masked.as_ref(), l), column(products.as_ref(), l));
            self.known_part(dual, g, product)
        };
        duals.iter().enumerate().map(part).collect()
    }

    /// The part of one dual, from `S^-1 g` or `G^T g`.
    fn known_part(&self, dual: &ReducedDual<'_>, g: &[f64], product: &[f64]) -> KnownPart {
        let ReducedDual { similar, dissimilar, elimination, .. } = dual;
        match elimination {
            Elimination::Factor { rows, c } => {
                let mut inside = Mat::from_fn(product.len(), 1, |a, _| product[a]);
                c.solve(inside.as_mut());
                let inside = column(inside.as_ref(), 0).to_vec();
                KnownPart {
                    at_dissimilar: (dissimilar.iter())
                        .map(|&j| inner(column(*rows, j), &inside))
                        .collect(),
                    at_similar: similar.iter().map(|&i| g[i]).collect(),
                    inside,
                }
            }
            Elimination::Inverse { schur, .. } => {
                let inside: Vec<f64> = dissimilar.iter().map(|&j| product[j]).collect();
                let mut at_dissimilar = vec![0.0; dissimilar.len()];
                add_times_vector(&mut at_dissimilar, -1.0, schur.as_ref(), &inside, self.par);
                KnownPart {
                    at_dissimilar,
                    at_similar: similar.iter().map(|&i| self.common.r * product[i]).collect(),
                    inside: Vec::new(),
                }
            }
        }
    }

    /// `f_p = (S_pp)^-1 (r g_p + K_pq lambda)` of some duals. With a factor, one product serves all
    /// of them.
    pub fn similar_values(
        &self,
        duals: &[ReducedDual<'_>],
        lambdas: &[Vec<f64>],
        known: Option<&[KnownPart]>,
    ) -> Vec<Vec<f64>> {
        let known = |index: usize| known.map(|known| &known[index]);
        let partial = each(self.par, 0..duals.len(), |index| {
            self.partial_values(&duals[index], &lambdas[index], known(index))
        });
        let (mut values, insides): (Vec<_>, Vec<_>) = partial.into_iter().unzip();
        if let Form::Factor(rows) = &self.form {
            let all = Mat::from_fn(rows.nrows(), insides.len(), |a, l| insides[l][a]);
            let spread = product(rows.transpose(), all.as_ref(), self.par);
            for (l, (dual, values)) in duals.iter().zip(&mut values).enumerate() {
                for (value, &i) in values.iter_mut().zip(&dual.similar) {
                    *value += spread[(i, l)];
                }
            }
        }
        values
    }

    /// With an inverse, `f_p`. With a factor, `g_p` and `C^-1 (G_q^T lambda - G_p^T g_p)`.
    fn partial_values(
        &self,
        dual: &ReducedDual<'_>,
        lambda: &[f64],
        known: Option<&KnownPart>,
    ) -> (Vec<f64>, Vec<f64>) {
        let at_similar = known.map(|known| known.at_similar.clone());
        let mut values = at_similar.unwrap_or_else(|| vec![0.0; dual.similar.len()]);
        match &dual.elimination {
            Elimination::Inverse { s_inverse, schur } => {
                let mut weights: Vec<f64> = match known {
                    Some(known) => {
                        (known.at_dissimilar.iter()).map(|value| -self.common.r * value).collect()
                    }
                    None => vec![0.0; dual.dissimilar.len()],
                };
                add_times_vector(&mut weights, 1.0, schur.as_ref(), lambda, Par::Seq);
                // On all samples first: whole columns are read much faster than single entries.
                let mut all = vec![0.0; s_inverse.nrows()];
                for (&j, weight) in dual.dissimilar.iter().zip(&weights) {
                    add_scaled(&mut all, *weight, column(s_inverse.as_ref().as_ref(), j));
                }
                for (value, &i) in values.iter_mut().zip(&dual.similar) {
                    *value -= all[i];
                }
                (values, Vec::new())
            }
            Elimination::Factor { rows, c } => {
                let mut inside = Mat::zeros(rows.nrows(), 1);
                let sum = column_mut(&mut inside, 0);
                for (&j, lambda) in dual.dissimilar.iter().zip(lambda) {
                    add_scaled(sum, *lambda, column(*rows, j));
                }
                c.solve(inside.as_mut());
                let sum = column_mut(&mut inside, 0);
                for (sum, known) in sum.iter_mut().zip(known.iter().flat_map(|k| &k.inside)) {
                    *sum -= known;
                }
                (values, sum.to_vec())
            }
        }
    }

    /// `e / r` on all samples: `lambda / r` on the dissimilar ones, `-f_p / r` on the similar ones.
    pub fn coefficients(
        &self,
        dual: &ReducedDual<'_>,
        lambda: &[f64],
        similar_values: &[f64],
    ) -> Vec<f64> {
        let mut coefficients = vec![0.0; self.y.len()];
        for (&j, value) in dual.dissimilar.iter().zip(lambda) {
            coefficients[j] = value / self.common.r;
        }
        for (&i, value) in dual.similar.iter().zip(similar_values) {
            coefficients[i] = -value / self.common.r;
        }
        coefficients
    }

    /// The certificate of class `l`, computed from the function's values. It includes the rounding
    /// errors of the elimination, which may prevent what `reduced` certifies for the dual without the
    /// similar samples.
    pub fn certificate(
        &self,
        l: usize,
        dissimilar: Term,
        x: &[f64],
        f: &[f64],
        reduced: Certificate,
    ) -> Certificate {
        let terms: Vec<Term> = (0..self.y.len())
            .map(|i| if self.is_similar(i, l) { Term::square() } else { dissimilar })
            .map(|term| term.rescaled(self.common.r))
            .collect();
        let settings = self.common.settings(Par::Seq);
        let Certificate { primal, dual, gap, termination, .. } =
            box_qp::certify(&terms, x, f, settings);
        let termination = match termination {
            Termination::IterationLimit if reduced.converged() => {
                Termination::without_progress(gap, settings.largest_gap(primal, dual))
            }
            Termination::IterationLimit => reduced.termination,
            termination => termination,
        };
        Certificate::new([primal, dual, gap], reduced.iterations, termination).scaled(self.common.r)
    }
}

/// The dual of one hyperplane, with its similar samples eliminated.
pub(crate) struct ReducedDual<'a> {
    pub similar: Vec<usize>,
    pub dissimilar: Vec<usize>,
    /// `M`. With a factor, by its factor `sqrt(r) L^-1 G_q^T`.
    pub matrix: OwnedMatrix,
    elimination: Elimination<'a>,
}

enum Elimination<'a> {
    Inverse {
        /// `S^-1`.
        s_inverse: Arc<Mat<f64>>,
        /// `((S^-1)_qq)^-1`.
        schur: Mat<f64>,
    },
    Factor {
        /// `G^T`.
        rows: MatRef<'a, f64>,
        /// Of `C`, with the lower factor `L`.
        c: Cholesky,
    },
}

/// What a known function `g` contributes to one dual.
pub(crate) struct KnownPart {
    /// `K_qp (S_pp)^-1 g_p`, on the dissimilar samples.
    pub at_dissimilar: Vec<f64>,
    /// `r (S^-1 g)_p`, or `g_p` with a factor.
    at_similar: Vec<f64>,
    /// `C^-1 G_p^T g_p`, with a factor.
    inside: Vec<f64>,
}

/// The Cholesky factor of `r I + G_p^T G_p`.
pub(crate) fn shifted_gram(
    rows: MatRef<'_, f64>,
    index: &[usize],
    r: f64,
    par: Par,
) -> Result<Cholesky, FitError> {
    let some = columns(rows, index);
    let rank = rows.nrows();
    let mut c = Mat::from_fn(rank, rank, |i, j| if i == j { r } else { 0.0 });
    lower_product(c.as_mut(), Accum::Add, 1.0, some.as_ref(), some.transpose(), par);
    cholesky(c, r, par)
}

/// The Cholesky factor of `s`, to whose diagonal `ridge` was added.
pub(crate) fn cholesky(s: Mat<f64>, ridge: f64, par: Par) -> Result<Cholesky, FitError> {
    Cholesky::new(s, par).map_err(not_definite(ridge))
}

fn not_definite(ridge: f64) -> impl Fn(NotPositiveDefinite) -> FitError {
    move |NotPositiveDefinite { pivot }| FitError::NotPositiveDefinite { ridge, pivot }
}
