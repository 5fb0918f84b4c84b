//! Warnings: what a reader must know before believing the table.

use std::collections::BTreeMap;

use super::summary::{Cell, Row, Summary};
use super::text::{clean, counted, listed};
use crate::ledger::End;
use crate::paper::{Unit, tables_of};
use crate::spec::{DatasetSpec, EvaluateOn, Recording, Select, SelectOn, Test};

/// The paper's number of splits.
const USUAL_SPLITS: usize = 10;

/// A reason to doubt the table. The text says it to a reader, [`Warning::kind`] to a script.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Warning {
    #[error(
        "nothing is tested: the method to compare with, {against}, is not among {}",
        listed(.labels)
    )]
    NoReference { against: String, labels: Vec<String> },
    #[error(
        "the experiment names Table {number} of the paper, but only Tables {} have accuracies here",
        listed(.known)
    )]
    NoTable { number: u32, known: Vec<&'static str> },
    #[error(
        "parameters were chosen on the test samples: the accuracies of tuned methods are too high"
    )]
    ChosenOnTest,
    #[error(
        "parameters were chosen once per dataset, on the training samples of its first split; other splits test on \
         some of these, so the accuracies of tuned methods are slightly high"
    )]
    ChosenOnce,
    #[error(
        "parameters were chosen by successive halving, which may have dropped the best point early"
    )]
    Halved,
    /// How many points of parameters were tried, by method.
    #[error(
        "tuning budgets differ, which favours methods that try more points: {}",
        each(.0, |(label, points)| format!("{label} {points}"))
    )]
    UnequalBudgets(Vec<(String, usize)>),
    /// Methods whose parameters are fixed although those of others are tuned.
    #[error("only some methods are tuned; the parameters of {} are fixed", listed(.0))]
    PartlyTuned(Vec<String>),
    #[error(
        "grids may be too narrow (how often the smallest and the largest value was the best): {}",
        each(.0, |(grid, [smallest, largest], all)| format!("{grid} {smallest} and {largest} of {all}"))
    )]
    EdgeOfGrid(Vec<GridEnds>),
    /// A dataset that is not the paper's, and what is different.
    #[error(
        "{dataset}: the problem differs from the paper's, so the numbers are hardly comparable ({})",
        .differences.join("; ")
    )]
    OtherProblem { dataset: String, differences: Vec<String> },
    /// How many cells lack some splits, and how many have none.
    #[error(
        "the table is incomplete (entries with fewer splits than planned: {partial}, with no result: {empty}); these \
         are excluded from best, second best and ranks"
    )]
    Incomplete { partial: usize, empty: usize },
    /// Datasets with their number of splits.
    #[error(
        "fewer than {USUAL_SPLITS} splits, so deviations and tests are weak (with one split, impossible): {}",
        each(.0, |(dataset, splits)| format!("{dataset} ({splits})"))
    )]
    FewSplits(Vec<(String, usize)>),
    /// Datasets on which networks are trained several times on one split.
    #[error(
        "deviations and tests of networks on {} measure the variation of training on one split, not of data",
        listed(.0)
    )]
    SeveralTrainings(Vec<String>),
    #[error("one training of each network on {}, so their differences are not tested", listed(.0))]
    OneTraining(Vec<String>),
    #[error(
        "the test accuracy of networks was recorded after every epoch; do not choose anything by it"
    )]
    WatchedTest,
    #[error("marks are by the uncorrected paired t-test, which ignores that training sets overlap")]
    UncorrectedMarks,
    /// How many of all marks of the plain test the corrected one does not confirm.
    #[error(
        "the test corrected for overlapping training sets confirms only {} of the {} of the paired t-test",
        all - lost, counted(*.all, "mark")
    )]
    MarksLost { lost: usize, all: usize },
    /// The table of the paper with which ours has no cell in common.
    #[error("Table {0} of the paper has none of these methods on any of these datasets")]
    NothingToCompare(u32),
    /// How many cells outside the plan the ledger has numbers of.
    #[error(
        "ignored: ledger records of {} outside the plan (other parameters, data or code)",
        counted(*.0, "cell")
    )]
    StrayRecords(usize),
    /// How many cells of the plan are of a dataset or method that it does not list.
    #[error("ignored: {} of the plan whose dataset or method it does not list", counted(*.0, "cell"))]
    OutsideTable(usize),
    #[error(
        "ignored: {} with a trace or a map, damaged or unreadable; figures lack their content",
        counted(*.0, "file")
    )]
    DamagedFiles(usize),
    #[error(
        "ignored: {} of the ledger (damaged, or contradicting the plan); run again to replace what was lost",
        counted(*.0, "line")
    )]
    DamagedLines(usize),
}

