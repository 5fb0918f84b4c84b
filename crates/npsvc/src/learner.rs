//! Every method as a linfa learner (feature `linfa`).
//!
//! A [`Learner`] is a method, a kernel and the other settings of a fit. As everywhere in linfa,
//! `check()` turns it into a [`CheckedLearner`], whose `fit` never sees a bad value. Calling `fit` on
//! the learner does both. The result, [`FittedLearner`], predicts the labels it was given. They can be any
//! numbers, not only `0..K`.
//!
//! ```
//! use npsvc::Svm;
//! use npsvc::learner::{Error, Learner};
//! use npsvc::linfa::prelude::*;
//! use npsvc::ndarray::{Array1, Array2};
//!
//! # fn main() -> Result<(), Error> {
//! // Two half moons that no straight line separates, labelled 3 and 8.
//! let points = 60;
//! let moon = |i: usize| i % 2;
//! let records = Array2::from_shape_fn((points, 2), |(i, axis)| {
//!     let angle = std::f64::consts::PI * i as f64 / points as f64;
//!     let (x, y) = (angle.cos(), angle.sin());
//!     match (moon(i), axis) {
//!         (0, 0) => x,
//!         (0, _) => y,
//!         (_, 0) => 1.0 - x,
//!         (_, _) => 0.4 - y,
//!     }
//! });
//! let targets = Array1::from_shape_fn(points, |i| [3, 8][moon(i)]);
//! let dataset = Dataset::new(records, targets);
//!
//! let svm = Svm { c: 10.0, ..Svm::default() };
//! let fitted = Learner::new(svm).fit(&dataset)?;
//! assert!(fitted.model().certificate().converged());
//!
//! let predicted = fitted.predict(&dataset);
//! assert_eq!(predicted.confusion_matrix(&dataset)?.accuracy(), 1.0);
//! # Ok(())
//! # }
//! ```

use linfa::ParamGuard;
use linfa::dataset::{AsSingleTargets, DatasetBase};
use linfa::traits::{Fit, PredictInplace};
use ndarray::{Array1, ArrayBase, ArrayView2, Data, Ix2};

use crate::{
    BadParameter, DataError, FitError, FitOptions, Kernel, Method, Model, Seed, Storage,
    TrainingSet,
};

/// Why a learner could not be trained, or a model could not predict.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter of the method, the kernel or the storage is outside its range.
    #[error("bad parameter: {0}")]
    Parameter(#[from] BadParameter),
    /// The records cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The fit failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// An error of linfa.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}

/// A method with the settings of a fit, not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Learner<M>(CheckedLearner<M>);

/// A [`Learner`] whose values are known to be good.
///
/// ```
/// use npsvc::learner::{CheckedLearner, Learner};
/// use npsvc::linfa::ParamGuard;
/// use npsvc::{BadParameter, Twsvm};
///
/// let checked: CheckedLearner<Twsvm> = Learner::new(Twsvm::default()).check()?;
/// let error = Learner::new(Twsvm { r: 0.0, ..Twsvm::default() }).check().unwrap_err();
/// assert_eq!(error.to_string(), "`r` is 0, expected a number above 0");
/// # Ok::<(), BadParameter>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedLearner<M> {
    method: M,
    kernel: Kernel,
    storage: Storage,
    seed: Seed,
    threads: usize,
}

impl<M> Learner<M> {
    /// The Gaussian kernel with the paper's width, the full kernel matrix, seed 0 and all threads.
    pub fn new(method: M) -> Self {
        Self(CheckedLearner {
            method,
            kernel: Kernel::default(),
            storage: Storage::default(),
            seed: Seed::default(),
            threads: 0,
        })
    }

