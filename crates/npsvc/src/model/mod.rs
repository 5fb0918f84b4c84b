//! A trained method: kernel expansions and a rule that turns their values into a class.
//!
//! ```text
//! f_l(x) = sum_i b_il k(x_i, x) + o_l          (KernelMachine)
//! z(x)   = A^T k(X, x) + offsets               (Representation)
//! ```

mod file;

use std::sync::Arc;

use faer::{Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2};

pub use file::LoadError;

use crate::algebra::add_product;
use crate::kernel::FittedKernel;
use crate::training_set::{TrainingSet, require_finite};
use crate::{Certificate, DataError, Scheme, TraceRow, Trained};

/// A trained method. It contains everything a prediction needs.
///
/// ```
/// use ndarray::array;
/// use npsvc::{FitOptions, Kernel, Lstwsvm, Method, Model, TrainingSet};
///
/// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
/// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
/// let model = Lstwsvm::default().fit(&set, FitOptions::default())?;
///
/// let mut file = Vec::new();
/// model.save(&mut file)?;
/// let copy = Model::load(&file[..])?;
/// let rows = array![[0.1, 0.1], [0.9, 0.9]];
/// assert_eq!(copy.predict(rows.view())?, model.predict(rows.view())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    expansion: Arc<Expansion>,
    machine: KernelMachine,
    representation: Option<Representation>,
    certificate: Certificate,
    trace: Vec<TraceRow>,
    par: Par,
}

/// The samples that functions are expansions in, and their kernel.
#[derive(Debug)]
pub(crate) struct Expansion {
    pub kernel: FittedKernel,
    /// One sample per row.
    pub x: Array2<f64>,
    /// Rows of the training set that the samples come from.
    pub support: Vec<usize>,
}

impl Expansion {
    /// Kernel values between `rows` and the samples.
    pub fn cross(
        self: &Arc<Self>,
        rows: ArrayView2<'_, f64>,
        par: Par,
    ) -> Result<CrossKernel, DataError> {
        let (found, expected) = (rows.ncols(), self.x.ncols());
        if found != expected {
            return Err(DataError::Features { found, expected });
        }
        require_finite(rows)?;
        let values = self.kernel.cross(rows, self.x.view(), par);
        Ok(CrossKernel { values, expansion: self.clone() })
    }
}

/// Kernel values between some rows and the samples that models of one training set need. Many models
/// can use them.
///
/// ```
/// use npsvc::ndarray::array;
/// use npsvc::{CrossKernel, FitOptions, Kernel, Lstwsvm, Method, TrainingSet};
///
/// let set = TrainingSet::new(array![[0.0], [0.1], [0.9], [1.0]], vec![0, 0, 1, 1], &Kernel::default())?;
/// let cross: CrossKernel = set.cross(array![[0.2], [0.8]].view())?;
/// for r in [0.1, 1.0] {
///     let model = Lstwsvm { r, ..Lstwsvm::default() }.fit(&set, FitOptions::default())?;
///     assert_eq!(model.predict_from(&cross)?, [0, 1]);
///     assert_eq!(model.decision_from(&cross)?.dim(), (2, 2));
///     assert!(model.transform_from(&cross)?.is_none());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CrossKernel {
    /// One row per row, one column per sample of the expansion.
    values: Mat<f64>,
    expansion: Arc<Expansion>,
}

/// Functions `f_l(x) = sum_i coefficients[i, l] k(x_i, x) + offsets[l]` and a [`Rule`].
///
/// ```
/// use npsvc::ndarray::array;
/// use npsvc::{FitOptions, Kernel, Method, Rule, Svm, TrainingSet};
///
/// let set = TrainingSet::new(array![[0.0], [1.0], [2.0]], vec![0, 1, 2], &Kernel::default())?;
/// let model = Svm::default().fit(&set, FitOptions::default())?;
/// // One function per pair of classes, one coefficient per sample.
/// let machine = model.machine();
/// assert_eq!(machine.coefficients.shape(), (3, 3));
/// assert_eq!(machine.rule, Rule::Vote { classes: 3 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelMachine {
    /// One column per function, one row per sample.
    pub coefficients: Mat<f64>,
    /// One number per function.
    pub offsets: Vec<f64>,
    /// How function values become a class.
    pub rule: Rule,
}

