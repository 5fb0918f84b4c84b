//! `paper`: ours minus the paper's, with Welch's interval and the practical margin.

use plotters::style::RGBAColor;
use serde::Serialize;

use super::axis::Axis;
use super::lanes::{self, Bar, Lane};
use super::model::{ACROSS, Figure, Legend, Look, Mark, Panel};
use super::{colour, in_rows};
use crate::analyse::{CONFIDENCE, Cell, Entry, Reproduction, Row, Summary, Versus};
use crate::render::csv::{finite, rounded};

const MARGIN: f64 = Reproduction::MARGIN;
/// The green of the palette, thinned.
const BAND: RGBAColor = RGBAColor(0x00, 0x9e, 0x73, 0.12);

#[derive(Serialize)]
struct Numbers {
    ours: Option<f64>,
    sd: Option<f64>,
    splits: usize,
    paper: Option<f64>,
    paper_sd: Option<f64>,
    difference: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    p_welch: Option<f64>,
    verdict: &'static str,
}

/// The figure, if the paper has numbers.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let table = summary.paper?;
    let cell = |entry: Entry| match &entry.cell.paper {
        Some(versus) => {
            let numbers = numbers(entry.cell, versus);
            let lane = lane(&numbers, versus.verdict, entry);
            (vec![numbers], Some(lane))
        }
        None => (Vec::new(), None),
    };
    let (panels, data) = lanes::panels(summary, cell, panel);
    let words = format!(
        "Bars are 95 % intervals of Welch's test from the paper's mean, deviation and 10 runs and ours. The green band is \
         the practical margin of {MARGIN} points. A number is higher or lower if its interval excludes zero and its mean \
         is outside the band. If the bar is long, \"reproduced\" means little. ≠: the problem differs from the paper's.{}",
        lanes::words(summary)
    );
    let title = format!("ours minus the paper's Table {}", table.table);
    super::figure(summary, &title, in_rows(&panels, 2), legend(), &words, &data)
}

/// A number of the paper, and ours compared with it.
fn numbers(cell: &Cell, versus: &Versus) -> Numbers {
    let interval = versus.test.and_then(|test| test.interval(CONFIDENCE));
    Numbers {
        ours: finite(cell.mean),
        sd: cell.deviation,
        splits: cell.counts.done,
        paper: Some(versus.printed.value),
        paper_sd: versus.printed.deviation,
        difference: finite(versus.difference).map(rounded),
        low: interval.map(|(low, _)| rounded(low)),
        high: interval.map(|(_, high)| rounded(high)),
        p_welch: versus.test.map(|test| rounded(test.p)),
        verdict: versus.verdict.word(),
    }
}

/// The lane of a number and its verdict.
fn lane(numbers: &Numbers, verdict: Reproduction, entry: Entry) -> Lane {
    let interval = numbers.low.zip(numbers.high);
    let bar = match numbers.difference {
        None => Bar::without_mean(entry.cell.word()),
        mean => Bar::new(mean, look(verdict), &[(interval, 1.5)]),
    };
    Lane::new(entry, vec![bar])
}

fn panel(row: &Row, drawn: &[Lane]) -> Option<Panel> {
    let values = lanes::spans(drawn).flat_map(|(low, high)| [low, high]);
    let axis = Axis::linear(values.chain([-MARGIN, MARGIN]), 0.2);
    let below = "our mean accuracy minus the paper's, in points";
    let panel = lanes::panel(drawn, axis, below, 22.0, |_| {
        let bottom = drawn.len() as f64 - 0.5;
        let band = Mark::rectangle((-MARGIN, -0.5), (MARGIN, bottom), BAND);
        vec![band, lanes::guide(0.0, drawn.len(), colour::INK)]
    });
    (!drawn.is_empty()).then(|| Panel { name: row.name(), ..panel })
}

fn look(verdict: Reproduction) -> Look {
    Look::dot(match verdict {
        Reproduction::Reproduced => colour::METHOD,
        Reproduction::Higher | Reproduction::Lower => colour::REFERENCE,
        Reproduction::NotRun => colour::AXIS,
    })
}

fn legend() -> Legend {
    let icon = |verdict| look(verdict).icon(ACROSS, 1.5);
    vec![
        (
            "reproduced: no difference found, or a small one".to_owned(),
            icon(Reproduction::Reproduced),
        ),
        ("higher or lower".to_owned(), icon(Reproduction::Higher)),
        ("a different problem".to_owned(), icon(Reproduction::NotRun)),
        ("practical margin".to_owned(), vec![Mark::rectangle((-1.0, -1.0), (1.0, 1.0), BAND)]),
    ]
}
