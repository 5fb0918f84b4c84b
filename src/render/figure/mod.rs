//! `figures/*`: pictures of a ledger, each as SVG, PNG and, with the numbers drawn, CSV.
//!
//! The way of the data: a figure's own file takes its numbers from a [`Summary`] and adds shapes to a
//! [`sheet`], mostly by way of a [`plot`] with a [`scale`] along each axis or of a [`forest`] of
//! lanes; [`canvas`] turns the shapes into a file. `accuracy` alone has a layout of its own:
//! [`page`], [`panel`], [`lane`], [`axis`] and [`data`].
//!
//! A figure is drawn if the ledger holds what it shows; [`figures`] knows them all.

mod ablation;
mod axis;
mod beside;
mod canvas;
mod colour;
mod convergence;
mod critical;
mod data;
mod differences;
pub(super) mod effect;
mod embedding;
mod font;
mod forest;
mod hyper;
mod lane;
mod page;
mod panel;
mod plot;
mod radar;
mod scale;
mod sheet;
mod time;

use super::csv::with_cautions;
use super::{ExportError, Summary, Trace, protocol};
use canvas::Picture;

/// Panels that are drawn of very large experiments; the data has them all.
const MOST_PANELS: usize = 12;
/// Lanes or series of a panel that are drawn.
const MOST: usize = 30;

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

/// A picture that is ready to be written.
pub struct Drawn {
    /// Name of its files, without ending.
    pub name: &'static str,
    pub title: String,
    picture: Picture,
    /// The numbers that are drawn, as CSV.
    pub data: String,
}

impl Drawn {
    /// 960 pixels wide.
    pub fn svg(&self) -> Result<Vec<u8>, ExportError> {
        self.picture.svg().map_err(|reason| self.error(reason))
    }

    /// The same picture with twice as many pixels each way.
    pub fn png(&self) -> Result<Vec<u8>, ExportError> {
        self.picture.png().map_err(|reason| self.error(reason))
    }

    /// What the picture shows, in words.
    pub fn description(&self) -> &str {
        &self.picture.description
    }

    fn error(&self, reason: String) -> ExportError {
        ExportError::Format { file: self.name, reason }
    }
}

/// Every figure that the ledger has the numbers for, in the order of the report.
pub fn figures(summary: &Summary) -> Vec<Drawn> {
    let drawn = [
        Some(accuracy(summary)),
        differences::figure(summary),
        beside::figure(summary),
        critical::figure(summary),
        time::figure(summary),
        effect::figure(&[summary]),
        convergence::figure(summary),
        ablation::figure(summary),
        radar::figure(summary),
        hyper::figure(summary),
        embedding::figure(summary),
    ];
    let mut drawn: Vec<Drawn> = drawn.into_iter().flatten().collect();
    for drawn in &mut drawn {
        drawn.data = with_cautions(summary, &drawn.data);
    }
    drawn
}

fn accuracy(summary: &Summary) -> Drawn {
    Drawn {
        name: "accuracy",
        title: format!("{}: test accuracy by method", summary.heading()),
        picture: page::picture(summary),
        data: data::csv(summary),
    }
}

/// Says what was left out, where anything was.
fn left_out(summary: &Summary, name: &str) -> String {
    let panels = summary.rows.len().saturating_sub(MOST_PANELS);
    let methods = summary.columns.len().saturating_sub(MOST);
    if panels + methods == 0 {
        return String::new();
    }
    format!(
        " At most {MOST_PANELS} datasets and {MOST} methods are drawn; {name}.csv has the numbers of all."
    )
}

/// Says how many are drawn, where those are not all.
fn cut(drawn: usize, all: usize, what: &str) -> String {
    if drawn >= all {
        return String::new();
    }
    format!(" {drawn} of {all} {what} are drawn; the data has all.")
}

/// What a figure of single fits shows: of which data, and of which split of how many.
fn one_split(summary: &Summary, rows: impl Iterator<Item = usize> + Clone) -> String {
    let splits = |row: usize| summary.plan.datasets.get(row).map(|data| data.splits.len());
    let mut planned: Vec<usize> = rows.clone().filter_map(splits).collect();
    planned.sort_unstable();
    planned.dedup();
    let split = match planned.as_slice() {
        [1] => "Of the only split there is".to_owned(),
        [several] => format!("Of the first of {several} splits"),
        _ => "Of the first split of each dataset".to_owned(),
    };
    format!("{split}. {}", protocol::data(&summary.plan, rows))
}

/// What the steps of traces are called: networks train by epochs.
fn unit(summary: &Summary, traces: &[&Trace]) -> &'static str {
    let is_network = |trace: &&Trace| {
        let column = summary.columns.get(trace.column);
        column.is_some_and(|column| protocol::is_network(&column.method))
    };
    match traces.iter().filter(|trace| is_network(trace)).count() {
        0 => "iteration",
        networks if networks == traces.len() => "epoch",
        _ => "iteration or epoch",
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
