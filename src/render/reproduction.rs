//! Verdicts per cell: what our number says about the paper's.

use super::summary::{Cell, Row};
use super::text::{counted, listed, number};
use crate::stats::{self, Reproduction, Sample};

/// Runs behind each of the paper's means.
const PAPER_RUNS: usize = 10;

/// Sets our number beside the paper's.
pub(super) fn judge(cell: &mut Cell, other_problem: bool) {
    let Some(paper) = cell.paper else {
        return;
    };
    let Some(mean) = cell.mean else {
        cell.reproduction = Some(Reproduction::NotRun);
        return;
    };
    let difference = mean - paper.value;
    cell.difference = Some(difference);
    if other_problem {
        cell.reproduction = Some(Reproduction::NotRun);
        return;
    }
    cell.welch = cell.deviation.zip(paper.deviation).and_then(|(ours, theirs)| {
        let ours = Sample { mean, deviation: ours, n: cell.values.len() };
        let theirs = Sample { mean: paper.value, deviation: theirs, n: PAPER_RUNS };
        stats::welch(ours, theirs)
    });
    cell.reproduction = Some(Reproduction::of(difference, cell.welch.as_ref()));
}

/// What the verdicts mean.
pub(super) fn legend() -> String {
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
    let verdicts: Vec<Reproduction> =
        rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.reproduction).collect();
    if verdicts.is_empty() {
        return None;
    }
    let parts: Vec<String> = [
        (Reproduction::Reproduced, "reproduced"),
        (Reproduction::Higher, "higher here"),
        (Reproduction::Lower, "lower here"),
        (Reproduction::NotRun, "not run"),
    ]
    .iter()
    .map(|(verdict, word)| {
        let count = verdicts.iter().filter(|found| *found == verdict).count();
        format!("{count} {word}")
    })
    .collect();
    let others = rows.iter().filter(|row| row.other_problem).flat_map(|row| &row.cells);
    let others = others.filter(|cell| cell.reproduction.is_some() && cell.mean.is_some()).count();
    let others = if others > 0 {
        format!("; of the last, {others} have a number here, but of another problem")
    } else {
        String::new()
    };
    Some(format!(
        "Of {} of the paper's Table {table}: {}{others}.{}",
        counted(verdicts.len(), "number"),
        listed(&parts),
        power(rows)
    ))
}

/// What `reproduced` means at the deviations at hand; nothing if there is no such verdict.
fn power(rows: &[Row]) -> String {
    let cells = rows.iter().flat_map(|row| &row.cells);
    let mut seen: Vec<f64> = cells
        .filter(|cell| cell.reproduction == Some(Reproduction::Reproduced))
        .filter_map(smallest_seen)
        .collect();
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
    let cells = rows.iter().flat_map(|row| &row.cells);
    let small = cells
        .filter(|cell| cell.reproduction == Some(Reproduction::Reproduced))
        .filter(|cell| (cell.welch.as_ref()).is_some_and(|test| test.p < Reproduction::LEVEL))
        .count();
    let but = match small {
        0 => String::new(),
        1 => format!(", or in 1 case only by {} points or less", Reproduction::MARGIN),
        some => format!(", or in {some} cases only by {} points or less", Reproduction::MARGIN),
    };
    format!(
        " Reproduced only means not told apart{but}: a difference had to exceed {range} to be counted."
    )
}

/// The smallest difference that would have been seen in a cell; `None` where nothing was judged.
pub(super) fn smallest_seen(cell: &Cell) -> Option<f64> {
    let judged = cell.reproduction? != Reproduction::NotRun;
    judged.then(|| Reproduction::smallest_seen(cell.welch.as_ref()))
}
