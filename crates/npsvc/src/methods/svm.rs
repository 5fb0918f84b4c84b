//! One-versus-one support vector machines with hinge loss and bias.
//!
//! For every pair of classes `(a, b)`, with `y = +1` on `a` and `-1` on `b`,
//!
//! ```text
//! min_{w, b}  1/2 |w|^2 + c sum_i [1 - y_i (<w, phi(x_i)> + b)]_+
//! ```
//!
//! over the samples of both classes. The class that wins most pairs is predicted. Unlike the nonparallel
//! methods, one hyperplane separates two classes instead of approximating one.

use faer::Mat;

use crate::algebra::each;
use crate::model::{KernelMachine, Rule, pairs};
use crate::params::{Range, method_parameters};
use crate::plain::Problem;
use crate::solve::smo::{Solution, StopRule, SvmDual};
use crate::sweep::ChainKey;
use crate::training_set::Shape;
use crate::{Certificate, FitError, FitOptions, Method, MethodInfo, Trained, TrainingSet};

method_parameters! {
    /// The support vector machine, one versus one.
    ///
    /// ```text
    /// min_{w, b}  1/2 |w|^2 + c sum_i [1 - y_i (<w, phi(x_i)> + b)]_+
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, Svm, TrainingSet};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let method = Svm { c: 10.0, tolerance: 1e-6, ..Svm::default() };
    /// let model = method.fit(&set, FitOptions::default())?;
    /// assert_eq!(model.predict(set.x())?, set.y());
    /// assert!(model.certificate().gap < 1e-5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Svm {
        /// Penalty for margin violations.
        c: f64 = 1.0, Range::Above(0.0);
        /// Largest accepted violation of the optimality condition.
        tolerance: f64 = 1e-3, Range::Above(0.0);
        /// Largest number of steps per pair of classes.
        max_iter: usize = 10_000_000, Range::Count(1);
    }
}

impl Method for Svm {
    fn info(&self) -> &'static MethodInfo {
        &MethodInfo {
            name: "svm",
            title: "SVM",
            about: "one-versus-one C-SVC: hinge loss, bias (Cortes and Vapnik, 1995)",
            losses: ["–", "[1 − a]₊ on the margin of a pair"],
            version: 1,
            learns_representation: false,
        }
    }

    fn problem(&self) -> Option<Problem> {
        Some(Problem::Pairs { c: self.c })
    }

    fn chain_key(&self) -> ChainKey {
        ChainKey::new(&Self { c: 0.0, ..self.clone() }, &[self.c], 0.0)
    }

    fn train(&self, set: &TrainingSet, options: &mut FitOptions<'_>) -> Result<Trained, FitError> {
        let stop = StopRule { tolerance: self.tolerance, max_iter: self.max_iter };
        Self::train_with(self.c, set, options, |dual| Ok(dual.solve(stop)))
    }
}

impl Svm {
    /// Trains with another solver of the two-class problems.
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::solve::smo::StopRule;
    /// use npsvc::{FitOptions, Kernel, Svm, TrainingSet};
    ///
    /// let x = array![[0.0], [1.0], [2.0]];
    /// let set = TrainingSet::new(x, vec![0, 1, 2], &Kernel::default())?;
    /// // A solver that stops after one step.
    /// let stop = StopRule { tolerance: 1e-3, max_iter: 1 };
    /// let trained =
    ///     Svm::train_with(1.0, &set, &FitOptions::default(), |dual| Ok(dual.solve(stop)))?;
    /// // One step for each of the three pairs of classes.
    /// assert_eq!(trained.certificate.iterations, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn train_with(
        c: f64,
        set: &TrainingSet,
        options: &FitOptions<'_>,
        solve: impl Fn(&SvmDual<'_>) -> Result<Solution, FitError> + Sync,
    ) -> Result<Trained, FitError> {
        let Shape { n, classes, .. } = set.shape();
        let members = |l: usize| (0..n).filter(|&i| set.y()[i] == l).collect();
        let members: Vec<Vec<usize>> = (0..classes).map(members).collect();
        let pairs: Vec<(usize, Vec<usize>)> = pairs(classes)
            .map(|(a, b)| (a, [members[a].as_slice(), &members[b]].concat()))
            .collect();
        // Computed before the pairs run in parallel, by all threads at once.
        let gram = set.full_matrix();
        let solve = |(a, samples): &(usize, Vec<usize>)| {
            solve(&SvmDual { gram, samples, positives: members[*a].len(), c })
        };
        let solved = each(options.par(set), &pairs, solve).into_iter();
        let solved: Vec<Solution> = solved.collect::<Result<_, _>>()?;
        // One column of coefficients per pair, zero for the samples of other classes.
        let mut coefficients = Mat::zeros(n, solved.len());
        for (pair, ((_, samples), solution)) in pairs.iter().zip(&solved).enumerate() {
            for (&i, &beta) in samples.iter().zip(&solution.beta) {
                coefficients[(i, pair)] = beta;
            }
        }
        let machine = KernelMachine {
            coefficients,
            offsets: solved.iter().map(|solution| solution.offset).collect(),
            rule: Rule::Vote { classes },
        };
        let certificates = solved.iter().map(|solution| solution.certificate);
        Ok(Trained::new(machine, Certificate::total(certificates)))
    }
}
