//! What the numbers say, in plain sentences.

use super::summary::{Place, Row, Summary};
use super::tables::untested;
use super::text::{counted, listed, number, signed};
use super::{claims, reproduction};

/// The findings of a table, the most important first; a table without results has none.
pub(super) fn of(summary: &Summary) -> Vec<String> {
    if summary.counts.ok == 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(table) = summary.paper {
        found.extend(reproduction::sentence(&table.table, &summary.rows));
        found.extend(claims(summary));
    }
    found.extend(winners(summary));
    found.extend(corrections(summary));
    found.extend(trainings(summary));
    found.extend(tallies(summary));
    if let Some(ranks) = &summary.ranks {
        found.extend(ranks.power());
    }
    found
}

/// How the paper's claims stand.
pub(super) fn claims(summary: &Summary) -> Option<String> {
    claims::sentence(reference(summary)?, &summary.paper?.table, &summary.claims)
}

fn reference(summary: &Summary) -> Option<&str> {
    let column = summary.columns.get(summary.comparison.as_ref()?.reference)?;
    Some(&column.label)
}

/// Who is best, how often, and how often not alone.
fn winners(summary: &Summary) -> Option<String> {
    let decided = (summary.rows.iter()).filter(|row| leaders(row) > 0).count();
    if decided == 0 {
        return None;
    }
    let mut wins: Vec<(usize, usize, &str)> = (summary.columns.iter().enumerate())
        .map(|(index, column)| {
            let best = |row: &&Row| row.cells.get(index).map(|c| c.place) == Some(Place::Best);
            let won = || summary.rows.iter().filter(best);
            let shared = won().filter(|row| leaders(row) > 1).count();
            (won().count(), shared, column.label.as_str())
        })
        .filter(|(count, ..)| *count > 0)
        .collect();
    wins.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let wins: Vec<String> = wins
        .iter()
        .map(|(count, shared, label)| match shared {
            0 => format!("{label} on {count}"),
            all if all == count => format!("{label} on {count} (shared)"),
            _ => format!("{label} on {count} ({shared} of them shared)"),
        })
        .collect();
    Some(format!(
        "The highest mean accuracy over {} with at least two complete methods: {}.",
        counted(decided, "dataset"),
        listed(&wins)
    ))
}

/// Methods that share the first place of a row.
fn leaders(row: &Row) -> usize {
    let cells = row.cells.iter();
    cells.filter(|cell| cell.place == Place::Best).count()
}

/// How many differences are left once tests are corrected and adjusted.
fn corrections(summary: &Summary) -> Option<String> {
    const LEVEL: f64 = 0.05;
    let reference = reference(summary)?;
    let rows = summary.rows.iter().filter(|row| row.trainings.is_none());
    let paired: Vec<_> =
        rows.flat_map(|row| &row.cells).filter_map(|cell| cell.paired.as_ref()).collect();
    if paired.is_empty() {
        return None;
    }
    let naive = paired.iter().filter(|p| p.naive.p < LEVEL).count();
    let corrected = |p: Option<f64>| p.is_some_and(|p| p < LEVEL);
    let below = (paired.iter()).filter(|p| corrected(p.corrected.map(|test| test.p))).count();
    let holm = paired.iter().filter(|p| corrected(p.holm.corrected)).count();
    Some(format!(
        "Of {} with {reference}, {naive} differ at level {LEVEL} by the paper's paired t-test, {below} \
         by the test corrected for overlapping training sets, and {holm} by the latter after Holm's \
         adjustment for the whole table.",
        counted(paired.len(), "comparison")
    ))
}

/// What differs between trainings on one split, and what was trained once.
fn trainings(summary: &Summary) -> Vec<String> {
    const LEVEL: f64 = 0.05;
    let Some(reference) = summary.comparison.as_ref().map(|found| found.reference) else {
        return Vec::new();
    };
    let Some(label) = summary.columns.get(reference).map(|column| &column.label) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for row in &summary.rows {
        let cells = || row.cells.iter().zip(&summary.columns);
        let tested: Vec<_> = cells().filter_map(|(cell, _)| cell.paired.as_ref()).collect();
        if let Some(trainings) = row.trainings.filter(|&n| n > 1 && !tested.is_empty()) {
            let differ = tested.iter().filter(|test| test.naive.p < LEVEL).count();
            found.push(format!(
                "On {}, {differ} of {} with {label} differ at level {LEVEL} by the paired t-test over \
                 {trainings} trainings: variation of training, not of data.",
                row.dataset,
                counted(tested.len(), "comparison")
            ));
        }
        let untested: Vec<String> = cells()
            .filter_map(|(cell, column)| {
                let ahead = untested(row, reference, cell)?;
                Some(format!("{} {}", column.label, signed(ahead)))
            })
            .collect();
        if !untested.is_empty() {
            found.push(format!(
                "{label} minus each other method on {}, in points (one training, not tested): {}.",
                row.dataset,
                listed(&untested)
            ));
        }
    }
    found
}

/// Wins, ties and losses of the reference.
fn tallies(summary: &Summary) -> Option<String> {
    let reference = reference(summary)?;
    let parts: Vec<String> = (summary.columns.iter().zip(&summary.tallies))
        .filter_map(|(column, tally)| {
            let tally = (*tally)?;
            Some(format!("{} {}", column.label, tally.corrected))
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    let rank = summary.ranks.as_ref().and_then(|ranks| {
        let index = summary.comparison.as_ref()?.reference;
        ranks.average.get(index).map(|rank| number(*rank))
    });
    let rank = rank.map_or(String::new(), |rank| {
        format!(" Its average rank is {rank} of {}.", summary.columns.len())
    });
    Some(format!(
        "{reference} wins/ties/losses over datasets, a tie being no difference by the corrected \
         test: {}.{rank}",
        listed(&parts)
    ))
}
