//! Verdicts per cell: what our number says about the paper's.

use super::summary::{Cell, Row};
use super::text::{counted, listed, number};
use crate::paper;
use crate::stats::{self, Reproduction, Sample, TTest};

/// Runs behind each of the paper's means.
const PAPER_RUNS: usize = 10;

/// A number of the paper, and ours compared with it.
#[derive(Clone, Debug)]
pub struct Versus {
    pub printed: &'static paper::Cell,
    /// Ours minus the paper's.
    pub difference: Option<f64>,
    /// Where both have a deviation, and the problem is the same.
    pub test: Option<TTest>,
    /// What ours says about the paper's.
    pub verdict: Reproduction,
}

impl Versus {
    pub(super) fn new(cell: &Cell, printed: &'static paper::Cell, other_problem: bool) -> Self {
        let difference = cell.mean.map(|mean| mean - printed.value);
        let test = || {
            let ours = Sample { mean: cell.mean?, deviation: cell.deviation?, n: cell.counts.done };
            let theirs =
                Sample { mean: printed.value, deviation: printed.deviation?, n: PAPER_RUNS };
            stats::welch(ours, theirs)
        };
        match difference.filter(|_| !other_problem) {
            Some(found) => {
                let test = test();
                let verdict = Reproduction::of(found, test.as_ref());
                Self { printed, difference, test, verdict }
            }
            None => Self { printed, difference, test: None, verdict: Reproduction::NotRun },
        }
    }

    /// The smallest difference that would have been called higher or lower; `None` where nothing was judged.
    pub fn smallest_seen(&self) -> Option<f64> {
        let judged = self.verdict != Reproduction::NotRun;
        judged.then(|| Reproduction::smallest_seen(self.test.as_ref()))
    }

    /// The word for the verdict, such as `reproduced`.
    pub fn word(&self) -> &'static str {
        self.verdict.word()
    }
}

/// The paper's time of a fit.
pub fn printed_seconds(dataset: &str, method: &str) -> Option<&'static paper::Cell> {
    let mut tables = paper::tables().iter().filter(|table| table.unit == paper::Unit::Seconds);
    tables.find_map(|table| table.cell(dataset, method))
}

/// What the verdicts mean.
pub fn legend() -> String {
    format!(
        "Verdict on a number of the paper: higher or lower if ours differs from it by Welch's test \
         (level {}, the paper's mean, deviation and {PAPER_RUNS} runs) and by more than {} points, or \
         by more than that alone where either is a single run; reproduced otherwise, which does not \
         show them to be equal; not run if we have no number for the same problem.",
        Reproduction::LEVEL,
        Reproduction::MARGIN
    )
}

/// How many of the paper's numbers there are of each verdict, as a sentence.
pub(super) fn sentence(table: &str, rows: &[Row]) -> Option<String> {
    let compared = || rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.paper.as_ref());
    compared().next()?;
    let parts = [
        (Reproduction::Reproduced, "reproduced"),
        (Reproduction::Higher, "higher here"),
        (Reproduction::Lower, "lower here"),
        (Reproduction::NotRun, "not run"),
    ]
    .map(|(verdict, word)| {
        let count = compared().filter(|versus| versus.verdict == verdict).count();
        format!("{count} {word}")
    });
    let others = rows.iter().filter(|row| row.other_problem).flat_map(|row| &row.cells);
    let others = others.filter(|cell| cell.paper.is_some() && cell.mean.is_some()).count();
    let others = if others > 0 {
        format!("; of the last, {others} have a number here, but of another problem")
    } else {
        String::new()
    };
    let reproduced = compared().filter(|versus| versus.verdict == Reproduction::Reproduced);
    Some(format!(
        "Of {} of the paper's Table {table}: {}{others}.{}",
        counted(compared().count(), "number"),
        listed(&parts),
        power(&reproduced.collect::<Vec<_>>())
    ))
}

/// What `reproduced` means at the deviations at hand; nothing if there is no such verdict.
fn power(reproduced: &[&Versus]) -> String {
    let mut seen: Vec<f64> =
        reproduced.iter().filter_map(|versus| versus.smallest_seen()).collect();
    seen.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (seen.first(), seen.last()) else {
        return String::new();
    };
    let range = if number(*least) == number(*most) {
        format!("{} points", number(*least))
    } else {
        let middle = [seen[(seen.len() - 1) / 2], seen[seen.len() / 2]];
        let median = number(middle.iter().sum::<f64>() / 2.0);
        format!("{} to {} points (median {median})", number(*least), number(*most))
    };
    let is_significant =
        |versus: &&&Versus| versus.test.as_ref().is_some_and(|test| test.p < Reproduction::LEVEL);
    let small = reproduced.iter().filter(is_significant).count();
    let but = match small {
        0 => String::new(),
        some => format!(
            ", or in {} only by {} points or less",
            counted(some, "case"),
            Reproduction::MARGIN
        ),
    };
    format!(
        " Reproduced only means not told apart{but}: a difference had to exceed {range} to be counted."
    )
}