    /// Sets the kernel.
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.0.kernel = kernel;
        self
    }

    /// Sets how the kernel matrix is stored.
    pub fn storage(mut self, storage: Storage) -> Self {
        self.0.storage = storage;
        self
    }

    /// Sets the seed of all random choices.
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = Seed::root(seed);
        self
    }

    /// Sets the number of threads; 0 means all of rayon's.
    ///
    /// ```
    /// use npsvc::learner::{Error, Learner};
    /// use npsvc::linfa::prelude::*;
    /// use npsvc::{Kernel, Twsvm, ndarray::array};
    ///
    /// let dataset = Dataset::new(array![[0.0], [0.1], [0.9], [1.0]], array![0, 0, 1, 1]);
    /// let learner = Learner::new(Twsvm { bias: true, ..Twsvm::default() });
    /// let fitted = learner.kernel(Kernel::Linear).seed(7).threads(1).fit(&dataset)?;
    /// assert_eq!(fitted.predict(&dataset), array![0, 0, 1, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.0.threads = threads;
        self
    }
}

impl<M: Default> Default for Learner<M> {
    fn default() -> Self {
        Self::new(M::default())
    }
}

impl<M: Method> ParamGuard for Learner<M> {
    type Checked = CheckedLearner<M>;
    type Error = BadParameter;

    fn check_ref(&self) -> Result<&CheckedLearner<M>, BadParameter> {
        self.0.method.check(None)?;
        self.0.kernel.check()?;
        self.0.storage.check()?;
        Ok(&self.0)
    }

    fn check(self) -> Result<CheckedLearner<M>, BadParameter> {
        self.check_ref()?;
        Ok(self.0)
    }
}

impl<D, T, M> Fit<ArrayBase<D, Ix2>, T, Error> for CheckedLearner<M>
where
    D: Data<Elem = f64>,
    T: AsSingleTargets<Elem = usize>,
    M: Method,
{
    type Object = FittedLearner;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<FittedLearner, Error> {
        let targets = dataset.targets.as_targets();
        let mut labels = targets.to_vec();
        labels.sort_unstable();
        labels.dedup();
        // Every target is among the sorted labels, and its place there is its class.
        let class = |target: &usize| labels.partition_point(|label| label < target);
        let y = targets.iter().map(class).collect();
        let set = TrainingSet::new(dataset.records.to_owned(), y, &self.kernel)?
            .with_storage(self.storage)?
            .with_threads(self.threads);
        let model = self.method.fit(&set, FitOptions::seeded(self.seed.clone()))?;
        Ok(FittedLearner { model, labels })
    }
}

/// A model that predicts the labels it was trained with.
///
/// ```
/// use npsvc::Twsvm;
/// use npsvc::learner::{Error, FittedLearner, Learner};
/// use npsvc::linfa::prelude::*;
/// use npsvc::ndarray::array;
///
/// let dataset = Dataset::new(array![[0.0], [0.1], [0.9], [1.0]], array![7, 7, 2, 2]);
/// let fitted: FittedLearner = Learner::new(Twsvm::default()).fit(&dataset)?;
/// assert_eq!(fitted.labels(), [2, 7]);
/// assert_eq!(fitted.try_predict(array![[0.2], [0.8]].view())?, array![7, 2]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FittedLearner {
    model: Model,
    labels: Vec<usize>,
}

impl FittedLearner {
    /// The label of every row, or an error if the rows cannot be used.
    pub fn try_predict(&self, rows: ArrayView2<'_, f64>) -> Result<Array1<usize>, Error> {
        let classes = self.model.predict(rows)?.into_iter();
        Ok(classes.map(|class| self.labels[class]).collect())
    }

    /// The model, which numbers the classes as [`Self::labels`] does.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The labels of the classes, ascending.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }
}

/// # Panics
/// linfa's trait cannot return an error. Rows with another number of features, values that are not
/// finite, and an array of targets of another length panic. [`FittedLearner::try_predict`] returns an error
/// instead.
impl<D: Data<Elem = f64>> PredictInplace<ArrayBase<D, Ix2>, Array1<usize>> for FittedLearner {
    fn predict_inplace<'a>(&'a self, rows: &'a ArrayBase<D, Ix2>, targets: &mut Array1<usize>) {
        assert_eq!(rows.nrows(), targets.len(), "one target is needed for every row");
        match self.try_predict(rows.view()) {
            Ok(predicted) => *targets = predicted,
            Err(error) => panic!("{error}"),
        }
    }

    fn default_target(&self, rows: &ArrayBase<D, Ix2>) -> Array1<usize> {
        Array1::zeros(rows.nrows())
    }
}
