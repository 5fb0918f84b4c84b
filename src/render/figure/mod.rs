//! `figures/*`: pictures of a ledger, each as SVG, PNG and, with the numbers drawn, CSV.
//!
//! Each figure's file takes typed rows from a [`Summary`]. The rows give both the CSV ([`data`]) and the marks of a
//! [`Figure`] ([`model`]), which is plain data. [`draw`] turns any figure into SVG, and [`png`] an SVG into PNG.
//! Panels with a lane per method share [`lanes`].
//!
//! A figure is drawn if the ledger holds what it shows; [`FIGURES`] lists them all.

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
use model::{Legend, Panel};

/// Methods of a dataset that are drawn.
const MOST: usize = 40;

type Build = fn(&Summary) -> Option<Figure>;

/// The figures with the names of their files, in the order of the report.
const FIGURES: [(&str, Build); 11] = [
    ("accuracy", accuracy::figure),
    ("differences", differences::figure),
    ("paper", against_paper::figure),
    ("critical-difference", critical::figure),
    ("time", time::figure),
    ("effect", |summary| effect::figure(&[summary])),
    ("convergence", training::convergence),
    ("ablation", training::ablation),
    ("radar", radar::figure),
    ("hyperparameters", hyper::figure),
    ("embedding", embedding::figure),
];

/// A cell with the trace of its first split.
type Traced<'a> = (Entry<'a>, &'a Trace);

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

/// Every figure that the ledger has the numbers for.
pub fn figures(summary: &Summary) -> Vec<Figure> {
    let built = FIGURES.iter().map(|(name, build)| Some(Figure { name, ..build(summary)? }));
    built.flatten().collect()
}

/// The names of all figures.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FIGURES.iter().map(|(name, _)| *name)
}

/// A figure of one experiment: what follows the experiment's title, rows of panels, what their marks are, what they
/// show in words, and their data. `None` without panels or data.
fn figure<R: Serialize>(
    summary: &Summary,
    title: &str,
    rows: Vec<Vec<Panel>>,
    legend: Legend,
    words: &str,
    data: &[R],
) -> Option<Figure> {
    (!rows.is_empty() && !data.is_empty()).then(|| Figure {
        name: "",
        title: format!("{}: {title}", summary.heading()),
        legend,
        rows,
        caption: caption(summary, words),
        data: csv(&summary.cautions(), data),
    })
}

/// Panels in rows of at most this many.
fn in_rows(panels: &[Panel], columns: usize) -> Vec<Vec<Panel>> {
    panels.chunks(columns).map(<[Panel]>::to_vec).collect()
}

/// What a figure of single fits shows: of which data, and of which split.
fn one_split<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut rows: Vec<&Row> = rows.collect();
    rows.dedup_by_key(|row| row.index);
    format!("First split of each dataset. {}", protocol::data(rows))
}

/// `10 splits` or `5 to 10 splits`.
fn splits(counts: impl Iterator<Item = usize> + Clone) -> String {
    let (fewest, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    let most_splits = counted(most, "split");
    if fewest == most { most_splits } else { format!("{fewest} to {most_splits}") }
}

/// What the steps of traces are called: networks train by epochs.
fn unit(traces: &[Traced]) -> &'static str {
    let are_networks = traces.iter().all(|(entry, _)| entry.column.is_network);
    if are_networks { "epoch" } else { "iteration" }
}

/// The cells whose fit was traced, with their traces.
fn traced<'a>(entries: impl Iterator<Item = Entry<'a>>) -> impl Iterator<Item = Traced<'a>> {
    entries.filter_map(|entry| Some((entry, entry.cell.trace.as_ref()?)))
}

/// How many methods are drawn, if not all are.
fn undrawn_methods(summary: &Summary) -> String {
    match summary.columns.len() {
        ..=MOST => String::new(),
        all => format!(" {MOST} of {all} methods are drawn; the data has all."),
    }
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
