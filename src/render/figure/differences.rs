//! `differences`: what the t-tests see, the reference minus each method on every split.

use serde::Serialize;

use super::axis::Axis;
use super::lanes::{self, Bar, Lane};
use super::model::{ACROSS, Figure, Look, Panel};
use super::{colour, in_rows};
use crate::analyse::{CONFIDENCE, Entry, Paired, Row, Summary};
use crate::render::csv::rounded;

#[derive(Clone, Debug, Default, Serialize)]
struct Difference {
    kind: &'static str,
    number: Option<usize>,
    difference: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// The figure, if anything is compared.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let label = &summary.reference()?.label;
    let cell = |entry: Entry| {
        let data = entry.cell.paired.as_ref().map_or(Vec::new(), differences);
        let lane = (!entry.column.is_reference).then(|| lane(&data, entry));
        (data, lane)
    };
    let below = format!("accuracy of {label} minus the method's, in points");
    let panel = |row: &Row, drawn: &[Lane]| {
        row.cells.iter().find_map(|cell| cell.paired.as_ref())?;
        let values = lanes::spans(drawn).flat_map(|(low, high)| [low, high]).chain([0.0]);
        let zero = |_: &Axis| vec![lanes::guide(0.0, drawn.len(), colour::INK)];
        let panel = lanes::panel(drawn, Axis::linear(values, 0.2), &below, 22.0, zero);
        Some(Panel { name: row.dataset.clone(), ..panel })
    };
    let (panels, data) = lanes::panels(summary, cell, panel);
    let words = format!(
        "Right of the dashed line, {label} is better. The thick bar is the {0} % interval of the paper's paired t-test, which \
         treats splits as independent; the thin bar is corrected for overlapping training sets (Nadeau and Bengio). If \
         only the thin bar crosses the dashed line, only the paper's test finds a difference.{1}",
        CONFIDENCE * 100.0,
        lanes::words(summary)
    );
    let title = format!("{label} minus each method, split by split");
    let look = Look::dot(colour::METHOD);
    let legend = vec![
        lanes::split_icon(),
        ("mean, interval of the paper's test".to_owned(), look.icon(ACROSS, 3.5)),
        ("mean, corrected interval".to_owned(), look.icon(ACROSS, 1.5)),
    ];
    super::figure(summary, &title, in_rows(&panels, 2), legend, &words, &data)
}

/// Every difference, and the means with the intervals of both tests.
fn differences(paired: &Paired) -> Vec<Difference> {
    let differences = paired.differences.iter().enumerate();
    let differences = differences.map(|(number, difference)| Difference {
        kind: "split",
        number: Some(number),
        difference: Some(rounded(*difference)),
        ..Difference::default()
    });
    let tests = [("paired-t", Some(paired.naive)), ("nadeau-bengio", paired.corrected)];
    let tests = tests.into_iter().filter_map(|(kind, test)| {
        let test = test?;
        let (low, high) = test.interval(CONFIDENCE)?;
        let [difference, low, high] =
            [test.mean_difference, low, high].map(|value| Some(rounded(value)));
        Some(Difference { kind, number: None, difference, low, high })
    });
    differences.chain(tests).collect()
}

fn lane(data: &[Difference], entry: Entry) -> Lane {
    let Some(paired) = &entry.cell.paired else {
        let cell = entry.cell;
        let words = if cell.mean.is_some() { "too few common splits" } else { cell.word() };
        return Lane::new(entry, vec![Bar::without_mean(words)]);
    };
    let of = |kind| data.iter().filter(move |row| row.kind == kind);
    let interval = |kind| of(kind).find_map(|row| row.low.zip(row.high));
    let intervals = [(interval("nadeau-bengio"), 1.5), (interval("paired-t"), 3.5)];
    let mean = Some(paired.naive.mean_difference);
    let dots = of("split").filter_map(|row| row.difference).collect();
    let bar = Bar { dots, ..Bar::new(mean, Look::dot(colour::METHOD), &intervals) };
    Lane::new(entry, vec![bar])
}
