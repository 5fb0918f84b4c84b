//! Parquet: one row per sample, one column per feature, and a label column.

use super::Samples;
use super::columns::Choice;
use super::error::Parsed;
#[cfg(not(feature = "parquet"))]
use super::error::bad;

#[cfg(not(feature = "parquet"))]
pub(crate) fn parse(_: &[u8], _: &Choice<'_>) -> Parsed<Samples> {
    let expected = "CSV, or a program that is built with the feature `parquet`";
    Err(bad("", "Parquet, which this program is built without", expected))
}

#[cfg(feature = "parquet")]
pub(crate) fn parse(file: &[u8], choice: &Choice<'_>) -> Parsed<Samples> {
    table::parse(file, choice)
}

#[cfg(feature = "parquet")]
mod table {
    use std::io::Cursor;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use ndarray::Array2;
    use polars::prelude::{Column, DataFrame, DataType, ParquetReader, PolarsResult, SerReader};

    use super::super::columns::{Choice, Layout, index_warning};
    use super::super::error::{BadContent, Parsed, bad, quote};
    use super::super::text::{Missing, is_missing_label};
    use super::super::{Samples, zeros};

    pub fn parse(file: &[u8], choice: &Choice<'_>) -> Parsed<Samples> {
        let frame = read(file)?;
        let columns = frame.columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name().as_str()).collect();
        let layout = Layout::new(Some(&names), names.len(), choice, "")?;
        let x = features(columns, &layout.features)?;
        let labels = labels(&columns[layout.label])?;
        let names = layout.names;
        let values = |column| x.column(column).to_vec();
        let warning = index_warning(names.as_ref(), &layout.features, &values);
        let warnings = warning.into_iter().collect();
        Ok(Samples { columns: names, warnings, ..Samples::new(x, labels) })
    }

    fn read(file: &[u8]) -> Parsed<DataFrame> {
        let refuse = |found: &str| {
            let expected = "an intact Parquet file of numbers and one label column";
            Err(bad("", found, expected))
        };
        if !(file.starts_with(b"PAR1") && file.ends_with(b"PAR1")) {
            return refuse("a file that does not begin and end with `PAR1`");
        }
        // polars panics on some damaged files.
        let outcome =
            catch_unwind(AssertUnwindSafe(|| ParquetReader::new(Cursor::new(file)).finish()));
        match outcome {
            Ok(Ok(frame)) => Ok(frame),
            Ok(Err(error)) => refuse(&format!("what cannot be read ({error})")),
            Err(_) => refuse("damaged data"),
        }
    }

    fn features(columns: &[Column], features: &[usize]) -> Parsed<Array2<f64>> {
        let rows = columns.first().map_or(0, Column::len);
        let mut x = zeros(rows, features.len())?;
        let mut missing = Missing::default();
        for (feature, &at) in features.iter().enumerate() {
            let column = &columns[at];
            let is_number =
                column.dtype().is_primitive_numeric() || *column.dtype() == DataType::Boolean;
            if !is_number {
                let found = format!("values of type {}", column.dtype());
                let expected = "numbers; encode them, or leave the column out with `drop:`";
                return Err(bad(place(column), found, expected));
            }
            let values =
                column.cast(&DataType::Float64).map_err(|error| unreadable(column, &error))?;
            let values = values.f64().map_err(|error| unreadable(column, &error))?;
            for (row, value) in values.iter().enumerate() {
                match value.filter(|value| !value.is_nan()) {
                    Some(value) => x[[row, feature]] = value,
                    None => missing.add("null", || format!("{}, row {}", place(column), row + 1)),
                }
            }
        }
        missing.refuse("value")?;
        Ok(x)
    }

    fn labels(column: &Column) -> Parsed<Vec<String>> {
        let texts = || -> PolarsResult<Vec<Option<String>>> {
            let texts = column.cast(&DataType::String)?;
            Ok(texts.str()?.iter().map(|text| text.map(str::to_owned)).collect())
        };
        let texts = texts().map_err(|error| unreadable(column, &error))?;
        let mut missing = Missing::default();
        for (row, text) in texts.iter().enumerate() {
            let text = text.as_deref().unwrap_or("null");
            if is_missing_label(text) {
                missing.add(text, || format!("{}, row {}", place(column), row + 1));
            }
        }
        missing.refuse("label")?;
        Ok(texts.into_iter().flatten().collect())
    }

    fn unreadable(column: &Column, error: &polars::error::PolarsError) -> BadContent {
        let found = format!("values of type {} ({error})", column.dtype());
        bad(place(column), found, "numbers or text")
    }

    fn place(column: &Column) -> String {
        format!(", column {}", quote(column.name().as_bytes()))
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use ndarray::array;
        use polars::prelude::{NamedFrom, ParquetWriter, Series};
        use std::path::Path;

        fn file(columns: Vec<Series>) -> Vec<u8> {
            let rows = columns[0].len();
            let columns = columns.into_iter().map(Column::from).collect();
            let mut bytes = Vec::new();
            let mut frame = DataFrame::new(rows, columns).unwrap();
            ParquetWriter::new(&mut bytes).finish(&mut frame).unwrap();
            bytes
        }

        fn said(file: &[u8]) -> String {
            let error = parse(file, &Choice::default()).unwrap_err();
            error.in_file(Path::new("a.parquet")).to_string()
        }

        #[test]
        fn reads_numbers_of_every_type_and_labels() {
            let bytes = file(vec![
                Series::new("w".into(), [1_i8, 2]),
                Series::new("h".into(), [0.5_f32, 1.5]),
                Series::new("n".into(), [7_u16, 8]),
                Series::new("b".into(), [true, false]),
                Series::new("kind".into(), ["cat", "dog"]),
            ]);
            let samples = parse(&bytes, &Choice::default()).unwrap();
            assert_eq!(samples.x, array![[1.0, 0.5, 7.0, 1.0], [2.0, 1.5, 8.0, 0.0]]);
            assert_eq!(samples.labels, ["cat", "dog"]);
            assert_eq!(samples.columns.unwrap().label, "kind");
            let label = super::super::super::Column::Name("n".to_owned());
            let drop = [super::super::super::Column::Name("kind".to_owned())];
            let choice = Choice { label: Some(&label), drop: &drop, ..Choice::default() };
            assert_eq!(parse(&bytes, &choice).unwrap().labels, ["7", "8"]);
        }

        #[test]
        fn whole_labels_keep_their_digits() {
            let large = [(1_i64 << 53), (1 << 53) + 1];
            let bytes =
                file(vec![Series::new("w".into(), [1.0, 2.0]), Series::new("y".into(), large)]);
            let labels = parse(&bytes, &Choice::default()).unwrap().labels;
            assert_eq!(labels, ["9007199254740992", "9007199254740993"]);
        }

        #[test]
        fn missing_values_and_text_are_refused_with_their_place() {
            let label = || Series::new("y".into(), [1, 2, 3]);
            let error = said(&file(vec![
                Series::new("w".into(), [Some(1.0), None, Some(f64::NAN)]),
                label(),
            ]));
            let start = "a.parquet, column `w`, row 2: found `null`, the first of 2 missing values";
            assert!(error.starts_with(start), "{error}");
            let error = said(&file(vec![Series::new("w".into(), ["a", "b", "c"]), label()]));
            assert!(
                error.starts_with("a.parquet, column `w`: found values of type str"),
                "{error}"
            );
            let labels = Series::new("y".into(), [Some("a"), None, Some("?")]);
            let error = said(&file(vec![Series::new("w".into(), [1, 2, 3]), labels]));
            let start = "a.parquet, column `y`, row 2: found `null`, the first of 2 missing labels";
            assert!(error.starts_with(start), "{error}");
        }

        #[test]
        fn damaged_files_are_refused() {
            let whole =
                file(vec![Series::new("w".into(), [1, 2]), Series::new("y".into(), [1, 2])]);
            assert!(said(&whole[..whole.len() - 1]).contains("does not begin and end with `PAR1`"));
            for at in 4..whole.len() - 4 {
                let mut damaged = whole.clone();
                damaged[at] ^= 0xff;
                let _ = parse(&damaged, &Choice::default());
            }
        }

        #[test]
        fn the_index_of_pandas_is_warned_of() {
            let index = Series::new("__index_level_0__".into(), [4, 2, 9]);
            let bytes = file(vec![
                Series::new("w".into(), [1, 2, 3]),
                index,
                Series::new("y".into(), [1, 2, 1]),
            ]);
            let warnings = parse(&bytes, &Choice::default()).unwrap().warnings;
            assert!(warnings[0].ends_with("leave it out with `drop: [2]`"), "{warnings:?}");
        }
    }
}
