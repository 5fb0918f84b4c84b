//! Every method of this crate as a linfa model.
//!
//! A [`Learner`] holds a method, a kernel and what else a fit needs. As everywhere in linfa,
//! `check()` turns it into a [`CheckedLearner`], whose `fit` never sees a bad value; calling `fit`
//! on the learner itself does both. The result, [`Trained`], predicts the labels it was given:
//! any numbers, not only `0..K`.
//!
//! ```
//! use linfa::prelude::*;
//! use ndarray::{Array1, Array2};
//! use npsvcpp::model::Svm;
//! use npsvcpp::model::linfa::{Error, Learner};
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
//! let model = Learner::new(svm).fit(&dataset)?;
//! assert!(model.certificate().converged);
//!
//! let accuracy = model
//!     .predict(&dataset)
//!     .confusion_matrix(&dataset)?
//!     .accuracy();
//! assert_eq!(accuracy, 1.0);
//! # Ok(())
//! # }
//! ```

use std::marker::PhantomData;

use faer::Par;
use linfa::ParamGuard;
use linfa::dataset::{AsSingleTargets, DatasetBase};
use linfa::traits::{self, PredictInplace};
use ndarray::{Array1, Array2, ArrayBase, ArrayView2, Data, Ix2};

use super::{
    BadParameter, Fit, FitError, KernelMachine, Method, Problem, Shape, TraceRow, fit_finite,
};
use crate::kernel::{Kernel, Resolved, Width};
use crate::seed::Seed;
use crate::solve::Certificate;

/// Why a learner could not be trained or a model not be asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("bad parameter: {0}")]
    Parameter(#[from] BadParameter),
    #[error("row {row}, column {column} of the records is {value}, expected a finite number")]
    NotFinite {
        row: usize,
        column: usize,
        value: f64,
    },
    #[error("all targets are {label}, expected at least two classes")]
    OneClass { label: usize },
    #[error("the records have {found} columns, the model was trained on {expected}")]
    Dimensions { found: usize, expected: usize },
    #[error(transparent)]
    Fit(#[from] FitError),
    /// Shapes that do not fit together, in linfa's words.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}

/// A method with all a fit needs, not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Learner<M: Method>(CheckedLearner<M>);

/// A [`Learner`] whose values are known to be good.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedLearner<M: Method> {
    method: M,
    kernel: Kernel,
    jitter: f64,
    seed: u64,
    par: Par,
}

impl<M: Method> Learner<M> {
    /// The Gaussian kernel with the paper's width, jitter 1e-6, seed 0, all threads.
    pub fn new(method: M) -> Self {
        Self(CheckedLearner {
            method,
            kernel: Kernel::default(),
            jitter: 1e-6,
            seed: 0,
            par: Par::rayon(0),
        })
    }

    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.0.kernel = kernel;
        self
    }

    /// What is added to the diagonal of the training kernel matrix.
    pub fn jitter(mut self, jitter: f64) -> Self {
        self.0.jitter = jitter;
        self
    }

    /// The root of all random choices.
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// How many threads to use.
    pub fn par(mut self, par: Par) -> Self {
        self.0.par = par;
        self
    }
}

impl<M: Method> Default for Learner<M> {
    fn default() -> Self {
        Self::new(M::default())
    }
}

impl<M: Method> ParamGuard for Learner<M> {
    type Checked = CheckedLearner<M>;
    type Error = BadParameter;

    fn check_ref(&self) -> Result<&CheckedLearner<M>, BadParameter> {
        self.0.method.check()?;
        check_kernel(&self.0.kernel)?;
        BadParameter::unless_not_negative("jitter", self.0.jitter)?;
        Ok(&self.0)
    }

    fn check(self) -> Result<CheckedLearner<M>, BadParameter> {
        self.check_ref()?;
        Ok(self.0)
    }
}

fn check_kernel(kernel: &Kernel) -> Result<(), BadParameter> {
    match kernel {
        Kernel::Gaussian(gaussian) => match gaussian.width {
            Width::MeanSquaredDistance => Ok(()),
            Width::Fixed(width) => BadParameter::unless_positive("width", width),
        },
        Kernel::Linear => Ok(()),
        Kernel::Polynomial(polynomial) => {
            let finite = |name, value: f64| {
                BadParameter::unless(value.is_finite(), name, value, "a finite number")
            };
            finite("offset", polynomial.offset)?;
            finite("scale", polynomial.scale)?;
            let degree = polynomial.degree;
            BadParameter::unless((1..=20).contains(&degree), "degree", degree, "1 to 20")
        }
    }
}

