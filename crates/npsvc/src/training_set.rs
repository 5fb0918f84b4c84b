//! Training samples with everything that methods share: kernel matrix, its factor, neighbour graph.

use std::sync::{Arc, OnceLock};

use faer::{Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2, Axis};

use crate::algebra::{
    Cholesky, Matrix, NotPositiveDefinite, OwnedMatrix, column, inner, lower_submatrix, product,
};
use crate::kernel::{FittedKernel, GraphOptions, Kernel, Laplacian, PivotedFactor};
use crate::memo::Memo;
use crate::model::{CrossKernel, Expansion};
use crate::params::Range;
use crate::sweep::Sweep;
use crate::{BadParameter, DataError, FitError};

/// `k(i, i) k(j, j)` may be below `k(i, j)^2` by this share, because of rounding.
const MINOR_ROUNDING: f64 = 1e-8;

/// How the training kernel matrix is stored.
///
/// ```
/// use npsvc::ndarray::Array2;
/// use npsvc::{FitOptions, Kernel, Lstwsvm, Method, Storage, TrainingSet};
///
/// let x = Array2::from_shape_fn((100, 1), |(i, _)| i as f64 / 100.0);
/// let y = (0..100).map(|i| i / 50).collect();
/// let storage = Storage::Pivoted { rank: Some(10), tolerance: 1e-9 };
/// let set = TrainingSet::new(x, y, &Kernel::default())?.with_storage(storage)?;
/// let factor = set.factor().ok_or("this storage has a factor")?;
/// assert!(factor.rank() <= 10 && factor.error() < 1e-6);
/// // Predictions need the pivots of the factor only.
/// let model = Lstwsvm::default().fit(&set, FitOptions::default())?;
/// assert_eq!(model.support().len(), factor.rank());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Storage {
    /// All n x n values, with `jitter` added to the diagonal.
    Full {
        /// Makes a singular kernel matrix positive definite.
        jitter: f64,
    },
    /// A pivoted partial Cholesky factor `G` of n x rank values: the kernel becomes `G G^T`.
    Pivoted {
        /// Largest number of columns; `None` sets no limit.
        rank: Option<usize>,
        /// The factor ends when it misses this share of the kernel matrix's trace.
        tolerance: f64,
    },
}

impl Default for Storage {
    fn default() -> Self {
        Self::Full { jitter: 1e-6 }
    }
}

impl Storage {
    /// Largest number of columns of the factor of `n` samples; `None` for the full matrix.
    pub fn rank(&self, n: usize) -> Option<usize> {
        match self {
            Self::Full { .. } => None,
            Self::Pivoted { rank, .. } => Some(rank.unwrap_or(n).min(n)),
        }
    }

    /// Names the first parameter outside its range.
    pub fn check(&self) -> Result<(), BadParameter> {
        match *self {
            Self::Full { jitter } => Range::AtLeast(0.0).check("jitter", jitter),
            Self::Pivoted { rank, tolerance } => {
                BadParameter::unless(rank != Some(0), "rank", 0, "at least 1")?;
                Range::Below(0.0, 1.0).check("tolerance", tolerance)
            }
        }
    }
}

/// Samples, features and classes of a training set, see [`TrainingSet::shape`].
///
/// ```
/// use npsvc::{Kernel, Shape, TrainingSet, ndarray::Array2};
///
/// let set = TrainingSet::new(Array2::zeros((3, 5)), vec![0, 1, 1], &Kernel::Linear)?;
/// assert_eq!(set.shape(), Shape { n: 3, dims: 5, classes: 2, rank: None });
/// # Ok::<(), npsvc::DataError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of samples.
    pub n: usize,
    /// Number of features.
    pub dims: usize,
    /// Number of classes.
    pub classes: usize,
    /// Largest number of columns of the kernel matrix's factor, with [`Storage::Pivoted`].
    pub rank: Option<usize>,
}

/// Samples, their classes `0..K` and a kernel.
///
/// The kernel matrix, its factor and the neighbour graph are computed on first use. All methods that
/// are fitted on this set share them.
///
/// ```
/// use ndarray::array;
/// use npsvc::{Kernel, TrainingSet};
///
/// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
/// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
/// assert_eq!((set.shape().n, set.shape().classes), (4, 2));
/// # Ok::<(), npsvc::DataError>(())
/// ```
pub struct TrainingSet {
    samples: Arc<Samples>,
    classes: usize,
    kernel: FittedKernel,
    storage: Storage,
    par: Par,
    cache: Cache,
}

