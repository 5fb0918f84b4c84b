//! The iterations of a fit, kept for the next fits of a sweep along `gamma`.
//!
//! `gamma` has a say in the tau-step alone, and where that puts all weight on the class with the largest
//! objective, as it mostly does, every larger `gamma` gives the same weights. Two fits that agree in all else then go the same way, to the
//! bit, until their weights differ, and only the first has to be computed.

use faer::Mat;

use super::train::Weighed;
use super::{KNpsvcpp, Start};
use crate::model::Problem;
use crate::solve::stiefel::Frame;

/// Most memory that a path may take.
const MOST_BYTES: usize = 1 << 27;

/// One iteration: what it came to before its tau-step, and after.
pub(super) struct Station {
    pub frame: Frame,
    pub v: Mat<f64>,
    pub b: Mat<f64>,
    pub f: Mat<f64>,
    /// Of the u-step's problems.
    pub solutions: Vec<Option<Vec<f64>>>,
    pub are_solved: bool,
    pub weighed: Weighed,
    /// The weights that were chosen, and where `P` descended to under them.
    pub tau: Vec<f64>,
    pub descended: Frame,
}

impl Station {
    /// Roughly: the frames, the gradient of the manifold term and the functions.
    fn bytes(&self) -> usize {
        let numbers = |m: &Mat<f64>| m.nrows() * m.ncols();
        size_of::<f64>() * (6 * numbers(&self.frame.a) + 3 * numbers(&self.b))
    }
}

/// The way of a fit, as far as another one has gone it.
pub(super) struct Path {
    /// Without what has a say only in the choice of weights and in when to stop.
    options: KNpsvcpp,
    start: Start,
    stations: Vec<Station>,
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
        match last.filter(|last| last.options == options && last.start == *start) {
            Some(last) => Self {
                at: 0,
                is_known: true,
                ..*last
            },
            None => Self {
                options,
                start: start.clone(),
                stations: Vec::new(),
                at: 0,
                is_known: true,
                is_kept: problem.is_lane(),
            },
        }
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
