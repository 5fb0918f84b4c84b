//! MATLAB v5 files: named variables, possibly compressed, numeric, text, sparse or cells.
//!
//! The crate `matrw` turns elements into values, but trusts the file: it panics on damaged
//! compressed data, takes an early end for the end, allocates what a header asks for, and knows only
//! MATLAB's own header text. So the file is first taken apart here: wanted variables are unpacked
//! within bounds and every length in them is checked, and only those are handed on, behind a header
//! it accepts.

use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;
use matrw::{MatFile, MatVariable, MatlabType};

use super::MAX_VALUES;
use super::error::{DataError, Place, quote};
use super::npy::read_bytes;

const HEADER: usize = 128;
/// Deepest nesting of cells accepted.
const MAX_DEPTH: usize = 8;

const MI_MATRIX: u32 = 14;
const MI_COMPRESSED: u32 = 15;
const MX_CELL: u8 = 1;
const MX_CHAR: u8 = 4;
const MX_SPARSE: u8 = 5;

/// The wanted variables of a file.
pub(crate) struct Variables<'a> {
    file: MatFile,
    path: &'a Path,
}

/// Reads the variables called `wanted`; an absent one is an error.
pub(crate) fn read<'a>(path: &'a Path, wanted: &[&str]) -> Result<Variables<'a>, DataError> {
    let bytes = read_bytes(path)?;
    let clean = Scan::new(&bytes, path)?.collect(wanted)?;
    Ok(Variables {
        file: interpret(&clean, path)?,
        path,
    })
}

/// What `matrw` makes of a file that was checked. It still panics on combinations that the check
/// does not model (such as a class it does not implement); a panic there is a file we cannot read.
fn interpret(clean: &[u8], path: &Path) -> Result<MatFile, DataError> {
    let refused = |reason: String| {
        let found = format!("variables that cannot be read ({reason})");
        DataError::content(path, Place::File, found, "a MATLAB v5 file")
    };
    match std::panic::catch_unwind(|| matrw::load_matfile_from_u8(clean)) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Err(_) => Err(refused("the reader gave up".to_owned())),
    }
}

/// A numeric matrix, column after column.
pub(crate) struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f64>,
}

