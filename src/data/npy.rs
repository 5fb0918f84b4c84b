//! NumPy's `.npy`, a short header in Python's notation and then the values, and `.npz`, a zip archive
//! of such arrays.
//!
//! Read here rather than by a crate because features of networks are commonly stored as `float16`,
//! and because nothing may be allocated that the file is too short to fill.

use ndarray::{Array2, ShapeBuilder};
use serde::Deserialize;

use super::content::{Zip, open_zip, zip_entry};
use super::error::{BadContent, Parsed, absent, bad, place_of, quote};
use super::numbers::{Kind, decode, decode_text};
use super::{MAX_VALUES, Samples};
use crate::wording::counted;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Most bytes of a header.
const LONGEST_HEADER: usize = 1 << 16;
/// Names of the arrays in an `.npz` archive.
const SAMPLES: [&str; 4] = ["x", "X", "data", "features"];
const LABELS: [&str; 4] = ["y", "Y", "labels", "target"];
/// Names of the training samples in an archive with its own split.
const TRAIN: [&str; 2] = ["x_train", "X_train"];

/// Samples in rows; dimensions beyond the first are flattened.
pub(crate) fn matrix(file: &[u8]) -> Parsed<Array2<f64>> {
    let Array { header: Header { fortran_order, shape, .. }, element, width, big_endian, bytes } =
        array(file)?;
    if shape.len() < 2 || shape.len() > 2 && fortran_order {
        return Err(refuse(&shape, "samples in rows, an array of two dimensions"));
    }
    let Element::Number(kind) = element else {
        return Err(bad("", "text", "numbers"));
    };
    let values = decode(kind, width, big_endian, bytes);
    let dims = values.len() / shape[0].max(1);
    let x = Array2::from_shape_vec((shape[0], dims).set_f(fortran_order), values)
        .expect("the shape was compared with the number of values");
    Ok(x.as_standard_layout().into_owned())
}

/// One label per sample.
pub(crate) fn labels(file: &[u8]) -> Parsed<Vec<String>> {
    let Array { header: Header { shape, .. }, element, width, big_endian, bytes } = array(file)?;
    if shape.iter().filter(|&&n| n != 1).count() > 1 {
        return Err(refuse(&shape, "one label per sample, an array of one dimension"));
    }
    let text = |number: usize, text: Option<String>| {
        let text = text.map(|text| text.trim_end_matches('\0').to_owned());
        text.ok_or_else(|| {
            let found = format!("label {}, which is not UTF-8", number + 1);
            bad("", found, "text; save the labels with `astype(str)`")
        })
    };
    let chunks = bytes.chunks_exact(width).enumerate();
    match element {
        Element::Number(kind) => {
            let labels = decode_text(kind, width, big_endian, bytes);
            let infinite = |label: &String| label.parse().is_ok_and(f64::is_infinite);
            match labels.iter().position(infinite) {
                None => Ok(labels),
                Some(at) => {
                    let found = format!("label `{}` of sample {}", labels[at], at + 1);
                    Err(bad("", found, "a finite label"))
                }
            }
        }
        Element::Bytes => {
            let decoded = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
            chunks.map(|(at, bytes)| text(at, decoded(bytes))).collect()
        }
        Element::Characters => {
            let decoded = |bytes: &[u8]| {
                let codes = decode(Kind::Unsigned, 4, big_endian, bytes).into_iter();
                codes.map(|code| char::from_u32(code as u32)).collect()
            };
            chunks.map(|(at, bytes)| text(at, decoded(bytes))).collect()
        }
    }
}

fn refuse(shape: &[usize], expected: &str) -> BadContent {
    bad("", format_args!("an array of shape {shape:?}"), expected)
}

/// Samples as `x` and labels as `y` of an `.npz` archive, or under one of their usual other names. An archive with
/// `x_train`, `y_train`, `x_test` and `y_test` has its own split.
pub(crate) fn archive(file: &[u8]) -> Parsed<Samples> {
    let part = |samples: &[&str], labels: &[&str]| {
        Ok(Samples::new(member(file, samples, matrix)?, member(file, labels, super::npy::labels)?))
    };
    let archive = open_zip(file, "an .npz archive")?;
    let is_split = !SAMPLES.iter().any(|name| has(&archive, name));
    if !is_split || !TRAIN.iter().any(|name| has(&archive, name)) {
        return part(&SAMPLES, &LABELS);
    }
    let train = part(&TRAIN, &["y_train", "Y_train"])?;
    let test = part(&["x_test", "X_test"], &["y_test", "Y_test"])?;
    let (ours, theirs) = (train.x.ncols(), test.x.ncols());
    if ours != theirs {
        let expected = format!("{ours} as in `x_train`");
        return Err(bad(place_of("x_test"), counted(theirs, "feature"), expected));
    }
    for part in [&train, &test] {
        part.check()?;
    }
    let first = train.labels.len();
    Ok(Samples { train: Some(first), ..train.join(test)? })
}

