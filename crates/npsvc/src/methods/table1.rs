//! The paper's Table 1: methods that differ in two losses.
//!
//! ```text
//! min_{f_l}  r/2 |f_l|^2 + sum_p similarity(f_l(x_i)) + sum_q dissimilarity(f_l(x_j))
//! ```
//!
//! | method | similarity loss | dissimilarity loss |
//! |---|---|---|
//! | [`Twsvm`] | square | hinge |
//! | [`Npsvm`] | epsilon-insensitive | hinge |
//! | [`Pintwsvm`] | square | pinball |
//! | [`Lstwsvm`] | square | square |
//! | [`Ctwsvm`] | correntropy | hinge |
//! | [`Rmtbsvm`] | capped L1 | hinge, and a manifold term |
//!
//! [`super::nonparallel`] fits all of them. The robust manifold term of the original RMTBSVM is not in
//! the paper: ours is Table 1's loss with the paper's graph Laplacian.

use super::duals::CommonParameters;
use super::nonparallel::{Dissimilarity, Family, Nonparallel, Similarity};
use crate::kernel::GraphOptions;
use crate::params::{Range, method_parameters};
use crate::{MethodInfo, Scheme};

/// The systems of LSTWSVM are solved directly, so its gap is only rounding.
const LSTWSVM_TOLERANCE: f64 = 1e-9;

method_parameters! {
    /// TWSVM in its bounded form (TBSVM): square similarity loss, hinge dissimilarity loss.
    ///
    /// ```text
    /// min_{f_l}  r/2 |f_l|^2 + 1/2 sum_p f_l(x_i)^2 + c sum_q [1 - f_l(x_j)]_+
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, TrainingSet, Twsvm};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let model = Twsvm { c: 2.0, ..Twsvm::default() }.fit(&set, FitOptions::default())?;
    /// assert_eq!(model.predict(set.x())?, set.y());
    /// // No hyperplanes have a smaller objective than `dual`.
    /// let certificate = model.certificate();
    /// assert!(certificate.primal - certificate.dual <= 1e-4 * certificate.primal);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Twsvm {
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

impl Nonparallel for Twsvm {
    const INFO: MethodInfo = MethodInfo {
        name: "twsvm",
        title: "TWSVM",
        about: "square similarity, hinge dissimilarity (Shao et al. 2011)",
        losses: losses(SQUARE, HINGE),
        version: 1,
        learns_representation: false,
    };

    fn family(&self) -> Family<'_> {
        let common = CommonParameters::new(self.r, self.scheme, self.bias, self.tolerance);
        Family::convex(Similarity::Square, Dissimilarity::Hinge { c: self.c }, common)
    }
}

method_parameters! {
    /// NPSVM (Tian): epsilon-insensitive similarity loss, hinge dissimilarity loss.
    ///
    /// ```text
    /// min_{f_l}  r/2 |f_l|^2 + c1 sum_p [|f_l(x_i)| - epsilon]_+ + c sum_q [1 - f_l(x_j)]_+
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, Npsvm, TrainingSet};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let objective = |epsilon: f64| {
    ///     let model = Npsvm { epsilon, ..Npsvm::default() }.fit(&set, FitOptions::default())?;
    ///     assert_eq!(model.predict(set.x())?, set.y());
    ///     Ok::<f64, Box<dyn std::error::Error>>(model.certificate().primal)
    /// };
    /// // A wider zone without loss lowers the objective.
    /// assert!(objective(0.2)? < objective(0.1)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Npsvm {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// Weight of the similarity loss.
        c1: f64 = 1.0, Range::Above(0.0);
        /// Half width of the zone without similarity loss.
        epsilon: f64 = 0.1, Range::AtLeast(0.0);
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

impl Nonparallel for Npsvm {
    const INFO: MethodInfo = MethodInfo {
        name: "npsvm",
        title: "NPSVM",
        about: "epsilon-insensitive similarity, hinge dissimilarity (Tian et al. 2014)",
        losses: losses(Similarity::Insensitive { c: 1.0, epsilon: 0.0 }, HINGE),
        version: 1,
        learns_representation: false,
    };

    fn family(&self) -> Family<'_> {
        let similarity = Similarity::Insensitive { c: self.c1, epsilon: self.epsilon };
        let common = CommonParameters::new(self.r, self.scheme, self.bias, self.tolerance);
        Family::convex(similarity, Dissimilarity::Hinge { c: self.c }, common)
    }
}

