//! NumPy's `.npy`: a short header in Python's notation, then the values.
//!
//! Read here rather than by a crate because features of networks are commonly stored as `float16`,
//! and because nothing may be allocated that the file is too short to fill.

use std::fs;
use std::path::Path;

use ndarray::{Array2, ShapeBuilder};

use super::MAX_VALUES;
use super::error::{DataError, Place, quote};

const MAGIC: &[u8] = b"\x93NUMPY";

/// An array of any supported type: its shape, its order and its bytes.
pub(crate) struct Npy<'a> {
    kind: Kind,
    width: usize,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
    bytes: &'a [u8],
    path: &'a Path,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    /// `U`: four bytes a character.
    Unicode,
    /// `S`: one byte a character.
    Bytes,
}

/// The whole file, refused where it is larger than any dataset may be.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    let size = fs::metadata(path).map_err(|error| DataError::read(path, error))?.len();
    if size > 8 * MAX_VALUES as u64 {
        return Err(DataError::content(
            path,
            Place::File,
            format!("{size} bytes"),
            format!("at most {}", 8 * MAX_VALUES),
        ));
    }
    fs::read(path).map_err(|error| DataError::read(path, error))
}

impl<'a> Npy<'a> {
    /// Reads the header and checks that the values are all there. `path` is named in errors.
    pub(crate) fn parse(file: &'a [u8], path: &'a Path) -> Result<Self, DataError> {
        if file.is_empty() {
            let expected = "a NumPy array";
            return Err(DataError::content(path, Place::File, "an empty file", expected));
        }
        let (header, start) = header(file).map_err(|bad| bad.at(path))?;
        let at_header = |found: String, expected: &str| {
            DataError::content(
                path,
                Place::Byte(start as u64 - header.len() as u64),
                found,
                expected,
            )
        };
        let missing =
            |key: &str| at_header(format!("a header without `{key}`"), "a complete header");
        let descr = value_of(header, "descr").ok_or_else(|| missing("descr"))?;
        let (kind, width, big_endian) = element(descr).ok_or_else(|| {
            let found = format!("values of type {}", quote(descr.as_bytes()));
            at_header(found, "float16, float32, float64, an integer, bool or text type")
        })?;
        let fortran = value_of(header, "fortran_order").ok_or_else(|| missing("fortran_order"))?;
        let shape = value_of(header, "shape").ok_or_else(|| missing("shape"))?;
        let shape = dimensions(shape).ok_or_else(|| {
            at_header(format!("shape {}", quote(shape.as_bytes())), "a tuple of whole numbers")
        })?;
        let wanted = shape.iter().try_fold(width, |product, &n| product.checked_mul(n));
        let bytes = &file[start..];
        if wanted != Some(bytes.len()) {
            let wanted = wanted.map_or_else(|| "more than fit".to_owned(), |n| n.to_string());
            return Err(DataError::content(
                path,
                Place::Byte(start as u64),
                format!("{} bytes of values", bytes.len()),
                format!("{wanted} for shape {shape:?} of {width} bytes each"),
            ));
        }
        Ok(Self { kind, width, big_endian, fortran: fortran == "True", shape, bytes, path })
    }

    /// The array as samples in rows; dimensions beyond the first are flattened.
    pub(crate) fn matrix(&self) -> Result<Array2<f64>, DataError> {
        let (rows, dims) = match self.shape[..] {
            [rows, dims] => (rows, dims),
            [rows, ref rest @ ..] if !rest.is_empty() && !self.fortran => {
                (rows, rest.iter().product())
            }
            _ => {
                return Err(self.refuse(
                    format!("an array of shape {:?}", self.shape),
                    "samples in rows, an array of two dimensions",
                ));
            }
        };
        if rows.checked_mul(dims).is_none_or(|count| count > MAX_VALUES) {
            let expected = format!("at most {MAX_VALUES} values");
            return Err(self.refuse(format!("{rows} x {dims} values"), &expected));
        }
        let numbers = self.numbers()?;
        Array2::from_shape_vec((rows, dims).set_f(self.fortran), numbers)
            .map(|x| x.as_standard_layout().into_owned())
            .map_err(|error| self.refuse(error.to_string(), "samples in rows"))
    }

    /// The array as one label per sample.
    pub(crate) fn labels(&self) -> Result<Vec<String>, DataError> {
        if self.shape.iter().filter(|&&n| n != 1).count() > 1 {
            let found = format!("an array of shape {:?}", self.shape);
            return Err(self.refuse(found, "one label per sample, an array of one dimension"));
        }
        match self.kind {
            Kind::Unicode | Kind::Bytes => {
                Ok(self.bytes.chunks_exact(self.width).map(|chunk| self.text(chunk)).collect())
            }
            _ => {
                let numbers = self.numbers()?;
                match numbers.iter().position(|number| !number.is_finite()) {
                    None => Ok(numbers.iter().map(f64::to_string).collect()),
                    Some(at) => Err(self.refuse(
                        format!("label `{}` of sample {}", numbers[at], at + 1),
                        "a finite label",
                    )),
                }
            }
        }
    }

