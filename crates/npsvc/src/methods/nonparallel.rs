//! One fit for all methods of the paper's Table 1.
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + mu/2 f_l^T L f_l + sum_p similarity(f_l(x_i)) + sum_q dissimilarity(f_l(x_j))
//! ```
//!
//! A [`Family`] names the two losses. The square loss allows the similar samples to be eliminated
//! ([`super::duals`]), the concave ones are a sequence of convex problems ([`super::reweighted`]), and
//! the manifold term deforms the kernel: `K~ = (K^-1 + (mu/r) L)^-1 = (I + (mu/r) K L)^-1 K`, one matrix for
//! all classes. The coefficients for the plain kernel are then `b - (mu/r) L K~ b`.

use faer::{Accum, Mat, MatRef, Par};

use super::check_graph;
use super::duals::{CommonParameters, Duals, cholesky};
use super::reweighted;
use crate::algebra::{
    Matrix, OwnedMatrix, add_scaled, column, column_mut, lower_product, solve_by_lu,
};
use crate::kernel::{GraphOptions, Laplacian};
use crate::memo::Memo;
use crate::params::Ranges;
use crate::plain::Problem;
use crate::solve::box_qp::{self, Solution, Term};
use crate::sweep::ChainKey;
use crate::training_set::Shape;
use crate::{
    BadParameter, Certificate, FitError, FitOptions, Method, MethodInfo, Scheme, Trained,
    TrainingSet,
};

/// The loss of `a = f_l(x)` on similar samples.
///
/// ```
/// use npsvc::Similarity;
///
/// let capped = Similarity::Capped { at: 0.5 };
/// assert_eq!([capped.loss(-0.2), capped.loss(3.0)], [0.2, 0.5]);
/// assert_eq!(capped.formula(), "min(|a|, ε)");
/// assert!(!capped.is_convex());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Similarity {
    /// `a^2 / 2`.
    Square,
    /// `c [|a| - epsilon]_+`.
    Insensitive {
        /// Weight.
        c: f64,
        /// Half width of the zone without loss.
        epsilon: f64,
    },
    /// `min(|a|, at)`.
    Capped {
        /// Largest loss.
        at: f64,
    },
    /// `1 - exp(-gamma |a|)`.
    Correntropy {
        /// Decay.
        gamma: f64,
    },
}

impl Similarity {
    /// The formula, as in the paper's Table 1.
    pub const fn formula(&self) -> &'static str {
        match self {
            Self::Square => "a²/2",
            Self::Insensitive { .. } => "[|a| − ε]₊",
            Self::Capped { .. } => "min(|a|, ε)",
            Self::Correntropy { .. } => "1 − exp(−γ|a|)",
        }
    }

    /// The conjugate of a convex loss. A concave loss is replaced by its tangent in `|a|` at `a`.
    pub(crate) fn term(&self, a: f64) -> Term {
        match *self {
            Self::Square => Term::square(),
            Self::Insensitive { c, epsilon } => Term::insensitive(c, epsilon),
            Self::Capped { at } => Term::insensitive(if a.abs() < at { 1.0 } else { 0.0 }, 0.0),
            Self::Correntropy { gamma } => Term::insensitive(gamma * (-gamma * a.abs()).exp(), 0.0),
        }
    }

    /// The loss itself.
    pub fn loss(&self, a: f64) -> f64 {
        match *self {
            Self::Square => 0.5 * a * a,
            Self::Insensitive { c, epsilon } => c * (a.abs() - epsilon).max(0.0),
            Self::Capped { at } => a.abs().min(at),
            Self::Correntropy { gamma } => -(-gamma * a.abs()).exp_m1(),
        }
    }

    /// Whether the loss is convex.
    pub fn is_convex(&self) -> bool {
        matches!(self, Self::Square | Self::Insensitive { .. })
    }
}

/// The loss of `a = f_l(x)` on dissimilar samples, with margin 1.
///
/// ```
/// use npsvc::Dissimilarity;
///
/// let hinge = Dissimilarity::Hinge { c: 2.0 };
/// assert_eq!([hinge.loss(0.0), hinge.loss(1.5)], [2.0, 0.0]);
/// assert_eq!(hinge.formula(), "[s − a]₊");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dissimilarity {
    /// `c [1 - a]_+`.
    Hinge {
        /// Weight.
        c: f64,
    },
    /// `c max(1 - a, -tau (1 - a))`.
    Pinball {
        /// Weight.
        c: f64,
        /// Slope beyond the margin.
        tau: f64,
    },
    /// `c/2 (1 - a)^2`.
    Square {
        /// Weight.
        c: f64,
    },
}

