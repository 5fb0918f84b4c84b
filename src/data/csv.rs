//! CSV: comma, semicolon or tab, quoted fields, with or without a header, one label column.

use csv::{ReaderBuilder, StringRecord};
use ndarray::Array2;
use regex::Regex;

use super::Samples;
use super::columns::{Choice, Column, Layout, index_warning};
use super::error::{BadContent, Parsed, bad, quote};
use super::text::{Missing, decode, has_decimal_comma, is_missing, is_missing_label};
use crate::wording::counted;

const DELIMITERS: [char; 3] = [',', '\t', ';'];
/// Lines that are looked at to find the delimiter.
const LOOKS: usize = 20;

pub(crate) fn parse(file: &[u8], choice: &Choice<'_>) -> Parsed<Samples> {
    let text = decode(file)?;
    let delimiter = guess_delimiter(text);
    check_quotes(text, delimiter)?;
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter as u8)
        .from_reader(text.as_bytes());
    let mut rows: Option<Rows> = None;
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| bad("", error, "CSV text"))? {
        let fields: Vec<&str> = record.iter().map(clean).collect();
        if fields == [""] {
            continue;
        }
        let start = record.position().map_or(0, |position| position.byte() as usize);
        let line = || line_of(text, start);
        match &mut rows {
            Some(rows) => rows.add(&fields, line)?,
            None => {
                let has_header = has_header(&fields, choice)?;
                let names = has_header.then_some(&fields[..]);
                let layout = Layout::new(names, fields.len(), choice, &line())?;
                let mut first = Rows::new(layout, fields.len());
                if !has_header {
                    first.add(&fields, line).map_err(|bad| about_first_line(bad, choice))?;
                }
                rows = Some(first);
            }
        }
    }
    rows.ok_or_else(|| bad("", "no line", "a line per sample"))?.samples()
}

/// The samples read so far.
struct Rows {
    layout: Layout,
    /// Fields of a line.
    width: usize,
    values: Vec<f64>,
    labels: Vec<String>,
    missing_values: Missing,
    missing_labels: Missing,
}

impl Rows {
    fn new(layout: Layout, width: usize) -> Self {
        let (missing_values, missing_labels) = <_>::default();
        let (values, labels) = <_>::default();
        Self { layout, width, values, labels, missing_values, missing_labels }
    }

    /// Adds a line; `line` is its place.
    fn add(&mut self, fields: &[&str], line: impl Fn() -> String) -> Parsed<()> {
        if fields.len() != self.width {
            let expected = format!("{} as in the first line", self.width);
            return Err(bad(line(), counted(fields.len(), "field"), expected));
        }
        let names = self.layout.names.as_ref();
        for (feature, &column) in self.layout.features.iter().enumerate() {
            let field = fields[column];
            let place = || {
                let name = names.map(|names| quote(names.features[feature].as_bytes()));
                let name = name.map_or_else(String::new, |name| format!(" ({name})"));
                format!("{}, field {}{name}", line(), column + 1)
            };
            match field.parse::<f64>() {
                Ok(number) if number.is_finite() => self.values.push(number),
                Ok(number) if !number.is_nan() => {
                    return Err(bad(place(), quote(field.as_bytes()), "a finite number"));
                }
                Err(_) if !is_missing(field) => return Err(not_a_number(place(), field)),
                _ => {
                    self.missing_values.add(field, place);
                    self.values.push(f64::NAN);
                }
            }
        }
        let label = fields[self.layout.label];
        let place = || format!("{}, field {}", line(), self.layout.label + 1);
        if is_missing_label(label) {
            self.missing_labels.add(label, place);
        } else if label.parse().is_ok_and(|number: f64| !number.is_finite()) {
            return Err(bad(place(), quote(label.as_bytes()), "a label"));
        }
        self.labels.push(label.to_owned());
        Ok(())
    }

    fn samples(self) -> Parsed<Samples> {
        let (rows, columns) = (self.labels.len(), self.layout.features);
        if rows == 0 {
            return Err(bad("", "a header only", "at least one line of numbers below it"));
        }
        self.missing_values.refuse("value")?;
        self.missing_labels.refuse("label")?;
        let x = Array2::from_shape_vec((rows, columns.len()), self.values)
            .expect("every record was checked to have as many fields as the first");
        let names = self.layout.names;
        let warning = index_warning(names.as_ref(), &columns, &|column| x.column(column).to_vec());
        let warnings = warning.into_iter().collect();
        Ok(Samples { columns: names, warnings, ..Samples::new(x, self.labels) })
    }
}