/// How function values become a class. The lower class wins ties.
///
/// ```
/// use npsvc::{Rule, Scheme};
///
/// let rule = Rule::of_scheme(Scheme::Rvo, vec![1.0, 2.0]);
/// assert_eq!(rule, Rule::Farthest { norms: vec![1.0, 2.0] });
/// assert_eq!(rule.classes(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// `argmin_l |f_l| / norms[l]`: the nearest hyperplane, for one versus rest.
    Nearest {
        /// Norm of each hyperplane.
        norms: Vec<f64>,
    },
    /// `argmax_l |f_l| / norms[l]`: the farthest hyperplane, for rest versus one.
    Farthest {
        /// Norm of each hyperplane.
        norms: Vec<f64>,
    },
    /// One function per pair of classes `(0, 1), (0, 2), ..`; a positive value is a vote for the
    /// first class of the pair.
    Vote {
        /// Number of classes.
        classes: usize,
    },
}

impl Rule {
    /// The rule of a scheme for hyperplanes with these norms.
    pub fn of_scheme(scheme: Scheme, norms: Vec<f64>) -> Self {
        match scheme {
            Scheme::Ovr => Self::Nearest { norms },
            Scheme::Rvo => Self::Farthest { norms },
        }
    }

    /// The norms of the hyperplanes; empty for votes.
    pub(crate) fn norms(&self) -> &[f64] {
        match self {
            Self::Nearest { norms } | Self::Farthest { norms } => norms,
            Self::Vote { .. } => &[],
        }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        match self {
            Self::Nearest { norms } | Self::Farthest { norms } => norms.len(),
            Self::Vote { classes } => *classes,
        }
    }

    /// One value per class, larger means more likely, from the function values `f`. The first
    /// largest value belongs to the predicted class.
    fn decide(&self, f: impl Fn(usize) -> f64, values: &mut [f64]) {
        let (norms, sign) = match self {
            Self::Nearest { norms } => (norms, -1.0),
            Self::Farthest { norms } => (norms, 1.0),
            Self::Vote { classes } => return decide_by_votes(*classes, f, values),
        };
        for (l, (value, norm)) in values.iter_mut().zip(norms).enumerate() {
            *value = sign * (f(l).abs() / norm);
        }
    }
}

/// scikit-learn's `ovr` form of the votes: a sum of confidences, squeezed below a third of a vote,
/// is added. Where classes tie, that sum may rank another class first than LIBSVM's rule, which takes
/// the lowest; then the two classes swap their values.
fn decide_by_votes(classes: usize, f: impl Fn(usize) -> f64, values: &mut [f64]) {
    let mut confidences = vec![0.0; classes];
    values.fill(0.0);
    for (pair, (a, b)) in pairs(classes).enumerate() {
        let f = f(pair);
        values[if f > 0.0 { a } else { b }] += 1.0;
        confidences[a] += f;
        confidences[b] -= f;
    }
    let predicted = first_maximum(values);
    for (value, sum) in values.iter_mut().zip(&confidences) {
        *value += sum / (3.0 * (sum.abs() + 1.0));
    }
    values.swap(predicted, first_maximum(values));
}

/// All pairs `(a, b)` with `a < b < classes`, in LIBSVM's order.
///
/// ```
/// assert!(npsvc::pairs(3).eq([(0, 1), (0, 2), (1, 2)]));
/// ```
pub fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |a| (a + 1..classes).map(move |b| (a, b)))
}

fn first_maximum(values: &[f64]) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (l, &value) in values.iter().enumerate() {
        if value > best.1 {
            best = (l, value);
        }
    }
    best.0
}

