//! MATLAB v5 files: named variables, possibly compressed, numeric, text, sparse or cells.
//!
//! A file is a header of 128 bytes and a sequence of elements: type, length, content. A variable is
//! an element that holds elements (flags, shape, name, values), or a compressed one of these. Read
//! here rather than by the crate `matrw`, which takes an early end for the end, panics on damaged
//! data, allocates what a header asks for and reads big-endian values as little-endian; the tests
//! read what it writes.

mod element;
#[cfg(test)]
mod tests;
mod variable;

use std::path::Path;

use element::{MI_COMPRESSED, MI_MATRIX, Scan};

use super::error::{DataError, Place, quote};
use super::npy::read_bytes;

const HEADER: usize = 128;
/// A numeric matrix, column after column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f64>,
}

/// What a variable or a cell holds.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Numbers(Matrix),
    Text(String),
    Cells { rows: usize, columns: usize, cells: Vec<Value> },
}

impl Value {
    fn describe(&self) -> String {
        match self {
            Self::Numbers(m) => format!("a numeric matrix of {} x {}", m.rows, m.columns),
            Self::Text(text) => format!("the text {}", quote(text.as_bytes())),
            Self::Cells { rows, columns, .. } => format!("a cell array of {rows} x {columns}"),
        }
    }
}

/// The wanted variables of a file.
pub(crate) struct Variables<'a> {
    values: Vec<(String, Value)>,
    path: &'a Path,
}

/// Reads the variables called `wanted`; an absent one is an error.
pub(crate) fn read<'a>(path: &'a Path, wanted: &[&str]) -> Result<Variables<'a>, DataError> {
    parse(&read_bytes(path)?, path, wanted)
}

fn parse<'a>(bytes: &[u8], path: &'a Path, wanted: &[&str]) -> Result<Variables<'a>, DataError> {
    let scan = Scan::new(bytes, path)?;
    let (mut values, mut seen) = (Vec::new(), Vec::new());
    let mut at = HEADER;
    while at < bytes.len() {
        let element = scan.element(at, bytes.len())?;
        at = element.next;
        let (name, value) = match element.kind {
            MI_COMPRESSED => {
                let unpacked = scan.inflate(&element)?;
                let inner = Scan { bytes: &unpacked, big_endian: scan.big_endian, path };
                inner
                    .element(0, unpacked.len())
                    .and_then(|element| inner.variable(&element, wanted))
                    .map_err(|error| unpacked_at(error, element.start))?
            }
            MI_MATRIX => scan.variable(&element, wanted)?,
            _ => continue,
        };
        values.extend(value.map(|value| (name.clone(), value)));
        seen.push(name);
    }
    let variables = Variables { values, path };
    match wanted.iter().find(|name| !seen.iter().any(|s| s == *name)) {
        None => Ok(variables),
        Some(missing) => {
            let seen: Vec<_> = seen.iter().map(|name| quote(name.as_bytes())).collect();
            let found = match &seen[..] {
                [] => "no variable".to_owned(),
                _ => format!("only {}", seen.join(", ")),
            };
            let expected = format!("a variable `{missing}`");
            Err(DataError::content(path, Place::File, found, expected))
        }
    }
}

/// An offset inside a compressed variable says little about the file: give both.
fn unpacked_at(error: DataError, start: usize) -> DataError {
    match error {
        DataError::Content { path, place: Place::Byte(at), found, expected } => {
            DataError::Content {
                path,
                place: Place::Byte(start as u64),
                found: format!("{found} (at byte {at} of the unpacked variable)"),
                expected,
            }
        }
        other => other,
    }
}

impl Variables<'_> {
    fn get(&self, name: &str) -> Result<&Value, DataError> {
        self.values
            .iter()
            .find_map(|(found, value)| (found == name).then_some(value))
            .ok_or_else(|| self.refuse(name, "nothing", "a value"))
    }

    /// A numeric variable; a sparse one is made full.
    pub(crate) fn matrix(&self, name: &str) -> Result<&Matrix, DataError> {
        match self.get(name)? {
            Value::Numbers(matrix) => Ok(matrix),
            other => Err(self.refuse(name, other.describe(), "a numeric matrix")),
        }
    }

    /// A cell array of numeric matrices: its rows and columns, and its cells column after column.
    pub(crate) fn cells(&self, name: &str) -> Result<(usize, usize, Vec<&Matrix>), DataError> {
        let (rows, columns, cells) = self.cell_array(name)?;
        let matrices = cells.iter().enumerate().map(|(at, cell)| match cell {
            Value::Numbers(matrix) => Ok(matrix),
            other => {
                let found = format!("{} in cell {}", other.describe(), at + 1);
                Err(self.refuse(name, found, "a numeric matrix in every cell"))
            }
        });
        Ok((rows, columns, matrices.collect::<Result<_, _>>()?))
    }

    /// A cell array of texts.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<&str>, DataError> {
        let (_, _, cells) = self.cell_array(name)?;
        let texts = cells.iter().enumerate().map(|(at, cell)| match cell {
            Value::Text(text) => Ok(text.as_str()),
            other => {
                let found = format!("{} in cell {}", other.describe(), at + 1);
                Err(self.refuse(name, found, "text in every cell"))
            }
        });
        texts.collect()
    }

    fn cell_array(&self, name: &str) -> Result<(usize, usize, &[Value]), DataError> {
        match self.get(name)? {
            Value::Cells { rows, columns, cells } => Ok((*rows, *columns, cells)),
            other => Err(self.refuse(name, other.describe(), "a cell array")),
        }
    }

    /// An error about the variable `name`.
    pub(crate) fn refuse(
        &self,
        name: &str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> DataError {
        let place = Place::Variable(name.to_owned());
        DataError::content(self.path, place, found, expected)
    }
}
