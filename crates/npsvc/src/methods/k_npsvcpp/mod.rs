//! K-NPSVC++: nonparallel hyperplanes on a representation `z(x) = P^T phi(x)` they share.
//!
//! ```text
//! J_l = 1/2 sum_p f_l^2 + c sum_q [1 - f_l]_+ + r1/2 |u_l - P v_l|^2 + r2/2 |v_l|^2
//!       + mu/2 tr(Z L Z^T),      f_l(x) = <u_l, phi(x)>
//! min_theta max_l J_l,  by  max_tau min_theta sum_l tau_l J_l  (Algorithm 1)
//! ```
//!
//! Everything is written in kernel coordinates, `P = phi(X) A` with `A^T K A = I` and
//! `u_l = phi(X) b_l`. So the only cubic work is that of [`super::duals`], and no n x n matrix is kept
//! per class. [`algorithm`] contains the iteration, [`u_step`] and [`p_step`] two of its steps, and
//! [`history`] what fits of a chain reuse.

mod algorithm;
mod dimension;
mod history;
mod p_step;
mod u_step;

#[cfg(test)]
mod tests;

use faer::Mat;
use rand_distr::{Distribution, StandardNormal};

pub use dimension::Dimension;
pub(crate) use history::History;

use super::check_graph;
use super::duals::CommonParameters;
use crate::kernel::GraphOptions;
use crate::memo::Memo;
use crate::params::{Range, Ranges, method_parameters};
use crate::plain::Problem;
use crate::solve::stiefel::Frame;
use crate::sweep::{ChainKey, StartKey};
use crate::training_set::Shape;
use crate::{BadParameter, FitError, FitOptions, Method, MethodInfo, Scheme, Trained, TrainingSet};

method_parameters! {
    /// K-NPSVC++: TWSVM's losses on a learned representation that all classes share.
    ///
    /// ```text
    /// J_l = 1/2 sum_p f_l^2 + c sum_q [1 - f_l]_+ + r1/2 |u_l - P v_l|^2 + r2/2 |v_l|^2 + mu/2 tr(Z L Z^T)
    /// min_theta max_l J_l
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{Dimension, FitOptions, Gpi, KNpsvcpp, Kernel, Method, TrainingSet};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let method = KNpsvcpp {
    ///     d: Dimension::Fixed(2),
    ///     // As in the authors' code.
    ///     gpi: Gpi { shift: 0.1, tolerance: 0.0, ..Gpi::default() },
    ///     ..KNpsvcpp::default()
    /// };
    /// let model = method.fit(&set, FitOptions::default())?;
    /// assert_eq!(model.predict(set.x())?, set.y());
    /// let z = model.transform(set.x())?.ok_or("K-NPSVC++ learns a representation")?;
    /// assert_eq!(z.ncols(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct KNpsvcpp {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// Regulariser of `w_l = u_l - P v_l`.
        r1: f64 = 0.05, Range::Above(0.0);
        /// Regulariser of `v_l`.
        r2: f64 = 0.05, Range::Above(0.0);
        /// Weight of the objectives against the gradient norm in the tau-step.
        gamma: f64 = 4.0, Range::AtLeast(0.0);
        /// Weight of the manifold term.
        mu: f64 = 0.01, Range::AtLeast(0.0);
        /// Dimensions of the learned representation: a number, or a multiple of the classes as in `2K`.
        d: Dimension = Dimension::PerClass(2);
        /// Which samples a hyperplane is close to.
        scheme: Scheme = Scheme::Ovr;
        /// Append a constant feature, so that the hyperplanes need not pass through the origin.
        bias: bool = false;
        /// `tau <- (1 - m) tau + m tau*`: 1 is the paper's text, 0.75 the authors' code.
        tau_momentum: f64 = 1.0, Range::AboveUpTo(0.0, 1.0);
        /// The neighbour graph of the manifold term.
        graph: GraphOptions = GraphOptions::default();
        /// The P-step.
        gpi: Gpi = Gpi::default();
        /// Length of the projected gradient step on `P`.
        step: f64 = 0.1, Range::AtLeast(0.0);
        /// Largest number of outer iterations.
        max_iter: usize = 10, Range::Count(1);
        /// Stop when the relative primal-dual gap, the relative gradient norm and the relative change of
        /// the objective are below this.
        tolerance: f64 = 1e-3, Range::AtLeast(0.0);
        /// Relative duality gap of the box QPs.
        qp_tolerance: f64 = 1e-5, Range::Above(0.0);
    }
}

