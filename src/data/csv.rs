//! CSV: comma, semicolon or tab, quoted fields, with or without a header, one label column.

use csv::{ReaderBuilder, StringRecord};
use ndarray::Array2;
use regex::Regex;

use super::error::{Parsed, bad, quote};
use super::{Samples, without_mark};
use crate::wording::{closest, counted};

const DELIMITERS: [char; 3] = [',', '\t', ';'];
/// Lines that are looked at to find the delimiter.
const LOOKS: usize = 20;

/// `label` is the name or number (from 1) of the label column, the last one if left out.
pub(crate) fn parse(file: &[u8], label: Option<&str>) -> Parsed<Samples> {
    let text = String::from_utf8_lossy(without_mark(file));
    let delimiter = guess_delimiter(&text);
    check_quotes(&text, delimiter)?;
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter as u8)
        .from_reader(text.as_bytes());
    let (mut shape, mut values, mut labels) = (None, Vec::new(), Vec::new());
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| bad("", error, "CSV text"))? {
        let fields: Vec<&str> = record.iter().map(clean).collect();
        if fields == [""] {
            continue;
        }
        if shape.is_none() {
            let (label, is_header) = first_line(&fields, label)?;
            shape = Some((fields.len(), label));
            if is_header {
                continue;
            }
        }
        let start = record.position().map_or(0, |position| position.byte() as usize);
        let line = || line_of(&text, start);
        let (width, label) = shape.unwrap_or_default();
        if fields.len() != width {
            let expected = format!("{width} as in the first line");
            return Err(bad(line(), counted(fields.len(), "field"), expected));
        }
        for (column, field) in fields.into_iter().enumerate() {
            match field.parse::<f64>() {
                Ok(number) if column != label && number.is_finite() => values.push(number),
                Ok(number) if column == label && number.is_finite() => {
                    labels.push(field.to_owned())
                }
                Err(_) if column == label && !field.is_empty() => labels.push(field.to_owned()),
                _ => {
                    let expected = if column == label { "a label" } else { "a finite number" };
                    let place = format!("{}, field {}", line(), column + 1);
                    return Err(bad(place, quote(field.as_bytes()), expected));
                }
            }
        }
    }
    let (width, _) = shape.ok_or_else(|| bad("", "no line", "a line per sample"))?;
    if labels.is_empty() {
        return Err(bad("", "a header only", "at least one line of numbers below it"));
    }
    let x = Array2::from_shape_vec((labels.len(), width - 1), values)
        .expect("every record was checked to have as many fields as the first");
    Ok(Samples::new(x, labels))
}

/// The first lines decide: of the delimiters that give all of them as many fields, the one with the largest share of
/// numbers, comma before tab before semicolon. If none does, the first of these that is in the first line.
fn guess_delimiter(text: &str) -> char {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(LOOKS);
    let lines: Vec<&str> = lines.collect();
    let mut best = None;
    for delimiter in DELIMITERS {
        let share = share_of_numbers(&lines, delimiter);
        if share > best.map(|(share, _)| share) {
            best = share.map(|share| (share, delimiter));
        }
    }
    let is_in_first =
        |delimiter: &char| lines.first().is_some_and(|line| line.contains(*delimiter));
    let first = || DELIMITERS.into_iter().find(is_in_first);
    best.map(|(_, delimiter)| delimiter).or_else(first).unwrap_or(',')
}

/// The share of numbers among the fields, if there are several fields, as many in each line. A number may have a comma for
/// a decimal point, which a later error names.
fn share_of_numbers(lines: &[&str], delimiter: char) -> Option<f64> {
    let mut width = None;
    let (mut numbers, mut all) = (0, 0);
    for line in lines {
        let fields = fields(line, delimiter);
        if fields.len() < 2 || *width.get_or_insert(fields.len()) != fields.len() {
            return None;
        }
        let is_number = |field: &&&str| field.trim().replacen(',', ".", 1).parse::<f64>().is_ok();
        numbers += fields.iter().filter(is_number).count();
        all += fields.len();
    }
    (all > 0).then(|| numbers as f64 / all as f64)
}

/// The fields of a line, which a delimiter in quotes does not end.
fn fields(line: &str, delimiter: char) -> Vec<&str> {
    let mut is_quoted = false;
    let ends = |c: char| {
        is_quoted ^= c == '"';
        c == delimiter && !is_quoted
    };
    line.split(ends).collect()
}

/// A field without the blanks around it. The crate `csv` does not see quotes that follow a blank.
fn clean(field: &str) -> &str {
    let text = field.trim();
    match text.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')) {
        Some(inner) if field.starts_with([' ', '\t']) => inner,
        _ => text,
    }
}

