//! The P-step: generalised power iteration
//!
//! ```text
//! P <- polar((sigma I - mu H) P + r1 U T V^T),   H = Psi^T L Psi for K = Psi Psi^T
//! ```
//!
//! What a round needs of `K M` follows from `K L K A`, its one product with K, and from `K B`. The
//! matrices are transposed like those of a [`Frame`], and rounds allocate none with n columns.

use std::sync::Arc;

use faer::{Mat, Par};

use super::{Gpi, KNpsvcpp};
use crate::TrainingSet;
use crate::algebra::{Matrix, set_combination};
use crate::kernel::Laplacian;
use crate::solve::lanczos;
use crate::solve::stiefel::Frame;

/// Relative residual of `sigma_max`; the error of the eigenvalue is about its square.
const SIGMA_TOLERANCE: f64 = 1e-6;

/// The iteration and its work space.
pub(super) struct PStep<'a> {
    k: Matrix<'a>,
    laplacian: Arc<Laplacian>,
    gpi: &'a Gpi,
    mu: f64,
    sigma: f64,
    par: Par,
    /// `A^T K L` of the frame; zero if there is no manifold term.
    atkl: WithProduct,
    next: Frame,
    /// `M^T`.
    mt: WithProduct,
}

/// A d x n matrix in kernel coordinates, and its product with `K`.
pub(super) struct WithProduct {
    pub plain: Mat<f64>,
    pub times_k: Mat<f64>,
}

impl WithProduct {
    fn zeros(d: usize, n: usize) -> Self {
        Self { plain: Mat::zeros(d, n), times_k: Mat::zeros(d, n) }
    }
}

impl<'a> PStep<'a> {
    pub fn new(parameters: &'a KNpsvcpp, set: &'a TrainingSet, d: usize, par: Par) -> Self {
        let k = set.matrix(parameters.bias);
        let laplacian = set.laplacian(&parameters.graph, par);
        let sigma_max = if parameters.mu > 0.0 {
            let key = (parameters.graph.clone(), parameters.bias);
            *set.largest_eigenvalues().get(key, || sigma_max(k, &laplacian, par))
        } else {
            0.0
        };
        let zeros = || WithProduct::zeros(d, k.n());
        Self {
            k,
            laplacian,
            gpi: &parameters.gpi,
            mu: parameters.mu,
            sigma: parameters.gpi.shift + parameters.mu * sigma_max,
            par,
            atkl: zeros(),
            next: Frame { at: Mat::zeros(d, k.n()), atk: Mat::zeros(d, k.n()) },
            mt: zeros(),
        }
    }

    /// Iterates from `frame` until a round hardly moves it. `linear` is `r1 V T U^T`. Returns
    /// `A^T K L` of the last frame.
    pub fn run(&mut self, frame: &mut Frame, linear: &WithProduct) -> WithProduct {
        let size = (frame.d() as f64).sqrt();
        self.update_products(frame);
        for _ in 0..self.gpi.max_rounds {
            let (WithProduct { plain, times_k }, atkl) = (&mut self.mt, &self.atkl);
            let weights = [self.sigma, -self.mu, 1.0];
            set_combination(plain, weights, [&frame.at, &atkl.plain, &linear.plain]);
            set_combination(times_k, weights, [&frame.atk, &atkl.times_k, &linear.times_k]);
            self.next.set_nearest(plain.as_ref(), times_k.as_ref(), self.k, self.par);
            let moved = frame.distance(&self.next);
            std::mem::swap(frame, &mut self.next);
            self.update_products(frame);
            if moved <= self.gpi.tolerance * size {
                break;
            }
        }
        std::mem::replace(&mut self.atkl, WithProduct::zeros(frame.d(), self.k.n()))
    }

    fn update_products(&mut self, frame: &Frame) {
        if self.mu > 0.0 {
            let WithProduct { plain, times_k } = &mut self.atkl;
            self.laplacian.set_rows_times(plain, frame.atk.as_ref());
            self.k.set_rows_times(times_k, plain.as_ref(), self.par);
        }
    }
}

/// The largest eigenvalue of `H`. In kernel coordinates that operator is `L K`, symmetric in the
/// inner product of `K`.
fn sigma_max(k: Matrix<'_>, laplacian: &Laplacian, par: Par) -> f64 {
    let times_k = |x: &[f64]| k.times_vector(x, par);
    let times_l = |x: &[f64]| laplacian.times_vector(x);
    lanczos::largest_in_metric(k.n(), SIGMA_TOLERANCE, times_k, times_l).value
}
