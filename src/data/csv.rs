//! CSV: comma, semicolon or tab, quoted fields, with or without a header, one label column.

use std::io::BufRead;
use std::path::Path;

use super::error::{DataError, Place, quote};
use super::text::{self, Lines};
use super::{MAX_VALUES, Samples};
use crate::wording::{closest, counted};

use ndarray::Array2;

/// Reads one file, plain or compressed. `label` is the name or number (from 1) of the label column,
/// the last one if left out.
pub(crate) fn read(path: &Path, label: Option<&str>) -> Result<Samples, DataError> {
    parse(text::open(path)?, path, label)
}

/// Reads CSV text from `reader`; `path` is named in errors.
pub(crate) fn parse(
    reader: impl BufRead,
    path: &Path,
    label: Option<&str>,
) -> Result<Samples, DataError> {
    let mut records = Records { lines: Lines::new(reader), delimiter: None, path };
    parse_records(&mut records, label).map_err(|error| records.lines.blame(error, path))
}

fn parse_records(
    records: &mut Records<impl BufRead>,
    label: Option<&str>,
) -> Result<Samples, DataError> {
    let path = records.path;
    let Some(first) = records.next()? else {
        return Err(DataError::content(path, Place::File, "no line", "a line per sample"));
    };
    let mut table = Table::new(&first, label, path)?;
    if !table.has_header {
        table.push(&first, path)?;
    }
    while let Some(record) = records.next()? {
        table.push(&record, path)?;
    }
    table.finish(path)
}

/// One field and where it begins.
struct Field {
    text: String,
    line: u64,
    column: usize,
}

impl Field {
    fn place(&self) -> Place {
        Place::Text { line: self.line, column: self.column }
    }
}

/// Records of a CSV file; a quoted field may run over several lines.
struct Records<'a, R> {
    lines: Lines<R>,
    delimiter: Option<u8>,
    path: &'a Path,
}

impl<R: BufRead> Records<'_, R> {
    fn next(&mut self) -> Result<Option<Vec<Field>>, DataError> {
        let mut fields = Vec::new();
        let mut open: Option<OpenField> = None;
        while let Some((number, line)) = self.lines.next(self.path)? {
            if open.is_none() && line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let delimiter = *self.delimiter.get_or_insert_with(|| guess_delimiter(line));
            open = split(line, number, delimiter, open, &mut fields)
                .map_err(|bad| bad.into_error(self.path))?;
            if open.is_none() {
                return Ok(Some(fields));
            }
        }
        match open {
            None => Ok(None),
            Some(field) => Err(DataError::content(
                self.path,
                Place::Text { line: field.line, column: field.column },
                "a quoted field that never ends",
                "a closing `\"`",
            )),
        }
    }
}

/// A quoted field whose closing quote is on a later line.
struct OpenField {
    bytes: Vec<u8>,
    line: u64,
    column: usize,
}

/// A quote where none may be.
struct StrayQuote {
    line: u64,
    column: usize,
    found: String,
}

impl StrayQuote {
    fn into_error(self, path: &Path) -> DataError {
        let place = Place::Text { line: self.line, column: self.column };
        let expected = "a delimiter after a closing `\"`";
        DataError::content(path, place, self.found, expected)
    }
}

/// The first line decides: the delimiter that is in it, comma before tab before semicolon.
fn guess_delimiter(line: &[u8]) -> u8 {
    [b',', b'\t', b';'].into_iter().find(|delimiter| line.contains(delimiter)).unwrap_or(b',')
}

