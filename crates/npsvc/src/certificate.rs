//! Certificates: the objective a solver reached, a bound on the optimum, and why the solver stopped.
//!
//! ```text
//! dual <= optimum <= primal,    gap = primal - dual
//! ```

use std::fmt;

/// The result of a solver, as numbers that can be checked.
///
/// For convex problems `dual` is a lower bound on the optimum, so `gap` bounds the error of `primal`.
/// Methods without such a bound (K-NPSVC++, the reweighted methods, GEPSVM, networks) document what
/// their `dual` and `gap` mean.
///
/// ```
/// use npsvc::ndarray::array;
/// use npsvc::{FitOptions, Kernel, Method, Termination, TrainingSet, Twsvm};
///
/// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
/// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
/// let model = Twsvm { tolerance: 1e-4, ..Twsvm::default() }.fit(&set, FitOptions::default())?;
/// let certificate = model.certificate();
/// assert_eq!(certificate.termination, Termination::Solved);
/// // No solver can find an objective below `dual`.
/// assert!(certificate.primal - certificate.dual <= 1e-4 * certificate.primal);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certificate {
    /// Objective of the returned point.
    pub primal: f64,
    /// Lower bound on the optimal objective, if the problem is convex.
    pub dual: f64,
    /// `primal - dual`. It is never negative, except for rounding.
    pub gap: f64,
    /// Number of iterations. Each solver documents what it counts.
    pub iterations: usize,
    /// Why the solver stopped.
    pub termination: Termination,
}

/// Why a solver stopped, from the best case to the worst.
///
/// ```
/// use npsvc::Termination;
///
/// assert!(Termination::Solved < Termination::Stalled);
/// assert_eq!(Termination::IterationLimit.to_string(), "iteration-limit");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Termination {
    /// The stopping rule is met.
    Solved,
    /// No step improves the objective beyond rounding, and the gap is at most ten times the tolerance.
    AlmostSolved,
    /// All epochs of a network are done. There is no stopping rule to meet.
    EpochsDone,
    /// The iteration limit was reached before the stopping rule was met.
    #[default]
    IterationLimit,
    /// No step improves the objective beyond rounding, and the gap is larger than that.
    Stalled,
    /// The input holds, or leads to, numbers that are not finite.
    NumericalError,
}

/// The name in ledgers, such as `iteration-limit`.
impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Solved => "solved",
            Self::AlmostSolved => "almost-solved",
            Self::EpochsDone => "epochs-done",
            Self::IterationLimit => "iteration-limit",
            Self::Stalled => "stalled",
            Self::NumericalError => "numerical-error",
        })
    }
}

impl Termination {
    /// `Solved` if the stopping rule `is_met`.
    pub(crate) fn solved_or(otherwise: Self, is_met: bool) -> Self {
        if is_met { Self::Solved } else { otherwise }
    }

    /// Why a solver stopped that has found no step that improves the objective. The stopping rule
    /// accepts a gap of `tolerance`.
    pub(crate) fn without_progress(gap: f64, tolerance: f64) -> Self {
        const ALMOST: f64 = 10.0;
        if gap <= tolerance {
            Self::Solved
        } else if gap <= ALMOST * tolerance {
            Self::AlmostSolved
        } else {
            Self::Stalled
        }
    }
}

impl Certificate {
    /// The certificate of a solver that stopped because of `termination`. If a number is not finite,
    /// the termination is [`Termination::NumericalError`].
    pub(crate) fn new(
        [primal, dual, gap]: [f64; 3],
        iterations: usize,
        termination: Termination,
    ) -> Self {
        let are_finite = [primal, dual, gap].iter().all(|number| number.is_finite());
        let termination = if are_finite { termination } else { Termination::NumericalError };
        Self { primal, dual, gap, iterations, termination }
    }

    /// Whether the stopping rule is met, possibly in its weaker form.
    pub fn converged(&self) -> bool {
        matches!(self.termination, Termination::Solved | Termination::AlmostSolved)
    }

    /// The certificate after the objective is multiplied by `scale > 0`.
    ///
    /// ```
    /// use npsvc::Certificate;
    ///
    /// let certificate = Certificate { primal: 3.0, dual: 2.0, gap: 1.0, ..Certificate::default() };
    /// let twice = certificate.scaled(2.0);
    /// assert_eq!([twice.primal, twice.dual, twice.gap], [6.0, 4.0, 2.0]);
    /// ```
    pub fn scaled(self, scale: f64) -> Self {
        let numbers = [self.primal, self.dual, self.gap].map(|number| scale * number);
        Self::new(numbers, self.iterations, self.termination)
    }

    /// The certificate of several independent problems: sums, and the worst termination.
    ///
    /// ```
    /// use npsvc::{Certificate, Termination};
    ///
    /// let part = |termination| Certificate { gap: 0.5, termination, ..Certificate::default() };
    /// let total = Certificate::total([Termination::Solved, Termination::Stalled].map(part));
    /// assert_eq!((total.gap, total.termination), (1.0, Termination::Stalled));
    /// ```
    pub fn total(parts: impl IntoIterator<Item = Self>) -> Self {
        let zero = Self { termination: Termination::Solved, ..Self::default() };
        parts.into_iter().fold(zero, |sum, part| {
            let numbers = [sum.primal + part.primal, sum.dual + part.dual, sum.gap + part.gap];
            let iterations = sum.iterations + part.iterations;
            Self::new(numbers, iterations, sum.termination.max(part.termination))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_keeps_the_worst_termination() {
        let part = |termination| Certificate {
            primal: 3.0,
            dual: 2.0,
            gap: 1.0,
            iterations: 7,
            termination,
        };
        let total = Certificate::total([Termination::Solved, Termination::AlmostSolved].map(part));
        assert_eq!((total.primal, total.gap, total.iterations), (6.0, 2.0, 14));
        assert_eq!(total.termination, Termination::AlmostSolved);
        assert!(total.converged());
        let worse = [Termination::NumericalError, Termination::IterationLimit];
        let total = Certificate::total(worse.map(part));
        assert_eq!(total.termination, Termination::NumericalError);
        assert!(Certificate::total([]).converged());
    }

    #[test]
    fn numbers_that_are_not_finite_never_converge() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let certificate = Certificate::new([1.0, number, 0.0], 1, Termination::Solved);
            assert_eq!(certificate.termination, Termination::NumericalError);
        }
    }

    #[test]
    fn sums_and_multiples_that_overflow_do_not_converge() {
        let termination = Termination::Solved;
        let large = Certificate { primal: f64::MAX, termination, ..Certificate::default() };
        assert!(large.converged() && !large.scaled(2.0).converged());
        assert!(!Certificate::total([large, large]).converged());
    }

    #[test]
    fn without_progress_the_gap_decides() {
        let ends = [1.0, 10.0, 10.1, f64::NAN].map(|gap| Termination::without_progress(gap, 1.0));
        let (almost, stalled) = (Termination::AlmostSolved, Termination::Stalled);
        assert_eq!(ends, [Termination::Solved, almost, stalled, stalled]);
    }
}
