//! Errors of parameters, data and fits.

/// A parameter outside its range.
///
/// ```
/// use npsvc::{Method, Svm};
///
/// let error = Svm { c: 0.0, ..Svm::default() }.check(None).unwrap_err();
/// assert_eq!(error.parameter, "c");
/// assert_eq!(error.to_string(), "`c` is 0, expected a number above 0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{parameter}` is {found}, expected {expected}")]
pub struct BadParameter {
    /// Name of the parameter, with a dot for nested ones (`gpi.shift`).
    pub parameter: String,
    /// The value, as text.
    pub found: String,
    /// What the value must be.
    pub expected: String,
}

impl BadParameter {
    /// An error that names `parameter`, unless `holds`.
    ///
    /// ```
    /// use npsvc::BadParameter;
    ///
    /// let check = |d: usize| BadParameter::unless(d < 10, "d", d, "a number below 10");
    /// assert_eq!(check(3), Ok(()));
    /// let error = check(12).unwrap_err().inside("layer");
    /// assert_eq!(error.to_string(), "`layer.d` is 12, expected a number below 10");
    /// ```
    pub fn unless(
        holds: bool,
        parameter: impl Into<String>,
        found: impl ToString,
        expected: impl Into<String>,
    ) -> Result<(), Self> {
        if holds {
            return Ok(());
        }
        Err(Self {
            parameter: parameter.into(),
            found: found.to_string(),
            expected: expected.into(),
        })
    }

    /// The same error for a parameter inside `outer`.
    pub fn inside(mut self, outer: &str) -> Self {
        self.parameter = format!("{outer}.{}", self.parameter);
        self
    }
}

/// Samples that cannot be trained on or predicted.
///
/// ```
/// use npsvc::{Kernel, TrainingSet, ndarray::array};
///
/// let nan = TrainingSet::new(array![[0.0], [f64::NAN]], vec![0, 1], &Kernel::default());
/// let error = nan.err().unwrap();
/// assert_eq!(error.to_string(), "row 1, column 0 is NaN, expected a finite number");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DataError {
    /// There are no training samples.
    #[error("there are no training samples")]
    Empty,
    /// Samples and labels differ in number.
    #[error("there are {samples} samples, but {labels} labels")]
    Labels {
        /// Number of samples.
        samples: usize,
        /// Number of labels.
        labels: usize,
    },
    /// A label is not a class.
    #[error("the label of sample {sample} is {label}, expected a class below {classes}")]
    Class {
        /// Row of the sample, from 0.
        sample: usize,
        /// Its label.
        label: usize,
        /// Number of classes.
        classes: usize,
    },
    /// A value is NaN or infinite.
    #[error("row {row}, column {column} is {value}, expected a finite number")]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        value: f64,
    },
    /// Rows have another number of features than the training samples.
    #[error("the rows have {found} features, but the training samples have {expected}")]
    Features {
        /// Features of the rows.
        found: usize,
        /// Features of the training samples.
        expected: usize,
    },
    /// A kernel value between rows and training samples is NaN or infinite.
    #[error("the kernel of the rows has a value that is not finite; scale the features down")]
    KernelNotFinite,
    /// The decision values of a row are NaN or infinite, so no class can be chosen.
    #[error("the decision values of row {row} are not finite; scale the features down")]
    DecisionNotFinite {
        /// Row, from 0.
        row: usize,
    },
    /// Kernel values come from another training set than the model.
    #[error("the kernel values are not those of the training set that the model was fitted on")]
    OtherSet,
    /// The kernel has a parameter outside its range.
    #[error("bad kernel: {0}")]
    Kernel(#[from] BadParameter),
    /// The storage has a parameter outside its range.
    #[error("bad storage: {0}")]
    Storage(BadParameter),
}

/// Why a fit ended without a model.
///
/// ```
/// use npsvc::{FitError, FitOptions, Kernel, Method, Svm, TrainingSet, ndarray::array};
///
/// let set = TrainingSet::new(array![[0.0], [1.0]], vec![0, 0], &Kernel::default())?;
/// let error = Svm::default().fit(&set, FitOptions::default()).unwrap_err();
/// assert_eq!(error, FitError::OneClass);
/// # Ok::<(), npsvc::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// A parameter is outside its range.
    #[error("bad parameter: {0}")]
    Parameter(#[from] BadParameter),
    /// The kernel matrix contains NaN or infinity.
    #[error("the kernel matrix contains a value that is not finite; scale the features down")]
    KernelNotFinite,
    /// The kernel matrix is not positive semidefinite, by far more than rounding.
    #[error(
        "the kernel matrix is indefinite: k(i, i) k(j, j) < k(i, j)^2 for the samples i = {i}, j = {j}"
    )]
    KernelIndefinite {
        /// Row of a sample, from 0.
        i: usize,
        /// Row of a sample. If it is equal to `i`, then `k(i, i)` is negative.
        j: usize,
    },
    /// The hyperplane of a class is zero up to rounding, so its distance to a sample means nothing.
    #[error(
        "the hyperplane of class {class} is zero up to rounding; scale the features, or raise `c`"
    )]
    ZeroHyperplane {
        /// The class.
        class: usize,
    },
    /// A class has no training sample.
    #[error("class {class} has no training sample; number the classes 0, 1, .. without gaps")]
    EmptyClass {
        /// The class.
        class: usize,
    },
    /// All training samples are of one class.
    #[error("all training samples are of one class, expected at least two classes")]
    OneClass,
    /// A matrix that must be positive definite is not, in floating point.
    #[error("the kernel matrix plus {ridge} I is not positive definite (pivot {pivot})")]
    NotPositiveDefinite {
        /// What was added to the diagonal.
        ridge: f64,
        /// Where the factorisation failed.
        pivot: usize,
    },
    /// The representation has more dimensions than the kernel matrix has rank.
    #[error(
        "`d` is {d}, but the kernel matrix has a numerical rank of only {rank}; lower `d` or raise \
         `jitter`"
    )]
    Rank {
        /// Dimensions asked for.
        d: usize,
        /// Numerical rank of the kernel matrix.
        rank: usize,
    },
    /// Rounding errors dominate the learned representation.
    #[error(
        "the kernel matrix is singular, and rounding errors dominate the representation; raise \
         `jitter`"
    )]
    Singular,
    /// The model or its certificate contains NaN or infinity.
    #[error("the fit produced a value that is not a number; try a larger regulariser")]
    NotFinite,
    /// A method from outside this crate failed.
    #[error("{0}")]
    Other(String),
}
