//! Methods over all datasets: ranks with their tests, and wins, ties and losses.

use super::summary::{Cell, Column, Row};
use super::text::number;
use crate::stats::{self, CriticalDifference, Friedman, Pair, TTest, WinTieLoss};

/// Level of the tests over datasets, and of the tests that decide wins and losses.
pub(super) const LEVEL: f64 = 0.05;

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
    /// What the ranks are taken over and what the tests of them say.
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

    /// What tests over so few datasets can show, and what not.
    pub fn power(&self) -> Option<String> {
        let critical = self.critical.as_ref()?;
        let difference = number(critical.difference);
        let mut text = if critical.can_show_anything() {
            format!(
                "Nemenyi's critical difference at level {LEVEL} is {difference} of at most {} ranks: \
                 smaller differences cannot be told from chance.",
                critical.methods - 1
            )
        } else {
            format!(
                "Nemenyi's critical difference at level {LEVEL} is {difference}, but ranks differ by \
                 {} at most: over so few datasets no outcome whatever would be significant.",
                critical.methods - 1
            )
        };
        if critical.smallest_adjusted_p() >= LEVEL {
            text += &format!(
                " Nor does a signed-rank test between two methods help: after Holm's adjustment its p \
                 cannot be below {}. That takes {} datasets.",
                short(critical.smallest_adjusted_p()),
                critical.datasets_needed()
            );
        }
        Some(text)
    }
}

/// Three significant digits at most.
fn short(p: f64) -> String {
    let text = format!("{p:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Ranks over the rows that every method completed, if there are two. The average ranks go to the columns.
pub(super) fn rank(rows: &[Row], columns: &mut [Column]) -> Option<Ranks> {
    let complete: Vec<Vec<f64>> = rows
        .iter()
        .filter(|row| row.cells.len() > 1 && row.cells.iter().all(Cell::is_complete))
        .filter_map(|row| row.cells.iter().map(|cell| cell.mean.map(stats::level)).collect())
        .collect();
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

/// The reference against another column, over the rows in which both have a mean; `None` if there are none.
pub(super) fn wins(rows: &[Row], reference: usize, column: usize) -> Option<Wins> {
    let common = |row: &Row| -> Option<(f64, [Option<TTest>; 2])> {
        let (ours, theirs) = (row.cells.get(reference)?, row.cells.get(column)?);
        // Of the splits that both have, where there are two: as the tests see it.
        Some(match &theirs.paired {
            Some(paired) => (paired.naive.mean_difference, [Some(paired.naive), paired.corrected]),
            None => (ours.mean? - theirs.mean?, [None, None]),
        })
    };
    let common: Vec<_> = rows.iter().filter_map(common).collect();
    if column == reference || common.is_empty() {
        return None;
    }
    // Where nothing could be tested there is no tie either.
    let judged = |which: usize| {
        let differences = common.iter().filter_map(|(difference, tests)| {
            Some(if tests[which]?.p < LEVEL { *difference } else { 0.0 })
        });
        WinTieLoss::of(differences, 0.0)
    };
    Some(Wins {
        means: WinTieLoss::of(common.iter().map(|(difference, _)| *difference), stats::SAME),
        naive: judged(0),
        corrected: judged(1),
    })
}