    fn numbers(&self) -> Result<Vec<f64>, DataError> {
        let decode: fn([u8; 8]) -> f64 = match (self.kind, self.width) {
            (Kind::Float, 2) => |b| half(u16::from_le_bytes([b[0], b[1]])),
            (Kind::Float, 4) => |b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            (Kind::Float, _) => f64::from_le_bytes,
            (Kind::Signed, 1) => |b| f64::from(i8::from_le_bytes([b[0]])),
            (Kind::Signed, 2) => |b| f64::from(i16::from_le_bytes([b[0], b[1]])),
            (Kind::Signed, 4) => |b| f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            (Kind::Signed, _) => |b| i64::from_le_bytes(b) as f64,
            (Kind::Unsigned | Kind::Bool, _) => |b| u64::from_le_bytes(b) as f64,
            (Kind::Unicode | Kind::Bytes, _) => {
                return Err(self.refuse("text".to_owned(), "numbers"));
            }
        };
        let number = |chunk: &[u8]| {
            let mut bytes = [0; 8];
            bytes[..self.width].copy_from_slice(chunk);
            if self.big_endian {
                bytes[..self.width].reverse();
            }
            decode(bytes)
        };
        Ok(self.bytes.chunks_exact(self.width).map(number).collect())
    }

    fn text(&self, chunk: &[u8]) -> String {
        let text: String = match self.kind {
            Kind::Bytes => String::from_utf8_lossy(chunk).into_owned(),
            _ => chunk
                .chunks_exact(4)
                .map(|c| {
                    let mut code = [c[0], c[1], c[2], c[3]];
                    if self.big_endian {
                        code.reverse();
                    }
                    char::from_u32(u32::from_le_bytes(code)).unwrap_or(char::REPLACEMENT_CHARACTER)
                })
                .collect(),
        };
        text.trim_end_matches('\0').to_owned()
    }

    fn refuse(&self, found: String, expected: &str) -> DataError {
        DataError::content(self.path, Place::File, found, expected)
    }
}

/// A header that cannot be read.
struct BadHeader {
    offset: u64,
    found: String,
    expected: &'static str,
}

impl BadHeader {
    fn at(self, path: &Path) -> DataError {
        DataError::content(path, Place::Byte(self.offset), self.found, self.expected)
    }
}

/// The header's text and where the values begin.
fn header(file: &[u8]) -> Result<(&str, usize), BadHeader> {
    let bad = |offset: usize, found: String, expected| BadHeader {
        offset: offset as u64,
        found,
        expected,
    };
    if !file.starts_with(MAGIC) {
        let found = quote(&file[..file.len().min(6)]);
        return Err(bad(0, found, "the magic bytes of a NumPy array"));
    }
    let (length, start): (usize, usize) = match file {
        [_, _, _, _, _, _, 1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 10),
        [_, _, _, _, _, _, 2 | 3, _, a, b, c, d, ..] => {
            (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12)
        }
        [_, _, _, _, _, _, version, ..] if !(1..=3).contains(version) => {
            return Err(bad(6, format!("version {version}"), "version 1, 2 or 3"));
        }
        _ => {
            return Err(bad(file.len(), "the end of the file".to_owned(), "a header"));
        }
    };
    let text = start.checked_add(length).and_then(|end| file.get(start..end)).ok_or_else(|| {
        let found = format!("a header of {length} bytes in a file of {}", file.len());
        bad(start - 2, found, "a complete file")
    })?;
    let text =
        std::str::from_utf8(text).map_err(|_| bad(start, quote(text), "a header of plain text"))?;
    Ok((text, start + length))
}

/// The text of `key`'s value in a Python dictionary: a quoted string's inside, a tuple's inside, or
/// a bare word.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let after = ['\'', '"'].iter().find_map(|quote| {
        let (_, after) = header.split_once(&format!("{quote}{key}{quote}"))?;
        after.trim_start().strip_prefix(':')
    })?;
    let after = after.trim_start();
    let mut chars = after.chars();
    let end = match chars.next()? {
        open @ ('\'' | '"') => open,
        '(' => ')',
        _ => return after.split([',', '}']).next().map(str::trim),
    };
    chars.as_str().split_once(end).map(|(value, _)| value)
}