impl<M: Method> CheckedLearner<M> {
    pub fn method(&self) -> &M {
        &self.method
    }
}

impl<D, T, M> traits::Fit<ArrayBase<D, Ix2>, T, Error> for CheckedLearner<M>
where
    D: Data<Elem = f64>,
    T: AsSingleTargets<Elem = usize>,
    M: Method,
{
    type Object = Trained<M>;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<Trained<M>, Error> {
        let x = dataset.records.to_owned();
        let targets = dataset.targets.as_targets();
        if x.nrows() != targets.len() {
            return Err(linfa::Error::MismatchedShapes(x.nrows(), targets.len()).into());
        }
        let mut labels = targets.to_vec();
        labels.sort_unstable();
        labels.dedup();
        match labels[..] {
            [] => return Err(linfa::Error::NotEnoughSamples.into()),
            [label] => return Err(Error::OneClass { label }),
            _ => check_finite(x.view())?,
        }
        // Every target is among the sorted labels, and its place there is its class.
        let y = targets
            .iter()
            .map(|target| labels.partition_point(|label| label < target));
        let y: Vec<usize> = y.collect();
        self.method.check_shape(Shape {
            n: x.nrows(),
            dims: x.ncols(),
            classes: labels.len(),
            rank: None,
        })?;

        let problem = Problem::new(
            x.clone(),
            y,
            labels.len(),
            &self.kernel,
            self.jitter,
            self.par,
        );
        let fit = fit_finite(&self.method, &problem, &Seed::root(self.seed))?;
        Ok(Trained {
            kernel: problem.kernel().clone(),
            samples: x,
            labels,
            fit,
            par: self.par,
            method: PhantomData,
        })
    }
}

fn check_finite(x: ArrayView2<'_, f64>) -> Result<(), Error> {
    let bad = x.indexed_iter().find(|(_, value)| !value.is_finite());
    match bad {
        Some(((row, column), &value)) => Err(Error::NotFinite { row, column, value }),
        None => Ok(()),
    }
}

/// A trained method with the samples its kernel expansions run over.
#[derive(Clone, Debug)]
pub struct Trained<M: Method> {
    samples: Array2<f64>,
    kernel: Resolved,
    labels: Vec<usize>,
    fit: Fit,
    par: Par,
    method: PhantomData<M>,
}

impl<M: Method> Trained<M> {
    /// The label of every row, or why the rows cannot be judged.
    pub fn try_predict(&self, rows: ArrayView2<'_, f64>) -> Result<Array1<usize>, Error> {
        let (found, expected) = (rows.ncols(), self.samples.ncols());
        if found != expected {
            return Err(Error::Dimensions { found, expected });
        }
        check_finite(rows)?;
        let cross = self.kernel.cross(rows, self.samples.view(), self.par);
        let classes = self.fit.machine.predict(cross.as_ref(), self.par);
        Ok(classes
            .into_iter()
            .map(|class| self.labels[class])
            .collect())
    }

    /// How well the training problem was solved.
    pub fn certificate(&self) -> Certificate {
        self.fit.certificate
    }

    /// The record of the iterations, for methods that keep one.
    pub fn trace(&self) -> &[TraceRow] {
        &self.fit.trace
    }

    /// The functions behind the predictions, one row of coefficients per training sample.
    pub fn machine(&self) -> &KernelMachine {
        &self.fit.machine
    }

    /// The labels of the classes, ascending.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }
}

