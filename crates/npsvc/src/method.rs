//! What a method is, what it gets and what it returns.

use faer::{MatRef, Par};

use crate::model::{KernelMachine, Model, Representation};
use crate::params::Ranges;
use crate::seed::Seed;
use crate::sweep::{ChainKey, ChainState, Sweep};
use crate::training_set::{Shape, TrainingSet};
use crate::{BadParameter, Certificate, FitError, Scheme, Termination, plain};

/// A classification method. The implementing type is its parameter set.
///
/// Parameters are plain data with a `Default`. [`Method::fit`] checks them, the kernel matrix and the
/// result. A new method implements [`Method::info`] and [`Method::train`], as the example of
/// [`Trained`] does.
///
/// ```
/// use ndarray::array;
/// use npsvc::{FitOptions, Kernel, Method, TrainingSet, Twsvm};
///
/// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
/// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
/// let model = Twsvm { c: 2.0, ..Twsvm::default() }.fit(&set, FitOptions::default())?;
/// assert_eq!(model.predict(array![[0.1, 0.1], [0.9, 0.9]].view())?, [0, 1]);
/// assert!(model.certificate().converged());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Method: Ranges + Send + Sync {
    /// Name, source and losses.
    fn info(&self) -> &'static MethodInfo;

    /// Names the first parameter that is outside its range, or does not suit a training set of this
    /// shape.
    fn check(&self, _shape: Option<Shape>) -> Result<(), BadParameter> {
        self.check_ranges()
    }

    /// Trains without checks. Call [`Method::fit`] instead.
    fn train(&self, set: &TrainingSet, options: &mut FitOptions<'_>) -> Result<Trained, FitError>;

    /// The multi-class scheme, if the method has one.
    fn scheme(&self) -> Option<Scheme> {
        None
    }

    /// What it minimises, for a plain computation of the objective; `None` if there is none.
    fn problem(&self) -> Option<plain::Problem> {
        None
    }

    /// What this fit can share with others in a [`Sweep`].
    fn chain_key(&self) -> ChainKey {
        ChainKey::alone()
    }

    /// Checks the samples and the parameters, trains, and checks the result.
    fn fit(&self, set: &TrainingSet, mut options: FitOptions<'_>) -> Result<Model, FitError> {
        set.require_classes()?;
        self.check(Some(set.shape()))?;
        set.require_definite_kernel()?;
        let par = options.par(set);
        let trained = self.train(set, &mut options)?;
        trained.require_finite()?;
        Ok(Model::new(trained, set, par))
    }
}

/// What a method is called and what it minimises.
///
/// ```
/// use npsvc::{Method, Twsvm};
///
/// let info = Twsvm::default().info();
/// assert_eq!((info.name, info.losses), ("twsvm", ["a²/2", "[s − a]₊"]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodInfo {
    /// Name in specs, such as `twsvm`.
    pub name: &'static str,
    /// Name in tables, such as `TWSVM`.
    pub title: &'static str,
    /// One line: losses and source.
    pub about: &'static str,
    /// Losses of `a = f_l(x)` on similar and on dissimilar samples, with margin `s`, as in the
    /// paper's Table 1.
    pub losses: [&'static str; 2],
    /// Raised when the same parameters give other numbers.
    pub version: u32,
    /// Whether it learns a representation, see [`Model::transform`].
    pub learns_representation: bool,
}

/// What [`Method::train`] returns.
///
/// This method predicts the nearest of two class means. `f` is positive where that of class 0 is
/// nearer:
///
/// ```
/// use npsvc::faer::Mat;
/// use npsvc::ndarray::array;
/// use npsvc::{
///     Certificate, FitError, FitOptions, Kernel, KernelMachine, Method, MethodInfo, Rule,
///     Termination, Trained, TrainingSet,
/// };
///
/// npsvc::parameters! {
///     /// Its parameters: there are none.
///     pub struct NearestMean {}
/// }
///
/// impl Method for NearestMean {
///     fn info(&self) -> &'static MethodInfo {
///         &MethodInfo {
///             name: "nearest-mean",
///             title: "Nearest mean",
///             about: "the nearest of two class means in kernel space",
///             losses: ["–", "–"],
///             version: 1,
///             learns_representation: false,
///         }
///     }
///
///     fn train(&self, set: &TrainingSet, _: &mut FitOptions<'_>) -> Result<Trained, FitError> {
///         let (k, y) = (set.full_matrix(), set.y());
///         let size = |l| y.iter().filter(|&&y| y == l).count() as f64;
///         let mean = |l, i: usize| if y[i] == l { 1.0 / size(l) } else { 0.0 };
///         let means = Mat::from_fn(y.len(), 2, |i, l| mean(l, i));
///         let products = means.transpose() * k * &means;
///         let machine = KernelMachine {
///             coefficients: Mat::from_fn(y.len(), 1, |i, _| means[(i, 0)] - means[(i, 1)]),
///             offsets: vec![(products[(1, 1)] - products[(0, 0)]) / 2.0],
///             rule: Rule::Vote { classes: 2 },
///         };
///         let termination = Termination::Solved;
///         Ok(Trained::new(machine, Certificate { termination, ..Certificate::default() }))
///     }
/// }
///
/// let set = TrainingSet::new(array![[0.0], [1.0], [6.0]], vec![0, 0, 1], &Kernel::Linear)?;
/// let model = NearestMean {}.fit(&set, FitOptions::default())?;
/// assert_eq!(model.predict(array![[3.0], [3.5]].view())?, [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trained {
    /// The functions and the rule that turns their values into a class.
    pub machine: KernelMachine,
    /// How well the training problem was solved.
    pub certificate: Certificate,
    /// One row per iteration, for methods with an outer loop.
    pub trace: Vec<TraceRow>,
    /// The representation, for methods that learn one.
    pub representation: Option<Representation>,
}