/// Kind, width and byte order of a type such as `<f8`.
fn element(descr: &str) -> Option<(Kind, usize, bool)> {
    let mut chars = descr.chars();
    let big_endian = match chars.next()? {
        '<' | '|' => false,
        '=' => cfg!(target_endian = "big"),
        '>' => true,
        _ => return None,
    };
    let letter = chars.next()?;
    let size: usize = chars.as_str().parse().ok()?;
    let (kind, width) = match (letter, size) {
        ('f', 2 | 4 | 8) => (Kind::Float, size),
        ('i', 1 | 2 | 4 | 8) => (Kind::Signed, size),
        ('u', 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
        ('b', 1) => (Kind::Bool, 1),
        ('U', 1..=10_000) => (Kind::Unicode, 4 * size),
        ('S', 1..=10_000) => (Kind::Bytes, size),
        _ => return None,
    };
    Some((kind, width, big_endian))
}

fn dimensions(tuple: &str) -> Option<Vec<usize>> {
    tuple
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect()
}

/// An IEEE half: 1 bit sign, 5 bits exponent, 10 bits fraction.
fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let magnitude = match (bits >> 10) & 0x1f {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 15),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;

    /// A version 1 file as NumPy writes it.
    pub(crate) fn npy(descr: &str, fortran: bool, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        let mut header =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        while !(header.len() + 11).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(bytes);
        file
    }

    fn matrix(file: &[u8]) -> Result<Array2<f64>, String> {
        Npy::parse(file, Path::new("a.npy"))
            .and_then(|array| array.matrix())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn reads_every_number_type() {
        let expected = array![[1.0, 2.0], [3.0, 4.0]];
        macro_rules! check {
            ($($descr:literal $type:ty),*) => {$(
                let bytes: Vec<u8> = [1 as $type, 2 as $type, 3 as $type, 4 as $type]
                    .iter()
                    .flat_map(|v| v.to_le_bytes())
                    .collect();
                assert_eq!(matrix(&npy($descr, false, "(2, 2)", &bytes)).unwrap(), expected, $descr);
            )*};
        }
        check!("<f4" f32, "<f8" f64, "|u1" u8, "|i1" i8, "<u2" u16, "<i2" i16, "<u4" u32, "<i4" i32, "<u8" u64, "<i8" i64);
        let halves: Vec<u8> =
            [0x3c00u16, 0x4000, 0x4200, 0x4400].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(matrix(&npy("<f2", false, "(2, 2)", &halves)).unwrap(), expected);
        let big: Vec<u8> = [1i16, 2, 3, 4].iter().flat_map(|v| v.to_be_bytes()).collect();
        assert_eq!(matrix(&npy(">i2", false, "(2, 2)", &big)).unwrap(), expected);
    }

    #[test]
    fn halves_keep_their_value() {
        assert_eq!(half(0x0001), 2f64.powi(-24));
        assert_eq!(half(0x7bff), 65504.0);
        assert_eq!(half(0xc100), -2.5);
        assert_eq!(half(0x7c00), f64::INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn fortran_order_is_transposed() {
        let file = npy("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6]);
        assert_eq!(matrix(&file).unwrap(), array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    }

    #[test]
    fn labels_may_be_numbers_or_text() {
        let labels = |file: &[u8]| Npy::parse(file, Path::new("a")).unwrap().labels().unwrap();
        assert_eq!(labels(&npy("|u1", false, "(3,)", &[7, 0, 7])), ["7", "0", "7"]);
        assert_eq!(labels(&npy("|S2", false, "(2,)", b"ab\0c")), ["ab", "\0c"]);
        let wide: Vec<u8> = "aé".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        assert_eq!(labels(&npy("<U1", false, "(2,)", &wide)), ["a", "é"]);
    }

    #[test]
    fn a_header_may_not_promise_more_than_the_file_holds() {
        let huge = npy("<f8", false, "(4294967296, 4294967296)", &[0; 16]);
        assert!(matrix(&huge).unwrap_err().contains("more than fit"));
        let short = npy("<f8", false, "(2, 2)", &[0; 24]);
        assert_eq!(
            matrix(&short).unwrap_err(),
            "a.npy, byte 128: found 24 bytes of values, expected 32 for shape [2, 2] of 8 bytes each"
        );
        assert!(matrix(&short[..40]).unwrap_err().contains("a complete file"));
        assert!(matrix(&short[..7]).unwrap_err().contains("the end of the file"));
        let complex = npy("<c16", false, "(1, 1)", &[0; 16]);
        assert!(matrix(&complex).unwrap_err().contains("`<c16`"));
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(at in 0usize..150, byte: u8, cut in 0usize..160) {
            let mut file = npy("<f8", false, "(2, 2)", &[1; 32]);
            let at = at.min(file.len() - 1);
            file[at] = byte;
            file.truncate(file.len().saturating_sub(cut % 3));
            let _ = matrix(&file);
            let _ = Npy::parse(&file, Path::new("a")).map(|array| array.labels());
        }
    }
}