/// Splits one line, going on with `open` if the last line ended inside quotes.
fn split(
    line: &[u8],
    number: u64,
    delimiter: u8,
    mut open: Option<OpenField>,
    fields: &mut Vec<Field>,
) -> Result<Option<OpenField>, StrayQuote> {
    let mut at = 0;
    if let Some(field) = &mut open {
        field.bytes.push(b'\n');
    }
    loop {
        if open.is_none() {
            let start = at + blanks(&line[at..], delimiter);
            if line.get(start) != Some(&b'"') {
                let end = line[at..]
                    .iter()
                    .position(|&byte| byte == delimiter)
                    .map_or(line.len(), |length| at + length);
                fields.push(Field {
                    text: String::from_utf8_lossy(&line[at..end]).trim().to_owned(),
                    line: number,
                    column: start + 1,
                });
                if end == line.len() {
                    return Ok(None);
                }
                at = end + 1;
                continue;
            }
            open = Some(OpenField { bytes: Vec::new(), line: number, column: start + 1 });
            at = start + 1;
        }
        let Some(field) = &mut open else { continue };
        let Some(end) = quoted(&line[at..], &mut field.bytes).map(|length| at + length) else {
            return Ok(open);
        };
        fields.push(Field {
            text: String::from_utf8_lossy(&field.bytes).into_owned(),
            line: field.line,
            column: field.column,
        });
        open = None;
        let after = end + blanks(&line[end..], delimiter);
        match line.get(after) {
            None => return Ok(None),
            Some(&byte) if byte == delimiter => at = after + 1,
            Some(_) => {
                return Err(StrayQuote {
                    line: number,
                    column: after + 1,
                    found: quote(&line[after..]),
                });
            }
        }
    }
}

/// Length of the blanks at the start of `bytes`.
fn blanks(bytes: &[u8], delimiter: u8) -> usize {
    bytes.iter().take_while(|&&byte| byte != delimiter && matches!(byte, b' ' | b'\t')).count()
}

/// Copies a quoted field up to its closing quote; the length with the quote, `None` if it goes on.
fn quoted(bytes: &[u8], field: &mut Vec<u8>) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', Some(b'"')) => {
                field.push(b'"');
                at += 2;
            }
            (b'"', _) => return Some(at + 1),
            (byte, _) => {
                field.push(byte);
                at += 1;
            }
        }
    }
    None
}

/// The table as it grows.
struct Table {
    has_header: bool,
    label: usize,
    width: usize,
    values: Vec<f64>,
    labels: Vec<String>,
}

impl Table {
    fn new(first: &[Field], label: Option<&str>, path: &Path) -> Result<Self, DataError> {
        let width = first.len();
        if width < 2 {
            return Err(DataError::content(
                path,
                Place::Text { line: 1, column: 1 },
                "one column",
                "a label column and at least one feature",
            ));
        }
        let (label, named) = match label {
            None => (width - 1, false),
            Some(label) => label_column(first, label, path)?,
        };
        let is_number = |field: &Field| field.text.parse::<f64>().is_ok();
        let mut features = first.iter().enumerate().filter(|(at, _)| *at != label);
        // A sample may lack all its values; names are what makes a header.
        let has_header = named
            || features.clone().all(|(_, field)| !is_number(field))
                && features.any(|(_, field)| !is_missing(&field.text));
        Ok(Self { has_header, label, width, values: Vec::new(), labels: Vec::new() })
    }

    fn push(&mut self, record: &[Field], path: &Path) -> Result<(), DataError> {
        if record.len() != self.width {
            let place = Place::Text {
                line: record.first().map_or(1, |field| field.line),
                column: record.get(self.width).map_or(1, |field| field.column),
            };
            return Err(DataError::content(
                path,
                place,
                counted(record.len(), "field"),
                format!("{} as in the first line", self.width),
            ));
        }
        if self.values.len() + self.width > MAX_VALUES {
            let expected = format!("at most {MAX_VALUES} values");
            return Err(DataError::content(path, Place::File, "more values", expected));
        }
        for (column, field) in record.iter().enumerate() {
            if column == self.label {
                self.labels.push(label_of(field, path)?);
            } else {
                self.values.push(number_of(field, path)?);
            }
        }
        Ok(())
    }

    fn finish(self, path: &Path) -> Result<Samples, DataError> {
        let shape = (self.labels.len(), self.width - 1);
        if shape.0 == 0 {
            let expected = "at least one line of numbers below it";
            return Err(DataError::content(path, Place::File, "a header only", expected));
        }
        let x = Array2::from_shape_vec(shape, self.values)
            .expect("every record was checked to have as many fields as the first");
        Ok(Samples { x, labels: self.labels })
    }
}