impl Trained {
    /// Without a trace and without a representation.
    pub fn new(machine: KernelMachine, certificate: Certificate) -> Self {
        Self { machine, certificate, trace: Vec::new(), representation: None }
    }

    fn require_finite(&self) -> Result<(), FitError> {
        let Certificate { primal, dual, gap, .. } = self.certificate;
        let KernelMachine { coefficients, offsets, rule } = &self.machine;
        let mut numbers = [primal, dual, gap].into_iter().chain(offsets.iter().copied());
        let is_finite = numbers.all(f64::is_finite)
            && coefficients.is_all_finite()
            && rule.norms().iter().all(|norm| norm.is_finite())
            && self.representation.as_ref().is_none_or(|z| z.frame.is_all_finite());
        is_finite.then_some(()).ok_or(FitError::NotFinite)
    }
}

/// One iteration of a method with an outer loop, see [`Model::trace`].
///
/// ```
/// use npsvc::ndarray::array;
/// use npsvc::{Dimension, FitOptions, KNpsvcpp, Kernel, Method, TraceRow, TrainingSet};
///
/// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
/// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
/// let method = KNpsvcpp { d: Dimension::Fixed(2), max_iter: 3, ..KNpsvcpp::default() };
/// let model = method.fit(&set, FitOptions::default())?;
/// let TraceRow { primal, objectives, tau, .. } = &model.trace()[0];
/// assert_eq!(*primal, objectives[0].max(objectives[1]));
/// assert_eq!(tau, &[0.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceRow {
    /// Number of the iteration, from 0.
    pub iteration: usize,
    /// `max_l J_l`.
    pub primal: f64,
    /// `sum_l tau_l J_l`.
    pub dual: f64,
    /// `J_l` of every class.
    pub objectives: Vec<f64>,
    /// The weights used in this iteration.
    pub tau: Vec<f64>,
    /// The optimum of this iteration's tau-step, before momentum.
    pub tau_star: Vec<f64>,
    /// Norm of the combined Riemannian gradient under `tau_star`.
    pub gradient_norm: f64,
    /// The manifold term `mu/2 tr(Z L Z^T)` contained in every objective.
    pub manifold: f64,
}

impl TraceRow {
    /// The certificate of a fit that ends after this iteration because of its limit.
    pub(crate) fn certificate(&self) -> Certificate {
        let numbers = [self.primal, self.dual, (self.primal - self.dual).max(0.0)];
        Certificate::new(numbers, self.iteration + 1, Termination::IterationLimit)
    }
}

/// An iteration that has just ended, for [`FitOptions::on_iteration`].
pub struct Iteration<'a> {
    /// Its row of the trace.
    pub row: &'a TraceRow,
    pub(crate) variables: Variables<'a>,
    pub(crate) machine: &'a dyn Fn() -> Result<KernelMachine, FitError>,
    pub(crate) set: &'a TrainingSet,
    pub(crate) par: Par,
}

/// The variables at which an iteration of K-NPSVC++ computes its objectives.
pub(crate) struct Variables<'a> {
    /// Coefficients of `u_l`, n x K.
    pub coefficients: MatRef<'a, f64>,
    /// `A^T`, d x n.
    pub frame: MatRef<'a, f64>,
    /// `V`, d x K.
    pub v: MatRef<'a, f64>,
}

impl Iteration<'_> {
    /// The model of a fit that ends after this iteration, without trace and representation.
    pub fn model(&self) -> Result<Model, FitError> {
        let trained = Trained::new((self.machine)()?, self.row.certificate());
        Ok(Model::new(trained, self.set, self.par))
    }
}

/// The inputs of a fit that are neither parameters nor samples.
///
/// ```
/// use npsvc::ndarray::array;
/// use npsvc::{Dimension, FitOptions, Iteration, KNpsvcpp, Kernel, Method, Seed, TrainingSet};
///
/// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
/// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
/// let mut objectives = Vec::new();
/// let mut watch = |iteration: &Iteration<'_>| objectives.push(iteration.row.primal);
/// let mut options = FitOptions::seeded(Seed::root(7));
/// options.on_iteration = Some(&mut watch);
/// let method = KNpsvcpp { d: Dimension::Fixed(2), ..KNpsvcpp::default() };
/// let model = method.fit(&set, options)?;
/// assert_eq!(objectives.len(), model.trace().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct FitOptions<'a> {
    /// Every random choice comes from this seed.
    pub seed: Seed,
    /// Called after each iteration of a method with an outer loop, but not in a [`Sweep`].
    pub on_iteration: Option<&'a mut dyn FnMut(&Iteration<'_>)>,
    pub(crate) sweep: Option<&'a Sweep<'a>>,
    pub(crate) chain: Option<&'a mut ChainState>,
}

impl<'a> FitOptions<'a> {
    /// Options with this seed.
    pub fn seeded(seed: Seed) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Threads for this fit: those of the chain in a sweep, otherwise those of the set.
    pub fn par(&self, set: &TrainingSet) -> Par {
        self.chain.as_ref().map_or(set.par(), |chain| chain.par)
    }
}