method_parameters! {
    /// pinTWSVM: square similarity loss, pinball dissimilarity loss.
    ///
    /// ```text
    /// min_{f_l}  r/2 |f_l|^2 + 1/2 sum_p f_l(x_i)^2 + c sum_q max(1 - f_l(x_j), -tau (1 - f_l(x_j)))
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, Pintwsvm, TrainingSet, Twsvm};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let pinball = Pintwsvm { tau: 0.0, ..Pintwsvm::default() }.fit(&set, FitOptions::default())?;
    /// // With `tau: 0` it is TWSVM.
    /// let hinge = Twsvm::default().fit(&set, FitOptions::default())?;
    /// assert_eq!(pinball.certificate(), hinge.certificate());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Pintwsvm {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// Regulariser.
        r: f64 = 0.1, Range::Above(0.0);
        /// Slope of the pinball loss beyond the margin; 0 is the hinge loss.
        tau: f64 = 0.5, Range::Within(0.0, 1.0);
        /// Which samples a hyperplane is close to.
        scheme: Scheme = Scheme::Ovr;
        /// Append a constant feature, so that the hyperplanes need not pass through the origin.
        bias: bool = false;
        /// Relative duality gap at which a hyperplane counts as solved.
        tolerance: f64 = 1e-5, Range::Above(0.0);
    }
}

impl Nonparallel for Pintwsvm {
    const INFO: MethodInfo = MethodInfo {
        name: "pintwsvm",
        title: "pinTWSVM",
        about: "square similarity, pinball dissimilarity (Tanveer et al. 2019)",
        losses: losses(SQUARE, Dissimilarity::Pinball { c: 1.0, tau: 0.0 }),
        version: 1,
        learns_representation: false,
    };

    fn family(&self) -> Family<'_> {
        let dissimilarity = Dissimilarity::Pinball { c: self.c, tau: self.tau };
        let common = CommonParameters::new(self.r, self.scheme, self.bias, self.tolerance);
        Family::convex(Similarity::Square, dissimilarity, common)
    }
}

method_parameters! {
    /// LSTWSVM: square losses on both sides, so that each hyperplane is one linear system.
    ///
    /// ```text
    /// min_{f_l}  r/2 |f_l|^2 + 1/2 sum_p f_l(x_i)^2 + c/2 sum_q (1 - f_l(x_j))^2
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Lstwsvm, Method, TrainingSet};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let model = Lstwsvm::default().fit(&set, FitOptions::default())?;
    /// assert_eq!(model.predict(set.x())?, set.y());
    /// // The linear systems are solved directly, so the gap is only rounding.
    /// assert!(model.certificate().gap <= 1e-9 * model.certificate().primal);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Lstwsvm {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// Regulariser.
        r: f64 = 0.1, Range::Above(0.0);
        /// Which samples a hyperplane is close to.
        scheme: Scheme = Scheme::Ovr;
        /// Append a constant feature, so that the hyperplanes need not pass through the origin.
        bias: bool = false;
    }
}

impl Nonparallel for Lstwsvm {
    const INFO: MethodInfo = MethodInfo {
        name: "lstwsvm",
        title: "LSTWSVM",
        about: "square similarity, square dissimilarity (Arun Kumar and Gopal 2009)",
        losses: losses(SQUARE, Dissimilarity::Square { c: 1.0 }),
        version: 1,
        learns_representation: false,
    };

    fn family(&self) -> Family<'_> {
        let common = CommonParameters::new(self.r, self.scheme, self.bias, LSTWSVM_TOLERANCE);
        Family::convex(Similarity::Square, Dissimilarity::Square { c: self.c }, common)
    }
}

