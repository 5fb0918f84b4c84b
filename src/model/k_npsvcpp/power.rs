//! The P-step: generalised power iteration
//!
//! ```text
//! P <- polar((sigma I - mu H) P + r1 U T V^T),   H = Psi^T L Psi for K = Psi Psi^T
//! ```
//!
//! What a round needs of `K M` follows from `K L K A`, its one product with K, and from `K B`. The
//! matrices are transposed as those of a [`Frame`], and rounds make no new ones of n columns.

use std::sync::Arc;

use faer::{Mat, Par};

use super::{Gpi, KNpsvcpp};
use crate::kernel::algebra::set_combination;
use crate::kernel::{Gram, Laplacian};
use crate::model::Problem;
use crate::solve::lanczos;
use crate::solve::stiefel::Frame;

/// Relative residual of `sigma_max`; the eigenvalue itself is then off by about its square.
const SIGMA_TOLERANCE: f64 = 1e-6;

/// The iteration, and the room it needs.
pub(super) struct Power<'a> {
    k: Gram<'a>,
    laplacian: Arc<Laplacian>,
    gpi: &'a Gpi,
    mu: f64,
    sigma: f64,
    par: Par,
    bent: Bent,
    next: Frame,
    /// `M^T` and `M^T K`.
    mt: Mat<f64>,
    mtk: Mat<f64>,
}

/// `A^T K L` and `A^T K L K` of a frame; nothing but zeros where there is no manifold term.
pub(super) struct Bent {
    pub atkl: Mat<f64>,
    pub atklk: Mat<f64>,
}

impl Bent {
    fn zeros(d: usize, n: usize) -> Self {
        Self {
            atkl: Mat::zeros(d, n),
            atklk: Mat::zeros(d, n),
        }
    }
}

/// `r1 V T U^T` in kernel coordinates, and times `K`; d x n each.
pub(super) struct Pull {
    pub plain: Mat<f64>,
    pub in_kernel: Mat<f64>,
}

impl<'a> Power<'a> {
    pub fn new(options: &'a KNpsvcpp, problem: &'a Problem, d: usize) -> Self {
        let k = problem.gram_with(options.bias);
        let laplacian = problem.laplacian(&options.graph);
        let sigma_max = if options.mu > 0.0 {
            problem.once_per_graph(&options.graph, options.bias, || {
                sigma_max(k, &laplacian, problem.par())
            })
        } else {
            0.0
        };
        let zeros = || Mat::zeros(d, k.n());
        Self {
            k,
            laplacian,
            gpi: &options.gpi,
            mu: options.mu,
            sigma: options.gpi.shift + options.mu * sigma_max,
            par: problem.par(),
            bent: Bent::zeros(d, k.n()),
            next: Frame {
                at: zeros(),
                atk: zeros(),
            },
            mt: zeros(),
            mtk: zeros(),
        }
    }

    /// Iterates from `frame` to where a round hardly moves it.
    pub fn run(&mut self, frame: &mut Frame, pull: &Pull) -> Bent {
        let size = (frame.d() as f64).sqrt();
        self.bend(frame);
        for _ in 0..self.gpi.max_rounds {
            let Bent { atkl, atklk } = &self.bent;
            let weights = [self.sigma, -self.mu, 1.0];
            set_combination(&mut self.mt, weights, [&frame.at, atkl, &pull.plain]);
            set_combination(&mut self.mtk, weights, [&frame.atk, atklk, &pull.in_kernel]);
            let (mt, mtk) = (self.mt.as_ref(), self.mtk.as_ref());
            self.next.set_nearest(mt, mtk, self.k, self.par);
            let moved = frame.distance(&self.next);
            std::mem::swap(frame, &mut self.next);
            self.bend(frame);
            if moved <= self.gpi.tolerance * size {
                break;
            }
        }
        let (d, n) = (frame.d(), self.k.n());
        std::mem::replace(&mut self.bent, Bent::zeros(d, n))
    }

    fn bend(&mut self, frame: &Frame) {
        if self.mu > 0.0 {
            let Bent { atkl, atklk } = &mut self.bent;
            self.laplacian.set_rows_times(atkl, frame.atk.as_ref());
            self.k.set_rows_times(atklk, atkl.as_ref(), self.par);
        }
    }
}

/// The largest eigenvalue of `H`. In kernel coordinates that operator is `L K`, symmetric in the
/// inner product of `K`.
fn sigma_max(k: Gram<'_>, laplacian: &Laplacian, par: Par) -> f64 {
    let times_k = |x: &[f64]| k.times_vector(x, par);
    let times_l = |x: &[f64]| laplacian.times_vector(x);
    lanczos::largest_in_metric(k.n(), SIGMA_TOLERANCE, times_k, times_l).value
}
