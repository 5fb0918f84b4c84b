//! MATLAB v5 files: named variables, possibly compressed, numeric, text, sparse or cells.
//!
//! A file is a header of 128 bytes and a sequence of elements: type, length, content. A variable is
//! an element that holds elements (flags, shape, name, values), or a compressed one of these. Read
//! here rather than by the crate `matrw`, which takes an early end for the end, panics on damaged
//! data, allocates what a header asks for and reads big-endian values as little-endian; the tests
//! read what it writes.

use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;

use super::MAX_VALUES;
use super::error::{DataError, Place, quote};
use super::npy::read_bytes;

const HEADER: usize = 128;
/// Deepest nesting of cells accepted.
const MAX_DEPTH: usize = 8;

const MI_INT32: u32 = 5;
const MI_MATRIX: u32 = 14;
const MI_COMPRESSED: u32 = 15;
const MI_UTF8: u32 = 16;
const MX_CELL: u8 = 1;
const MX_CHAR: u8 = 4;
const MX_SPARSE: u8 = 5;

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
    Cells {
        rows: usize,
        columns: usize,
        cells: Vec<Value>,
    },
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
                let inner = Scan {
                    bytes: &unpacked,
                    big_endian: scan.big_endian,
                    path,
                };
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
        DataError::Content {
            path,
            place: Place::Byte(at),
            found,
            expected,
        } => DataError::Content {
            path,
            place: Place::Byte(start as u64),
            found: format!("{found} (at byte {at} of the unpacked variable)"),
            expected,
        },
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
            Value::Cells {
                rows,
                columns,
                cells,
            } => Ok((*rows, *columns, cells)),
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

/// A walk over the elements of a file; every length is checked before it is believed.
struct Scan<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    path: &'a Path,
}

/// An element: its type, its content, and where the next one begins.
struct Element<'a> {
    kind: u32,
    /// Offset of the content.
    start: usize,
    content: &'a [u8],
    next: usize,
}

