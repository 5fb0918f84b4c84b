//! `paper`: ours minus the paper's, with Welch's interval and the practical margin.

use plotters::style::RGBAColor;
use serde::Serialize;

use super::axis::Axis;
use super::colour;
use super::lanes::{self, Bar, Lane};
use super::model::{Figure, Look, Mark, Panel};
use crate::analyse::{CONFIDENCE, Entry, Reproduction, Row, Summary};
use crate::render::csv::Number;
use crate::render::csv::rounded;

const MARGIN: f64 = Reproduction::MARGIN;
const HEIGHT: f64 = 22.0;

#[derive(Clone, Debug, Default, Serialize)]
struct Numbers {
    ours: Number,
    sd: Number,
    splits: usize,
    paper: Number,
    paper_sd: Number,
    difference: Number,
    low: Number,
    high: Number,
    p_welch: Number,
    verdict: &'static str,
}

/// The figure, if the paper has numbers.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let table = summary.paper?;
    let panel = |row: &Row, drawn: &[Lane]| (!drawn.is_empty()).then(|| panel(row.name(), drawn));
    let (panels, rows) = lanes::panels(summary, numbers, lane, panel);
    let words = format!(
        "Bars are 95 % intervals of Welch's test from the paper's mean, deviation and 10 runs and ours. The green band is \
         the practical margin of {MARGIN} points. A number is higher or lower if its interval excludes zero and its mean \
         lies outside the band; the longer the bar, the less it says that a number is reproduced. ≠: not the problem of \
         the paper's row.{}",
        lanes::undrawn_methods(summary)
    );
    let title = format!("ours minus the paper's Table {}", table.table);
    let figure = super::figure(summary, ("paper", &title), (panels, 2), &words, &rows)?;
    Some(Figure { legend: legend(), ..figure })
}

/// The row of a cell, if the paper has a number for it.
fn numbers(entry: Entry) -> Vec<Numbers> {
    let cell = entry.cell;
    let Some(versus) = &cell.paper else {
        return Vec::new();
    };
    let interval = versus.test.and_then(|test| test.interval(CONFIDENCE));
    vec![Numbers {
        ours: cell.mean.into(),
        sd: cell.deviation.into(),
        splits: cell.counts.done,
        paper: versus.printed.value.into(),
        paper_sd: versus.printed.deviation.into(),
        difference: versus.difference.map(rounded).into(),
        low: interval.map(|(low, _)| rounded(low)).into(),
        high: interval.map(|(_, high)| rounded(high)).into(),
        p_welch: versus.test.map(|test| rounded(test.p)).into(),
        verdict: versus.word(),
    }]
}

fn lane(numbers: &[Numbers], entry: Entry) -> Option<Lane> {
    let numbers = numbers.first()?;
    let look = Look::dot(colour_of(entry.cell.paper.as_ref()?.verdict));
    let interval = numbers.low.0.zip(numbers.high.0);
    let bar = numbers.difference.0.map(|mean| Bar::new(mean, look, &[(interval, 1.5)]));
    Some(Lane {
        label: entry.column.label.clone(),
        bars: bar.into_iter().collect(),
        words: entry.cell.word().to_owned(),
        ..Lane::default()
    })
}

fn panel(name: String, drawn: &[Lane]) -> Panel {
    let has_bars = drawn.iter().any(|lane| !lane.bars.is_empty());
    if !has_bars {
        return Panel { name, ..lanes::panel(drawn, None, Vec::new(), (HEIGHT, None)) };
    }
    let axis = Axis::linear(lanes::values(drawn).chain([-MARGIN, MARGIN]), 0.2);
    let bottom = drawn.len() as f64 - 0.5;
    let band = Mark::rectangle((-MARGIN, -0.5), (MARGIN, bottom), band());
    let behind = vec![band, lanes::guide(0.0, drawn.len(), colour::INK)];
    let below = "our mean accuracy minus the paper's, in points".to_owned();
    Panel { name, below, ..lanes::panel(drawn, axis, behind, (HEIGHT, None)) }
}

fn band() -> RGBAColor {
    colour::faint(colour::SERIES[2], 0.12)
}

fn colour_of(verdict: Reproduction) -> RGBAColor {
    match verdict {
        Reproduction::Reproduced => colour::METHOD,
        Reproduction::Higher | Reproduction::Lower => colour::REFERENCE,
        Reproduction::NotRun => colour::AXIS,
    }
}

fn legend() -> Vec<(String, Vec<Mark>)> {
    let icon = |verdict| lanes::bar_icon(Look::dot(colour_of(verdict)), 1.5);
    vec![
        ("reproduced: not told apart, or by little".to_owned(), icon(Reproduction::Reproduced)),
        ("higher or lower".to_owned(), icon(Reproduction::Higher)),
        ("not the same problem".to_owned(), icon(Reproduction::NotRun)),
        ("practical margin".to_owned(), vec![Mark::rectangle((-1.0, -1.0), (1.0, 1.0), band())]),
    ]
}