/// Refuses an unterminated quoted field, and text after a closing quote. The crate `csv` takes both.
fn check_quotes(text: &str, delimiter: char) -> Parsed<()> {
    if !text.contains('"') {
        return Ok(());
    }
    // Two quotes in a quoted field mean one.
    let field = format!(r#"(?:\A|[{delimiter}\r\n])("(?:[^"]|"")*("?)([^{delimiter}\r\n]*))"#);
    let field = Regex::new(&field).expect("the pattern is valid for every delimiter");
    for found in field.captures_iter(text) {
        let line = |group| line_of(text, found.get(group).map_or(0, |part| part.start()));
        if found[2].is_empty() {
            return Err(bad(line(1), "an unterminated quoted field", "a closing `\"`"));
        }
        if !found[3].trim().is_empty() {
            let field = quote(found[1].as_bytes());
            return Err(bad(line(2), field, "a delimiter after a closing `\"`"));
        }
    }
    Ok(())
}

/// The place of the first byte from `at` on that does not end a line.
fn line_of(text: &str, at: usize) -> String {
    let (before, after) = text.as_bytes().split_at(at);
    let ends = after.iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
    let line = 1 + before.iter().chain(ends).filter(|&&byte| byte == b'\n').count();
    format!(":{line}")
}

/// The label column, and whether the first line is a header.
fn first_line(fields: &[&str], label: Option<&str>) -> Parsed<(usize, bool)> {
    if fields.len() < 2 {
        return Err(bad(":1", "one column", "a label column and at least one feature"));
    }
    let (label, is_named) = match label {
        None => (fields.len() - 1, false),
        Some(label) => label_column(fields, label)?,
    };
    let mut features = fields.iter().enumerate().filter(|(at, _)| *at != label);
    // A sample may lack all its values; only names make a header.
    let is_header = is_named
        || features.clone().all(|(_, field)| field.parse::<f64>().is_err())
            && features.any(|(_, field)| !is_missing(field));
    Ok((label, is_header))
}

/// The column that `label` means, and whether by name.
fn label_column(first: &[&str], label: &str) -> Parsed<(usize, bool)> {
    let found = format!("no column `{label}`");
    if let Ok(number) = label.parse::<usize>() {
        let expected = format!("a label column from 1 to {}", first.len());
        let is_column = (1..=first.len()).contains(&number);
        return if is_column { Ok((number - 1, false)) } else { Err(bad(":1", found, expected)) };
    }
    // Another number may be a value of a file without header.
    let is_name = label.parse::<f64>().is_err();
    if let Some(at) = first.iter().position(|field| is_name && *field == label) {
        return Ok((at, true));
    }
    let hint = closest(label, first.iter().copied())
        .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    let names: Vec<_> = first.iter().map(|name| quote(name.as_bytes())).take(20).collect();
    let expected = format!("a label column of the header: {}", names.join(", "));
    Err(bad(":1", found + &hint, expected))
}

/// Whether the text is one of the usual marks for a missing value.
fn is_missing(text: &str) -> bool {
    let usual = ["", "?", "-", ".", "na", "n/a", "null", "none", "missing"];
    usual.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;
    use std::path::Path;

    fn read(text: &str, label: Option<&str>) -> Result<Samples, String> {
        let outcome = parse(text.as_bytes(), label);
        outcome.map_err(|bad| bad.in_file(Path::new("a.csv")).to_string())
    }

    #[test]
    fn without_header_the_last_column_is_the_label() {
        let samples = read("1,2,a\n3,4,b\n", None).unwrap();
        assert_eq!(samples.x, array![[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(samples.labels, ["a", "b"]);
    }

    /// European files have decimal commas between semicolons. They were split at the commas, and the error named a field
    /// that the file does not have.
    #[test]
    fn decimal_commas_are_no_delimiters() {
        for text in ["5,1;3,5;1\n4,9;3,0;2\n", "5,1;3,5\n4,9;3,0\n", "x;y;z\n5,1;3,5;1\n"] {
            let error = read(text, Some("2")).unwrap_err();
            assert!(error.contains(", field 1: found `"), "{error}");
            assert!(error.contains(",1`") || error.contains(",9`"), "{error}");
        }
        // Labels may contain any delimiter.
        let samples = read("1,2,a;b\n3,4,b;c\n", None).unwrap();
        assert_eq!((samples.labels, samples.x.ncols()), (vec!["a;b".into(), "b;c".into()], 2));
    }

    #[test]
    fn a_header_is_found_and_names_the_label() {
        let text = "\u{feff}kind;width;height\r\ncat;1;2\r\n\r\ndog;3;4\r\n";
        let samples = read(text, Some("kind")).unwrap();
        assert_eq!(samples.x, array![[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(samples.labels, ["cat", "dog"]);
        let by_number = read(text, Some("1")).unwrap();
        assert_eq!((by_number.x, by_number.labels), (samples.x, samples.labels));
    }

    #[test]
    fn a_first_sample_without_values_is_no_header() {
        for missing in ["?", "", "NA", "?,?"] {
            let error = read(&format!("{missing},a\n1,a\n2,b\n"), None).unwrap_err();
            assert!(error.starts_with("a.csv:1, field 1: found "), "{error}");
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
    fn text_after_a_closing_quote_is_refused_in_labels_too() {
        for (text, place) in [("1,\"a\"b\n", ":1:"), ("1,a\n2,\"b\" c\n", ":2:")] {
            let error = read(text, None).unwrap_err();
            assert!(error.contains(place) && error.ends_with("after a closing `\"`"), "{error}");
        }
        // A quote elsewhere is text, and blanks after a closing one are not.
        let samples = read("1,5\" pipe\n2,\"5\"\"\" \n3,\"\"\"x\"\n", None).unwrap();
        assert_eq!(samples.labels, ["5\" pipe", "5\"", "\"x"]);
    }

    #[test]
    fn lines_are_counted_with_blank_ones_and_those_within_quotes() {
        let text = "\r\n\"a\nb\",1\r\n\r\n  \r\n\nc,?\r\n";
        let error = read(text, Some("1")).unwrap_err();
        assert_eq!(error, "a.csv:7, field 2: found `?`, expected a finite number");
    }

    #[test]
    fn a_number_names_a_column_even_where_it_is_also_a_value() {
        let samples = read("2,7,1\n1,8,2\n", Some("1")).unwrap();
        assert_eq!(samples.labels, ["2", "1"]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, None);
            let _ = parse(&bytes, Some("x"));
        }

        #[test]
        fn near_misses_never_panic(text in "[-0-9.,;\"\t\r\nax ]{0,80}") {
            let _ = parse(text.as_bytes(), None);
            let _ = parse(text.as_bytes(), Some("2"));
        }
    }
}
