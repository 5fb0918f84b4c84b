//! What fits of a sweep leave for the next ones, along `gamma` and along `c`.
//!
//! `gamma` has a say in the tau-step alone, and where that puts all weight on the class with the
//! largest objective, as it mostly does, every larger `gamma` gives the same weights. Two fits that
//! agree in all else then go the same way, to the bit, until their weights differ, and only the first
//! has to be computed.
//!
//! `c` has a say in the u-step alone, as the bound of its multipliers. Where they never come near it,
//! a smaller `c` that is above them all bounds nothing either: a solution in the larger box that lies
//! in the smaller one is the solution there, its dual objective is the same and its primal one not
//! larger. Such a fit, if all its QPs were solved, is the fit of the smaller `c` as well, within the
//! tolerance of the larger one's QPs.

use std::sync::Arc;

use faer::Mat;

use super::hyperplanes::Hyperplanes;
use super::train::Weighed;
use super::{KNpsvcpp, Start};
use crate::model::{Fit, Problem};
use crate::solve::stiefel::Frame;

/// Most memory that a path may take, and that whole fits may.
const MOST_BYTES: usize = 1 << 27;

/// One iteration: what it came to before its tau-step, and after.
pub(super) struct Station {
    pub frame: Arc<Frame>,
    pub v: Mat<f64>,
    pub u: Arc<Hyperplanes>,
    /// Of the u-step's problems.
    pub solutions: Vec<Option<Vec<f64>>>,
    pub weighed: Arc<Weighed>,
    /// The weights that were chosen, and where `P` descended to under them.
    pub tau: Vec<f64>,
    pub descended: Arc<Frame>,
}

impl Station {
    /// Roughly: the frames, the gradient of the manifold term and the functions.
    fn bytes(&self) -> usize {
        let numbers = |m: &Mat<f64>| m.nrows() * m.ncols();
        size_of::<f64>() * (6 * numbers(&self.frame.at) + 3 * numbers(&self.u.b))
    }
}

/// A whole fit, kept for smaller `c`.
struct Finished {
    options: KNpsvcpp,
    /// The largest multiplier of all its iterations.
    largest: f64,
    fit: Fit,
}

impl Finished {
    fn serves(&self, options: &KNpsvcpp) -> bool {
        let KNpsvcpp { c, .. } = self.options;
        let are_alike = self.options
            == KNpsvcpp {
                c,
                ..options.clone()
            };
        are_alike && self.largest <= options.c && options.c <= c
    }
}

/// The way of a fit, as far as another one has gone it.
pub(super) struct Path {
    /// Without what has a say only in the choice of weights and in when to stop.
    options: KNpsvcpp,
    start: Start,
    stations: Vec<Station>,
    finished: Vec<Finished>,
    /// Iterations of this fit so far, all of them known.
    at: usize,
    is_known: bool,
    /// Whether there will be another fit to keep it for.
    is_kept: bool,
}

impl Path {
    /// The way of the last fit of the lane, if this one begins at the same place.
    pub fn of_lane(options: &KNpsvcpp, problem: &Problem, start: &Start) -> Self {
        let options = common(options);
        let last = problem.take_kept::<Self>();
        let last = last.filter(|last| last.start == *start);
        match last {
            Some(last) if last.options == options => Self {
                at: 0,
                is_known: true,
                ..*last
            },
            last => Self {
                options,
                start: start.clone(),
                stations: Vec::new(),
                finished: last.map_or_else(Vec::new, |last| last.finished),
                at: 0,
                is_known: true,
                is_kept: problem.is_lane(),
            },
        }
    }

    /// The fit with these options, if one with a larger `c` turned out to be it.
    pub fn finished(&self, options: &KNpsvcpp) -> Option<&Fit> {
        let found = self.finished.iter().find(|one| one.serves(options));
        found.map(|one| &one.fit)
    }

    /// The iteration that this fit is at, if another one has made it.
    pub fn known(&self) -> Option<&Station> {
        self.stations.get(self.at).filter(|_| self.is_known)
    }

    /// The iteration was as known.
    pub fn go_on(&mut self) {
        self.at += 1;
    }

    /// The iteration was another one, or nobody made it before.
    pub fn record(&mut self, station: impl FnOnce() -> Station) {
        if self.is_known {
            self.stations.truncate(self.at);
            self.is_known = false;
        }
        if !self.is_kept {
            return;
        }
        let station = station();
        if (self.stations.len() + 1) * station.bytes() <= MOST_BYTES {
            self.stations.push(station);
        } else {
            self.is_kept = false;
        }
    }

    /// Leaves the way for the next fit of the lane.
    pub fn leave(mut self, problem: &Problem) {
        self.is_kept = true;
        problem.keep(self);
    }

    /// As [`Self::leave`], and leaves the fit itself if `c` had no say in it: all its multipliers
    /// were `largest` at most.
    pub fn leave_with(mut self, problem: &Problem, options: &KNpsvcpp, largest: f64, fit: &Fit) {
        let Start { frame, v } = &self.start;
        let numbers = frame.at.ncols() * (frame.d() + v.ncols());
        let bytes = (self.finished.len() + 1) * numbers * size_of::<f64>();
        if problem.is_lane() && largest < options.c && bytes <= MOST_BYTES {
            self.finished.push(Finished {
                options: options.clone(),
                largest,
                fit: fit.clone(),
            });
        }
        self.leave(problem);
    }
}

/// The options without those that decide on nothing but weights and the end.
fn common(options: &KNpsvcpp) -> KNpsvcpp {
    let KNpsvcpp {
        gamma,
        tau_momentum,
        max_iter,
        tolerance,
        ..
    } = KNpsvcpp::default();
    KNpsvcpp {
        gamma,
        tau_momentum,
        max_iter,
        tolerance,
        ..options.clone()
    }
}
