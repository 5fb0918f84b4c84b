//! Footnotes: why cells of the table are empty, partial, or to be read with care.

use std::collections::BTreeMap;

use super::counts::{Outcome, Outcomes};
use super::marks::Comparison;
use super::summary::{Cell, Column, Row};
use super::text::{clean, listed};
use crate::ledger::{Plan, PlannedDataset, Record, Status};
use crate::stats::{SAME, common_differences};

/// Reasons spelt out per cell; the ledger has them all.
const REASONS: usize = 3;

/// Writes all footnotes and refers rows and cells to them; tells rows without results the reason.
pub(super) fn attach(
    plan: &Plan,
    columns: &[Column],
    comparison: Option<&Comparison>,
    outcomes: &Outcomes,
    rows: &mut [Row],
) -> Vec<String> {
    let mut notes = Vec::new();
    for ((dataset, outcomes), row) in plan.datasets.iter().zip(outcomes).zip(rows) {
        row.no_results = no_results(dataset, columns, outcomes);
        about_data(dataset, row, &mut notes);
        about_tests(columns, row, &mut notes);
        if dataset.unavailable.is_none() {
            about_endings(columns, outcomes, row, &mut notes);
        }
        if let Some(comparison) = comparison {
            about_spread(columns, comparison.reference, row, &mut notes);
        }
    }
    notes
}

/// What the records say of the fits themselves: limits that were reached, factors that were used.
/// `places` are the row and column of each record.
pub(super) fn about_fits(
    columns: &[Column],
    places: &[(usize, usize)],
    records: &[Record],
    rows: &mut [Row],
    notes: &mut Vec<String>,
) {
    for (index, column) in columns.iter().enumerate() {
        let fits: Vec<(usize, &Record)> = (places.iter().zip(records))
            .filter(|(place, record)| place.1 == index && record.status == Status::Ok)
            .map(|(place, record)| (place.0, record))
            .collect();
        let ended: Vec<usize> = fits
            .iter()
            .filter(|(_, record)| record.certificate.as_ref().is_some_and(|c| c.is_unconverged()))
            .map(|(row, _)| *row)
            .collect();
        if ended.is_empty() {
            continue;
        }
        let text = format!(
            "{}: {} of {} fits ended at a limit of iterations, before their tolerance",
            column.label,
            ended.len(),
            fits.len()
        );
        let note = add(notes, text);
        for (place, row) in rows.iter_mut().enumerate() {
            if ended.contains(&place) {
                row.cells[index].footnotes.push(note);
            }
        }
    }
    for (index, row) in rows.iter_mut().enumerate() {
        let of_row = places.iter().zip(records).filter(|(place, _)| place.0 == index);
        let factors: Vec<(usize, f64)> = of_row
            .filter_map(|(_, record)| Some((record.factor_rank?, record.factor_error?)))
            .collect();
        let Some(rank) = factors.iter().map(|(rank, _)| *rank).max() else {
            continue;
        };
        let error = factors.iter().fold(0.0, |most: f64, (_, error)| most.max(*error));
        let text = format!(
            "{}: kernel matrix approximated by a factor of rank {rank}, which loses up to {:.2e} of \
             its trace",
            row.dataset, error
        );
        row.footnotes.push(add(notes, text));
    }
}

fn add(notes: &mut Vec<String>, note: String) -> usize {
    notes.push(note);
    notes.len() - 1
}

fn about_data(dataset: &PlannedDataset, row: &mut Row, notes: &mut Vec<String>) {
    let unavailable = dataset.unavailable.iter();
    let unavailable = unavailable.map(|reason| format!("no data: {}", clean(reason)));
    for text in unavailable.chain(dataset.notes.iter().map(|note| clean(note))) {
        row.footnotes.push(add(notes, format!("{}: {text}", row.dataset)));
    }
}

/// Failed and skipped splits; methods that ended alike share a footnote.
fn about_endings(
    columns: &[Column],
    outcomes: &[BTreeMap<usize, Outcome>],
    row: &mut Row,
    notes: &mut Vec<String>,
) {
    for (text, alike) in endings(outcomes) {
        if alike.len() == outcomes.len() {
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
fn no_results(
    dataset: &PlannedDataset,
    columns: &[Column],
    outcomes: &[BTreeMap<usize, Outcome>],
) -> Option<String> {
    let all = || outcomes.iter().flat_map(BTreeMap::values);
    if all().any(|outcome| matches!(outcome, Outcome::Ok(..))) {
        return None;
    }
    if let Some(reason) = &dataset.unavailable {
        return Some(clean(reason));
    }
    let missing = all().filter(|outcome| **outcome == Outcome::Missing).count();
    let mut reasons: Vec<String> = endings(outcomes)
        .into_iter()
        .map(|(text, alike)| match alike.len() {
            len if len == outcomes.len() => text,
            _ => format!("{}: {text}", labels(columns, &alike)),
        })
        .collect();
    match all().count() {
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
fn endings(outcomes: &[BTreeMap<usize, Outcome>]) -> Vec<(String, Vec<usize>)> {
    let mut endings: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, outcomes) in outcomes.iter().enumerate() {
        let Some(text) = ending(outcomes) else {
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
fn ending(outcomes: &BTreeMap<usize, Outcome>) -> Option<String> {
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for (split, outcome) in outcomes {
        let (word, reason) = match outcome {
            Outcome::Failed(reason) => ("failed", reason.as_str()),
            Outcome::Skipped(reason) => ("skipped", reason.as_str()),
            Outcome::Ok(..) | Outcome::Missing => continue,
        };
        let known = reasons.iter_mut().find(|(w, r, _)| (*w, *r) == (word, reason));
        match known {
            Some((_, _, splits)) => splits.push(split.to_string()),
            None => reasons.push((word, reason, vec![split.to_string()])),
        }
    }
    if reasons.is_empty() {
        return None;
    }
    let mut texts: Vec<String> = reasons
        .iter()
        .take(REASONS)
        .map(|(word, reason, splits)| format!("{} {word}: {reason}", which(splits, outcomes.len())))
        .collect();
    if reasons.len() > REASONS {
        let more: usize = reasons.iter().skip(REASONS).map(|r| r.2.len()).sum();
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
fn about_tests(columns: &[Column], row: &mut Row, notes: &mut Vec<String>) {
    let splits = row.splits();
    let fewer: Vec<String> = (row.cells.iter().zip(columns))
        .filter_map(|(cell, column)| Some((tested(cell)?, &column.label)))
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

/// On how many splits a cell was tested, if it was.
fn tested(cell: &Cell) -> Option<usize> {
    let verdict = cell.naive.as_ref().or(cell.corrected.as_ref());
    verdict.map(|verdict| verdict.n)
}

/// Differences without spread.
fn about_spread(columns: &[Column], reference: usize, row: &mut Row, notes: &mut Vec<String>) {
    let Some(reference) = row.cells.get(reference) else {
        return;
    };
    let reference = reference.values.clone();
    for (cell, column) in row.cells.iter_mut().zip(columns) {
        let differences = common_differences(&reference, &cell.values);
        if tested(cell).is_some() && constant(&differences) {
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