/// The column that `label` means, and whether by name.
fn label_column(first: &[Field], label: &str, path: &Path) -> Result<(usize, bool), DataError> {
    if let Some(column) = first.iter().position(|field| field.text == label) {
        // A number may be both a column's number and a value of a file without header.
        if label.parse::<f64>().is_err() {
            return Ok((column, true));
        }
    }
    let number = label.parse::<usize>().ok();
    if let Some(number) = number.filter(|number| (1..=first.len()).contains(number)) {
        return Ok((number - 1, false));
    }
    let names = first.iter().map(|field| field.text.as_str());
    let hint = closest(label, names.clone())
        .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    let expected = if number.is_some() {
        format!("a label column from 1 to {}", first.len())
    } else {
        let names: Vec<_> = names.map(|name| quote(name.as_bytes())).take(20).collect();
        format!("a label column of the header: {}", names.join(", "))
    };
    Err(DataError::content(
        path,
        Place::Text { line: 1, column: 1 },
        format!("no column `{label}`{hint}"),
        expected,
    ))
}

/// The usual ways to write that there is no value.
fn is_missing(text: &str) -> bool {
    matches!(
        text.to_ascii_lowercase().as_str(),
        "" | "?" | "-" | "." | "na" | "n/a" | "null" | "none" | "missing"
    )
}

fn label_of(field: &Field, path: &Path) -> Result<String, DataError> {
    let bad =
        field.text.is_empty() || field.text.parse().is_ok_and(|number: f64| !number.is_finite());
    if bad {
        let found = quote(field.text.as_bytes());
        return Err(DataError::content(path, field.place(), found, "a label"));
    }
    Ok(field.text.clone())
}

fn number_of(field: &Field, path: &Path) -> Result<f64, DataError> {
    field.text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
        let found = quote(field.text.as_bytes());
        DataError::content(path, field.place(), found, "a finite number")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;

    fn read(text: &str, label: Option<&str>) -> Result<Samples, String> {
        parse(text.as_bytes(), Path::new("a.csv"), label).map_err(|error| error.to_string())
    }

    #[test]
    fn without_header_the_last_column_is_the_label() {
        let samples = read("1,2,a\n3,4,b\n", None).unwrap();
        assert_eq!(samples.x, array![[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(samples.labels, ["a", "b"]);
    }

    #[test]
    fn a_header_is_found_and_names_the_label() {
        let text = "\u{feff}kind;width;height\r\ncat;1;2\r\n\r\ndog;3;4\r\n";
        let samples = read(text, Some("kind")).unwrap();
        assert_eq!(samples.x, array![[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(samples.labels, ["cat", "dog"]);
        assert_eq!(read(text, Some("1")).unwrap(), samples);
    }

    #[test]
    fn a_first_sample_without_values_is_no_header() {
        for missing in ["?", "", "NA", "?,?"] {
            let error = read(&format!("{missing},a\n1,a\n2,b\n"), None).unwrap_err();
            assert!(error.starts_with("a.csv:1:1: found "), "{error}");
            assert!(error.ends_with("expected a finite number"), "{error}");
        }
        // One name among them is enough.
        let samples = read("?,width,kind\n1,2,a\n", None).unwrap();
        assert_eq!(samples.x, array![[1.0, 2.0]]);
    }

    #[test]
    fn quoted_fields_may_hold_delimiters_quotes_and_line_ends() {
        let samples = read("\"a,\"\"b\"\"\nc\", \"1\" ,2\nd,3,\"4\"\n", Some("1")).unwrap();
        assert_eq!(samples.labels, ["a,\"b\"\nc", "d"]);
        assert_eq!(samples.x, array![[1.0, 2.0], [3.0, 4.0]]);
    }

    #[test]
    fn a_number_names_a_column_even_where_it_is_also_a_value() {
        let samples = read("2,7,1\n1,8,2\n", Some("1")).unwrap();
        assert_eq!(samples.labels, ["2", "1"]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes[..], Path::new("a"), None);
            let _ = parse(&bytes[..], Path::new("a"), Some("x"));
        }

        #[test]
        fn near_misses_never_panic(text in "[-0-9.,;\"\t\r\nax ]{0,80}") {
            let _ = parse(text.as_bytes(), Path::new("a"), None);
            let _ = parse(text.as_bytes(), Path::new("a"), Some("2"));
        }
    }
}
