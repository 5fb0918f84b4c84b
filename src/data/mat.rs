//! MATLAB v5 files: named variables, possibly compressed, numeric, text, sparse or cells.
//!
//! A file is a header of 128 bytes and a sequence of elements: type, length, content. A variable is
//! an element that holds elements (flags, shape, name, values), or a compressed one of these. Read
//! here rather than by the crate `matrw`, which takes an early end for the end, panics on damaged
//! data and allocates what a header asks for; the tests read what it writes.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;

use super::error::{BadContent, bad, quote, variable};
use super::numbers::{Kind, decode};
use super::{MAX_VALUES, zeros};

const HEADER: usize = 128;

// Types of elements.
const INT32: u32 = 5;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
const UTF8: u32 = 16;

/// What a matrix holds, column after column: numbers, or the matrices or texts of a cell array.
#[derive(Debug, PartialEq)]
pub(crate) struct Matrix<T = f64> {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<T>,
}

/// The variables of a file: name and elements of each.
pub(crate) struct MatFile<'a> {
    variables: Vec<(String, Cow<'a, [u8]>)>,
}

impl<'a> MatFile<'a> {
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self, BadContent> {
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
            let damaged = || bad(&place, "a cut or damaged variable", "an intact MATLAB v5 file");
            let content = match elements.next().ok_or_else(damaged)? {
                (MATRIX, content) => Cow::Borrowed(content),
                (COMPRESSED, content) => Cow::Owned(inflate(content).ok_or_else(damaged)?),
                _ => continue,
            };
            let name = Parts::of(&content).ok_or_else(damaged)?.name;
            variables.push((name, content));
        }
        Ok(Self { variables })
    }

    /// A numeric variable; a sparse one is made full.
    pub(crate) fn matrix(&self, name: &str) -> Result<Matrix, BadContent> {
        self.get(name, matrix, "a numeric matrix")
    }

    /// A cell array of numeric matrices.
    pub(crate) fn matrices(&self, name: &str) -> Result<Matrix<Matrix>, BadContent> {
        self.get(name, |content| cells(content, matrix), "a cell array of numeric matrices")
    }

    /// A cell array of texts.
    pub(crate) fn texts(&self, name: &str) -> Result<Matrix<String>, BadContent> {
        self.get(name, |content| cells(content, text), "a cell array of texts")
    }

    fn get<T>(
        &self,
        name: &str,
        parse: impl Fn(&[u8]) -> Option<T>,
        expected: &str,
    ) -> Result<T, BadContent> {
        if let Some((_, content)) = self.variables.iter().find(|(known, _)| known == name) {
            let refuse = || bad(variable(name), "something else, or damaged", expected);
            return parse(content).ok_or_else(refuse);
        }
        let names = self.variables.iter().map(|(name, _)| quote(name.as_bytes()));
        let found = match &names.collect::<Vec<_>>()[..] {
            [] => "no variable".to_owned(),
            names => format!("only {}", names.join(", ")),
        };
        Err(bad("", found, format_args!("a variable `{name}`")))
    }
}

/// The elements of the variable that `packed` is.
fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    let limit = 8 * MAX_VALUES as u64;
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed).take(limit).read_to_end(&mut bytes).ok()?;
    let (kind, content) = Elements(&bytes).next()?;
    (kind == MATRIX).then(|| content.to_vec())
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

/// The leading parts of a variable, and the elements after them.
struct Parts<'a> {
    class: u8,
    is_complex: bool,
    rows: usize,
    /// All dimensions but the first, multiplied.
    columns: usize,
    name: String,
    rest: Elements<'a>,
}

impl<'a> Parts<'a> {
    fn of(content: &'a [u8]) -> Option<Self> {
        let mut rest = Elements(content);
        let (_, flags) = rest.next()?;
        let (kind, shape) = rest.next()?;
        let (_, name) = rest.next()?;
        let shape = integers(shape);
        let [rows, columns @ ..] = &shape[..] else { return None };
        let columns = columns.iter().try_fold(1usize, |product, &n| product.checked_mul(n))?;
        (kind == INT32 && shape.len() > 1 && flags.len() >= 4).then(|| Self {
            class: flags[0],
            is_complex: flags[1] & 8 != 0,
            rows: *rows,
            columns,
            name: String::from_utf8_lossy(name).into_owned(),
            rest,
        })
    }
}

/// A numeric matrix, or a sparse one; `None` if it is neither or damaged.
fn matrix(content: &[u8]) -> Option<Matrix> {
    let Parts { class, is_complex, rows, columns, mut rest, .. } = Parts::of(content)?;
    let values = match class {
        5 => sparse(rest, rows, columns)?,
        6..=15 => numbers(rest.next()?)?,
        _ => return None,
    };
    let fits = !is_complex && rows.checked_mul(columns) == Some(values.len());
    fits.then_some(Matrix { rows, columns, values })
}

/// A cell array.
fn cells<T>(content: &[u8], parse: fn(&[u8]) -> Option<T>) -> Option<Matrix<T>> {
    let Parts { class: 1, rows, columns, mut rest, .. } = Parts::of(content)? else { return None };
    let cell = |_| {
        let (kind, content) = rest.next()?;
        if kind == MATRIX { parse(content) } else { None }
    };
    let values = (0..rows.checked_mul(columns)?).map(cell).collect::<Option<_>>()?;
    Some(Matrix { rows, columns, values })
}

/// Characters, stored as UTF-8, UTF-16 or plain numbers.
fn text(content: &[u8]) -> Option<String> {
    let Parts { class: 4, mut rest, .. } = Parts::of(content)? else { return None };
    match rest.next()? {
        (UTF8, text) => Some(String::from_utf8_lossy(text).into_owned()),
        element => {
            let units = numbers(element)?.into_iter().map(|unit| unit as u16);
            Some(String::from_utf16_lossy(&units.collect::<Vec<u16>>()))
        }
    }
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

/// Row of each value, end of each column, values.
fn sparse(mut elements: Elements, rows: usize, columns: usize) -> Option<Vec<f64>> {
    let (_, places) = elements.next()?;
    let (_, ends) = elements.next()?;
    let stored = numbers(elements.next()?)?;
    let (places, ends) = (integers(places), integers(ends));
    let used = places.get(..*ends.last()?)?;
    let fits = ends.len() == columns + 1
        && ends.is_sorted()
        && used.len() <= stored.len()
        && used.iter().all(|row| *row < rows);
    if !fits {
        return None;
    }
    let mut values = zeros(columns, rows).ok()?.into_raw_vec_and_offset().0;
    for (column, bounds) in ends.windows(2).enumerate() {
        for entry in bounds[0]..bounds[1] {
            values[column * rows + places[entry]] = stored[entry];
        }
    }
    Some(values)
}
