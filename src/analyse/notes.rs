//! Footnotes: why cells of the table are empty, partial, or to be read with care.

use super::paired::Comparison;
use super::summary::{Cell, Column, Row, failure};
use super::text::{clean, listed};
use crate::ledger::Status;
use crate::stats::SAME;

/// Reasons spelt out per cell; the ledger has them all.
const REASONS: usize = 3;

/// Writes all footnotes and refers rows and cells to them; tells rows without results the reason.
pub(super) fn attach(
    rows: &mut [Row],
    columns: &[Column],
    comparison: Option<&Comparison>,
) -> Vec<String> {
    let mut notes = Vec::new();
    for row in rows.iter_mut() {
        row.no_results = no_results(columns, row);
        about_data(row, &mut notes);
        if let Some(comparison) = comparison {
            about_tests(columns, comparison, row, &mut notes);
        }
        if row.data.unavailable.is_none() {
            about_endings(columns, row, &mut notes);
        }
        if let Some(comparison) = comparison {
            about_spread(columns, comparison, row, &mut notes);
        }
    }
    for (index, column) in columns.iter().enumerate() {
        about_limits(column, index, rows, &mut notes);
    }
    for row in rows {
        about_factors(row, &mut notes);
    }
    notes
}

/// Fits of a method that a limit ended.
fn about_limits(column: &Column, index: usize, rows: &mut [Row], notes: &mut Vec<String>) {
    let fits = |cell: &Cell| -> [usize; 2] {
        let fits = cell.records.values().flatten().filter(|record| record.status == Status::Ok);
        let certificates = fits.clone().filter_map(|record| record.certificate.as_ref());
        [fits.count(), certificates.filter(|certificate| certificate.is_unconverged()).count()]
    };
    let counts: Vec<[usize; 2]> = rows.iter().map(|row| fits(&row.cells[index])).collect();
    let [all, ended] = [0, 1].map(|which| counts.iter().map(|count| count[which]).sum::<usize>());
    if ended == 0 {
        return;
    }
    let text = format!(
        "{}: {ended} of {all} fits ended at a limit of iterations, before their tolerance",
        column.label
    );
    let note = add(notes, text);
    for (row, _) in rows.iter_mut().zip(counts).filter(|(_, [_, ended])| *ended > 0) {
        row.cells[index].footnotes.push(note);
    }
}

/// Kernel matrices that a factor approximates.
fn about_factors(row: &mut Row, notes: &mut Vec<String>) {
    let records = row.cells.iter().flat_map(|cell| cell.records.values().flatten());
    let factors = records.filter_map(|record| Some((record.factor_rank?, record.factor_error?)));
    let largest = factors.reduce(|(rank, error), other| (rank.max(other.0), error.max(other.1)));
    if let Some((rank, error)) = largest {
        let text = format!(
            "{}: kernel matrix approximated by a factor of rank {rank}, which loses up to {error:.2e} of \
             its trace",
            row.dataset
        );
        row.footnotes.push(add(notes, text));
    }
}

fn add(notes: &mut Vec<String>, note: String) -> usize {
    notes.push(note);
    notes.len() - 1
}

fn about_data(row: &mut Row, notes: &mut Vec<String>) {
    let unavailable = row.data.unavailable.iter();
    let unavailable = unavailable.map(|reason| format!("no data: {}", clean(reason)));
    for text in unavailable.chain(row.data.notes.iter().map(|note| clean(note))) {
        row.footnotes.push(add(notes, format!("{}: {text}", row.dataset)));
    }
}

/// Failed and skipped splits; methods that ended alike share a footnote.
fn about_endings(columns: &[Column], row: &mut Row, notes: &mut Vec<String>) {
    for (text, alike) in endings(&row.cells) {
        if alike.len() == row.cells.len() {
            row.footnotes.push(add(notes, format!("{}: {text}", row.dataset)));
            continue;
        }
        let note = add(notes, format!("{} on {}: {text}", labels(columns, &alike), row.dataset));
        for index in alike {
            row.cells[index].footnotes.push(note);
        }
    }
}

