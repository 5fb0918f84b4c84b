//! What fits of a sweep share along `gamma` and along `c`.
//!
//! `gamma` only affects the tau-step. If that puts all weight on the class with the largest objective,
//! as it mostly does, every larger `gamma` gives the same weights. Two fits that agree in everything
//! else then have the same iterations, to the bit, until their weights differ. Only the first fit has
//! to compute them.
//!
//! `c` only affects the u-step, as the bound of its multipliers. If all multipliers stay below a
//! smaller `c`, that `c` bounds nothing either: a solution in the larger box that lies in the smaller
//! one is the solution there, with the same dual objective and a primal one that is not larger. If all
//! QPs of such a fit were solved, it is also the fit of the smaller `c`, within the tolerance of the
//! QPs.

use std::sync::Arc;

use faer::Mat;

use super::algorithm::Turn;
use super::{KNpsvcpp, Start};
use crate::Fit;
use crate::solve::stiefel::Frame;

/// Largest memory for the steps of a path, and for finished fits.
const MOST_BYTES: usize = 1 << 27;

/// One iteration: `U`, `V` and `P` under fixed weights, the weights chosen then, and the frame that
/// the gradient step under these weights leads to.
struct Step {
    turn: Arc<Turn>,
    tau: Vec<f64>,
    next: Arc<Frame>,
}

impl Step {
    /// Roughly: the frames, the gradient of the manifold term and the functions.
    fn bytes(&self) -> usize {
        let numbers = |m: &Mat<f64>| m.nrows() * m.ncols();
        size_of::<f64>() * (6 * numbers(&self.turn.frame.at) + 3 * numbers(&self.turn.u.b))
    }
}

/// A finished fit, kept for smaller `c`.
struct Finished {
    options: KNpsvcpp,
    /// The largest multiplier of all its iterations.
    largest: f64,
    fit: Fit,
}

/// The iterations of the last fit of a chain, and finished fits.
pub(crate) struct Path {
    /// The options without those that only affect the weights and the end.
    options: KNpsvcpp,
    start: Arc<Start>,
    steps: Vec<Step>,
    finished: Vec<Finished>,
}

impl Path {
    /// Continues `last`, the path of the last fit, if it began at the same point.
    pub fn new(last: Option<Self>, options: &KNpsvcpp, start: &Arc<Start>) -> Self {
        let options = common(options);
        let last = last.filter(|last| *last.start == **start);
        match last {
            Some(last) if last.options == options => last,
            last => Self {
                options,
                start: start.clone(),
                steps: Vec::new(),
                finished: last.map_or_else(Vec::new, |last| last.finished),
            },
        }
    }

    /// The fit with these options, if a fit with a larger `c` turned out to be the same.
    pub fn finished(&self, options: &KNpsvcpp) -> Option<&Fit> {
        let serves = |one: &&Finished| {
            let KNpsvcpp { c, .. } = one.options;
            let are_alike = one.options == KNpsvcpp { c, ..options.clone() };
            are_alike && one.largest <= options.c && options.c <= c
        };
        self.finished.iter().find(serves).map(|one| &one.fit)
    }

    /// Keeps a fit whose multipliers were all at most `largest`, if `c` did not bound them.
    pub fn finish(&mut self, options: &KNpsvcpp, largest: f64, fit: &Fit) {
        let Start { frame, v } = &*self.start;
        let numbers = frame.at.ncols() * (frame.d() + v.ncols());
        let bytes = (self.finished.len() + 1) * numbers * size_of::<f64>();
        if largest < options.c && bytes <= MOST_BYTES {
            self.finished.push(Finished { options: options.clone(), largest, fit: fit.clone() });
        }
    }
}

/// A fit on its way along a path.
pub(super) struct Walk<'a> {
    /// `None` if nothing is kept.
    path: Option<&'a mut Path>,
    /// Number of steps so far.
    steps: usize,
}

impl<'a> Walk<'a> {
    pub fn new(path: Option<&'a mut Path>) -> Self {
        Self { path, steps: 0 }
    }

    /// The next step, if another fit has computed it.
    fn known(&self) -> Option<&Step> {
        self.path.as_ref()?.steps.get(self.steps)
    }

    /// The next turn: known, or computed by `make`.
    pub fn turn(&self, make: impl FnOnce() -> Turn) -> Arc<Turn> {
        let known = self.known().map(|step| step.turn.clone());
        known.unwrap_or_else(|| Arc::new(make()))
    }

    /// The next frame after `turn` under the weights `tau`: known, or computed by `make`. A step that
    /// is not known replaces what other fits did from here on.
    pub fn next(
        &mut self,
        turn: &Arc<Turn>,
        tau: &[f64],
        make: impl FnOnce() -> Frame,
    ) -> Arc<Frame> {
        if let Some(step) = self.known().filter(|step| step.tau == tau) {
            let next = step.next.clone();
            self.steps += 1;
            return next;
        }
        let next = Arc::new(make());
        let Some(path) = &mut self.path else {
            return next;
        };
        path.steps.truncate(self.steps);
        self.steps += 1;
        let step = Step { turn: turn.clone(), tau: tau.to_vec(), next: next.clone() };
        if (path.steps.len() + 1) * step.bytes() <= MOST_BYTES {
            path.steps.push(step);
        } else {
            self.path = None;
        }
        next
    }
}

fn common(options: &KNpsvcpp) -> KNpsvcpp {
    let KNpsvcpp { gamma, tau_momentum, max_iter, tolerance, .. } = KNpsvcpp::default();
    KNpsvcpp { gamma, tau_momentum, max_iter, tolerance, ..options.clone() }
}
