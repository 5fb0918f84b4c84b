//! Warnings: what a reader must know before believing the table.

use std::collections::BTreeMap;
use std::fmt;

use super::summary::{Row, Summary};
use super::text::{clean, counted, listed};
use crate::ledger::{End, Plan};
use crate::paper::{self, Shape};
use crate::spec::{DatasetSpec, EncoderSpec, EvaluateOn, Recording, SelectOn, Test};

/// The paper's number of splits.
const USUAL_SPLITS: usize = 10;

/// A reason to doubt the table. The text says it to a reader, [`Warning::kind`] to a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The method to compare with is not among these.
    NoReference {
        against: String,
        labels: Vec<String>,
    },
    /// The table that the experiment reproduces is not one of these.
    NoTable {
        number: u32,
        held: Vec<&'static str>,
    },
    ChosenOnTest,
    ChosenOnce,
    Halved,
    /// How many points of parameters were tried, by method.
    UnequalBudgets(Vec<(String, usize)>),
    /// Methods whose parameters are fixed although those of others are tuned.
    PartlyTuned(Vec<String>),
    /// Grids whose smallest or largest value was the best.
    EdgeOfGrid(Vec<GridEnds>),
    /// A dataset that is not the paper's, and what is different.
    OtherProblem {
        dataset: String,
        sizes: Vec<String>,
    },
    /// How many cells lack some splits, and how many have none.
    Incomplete {
        partial: usize,
        empty: usize,
    },
    /// Datasets with their number of splits.
    FewSplits(Vec<(String, usize)>),
    /// Datasets on which networks are trained several times on one split, and only once.
    Trainings {
        several: Vec<String>,
        one: Vec<String>,
    },
    WatchedTest,
    UncorrectedMarks,
    /// How many marks of the plain test the corrected one does not confirm.
    MarksLost {
        lost: usize,
        all: usize,
    },
    /// The table of the paper with which ours has no cell in common.
    NothingBeside(u32),
    /// How many cells outside the plan the ledger has numbers of.
    StrayRecords(usize),
    /// How many cells of the plan are of a dataset or method that it does not list.
    OutsideTable(usize),
    DamagedFiles(usize),
    DamagedLines(usize),
}

/// How often the ends of a parameter's grid were the best.
#[derive(Clone, Debug, PartialEq)]
pub struct GridEnds {
    pub method: String,
    pub parameter: String,
    pub smallest: usize,
    pub largest: usize,
    /// Of how many selections.
    pub all: usize,
}

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
            Self::Trainings { .. } => "trainings",
            Self::WatchedTest => "watched-test",
            Self::UncorrectedMarks => "uncorrected-marks",
            Self::MarksLost { .. } => "marks-lost",
            Self::NothingBeside(_) => "nothing-beside",
            Self::StrayRecords(_) | Self::OutsideTable(_) => "stray-records",
            Self::DamagedFiles(_) | Self::DamagedLines(_) => "damaged",
        }
    }
}

