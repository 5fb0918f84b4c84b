//! Footnotes: why cells of the table are empty, partial, or to be read with care.

use indexmap::IndexMap;

use super::summary::{Cell, Column, Row, failure};
use super::text::{clean, listed};
use crate::ledger::Tally;
use crate::stats::SAME;

/// Reasons spelt out per cell; the ledger has them all.
const REASONS: usize = 3;

/// A footnote and the columns of the cells that it is about; it is about the whole row if there are none.
type Note = (String, Vec<usize>);

/// Writes all footnotes and refers rows and cells to them; gives rows without results the reason.
pub(super) fn attach(rows: &mut [Row], columns: &[Column]) -> Vec<String> {
    let mut footnotes = Vec::new();
    for row in rows.iter_mut() {
        row.no_results = no_results(row, columns);
        let mut found = about_data(row);
        found.extend(about_tests(row, columns));
        found.extend(about_endings(row, columns));
        found.extend(about_spread(row, columns));
        found.extend(about_factors(row));
        for (text, cells) in found {
            if cells.is_empty() {
                row.footnotes.push(footnotes.len());
            }
            cells.iter().for_each(|&cell| row.cells[cell].footnotes.push(footnotes.len()));
            footnotes.push(text);
        }
    }
    for column in columns {
        footnotes.extend(about_limits(column, rows, footnotes.len()));
    }
    footnotes
}

/// What is known of the data of a row.
fn about_data(row: &Row) -> Vec<Note> {
    let unavailable = row.data.unavailable.iter().map(|reason| format!("no data: {reason}"));
    let notes = unavailable.chain(row.data.notes.iter().cloned());
    notes.map(|note| (clean(&format!("{}: {note}", row.dataset)), Vec::new())).collect()
}

/// Tests on fewer splits than planned.
fn about_tests(row: &Row, columns: &[Column]) -> Option<Note> {
    let splits = row.splits();
    let tested = row.cells.iter().zip(columns).filter_map(|(cell, column)| {
        let tested = cell.paired.as_ref()?.differences.len();
        (tested < splits).then(|| format!("{} on {tested}", column.label))
    });
    let fewer: Vec<String> = tested.collect();
    let text = format!(
        "{}: tested on the splits that both methods have: {} of {splits}",
        row.dataset,
        listed(&fewer)
    );
    (!fewer.is_empty()).then_some((text, Vec::new()))
}

/// Failed and skipped splits; methods that ended alike share a footnote.
fn about_endings(row: &Row, columns: &[Column]) -> Vec<Note> {
    let endings = endings(row).into_iter().filter(|_| row.data.unavailable.is_none());
    let note = |(text, alike): (String, Vec<usize>)| match alike.len() == columns.len() {
        true => (format!("{}: {text}", row.dataset), Vec::new()),
        false => (format!("{} on {}: {text}", labels(columns, &alike), row.dataset), alike),
    };
    endings.map(note).collect()
}

/// Differences without spread.
fn about_spread(row: &Row, columns: &[Column]) -> Vec<Note> {
    let is_constant = |cell: &Cell| {
        let differences = cell.paired.as_ref().map_or(&[][..], |paired| &paired.differences);
        let is_first = |d: &f64| (d - differences[0]).abs() <= SAME;
        differences.first().is_some_and(|first| first.abs() > SAME)
            && differences.iter().all(is_first)
    };
    let constant = columns.iter().filter(|column| is_constant(&row.cells[column.index]));
    let note = |column: &Column| {
        let label = &column.label;
        let text = format!(
            "{label} on {}: the same difference on every split, so the tests give p = 0",
            row.dataset
        );
        (text, vec![column.index])
    };
    constant.map(note).collect()
}

/// Kernel matrices that a factor approximates.
fn about_factors(row: &Row) -> Option<Note> {
    let records = row.cells.iter().flat_map(Cell::records);
    let factors = records.filter_map(|record| Some((record.factor_rank?, record.factor_error?)));
    let (rank, error) =
        factors.reduce(|(rank, error), other| (rank.max(other.0), error.max(other.1)))?;
    let text = format!(
        "{}: kernel matrix approximated by a factor of rank {rank}, which loses up to {error:.2e} of its trace",
        row.dataset
    );
    Some((text, Vec::new()))
}

/// Fits of a method that a limit ended; the cells that have some are referred to the footnote `index`.
fn about_limits(column: &Column, rows: &mut [Row], index: usize) -> Option<String> {
    let (mut ended, mut all) = (0, 0);
    for row in rows {
        let cell = &mut row.cells[column.index];
        let certificates = cell.records().filter_map(|record| record.certificate.as_ref());
        let limited = certificates.filter(|certificate| certificate.is_unconverged()).count();
        all += cell.counts.done;
        ended += limited;
        cell.footnotes.extend((limited > 0).then_some(index));
    }
    let label = &column.label;
    (ended > 0).then(|| {
        format!(
            "{label}: {ended} of {all} fits reached the limit of iterations before the tolerance"
        )
    })
}

/// Why no split of a dataset succeeded; `None` if one did.
fn no_results(row: &Row, columns: &[Column]) -> Option<String> {
    let counts: Tally = row.cells.iter().map(|cell| cell.counts).sum();
    if counts.done > 0 {
        return None;
    }
    if let Some(reason) = &row.data.unavailable {
        return Some(clean(reason));
    }
    let reason = |(text, alike): (String, Vec<usize>)| match alike.len() == columns.len() {
        true => text,
        false => format!("{}: {text}", labels(columns, &alike)),
    };
    let mut reasons: Vec<String> = endings(row).into_iter().map(reason).collect();
    match (counts.missing, counts.planned()) {
        (_, 0) => reasons.push("no cells are planned".to_owned()),
        (0, _) => {}
        (missing, planned) if missing == planned => reasons.push("not run yet".to_owned()),
        (missing, planned) => reasons.push(format!("{missing} of {planned} cells not run yet")),
    }
    Some(reasons.join("; "))
}

fn labels(columns: &[Column], indices: &[usize]) -> String {
    let labels: Vec<&str> = indices.iter().map(|&index| columns[index].label.as_str()).collect();
    listed(&labels)
}

/// How splits failed or were skipped, each with the columns of the methods that ended so.
fn endings(row: &Row) -> IndexMap<String, Vec<usize>> {
    let mut endings: IndexMap<String, Vec<usize>> = IndexMap::new();
    for (index, cell) in row.cells.iter().enumerate() {
        if let Some(text) = ending(cell) {
            endings.entry(text).or_default().push(index);
        }
    }
    endings
}

/// `splits 3 and 5 failed: <reason>; split 7 skipped: <reason>`.
fn ending(cell: &Cell) -> Option<String> {
    let mut reasons: IndexMap<String, Vec<String>> = IndexMap::new();
    for (split, record) in &cell.records {
        if let Some(reason) = record.as_ref().and_then(failure) {
            reasons.entry(reason).or_default().push(split.to_string());
        }
    }
    let planned = cell.records.len();
    let which = |splits: &[String]| match splits {
        [only] => format!("split {only}"),
        all if all.len() == planned => format!("all {planned} splits"),
        some => format!("splits {}", listed(some)),
    };
    let first = reasons.iter().take(REASONS);
    let mut texts: Vec<String> =
        first.map(|(reason, splits)| format!("{} {reason}", which(splits))).collect();
    let more: usize = reasons.values().skip(REASONS).map(Vec::len).sum();
    texts.extend((more > 0).then(|| format!("{more} more for other reasons, see the ledger")));
    (!texts.is_empty()).then(|| texts.join("; "))
}