/// The parts of a training set that do not depend on the kernel.
struct Samples {
    x: Array2<f64>,
    y: Vec<usize>,
    graphs: Memo<GraphOptions, Laplacian>,
}

/// Matrices computed from samples, kernel and storage.
#[derive(Default)]
struct Cache {
    factor: OnceLock<PivotedFactor>,
    full: OnceLock<Mat<f64>>,
    with_bias: OnceLock<OwnedMatrix>,
    definite: OnceLock<Result<(), FitError>>,
    smallest_pivot: OnceLock<f64>,
    expansion: OnceLock<Arc<Expansion>>,
    largest_eigenvalues: Memo<(GraphOptions, bool), f64>,
}

impl TrainingSet {
    /// Samples in rows, and their classes. The largest label gives the number of classes; see
    /// [`Self::with_classes`].
    pub fn new(x: Array2<f64>, y: Vec<usize>, kernel: &Kernel) -> Result<Self, DataError> {
        let (samples, labels) = (x.nrows(), y.len());
        if samples != labels {
            return Err(DataError::Labels { samples, labels });
        }
        let label = *y.iter().max().ok_or(DataError::Empty)?;
        require_labels(&y, usize::MAX)?;
        require_finite(x.view())?;
        kernel.check()?;
        Ok(Self {
            kernel: FittedKernel::new(kernel, x.view()),
            samples: Arc::new(Samples { x, y, graphs: Memo::default() }),
            classes: label + 1,
            storage: Storage::default(),
            par: Par::Seq,
            cache: Cache::default(),
        })
    }

    /// The same samples with another kernel. Both sets share the samples and the neighbour graphs.
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{Kernel, TrainingSet};
    ///
    /// let set = TrainingSet::new(array![[1.0], [2.0]], vec![0, 1], &Kernel::default())?;
    /// let linear = set.with_kernel(&Kernel::Linear)?.with_storage(npsvc::Storage::Full { jitter: 0.0 })?;
    /// assert_eq!(linear.full_matrix()[(0, 1)], 2.0);
    /// # Ok::<(), npsvc::DataError>(())
    /// ```
    pub fn with_kernel(&self, kernel: &Kernel) -> Result<Self, DataError> {
        kernel.check()?;
        Ok(Self {
            kernel: FittedKernel::new(kernel, self.x()),
            samples: self.samples.clone(),
            cache: Cache::default(),
            ..*self
        })
    }

    /// Sets the number of classes, for a part of a dataset that may lack the last class.
    ///
    /// ```
    /// use npsvc::{FitError, FitOptions, Kernel, Method, Svm, TrainingSet, ndarray::array};
    ///
    /// let set = TrainingSet::new(array![[0.0], [1.0]], vec![0, 1], &Kernel::default())?;
    /// let fit = Svm::default().fit(&set.with_classes(3)?, FitOptions::default());
    /// assert_eq!(fit.err(), Some(FitError::EmptyClass { class: 2 }));
    /// # Ok::<(), npsvc::DataError>(())
    /// ```
    pub fn with_classes(mut self, classes: usize) -> Result<Self, DataError> {
        require_labels(self.y(), classes)?;
        self.classes = classes;
        Ok(self)
    }

    /// Sets how the kernel matrix is stored. The default is the full matrix with a jitter of 1e-6.
    pub fn with_storage(mut self, storage: Storage) -> Result<Self, DataError> {
        storage.check().map_err(DataError::Storage)?;
        self.storage = storage;
        self.cache = Cache::default();
        Ok(self)
    }