method_parameters! {
    /// The generalised power iteration of the P-step.
    pub struct Gpi {
        /// `sigma = shift + mu sigma_max`: 1 is the paper's text, 0.1 the authors' code. It sets the
        /// length of a round's step, not the point that the rounds converge to.
        shift: f64 = 1.0, Range::Above(0.0);
        /// Stop when a round moves `P` by less than this, relative to `|P|`; 0 runs all rounds.
        tolerance: f64 = 1e-2, Range::AtLeast(0.0);
        /// Largest number of rounds; the authors' code always makes 25.
        max_rounds: usize = 25, Range::Count(1);
    }
}

/// The starting point of the iteration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Start {
    /// `A^T` with `A^T K A = I`, d x n.
    pub frame: Frame,
    /// `V`, d x K.
    pub v: Mat<f64>,
}

impl Start {
    /// A random frame and standard normal `V`.
    fn random(set: &TrainingSet, key: &StartKey, options: &FitOptions<'_>) -> Self {
        let Shape { n, classes, .. } = set.shape();
        let mut rng = key.seed.child("frame").rng();
        let m: Mat<f64> = Mat::from_fn(n, key.d, |_, _| StandardNormal.sample(&mut rng));
        let mt = m.transpose().to_owned();
        let frame = Frame::nearest(mt.as_ref(), set.matrix(key.bias), options.par(set));
        let mut rng = key.seed.child("v").rng();
        let v = Mat::from_fn(key.d, classes, |_, _| StandardNormal.sample(&mut rng));
        Self { frame, v }
    }
}

impl KNpsvcpp {
    fn common(&self) -> CommonParameters {
        CommonParameters::new(self.r1, self.scheme, self.bias, self.qp_tolerance)
    }

    fn check_dimension(&self, shape: Shape) -> Result<(), BadParameter> {
        let d = self.d.resolve(shape.classes);
        BadParameter::unless(d >= 1, "d", self.d, "at least 1")?;
        let found = match self.d {
            Dimension::Fixed(_) => d.to_string(),
            Dimension::PerClass(_) => format!("{} = {d}", self.d),
        };
        let (most, expected) = match shape.rank {
            Some(rank) => (
                rank,
                format!("at most {rank}, the rank of the kernel's factor for the training samples"),
            ),
            None => (shape.n, format!("at most the {} training samples", shape.n)),
        };
        BadParameter::unless(d <= most, "d", found, expected)
    }
}

impl Method for KNpsvcpp {
    fn info(&self) -> &'static MethodInfo {
        &MethodInfo {
            name: "k-npsvcpp",
            title: "K-NPSVC++",
            about: "TWSVM's losses on a shared learnt representation (Zhang et al. 2024)",
            losses: ["a²/2", "[s − a]₊"],
            version: 2,
            learns_representation: true,
        }
    }

    fn check(&self, shape: Option<Shape>) -> Result<(), BadParameter> {
        self.check_ranges()?;
        self.gpi.check_ranges().map_err(|error| error.inside("gpi"))?;
        check_graph(&self.graph)?;
        shape.map_or(Ok(()), |shape| self.check_dimension(shape))
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }

    fn problem(&self) -> Option<Problem> {
        let Self { c, r2, mu, graph, .. } = self.clone();
        let common = self.common().plain();
        Some(Problem::Representation { c, r2, manifold: (mu, graph), common })
    }

    /// Fits that differ in `c` and `gamma` often have the same iterations. These are computed once.
    fn chain_key(&self) -> ChainKey {
        let common = Self { c: 0.0, gamma: 0.0, ..self.clone() };
        ChainKey::new(&common, &[-self.c, self.gamma], self.r1)
    }

    fn train(&self, set: &TrainingSet, options: &mut FitOptions<'_>) -> Result<Trained, FitError> {
        let key = StartKey {
            d: self.d.resolve(set.shape().classes),
            bias: self.bias,
            seed: options.seed.clone(),
        };
        let make = || Ok::<_, FitError>(Start::random(set, &key, options));
        let memo = options.sweep.map(|sweep| &sweep.starts);
        let start = Memo::try_get_in(memo, key.clone(), make)?;
        algorithm::train(self, set, &start, options)
    }
}