/// Whether the archive has an array of this name.
fn has(archive: &Zip<'_>, name: &str) -> bool {
    archive.index_for_name(&format!("{name}.npy")).is_some()
}

/// The first array of the archive that has one of `names`.
fn member<T>(file: &[u8], names: &[&str], parse: fn(&[u8]) -> Parsed<T>) -> Parsed<T> {
    let mut archive = open_zip(file, "an .npz archive")?;
    let Some(name) = names.iter().find(|name| has(&archive, name)) else {
        let wanted = format!("an array called `{}`", names.join("` or `"));
        let present = archive.file_names().map(|name| name.trim_end_matches(".npy"));
        return Err(absent(wanted, present));
    };
    let bytes = zip_entry(&mut archive, &format!("{name}.npy"))?;
    parse(&bytes).map_err(|bad| bad.at(place_of(name)))
}

/// What the values of an array are.
#[derive(Deserialize)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// An array of a file, not decoded yet.
struct Array<'a> {
    header: Header,
    element: Element,
    /// Bytes of a value.
    width: usize,
    big_endian: bool,
    bytes: &'a [u8],
}

/// The header and the values, which must all be there.
fn array(file: &[u8]) -> Parsed<Array<'_>> {
    let (header, bytes) = split_header(file)?;
    // A Python dictionary is YAML but for the brackets of its tuples.
    let yaml = header.replace('(', "[").replace(')', "]");
    let header: Header = serde_saphyr::from_str(&yaml).map_err(|_| {
        let found = format!("header {}", quote(header.as_bytes()));
        bad("", found, "`descr`, `fortran_order` and `shape` of an array")
    })?;
    let (element, width, big_endian) = element(&header.descr).ok_or_else(|| {
        let found = format!("values of type {}", quote(header.descr.as_bytes()));
        let remedy = match header.descr.contains('O') {
            true => "; save labels with `astype(str)`",
            false => "",
        };
        let types = "float16, float32, float64, an integer, bool or text type";
        bad("", found, format_args!("{types}{remedy}"))
    })?;
    let wanted = header.shape.iter().try_fold(width, |product, &n| product.checked_mul(n));
    if wanted != Some(bytes.len()) {
        let wanted = wanted.map_or_else(|| "more than fit".to_owned(), |n| n.to_string());
        let found = format!("{} bytes of values", bytes.len());
        let expected = format!("{wanted} for shape {:?} of {width} bytes each", header.shape);
        return Err(bad(format!(", byte {}", file.len() - bytes.len()), found, expected));
    }
    if bytes.len() / width > MAX_VALUES {
        return Err(refuse(&header.shape, &format!("at most {MAX_VALUES} values")));
    }
    Ok(Array { header, element, width, big_endian, bytes })
}

/// The type of a value.
enum Element {
    Number(Kind),
    /// Text of one byte per character.
    Bytes,
    /// Text of four bytes per character.
    Characters,
}

/// The header's text and the bytes of the values.
fn split_header(file: &[u8]) -> Parsed<(&str, &[u8])> {
    let Some(rest) = file.strip_prefix(MAGIC) else {
        let found = quote(&file[..file.len().min(MAGIC.len())]);
        return Err(bad("", found, "the magic bytes of a NumPy array"));
    };
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (u32::from_le_bytes([*a, *b, 0, 0]), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]), rest),
        _ => (u32::MAX, rest),
    };
    let cut =
        rest.split_at_checked(length as usize).filter(|(text, _)| text.len() <= LONGEST_HEADER);
    let (text, values) = cut.ok_or_else(|| {
        bad("", "the end of the file in its header", "a complete file of version 1, 2 or 3")
    })?;
    let text = str::from_utf8(text).map_err(|_| bad("", quote(text), "a header of plain text"))?;
    Ok((text, values))
}

/// What a type such as `<f8` is: the values, the bytes of each, and whether they are big-endian.
fn element(descr: &str) -> Option<(Element, usize, bool)> {
    let (order, rest) = descr.split_at_checked(1)?;
    let (letter, size) = rest.split_at_checked(1)?;
    let big_endian = match order {
        "<" | "|" => false,
        "=" => cfg!(target_endian = "big"),
        ">" => true,
        _ => return None,
    };
    let (element, width) = match (letter, size.parse().ok()?) {
        ("f", width @ (2 | 4 | 8)) => (Element::Number(Kind::Float), width),
        ("i", width @ (1 | 2 | 4 | 8)) => (Element::Number(Kind::Signed), width),
        ("u", width @ (1 | 2 | 4 | 8)) | ("b", width @ 1) => {
            (Element::Number(Kind::Unsigned), width)
        }
        ("U", length @ 1..=10_000) => (Element::Characters, 4 * length),
        ("S", length @ 1..=10_000) => (Element::Bytes, length),
        _ => return None,
    };
    Some((element, width, big_endian))
}

