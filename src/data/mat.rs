//! MATLAB v5 files: named variables, possibly compressed, numeric, text, sparse or cells.
//!
//! A file is a header of 128 bytes and a sequence of elements: type, length, content. A variable is
//! an element that holds elements (flags, shape, name, values), or a compressed one of these. Read
//! here rather than by the crate `matrw`, which takes an early end for the end, panics on damaged
//! data and allocates what a header asks for; the tests read what it writes.

#[cfg(test)]
mod tests;

use std::io::Read;

use flate2::read::ZlibDecoder;
use ndarray::{Array2, ShapeBuilder};

use super::error::{Parsed, absent, bad, place_of};
use super::numbers::{Kind, decode};
use super::{MAX_VALUES, zeros};

const HEADER: usize = 128;

// Types of elements.
const INT32: u32 = 5;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
const UTF8: u32 = 16;

/// A variable, or a cell of one.
#[derive(Debug)]
pub(crate) enum Variable {
    /// A matrix; a sparse one was made full.
    Numbers(Array2<f64>),
    Cells(Array2<Variable>),
    Text(String),
    /// A kind that no dataset consists of.
    Other,
}

impl Variable {
    pub(crate) fn numbers(&self) -> Option<&Array2<f64>> {
        if let Self::Numbers(matrix) = self { Some(matrix) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// The variables of a file.
pub(crate) struct MatFile {
    variables: Vec<(String, Variable)>,
}

impl MatFile {
    pub(crate) fn parse(file: &[u8]) -> Parsed<Self> {
        if file.starts_with(b"MATLAB 7.3") {
            return Err(bad("", "MATLAB 7.3 (HDF5)", "MATLAB v5; save with `-v7`"));
        }
        // The byte order: `MI` on machines that are rare now.
        if file.get(126..HEADER) != Some(b"IM") {
            return Err(bad("", "another kind of file", "a little-endian MATLAB v5 file"));
        }
        let mut variables = Vec::new();
        let mut elements = Elements(&file[HEADER..]);
        while !elements.0.is_empty() {
            let place = format!(", byte {}", file.len() - elements.0.len());
            let variable = elements.next().and_then(|(kind, content)| match kind {
                COMPRESSED => inflate(content),
                _ => variable(kind, content, true),
            });
            variables.push(variable.ok_or_else(|| {
                bad(place, "a cut or damaged variable", "an intact MATLAB v5 file")
            })?);
        }
        Ok(Self { variables })
    }

    pub(crate) fn matrix(&self, name: &str) -> Parsed<&Array2<f64>> {
        let wrong = || bad(place_of(name), "something else", "a numeric matrix");
        self.get(name)?.numbers().ok_or_else(wrong)
    }

    /// The numbers of a vector, or of a matrix column by column.
    pub(crate) fn vector(&self, name: &str) -> Parsed<Vec<f64>> {
        Ok(self.matrix(name)?.t().iter().copied().collect())
    }

    /// A cell array whose cells are all of the kind that `take` takes.
    pub(crate) fn cells<T>(
        &self,
        name: &str,
        take: fn(&Variable) -> Option<&T>,
    ) -> Parsed<Array2<&T>> {
        let wrong = || bad(place_of(name), "something else", "cells of matrices or texts");
        let Variable::Cells(cells) = self.get(name)? else {
            return Err(wrong());
        };
        let values = cells.iter().map(take).collect::<Option<_>>().ok_or_else(wrong)?;
        Ok(Array2::from_shape_vec(cells.dim(), values).expect("there are as many values as cells"))
    }

    fn get(&self, name: &str) -> Parsed<&Variable> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        let names = self.variables.iter().map(|(name, _)| name.as_str());
        let missing = || absent(format_args!("a variable `{name}`"), names);
        found.map(|(_, variable)| variable).ok_or_else(missing)
    }
}

/// The variable that `packed` is.
fn inflate(packed: &[u8]) -> Option<(String, Variable)> {
    let limit = 8 * MAX_VALUES as u64;
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed).take(limit).read_to_end(&mut bytes).ok()?;
    let (kind, content) = Elements(&bytes).next()?;
    variable(kind, content, true)
}

/// A variable with its name; `None` if it is damaged. The cells of a cell array have no cells themselves.
fn variable(kind: u32, content: &[u8], has_cells: bool) -> Option<(String, Variable)> {
    let mut rest = Elements(content);
    let (_, flags) = rest.next()?;
    let (INT32, shape) = rest.next()? else { return None };
    let (_, name) = rest.next()?;
    let ([class, flags, ..], [rows, columns], MATRIX) = (flags, &integers(shape)[..], kind) else {
        return None;
    };
    let (shape, is_complex) = ((*rows, *columns), flags & 8 != 0);
    let variable = match class {
        1 if has_cells => {
            let cell = |_| {
                let (kind, content) = rest.next()?;
                Some(variable(kind, content, false)?.1)
            };
            let cells = (0..rows.checked_mul(*columns)?).map(cell).collect::<Option<_>>()?;
            Variable::Cells(Array2::from_shape_vec(shape.f(), cells).ok()?)
        }
        4 => Variable::Text(text(rest.next()?)?),
        5 if !is_complex => Variable::Numbers(sparse(rest, shape)?),
        6..=15 if !is_complex => {
            let values = numbers(rest.next()?)?;
            Variable::Numbers(Array2::from_shape_vec(shape.f(), values).ok()?)
        }
        _ => Variable::Other,
    };
    Some((String::from_utf8_lossy(name).into_owned(), variable))
}

/// Characters, stored as UTF-8, UTF-16 or plain numbers.
fn text((kind, content): (u32, &[u8])) -> Option<String> {
    if kind == UTF8 {
        return Some(String::from_utf8_lossy(content).into_owned());
    }
    let units = numbers((kind, content))?.into_iter().map(|unit| unit as u16);
    Some(String::from_utf16_lossy(&units.collect::<Vec<u16>>()))
}

/// Elements, one after the other. Every length is checked before it is believed.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// Type and content of the next element; `None` where it is not whole.
    fn next(&mut self) -> Option<(u32, &'a [u8])> {
        let (tag, rest) = self.0.split_at_checked(8)?;
        let (kind, length) = (word(tag), word(&tag[4..]) as usize);
        // A small element has its length in the upper half of the first word, then its content.
        if kind >> 16 != 0 {
            self.0 = rest;
            return Some((kind & 0xffff, tag[4..].get(..(kind >> 16) as usize)?));
        }
        let content = rest.get(..length)?;
        // Compressed elements are not padded; the padding of a last one may be left out.
        let padded = if kind == COMPRESSED { length } else { length.next_multiple_of(8) };
        self.0 = rest.get(padded..).unwrap_or_default();
        Some((kind, content))
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn integers(bytes: &[u8]) -> Vec<usize> {
    bytes.chunks_exact(4).map(|bytes| word(bytes) as usize).collect()
}

/// MATLAB stores numbers in the smallest type that fits.
fn numbers((kind, content): (u32, &[u8])) -> Option<Vec<f64>> {
    let (kind, width) = match kind {
        1 => (Kind::Signed, 1),
        2 | UTF8 => (Kind::Unsigned, 1),
        3 => (Kind::Signed, 2),
        4 | 17 => (Kind::Unsigned, 2),
        INT32 => (Kind::Signed, 4),
        6 => (Kind::Unsigned, 4),
        7 => (Kind::Float, 4),
        9 => (Kind::Float, 8),
        12 => (Kind::Signed, 8),
        13 => (Kind::Unsigned, 8),
        _ => return None,
    };
    (content.len() / width <= MAX_VALUES).then(|| decode(kind, width, false, content))
}

/// A full matrix from the row of each value, the end of each column, and the values.
fn sparse(mut elements: Elements, (rows, columns): (usize, usize)) -> Option<Array2<f64>> {
    let (_, places) = elements.next()?;
    let (_, ends) = elements.next()?;
    let stored = numbers(elements.next()?)?;
    let (places, ends) = (integers(places), integers(ends));
    if ends.len() != columns + 1 || !ends.is_sorted() {
        return None;
    }
    let mut full = zeros(rows, columns).ok()?;
    for (column, bounds) in ends.windows(2).enumerate() {
        for entry in bounds[0]..bounds[1] {
            *full.get_mut([*places.get(entry)?, column])? = *stored.get(entry)?;
        }
    }
    Some(full)
}