/// The parameter of a method, how often the smallest and the largest value of its grid was the best, and of how many
/// selections.
pub type GridEnds = (String, [usize; 2], usize);

impl Warning {
    /// A word that scripts can look for.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoReference { .. } | Self::NoTable { .. } => "unknown-name",
            Self::ChosenOnTest => "chosen-on-test",
            Self::ChosenOnce => "chosen-once",
            Self::Halved => "halved",
            Self::UnequalBudgets(_) => "unequal-budgets",
            Self::PartlyTuned(_) => "partly-tuned",
            Self::EdgeOfGrid(_) => "edge-of-grid",
            Self::OtherProblem { .. } => "other-problem",
            Self::Incomplete { .. } => "incomplete",
            Self::FewSplits(_) => "few-splits",
            Self::SeveralTrainings(_) | Self::OneTraining(_) => "trainings",
            Self::WatchedTest => "watched-test",
            Self::UncorrectedMarks => "uncorrected-marks",
            Self::MarksLost { .. } => "marks-lost",
            Self::NothingToCompare(_) => "nothing-beside",
            Self::StrayRecords(_) | Self::OutsideTable(_) => "stray-records",
            Self::DamagedFiles(_) | Self::DamagedLines(_) => "damaged",
        }
    }

    /// A warning of a number of things, if there are any.
    fn of(count: usize, warning: fn(usize) -> Self) -> Option<Self> {
        (count > 0).then(|| warning(count))
    }

    /// A warning of things, if there are any.
    fn of_all<T>(found: impl Iterator<Item = T>, warning: fn(Vec<T>) -> Self) -> Option<Self> {
        let found = Vec::from_iter(found);
        (!found.is_empty()).then(|| warning(found))
    }
}

fn each<T>(items: &[T], words: impl Fn(&T) -> String) -> String {
    listed(&Vec::from_iter(items.iter().map(words)))
}

/// What was read but is not in the table.
#[derive(Default)]
pub(super) struct Ignored {
    /// Cells outside the plan that the ledger has numbers of.
    pub(super) records: usize,
    /// Cells of the plan whose dataset or method it does not list.
    pub(super) planned: usize,
    /// Damaged traces and maps.
    pub(super) files: usize,
    /// Lines of the ledger that are not records.
    pub(super) lines: usize,
}

/// All warnings of a table, the most serious first. `others` are of datasets that are not the paper's.
pub(super) fn all(summary: &Summary, others: Vec<Warning>, ignored: &Ignored) -> Vec<Warning> {
    let names = [no_reference(summary), no_paper(summary)];
    let numbers = [
        incomplete(summary),
        few_splits(summary),
        trainings(summary, |trainings| trainings > 1, Warning::SeveralTrainings),
        trainings(summary, |trainings| trainings == 1, Warning::OneTraining),
        is_watched(summary).then_some(Warning::WatchedTest),
        marks(summary),
        Warning::of(ignored.records, Warning::StrayRecords),
        Warning::of(ignored.planned, Warning::OutsideTable),
        Warning::of(ignored.files, Warning::DamagedFiles),
        // If the cell of a torn line was run again, the table is complete.
        Warning::of(ignored.lines, Warning::DamagedLines).filter(|_| !summary.counts.is_complete()),
    ];
    let names = names.into_iter().flatten();
    names.chain(selection(summary)).chain(others).chain(numbers.into_iter().flatten()).collect()
}

/// The method to compare with is unknown.
fn no_reference(summary: &Summary) -> Option<Warning> {
    let against = clean(&summary.plan.experiment.compare.as_ref()?.against);
    let labels = summary.columns.iter().map(|column| column.label.clone()).collect();
    summary.comparison.is_none().then_some(Warning::NoReference { against, labels })
}

/// The table that the experiment reproduces is unknown, or is about other methods or datasets.
fn no_paper(summary: &Summary) -> Option<Warning> {
    let number = summary.plan.experiment.reproduces.as_ref()?.table;
    let known: Vec<&str> = tables_of(Unit::Percent).map(|table| table.table.as_str()).collect();
    if !known.contains(&&*number.to_string()) {
        return Some(Warning::NoTable { number, known });
    }
    summary.paper.is_none().then_some(Warning::NothingToCompare(number))
}