    /// Sets the number of threads; 0 means all of rayon's. The default is 1.
    ///
    /// ```
    /// use npsvc::faer::Par;
    /// use npsvc::{FitOptions, Kernel, TrainingSet, ndarray::array};
    ///
    /// let set = TrainingSet::new(array![[0.0], [1.0]], vec![0, 1], &Kernel::default())?;
    /// let options = FitOptions::default();
    /// assert_eq!(options.par(&set), Par::Seq);
    /// assert_eq!(options.par(&set.with_threads(2)), Par::rayon(2));
    /// # Ok::<(), npsvc::DataError>(())
    /// ```
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.par = match threads {
            1 => Par::Seq,
            threads => Par::rayon(threads),
        };
        self
    }

    /// Number of samples, features and classes.
    pub fn shape(&self) -> Shape {
        let (n, dims) = self.samples.x.dim();
        Shape { n, dims, classes: self.classes, rank: self.storage.rank(n) }
    }

    /// The samples, one per row.
    pub fn x(&self) -> ArrayView2<'_, f64> {
        self.samples.x.view()
    }

    /// The class of each sample.
    pub fn y(&self) -> &[usize] {
        &self.samples.y
    }

    /// The kernel, with the width that follows from the samples.
    pub fn kernel(&self) -> &FittedKernel {
        &self.kernel
    }

    /// How the kernel matrix is stored.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// The pivoted factor of the kernel matrix; `None` for the full matrix.
    ///
    /// ```
    /// use npsvc::{Kernel, Storage, TrainingSet, ndarray::array};
    ///
    /// // A linear kernel on one feature has rank one.
    /// let storage = Storage::Pivoted { rank: None, tolerance: 1e-12 };
    /// let set = TrainingSet::new(array![[1.0], [2.0]], vec![0, 1], &Kernel::Linear)?;
    /// let set = set.with_storage(storage)?;
    /// assert_eq!(set.factor().map(|factor| (factor.rank(), factor.error())), Some((1, 0.0)));
    /// # Ok::<(), npsvc::DataError>(())
    /// ```
    pub fn factor(&self) -> Option<&PivotedFactor> {
        let Storage::Pivoted { rank, tolerance } = self.storage else {
            return None;
        };
        let make = || PivotedFactor::new(&self.kernel, self.x(), rank, tolerance, self.par);
        Some(self.cache.factor.get_or_init(make))
    }

    /// The smallest pivot of a factorisation of the kernel matrix: evidence of how far the matrix is
    /// from being singular. It is negative or zero if the matrix is not positive definite in floating point.
    /// A pivoted factor knows it. For a full matrix, jitter included, the first call costs `n^3 / 3`
    /// operations and one more matrix.
    ///
    /// ```
    /// use npsvc::{Kernel, Storage, TrainingSet, ndarray::array};
    ///
    /// let set = TrainingSet::new(array![[1.0], [2.0]], vec![0, 1], &Kernel::Linear)?;
    /// let set = set.with_storage(Storage::Full { jitter: 0.5 })?;
    /// // The matrix [[1.5, 2], [2, 4.5]] has the pivots 1.5 and 4.5 - 2 * 2 / 1.5.
    /// assert!((set.smallest_pivot() - 1.5).abs() < 1e-15);
    /// # Ok::<(), npsvc::DataError>(())
    /// ```
    pub fn smallest_pivot(&self) -> f64 {
        *self.cache.smallest_pivot.get_or_init(|| match self.factor() {
            Some(factor) => factor.smallest_pivot(),
            None => smallest_pivot(self.full_matrix(), self.par),
        })
    }

    /// A sweep over parameters, in which fits share what they have in common.
    pub fn sweep(&self) -> Sweep<'_> {
        Sweep::new(self)
    }

    /// Computes the kernel matrix, or its factor, now instead of during the first fit.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// use npsvc::{FitOptions, Kernel, Method, TrainingSet, Twsvm, ndarray::array};
    ///
    /// let x = array![[0.0], [0.1], [0.9], [1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// set.prepare();
    /// // The time of the fit alone, without the kernel matrix.
    /// let begun = Instant::now();
    /// let model = Twsvm::default().fit(&set, FitOptions::default())?;
    /// println!("{:?}", begun.elapsed());
    /// assert!(model.certificate().converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(&self) {
        self.matrix(false);
    }

    /// Kernel values between `rows` and the samples that models need. Many models can use them, see
    /// [`Model::predict_from`](crate::Model::predict_from).
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, Svm, TrainingSet, Twsvm};
    ///
    /// let set = TrainingSet::new(array![[0.0], [0.1], [0.9], [1.0]], vec![0, 0, 1, 1], &Kernel::default())?;
    /// let cross = set.cross(array![[0.2], [0.8]].view())?;
    /// for method in [&Svm::default() as &dyn Method, &Twsvm::default()] {
    ///     let model = method.fit(&set, FitOptions::default())?;
    ///     assert_eq!(model.predict_from(&cross)?, [0, 1]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cross(&self, rows: ArrayView2<'_, f64>) -> Result<CrossKernel, DataError> {
        self.expansion().cross(rows, self.par)
    }

    /// The full n x n kernel matrix: `K + jitter I`, or `G G^T` with a pivoted factor.
    pub fn full_matrix(&self) -> MatRef<'_, f64> {
        let make = || match (self.factor(), self.storage) {
            (Some(factor), _) => product(factor.rows().transpose(), factor.rows(), self.par),
            (None, Storage::Full { jitter }) => self.kernel.gram(self.x(), jitter, self.par),
            (None, Storage::Pivoted { .. }) => unreachable!("this storage has a factor"),
        };
        self.cache.full.get_or_init(make).as_ref()
    }

    /// The kernel matrix in its stored form. `bias` appends a constant feature to `phi(x)`, which adds
    /// one to all kernel values.
    pub(crate) fn matrix(&self, bias: bool) -> Matrix<'_> {
        match (self.factor(), bias) {
            (None, false) => Matrix::Full(self.full_matrix()),
            (Some(factor), false) => Matrix::Factor(factor.rows()),
            (factor, true) => self.cache.with_bias.get_or_init(|| self.add_bias(factor)).view(),
        }
    }

    fn add_bias(&self, factor: Option<&PivotedFactor>) -> OwnedMatrix {
        match factor {
            None => {
                let k = self.full_matrix();
                OwnedMatrix::Full(Mat::from_fn(k.nrows(), k.ncols(), |i, j| k[(i, j)] + 1.0))
            }
            Some(factor) => {
                let (rank, rows) = (factor.rank(), factor.rows());
                OwnedMatrix::Factor(Mat::from_fn(rank + 1, rows.ncols(), |a, i| {
                    if a < rank { rows[(a, i)] } else { 1.0 }
                }))
            }
        }
    }

    pub(crate) fn par(&self) -> Par {
        self.par
    }

    /// What was added to the diagonal of the kernel matrix.
    pub(crate) fn jitter(&self) -> f64 {
        match self.storage {
            Storage::Full { jitter } => jitter,
            Storage::Pivoted { .. } => 0.0,
        }
    }

    /// The samples that models are expansions in: all of them, or the pivots of the factor.
    pub(crate) fn expansion(&self) -> &Arc<Expansion> {
        self.cache.expansion.get_or_init(|| {
            let (x, support) = match self.factor() {
                None => (self.x().to_owned(), (0..self.y().len()).collect()),
                Some(factor) => {
                    let pivots = factor.pivots();
                    (self.x().select(Axis(0), pivots), pivots.to_vec())
                }
            };
            Arc::new(Expansion { kernel: self.kernel.clone(), x, support })
        })
    }

    /// The normalised Laplacian of the neighbour graph.
    pub(crate) fn laplacian(&self, options: &GraphOptions, par: Par) -> Arc<Laplacian> {
        let make = || Laplacian::new(self.x(), options, par);
        self.samples.graphs.get(options.clone(), make)
    }

    /// The largest eigenvalue of `K^1/2 L K^1/2` for each graph and bias.
    pub(crate) fn largest_eigenvalues(&self) -> &Memo<(GraphOptions, bool), f64> {
        &self.cache.largest_eigenvalues
    }

    /// An error unless there are at least two classes, each with a sample.
    pub(crate) fn require_classes(&self) -> Result<(), FitError> {
        match (0..self.classes).find(|class| !self.y().contains(class)) {
            Some(class) => Err(FitError::EmptyClass { class }),
            None if self.classes < 2 => Err(FitError::OneClass),
            None => Ok(()),
        }
    }

    /// An error if the kernel overflows because the features are too large, or if a pair of samples
    /// shows that it is indefinite.
    pub(crate) fn require_definite_kernel(&self) -> Result<(), FitError> {
        let check = || {
            let (is_finite, diagonal) = match self.factor() {
                Some(factor) => {
                    let is_finite = factor.error().is_finite() && factor.rows().is_all_finite();
                    (is_finite, self.kernel.diagonal(self.x()))
                }
                None => {
                    let k = self.full_matrix();
                    (k.is_all_finite(), (0..k.nrows()).map(|i| k[(i, i)]).collect())
                }
            };
            if let Some(i) = diagonal.iter().position(|&value| value < 0.0) {
                return Err(FitError::KernelIndefinite { i, j: i });
            }
            if !is_finite {
                return Err(FitError::KernelNotFinite);
            }
            let has_factor = self.factor().is_some();
            let pair = if has_factor { None } else { indefinite_pair(self.full_matrix()) };
            pair.map_or(Ok(()), |(i, j)| Err(FitError::KernelIndefinite { i, j }))
        };
        self.cache.definite.get_or_init(check).clone()
    }
}