impl Warning {
    /// How parameters were chosen.
    fn about_parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChosenOnTest => f.write_str(
                "parameters were chosen on the test samples: the accuracies of tuned methods are \
                 too high and no estimate of anything",
            ),
            Self::ChosenOnce => f.write_str(
                "parameters were chosen once per dataset, on the first split's training samples; \
                 other splits test on some of these, so accuracies of tuned methods are slightly \
                 high",
            ),
            Self::Halved => f.write_str(
                "parameters were chosen by successive halving: after every fold the worse half of \
                 the points was dropped, so that the best may have gone early",
            ),
            Self::UnequalBudgets(points) => write!(
                f,
                "tuning budgets differ, which favours whoever tries more points: {}",
                each(points, |(label, points)| format!("{label} {points}"))
            ),
            Self::PartlyTuned(fixed) => write!(
                f,
                "only some methods are tuned; the parameters of {} are fixed",
                listed(fixed)
            ),
            Self::EdgeOfGrid(grids) => write!(
                f,
                "grids may be too narrow, by how often their smallest and their largest value was \
                 the best: {}",
                each(grids, |ends| {
                    let GridEnds { method, parameter, smallest, largest, all } = ends;
                    format!("{parameter} of {method} {smallest} and {largest} of {all}")
                })
            ),
            _ => Ok(()),
        }
    }

    /// What deviations, tests and marks are worth.
    fn about_tests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewSplits(few) => write!(
                f,
                "fewer than {USUAL_SPLITS} splits, so deviations and tests are weak, and with one split \
                 there are none: {}",
                each(few, |(dataset, splits)| format!("{dataset} ({splits})"))
            ),
            Self::Trainings { several, one } => {
                let several = (!several.is_empty()).then(|| {
                    format!(
                        "deviations and tests of networks on {} are over trainings on one split: \
                         variation of training, not of data",
                        listed(several)
                    )
                });
                let one = (!one.is_empty()).then(|| {
                    let datasets = listed(one);
                    format!(
                        "one training of each network on {datasets}, so their differences are not tested"
                    )
                });
                f.write_str(&Vec::from_iter(several.into_iter().chain(one)).join("; "))
            }
            Self::WatchedTest => f.write_str(
                "the test accuracy of networks was recorded after every epoch; it chose nothing here, and \
                 nothing should be chosen by it",
            ),
            Self::UncorrectedMarks => f.write_str(
                "marks are of the plain paired t-test, which takes overlapping training sets for \
                 independent ones and finds differences far too often",
            ),
            Self::MarksLost { lost, all } => write!(
                f,
                "{lost} of the {} of the paired t-test vanish under the test corrected for overlapping \
                 training sets",
                counted(*all, "mark")
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoReference { against, labels } => write!(
                f,
                "nothing is tested: the method to compare with, {against}, is not among {}",
                listed(labels)
            ),
            Self::NoTable { number, held } => write!(
                f,
                "the experiment names Table {number} of the paper, but accuracies are held of Tables {} only",
                listed(held)
            ),
            Self::ChosenOnTest
            | Self::ChosenOnce
            | Self::Halved
            | Self::UnequalBudgets(_)
            | Self::PartlyTuned(_)
            | Self::EdgeOfGrid(_) => self.about_parameters(f),
            Self::OtherProblem { dataset, sizes } => write!(
                f,
                "{dataset}: not the problem of the paper's row, so the difference says little ({})",
                sizes.join("; ")
            ),
            Self::Incomplete { partial, empty } => write!(
                f,
                "the table is incomplete (entries over fewer splits than planned: {partial}, without any \
                 number: {empty}); these take no part in best, second best and ranks"
            ),
            Self::FewSplits(_)
            | Self::Trainings { .. }
            | Self::WatchedTest
            | Self::UncorrectedMarks
            | Self::MarksLost { .. } => self.about_tests(f),
            Self::NothingBeside(number) => write!(
                f,
                "Table {number} of the paper has none of these methods on any of these datasets"
            ),
            Self::StrayRecords(cells) => write!(
                f,
                "ignored: ledger records of {} outside the plan (other parameters, data or code)",
                counted(*cells, "cell")
            ),
            Self::OutsideTable(cells) => write!(
                f,
                "ignored: {} of the plan whose dataset or method it does not list",
                counted(*cells, "cell")
            ),
            Self::DamagedFiles(files) => write!(
                f,
                "ignored: {} with a trace or a map, damaged or not readable; figures lack what was in them",
                counted(*files, "file")
            ),
            Self::DamagedLines(lines) => write!(
                f,
                "ignored: {} of the ledger, torn or no record; run again to fill the gap",
                counted(*lines, "line")
            ),
        }
    }
}

fn each<T>(items: &[T], words: impl Fn(&T) -> String) -> String {
    listed(&items.iter().map(words).collect::<Vec<_>>())
}

/// The warnings that follow from the plan and the table, the gravest first. `strays` is how many cells outside the
/// plan the ledger has numbers of.
pub(super) fn all(plan: &Plan, summary: &Summary, strays: usize) -> Vec<Warning> {
    let mut found = selection(summary);
    found.extend(edges(summary));
    found.extend(
        summary
            .rows
            .iter()
            .enumerate()
            .filter_map(|(index, row)| other_problem(plan, summary.paper?, index, row)),
    );
    found.extend(incomplete(summary));
    found.extend(splits(summary));
    found.extend(is_watched(summary).then_some(Warning::WatchedTest));
    found.extend(marks(summary));
    found.extend(nothing_beside(summary));
    found.extend((strays > 0).then_some(Warning::StrayRecords(strays)));
    let is_outside = |cell: &&crate::ledger::PlannedCell| {
        cell.dataset >= plan.datasets.len() || cell.method >= plan.methods.len()
    };
    let outside = plan.cells.iter().filter(is_outside).count();
    found.extend((outside > 0).then_some(Warning::OutsideTable(outside)));
    found
}

/// How parameters were chosen.
fn selection(summary: &Summary) -> Vec<Warning> {
    let (tuned, fixed): (Vec<_>, Vec<_>) =
        summary.columns.iter().partition(|column| column.points > 1);
    let Some(first) = tuned.first() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if let Some(select) = &summary.plan.experiment.select {
        found.extend((select.on == SelectOn::Test).then_some(Warning::ChosenOnTest));
        found.extend(select.once.then_some(Warning::ChosenOnce));
        found.extend(select.halving.then_some(Warning::Halved));
    }
    if tuned.iter().any(|column| column.points != first.points) {
        let points = tuned.iter().map(|column| (column.label.clone(), column.points));
        found.push(Warning::UnequalBudgets(points.collect()));
    }
    if !fixed.is_empty() {
        let fixed = fixed.iter().map(|column| column.label.clone());
        found.push(Warning::PartlyTuned(fixed.collect()));
    }
    found
}