#[cfg(test)]
pub(crate) use tests::npy;

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;
    use std::io::{Cursor, Write};
    use std::path::Path;

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
        super::matrix(file).map_err(|bad| bad.in_file(Path::new("a.npy")).to_string())
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
    fn fortran_order_is_transposed() {
        let file = npy("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6]);
        assert_eq!(matrix(&file).unwrap(), array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    }

    #[test]
    fn labels_may_be_numbers_or_text() {
        let labels = |file: &[u8]| labels(file).unwrap();
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

    fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn reads_samples_and_labels() {
        let file = zip(&[
            ("labels.npy", npy("|u1", false, "(2,)", &[3, 4])),
            ("X.npy", npy("|u1", false, "(2, 2)", &[1, 2, 3, 4])),
        ]);
        let samples = archive(&file).unwrap();
        assert_eq!(samples.x, ndarray::array![[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(samples.labels, ["3", "4"]);
        assert_eq!(samples.train, None);
    }

    #[test]
    fn reads_training_and_test_samples_as_keras_names_them() {
        let arrays = |wide: &str, bytes: &[u8]| {
            zip(&[
                ("x_train.npy", npy("|u1", false, "(2, 2)", &[1, 2, 3, 4])),
                ("y_train.npy", npy("|u1", false, "(2,)", &[3, 4])),
                ("x_test.npy", npy("|u1", false, wide, bytes)),
                ("y_test.npy", npy("|u1", false, "(1,)", &[4])),
            ])
        };
        let samples = archive(&arrays("(1, 2)", &[5, 6])).unwrap();
        assert_eq!(samples.x, array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        assert_eq!(samples.labels, ["3", "4", "4"]);
        assert_eq!(samples.train, Some(2));
        let error = sentence(&arrays("(1, 3)", &[5, 6, 7]));
        assert!(
            error.ends_with("`x_test`: found 3 features, expected 2 as in `x_train`"),
            "{error}"
        );
    }

    #[test]
    fn labels_are_read_as_they_are_or_refused() {
        let large = [(1_u64 << 53), (1 << 53) + 1].map(u64::to_le_bytes).concat();
        let read = labels(&npy("<i8", false, "(2,)", &large)).unwrap();
        assert_eq!(read, ["9007199254740992", "9007199254740993"]);
        let said = |file: &[u8]| labels(file).unwrap_err().in_file(Path::new("y.npy")).to_string();
        let error = said(&npy("|S1", false, "(1,)", b"\xe4"));
        assert!(error.starts_with("y.npy: found label 1, which is not UTF-8, expected"), "{error}");
        let error = said(&npy("|O", false, "(1,)", b"12345678"));
        assert!(error.ends_with("save labels with `astype(str)`"), "{error}");
    }

    #[test]
    fn names_what_is_missing() {
        let file = zip(&[("X.npy", npy("|u1", false, "(1, 1)", &[1]))]);
        let error = sentence(&file);
        assert!(
            error.ends_with(
                "found only `X`, expected an array called `y` or `Y` or `labels` or `target`"
            ),
            "{error}"
        );
    }

    #[test]
    fn a_cut_archive_is_an_error() {
        let file = zip(&[("X.npy", npy("|u1", false, "(1, 1)", &[1]))]);
        let error = sentence(&file[..file.len() / 2]);
        assert!(error.starts_with("a.npz: found a file that is not a zip archive"), "{error}");
    }

    #[test]
    fn an_array_that_is_damaged_is_named() {
        let whole = npy("|u1", false, "(2, 2)", &[1, 2, 3, 4]);
        let file = zip(&[("x.npy", whole[..whole.len() - 1].to_vec())]);
        let error = sentence(&file);
        assert!(error.starts_with("a.npz, variable `x`: found 3 bytes of values"), "{error}");
    }

    fn sentence(file: &[u8]) -> String {
        archive(file).unwrap_err().in_file(Path::new("a.npz")).to_string()
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(at in 0usize..150, byte: u8, cut in 0usize..160) {
            let mut file = npy("<f8", false, "(2, 2)", &[1; 32]);
            let at = at.min(file.len() - 1);
            file[at] = byte;
            file.truncate(file.len().saturating_sub(cut % 3));
            let _ = matrix(&file);
            let _ = labels(&file);
        }
    }
}