impl Variables<'_> {
    fn get(&self, name: &str) -> Result<&MatVariable, DataError> {
        match &self.file[name] {
            MatVariable::Null => Err(self.refuse(name, "nothing", "a value")),
            MatVariable::Compressed(inner) => Ok(&inner.value),
            value => Ok(value),
        }
    }

    /// A numeric variable, full or sparse, as a full matrix.
    pub(crate) fn matrix(&self, name: &str) -> Result<Matrix, DataError> {
        let variable = self.get(name)?;
        matrix(variable).ok_or_else(|| self.refuse(name, describe(variable), "a numeric matrix"))
    }

    /// A cell array of numeric matrices: its rows and columns, and its cells column after column.
    pub(crate) fn cells(&self, name: &str) -> Result<(usize, usize, Vec<Matrix>), DataError> {
        let (rows, columns, cells) = self.cell_array(name)?;
        let matrices = cells
            .iter()
            .enumerate()
            .map(|(at, cell)| {
                matrix(cell).ok_or_else(|| {
                    let found = format!("{} in cell {}", describe(cell), at + 1);
                    self.refuse(name, found, "a numeric matrix in every cell")
                })
            })
            .collect::<Result<_, _>>()?;
        Ok((rows, columns, matrices))
    }

    /// A cell array of texts.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, DataError> {
        let (_, _, cells) = self.cell_array(name)?;
        cells
            .iter()
            .enumerate()
            .map(|(at, cell)| {
                text(cell).ok_or_else(|| {
                    let found = format!("{} in cell {}", describe(cell), at + 1);
                    self.refuse(name, found, "text in every cell")
                })
            })
            .collect()
    }

    fn cell_array(&self, name: &str) -> Result<(usize, usize, &[MatVariable]), DataError> {
        match self.get(name)? {
            MatVariable::CellArray(cells) => match cells.dim[..] {
                [rows, columns] if rows.checked_mul(columns) == Some(cells.value.len()) => {
                    Ok((rows, columns, &cells.value))
                }
                _ => {
                    let found = format!("cells of shape {:?}", cells.dim);
                    Err(self.refuse(name, found, "rows and columns of cells"))
                }
            },
            other => Err(self.refuse(name, describe(other), "a cell array")),
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

fn describe(variable: &MatVariable) -> String {
    let kind = match variable {
        MatVariable::NumericArray(array) => match array.value {
            MatlabType::UTF8(_) | MatlabType::UTF16(_) => "text",
            _ => "a numeric array",
        },
        MatVariable::SparseArray(_) => "a sparse matrix",
        MatVariable::CellArray(_) => "a cell array",
        MatVariable::Structure(_) | MatVariable::StructureArray(_) => "a structure",
        _ => "nothing",
    };
    match variable.dim() {
        dim if dim.is_empty() => kind.to_owned(),
        dim => format!("{kind} of shape {dim:?}"),
    }
}

fn text(variable: &MatVariable) -> Option<String> {
    let MatVariable::NumericArray(array) = variable else {
        return None;
    };
    match &array.value {
        MatlabType::UTF8(chars) | MatlabType::UTF16(chars) => Some(chars.iter().collect()),
        _ => None,
    }
}

fn matrix(variable: &MatVariable) -> Option<Matrix> {
    match variable {
        MatVariable::NumericArray(array) => {
            let [rows, columns] = array.dim[..] else {
                return None;
            };
            let values = numbers(&array.value)?;
            (rows.checked_mul(columns)? == values.len() && array.value_cmp.is_none()).then_some(
                Matrix {
                    rows,
                    columns,
                    values,
                },
            )
        }
        MatVariable::SparseArray(sparse) => {
            let [rows, columns] = sparse.dim[..] else {
                return None;
            };
            let stored = numbers(&sparse.value)?;
            let count = rows.checked_mul(columns).filter(|n| *n <= MAX_VALUES)?;
            let mut values = vec![0.0; count];
            for (column, ends) in sparse.jc.windows(2).enumerate() {
                for at in ends[0]..ends[1] {
                    let row = *sparse.ir.get(at).filter(|row| **row < rows)?;
                    *values.get_mut(column * rows + row)? = *stored.get(at)?;
                }
            }
            Some(Matrix {
                rows,
                columns,
                values,
            })
        }
        _ => None,
    }
}

fn numbers(values: &MatlabType) -> Option<Vec<f64>> {
    macro_rules! cast {
        ($values:expr) => {
            $values.iter().map(|value| *value as f64).collect()
        };
    }
    Some(match values {
        MatlabType::U8(v) => cast!(v),
        MatlabType::I8(v) => cast!(v),
        MatlabType::U16(v) => cast!(v),
        MatlabType::I16(v) => cast!(v),
        MatlabType::U32(v) => cast!(v),
        MatlabType::I32(v) => cast!(v),
        MatlabType::U64(v) => cast!(v),
        MatlabType::I64(v) => cast!(v),
        MatlabType::F32(v) => cast!(v),
        MatlabType::F64(v) => v.clone(),
        MatlabType::BOOL(v) => v.iter().map(|value| f64::from(u8::from(*value))).collect(),
        MatlabType::UTF8(_) | MatlabType::UTF16(_) => return None,
    })
}

/// A walk over the elements of a file, checking lengths before anything is read.
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

/// The leading parts of a matrix element.
struct Preamble {
    class: u8,
    complex: bool,
    dims: Vec<usize>,
    name: String,
    /// Offset of what follows.
    next: usize,
}

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8], path: &'a Path) -> Result<Self, DataError> {
        let fail = |offset: usize, found: String, expected: &str| {
            Err(DataError::content(
                path,
                Place::Byte(offset as u64),
                found,
                expected,
            ))
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
        if bytes.len() < HEADER {
            let found = "the end of the file".to_owned();
            return fail(bytes.len(), found, "a MATLAB header of 128 bytes");
        }
        let big_endian = match &bytes[126..128] {
            b"IM" => false,
            b"MI" => true,
            other => return fail(126, quote(other), "`IM` or `MI`, as in a MATLAB v5 file"),
        };
        if bytes.starts_with(b"MATLAB 7.3") {
            let found = "MATLAB 7.3 (HDF5)".to_owned();
            return fail(0, found, "MATLAB v5; save with `-v7`");
        }
        Ok(Self {
            bytes,
            big_endian,
            path,
        })
    }

    /// A file with the wanted variables only, unpacked and checked.
    fn collect(&self, wanted: &[&str]) -> Result<Vec<u8>, DataError> {
        let mut clean = clean_header(self.big_endian);
        let mut seen = Vec::new();
        let mut at = HEADER;
        while at < self.bytes.len() {
            let element = self.element(at, self.bytes.len())?;
            at = element.next;
            let unpacked;
            let (variable, offset) = match element.kind {
                MI_COMPRESSED => {
                    unpacked = self.inflate(&element)?;
                    (&unpacked[..], element.start)
                }
                MI_MATRIX => (
                    &self.bytes[element.start - 8..element.next],
                    element.start - 8,
                ),
                _ => continue,
            };
            let inner = Scan {
                bytes: variable,
                ..*self
            };
            let name = inner
                .variable(wanted)
                .map_err(|error| shift(error, offset, element.kind == MI_COMPRESSED))?;
            if wanted.contains(&name.as_str()) {
                clean.extend_from_slice(variable);
                clean.resize(clean.len().next_multiple_of(8), 0);
            }
            seen.push(name);
        }
        match wanted.iter().find(|name| !seen.iter().any(|s| s == *name)) {
            None => Ok(clean),
            Some(missing) => {
                let seen: Vec<_> = seen.iter().map(|name| quote(name.as_bytes())).collect();
                let found = match &seen[..] {
                    [] => "no variable".to_owned(),
                    _ => format!("only {}", seen.join(", ")),
                };
                let expected = format!("a variable `{missing}`");
                Err(DataError::content(self.path, Place::File, found, expected))
            }
        }
    }

    /// The content of a compressed element, which is one matrix element.
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

    /// Checks a matrix element that fills the scan and gives its name. The inside of variables
    /// that are not wanted is not looked at.
    fn variable(&self, wanted: &[&str]) -> Result<String, DataError> {
        let element = self.element(0, self.bytes.len())?;
        if element.kind != MI_MATRIX {
            let found = format!("an element of type {}", element.kind);
            return Err(self.fail(0, found, "a variable (type 14)"));
        }
        let name = self.preamble(&element)?.name;
        if wanted.contains(&name.as_str()) {
            self.check(&element, 0)?;
        }
        Ok(name)
    }

    /// Checks that a matrix element holds what its shape promises.
    fn check(&self, element: &Element, depth: usize) -> Result<(), DataError> {
        if element.content.is_empty() {
            return Ok(());
        }
        let end = element.start + element.content.len();
        let preamble = self.preamble(element)?;
        let count = preamble
            .dims
            .iter()
            .try_fold(1usize, |product, &n| product.checked_mul(n))
            .filter(|count| *count <= MAX_VALUES)
            .ok_or_else(|| {
                let found = format!("a variable of shape {:?}", preamble.dims);
                self.fail(element.start, found, format!("at most {MAX_VALUES} values"))
            })?;
        match preamble.class {
            MX_CELL => self.check_cells(preamble.next, end, count, depth),
            MX_CHAR | 6..=15 => {
                let next = self.check_values(preamble.next, end, count)?;
                if preamble.complex {
                    self.check_values(next, end, count)?;
                }
                Ok(())
            }
            MX_SPARSE => self.check_sparse(preamble.next, end, &preamble.dims),
            class => {
                let found = format!("variable `{}` of class {class}", preamble.name);
                Err(self.fail(
                    element.start,
                    found,
                    "numbers, text, a sparse matrix or cells",
                ))
            }
        }
    }

    fn check_cells(
        &self,
        mut at: usize,
        end: usize,
        count: usize,
        depth: usize,
    ) -> Result<(), DataError> {
        if depth == MAX_DEPTH {
            let found = format!("cells nested {MAX_DEPTH} deep");
            return Err(self.fail(at, found, "flatter cells"));
        }
        for _ in 0..count {
            let cell = self.element(at, end)?;
            if cell.kind != MI_MATRIX {
                let found = format!("a cell of type {}", cell.kind);
                return Err(self.fail(at, found, "a matrix (type 14)"));
            }
            self.check(&cell, depth + 1)?;
            at = cell.next;
        }
        Ok(())
    }

    fn check_values(&self, at: usize, end: usize, count: usize) -> Result<usize, DataError> {
        let values = self.element(at, end)?;
        let width = width(values.kind).ok_or_else(|| {
            let found = format!("values of type {}", values.kind);
            self.fail(at, found, "a number type")
        })?;
        // UTF-8 text takes between one and four bytes a character.
        let fits = values.kind == 16 || count * width == values.content.len();
        if fits {
            Ok(values.next)
        } else {
            let found = format!("{} bytes of values", values.content.len());
            Err(self.fail(at, found, format!("{}", count * width)))
        }
    }

    fn check_sparse(&self, at: usize, end: usize, dims: &[usize]) -> Result<(), DataError> {
        let rows = self.element(at, end)?;
        let columns = self.element(rows.next, end)?;
        let values = self.element(columns.next, end)?;
        let width = width(values.kind).unwrap_or(1);
        let ends = self.integers(&columns);
        let stored = rows.content.len() / 4;
        let sound = matches!(dims, [_, n] if ends.len() == n + 1)
            && ends.is_sorted()
            && ends.last().is_some_and(|last| *last <= stored)
            && self.integers(&rows).iter().all(|row| *row < dims[0])
            && values.content.len() / width == stored;
        if sound {
            return Ok(());
        }
        let found = format!(
            "a sparse matrix of shape {dims:?} with {stored} row numbers, {} column ends and {} \
             values",
            ends.len(),
            values.content.len() / width
        );
        Err(self.fail(
            at,
            found,
            "row numbers, column ends and values that fit together",
        ))
    }

    /// Flags, shape and name.
    fn preamble(&self, element: &Element) -> Result<Preamble, DataError> {
        let end = element.start + element.content.len();
        let flags = self.element(element.start, end)?;
        let dims = self.element(flags.next, end)?;
        let name = self.element(dims.next, end)?;
        if flags.content.len() < 4 || dims.kind != 5 {
            let found = "a variable without class and shape";
            return Err(self.fail(element.start, found, "a MATLAB v5 variable"));
        }
        let word = self.word(flags.content);
        Ok(Preamble {
            class: (word & 0xff) as u8,
            complex: word & 0x800 != 0,
            dims: self.integers(&dims),
            name: String::from_utf8_lossy(name.content).into_owned(),
            next: name.next,
        })
    }

    /// The element at `at`, which must end at or before `end`.
    fn element(&self, at: usize, end: usize) -> Result<Element<'a>, DataError> {
        let early = |missing: usize| {
            let found = "the end of the data".to_owned();
            self.fail(
                end,
                found,
                format!("{missing} more bytes of the element at byte {at}"),
            )
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

    fn integers(&self, element: &Element) -> Vec<usize> {
        let words = element.content.chunks_exact(4);
        words.map(|word| self.word(word) as usize).collect()
    }

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

/// Moves an offset within a variable to one within the file, as far as there is one.
fn shift(error: DataError, by: usize, compressed: bool) -> DataError {
    match error {
        DataError::Content {
            path,
            place: Place::Byte(at),
            found,
            expected,
        } => {
            let place = Place::Byte(by as u64 + if compressed { 0 } else { at });
            let found = if compressed {
                format!("{found} (at byte {at} of the unpacked variable)")
            } else {
                found
            };
            DataError::Content {
                path,
                place,
                found,
                expected,
            }
        }
        other => other,
    }
}

/// Bytes per value of a stored type.
fn width(kind: u32) -> Option<usize> {
    match kind {
        1 | 2 | 16 => Some(1),
        3 | 4 | 17 => Some(2),
        5..=7 | 18 => Some(4),
        9 | 12 | 13 => Some(8),
        _ => None,
    }
}

/// The 128 bytes in front of the variables, with text that `matrw` accepts.
fn clean_header(big_endian: bool) -> Vec<u8> {
    let mut header = b"MATLAB 5.0 MAT-file, ".to_vec();
    header.resize(116, b' ');
    header.resize(124, 0);
    header.extend_from_slice(if big_endian {
        b"\x01\x00MI"
    } else {
        b"\x00\x01IM"
    });
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrw::{matfile, matvar};
    use proptest::prelude::*;
    use std::fs;

    /// A file of cells, text and numbers with the header text that SciPy writes.
    fn example(compress: bool) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mat");
        let file = matfile!(
            other: matvar!({ field: 1.0 }),
            m: matvar!([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
            c: matvar!(["ab", "c"])
        );
        matrw::save_matfile_v7(path.to_str().unwrap(), file, compress).unwrap();
        let mut bytes = fs::read(path).unwrap();
        bytes[..116].fill(b' ');
        bytes[..40].copy_from_slice(b"MATLAB 5.0 MAT-file Platform: posix, Cre");
        bytes
    }

    fn scan(bytes: &[u8], wanted: &[&str]) -> Result<MatFile, DataError> {
        let path = Path::new("a.mat");
        interpret(&Scan::new(bytes, path)?.collect(wanted)?, path)
    }

    #[test]
    fn reads_the_wanted_variables_only() {
        for compress in [false, true] {
            let path = Path::new("a.mat");
            let file = scan(&example(compress), &["m", "c"]).unwrap();
            let variables = Variables { file, path };
            let m = variables.matrix("m").unwrap();
            assert_eq!((m.rows, m.columns), (2, 3));
            assert_eq!(m.values, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
            assert_eq!(variables.texts("c").unwrap(), ["ab", "c"]);
            assert!(matches!(variables.file["other"], MatVariable::Null));
            assert!(variables.matrix("c").is_err());
        }
    }

    #[test]
    fn an_absent_variable_is_named() {
        let error = scan(&example(true), &["m", "x"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.mat: found only `other`, `m`, `c`, expected a variable `x`"
        );
    }

    #[test]
    fn every_cut_is_an_error() {
        for compress in [false, true] {
            let bytes = example(compress);
            for length in 0..bytes.len() {
                let result = scan(&bytes[..length], &["m", "c"]);
                assert!(result.is_err(), "cut to {length} of {}", bytes.len());
            }
        }
    }

    #[test]
    fn sparse_matrices_become_full() {
        let sparse = matrw::SparseArray::new(
            3,
            2,
            vec![0, 2, 1],
            vec![0, 2, 3],
            MatlabType::F64(vec![1.0, 2.0, 3.0]),
            None,
        )
        .unwrap();
        let full = matrix(&MatVariable::SparseArray(sparse)).unwrap();
        assert_eq!(full.values, [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
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
        let error = scan(&bytes, &["m"]).unwrap_err().to_string();
        assert!(error.contains("shape"), "{error}");
        bytes[at + 3] = 0;
        bytes[at + 1] = 1;
        let error = scan(&bytes, &["m"]).unwrap_err().to_string();
        assert!(
            error.ends_with("found 6 bytes of values, expected 774"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(at in HEADER..500usize, byte: u8, compress: bool) {
            let mut bytes = example(compress);
            let at = at.min(bytes.len() - 1);
            bytes[at] = byte;
            let _ = scan(&bytes, &["m", "c"]);
        }
    }
}