/// The leading parts of a variable.
struct Preamble {
    class: u8,
    complex: bool,
    rows: usize,
    /// All dimensions but the first, multiplied.
    columns: usize,
    name: String,
    /// Offset of what follows.
    next: usize,
}

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8], path: &'a Path) -> Result<Self, DataError> {
        let fail = |offset: usize, found: String, expected: &str| {
            let place = Place::Byte(offset as u64);
            Err(DataError::content(path, place, found, expected))
        };
        if bytes.is_empty() {
            let expected = "a MATLAB v5 file";
            return Err(DataError::content(
                path,
                Place::File,
                "an empty file",
                expected,
            ));
        }
        if bytes.starts_with(b"MATLAB 7.3") {
            let found = "MATLAB 7.3 (HDF5)".to_owned();
            return fail(0, found, "MATLAB v5; save with `-v7`");
        }
        if bytes.len() < HEADER {
            let found = "the end of the file".to_owned();
            return fail(bytes.len(), found, "a MATLAB header of 128 bytes");
        }
        let big_endian = match &bytes[126..HEADER] {
            b"IM" => false,
            b"MI" => true,
            other => return fail(126, quote(other), "`IM` or `MI`, as in a MATLAB v5 file"),
        };
        Ok(Self {
            bytes,
            big_endian,
            path,
        })
    }

    /// The content of a compressed element.
    fn inflate(&self, element: &Element) -> Result<Vec<u8>, DataError> {
        let limit = 8 * MAX_VALUES as u64;
        let mut unpacked = Vec::new();
        let read = ZlibDecoder::new(element.content)
            .take(limit)
            .read_to_end(&mut unpacked);
        let problem = match read {
            Ok(_) if unpacked.len() as u64 == limit => "more than fits".to_owned(),
            Ok(_) => return Ok(unpacked),
            Err(error) => error.to_string(),
        };
        let found = format!("damaged compressed data ({problem})");
        Err(self.fail(element.start, found, "an intact file"))
    }

    /// Name and value of a variable; values that are not wanted are not looked at.
    fn variable(
        &self,
        element: &Element,
        wanted: &[&str],
    ) -> Result<(String, Option<Value>), DataError> {
        if element.kind != MI_MATRIX {
            let found = format!("an element of type {}", element.kind);
            return Err(self.fail(element.start, found, "a variable (type 14)"));
        }
        let name = self.preamble(element)?.name;
        let value = match wanted.contains(&name.as_str()) {
            true => Some(self.value(element, 0)?),
            false => None,
        };
        Ok((name, value))
    }

    fn value(&self, element: &Element, depth: usize) -> Result<Value, DataError> {
        if element.content.is_empty() {
            return Ok(Value::Numbers(Matrix {
                rows: 0,
                columns: 0,
                values: Vec::new(),
            }));
        }
        let end = element.start + element.content.len();
        let preamble = self.preamble(element)?;
        let (rows, columns) = (preamble.rows, preamble.columns);
        let count = rows
            .checked_mul(columns)
            .filter(|count| *count <= MAX_VALUES)
            .ok_or_else(|| {
                let found = format!("a shape of {rows} x {columns}");
                self.fail(element.start, found, format!("at most {MAX_VALUES} values"))
            })?;
        if preamble.complex {
            return Err(self.fail(element.start, "complex numbers", "real numbers"));
        }
        Ok(match preamble.class {
            MX_CELL => Value::Cells {
                rows,
                columns,
                cells: self.cells(preamble.next, end, count, depth)?,
            },
            MX_CHAR => Value::Text(self.text(preamble.next, end)?),
            MX_SPARSE => Value::Numbers(self.sparse(preamble.next, end, rows, columns)?),
            6..=15 => Value::Numbers(Matrix {
                rows,
                columns,
                values: self.numbers(preamble.next, end, count)?,
            }),
            class => {
                let found = format!("a variable of class {class}");
                let expected = "numbers, text, a sparse matrix or cells";
                return Err(self.fail(element.start, found, expected));
            }
        })
    }

    fn cells(
        &self,
        mut at: usize,
        end: usize,
        count: usize,
        depth: usize,
    ) -> Result<Vec<Value>, DataError> {
        if depth == MAX_DEPTH {
            let found = format!("cells nested more than {MAX_DEPTH} deep");
            return Err(self.fail(at, found, "flatter cells"));
        }
        let mut cells = Vec::new();
        for _ in 0..count {
            let cell = self.element(at, end)?;
            if cell.kind != MI_MATRIX {
                let found = format!("a cell of type {}", cell.kind);
                return Err(self.fail(at, found, "a matrix (type 14)"));
            }
            cells.push(self.value(&cell, depth + 1)?);
            at = cell.next;
        }
        Ok(cells)
    }

    fn numbers(&self, at: usize, end: usize, count: usize) -> Result<Vec<f64>, DataError> {
        let element = self.element(at, end)?;
        let values = self.decode(&element, at)?;
        if values.len() == count {
            return Ok(values);
        }
        let found = format!("{} values", values.len());
        Err(self.fail(at, found, format!("{count} as the shape tells")))
    }

    /// Characters, stored as UTF-8, UTF-16 or plain numbers.
    fn text(&self, at: usize, end: usize) -> Result<String, DataError> {
        let element = self.element(at, end)?;
        if element.kind == MI_UTF8 {
            return Ok(String::from_utf8_lossy(element.content).into_owned());
        }
        let units = self.decode(&element, at)?;
        Ok(char::decode_utf16(units.iter().map(|unit| *unit as u16))
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect())
    }

    /// Row of each value, end of each column, values.
    fn sparse(
        &self,
        at: usize,
        end: usize,
        rows: usize,
        columns: usize,
    ) -> Result<Matrix, DataError> {
        let row_numbers = self.element(at, end)?;
        let column_ends = self.element(row_numbers.next, end)?;
        let element = self.element(column_ends.next, end)?;
        let stored = self.decode(&element, column_ends.next)?;
        let (row_numbers, ends) = (self.integers(&row_numbers), self.integers(&column_ends));
        let last = ends.last().copied().unwrap_or_default();
        let sound = ends.len() == columns + 1
            && ends.is_sorted()
            && last <= stored.len()
            && last <= row_numbers.len()
            && row_numbers.iter().take(last).all(|row| *row < rows);
        if !sound {
            let found = format!(
                "a sparse matrix of {rows} x {columns} with {} row numbers, {} column ends and {} \
                 values",
                row_numbers.len(),
                ends.len(),
                stored.len()
            );
            return Err(self.fail(at, found, "parts that fit together"));
        }
        let full = super::zeros(columns, rows, self.path)?;
        let mut values = full.into_raw_vec_and_offset().0;
        for (column, bounds) in ends.windows(2).enumerate() {
            for entry in bounds[0]..bounds[1] {
                values[column * rows + row_numbers[entry]] = stored[entry];
            }
        }
        Ok(Matrix {
            rows,
            columns,
            values,
        })
    }

    /// Flags, shape and name.
    fn preamble(&self, element: &Element) -> Result<Preamble, DataError> {
        let end = element.start + element.content.len();
        let flags = self.element(element.start, end)?;
        let dims = self.element(flags.next, end)?;
        let name = self.element(dims.next, end)?;
        let shape = self.integers(&dims);
        let columns = shape
            .iter()
            .skip(1)
            .try_fold(1usize, |product, &n| product.checked_mul(n));
        match (columns, &shape[..]) {
            (Some(columns), [rows, _, ..]) if flags.content.len() >= 4 && dims.kind == MI_INT32 => {
                let word = self.word(flags.content);
                Ok(Preamble {
                    class: (word & 0xff) as u8,
                    complex: word & 0x800 != 0,
                    rows: *rows,
                    columns,
                    name: String::from_utf8_lossy(name.content).into_owned(),
                    next: name.next,
                })
            }
            _ => {
                let found = "a variable without class and shape";
                Err(self.fail(element.start, found, "a MATLAB v5 variable"))
            }
        }
    }

    /// The element at `at`, which must end at or before `end`.
    fn element(&self, at: usize, end: usize) -> Result<Element<'a>, DataError> {
        let early = |missing: usize| {
            let expected = format!("{missing} more bytes of the element at byte {at}");
            self.fail(end, "the end of the data", expected)
        };
        let Some(tag) = self.bytes.get(at..at + 8).filter(|_| at + 8 <= end) else {
            return Err(early((at + 8).saturating_sub(end)));
        };
        let word = self.word(tag);
        // A small element has its length in the upper half of the first word.
        if word >> 16 != 0 {
            let length = (word >> 16) as usize;
            if length > 4 {
                let found = format!("a small element of {length} bytes");
                return Err(self.fail(at, found, "at most 4"));
            }
            return Ok(Element {
                kind: word & 0xffff,
                start: at + 4,
                content: &tag[4..4 + length],
                next: at + 8,
            });
        }
        let (start, length) = (at + 8, self.word(&tag[4..]) as usize);
        let stop = start + length;
        if stop > end {
            return Err(early(stop - end));
        }
        // Compressed elements are not padded; the padding of a last one may be left out.
        let next = match word {
            MI_COMPRESSED => stop,
            _ => (start + length.next_multiple_of(8)).min(end),
        };
        Ok(Element {
            kind: word,
            start,
            content: &self.bytes[start..stop],
            next,
        })
    }

    /// All values of an element as numbers; MATLAB stores them in the smallest type that fits.
    fn decode(&self, element: &Element, at: usize) -> Result<Vec<f64>, DataError> {
        let (width, number): (usize, fn([u8; 8]) -> f64) = match element.kind {
            1 => (1, |b| f64::from(b[0] as i8)),
            2 | MI_UTF8 => (1, |b| f64::from(b[0])),
            3 => (2, |b| f64::from(i16::from_le_bytes([b[0], b[1]]))),
            4 | 17 => (2, |b| f64::from(u16::from_le_bytes([b[0], b[1]]))),
            MI_INT32 => (4, |b| {
                f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            }),
            6 => (4, |b| {
                f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            }),
            7 => (4, |b| {
                f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            }),
            9 => (8, f64::from_le_bytes),
            12 => (8, |b| i64::from_le_bytes(b) as f64),
            13 => (8, |b| u64::from_le_bytes(b) as f64),
            kind => {
                let found = format!("values of type {kind}");
                return Err(self.fail(at, found, "a number type"));
            }
        };
        let one = |chunk: &[u8]| {
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(chunk);
            if self.big_endian {
                bytes[..width].reverse();
            }
            number(bytes)
        };
        Ok(element.content.chunks_exact(width).map(one).collect())
    }

    fn integers(&self, element: &Element) -> Vec<usize> {
        let words = element.content.chunks_exact(4);
        words.map(|word| self.word(word) as usize).collect()
    }

    /// The first four bytes as a number.
    fn word(&self, bytes: &[u8]) -> u32 {
        let word = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if self.big_endian {
            u32::from_be_bytes(word)
        } else {
            u32::from_le_bytes(word)
        }
    }

    fn fail(&self, at: usize, found: impl Into<String>, expected: impl Into<String>) -> DataError {
        DataError::content(self.path, Place::Byte(at as u64), found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrw::{MatVariable, MatlabType, SparseArray, matfile, matvar};
    use proptest::prelude::*;
    use std::fs;

    /// A structure, a matrix, cells and a sparse matrix behind the header text that SciPy writes.
    fn example(compress: bool) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mat");
        let sparse = SparseArray::new(
            3,
            2,
            vec![0, 2, 1],
            vec![0, 2, 3],
            MatlabType::F64(vec![1.5, 2.0, 3.0]),
            None,
        );
        let file = matfile!(
            other: matvar!({ field: 1.0 }),
            m: matvar!([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]),
            c: matvar!(["ab", "c"]),
            s: MatVariable::SparseArray(sparse.unwrap())
        );
        matrw::save_matfile_v7(path.to_str().unwrap(), file, compress).unwrap();
        let mut bytes = fs::read(path).unwrap();
        bytes[..116].fill(b' ');
        bytes[..40].copy_from_slice(b"MATLAB 5.0 MAT-file Platform: posix, Cre");
        bytes
    }

    fn scan(bytes: &[u8], wanted: &[&str]) -> Result<Variables<'static>, String> {
        parse(bytes, Path::new("a.mat"), wanted).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_what_another_program_writes() {
        for compress in [false, true] {
            let variables = scan(&example(compress), &["m", "c", "s"]).unwrap();
            let m = variables.matrix("m").unwrap();
            assert_eq!((m.rows, m.columns), (2, 3));
            assert_eq!(m.values, [1.0, 4.0, 2.0, 5.0, 3.0, 6.5]);
            assert_eq!(variables.texts("c").unwrap(), ["ab", "c"]);
            let s = variables.matrix("s").unwrap();
            assert_eq!((s.rows, s.columns), (3, 2));
            assert_eq!(s.values, [1.5, 0.0, 2.0, 0.0, 3.0, 0.0]);
        }
    }

    #[test]
    fn a_wrong_kind_is_named() {
        let error = scan(&example(false), &["other"]).err().unwrap();
        assert!(error.contains("a variable of class 2"), "{error}");
        let variables = scan(&example(false), &["m", "c"]).unwrap();
        assert_eq!(
            variables.matrix("c").unwrap_err().to_string(),
            "a.mat, variable `c`: found a cell array of 1 x 2, expected a numeric matrix"
        );
        assert_eq!(
            variables.texts("m").unwrap_err().to_string(),
            "a.mat, variable `m`: found a numeric matrix of 2 x 3, expected a cell array"
        );
    }

    #[test]
    fn big_endian_files_are_read_too() {
        // A 1 x 2 matrix `a` of int16, as a big-endian machine writes it.
        let mut bytes = vec![b' '; 124];
        bytes.extend(b"\x01\x00MI");
        bytes.extend([0, 0, 0, 14, 0, 0, 0, 48]);
        bytes.extend([0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0, 10, 0, 0, 0, 0]);
        bytes.extend([0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2]);
        bytes.extend([0, 1, 0, 1, b'a', 0, 0, 0]);
        bytes.extend([0, 4, 0, 3, 1, 0, 255, 255]);
        let variables = scan(&bytes, &["a"]).unwrap();
        assert_eq!(variables.matrix("a").unwrap().values, [256.0, -1.0]);
    }

    #[test]
    fn an_absent_variable_is_named() {
        assert_eq!(
            scan(&example(true), &["m", "x"]).err().unwrap(),
            "a.mat: found only `other`, `m`, `c`, `s`, expected a variable `x`"
        );
    }

    #[test]
    fn every_cut_is_an_error() {
        for compress in [false, true] {
            let bytes = example(compress);
            for length in 0..bytes.len() {
                let result = scan(&bytes[..length], &["m", "c", "s"]);
                assert!(result.is_err(), "cut to {length} of {}", bytes.len());
            }
        }
    }

    #[test]
    fn a_shape_beyond_the_file_is_refused_before_it_is_allocated() {
        let mut bytes = example(false);
        let shape = [5, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
        let at = bytes
            .windows(16)
            .position(|window| window == shape)
            .unwrap()
            + 8;
        bytes[at + 3] = 0x7f;
        let error = scan(&bytes, &["m"]).err().unwrap();
        assert!(error.contains("a shape of 2130706434 x 3"), "{error}");
        bytes[at + 3] = 0;
        bytes[at + 1] = 1;
        let error = scan(&bytes, &["m"]).err().unwrap();
        assert!(
            error.ends_with("found 6 values, expected 774 as the shape tells"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(at in HEADER..900usize, byte: u8, compress: bool) {
            let mut bytes = example(compress);
            let at = at.min(bytes.len() - 1);
            bytes[at] = byte;
            let _ = scan(&bytes, &["m", "c", "s", "other"]);
        }
    }
}
