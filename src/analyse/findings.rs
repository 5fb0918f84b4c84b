//! What the numbers say, in plain sentences.

use super::claims::Claim;
use super::ranks::LEVEL;
use super::summary::{Entry, Place, Row, Summary};
use super::text::{counted, listed, number, signed};
use super::{claims, reproduction};

/// The findings of a table, the most important first; a table without results has none.
pub(super) fn of(summary: &Summary) -> Vec<String> {
    if summary.counts.done == 0 {
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
pub fn claims(summary: &Summary) -> Option<String> {
    let claims: Vec<&Claim> =
        summary.entries().filter_map(|entry| entry.cell.claim.as_ref()).collect();
    claims::sentence(&summary.reference()?.label, &summary.paper?.table, &claims)
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
    let reference = &summary.reference()?.label;
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
    let Some(label) = summary.reference().map(|column| &column.label) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for row in &summary.rows {
        let tested: Vec<_> = row.cells.iter().filter_map(|cell| cell.paired.as_ref()).collect();
        if let Some(trainings) = row.trainings.filter(|&n| n > 1 && !tested.is_empty()) {
            let differ = tested.iter().filter(|test| test.naive.p < LEVEL).count();
            found.push(format!(
                "On {}, {differ} of {} with {label} differ at level {LEVEL} by the paired t-test over \
                 {trainings} trainings: variation of training, not of data.",
                row.dataset,
                counted(tested.len(), "comparison")
            ));
        }
        let untested: Vec<String> = (summary.entries_of(row))
            .filter_map(|entry| {
                let ahead = untested(summary, entry)?;
                Some(format!("{} {}", entry.column.label, signed(ahead)))
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
    let reference = summary.reference()?;
    let parts: Vec<String> = (summary.columns.iter())
        .filter_map(|column| Some(format!("{} {}", column.label, column.wins?.corrected)))
        .collect();
    if parts.is_empty() {
        return None;
    }
    let rank = reference.rank.map_or(String::new(), |rank| {
        format!(" Its average rank is {} of {}.", number(rank), summary.columns.len())
    });
    Some(format!(
        "{} wins/ties/losses over datasets, a tie being no difference by the corrected \
         test: {}.{rank}",
        reference.label,
        listed(&parts)
    ))
}

/// How far the reference is ahead where there is one training of each network, so that nothing is tested.
pub fn untested(summary: &Summary, entry: Entry<'_>) -> Option<f64> {
    let Entry { row, column, cell } = entry;
    let reference = &row.cells[summary.comparison.as_ref()?.reference];
    let (ahead, rival) = reference.mean.zip(cell.mean)?;
    (row.trainings == Some(1) && !column.is_reference).then_some(ahead - rival)
}