impl Dissimilarity {
    /// The formula, as in the paper's Table 1.
    pub const fn formula(&self) -> &'static str {
        match self {
            Self::Hinge { .. } => "[s − a]₊",
            Self::Pinball { .. } => "max(s − a, −τ(s − a))",
            Self::Square { .. } => "(s − a)²/2",
        }
    }

    /// The loss itself.
    pub fn loss(&self, a: f64) -> f64 {
        match *self {
            Self::Hinge { c } => c * (1.0 - a).max(0.0),
            Self::Pinball { c, tau } => c * (1.0 - a).max(-tau * (1.0 - a)),
            Self::Square { c } => 0.5 * c * (1.0 - a) * (1.0 - a),
        }
    }

    pub(crate) fn term(&self) -> Term {
        match *self {
            Self::Hinge { c } => Term::hinge(c),
            Self::Pinball { c, tau } => Term::pinball(c, tau),
            Self::Square { c } => Term::square_to_one(c),
        }
    }
}

/// A row of Table 1 with its parameters.
#[derive(Debug)]
pub(crate) struct Family<'a> {
    pub similarity: Similarity,
    pub dissimilarity: Dissimilarity,
    pub common: CommonParameters,
    /// Largest number of convex problems, for a concave similarity loss.
    pub max_iter: usize,
    /// Weight `mu` of the manifold term, and its graph.
    pub manifold: Option<(f64, &'a GraphOptions)>,
}

impl Family<'_> {
    /// Two convex losses and no manifold term.
    pub fn convex(
        similarity: Similarity,
        dissimilarity: Dissimilarity,
        common: CommonParameters,
    ) -> Self {
        Self { similarity, dissimilarity, common, max_iter: 1, manifold: None }
    }
}

/// A method that is a [`Family`]. It gets a [`Method`] implementation from that.
pub(crate) trait Nonparallel: Ranges + Send + Sync {
    const INFO: MethodInfo;

    fn family(&self) -> Family<'_>;
}

impl<M: Nonparallel> Method for M {
    fn info(&self) -> &'static MethodInfo {
        const { &M::INFO }
    }

    fn check(&self, _: Option<Shape>) -> Result<(), BadParameter> {
        self.check_ranges()?;
        let graph = self.family().manifold.map(|(_, graph)| graph);
        graph.map_or(Ok(()), check_graph)
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.family().common.scheme)
    }

    fn problem(&self) -> Option<Problem> {
        let Family { similarity, dissimilarity, common, manifold, .. } = self.family();
        let manifold = manifold.map(|(mu, graph)| (mu, graph.clone()));
        Some(Problem::Hyperplanes { similarity, dissimilarity, common: common.plain(), manifold })
    }

    /// Fits that differ in the weight of the dissimilarity loss only form a chain.
    fn chain_key(&self) -> ChainKey {
        let mut family = self.family();
        let (Dissimilarity::Hinge { c }
        | Dissimilarity::Pinball { c, .. }
        | Dissimilarity::Square { c }) = &mut family.dissimilarity;
        let c = std::mem::take(c);
        ChainKey::new(&family, &[c], family.common.r)
    }

    fn train(&self, set: &TrainingSet, options: &mut FitOptions<'_>) -> Result<Trained, FitError> {
        let family = self.family();
        let par = options.par(set);
        if family.similarity == Similarity::Square {
            let duals = Duals::of_square_loss(set, family.common, options)?;
            if duals.is_eliminated() {
                return fit_eliminated(set, &duals, &family, options);
            }
        }
        let k = set.matrix(family.common.bias);
        let (b, certificates) = match family.manifold {
            None => solve(&Duals::full(k, set, family.common, par), &family, options),
            Some((mu, graph)) => {
                let (laplacian, scale) = (set.laplacian(graph, par), mu / family.common.r);
                let key = (scale.to_bits(), graph.clone(), family.common.bias);
                let memo = options.sweep.map(|sweep| &sweep.deformed);
                let make = || deform(k, &laplacian, scale, par);
                let deformed = Memo::try_get_in(memo, key, make)?;
                let duals = Duals::full(deformed.view(), set, family.common, par);
                let (mut b, certificates) = solve(&duals, &family, options);
                let values = duals.k.times(b.as_ref(), par);
                b -= faer::Scale(scale) * laplacian.times(values.as_ref());
                (b, certificates)
            }
        };
        let values = k.times(b.as_ref(), par);
        family.common.trained(set, b, values.as_ref(), certificates)
    }
}

