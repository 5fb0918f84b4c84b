//! Files next to the ledger: traces of training and maps of samples.
//!
//! A trace needs only an `iteration` or an `epoch`. All other fields are optional, because methods record different
//! things.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use super::sha256;
use super::summary::Row;
use crate::ledger::{self, Embedding, Record, Status};

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

/// The files that were read.
#[derive(Default)]
pub(super) struct Files {
    /// Names and hashes.
    hashes: Vec<(String, String)>,
    /// How many cannot be used, at least not all of their lines.
    pub(super) damaged: usize,
}

/// Reads the files of every cell's first split.
pub(super) fn read(dir: &Path, rows: &mut [Row]) -> Files {
    let (mut files, mut traces, mut maps) = (Files::default(), 0, 0);
    for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
        let first = cell.records().find(|record| record.status == Status::Ok);
        // A cell's name is a hash; any other name is not one of our files.
        let Some(record) = first.filter(|record| is_hash(&record.cell)) else {
            continue;
        };
        let trace = (traces < MOST).then(|| files.trace(dir, record)).flatten();
        let map = (maps < MOST).then(|| files.map(dir, record)).flatten();
        traces += usize::from(trace.is_some());
        maps += usize::from(map.is_some());
        (cell.trace, cell.map) = (trace, map);
    }
    files
}

fn is_hash(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

impl Files {
    /// Hash of all files.
    pub(super) fn hash(&self) -> String {
        sha256(&serde_json::to_vec(&self.hashes).unwrap_or_default())
    }

    /// The content of a file, if there is one.
    fn content(&mut self, path: &Path) -> Option<Vec<u8>> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            read => read.ok(),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.hashes.push((name, bytes.as_deref().map_or(String::new(), sha256)));
        self.damaged += usize::from(bytes.is_none());
        bytes
    }

    /// The lines of a trace that can be read.
    fn trace(&mut self, dir: &Path, record: &Record) -> Option<Trace> {
        let path = ledger::trace_path(dir, &record.cell);
        let bytes = self.content(&path)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().take(LONGEST).map(serde_json::from_str::<TracePoint>);
        let (sound, damaged): (Vec<_>, Vec<_>) = lines.partition(Result::is_ok);
        self.damaged += usize::from(!damaged.is_empty());
        let points: Vec<TracePoint> = sound.into_iter().flatten().collect();
        (!points.is_empty()).then_some(Trace { split: record.split, points })
    }

    fn map(&mut self, dir: &Path, record: &Record) -> Option<Embedding> {
        let bytes = self.content(&Embedding::path(dir, &record.cell))?;
        let map: Option<Embedding> = serde_json::from_slice(&bytes).ok();
        let is_sound = |map: &Embedding| {
            [&map.raw, &map.learnt].iter().all(|cloud| cloud.points.len() == map.labels.len())
        };
        let map = map.filter(is_sound);
        self.damaged += usize::from(map.is_none());
        map
    }
}
