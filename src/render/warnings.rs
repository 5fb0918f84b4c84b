//! Warnings: what a reader must know before believing the table.

use std::collections::BTreeMap;

use super::summary::{Row, Summary, registered};
use super::text::{clean, counted, listed};
use crate::ledger::{Plan, PlannedMethod, Record};
use crate::paper::Shape;
use crate::spec::{SelectOn, Test};

/// The paper's number of splits.
const USUAL_SPLITS: usize = 10;

/// A warning, and a word for it that scripts can look for.
pub(super) struct Warning {
    pub(super) caution: &'static str,
    pub(super) text: String,
}

/// All warnings, the gravest first. `strays` is how many cells outside the plan the ledger has numbers of.
pub(super) fn all(plan: &Plan, summary: &Summary, strays: usize) -> Vec<Warning> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    found.extend(selection(plan));
    found.extend(budgets(plan));
    let mut add = |caution, texts: Vec<String>| {
        found.extend(texts.into_iter().map(|text| (caution, text)));
    };
    add("edge-of-grid", edges(&summary.records));
    add("other-problem", other_problems(plan, summary));
    add("incomplete", Vec::from_iter(incomplete(summary)));
    add("few-splits", Vec::from_iter(few_splits(summary)));
    let corrected = (summary.comparison.as_ref())
        .is_some_and(|comparison| comparison.tests.contains(&Test::NadeauBengio));
    let caution = if corrected {
        "marks-lost"
    } else {
        "uncorrected-marks"
    };
    add(caution, Vec::from_iter(marks(summary)));
    add(
        "nothing-beside",
        Vec::from_iter(nothing_beside(plan, summary)),
    );
    add("stray-records", ignored(plan, strays));
    found
        .into_iter()
        .map(|(caution, text)| Warning {
            caution,
            text: clean(&text),
        })
        .collect()
}

fn tuned(plan: &Plan) -> Vec<&PlannedMethod> {
    plan.methods.iter().filter(|m| m.points > 1).collect()
}

fn selection(plan: &Plan) -> Vec<(&'static str, String)> {
    let Some(select) = &plan.experiment.select else {
        return Vec::new();
    };
    if tuned(plan).is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    if select.on == SelectOn::Test {
        let text = "parameters were chosen on the test samples: the accuracies of tuned methods are \
                    too high and no estimate of anything";
        found.push(("chosen-on-test", text.to_owned()));
    }
    if select.once {
        let text = "parameters were chosen once per dataset, on the first split's training samples; \
                    other splits test on some of these, so accuracies of tuned methods are slightly \
                    high";
        found.push(("chosen-once", text.to_owned()));
    }
    if select.halving {
        let text = "parameters were chosen by successive halving: after every fold the worse half of \
                    the points was dropped, so that the best may have gone early";
        found.push(("halved", text.to_owned()));
    }
    found
}

/// Grids whose best value often is the smallest or the largest.
fn edges(records: &[Record]) -> Vec<String> {
    let mut cells: BTreeMap<&str, usize> = BTreeMap::new();
    // Of every method and parameter, how often the smallest and how often the largest value was best.
    let mut ends: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    for record in records {
        let Some(selection) = &record.selection else {
            continue;
        };
        *cells.entry(&record.label).or_default() += 1;
        for edge in selection["edges"].as_array().into_iter().flatten() {
            if let (Some(parameter), Some(end)) = (edge["parameter"].as_str(), edge["end"].as_str())
            {
                let counts = ends.entry((&record.label, parameter)).or_default();
                counts[usize::from(end == "largest")] += 1;
            }
        }
    }
    let grid = |(&(label, parameter), &[smallest, largest]): (&(&str, &str), &[usize; 2])| {
        let all = cells.get(label).copied().unwrap_or_default();
        format!("{parameter} of {label} {smallest} and {largest} of {all}")
    };
    let grids: Vec<String> = ends.iter().map(grid).collect();
    if grids.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "grids may be too narrow, by how often their smallest and their largest value was the best: {}",
        listed(&grids)
    )]
}

fn budgets(plan: &Plan) -> Vec<(&'static str, String)> {
    let tuned = tuned(plan);
    let mut found = Vec::new();
    let Some(first) = tuned.first() else {
        return found;
    };
    if tuned.iter().any(|method| method.points != first.points) {
        let points: Vec<String> = tuned
            .iter()
            .map(|method| format!("{} {}", method.label, method.points))
            .collect();
        let text = format!(
            "tuning budgets differ, which favours whoever tries more points: {}",
            listed(&points)
        );
        found.push(("unequal-budgets", text));
    }
    let fixed = plan.methods.iter().filter(|method| method.points <= 1);
    let fixed: Vec<&str> = fixed.map(|method| method.label.as_str()).collect();
    if !fixed.is_empty() {
        let text = format!(
            "only some methods are tuned; the parameters of {} are fixed",
            listed(&fixed)
        );
        found.push(("partly-tuned", text));
    }
    found
}

