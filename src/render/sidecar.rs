//! Files beside the ledger: traces of training and maps of samples, as far as there are any.
//!
//! A trace is read field by field and nothing is required of it but an `iteration` or an `epoch`, so
//! that every method may keep what it has.

use std::path::Path;

use serde::Deserialize;

use super::summary::Summary;
use crate::ledger::{Embedding, Record, Status, TRACES};

/// Most files of either kind that are read; figures show fewer.
const MOST: usize = 60;
/// Longest trace that is read, in iterations.
const LONGEST: usize = 100_000;

/// How one fit went, iteration by iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub row: usize,
    pub column: usize,
    pub split: usize,
    pub points: Vec<TracePoint>,
}

/// One iteration or epoch.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TracePoint {
    #[serde(alias = "epoch")]
    pub iteration: usize,
    /// The largest of the classes' objectives.
    pub primal: Option<f64>,
    /// Their weighted sum.
    pub dual: Option<f64>,
    /// Percent of the test samples classified correctly.
    pub accuracy: Option<f64>,
    /// One per class.
    pub objectives: Vec<f64>,
}

/// A map of samples and the cell it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped {
    pub row: usize,
    pub column: usize,
    pub embedding: Embedding,
}

impl Trace {
    /// A number of every iteration that has it.
    pub(super) fn curve(&self, get: fn(&TracePoint) -> Option<f64>) -> Vec<(f64, f64)> {
        let points = self.points.iter().filter_map(|point| {
            let value = get(point).filter(|value| value.is_finite())?;
            Some((point.iteration as f64, value))
        });
        points.collect()
    }
}

/// Reads what there is: of every cell of the table, the first split's.
pub(super) fn read(dir: &Path, summary: &mut Summary) {
    let mut traces = Vec::new();
    let mut maps = Vec::new();
    for (row, cells) in summary.cells().iter().enumerate() {
        for (column, records) in cells.iter().enumerate() {
            let Some(record) = first(records) else {
                continue;
            };
            if traces.len() < MOST {
                let trace = trace(dir, record).map(|points| Trace {
                    row,
                    column,
                    split: record.split,
                    points,
                });
                traces.extend(trace);
            }
            if maps.len() < MOST {
                let found = embedding(dir, record);
                maps.extend(found.map(|embedding| Mapped {
                    row,
                    column,
                    embedding,
                }));
            }
        }
    }
    summary.traces = traces;
    summary.maps = maps;
}

fn first<'a>(records: &[&'a Record]) -> Option<&'a Record> {
    let fitted = records.iter().filter(|record| record.status == Status::Ok);
    fitted.min_by_key(|record| record.split).copied()
}

/// A cell's name is a hash; one that is not is no name of a file of ours.
fn is_name(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn trace(dir: &Path, record: &Record) -> Option<Vec<TracePoint>> {
    if !is_name(&record.cell) {
        return None;
    }
    let path = dir.join(TRACES).join(format!("{}.jsonl", record.cell));
    let text = std::fs::read_to_string(path).ok()?;
    let lines = text.lines().take(LONGEST);
    let points: Vec<TracePoint> = lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    (!points.is_empty()).then_some(points)
}

fn embedding(dir: &Path, record: &Record) -> Option<Embedding> {
    if !is_name(&record.cell) {
        return None;
    }
    let text = std::fs::read(Embedding::path(dir, &record.cell)).ok()?;
    let embedding: Embedding = serde_json::from_slice(&text).ok()?;
    let samples = embedding.labels.len();
    let clouds = [&embedding.raw, &embedding.learnt];
    clouds
        .iter()
        .all(|cloud| cloud.points.len() == samples)
        .then_some(embedding)
}