/// How parameters were chosen.
fn selection(summary: &Summary) -> impl Iterator<Item = Warning> {
    let (tuned, fixed): (Vec<_>, Vec<_>) =
        summary.columns.iter().partition(|column| column.points > 1);
    let select = summary.plan.experiment.select.as_ref().filter(|_| !tuned.is_empty());
    let is = |test: fn(&Select) -> bool| select.is_some_and(test);
    let is_unequal = tuned.iter().any(|column| column.points != tuned[0].points);
    let points = tuned.iter().filter(|_| is_unequal);
    let fixed = fixed.iter().filter(|_| !tuned.is_empty());
    let found = [
        is(|select| select.on == SelectOn::Test).then_some(Warning::ChosenOnTest),
        is(|select| select.once).then_some(Warning::ChosenOnce),
        is(|select| select.halving).then_some(Warning::Halved),
        Warning::of_all(
            points.map(|column| (column.label.clone(), column.points)),
            Warning::UnequalBudgets,
        ),
        Warning::of_all(fixed.map(|column| column.label.clone()), Warning::PartlyTuned),
        edges(summary),
    ];
    found.into_iter().flatten()
}

/// Grids whose best value often is the smallest or the largest.
fn edges(summary: &Summary) -> Option<Warning> {
    let mut selections: BTreeMap<&str, usize> = BTreeMap::new();
    // How often the smallest and how often the largest value of a method's parameter was the best.
    let mut ends: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    for record in summary.records() {
        let Some(selection) = &record.selection else {
            continue;
        };
        *selections.entry(&record.label).or_default() += 1;
        for edge in &selection.edges {
            let counts = ends.entry((&record.label, &edge.parameter)).or_default();
            counts[usize::from(edge.end == End::Largest)] += 1;
        }
    }
    let grids = ends.into_iter().map(|((label, parameter), ends)| {
        (clean(&format!("{parameter} of {label}")), ends, selections[label])
    });
    Warning::of_all(grids, Warning::EdgeOfGrid)
}

fn incomplete(summary: &Summary) -> Option<Warning> {
    let count = |is: fn(&Cell) -> bool| summary.cells().filter(|cell| is(cell)).count();
    let partial = count(|cell| cell.share().is_some());
    let empty = count(|cell| cell.counts.planned() > 0 && cell.counts.done == 0);
    (partial + empty > 0).then_some(Warning::Incomplete { partial, empty })
}

/// Datasets with few splits. Networks on a single split are trained several times instead.
fn few_splits(summary: &Summary) -> Option<Warning> {
    let is_few = |row: &&Row| row.trainings.is_none() && (1..USUAL_SPLITS).contains(&row.splits());
    let few = summary.rows.iter().filter(is_few);
    Warning::of_all(few.map(|row| (row.dataset.clone(), row.splits())), Warning::FewSplits)
}

/// Datasets with one split where the number of trainings meets a condition.
fn trainings(
    summary: &Summary,
    are: fn(usize) -> bool,
    warning: fn(Vec<String>) -> Warning,
) -> Option<Warning> {
    let found = summary.rows.iter().filter(|row| row.trainings.is_some_and(are));
    Warning::of_all(found.map(|row| row.dataset.clone()), warning)
}

/// Whether test accuracies of networks were looked at before the end.
fn is_watched(summary: &Summary) -> bool {
    let experiment = &summary.plan.experiment;
    let is_tested = |spec: &DatasetSpec| match spec {
        DatasetSpec::Registered { options, .. } => options.evaluate_on == EvaluateOn::Test,
        DatasetSpec::Files(_) => true,
    };
    summary.columns.iter().any(|column| column.is_network)
        && experiment.record.contains(&Recording::Evolution)
        && experiment.datasets.iter().any(is_tested)
}

/// Marks of the plain t-test, which rejects too often.
fn marks(summary: &Summary) -> Option<Warning> {
    let comparison = summary.comparison.as_ref()?;
    let rows = summary.rows.iter().filter(|row| row.trainings.is_none());
    let marks = rows.flat_map(|row| &row.cells).map(|cell| comparison.both_marks(cell));
    let naive: Vec<_> = marks.filter(|[naive, _]| !naive.is_empty()).collect();
    let lost = naive.iter().filter(|[_, corrected]| corrected.is_empty()).count();
    let warning = match comparison.tests.contains(&Test::NadeauBengio) {
        true => Warning::MarksLost { lost, all: naive.len() },
        false => Warning::UncorrectedMarks,
    };
    (lost > 0).then_some(warning)
}
