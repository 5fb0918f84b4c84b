//! LIBSVM text: `label index:value index:value ...`, indices from 1 and increasing, zeros left out.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::error::{DataError, Place, quote};
use super::manifest::Manifest;
use super::text::{self, Lines};
use super::{MAX_VALUES, Samples, most_values, zeros};

/// Highest feature index accepted.
const MAX_INDEX: usize = 10_000_000;

/// Loader of the registry: all files of a manifest, joined in their order.
pub(crate) fn load(_: &Manifest, paths: &[PathBuf]) -> Result<Samples, DataError> {
    let mut joined: Option<Samples> = None;
    for path in paths {
        let samples = read(path)?;
        joined = Some(match joined {
            None => samples,
            Some(before) => before.join(samples, path)?,
        });
    }
    Ok(joined.unwrap_or_default())
}

/// Reads one file, plain or compressed.
pub(crate) fn read(path: &Path) -> Result<Samples, DataError> {
    parse(text::open(path)?, path)
}

/// Reads LIBSVM text from `reader`; `path` is named in errors.
pub(crate) fn parse(reader: impl BufRead, path: &Path) -> Result<Samples, DataError> {
    let mut lines = Lines::new(reader);
    let rows = parse_lines(&mut lines, path).map_err(|error| lines.blame(error, path))?;
    if rows.labels.is_empty() {
        return Err(DataError::content(
            path,
            Place::File,
            "no sample",
            "lines such as `1 3:0.5 7:2`",
        ));
    }
    rows.check_size(most_values(), path)?;
    rows.dense(path)
}

fn parse_lines(lines: &mut Lines<impl BufRead>, path: &Path) -> Result<Rows, DataError> {
    let mut rows = Rows::default();
    while let Some((line, text)) = lines.next(path)? {
        rows.push(line, text).map_err(|bad| {
            let place = Place::Text { line, column: bad.column };
            DataError::content(path, place, bad.found, bad.expected)
        })?;
    }
    Ok(rows)
}

/// Rows as read: entries of all rows one after the other, and where each row ends.
#[derive(Default)]
struct Rows {
    labels: Vec<String>,
    ends: Vec<usize>,
    entries: Vec<(u32, f64)>,
    dims: usize,
    /// Line and column of the index that `dims` is.
    widest: (u64, usize),
}

/// A token that is not as it should be.
struct Bad {
    column: usize,
    found: String,
    expected: String,
}

impl Rows {
    /// Adds a line; blank ones and comments are passed over.
    fn push(&mut self, number: u64, line: &[u8]) -> Result<(), Bad> {
        let line = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut tokens = Tokens { line, at: 0 };
        let Some((column, label)) = tokens.next() else {
            return Ok(());
        };
        let label = text_of(label)
            .filter(|label| !label.contains(':'))
            .ok_or_else(|| Bad::new(column, quote(label), "a label"))?;
        if label.parse().is_ok_and(|number: f64| !number.is_finite()) {
            return Err(Bad::new(column, format!("`{label}`"), "a finite label"));
        }
        let mut last = 0;
        for (column, token) in tokens {
            let (index, value) = entry(column, token)?;
            if index <= last {
                let problem = if index == last { "twice" } else { "after a higher one" };
                return Err(Bad::new(
                    column,
                    format!("index `{index}` {problem} (`{last}` precedes it)"),
                    "indices that increase",
                ));
            }
            last = index;
            if index > self.dims {
                self.dims = index;
                self.widest = (number, column);
            }
            if value != 0.0 {
                self.entries.push((index as u32 - 1, value));
            }
        }
        if self.entries.len() > MAX_VALUES {
            let expected = format!("at most {MAX_VALUES} values");
            return Err(Bad::new(1, "more values".to_owned(), expected));
        }
        self.labels.push(label.to_owned());
        self.ends.push(self.entries.len());
        Ok(())
    }

    /// Refuses rows that would have more than `most` values with their zeros, at the index that makes
    /// them so wide.
    fn check_size(&self, most: usize, path: &Path) -> Result<(), DataError> {
        let (samples, dims) = (self.labels.len(), self.dims);
        if samples.saturating_mul(dims) <= most {
            return Ok(());
        }
        let (line, column) = self.widest;
        Err(DataError::content(
            path,
            Place::Text { line, column },
            format!("index `{dims}`, which makes {samples} samples of {dims} features"),
            format!(
                "at most {most} values in all, zeros included, for there to be memory for them"
            ),
        ))
    }

