//! RMTBSVM: capped-L1 similarity loss, hinge dissimilarity loss, manifold regularisation.
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + mu/2 f_l^T L f_l + sum_p min(|f_l(x_i)|, epsilon)
//!            + c sum_q [1 - f_l(x_j)]_+
//! ```
//!
//! The robust manifold term of the original is not given in the paper; this is Table 1's loss with
//! the paper's graph Laplacian `L`. The manifold term deforms the kernel:
//! `K~ = (K^-1 + (mu/r) L)^-1 = (I + (mu/r) K L)^-1 K`, one matrix for all classes. The coefficients
//! for the plain kernel are `(I + (mu/r) L K)^-1 b = b - (mu/r) L K~ b`. Capped L1 is a sequence of L1 problems on the
//! samples below the cap, see [`super::reweighted`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use faer::{Mat, MatRef, Par};

use super::nonparallel::{self, Hyperplanes};
use super::plane::cholesky;
use super::reweighted::{self, Reweighting};
use super::{BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape};
use crate::kernel::algebra::{add_lower_product, add_scaled, column, column_mut};
use crate::kernel::{Gram, GraphOptions, Laplacian, LowRank, Lu};
use crate::seed::Seed;

/// Parameters of RMTBSVM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rmtbsvm {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Cap of the similarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub epsilon: f64,
    /// Regulariser.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub r: f64,
    /// Weight of the manifold term.
    #[schemars(range(min = 0.0))]
    pub mu: f64,
    pub graph: GraphOptions,
    pub scheme: Scheme,
    /// Append a constant feature, so that the hyperplanes need not pass through the origin.
    pub bias: bool,
    /// Largest number of reweightings.
    #[schemars(range(min = 1))]
    pub max_iter: usize,
    /// Relative duality gap at which a hyperplane counts as solved.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
}

impl Default for Rmtbsvm {
    fn default() -> Self {
        Self {
            c: 1.0,
            epsilon: 0.5,
            r: 0.1,
            mu: 0.01,
            graph: GraphOptions::default(),
            scheme: Scheme::Ovr,
            bias: false,
            max_iter: 10,
            tolerance: 1e-5,
        }
    }
}

impl Method for Rmtbsvm {
    const NAME: &'static str = "rmtbsvm";
    const TITLE: &'static str = "RMTBSVM";
    const ABOUT: &'static str =
        "capped L1 similarity, hinge dissimilarity, manifold term (after Zhang et al. 2023)";
    const LOSSES: [&'static str; 2] = ["min(|a|, ε)", "[s − a]₊"];
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("epsilon", self.epsilon)?;
        BadParameter::unless_positive("r", self.r)?;
        BadParameter::unless_not_negative("mu", self.mu)?;
        BadParameter::unless(self.max_iter >= 1, "max_iter", self.max_iter, "at least 1")?;
        BadParameter::unless_positive("tolerance", self.tolerance)
    }

    fn fit(&self, problem: &Problem, _: &Seed) -> Result<Fit, FitError> {
        let hyperplanes = Hyperplanes {
            r: self.r,
            scheme: self.scheme,
            bias: self.bias,
            tolerance: self.tolerance,
        };
        let cap = self.epsilon;
        let reweighting = Reweighting {
            loss: &|f: f64| f.abs().min(cap),
            weight: &|f: f64| if f.abs() < cap { 1.0 } else { 0.0 },
            max_iter: self.max_iter,
        };
        let (k, par) = (problem.gram_with(self.bias), problem.par());
        let (laplacian, scale) = (problem.laplacian(&self.graph), self.mu / self.r);
        let deformed = Deformed::new(k, &laplacian, scale, par)?;
        let kernel = deformed.gram();
        let solved = reweighted::solve(problem, kernel, hyperplanes, self.c, &reweighting)?;
        let mut coefficients = solved.coefficients;
        let values = kernel.times(coefficients.as_ref(), par);
        coefficients -= faer::Scale(scale) * laplacian.times(values.as_ref());
        let machine = hyperplanes.machine(coefficients, k, par)?;
        Ok(Fit {
            machine,
            certificate: solved.certificate,
            trace: Vec::new(),
            learnt: None,
        })
    }

    fn cost(&self, shape: Shape) -> Cost {
        let plain = nonparallel::full_dual_cost(shape);
        if shape.rank.is_some() {
            return plain;
        }
        let n = shape.n as f64;
        Cost {
            flops: plain.flops + 8.0 / 3.0 * n.powi(3),
            bytes: plain.bytes + 8.0 * n * n,
        }
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}

/// The kernel matrix deformed by the manifold term, in the form of the plain one.
enum Deformed {
    Full(Mat<f64>),
    LowRank(LowRank),
}

impl Deformed {
    /// With a factor `K = G G^T`, the deformed one is `G (I + scale G^T L G)^-1 G^T`.
    fn new(k: Gram<'_>, laplacian: &Laplacian, scale: f64, par: Par) -> Result<Self, FitError> {
        let low = match k {
            Gram::Full(k) => return Ok(Self::Full(deformed(k, laplacian, scale, par))),
            Gram::LowRank(low) => low,
        };
        let g = low.rows().transpose().to_owned();
        let bent = laplacian.times(g.as_ref());
        let mut system = Mat::identity(low.rank(), low.rank());
        add_lower_product(system.as_mut(), scale, g.transpose(), bent.as_ref(), par);
        let mut rows = low.rows().to_owned();
        cholesky(system, 1.0, par)?.solve_lower(rows.as_mut());
        Ok(Self::LowRank(low.with_rows(rows)))
    }

    fn gram(&self) -> Gram<'_> {
        match self {
            Self::Full(k) => Gram::Full(k.as_ref()),
            Self::LowRank(low) => Gram::LowRank(low),
        }
    }
}

/// `K~ = (I + scale K L)^-1 K`, in twice the memory of K besides K itself.
fn deformed(k: MatRef<'_, f64>, laplacian: &Laplacian, scale: f64, par: Par) -> Mat<f64> {
    let n = k.nrows();
    let mut system = Mat::zeros(n, n);
    for j in 0..n {
        let target = column_mut(&mut system, j);
        for &(m, weight) in laplacian.row(j) {
            add_scaled(target, scale * weight, column(k, m));
        }
        target[j] += 1.0;
    }
    let mut kernel = Lu::new(system, par).solve(k);
    // Symmetric up to rounding; the solver relies on it exactly.
    for j in 0..n {
        for i in j + 1..n {
            let mean = 0.5 * (kernel[(i, j)] + kernel[(j, i)]);
            kernel[(i, j)] = mean;
            kernel[(j, i)] = mean;
        }
    }
    kernel
}