/// Two samples with `k(i, i) k(j, j) < k(i, j)^2`.
fn indefinite_pair(k: MatRef<'_, f64>) -> Option<(usize, usize)> {
    let diagonal: Vec<f64> = (0..k.nrows()).map(|i| k[(i, i)]).collect();
    let is_bad = |of_j: f64, of_i: f64, value: f64| {
        value * value > (1.0 + MINOR_ROUNDING) * of_i * of_j + f64::MIN_POSITIVE
    };
    (0..k.ncols()).find_map(|j| {
        let lower = column(k, j)[j..].iter().zip(&diagonal[j..]);
        // Without a branch, so that the loop can be vectorised.
        let bad = lower.map(|(&value, &of_i)| u64::from(is_bad(diagonal[j], of_i, value)));
        if bad.sum::<u64>() == 0 {
            return None;
        }
        let i = (j..k.nrows()).find(|&i| is_bad(diagonal[j], diagonal[i], k[(i, j)]))?;
        Some((i, j))
    })
}

/// The smallest pivot of the Cholesky factor of `k`, or the first one that is not positive.
fn smallest_pivot(k: MatRef<'_, f64>, par: Par) -> f64 {
    let leading = |size: usize| {
        let index: Vec<usize> = (0..size).collect();
        Cholesky::new(lower_submatrix(k, &index, |_| 0.0), par)
    };
    let NotPositiveDefinite { pivot } = match leading(k.nrows()) {
        Ok(factor) => return factor.smallest_pivot(),
        Err(error) => error,
    };
    // What the rows above leave of the diagonal.
    let Ok(factor) = leading(pivot) else { return f64::NAN };
    let mut row = Mat::from_fn(pivot, 1, |i, _| k[(i, pivot)]);
    factor.solve_lower(row.as_mut());
    let explained =
        if pivot == 0 { 0.0 } else { inner(column(row.as_ref(), 0), column(row.as_ref(), 0)) };
    k[(pivot, pivot)] - explained
}