/// A learned representation `z(x) = frame^T k(X, x) + offsets`, as [`Method::train`](crate::Method::train)
/// returns it.
///
/// ```
/// use npsvc::Representation;
/// use npsvc::faer::mat;
///
/// // Two samples, one dimension: z(x) = k(x_1, x) - k(x_2, x).
/// let z = Representation { frame: mat![[1.0], [-1.0]], offsets: vec![0.0] };
/// assert_eq!((z.frame.nrows(), z.frame.ncols()), (2, z.offsets.len()));
/// ```
#[derive(Clone, Debug)]
pub struct Representation {
    /// One column per dimension of `z`, one row per sample.
    pub frame: Mat<f64>,
    /// One number per dimension of `z`.
    pub offsets: Vec<f64>,
}

impl Model {
    pub(crate) fn new(trained: Trained, set: &TrainingSet, par: Par) -> Self {
        let Trained { mut machine, certificate, trace, mut representation } = trained;
        if let Some(factor) = set.factor() {
            let move_to_pivots = |b: &mut Mat<f64>| *b = factor.on_pivots(b.as_ref(), par);
            move_to_pivots(&mut machine.coefficients);
            if let Some(representation) = &mut representation {
                move_to_pivots(&mut representation.frame);
            }
        }
        let expansion = set.expansion().clone();
        Self { expansion, machine, representation, certificate, trace, par }
    }

    /// The class of each row.
    pub fn predict(&self, rows: ArrayView2<'_, f64>) -> Result<Vec<usize>, DataError> {
        self.predict_from(&self.expansion.cross(rows, self.par)?)
    }

