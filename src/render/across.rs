//! Methods over all datasets: ranks with their tests, and wins, ties and losses.

use super::compare::Paired;
use super::marks::Comparison;
use super::summary::{Cell, Row};
use super::text::number;
use crate::stats::{self, CriticalDifference, Friedman, Pair, WinTieLoss};

/// Level of the tests over datasets.
pub(super) const LEVEL: f64 = 0.05;

/// Average ranks over datasets, 1 being best.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// One per column.
    pub average: Vec<f64>,
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
pub struct Tally {
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

/// Ranks over the rows that every method completed, if there are two.
pub(super) fn ranks(rows: &[Row]) -> Option<Ranks> {
    let complete: Vec<Vec<f64>> = rows
        .iter()
        .filter(|row| row.cells.len() > 1 && row.cells.iter().all(|c| c.counts.complete()))
        .filter_map(|row| row.cells.iter().map(|cell| cell.mean.map(stats::level)).collect())
        .collect();
    if complete.len() < 2 {
        return None;
    }
    let average = stats::average_ranks(&complete)?;
    Some(Ranks {
        datasets: complete.len(),
        friedman: stats::friedman(&complete),
        pairs: stats::pairwise_signed_rank(&complete),
        critical: CriticalDifference::new(average.len(), complete.len(), LEVEL),
        average,
    })
}

/// The reference against every column, over the rows in which both have a mean.
pub(super) fn tallies(
    rows: &[Row],
    comparison: Option<&Comparison>,
    columns: usize,
) -> Vec<Option<Tally>> {
    let Some(comparison) = comparison else {
        return vec![None; columns];
    };
    let reference = comparison.reference;
    (0..columns)
        .map(|column| {
            let common: Vec<(&Cell, f64)> = rows
                .iter()
                .filter_map(|row| {
                    let (ours, theirs) = (row.cells.get(reference)?, row.cells.get(column)?);
                    // Of the splits that both have, where there are two: as the tests see it.
                    let paired = theirs.paired.as_ref();
                    let difference = match paired {
                        Some(paired) => paired.naive.mean_difference,
                        None => ours.mean? - theirs.mean?,
                    };
                    Some((theirs, difference))
                })
                .collect();
            if column == reference || common.is_empty() {
                return None;
            }
            let judged = |p: fn(&Paired) -> Option<f64>| {
                // Where nothing could be tested there is no tie either.
                let differences = common.iter().filter_map(|(cell, difference)| {
                    let p = cell.paired.as_ref().and_then(p)?;
                    Some(if p < LEVEL { *difference } else { 0.0 })
                });
                WinTieLoss::of(differences, 0.0)
            };
            Some(Tally {
                means: WinTieLoss::of(
                    common.iter().map(|(_, difference)| *difference),
                    stats::SAME,
                ),
                naive: judged(|paired| Some(paired.naive.p)),
                corrected: judged(|paired| paired.corrected.map(|test| test.p)),
            })
        })
        .collect()
}
