//! Files beside the ledger: traces of training and maps of samples, as far as there are any.
//!
//! A trace is read field by field and nothing is required of it but an `iteration` or an `epoch`, so
//! that every method may keep what it has.

use std::io;
use std::path::Path;

use serde::Deserialize;

use super::sources::Hash;
use super::summary::{Cell, Row};
use crate::ledger::{Embedding, Record, Status, TRACES};

/// Most files of either kind that are read; figures show fewer.
const MOST: usize = 60;
/// Longest trace that is read, in iterations.
const LONGEST: usize = 100_000;

/// How one fit went, iteration by iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
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

impl Trace {
    /// A number of every iteration that has it.
    pub fn curve(&self, get: fn(&TracePoint) -> Option<f64>) -> Vec<(f64, f64)> {
        let points = self.points.iter().filter_map(|point| {
            let value = get(point).filter(|value| value.is_finite())?;
            Some((point.iteration as f64, value))
        });
        points.collect()
    }
}

/// Why a file beside the ledger cannot be used.
struct Damaged;

/// Reads what there is: of every cell of the table, the first split's. What is read goes into the hash. Returns how
/// many files are damaged; they are skipped.
pub(super) fn read(dir: &Path, rows: &mut [Row], hash: &mut Hash) -> usize {
    let (mut traces, mut maps, mut damaged) = (0, 0, 0);
    for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
        let Some(record) = first(cell) else {
            continue;
        };
        let (split, mut points, mut map) = (record.split, Vec::new(), Ok(None));
        if traces < MOST {
            let is_damaged;
            (points, is_damaged) = trace(dir, record, hash);
            damaged += usize::from(is_damaged);
        }
        if maps < MOST {
            map = embedding(dir, record, hash);
            damaged += usize::from(map.is_err());
        }
        cell.trace = (!points.is_empty()).then_some(Trace { split, points });
        cell.map = map.ok().flatten();
        traces += usize::from(cell.trace.is_some());
        maps += usize::from(cell.map.is_some());
    }
    damaged
}

/// The record of the first split that succeeded.
fn first(cell: &Cell) -> Option<&Record> {
    cell.records.values().flatten().find(|record| record.status == Status::Ok)
}

/// A cell's name is a hash; one that is not is no name of a file of ours.
fn is_name(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The content of a file; nothing if there is none.
fn content(path: &Path, hash: &mut Hash) -> Result<Option<Vec<u8>>, Damaged> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) => Err(Damaged),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    hash.add(&name, bytes.as_deref().unwrap_or_default());
    bytes.map(Some)
}

/// The lines of a trace that can be read, and whether there are others.
fn trace(dir: &Path, record: &Record, hash: &mut Hash) -> (Vec<TracePoint>, bool) {
    if !is_name(&record.cell) {
        return (Vec::new(), false);
    }
    let path = dir.join(TRACES).join(format!("{}.jsonl", record.cell));
    let bytes = match content(&path, hash) {
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

fn embedding(dir: &Path, record: &Record, hash: &mut Hash) -> Result<Option<Embedding>, Damaged> {
    if !is_name(&record.cell) {
        return Ok(None);
    }
    let Some(bytes) = content(&Embedding::path(dir, &record.cell), hash)? else {
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