/// # Panics
/// linfa's trait cannot fail: rows of another width than the training samples, values that are
/// not finite, and a target array of another length panic. [`Trained::try_predict`] returns an
/// error instead.
impl<D, M> PredictInplace<ArrayBase<D, Ix2>, Array1<usize>> for Trained<M>
where
    D: Data<Elem = f64>,
    M: Method,
{
    fn predict_inplace<'a>(&'a self, rows: &'a ArrayBase<D, Ix2>, targets: &mut Array1<usize>) {
        assert_eq!(
            rows.nrows(),
            targets.len(),
            "one target is needed for every row"
        );
        match self.try_predict(rows.view()) {
            Ok(predicted) => *targets = predicted,
            Err(error) => panic!("{error}"),
        }
    }

    fn default_target(&self, rows: &ArrayBase<D, Ix2>) -> Array1<usize> {
        Array1::zeros(rows.nrows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Gaussian, Polynomial};
    use crate::model::Svm;
    use linfa::Dataset;
    use linfa::traits::{Fit as _, Predict as _};
    use ndarray::array;

    fn four() -> Array2<f64> {
        array![[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]]
    }

    fn error(learner: Learner<Svm>, x: Array2<f64>, y: Array1<usize>) -> String {
        let outcome = learner.fit(&Dataset::new(x, y));
        outcome.expect_err("this is no training set").to_string()
    }

    #[test]
    fn labels_may_be_any_numbers() {
        let y = array![usize::MAX, usize::MAX, 7, 7];
        let model = Learner::new(Svm::default())
            .fit(&Dataset::new(four(), y.clone()))
            .unwrap();
        assert_eq!(model.labels(), [7, usize::MAX]);
        assert_eq!(model.predict(&four()), y);
        assert_eq!(model.machine().coefficients.nrows(), 4);
    }

    #[test]
    fn views_and_every_kernel_work() {
        let kernels = [
            Kernel::default(),
            Kernel::Linear,
            Kernel::Polynomial(Polynomial::default()),
        ];
        let (x, y) = (four(), array![0, 0, 1, 1]);
        let dataset = DatasetBase::new(x.view(), y.view());
        for kernel in kernels {
            let learner = Learner::<Svm>::default().kernel(kernel.clone());
            let model = learner.par(Par::Seq).fit(&dataset).unwrap();
            assert_eq!(model.predict(&x.view()), y, "{kernel:?}");
        }
    }

    #[test]
    fn bad_parameters_are_named_before_anything_is_computed() {
        let learner = Learner::<Svm>::default;
        let fixed = |width| {
            Kernel::Gaussian(Gaussian {
                width: Width::Fixed(width),
            })
        };
        let polynomial = |degree, scale| {
            Kernel::Polynomial(Polynomial {
                degree,
                scale,
                ..Polynomial::default()
            })
        };
        let cases = [
            (
                Learner::new(Svm {
                    c: 0.0,
                    ..Svm::default()
                }),
                "c",
            ),
            (learner().jitter(-1.0), "jitter"),
            (learner().kernel(fixed(0.0)), "width"),
            (learner().kernel(polynomial(0, 1.0)), "degree"),
            (learner().kernel(polynomial(2, f64::NAN)), "scale"),
        ];
        for (learner, parameter) in cases {
            assert_eq!(learner.check_ref().unwrap_err().parameter, parameter);
            let text = error(learner, four(), array![0, 0, 1, 1]);
            assert!(
                text.starts_with(&format!("bad parameter: `{parameter}` is ")),
                "{text}"
            );
        }
        assert!(learner().check().is_ok());
    }

    #[test]
    fn bad_training_sets_are_explained() {
        let learner = Learner::<Svm>::default;
        let none = error(learner(), Array2::zeros((0, 2)), array![]);
        assert_eq!(none, "not enough samples");
        let one = error(learner(), four(), array![4, 4, 4, 4]);
        assert_eq!(one, "all targets are 4, expected at least two classes");
        let short = error(learner(), four(), array![0, 1]);
        assert_eq!(short, "The number of samples do not match: 4 - 2");
        let mut x = four();
        x[[2, 1]] = f64::NAN;
        let holes = error(learner(), x, array![0, 0, 1, 1]);
        assert_eq!(
            holes,
            "row 2, column 1 of the records is NaN, expected a finite number"
        );
    }

    #[test]
    fn rows_of_another_width_are_an_error() {
        let dataset = Dataset::new(four(), array![0, 0, 1, 1]);
        let model = Learner::<Svm>::default().fit(&dataset).unwrap();
        let error = model.try_predict(Array2::zeros((1, 3)).view()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the records have 3 columns, the model was trained on 2"
        );
        let nothing = model.try_predict(Array2::zeros((0, 2)).view()).unwrap();
        assert!(nothing.is_empty());
    }
}