/// The error for a field that is neither a number nor missing.
fn not_a_number(place: String, field: &str) -> BadContent {
    let found = quote(field.as_bytes());
    match has_decimal_comma(field) {
        true => bad(
            place,
            format!("{found}, a number with a decimal comma"),
            "a decimal point; replace the decimal commas in the file",
        ),
        false => bad(
            place,
            found,
            "a finite number; encode text as numbers, or leave the column out with `drop:`",
        ),
    }
}

/// Reminds of the header where the first line is no sample.
fn about_first_line(error: BadContent, choice: &Choice<'_>) -> BadContent {
    match choice.header {
        None => error.or_else("if the first line holds names, add `header: true`"),
        Some(_) => error,
    }
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

/// Whether the first line is a header: as the spec says, or if it holds names. Names that are numbers could be a sample.
fn has_header(fields: &[&str], choice: &Choice<'_>) -> Parsed<bool> {
    if let Some(header) = choice.header {
        return Ok(header);
    }
    let named = choice.label.into_iter().chain(choice.drop);
    let mut names = named.filter(|column| matches!(column, Column::Name(_)));
    let is_position = |at: usize, column: &Column| *column == Column::Position(at + 1);
    if names.any(|name| fields.contains(&&*name.text()) || name.text().parse::<f64>().is_err()) {
        return Ok(true);
    }
    let is_label = |at| match choice.label {
        Some(label) => is_position(at, label),
        None => at + 1 == fields.len(),
    };
    let is_dropped = |at| choice.drop.iter().any(|column| is_position(at, column));
    let features = (0..fields.len()).filter(|&at| !is_label(at) && !is_dropped(at));
    let features: Vec<&str> = features.map(|at| fields[at]).collect();
    let is_name = |field: &&str| field.parse::<f64>().is_err() && !has_decimal_comma(field);
    // A sample may lack all its values; only names make a header.
    if features.iter().all(is_name) && features.iter().any(|field| !is_missing(field)) {
        return Ok(true);
    }
    let label = (0..fields.len()).find(|&at| is_label(at)).map_or("", |at| fields[at]);
    let has_named_label = label.parse::<f64>().is_err();
    let counted = if has_named_label { &features[..] } else { fields };
    if counts(counted, if has_named_label { 2 } else { 3 }) {
        let found =
            format!("the line {}, a header or a sample", quote(fields.join(",").as_bytes()));
        return Err(bad(":1", found, "`header: true` or `header: false` in the spec"));
    }
    Ok(false)
}

/// Whether the fields count 0, 1, 2 or 1, 2, 3, as pandas calls columns without names. A field without text is the
/// name of an index. From 0, `least` fields are enough; from 1, three.
fn counts(fields: &[&str], least: usize) -> bool {
    let fields = fields.strip_prefix(&[""]).unwrap_or(fields);
    let is_count = |first: usize, least| {
        let mut numbered = (first..).zip(fields);
        fields.len() >= least && numbered.all(|(number, field)| *field == number.to_string())
    };
    is_count(0, least) || is_count(1, 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;
    use std::path::Path;

    fn read_with(text: &str, choice: Choice<'_>) -> Result<Samples, String> {
        let outcome = parse(text.as_bytes(), &choice);
        outcome.map_err(|bad| bad.in_file(Path::new("a.csv")).to_string())
    }

    /// With the label column of this name, or position if it is a number.
    fn read(text: &str, label: Option<&str>) -> Result<Samples, String> {
        let label = label.map(|label| match label.parse() {
            Ok(number) => Column::Position(number),
            Err(_) => Column::Name(label.to_owned()),
        });
        read_with(text, Choice { label: label.as_ref(), ..Choice::default() })
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
            assert!(error.contains(", field 1"), "{error}");
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
        for missing in ["?", "", "NA"] {
            let error = read(&format!("{missing},a\n1,a\n2,b\n"), None).unwrap_err();
            assert!(error.starts_with("a.csv:1, field 1: found "), "{error}");
            assert!(error.contains("a missing value"), "{error}");
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
        assert!(error.starts_with("a.csv:7, field 2: found `?`, a missing value"), "{error}");
    }

    #[test]
    fn a_number_names_a_column_even_where_it_is_also_a_value() {
        let samples = read("2,7,1\n1,8,2\n", Some("1")).unwrap();
        assert_eq!(samples.labels, ["2", "1"]);
    }

    #[test]
    fn a_header_of_numbers_is_neither_guessed_nor_read_as_a_sample() {
        let said = "expected `header: true` or `header: false` in the spec";
        for header in ["0,1,2", "1,2,3", "0,1,kind", ",0,1,2", "0,1,2,3"] {
            let row = "7,".repeat(header.split(',').count() - 1) + "8";
            let error = read(&format!("{header}\n{row}\n"), None).unwrap_err();
            assert!(error.starts_with("a.csv:1: found the line `"), "{error}");
            assert!(error.ends_with(said), "{error}");
        }
        let read = |header| {
            let choice = Choice { header: Some(header), ..Choice::default() };
            read_with("0,1,2\n3,4,5\n", choice).unwrap()
        };
        assert_eq!(read(true).labels, ["5"]);
        assert_eq!(read(false).labels, ["2", "5"]);
    }

    #[test]
    fn a_label_in_quotes_is_a_name_and_a_number_is_a_position() {
        let text = "1,2,3\n10,20,30\n";
        let of = |label| read_with(text, Choice { label: Some(&label), ..Choice::default() });
        let named = of(Column::Name("2".to_owned())).unwrap();
        assert_eq!((named.x, named.labels), (array![[10.0, 30.0]], vec!["20".to_owned()]));
        let error = of(Column::Position(2)).unwrap_err();
        assert!(error.contains("`header: true` or `header: false`"), "{error}");
        let choice = Choice { header: Some(false), ..Choice::default() };
        let label = Column::Name("2".to_owned());
        let error = read_with(text, Choice { label: Some(&label), ..choice }).unwrap_err();
        assert!(error.ends_with("a number without quotes is a position"), "{error}");
    }

    #[test]
    fn columns_are_dropped_by_name_and_position() {
        let text = "id,width,height,kind\nx1,1,2,cat\nx2,3,4,dog\n";
        for drop in [Column::Name("id".to_owned()), Column::Position(1)] {
            let choice = Choice { drop: &[drop], ..Choice::default() };
            assert_eq!(read_with(text, choice).unwrap().x, array![[1.0, 2.0], [3.0, 4.0]]);
        }
        let said =
            |drop| read_with(text, Choice { drop: &[drop], ..Choice::default() }).unwrap_err();
        let error = said(Column::Name("ide".to_owned()));
        assert!(error.contains("no column `ide` (did you mean `id`?)"), "{error}");
        let error = said(Column::Position(4));
        assert!(error.contains("the label column 4 among those to `drop`"), "{error}");
        let error = said(Column::Position(5));
        assert!(error.contains("no column 5, expected a `drop` column from 1 to 4"), "{error}");
    }

    #[test]
    fn missing_values_and_labels_are_counted() {
        let error = read("w,h,kind\n1,?,a\nNA,,b\nnan,4,b\n", None).unwrap_err();
        let said =
            "a.csv:2, field 2 (`h`): found `?`, the first of 4 missing values, expected a number";
        assert!(error.starts_with(said), "{error}");
        for missing in ["?", "NA", "", "nan"] {
            let error = read(&format!("1,2,a\n1,3,{missing}\n1,4,{missing}\n"), None);
            let error = error.unwrap_err();
            let said =
                format!("a.csv:2, field 3: found `{missing}`, the first of 2 missing labels");
            assert!(error.starts_with(&said), "{error}");
        }
        assert_eq!(read("1,2,none\n3,4,a\n", None).unwrap().labels, ["none", "a"]);
    }

    #[test]
    fn decimal_commas_are_refused_with_any_delimiter() {
        for text in ["w;h;kind\n5,1;3,5;a\n", "5,1;3,5;a\n5,2;3,4;b\n", "\"5,1\",2,a\n"] {
            let error = read(text, None).unwrap_err();
            assert!(error.contains("found `5,1`, a number with a decimal comma"), "{error}");
        }
    }

    #[test]
    fn an_index_without_name_is_warned_of() {
        let rows = |header: &str, count: usize| {
            let rows = (0..count).map(|row| format!("{row},{},{}\n", row * row % 5, row % 2));
            read(&(header.to_owned() + &rows.collect::<String>()), None).unwrap().warnings
        };
        for header in [",w,kind\n", "Unnamed: 0,w,kind\n", ""] {
            let warnings = rows(header, 12);
            assert!(warnings[0].starts_with("column 1 has no name and counts"), "{warnings:?}");
            assert!(warnings[0].ends_with("leave it out with `drop: [1]`"), "{warnings:?}");
        }
        assert!(rows("time,w,kind\n", 12).is_empty());
        assert!(rows("", 5).is_empty(), "few rows may count by chance");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, &Choice::default());
            let label = Column::Name("x".to_owned());
            let _ = parse(&bytes, &Choice { label: Some(&label), ..Choice::default() });
        }

        #[test]
        fn near_misses_never_panic(text in "[-0-9.,;\"\t\r\nax ]{0,80}") {
            let _ = parse(text.as_bytes(), &Choice::default());
            let (label, drop) = (Column::Position(2), [Column::Position(1)]);
            let choice = Choice { label: Some(&label), drop: &drop, ..Choice::default() };
            let _ = parse(text.as_bytes(), &choice);
        }
    }
}