    /// One value per row and class; larger means more likely. The first largest value of a row
    /// belongs to the class that [`Self::predict`] returns.
    ///
    /// Nonparallel methods return distances to hyperplanes, negative under one versus rest. The
    /// one-versus-one SVM returns votes with scikit-learn's tie-breaking confidences.
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, Svm, TrainingSet};
    ///
    /// let set = TrainingSet::new(array![[0.0], [1.0], [2.0]], vec![0, 1, 2], &Kernel::default())?;
    /// let model = Svm::default().fit(&set, FitOptions::default())?;
    /// let decision = model.decision(array![[1.1]].view())?;
    /// assert_eq!(decision.dim(), (1, 3));
    /// assert!(decision[[0, 1]] > decision[[0, 0]] && decision[[0, 1]] > decision[[0, 2]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decision(&self, rows: ArrayView2<'_, f64>) -> Result<Array2<f64>, DataError> {
        self.decision_from(&self.expansion.cross(rows, self.par)?)
    }

    /// The learned representation `z` of each row; `None` if the method learns none.
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{Dimension, FitOptions, KNpsvcpp, Kernel, Method, TrainingSet, Twsvm};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let method = KNpsvcpp { d: Dimension::Fixed(2), ..KNpsvcpp::default() };
    /// let z = method.fit(&set, FitOptions::default())?.transform(set.x())?;
    /// assert_eq!(z.map(|z| z.dim()), Some((4, 2)));
    /// let none = Twsvm::default().fit(&set, FitOptions::default())?.transform(set.x())?;
    /// assert_eq!(none, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transform(&self, rows: ArrayView2<'_, f64>) -> Result<Option<Array2<f64>>, DataError> {
        self.transform_from(&self.expansion.cross(rows, self.par)?)
    }

    /// As [`Self::predict`], from kernel values of the training set this model was fitted on.
    pub fn predict_from(&self, cross: &CrossKernel) -> Result<Vec<usize>, DataError> {
        let (f, mut values) = (self.values(cross)?, vec![0.0; self.classes()]);
        let class = |i: usize| {
            self.decide(&f, i, &mut values)?;
            Ok(first_maximum(&values))
        };
        (0..f.nrows()).map(class).collect()
    }

    /// As [`Self::decision`], from kernel values of the training set this model was fitted on.
    pub fn decision_from(&self, cross: &CrossKernel) -> Result<Array2<f64>, DataError> {
        let f = self.values(cross)?;
        let mut decision = Array2::zeros((f.nrows(), self.classes()));
        for (i, mut row) in decision.rows_mut().into_iter().enumerate() {
            let values = row.as_slice_mut().expect("a new array is contiguous");
            self.decide(&f, i, values)?;
        }
        Ok(decision)
    }

    /// The decision values of row `i` from function values.
    fn decide(&self, f: &Mat<f64>, i: usize, values: &mut [f64]) -> Result<(), DataError> {
        self.machine.rule.decide(|l| f[(i, l)], values);
        let is_finite = values.iter().all(|value| value.is_finite());
        is_finite.then_some(()).ok_or(DataError::DecisionNotFinite { row: i })
    }

    /// As [`Self::transform`], from kernel values of the training set this model was fitted on.
    pub fn transform_from(&self, cross: &CrossKernel) -> Result<Option<Array2<f64>>, DataError> {
        let Some(Representation { frame, offsets }) = &self.representation else {
            return Ok(None);
        };
        let z = self.expand(cross, frame.as_ref(), offsets)?;
        Ok(Some(Array2::from_shape_fn((z.nrows(), z.ncols()), |(i, j)| z[(i, j)])))
    }

    /// Function values, one row per row of `cross`.
    fn values(&self, cross: &CrossKernel) -> Result<Mat<f64>, DataError> {
        let KernelMachine { coefficients, offsets, .. } = &self.machine;
        self.expand(cross, coefficients.as_ref(), offsets)
    }

    /// `cross coefficients + offsets`.
    fn expand(
        &self,
        cross: &CrossKernel,
        coefficients: MatRef<'_, f64>,
        offsets: &[f64],
    ) -> Result<Mat<f64>, DataError> {
        if !Arc::ptr_eq(&cross.expansion, &self.expansion) {
            return Err(DataError::OtherSet);
        }
        if !cross.values.is_all_finite() {
            return Err(DataError::KernelNotFinite);
        }
        let mut f = Mat::from_fn(cross.values.nrows(), offsets.len(), |_, l| offsets[l]);
        add_product(f.as_mut(), 1.0, cross.values.as_ref(), coefficients, self.par);
        Ok(f)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.machine.rule.classes()
    }

    /// How well the training problem was solved.
    pub fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// One row per iteration, for methods with an outer loop.
    pub fn trace(&self) -> &[TraceRow] {
        &self.trace
    }

    /// The functions and the rule behind the predictions.
    pub fn machine(&self) -> &KernelMachine {
        &self.machine
    }

    /// Rows of the training set that predictions need, ascending.
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, Svm, TrainingSet};
    ///
    /// let x = array![[0.0], [1.0], [2.0], [3.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::Linear)?;
    /// let model = Svm { c: 10.0, ..Svm::default() }.fit(&set, FitOptions::default())?;
    /// // The two samples at the margin.
    /// assert_eq!(model.support(), [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn support(&self) -> Vec<usize> {
        let mut support: Vec<usize> = self.needed().map(|i| self.expansion.support[i]).collect();
        support.sort_unstable();
        support
    }

    /// Rows of the training set that functions are expansions in, in the order of the coefficients.
    pub(crate) fn expansion_rows(&self) -> &[usize] {
        &self.expansion.support
    }

    /// Samples of the expansion with a coefficient other than zero.
    fn needed(&self) -> impl Iterator<Item = usize> {
        let frame = self.representation.as_ref().map(|z| &z.frame);
        let matrices: Vec<&Mat<f64>> =
            [Some(&self.machine.coefficients), frame].into_iter().flatten().collect();
        let is_needed = move |&i: &usize| {
            let is_used = |m: &&Mat<f64>| (0..m.ncols()).any(|l| m[(i, l)] != 0.0);
            matrices.iter().any(is_used)
        };
        (0..self.expansion.x.nrows()).filter(is_needed)
    }
}