    fn dense(self, path: &Path) -> Result<Samples, DataError> {
        let mut x = zeros(self.labels.len(), self.dims, path)?;
        let mut start = 0;
        for (mut row, &end) in x.rows_mut().into_iter().zip(&self.ends) {
            for &(index, value) in &self.entries[start..end] {
                row[index as usize] = value;
            }
            start = end;
        }
        Ok(Samples { x, labels: self.labels })
    }
}

impl Bad {
    fn new(column: usize, found: String, expected: impl Into<String>) -> Self {
        Self { column, found, expected: expected.into() }
    }
}

fn text_of(token: &[u8]) -> Option<&str> {
    std::str::from_utf8(token).ok()
}

fn entry(column: usize, token: &[u8]) -> Result<(usize, f64), Bad> {
    let colon = token
        .iter()
        .position(|&byte| byte == b':')
        .ok_or_else(|| Bad::new(column, quote(token), "`index:value`"))?;
    let (index, value) = (&token[..colon], &token[colon + 1..]);
    let number: usize = text_of(index).and_then(|text| text.parse().ok()).ok_or_else(|| {
        let found = format!("index {}", quote(index));
        Bad::new(column, found, "a whole number from 1")
    })?;
    if number == 0 {
        let found = "index `0`".to_owned();
        return Err(Bad::new(column, found, "indices from 1"));
    }
    if number > MAX_INDEX {
        let expected = format!("an index of at most {MAX_INDEX}");
        return Err(Bad::new(column, format!("index `{number}`"), expected));
    }
    text_of(value)
        .and_then(|text| text.parse().ok())
        .filter(|value: &f64| value.is_finite())
        .map(|value| (number, value))
        .ok_or_else(|| {
            let found = format!("value {}", quote(value));
            Bad::new(column + colon + 1, found, "a finite number")
        })
}

/// Tokens between blanks, each with its column from 1.
struct Tokens<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.line[self.at..];
        let start = self.at + rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = &self.line[start..];
        let end = rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .map_or(self.line.len(), |length| start + length);
        self.at = end;
        Some((start + 1, &self.line[start..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Samples, String> {
        parse(text.as_bytes(), Path::new("a")).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_labels_values_comments_and_blank_lines() {
        let samples = read("+1 1:0.5 3:-2e1 # first\r\n\n# nothing\n-1\t2:7  \n-1\n").unwrap();
        assert_eq!(samples.x, array![[0.5, 0.0, -20.0], [0.0, 7.0, 0.0], [0.0, 0.0, 0.0]]);
        assert_eq!(samples.labels, ["+1", "-1", "-1"]);
    }

    #[test]
    fn an_explicit_zero_counts_as_a_feature() {
        assert_eq!(read("1 1:1 4:0\n").unwrap().x.ncols(), 4);
    }

    #[test]
    fn an_index_too_wide_for_the_memory_is_named_before_any_is_taken() {
        let mut rows = Rows::default();
        for (number, line) in [(1, "1 1:1"), (2, "2 2:1 900:1 "), (4, "1 3:1")] {
            assert!(rows.push(number, line.as_bytes()).is_ok());
        }
        assert!(rows.check_size(2700, Path::new("a")).is_ok());
        let error = rows.check_size(2699, Path::new("a")).unwrap_err();
        let said = "a:2:7: found index `900`, which makes 3 samples of 900 features, expected at \
                    most 2699 values in all";
        assert!(error.to_string().starts_with(said), "{error}");
    }

    #[test]
    fn joining_widens_the_narrower_part() {
        let joined =
            read("1 1:1\n").unwrap().join(read("2 2:5\n").unwrap(), Path::new("a")).unwrap();
        assert_eq!(joined.x, array![[1.0, 0.0], [0.0, 5.0]]);
        assert_eq!(joined.labels, ["1", "2"]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes[..], Path::new("a"));
        }

        #[test]
        fn near_misses_never_panic(text in "[-+0-9.:# \t\r\neEnaif]{0,80}") {
            let _ = parse(text.as_bytes(), Path::new("a"));
        }

        #[test]
        fn what_is_written_is_read_back(
            rows in proptest::collection::vec((0..4i32, proptest::collection::vec(-1e3..1e3f64, 3)), 1..8)
        ) {
            let text: String = rows
                .iter()
                .map(|(label, v)| format!("{label} 1:{:?} 2:{:?} 3:{:?}\n", v[0], v[1], v[2]))
                .collect();
            let samples = parse(text.as_bytes(), Path::new("a")).unwrap();
            for (row, (label, values)) in samples.x.rows().into_iter().zip(&rows) {
                prop_assert_eq!(row.to_vec(), values.clone());
                prop_assert!(samples.labels.contains(&label.to_string()));
            }
        }
    }
}