/// An error that names the first label that is not below `classes`.
fn require_labels(y: &[usize], classes: usize) -> Result<(), DataError> {
    let bad = y.iter().enumerate().find(|(_, label)| **label >= classes);
    bad.map_or(Ok(()), |(sample, &label)| Err(DataError::Class { sample, label, classes }))
}

/// An error that names the first value that is not finite.
pub(crate) fn require_finite(x: ArrayView2<'_, f64>) -> Result<(), DataError> {
    let bad = x.indexed_iter().find(|(_, value)| !value.is_finite());
    bad.map_or(Ok(()), |((row, column), &value)| Err(DataError::NotFinite { row, column, value }))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    /// Public constructors refuse the parameters of such a kernel.
    fn with_polynomial(x: Array2<f64>, offset: f64, scale: f64) -> TrainingSet {
        let y = (0..x.nrows()).collect();
        let set = TrainingSet::new(x, y, &Kernel::Linear).unwrap();
        TrainingSet { kernel: FittedKernel::Polynomial { degree: 1, offset, scale }, ..set }
    }

    #[test]
    fn a_pair_of_samples_shows_an_indefinite_kernel() {
        let x = array![[1.0], [2.0], [3.0]];
        // [[0, 1, 2], [1, 3, 5], [2, 5, 8]]
        let error = with_polynomial(x.clone(), -1.0, 1.0).require_definite_kernel();
        assert_eq!(error, Err(FitError::KernelIndefinite { i: 1, j: 0 }));
        for storage in [Storage::default(), Storage::Pivoted { rank: None, tolerance: 0.0 }] {
            let set = with_polynomial(x.clone(), 0.0, -1.0).with_storage(storage).unwrap();
            let error = set.require_definite_kernel();
            assert_eq!(error, Err(FitError::KernelIndefinite { i: 0, j: 0 }), "{storage:?}");
        }
        assert_eq!(with_polynomial(x, 1.0, 1.0).require_definite_kernel(), Ok(()));
    }

    #[test]
    fn the_smallest_pivot_is_not_positive_if_the_matrix_is_not_definite() {
        let pivot = |x: Array2<f64>, offset| {
            let set = with_polynomial(x, offset, 1.0);
            set.with_storage(Storage::Full { jitter: 0.0 }).unwrap().smallest_pivot()
        };
        assert_eq!(pivot(array![[2.0], [2.0]], 0.0), 0.0);
        // [[0, 1], [1, 3]] and [[2, 4], [4, 7]]
        assert_eq!(pivot(array![[1.0], [2.0]], -1.0), 0.0);
        assert!((pivot(array![[2.0], [3.0]], -2.0) + 1.0).abs() < 1e-12);
    }
}
