//! Files beside the ledger: traces of training and maps of samples, as far as there are any.
//!
//! A trace is read field by field and nothing is required of it but an `iteration` or an `epoch`, so
//! that every method may keep what it has.

use std::io;
use std::path::Path;

use serde::Deserialize;

use super::outputs::Inputs;
use super::summary::Summary;
use super::text::counted;
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

/// Why a file beside the ledger cannot be used.
struct Damaged;

/// Reads what there is: of every cell of the table, the first split's. Damaged files are passed over, with a
/// warning. What is read goes into the hash.
pub(super) fn read(dir: &Path, summary: &mut Summary, inputs: &mut Inputs) {
    let mut traces = Vec::new();
    let mut maps = Vec::new();
    let mut damaged = 0;
    for (row, cells) in summary.cells().iter().enumerate() {
        for (column, records) in cells.iter().enumerate() {
            let Some(record) = first(records) else {
                continue;
            };
            if traces.len() < MOST {
                let (points, is_damaged) = trace(dir, record, inputs);
                damaged += usize::from(is_damaged);
                if !points.is_empty() {
                    traces.push(Trace { row, column, split: record.split, points });
                }
            }
            if maps.len() < MOST {
                let found = embedding(dir, record, inputs);
                damaged += usize::from(found.is_err());
                maps.extend(found.ok().flatten().map(|embedding| Mapped {
                    row,
                    column,
                    embedding,
                }));
            }
        }
    }
    summary.traces = traces;
    summary.maps = maps;
    if damaged > 0 {
        let files = counted(damaged, "file");
        let text = format!(
            "ignored: {files} with a trace or a map, damaged or not readable; figures lack what was in them"
        );
        summary.warn("damaged", text);
    }
}

fn first<'a>(records: &[&'a Record]) -> Option<&'a Record> {
    let fitted = records.iter().filter(|record| record.status == Status::Ok);
    fitted.min_by_key(|record| record.split).copied()
}

/// A cell's name is a hash; one that is not is no name of a file of ours.
fn is_name(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The content of a file; nothing if there is none.
fn content(path: &Path, inputs: &mut Inputs) -> Result<Option<Vec<u8>>, Damaged> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) => Err(Damaged),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    inputs.add(&name, bytes.as_deref().unwrap_or_default());
    bytes.map(Some)
}

/// The lines of a trace that can be read, and whether there are others.
fn trace(dir: &Path, record: &Record, inputs: &mut Inputs) -> (Vec<TracePoint>, bool) {
    if !is_name(&record.cell) {
        return (Vec::new(), false);
    }
    let path = dir.join(TRACES).join(format!("{}.jsonl", record.cell));
    let bytes = match content(&path, inputs) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(Damaged) => return (Vec::new(), true),
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().take(LONGEST);
    let (mut points, mut is_damaged) = (Vec::new(), false);
    for line in lines {
        match serde_json::from_str(line) {
            Ok(point) => points.push(point),
            Err(_) => is_damaged = true,
        }
    }
    (points, is_damaged)
}

fn embedding(
    dir: &Path,
    record: &Record,
    inputs: &mut Inputs,
) -> Result<Option<Embedding>, Damaged> {
    if !is_name(&record.cell) {
        return Ok(None);
    }
    let Some(bytes) = content(&Embedding::path(dir, &record.cell), inputs)? else {
        return Ok(None);
    };
    let embedding: Embedding = serde_json::from_slice(&bytes).map_err(|_| Damaged)?;
    let samples = embedding.labels.len();
    let clouds = [&embedding.raw, &embedding.learnt];
    match clouds.iter().all(|cloud| cloud.points.len() == samples) {
        true => Ok(Some(embedding)),
        false => Err(Damaged),
    }
}