fn other_problems(plan: &Plan, summary: &Summary) -> Vec<String> {
    let Some(table) = summary.paper else {
        return Vec::new();
    };
    let describe = |(index, row): (usize, &Row)| {
        let (name, subsample) = registered(plan, index, plan.datasets.get(index)?)?;
        let printed = table.row(name)?.shape;
        let part = subsample.map(|n| format!("a part of {}", counted(n, "sample")));
        let ours = row.shape.map(|ours| format!("{} here", shape(ours)));
        let theirs = printed.map(|printed| format!("{} in the paper", shape(printed)));
        let sizes: Vec<String> = part.into_iter().chain(ours).chain(theirs).collect();
        Some(format!(
            "{}: not the problem of the paper's row, so the difference says little ({})",
            row.dataset,
            sizes.join("; ")
        ))
    };
    let rows = summary.rows.iter().enumerate();
    rows.filter(|(_, row)| row.other_problem)
        .filter_map(describe)
        .collect()
}

/// `(540, 360, 8000, 10)`, as in the paper.
pub(super) fn shape(shape: Shape) -> String {
    let Shape {
        n_train,
        n_test,
        dims,
        classes,
    } = shape;
    format!("({n_train}, {n_test}, {dims}, {classes})")
}

fn incomplete(summary: &Summary) -> Option<String> {
    let cells = || summary.rows.iter().flat_map(|row| &row.cells);
    let planned = cells().filter(|cell| cell.counts.planned() > 0);
    let partial = cells().filter(|cell| cell.share().is_some()).count();
    let empty = planned.filter(|cell| cell.counts.ok == 0).count();
    if partial + empty == 0 {
        return None;
    }
    Some(format!(
        "the table is incomplete (entries over fewer splits than planned: {partial}, without any \
         number: {empty}); these take no part in best, second best and ranks"
    ))
}

fn few_splits(summary: &Summary) -> Option<String> {
    let few: Vec<String> = summary
        .rows
        .iter()
        .filter(|row| (1..USUAL_SPLITS).contains(&row.splits()))
        .map(|row| format!("{} ({})", row.dataset, row.splits()))
        .collect();
    if few.is_empty() {
        return None;
    }
    Some(format!(
        "fewer than {USUAL_SPLITS} splits, so deviations and tests are weak, and with one split \
         there are none: {}",
        listed(&few)
    ))
}

/// Marks of the plain t-test, which rejects too often.
fn marks(summary: &Summary) -> Option<String> {
    let comparison = summary.comparison.as_ref()?;
    let cells = || summary.rows.iter().flat_map(|row| &row.cells);
    let naive = cells().filter(|cell| cell.naive.as_ref().is_some_and(|v| v.symbol.is_some()));
    let naive: Vec<_> = naive.collect();
    if naive.is_empty() {
        return None;
    }
    if !comparison.tests.contains(&Test::NadeauBengio) {
        return Some(
            "marks are of the plain paired t-test, which takes overlapping training sets for \
             independent ones and finds differences far too often"
                .to_owned(),
        );
    }
    let lost = naive
        .iter()
        .filter(|cell| cell.corrected.as_ref().is_none_or(|v| v.symbol.is_none()))
        .count();
    (lost > 0).then(|| {
        format!(
            "{lost} of the {} of the paired t-test vanish under the test corrected for overlapping training sets",
            counted(naive.len(), "mark")
        )
    })
}

fn nothing_beside(plan: &Plan, summary: &Summary) -> Option<String> {
    let number = plan.experiment.reproduces.as_ref()?.table;
    let held = crate::paper::table(&number.to_string()).is_some();
    (held && summary.paper.is_none()).then(|| {
        format!("Table {number} of the paper has none of these methods on any of these datasets")
    })
}

/// Records that no cell of the plan claims, and cells of the plan outside its table.
fn ignored(plan: &Plan, strays: usize) -> Vec<String> {
    let outside = plan
        .cells
        .iter()
        .filter(|c| c.dataset >= plan.datasets.len() || c.method >= plan.methods.len())
        .count();
    let mut found = Vec::new();
    if strays > 0 {
        found.push(format!(
            "ignored: ledger records of {} outside the plan (other parameters, data or code)",
            counted(strays, "cell")
        ));
    }
    if outside > 0 {
        found.push(format!(
            "ignored: {} of the plan whose dataset or method it does not list",
            counted(outside, "cell")
        ));
    }
    found
}