/// Why no split of a dataset succeeded; `None` if one did.
fn no_results(columns: &[Column], row: &Row) -> Option<String> {
    let counts = || row.cells.iter().map(|cell| cell.counts);
    if counts().any(|counts| counts.done > 0) {
        return None;
    }
    if let Some(reason) = &row.data.unavailable {
        return Some(clean(reason));
    }
    let missing: usize = counts().map(|counts| counts.missing).sum();
    let mut reasons: Vec<String> = endings(&row.cells)
        .into_iter()
        .map(|(text, alike)| match alike.len() {
            len if len == row.cells.len() => text,
            _ => format!("{}: {text}", labels(columns, &alike)),
        })
        .collect();
    match counts().map(|counts| counts.planned()).sum() {
        0 => reasons.push("no cells are planned".to_owned()),
        planned if missing == planned => reasons.push("not run yet".to_owned()),
        planned if missing > 0 => reasons.push(format!("{missing} of {planned} cells not run yet")),
        _ => {}
    }
    Some(reasons.join("; "))
}

fn labels(columns: &[Column], indices: &[usize]) -> String {
    let labels: Vec<&str> = indices.iter().map(|&i| columns[i].label.as_str()).collect();
    listed(&labels)
}

/// How splits failed or were skipped, each with the methods that ended so.
fn endings(cells: &[Cell]) -> Vec<(String, Vec<usize>)> {
    let mut endings: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let Some(text) = ending(cell) else {
            continue;
        };
        match endings.iter_mut().find(|(known, _)| *known == text) {
            Some((_, alike)) => alike.push(index),
            None => endings.push((text, vec![index])),
        }
    }
    endings
}

/// `splits 3 and 5 failed: <reason>; split 7 skipped: <reason>`.
fn ending(cell: &Cell) -> Option<String> {
    let mut reasons: Vec<((&str, String), Vec<String>)> = Vec::new();
    for (split, record) in &cell.records {
        let Some(failure) = record.as_ref().and_then(failure) else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| *known == failure) {
            Some((_, splits)) => splits.push(split.to_string()),
            None => reasons.push((failure, vec![split.to_string()])),
        }
    }
    if reasons.is_empty() {
        return None;
    }
    let mut texts: Vec<String> = reasons
        .iter()
        .take(REASONS)
        .map(|((word, reason), splits)| {
            format!("{} {word}: {reason}", which(splits, cell.records.len()))
        })
        .collect();
    if reasons.len() > REASONS {
        let more: usize = reasons.iter().skip(REASONS).map(|(_, splits)| splits.len()).sum();
        texts.push(format!("{more} more for other reasons, see the ledger"));
    }
    Some(texts.join("; "))
}

fn which(splits: &[String], planned: usize) -> String {
    match splits {
        [only] => format!("split {only}"),
        all if all.len() == planned => format!("all {planned} splits"),
        some => format!("splits {}", listed(some)),
    }
}

/// Tests on fewer splits than planned.
fn about_tests(
    columns: &[Column],
    comparison: &Comparison,
    row: &mut Row,
    notes: &mut Vec<String>,
) {
    let splits = row.splits();
    let fewer: Vec<String> = (row.cells.iter().zip(columns))
        .filter_map(|(cell, column)| Some((tested(comparison, cell)?.len(), &column.label)))
        .filter(|(n, _)| *n < splits)
        .map(|(n, label)| format!("{label} on {n}"))
        .collect();
    if !fewer.is_empty() {
        let text = format!(
            "{}: tested on the splits that both methods have: {} of {splits}",
            row.dataset,
            listed(&fewer)
        );
        row.footnotes.push(add(notes, text));
    }
}

/// The differences that a cell was tested on, if it was.
fn tested<'a>(comparison: &Comparison, cell: &'a Cell) -> Option<&'a [f64]> {
    comparison.tests(cell).iter().flatten().next()?;
    Some(&cell.paired.as_ref()?.differences)
}

/// Differences without spread.
fn about_spread(
    columns: &[Column],
    comparison: &Comparison,
    row: &mut Row,
    notes: &mut Vec<String>,
) {
    for (cell, column) in row.cells.iter_mut().zip(columns) {
        if tested(comparison, cell).is_some_and(constant) {
            let text = format!(
                "{} on {}: the same difference on every split, so the tests give p = 0",
                column.label, row.dataset
            );
            cell.footnotes.push(add(notes, text));
        }
    }
}

/// Whether differences are all the same, but not zero.
fn constant(differences: &[f64]) -> bool {
    let Some(first) = differences.first() else {
        return false;
    };
    first.abs() > SAME && differences.iter().all(|d| (d - first).abs() <= SAME)
}
