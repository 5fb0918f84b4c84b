//! What the fits of a chain reuse if only `gamma` or `c` changes.
//!
//! `gamma` only affects the tau-step. If that puts all weight on the class with the largest objective,
//! as it mostly does, every larger `gamma` gives the same weights. Two fits that agree in everything
//! else then have the same iterations, to the bit, until their weights differ. Only the first fit has
//! to compute them.
//!
//! `c` only affects the u-step, as the upper bound of its multipliers. Suppose that all multipliers stay
//! below a smaller `c`. Then the solution also lies in the smaller box, and it is the solution there: the
//! dual objective is the same, and the primal one is not larger. If all QPs of such a fit were solved, it
//! is also the fit of the smaller `c`, within the tolerance of the QPs.

use std::sync::Arc;

use faer::Mat;

use super::algorithm::Theta;
use super::{KNpsvcpp, Start};
use crate::Trained;
use crate::solve::stiefel::Frame;

/// Largest memory for the iterations of a history, and for finished fits.
const MOST_BYTES: usize = 1 << 27;

/// One iteration: its theta, the weights chosen then, and the frame that the gradient step under
/// these weights leads to.
struct PastIteration {
    theta: Arc<Theta>,
    tau: Vec<f64>,
    next: Arc<Frame>,
}

impl PastIteration {
    /// Roughly: the frames, the gradient of the manifold term and the functions.
    fn bytes(&self) -> usize {
        let numbers = |m: &Mat<f64>| m.nrows() * m.ncols();
        size_of::<f64>() * (6 * numbers(&self.theta.frame.at) + 3 * numbers(&self.theta.u.b))
    }
}

/// A finished fit, kept for smaller `c`.
struct FinishedFit {
    parameters: KNpsvcpp,
    /// The largest multiplier of all its iterations.
    largest: f64,
    trained: Trained,
}

/// The iterations of the last fit of a chain, and finished fits.
pub(crate) struct History {
    /// The parameters without those that only affect the weights and the end.
    parameters: KNpsvcpp,
    start: Arc<Start>,
    iterations: Vec<PastIteration>,
    finished: Vec<FinishedFit>,
}

impl History {
    /// Continues `last`, the history of the last fit, if it began at the same point.
    pub fn new(last: Option<Self>, parameters: &KNpsvcpp, start: &Arc<Start>) -> Self {
        let KNpsvcpp { gamma, tau_momentum, max_iter, tolerance, .. } = KNpsvcpp::default();
        let parameters =
            KNpsvcpp { gamma, tau_momentum, max_iter, tolerance, ..parameters.clone() };
        let last = last.filter(|last| *last.start == **start);
        match last {
            Some(last) if last.parameters == parameters => last,
            last => Self {
                parameters,
                start: start.clone(),
                iterations: Vec::new(),
                finished: last.map_or_else(Vec::new, |last| last.finished),
            },
        }
    }

    /// The fit with these parameters, if a fit with a larger `c` turned out to be the same.
    pub fn finished(&self, parameters: &KNpsvcpp) -> Option<&Trained> {
        let serves = |fit: &&FinishedFit| {
            let KNpsvcpp { c, .. } = fit.parameters;
            let are_alike = fit.parameters == KNpsvcpp { c, ..parameters.clone() };
            are_alike && fit.largest <= parameters.c && parameters.c <= c
        };
        self.finished.iter().find(serves).map(|fit| &fit.trained)
    }

    /// Keeps a fit whose multipliers were all at most `largest`, if `c` did not bound them.
    pub fn finish(&mut self, parameters: &KNpsvcpp, largest: f64, trained: &Trained) {
        let Start { frame, v } = &*self.start;
        let numbers = frame.at.ncols() * (frame.d() + v.ncols());
        let bytes = (self.finished.len() + 1) * numbers * size_of::<f64>();
        if largest < parameters.c && bytes <= MOST_BYTES {
            let (parameters, trained) = (parameters.clone(), trained.clone());
            self.finished.push(FinishedFit { parameters, largest, trained });
        }
    }
}

/// A fit that repeats the iterations of a history until its weights differ.
pub(super) struct Replay<'a> {
    /// `None` if nothing is kept.
    history: Option<&'a mut History>,
    /// Number of iterations so far.
    done: usize,
}

impl<'a> Replay<'a> {
    pub fn new(history: Option<&'a mut History>) -> Self {
        Self { history, done: 0 }
    }

    /// This iteration, if another fit has computed it.
    fn known(&self) -> Option<&PastIteration> {
        self.history.as_ref()?.iterations.get(self.done)
    }

    /// The theta of this iteration: known, or computed by `make`.
    pub fn theta(&self, make: impl FnOnce() -> Theta) -> Arc<Theta> {
        let known = self.known().map(|iteration| iteration.theta.clone());
        known.unwrap_or_else(|| Arc::new(make()))
    }

    /// The frame after `theta` under the weights `tau`: known, or computed by `make`. An iteration that
    /// is not known replaces what other fits did from here on.
    pub fn next_frame(
        &mut self,
        theta: &Arc<Theta>,
        tau: &[f64],
        make: impl FnOnce() -> Frame,
    ) -> Arc<Frame> {
        if let Some(iteration) = self.known().filter(|iteration| iteration.tau == tau) {
            let next = iteration.next.clone();
            self.done += 1;
            return next;
        }
        let next = Arc::new(make());
        let Some(history) = &mut self.history else {
            return next;
        };
        history.iterations.truncate(self.done);
        self.done += 1;
        let (theta, tau) = (theta.clone(), tau.to_vec());
        let iteration = PastIteration { theta, tau, next: next.clone() };
        if (history.iterations.len() + 1) * iteration.bytes() <= MOST_BYTES {
            history.iterations.push(iteration);
        } else {
            self.history = None;
        }
        next
    }
}