method_parameters! {
    /// CTWSVM: the bounded similarity loss `1 - exp(-gamma |f|)`, hinge dissimilarity loss.
    ///
    /// ```text
    /// min_{f_l}  r/2 |f_l|^2 + sum_p (1 - exp(-gamma |f_l(x_i)|)) + c sum_q [1 - f_l(x_j)]_+
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{Ctwsvm, FitOptions, Kernel, Method, TrainingSet};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let method = Ctwsvm { gamma: 2.0, ..Ctwsvm::default() };
    /// let model = method.fit(&set, FitOptions::default())?;
    /// assert_eq!(model.predict(set.x())?, set.y());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Ctwsvm {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// Decay of the similarity loss.
        gamma: f64 = 1.0, Range::Above(0.0);
        /// Regulariser.
        r: f64 = 0.1, Range::Above(0.0);
        /// Which samples a hyperplane is close to.
        scheme: Scheme = Scheme::Ovr;
        /// Append a constant feature, so that the hyperplanes need not pass through the origin.
        bias: bool = false;
        /// Largest number of reweightings.
        max_iter: usize = 10, Range::Count(1);
        /// Relative duality gap at which a hyperplane counts as solved.
        tolerance: f64 = 1e-5, Range::Above(0.0);
    }
}

impl Nonparallel for Ctwsvm {
    const INFO: MethodInfo = MethodInfo {
        name: "ctwsvm",
        title: "CTWSVM",
        about: "correntropy similarity, hinge dissimilarity (Yuan et al. 2021)",
        losses: losses(Similarity::Correntropy { gamma: 1.0 }, HINGE),
        version: 1,
        learns_representation: false,
    };

    fn family(&self) -> Family<'_> {
        let similarity = Similarity::Correntropy { gamma: self.gamma };
        let common = CommonParameters::new(self.r, self.scheme, self.bias, self.tolerance);
        Family {
            max_iter: self.max_iter,
            ..Family::convex(similarity, Dissimilarity::Hinge { c: self.c }, common)
        }
    }
}

method_parameters! {
    /// RMTBSVM: capped L1 similarity loss, hinge dissimilarity loss, manifold regularisation.
    ///
    /// ```text
    /// min_{f_l}  r/2 |f_l|^2 + mu/2 f_l^T L f_l + sum_p min(|f_l(x_i)|, epsilon)
    ///            + c sum_q [1 - f_l(x_j)]_+
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, Rmtbsvm, TrainingSet, kernel::GraphOptions};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let graph = GraphOptions { neighbours: Some(1), ..GraphOptions::default() };
    /// let method = Rmtbsvm { mu: 0.1, graph, ..Rmtbsvm::default() };
    /// let model = method.fit(&set, FitOptions::default())?;
    /// assert_eq!(model.predict(set.x())?, set.y());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Rmtbsvm {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// Cap of the similarity loss.
        epsilon: f64 = 0.5, Range::Above(0.0);
        /// Regulariser.
        r: f64 = 0.1, Range::Above(0.0);
        /// Weight of the manifold term.
        mu: f64 = 0.01, Range::AtLeast(0.0);
        /// The neighbour graph of the manifold term.
        graph: GraphOptions = GraphOptions::default();
        /// Which samples a hyperplane is close to.
        scheme: Scheme = Scheme::Ovr;
        /// Append a constant feature, so that the hyperplanes need not pass through the origin.
        bias: bool = false;
        /// Largest number of reweightings.
        max_iter: usize = 10, Range::Count(1);
        /// Relative duality gap at which a hyperplane counts as solved.
        tolerance: f64 = 1e-5, Range::Above(0.0);
    }
}

impl Nonparallel for Rmtbsvm {
    const INFO: MethodInfo = MethodInfo {
        name: "rmtbsvm",
        title: "RMTBSVM",
        about: "capped L1 similarity, hinge dissimilarity, manifold term (after Zhang et al. 2023)",
        losses: losses(Similarity::Capped { at: 1.0 }, HINGE),
        version: 1,
        learns_representation: false,
    };

    fn family(&self) -> Family<'_> {
        let similarity = Similarity::Capped { at: self.epsilon };
        let common = CommonParameters::new(self.r, self.scheme, self.bias, self.tolerance);
        Family {
            max_iter: self.max_iter,
            manifold: Some((self.mu, &self.graph)),
            ..Family::convex(similarity, Dissimilarity::Hinge { c: self.c }, common)
        }
    }
}

const SQUARE: Similarity = Similarity::Square;
const HINGE: Dissimilarity = Dissimilarity::Hinge { c: 1.0 };

const fn losses(similarity: Similarity, dissimilarity: Dissimilarity) -> [&'static str; 2] {
    [similarity.formula(), dissimilarity.formula()]
}
