//! `figures/*`: pictures of a ledger, each as SVG, PNG and, with the numbers drawn, CSV.
//!
//! Each figure's file takes typed rows from a [`Summary`]. The rows give both the CSV ([`data`]) and the marks of a
//! [`Figure`] ([`model`]), which is plain data. [`draw`] turns any figure into SVG, and [`png`] an SVG into PNG.
//! Panels with a lane per method share [`lanes`].
//!
//! A figure is drawn if the ledger holds what it shows; [`figures`] lists them all.

mod accuracy;
mod against_paper;
mod axis;
mod colour;
mod critical;
mod differences;
mod draw;
pub(super) mod effect;
mod embedding;
mod hyper;
mod lanes;
mod model;
mod png;
mod radar;
mod text;
mod time;
mod training;

pub use model::Figure;

use serde::Serialize;

use super::csv::csv;
use crate::analyse::text::counted;
use crate::analyse::{Entry, Row, Summary, Trace, protocol};
use crate::error::Error;
use model::Panel;

/// The names of all figures.
pub(super) const NAMES: [&str; 11] = [
    "accuracy",
    "differences",
    "paper",
    "critical-difference",
    "time",
    "effect",
    "convergence",
    "ablation",
    "radar",
    "hyperparameters",
    "embedding",
];

impl Figure {
    /// An SVG, 960 pixels wide.
    pub fn svg(&self) -> Result<String, Error> {
        draw::svg(self).map_err(|reason| self.error(reason))
    }

    /// The SVG as a PNG with twice as many pixels each way.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>, Error> {
        png::png(svg).map_err(|reason| self.error(reason))
    }

    fn error(&self, reason: String) -> Error {
        Error::failed(format!("cannot build {}: {reason}", self.name))
    }
}

/// Every figure that the ledger has the numbers for, in the order of the report.
pub fn figures(summary: &Summary) -> Vec<Figure> {
    let figures = [
        accuracy::figure(summary),
        differences::figure(summary),
        against_paper::figure(summary),
        critical::figure(summary),
        time::figure(summary),
        effect::figure(&[summary]),
        training::convergence(summary),
        training::ablation(summary),
        radar::figure(summary),
        hyper::figure(summary),
        embedding::figure(summary),
    ];
    figures.into_iter().flatten().collect()
}

/// A figure of one experiment: its name, what follows the experiment's title, its panels and how many of them have room
/// next to each other, what they show in words, and their data. `None` without panels.
fn figure<R: Serialize + Default>(
    summary: &Summary,
    (name, title): (&'static str, &str),
    (panels, columns): (Vec<Panel>, usize),
    words: &str,
    rows: &[R],
) -> Option<Figure> {
    let columns = panels.len().min(columns);
    (columns > 0).then(|| Figure {
        name,
        title: format!("{}: {title}", summary.heading()),
        legend: Vec::new(),
        rows: Figure::grid(panels, columns),
        columns,
        caption: caption(summary, words),
        data: csv(&summary.cautions(), rows),
    })
}

/// What a figure of single fits shows: of which data, and of which split of how many.
fn one_split<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> String {
    let mut planned: Vec<usize> = rows.clone().map(|row| row.data.splits.len()).collect();
    planned.sort_unstable();
    planned.dedup();
    let split = match planned.as_slice() {
        [1] => "Of the only split there is".to_owned(),
        [several] => format!("Of the first of {several} splits"),
        _ => "Of the first split of each dataset".to_owned(),
    };
    format!("{split}. {}", protocol::data(rows))
}

/// `10 splits` or `5 to 10 splits`.
fn splits(counts: impl Iterator<Item = usize> + Clone) -> String {
    let (fewest, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let most_splits = counted(most, "split");
    if fewest == most { most_splits } else { format!("{fewest} to {most_splits}") }
}

/// What the steps of traces are called: networks train by epochs.
fn unit(entries: &[Entry]) -> &'static str {
    match entries.iter().filter(|entry| entry.column.is_network).count() {
        0 => "iteration",
        networks if networks == entries.len() => "epoch",
        _ => "iteration or epoch",
    }
}

/// The cells whose fit was traced, with their traces.
fn traced<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
) -> impl Iterator<Item = (Entry<'a>, &'a Trace)> {
    entries.filter_map(|entry| Some((entry, entry.cell.trace.as_ref()?)))
}

/// A caption: the state of the run, what is drawn, what to beware of, and where it comes from.
fn caption(summary: &Summary, words: &str) -> String {
    let warnings = summary.warnings.iter().map(|warning| format!("Warning: {warning}."));
    let mut sentences = vec![summary.state.clone(), words.to_owned()];
    sentences.extend(warnings);
    sentences.push(summary.provenance.clone());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences.join(" ")
}
