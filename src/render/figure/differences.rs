//! `differences`: what the t-tests see, the reference minus each method on every split.

use serde::Serialize;

use super::axis::Axis;
use super::colour;
use super::lanes::{self, Bar, Lane};
use super::model::{Figure, Look, Mark, Panel};
use crate::analyse::{CONFIDENCE, Entry, Paired, Row, Summary};
use crate::render::csv::Number;
use crate::render::csv::rounded;

const HEIGHT: f64 = 22.0;

#[derive(Clone, Debug, Default, Serialize)]
struct Difference {
    kind: &'static str,
    number: Option<usize>,
    difference: Number,
    low: Number,
    high: Number,
}

/// The figure, if anything is compared.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let label = &summary.reference()?.label;
    let numbers = |entry: Entry| entry.cell.paired.as_ref().map_or(Vec::new(), differences);
    let panel = |row: &Row, drawn: &[Lane]| {
        let is_tested = row.cells.iter().any(|cell| cell.paired.is_some());
        is_tested.then(|| panel(row.dataset.clone(), label, drawn))
    };
    let (panels, rows) = lanes::panels(summary, numbers, lane, panel);
    let words = format!(
        "Right of the dashes {label} is better. The thick bar is the {0} % interval of the paper's paired t-test, which \
         takes splits for independent; the thin one allows for overlapping training sets (Nadeau and Bengio). If only \
         the thin one crosses the dashes, the paper's test sees a difference that the corrected one does not.{1}",
        CONFIDENCE * 100.0,
        lanes::left_out(summary)
    );
    let title = format!("{label} minus each method, split by split");
    let title = ("differences", title.as_str());
    let figure = super::figure(summary, title, (panels, 2), &words, &rows)?;
    Some(Figure { legend: legend(), ..figure })
}

/// Every difference, and the means with the intervals of both tests.
fn differences(paired: &Paired) -> Vec<Difference> {
    let differences = paired.differences.iter().enumerate();
    let differences = differences.map(|(number, difference)| Difference {
        kind: "split",
        number: Some(number),
        difference: rounded(*difference).into(),
        ..Difference::default()
    });
    let tests = [("paired-t", Some(paired.naive)), ("nadeau-bengio", paired.corrected)];
    let tests = tests.into_iter().filter_map(|(kind, test)| {
        let test = test?;
        let (low, high) = test.interval(CONFIDENCE)?;
        let [difference, low, high] =
            [test.mean_difference, low, high].map(|value| rounded(value).into());
        Some(Difference { kind, number: None, difference, low, high })
    });
    differences.chain(tests).collect()
}

/// A lane of every method but the reference.
fn lane(rows: &[Difference], entry: Entry) -> Option<Lane> {
    let Entry { column, cell, .. } = entry;
    let splits = rows.iter().filter(|row| row.kind == "split");
    let interval = |kind| {
        let found = rows.iter().find(|row| row.kind == kind)?;
        found.low.0.zip(found.high.0)
    };
    let intervals = [(interval("nadeau-bengio"), 1.5), (interval("paired-t"), 3.5)];
    let look = Look::dot(colour::METHOD);
    let paired = cell.paired.as_ref();
    let bar = paired.map(|paired| Bar::new(paired.naive.mean_difference, look, &intervals));
    let words = if cell.mean.is_some() { "too few common splits" } else { cell.word() };
    (!column.is_reference).then(|| Lane {
        label: column.label.clone(),
        dots: splits.filter_map(|row| row.difference.0).collect(),
        bars: bar.into_iter().collect(),
        words: words.to_owned(),
        ..Lane::default()
    })
}

fn panel(name: String, reference: &str, drawn: &[Lane]) -> Panel {
    let axis = Axis::linear(lanes::values(drawn).chain([0.0]), 0.2);
    let behind = vec![lanes::guide(0.0, drawn.len(), colour::INK)];
    let below = format!("accuracy of {reference} minus the method's, in points");
    Panel { name, below, ..lanes::panel(drawn, axis, behind, (HEIGHT, None)) }
}

fn legend() -> Vec<(String, Vec<Mark>)> {
    let bar = |thick| vec![Mark::line(vec![(-1.0, 0.0), (1.0, 0.0)], thick, colour::METHOD)];
    vec![
        lanes::split_icon(),
        ("mean".to_owned(), Look::dot(colour::METHOD).icon()),
        ("interval of the paper's test".to_owned(), bar(3.5)),
        ("corrected interval".to_owned(), bar(1.5)),
    ]
}
