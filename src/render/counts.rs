//! How splits ended: what the ledger says of each, and how many ended in which way.

use std::collections::BTreeMap;

use super::text::clean;
use crate::ledger::{Record, Status};

/// How splits ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub ok: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Planned, but not in the ledger.
    pub missing: usize,
}

impl Counts {
    /// How many splits the plan has.
    pub fn planned(self) -> usize {
        self.ok + self.failed + self.skipped + self.missing
    }

    /// Whether every planned split succeeded.
    pub fn complete(self) -> bool {
        self.ok > 0 && self.ok == self.planned()
    }

    pub(super) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Ok(..) => self.ok += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
            Outcome::Missing => self.missing += 1,
        }
    }
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            ok: self.ok + other.ok,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
            missing: self.missing + other.missing,
        }
    }
}

/// What the ledger says about one split of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Accuracy, and the seconds of the fit if they are known.
    Ok(f64, Option<f64>),
    Failed(String),
    Skipped(String),
    Missing,
}

impl Outcome {
    pub(super) fn of(record: Option<&Record>) -> Self {
        let Some(record) = record else {
            return Self::Missing;
        };
        let reason = || match &record.error {
            Some(error) => clean(error),
            None => "no reason given".to_owned(),
        };
        match (record.status, record.accuracy) {
            (Status::Ok, Some(accuracy)) if accuracy.is_finite() => {
                let seconds = record.fit_seconds.filter(|seconds| seconds.is_finite());
                Self::Ok(accuracy, seconds)
            }
            (Status::Ok, _) => Self::Failed("the record holds no accuracy".to_owned()),
            (Status::Failed, _) => Self::Failed(reason()),
            (Status::Skipped, _) => Self::Skipped(reason()),
        }
    }
}

/// Outcomes by row, column and split.
pub(super) type Outcomes = Vec<Vec<BTreeMap<usize, Outcome>>>;
