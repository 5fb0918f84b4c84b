//! Verdicts per cell: what our number says about the paper's.

use super::summary::{Cell, Column, Row, Summary};
use super::text::{counted, listed, number};
use super::warnings::Warning;
use crate::ledger::Plan;
use crate::paper::{self, Unit, tables_of};
use crate::spec::{DatasetOptions, EncoderSpec, EvaluateOn};
use crate::stats::{self, LEVEL, Reproduction, Sample, TTest};

/// Runs behind each of the paper's means.
const PAPER_RUNS: usize = 10;

/// A number of the paper, and ours compared with it.
#[derive(Clone, Debug)]
pub struct Versus {
    pub printed: &'static paper::Cell,
    /// Ours minus the paper's.
    pub difference: Option<f64>,
    /// Where both have a deviation, and the problem is the same.
    pub test: Option<TTest>,
    /// What ours says about the paper's.
    pub verdict: Reproduction,
}

impl Versus {
    fn new(cell: &Cell, printed: &'static paper::Cell, other_problem: bool) -> Self {
        let difference = cell.mean.map(|mean| mean - printed.value);
        let Some(judged) = difference.filter(|_| !other_problem) else {
            return Self { printed, difference, test: None, verdict: Reproduction::NotRun };
        };
        let sample = |mean: Option<f64>, deviation: Option<f64>, n| {
            Some(Sample { mean: mean?, deviation: deviation?, n })
        };
        let ours = sample(cell.mean, cell.deviation, cell.counts.done);
        let theirs = sample(Some(printed.value), printed.deviation, PAPER_RUNS);
        let test = ours.zip(theirs).and_then(|(ours, theirs)| stats::welch(ours, theirs));
        Self { printed, difference, test, verdict: Reproduction::of(judged, test.as_ref()) }
    }

    /// The smallest difference that would count as higher or lower; `None` where nothing was judged.
    pub fn smallest_seen(&self) -> Option<f64> {
        let judged = self.verdict != Reproduction::NotRun;
        judged.then(|| Reproduction::smallest_seen(self.test.as_ref()))
    }
}

/// Compares the rows of registered datasets with the table of the paper that the experiment reproduces. Gives the table,
/// if a cell is in both, and a warning of every dataset that is not the paper's.
pub(super) fn compare(
    plan: &Plan,
    rows: &mut [Row],
    columns: &[Column],
) -> (Option<&'static paper::Table>, Vec<Warning>) {
    let number = plan.experiment.reproduces.as_ref().map(|reproduces| reproduces.table.to_string());
    let mut tables = tables_of(Unit::Percent);
    let Some(table) = number.and_then(|number| tables.find(|table| table.table == number)) else {
        return (None, Vec::new());
    };
    let (mut is_common, mut warnings) = (false, Vec::new());
    for (index, row) in rows.iter_mut().enumerate() {
        let registered = plan.registered(index);
        let found = registered.and_then(|(name, _)| registered.zip(table.row(name)));
        let Some(((name, options), printed)) = found else {
            continue;
        };
        let differences = differences(row, options, printed);
        row.other_problem = !differences.is_empty();
        for (cell, column) in row.cells.iter_mut().zip(columns) {
            // The paper's networks saw images, its kernel machines the features of a frozen encoder.
            let is_other = printed.features.as_deref() == Some(name) && column.is_network;
            let number = printed.cells.get(&column.method).filter(|_| !is_other);
            cell.paper = number.map(|number| Versus::new(cell, number, row.other_problem));
            is_common |= cell.paper.is_some();
        }
        let dataset = row.dataset.clone();
        warnings
            .extend(row.other_problem.then_some(Warning::OtherProblem { dataset, differences }));
    }
    (is_common.then_some(table), warnings)
}

/// What differs between a row and the paper's problem.
fn differences(row: &Row, options: &DatasetOptions, printed: &paper::Row) -> Vec<String> {
    let part = options.subsample.map(|n| format!("a part of {}", counted(n, "sample")));
    let size = options.encoder.as_ref().map(|encoder| encoder.size);
    let size = size.filter(|&size| size != EncoderSpec::SIZE);
    let size = size.map(|size| format!("images of {size} x {size} pixels"));
    let validation = (options.evaluate_on != EvaluateOn::Test)
        .then(|| "measured on the validation samples".to_owned());
    let shapes = row.shape.zip(printed.shape).filter(|(ours, printed)| ours != printed);
    let shapes = shapes.map(|(ours, printed)| format!("{ours} here; {printed} in the paper"));
    [part, size, validation, shapes].into_iter().flatten().collect()
}

/// The paper's time of a fit.
pub fn printed_seconds(dataset: &str, method: &str) -> Option<&'static paper::Cell> {
    tables_of(Unit::Seconds).find_map(|table| table.cell(dataset, method))
}

/// What the verdicts mean.
pub(super) fn legend() -> String {
    format!(
        "Verdict on a number of the paper: higher or lower if ours differs from it by more than {margin} points and by \
         Welch's test (level {LEVEL}; the paper's mean, deviation and {PAPER_RUNS} runs). If either is a single run, \
         only the {margin} points count. Otherwise the number is reproduced, which does not show that both are equal. \
         It is not run if we have no number for the same problem.",
        margin = Reproduction::MARGIN
    )
}

/// How many of the paper's numbers there are of each verdict, as a sentence.
pub(super) fn sentence(summary: &Summary) -> Option<String> {
    let table = &summary.paper?.table;
    let compared: Vec<&Versus> = summary.cells().filter_map(|cell| cell.paper.as_ref()).collect();
    let of = |verdict| compared.iter().filter(move |versus| versus.verdict == verdict);
    let verdicts =
        Reproduction::ALL.map(|verdict| format!("{} {}", of(verdict).count(), verdict.word()));
    let others = of(Reproduction::NotRun).filter(|versus| versus.difference.is_some()).count();
    let others = match others {
        0 => String::new(),
        _ => format!("; {others} of those not run have a number here, but for a different problem"),
    };
    Some(format!(
        "Of {} of the paper's Table {table}: {}{others}.{}",
        counted(compared.len(), "number"),
        listed(&verdicts),
        power(of(Reproduction::Reproduced)).unwrap_or_default()
    ))
}

/// What `reproduced` means with these deviations; `None` if there is no such verdict.
fn power<'a>(reproduced: impl Iterator<Item = &'a &'a Versus> + Clone) -> Option<String> {
    let mut seen: Vec<f64> =
        reproduced.clone().filter_map(|versus| versus.smallest_seen()).collect();
    seen.sort_by(f64::total_cmp);
    let (least, most) = (number(*seen.first()?), number(*seen.last()?));
    let median = number((seen[(seen.len() - 1) / 2] + seen[seen.len() / 2]) / 2.0);
    let range = match least == most {
        true => format!("{least} points"),
        false => format!("{least} to {most} points (median {median})"),
    };
    let small = reproduced.filter(|versus| versus.test.is_some_and(|test| test.p < LEVEL)).count();
    let but = match small {
        0 => String::new(),
        _ => format!(
            " (in {}, a significant one of at most {} points)",
            counted(small, "case"),
            Reproduction::MARGIN
        ),
    };
    Some(format!(
        " Reproduced means that no difference was found{but}. A difference had to exceed {range} to count."
    ))
}
