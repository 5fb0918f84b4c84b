//! Methods over all datasets: ranks with their tests, and wins, ties and losses.

use super::summary::{Cell, Column, Row};
use super::text::number;
use crate::stats::{self, CriticalDifference, Friedman, LEVEL, Pair, TTest, WinTieLoss};

/// Tests of the ranks of all methods. The average ranks are in the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    pub datasets: usize,
    /// From three methods on.
    pub friedman: Option<Friedman>,
    /// Signed-rank tests of all pairs of columns, adjusted by Holm.
    pub pairs: Vec<Pair>,
    /// Nemenyi's critical difference.
    pub critical: Option<CriticalDifference>,
}

/// The reference against another method over the datasets where both have results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wins {
    /// By the means.
    pub means: WinTieLoss,
    /// By the paper's test: what is not significant at level 0.05 is a tie.
    pub naive: WinTieLoss,
    /// By the corrected test.
    pub corrected: WinTieLoss,
}

impl Ranks {
    /// What the ranks are averages of, and the result of their test.
    pub(super) fn legend(&self) -> String {
        let test = self
            .friedman
            .map(|test| format!("; Friedman's chi-squared {:.2}, p = {:.4}", test.chi2, test.p));
        format!(
            "Average rank (1 is best) over the {} datasets that every method completed{}.",
            self.datasets,
            test.unwrap_or_default(),
        )
    }

    /// What tests over this few datasets can and cannot show.
    pub fn power(&self) -> Option<String> {
        let critical = self.critical.as_ref()?;
        let largest = critical.largest();
        let words = if critical.difference < largest as f64 {
            format!(" of at most {largest} ranks: smaller differences are not significant.")
        } else {
            format!(
                ", but ranks differ by at most {largest}: with this few datasets, no result can be significant."
            )
        };
        let smallest = critical.smallest_adjusted_p(critical.datasets);
        let signed_rank = (smallest >= LEVEL).then(|| {
            format!(
                " A signed-rank test between two methods cannot be significant: after Holm's adjustment, its p is at \
                 least {}. At least {} datasets are needed.",
                (smallest * 1e3).round() / 1e3,
                critical.datasets_needed()
            )
        });
        Some(format!(
            "Nemenyi's critical difference at level {LEVEL} is {}{words}{}",
            number(critical.difference),
            signed_rank.unwrap_or_default()
        ))
    }
}

/// Ranks over the rows that every method completed, if there are two. The average ranks go to the columns.
pub(super) fn rank(rows: &[Row], columns: &mut [Column]) -> Option<Ranks> {
    let is_complete = |row: &&Row| row.cells.len() > 1 && row.cells.iter().all(Cell::is_complete);
    let means = |row: &Row| row.cells.iter().map(|cell| cell.mean.map(stats::level)).collect();
    let complete: Vec<Vec<f64>> = rows.iter().filter(is_complete).filter_map(means).collect();
    if complete.len() < 2 {
        return None;
    }
    let average = stats::average_ranks(&complete)?;
    for (column, rank) in columns.iter_mut().zip(&average) {
        column.rank = Some(*rank);
    }
    Some(Ranks {
        datasets: complete.len(),
        friedman: stats::friedman(&complete),
        pairs: stats::pairwise_signed_rank(&complete),
        critical: CriticalDifference::new(average.len(), complete.len(), LEVEL),
    })
}

/// Counts for every other column over how many rows the reference is better.
pub(super) fn count_wins(rows: &[Row], columns: &mut [Column], reference: usize) {
    for column in columns.iter_mut().filter(|column| !column.is_reference) {
        let pairs = rows.iter().map(|row| (&row.cells[reference], &row.cells[column.index]));
        let common: Vec<_> = pairs.filter_map(|(ours, theirs)| common(ours, theirs)).collect();
        // What could not be tested is not a tie.
        let judged = |which: usize| {
            let tested = common.iter().filter_map(|(_, tests)| tests[which]);
            let differences = tested.map(|test| match test.p < LEVEL {
                true => test.mean_difference,
                false => 0.0,
            });
            WinTieLoss::of(differences, 0.0)
        };
        column.wins = (!common.is_empty()).then(|| Wins {
            means: WinTieLoss::of(common.iter().map(|(ahead, _)| *ahead), stats::SAME),
            naive: judged(0),
            corrected: judged(1),
        });
    }
}

/// How far a cell is ahead of another, and the tests of it, if both have results.
fn common(ours: &Cell, theirs: &Cell) -> Option<(f64, [Option<TTest>; 2])> {
    // Of the splits that both have, where there are two: as the tests see it.
    Some(match &theirs.paired {
        Some(paired) => (paired.naive.mean_difference, [Some(paired.naive), paired.corrected]),
        None => (ours.mean? - theirs.mean?, [None, None]),
    })
}
