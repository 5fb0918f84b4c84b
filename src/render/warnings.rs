//! Warnings: what a reader must know before believing the table.

use std::collections::BTreeMap;

use super::protocol;
use super::summary::{Row, Summary, registered};
use super::text::{clean, counted, listed};
use crate::ledger::{End, Plan, PlannedMethod, Record};
use crate::paper::Shape;
use crate::spec::{DatasetSpec, EncoderSpec, EvaluateOn, Recording, SelectOn, Test};

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
    add("trainings", Vec::from_iter(trainings(summary)));
    add("watched-test", Vec::from_iter(watched(plan)));
    let corrected = (summary.comparison.as_ref())
        .is_some_and(|comparison| comparison.tests.contains(&Test::NadeauBengio));
    let caution = if corrected { "marks-lost" } else { "uncorrected-marks" };
    add(caution, Vec::from_iter(marks(summary)));
    add("nothing-beside", Vec::from_iter(nothing_beside(plan, summary)));
    add("stray-records", ignored(plan, strays));
    found.into_iter().map(|(caution, text)| Warning { caution, text: clean(&text) }).collect()
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
        for edge in &selection.edges {
            let counts = ends.entry((&record.label, &edge.parameter)).or_default();
            counts[usize::from(edge.end == End::Largest)] += 1;
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
        let points: Vec<String> =
            tuned.iter().map(|method| format!("{} {}", method.label, method.points)).collect();
        let text = format!(
            "tuning budgets differ, which favours whoever tries more points: {}",
            listed(&points)
        );
        found.push(("unequal-budgets", text));
    }
    let fixed = plan.methods.iter().filter(|method| method.points <= 1);
    let fixed: Vec<&str> = fixed.map(|method| method.label.as_str()).collect();
    if !fixed.is_empty() {
        let text =
            format!("only some methods are tuned; the parameters of {} are fixed", listed(&fixed));
        found.push(("partly-tuned", text));
    }
    found
}

fn other_problems(plan: &Plan, summary: &Summary) -> Vec<String> {
    let Some(table) = summary.paper else {
        return Vec::new();
    };
    let describe = |(index, row): (usize, &Row)| {
        let (name, options) = registered(plan, index, plan.datasets.get(index)?)?;
        let printed = table.row(name)?.shape;
        let part = options.subsample;
        let part = part.map(|n| format!("a part of {}", counted(n, "sample")));
        let size = options.encoder.as_ref().map(|encoder| encoder.size);
        let size = size.filter(|&size| size != EncoderSpec::SIZE);
        let size = size.map(|size| format!("images of {size} x {size} pixels"));
        let validation = (options.evaluate_on == EvaluateOn::Validation)
            .then(|| "measured on the validation samples".to_owned());
        let ours = row.shape.map(|ours| format!("{} here", shape(ours)));
        let theirs = printed.map(|printed| format!("{} in the paper", shape(printed)));
        let sizes = [part, size, validation, ours, theirs];
        let sizes: Vec<String> = sizes.into_iter().flatten().collect();
        Some(format!(
            "{}: not the problem of the paper's row, so the difference says little ({})",
            row.dataset,
            sizes.join("; ")
        ))
    };
    let rows = summary.rows.iter().enumerate();
    rows.filter(|(_, row)| row.other_problem).filter_map(describe).collect()
}

/// `(540, 360, 8000, 10)`, as in the paper.
pub(super) fn shape(shape: Shape) -> String {
    let Shape { n_train, n_test, dims, classes } = shape;
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
        .filter(|row| row.trainings.is_none())
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

/// What repeated trainings of networks on one split can tell, and what one cannot.
fn trainings(summary: &Summary) -> Option<String> {
    let rows = |wanted: fn(usize) -> bool| -> Vec<&str> {
        let rows = summary.rows.iter();
        let rows = rows.filter(|row| row.trainings.is_some_and(wanted));
        rows.map(|row| row.dataset.as_str()).collect()
    };
    let (several, one) = (rows(|n| n > 1), rows(|n| n == 1));
    let several = (!several.is_empty()).then(|| {
        format!(
            "deviations and tests of networks on {} are over trainings on one split: variation of \
             training, not of data",
            listed(&several)
        )
    });
    let one = (!one.is_empty()).then(|| {
        let what = "so their differences are not tested";
        format!("one training of each network on {}, {what}", listed(&one))
    });
    let all: Vec<String> = several.into_iter().chain(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Test accuracies of networks that were looked at before the end.
fn watched(plan: &Plan) -> Option<String> {
    let experiment = &plan.experiment;
    let mut methods = plan.methods.iter();
    let has_networks = methods.any(|method| protocol::is_network(&method.method));
    let is_tested = |spec: &DatasetSpec| match spec {
        DatasetSpec::Registered { options, .. } => options.evaluate_on == EvaluateOn::Test,
        DatasetSpec::Files(_) => true,
    };
    let is_watched = has_networks
        && experiment.record.contains(&Recording::Evolution)
        && experiment.datasets.iter().any(is_tested);
    is_watched.then(|| {
        "the test accuracy of networks was recorded after every epoch; it chose nothing here, and \
         nothing should be chosen by it"
            .to_owned()
    })
}

/// Marks of the plain t-test, which rejects too often.
fn marks(summary: &Summary) -> Option<String> {
    let comparison = summary.comparison.as_ref()?;
    let rows = || summary.rows.iter().filter(|row| row.trainings.is_none());
    let cells = || rows().flat_map(|row| &row.cells);
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