/// Grids whose best value often is the smallest or the largest.
fn edges(summary: &Summary) -> Option<Warning> {
    let mut cells: BTreeMap<&str, usize> = BTreeMap::new();
    // Of every method and parameter, how often the smallest and how often the largest value was best.
    let mut ends: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    for record in summary.records() {
        let Some(selection) = &record.selection else {
            continue;
        };
        *cells.entry(&record.label).or_default() += 1;
        for edge in &selection.edges {
            let counts = ends.entry((&record.label, &edge.parameter)).or_default();
            counts[usize::from(edge.end == End::Largest)] += 1;
        }
    }
    let grids = ends.into_iter().map(|((label, parameter), [smallest, largest])| GridEnds {
        method: clean(label),
        parameter: clean(parameter),
        smallest,
        largest,
        all: cells[label],
    });
    let grids: Vec<GridEnds> = grids.collect();
    (!grids.is_empty()).then_some(Warning::EdgeOfGrid(grids))
}

/// What makes a row another problem than the paper's.
fn other_problem(plan: &Plan, table: &paper::Table, index: usize, row: &Row) -> Option<Warning> {
    let (name, options) = plan.registered(index).filter(|_| row.other_problem)?;
    let part = options.subsample.map(|n| format!("a part of {}", counted(n, "sample")));
    let size = options.encoder.as_ref().map(|encoder| encoder.size);
    let size = size.filter(|&size| size != EncoderSpec::SIZE);
    let size = size.map(|size| format!("images of {size} x {size} pixels"));
    let validation = (options.evaluate_on == EvaluateOn::Validation)
        .then(|| "measured on the validation samples".to_owned());
    let ours = row.shape.map(|ours| format!("{} here", shape(ours)));
    let printed = table.row(name)?.shape;
    let theirs = printed.map(|printed| format!("{} in the paper", shape(printed)));
    let sizes = [part, size, validation, ours, theirs].into_iter().flatten().collect();
    Some(Warning::OtherProblem { dataset: row.dataset.clone(), sizes })
}

/// `(540, 360, 8000, 10)`, as in the paper.
pub fn shape(shape: Shape) -> String {
    let Shape { n_train, n_test, dims, classes } = shape;
    format!("({n_train}, {n_test}, {dims}, {classes})")
}

fn incomplete(summary: &Summary) -> Option<Warning> {
    let cells = || summary.rows.iter().flat_map(|row| &row.cells);
    let partial = cells().filter(|cell| cell.share().is_some()).count();
    let is_empty = |counts: crate::ledger::Tally| counts.planned() > 0 && counts.done == 0;
    let empty = cells().filter(|cell| is_empty(cell.counts)).count();
    (partial + empty > 0).then_some(Warning::Incomplete { partial, empty })
}

/// Datasets with few splits, and what repeated trainings of networks on one split can tell.
fn splits(summary: &Summary) -> Vec<Warning> {
    let rows = || summary.rows.iter();
    let few = rows()
        .filter(|row| row.trainings.is_none() && (1..USUAL_SPLITS).contains(&row.splits()))
        .map(|row| (row.dataset.clone(), row.splits()));
    let few: Vec<_> = few.collect();
    let mut found = Vec::new();
    if !few.is_empty() {
        found.push(Warning::FewSplits(few));
    }
    let names = |wanted: fn(&Row) -> bool| -> Vec<String> {
        rows().filter(|row| wanted(row)).map(|row| row.dataset.clone()).collect()
    };
    let (several, one) = (names(Row::is_repeated), names(|row| row.trainings == Some(1)));
    if !several.is_empty() || !one.is_empty() {
        found.push(Warning::Trainings { several, one });
    }
    found
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
    let marks = rows.flat_map(|row| &row.cells).map(|cell| {
        let tests = comparison.tests(cell);
        tests.map(|test| test.is_some_and(|test| !comparison.mark(&test).is_empty()))
    });
    let naive: Vec<[bool; 2]> = marks.filter(|[naive, _]| *naive).collect();
    let lost = naive.iter().filter(|[_, corrected]| !corrected).count();
    match comparison.tests.contains(&Test::NadeauBengio) {
        _ if lost == 0 => None,
        true => Some(Warning::MarksLost { lost, all: naive.len() }),
        false => Some(Warning::UncorrectedMarks),
    }
}

fn nothing_beside(summary: &Summary) -> Option<Warning> {
    let number = summary.plan.experiment.reproduces.as_ref()?.table;
    let is_held = paper::table(&number.to_string()).is_some();
    (is_held && summary.paper.is_none()).then_some(Warning::NothingBeside(number))
}
