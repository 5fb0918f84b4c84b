//! What the numbers say, in plain sentences.

use super::summary::{Cell, Column, Entry, Place, Row, Summary};
use super::text::{counted, listed, number, signed};
use super::{claims, reproduction};
use crate::stats::LEVEL;

/// The findings of a table, the most important first; a table without results has none.
pub(super) fn of(summary: &Summary) -> Vec<String> {
    let first = [
        reproduction::sentence(summary),
        claims::sentence(summary),
        winners(summary),
        corrections(summary),
    ];
    let last = [wins(summary), summary.ranks.as_ref().and_then(|ranks| ranks.power())];
    let trainings = summary.rows.iter().flat_map(|row| trainings(summary, row));
    let found = first.into_iter().flatten().chain(trainings).chain(last.into_iter().flatten());
    found.filter(|_| summary.counts.done > 0).collect()
}

/// Who is best, how often, and how often not alone.
fn winners(summary: &Summary) -> Option<String> {
    let best = |row: &Row| row.cells.iter().filter(|cell| cell.place == Place::Best).count();
    let decided = summary.rows.iter().filter(|row| best(row) > 0).count();
    let mut wins: Vec<(usize, String)> = (summary.columns.iter())
        .map(|column| {
            let is_best = |row: &&Row| row.cells[column.index].place == Place::Best;
            let won: Vec<&Row> = summary.rows.iter().filter(is_best).collect();
            let shared = match won.iter().filter(|row| best(row) > 1).count() {
                0 => String::new(),
                shared => format!(" ({shared} shared)"),
            };
            (won.len(), format!("{} on {}{shared}", column.label, won.len()))
        })
        .collect();
    wins.retain(|(won, _)| *won > 0);
    wins.sort_by_key(|(won, _)| std::cmp::Reverse(*won));
    let wins: Vec<String> = wins.into_iter().map(|(_, words)| words).collect();
    (decided > 0).then(|| {
        format!(
            "The highest mean accuracy over {} with at least two complete methods: {}.",
            counted(decided, "dataset"),
            listed(&wins)
        )
    })
}

/// How many differences are left once tests are corrected and adjusted.
fn corrections(summary: &Summary) -> Option<String> {
    let reference = &summary.reference()?.label;
    let rows = summary.rows.iter().filter(|row| row.trainings.is_none());
    let tests = rows.flat_map(|row| &row.cells).filter_map(|cell| cell.paired.as_ref());
    let p: Vec<[Option<f64>; 3]> = tests
        .map(|test| [Some(test.naive.p), test.corrected.map(|test| test.p), test.holm.corrected])
        .collect();
    let below = |which: usize| p.iter().filter(|p| p[which].is_some_and(|p| p < LEVEL)).count();
    (!p.is_empty()).then(|| {
        format!(
            "Of {} with {reference}, {} differ at level {LEVEL} by the paper's paired t-test, {} by the test \
             corrected for overlapping training sets, and {} by the corrected test after Holm's \
             adjustment for the whole table.",
            counted(p.len(), "comparison"),
            below(0),
            below(1),
            below(2)
        )
    })
}

/// What differs between trainings on one split, or is ahead where there is one training.
fn trainings(summary: &Summary, row: &Row) -> Option<String> {
    let label = &summary.reference()?.label;
    let tests: Vec<_> = row.cells.iter().filter_map(|cell| cell.paired.as_ref()).collect();
    match row.trainings? {
        1 => {
            let ahead = summary.entries_of(row).filter_map(|entry| {
                let ahead = untested(summary, entry)?;
                Some(format!("{} {}", entry.column.label, signed(ahead)))
            });
            let ahead: Vec<String> = ahead.collect();
            (!ahead.is_empty()).then(|| {
                format!(
                    "{label} minus each other method on {}, in points (one training, not tested): {}.",
                    row.dataset,
                    listed(&ahead)
                )
            })
        }
        trainings => (!tests.is_empty()).then(|| {
            format!(
                "On {}, {} of {} with {label} differ at level {LEVEL} by the paired t-test over {trainings} \
                 trainings: variation of training, not of data.",
                row.dataset,
                tests.iter().filter(|test| test.naive.p < LEVEL).count(),
                counted(tests.len(), "comparison")
            )
        }),
    }
}

/// Wins, ties and losses of the reference.
fn wins(summary: &Summary) -> Option<String> {
    let Column { label, rank, .. } = summary.reference()?;
    let wins = (summary.columns.iter())
        .filter_map(|column| Some(format!("{} {}", column.label, column.wins?.corrected)));
    let wins: Vec<String> = wins.collect();
    let rank = rank.map_or(String::new(), |rank| {
        format!(" Its average rank is {} of {}.", number(rank), summary.columns.len())
    });
    (!wins.is_empty()).then(|| {
        format!(
            "{label} wins/ties/losses by dataset (tie: no significant difference by the corrected test): {}.{rank}",
            listed(&wins)
        )
    })
}

/// How far the reference is ahead where there is one training of each network, so that nothing is tested.
pub fn untested(summary: &Summary, entry: Entry<'_>) -> Option<f64> {
    let Entry { row, column, cell } = entry;
    let reference: &Cell = &row.cells[summary.comparison.as_ref()?.reference];
    let ahead = reference.mean? - cell.mean?;
    (row.trainings == Some(1) && !column.is_reference).then_some(ahead)
}