/// Solves the duals in all coefficients; returns these, one column per class, and the certificates.
fn solve(
    duals: &Duals<'_>,
    family: &Family<'_>,
    options: &mut FitOptions<'_>,
) -> (Mat<f64>, Vec<Certificate>) {
    if !family.similarity.is_convex() {
        return reweighted::solve(duals, family);
    }
    let [similar, dissimilar] = [family.similarity.term(0.0), family.dissimilarity.term()];
    let solutions = duals.solve_all(
        |l| options.warm_start(l, duals.k.n()),
        |_| 0.0,
        |_, _, is_similar| {
            if is_similar { similar } else { dissimilar }
        },
    );
    let certificate = |solution: &Solution| solution.certificate.scaled(family.common.r);
    let certificates = solutions.iter().map(certificate).collect();
    let b = coefficients(&solutions);
    options.keep_solutions(solutions.into_iter().map(|solution| solution.x).collect());
    (b, certificates)
}

/// The expansion coefficients, one column per class.
pub(crate) fn coefficients(solutions: &[Solution]) -> Mat<f64> {
    let n = solutions.first().map_or(0, |solution| solution.x.len());
    Mat::from_fn(n, solutions.len(), |i, l| solutions[l].x[i])
}

/// A square similarity loss: one hyperplane after another, each with all threads.
fn fit_eliminated(
    set: &TrainingSet,
    duals: &Duals<'_>,
    family: &Family<'_>,
    options: &mut FitOptions<'_>,
) -> Result<Trained, FitError> {
    let (common, par) = (family.common, duals.par);
    let dissimilar = family.dissimilarity.term();
    let (n, classes) = (duals.k.n(), duals.classes);
    let mut b = Mat::zeros(n, classes);
    let (mut reduced, mut solutions) = (Vec::new(), Vec::new());
    for l in 0..classes {
        let dual = duals.reduced(l)?;
        let terms = vec![dissimilar.rescaled(common.r); dual.dissimilar.len()];
        let start = options.warm_start(l, terms.len());
        let Solution { x, certificate, .. } =
            box_qp::solve(dual.matrix.view(), &terms, start, common.settings(par));
        let lambda = [x.iter().map(|x| common.r * x).collect()];
        let values = duals.similar_values(std::slice::from_ref(&dual), &lambda, None);
        let column = duals.coefficients(&dual, &lambda[0], &values[0]);
        column_mut(&mut b, l).copy_from_slice(&column);
        reduced.push(certificate);
        solutions.push(x);
    }
    let values = duals.k.times(b.as_ref(), par);
    let certificate = |l: usize| {
        let (b, f) = (column(b.as_ref(), l), column(values.as_ref(), l));
        duals.certificate(l, dissimilar, b, f, reduced[l])
    };
    let certificates: Vec<Certificate> = (0..classes).map(certificate).collect();
    options.keep_solutions(solutions);
    common.trained(set, b, values.as_ref(), certificates)
}

/// `K~ = (I + scale K L)^-1 K`. With a factor `K = G G^T` it is `G (I + scale G^T L G)^-1 G^T`.
fn deform(
    k: Matrix<'_>,
    laplacian: &Laplacian,
    scale: f64,
    par: Par,
) -> Result<OwnedMatrix, FitError> {
    let rows = match k {
        Matrix::Full(k) => return Ok(OwnedMatrix::Full(deform_full(k, laplacian, scale, par))),
        Matrix::Factor(rows) => rows,
    };
    let g = rows.transpose().to_owned();
    let lg = laplacian.times(g.as_ref());
    let mut system = Mat::identity(rows.nrows(), rows.nrows());
    lower_product(system.as_mut(), Accum::Add, scale, g.transpose(), lg.as_ref(), par);
    let mut rows = rows.to_owned();
    cholesky(system, 1.0, par)?.solve_lower(rows.as_mut());
    Ok(OwnedMatrix::Factor(rows))
}

/// Needs twice the memory of `K` in addition to `K` itself.
fn deform_full(k: MatRef<'_, f64>, laplacian: &Laplacian, scale: f64, par: Par) -> Mat<f64> {
    let n = k.nrows();
    let mut system = Mat::zeros(n, n);
    for j in 0..n {
        let target = column_mut(&mut system, j);
        for &(m, weight) in laplacian.row(j) {
            add_scaled(target, scale * weight, column(k, m));
        }
        target[j] += 1.0;
    }
    let mut kernel = solve_by_lu(system, k, par);
    // Symmetric up to rounding; the solver needs exact symmetry.
    for j in 0..n {
        for i in j + 1..n {
            let mean = 0.5 * (kernel[(i, j)] + kernel[(j, i)]);
            kernel[(i, j)] = mean;
            kernel[(j, i)] = mean;
        }
    }
    kernel
}
