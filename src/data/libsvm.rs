//! LIBSVM text: `label index:value index:value ...`, indices from 1 and increasing, zeros left out.

use std::str::FromStr;

use super::error::{Parsed, bad, quote};
use super::{Samples, most_values, without_mark, zeros};

/// Highest feature index accepted.
const MAX_INDEX: usize = 10_000_000;

pub(crate) fn parse(file: &[u8]) -> Parsed<Samples> {
    let mut rows = Rows::default();
    for (number, line) in (1..).zip(without_mark(file).split(|&byte| byte == b'\n')) {
        rows.push(number, line)?;
    }
    if rows.labels.is_empty() {
        return Err(bad("", "no sample", "lines such as `1 3:0.5 7:2`"));
    }
    rows.check_size(most_values())?;
    let mut x = zeros(rows.labels.len(), rows.dims)?;
    for (row, column, value) in rows.entries {
        x[[row as usize, column as usize]] = value;
    }
    Ok(Samples::new(x, rows.labels))
}

/// Rows as read.
#[derive(Default)]
struct Rows {
    labels: Vec<String>,
    /// Row, column and value of what is not zero.
    entries: Vec<(u32, u32, f64)>,
    dims: usize,
    /// Where the index is that `dims` is.
    widest: String,
}

impl Rows {
    /// Adds a line; blank ones and comments are skipped.
    fn push(&mut self, line: u64, text: &[u8]) -> Parsed<()> {
        let place = |column: usize| format!(":{line}:{column}");
        let mut tokens = tokens(text);
        let Some((column, token)) = tokens.next() else {
            return Ok(());
        };
        let is_infinite = |label: &str| label.parse().is_ok_and(|number: f64| !number.is_finite());
        let is_label = |label: &&str| !label.contains(':') && !is_infinite(label);
        let label = str::from_utf8(token).ok().filter(is_label);
        let label = label.ok_or_else(|| bad(place(column), quote(token), "a label"))?;
        let mut last = 0;
        for (column, token) in tokens {
            let (index, value) = entry(token, |offset| place(column + offset))?;
            if index <= last {
                let problem = if index == last { "twice" } else { "after a higher one" };
                let found = format!("index `{index}` {problem} (`{last}` precedes it)");
                return Err(bad(place(column), found, "indices that increase"));
            }
            last = index;
            if index > self.dims {
                (self.dims, self.widest) = (index, place(column));
            }
            if value != 0.0 {
                self.entries.push((self.labels.len() as u32, index as u32 - 1, value));
            }
        }
        self.labels.push(label.to_owned());
        Ok(())
    }

    /// Refuses rows that would have more than `most` values with their zeros, at the index that makes
    /// them so wide.
    fn check_size(&self, most: usize) -> Parsed<()> {
        let (samples, dims) = (self.labels.len(), self.dims);
        if samples.saturating_mul(dims) <= most {
            return Ok(());
        }
        let found = format!("index `{dims}`, which makes {samples} samples of {dims} features");
        let expected = format!("at most {most} values including zeros (memory limit)");
        Err(bad(&self.widest, found, expected))
    }
}

/// The words of a line before its comment, each with its column from 1.
fn tokens(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
    let mut next = 1;
    let words = text.split(u8::is_ascii_whitespace).map(move |word| {
        let column = next;
        next += word.len() + 1;
        (column, word)
    });
    words.filter(|(_, word)| !word.is_empty())
}

/// Index and value of a token. `place` tells where its byte of this number is.
fn entry(token: &[u8], place: impl Fn(usize) -> String) -> Parsed<(usize, f64)> {
    let Some(colon) = token.iter().position(|&byte| byte == b':') else {
        return Err(bad(place(0), quote(token), "`index:value`"));
    };
    let (index, value) = (&token[..colon], &token[colon + 1..]);
    let expected = match number(index) {
        Some(index @ 1..=MAX_INDEX) => {
            let value = number(value).filter(|value: &f64| value.is_finite()).ok_or_else(|| {
                bad(place(colon + 1), format!("value {}", quote(value)), "a finite number")
            });
            return Ok((index, value?));
        }
        None => "a whole number from 1".to_owned(),
        Some(0) => "indices from 1".to_owned(),
        Some(_) => format!("an index of at most {MAX_INDEX}"),
    };
    Err(bad(place(0), format_args!("index {}", quote(index)), expected))
}

fn number<T: FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;
    use std::path::Path;

    fn read(text: &str) -> Samples {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn reads_labels_values_comments_and_blank_lines() {
        let samples = read("+1 1:0.5 3:-2e1 # first\r\n\n# nothing\n-1\t2:7  \n-1\n");
        assert_eq!(samples.x, array![[0.5, 0.0, -20.0], [0.0, 7.0, 0.0], [0.0, 0.0, 0.0]]);
        assert_eq!(samples.labels, ["+1", "-1", "-1"]);
    }

    #[test]
    fn an_explicit_zero_counts_as_a_feature() {
        assert_eq!(read("1 1:1 4:0\n").x.ncols(), 4);
    }

    #[test]
    fn an_index_too_wide_for_the_memory_is_named_before_any_is_taken() {
        let mut rows = Rows::default();
        for (number, line) in [(1, "1 1:1"), (2, "2 2:1 900:1 "), (4, "1 3:1")] {
            assert!(rows.push(number, line.as_bytes()).is_ok());
        }
        assert!(rows.check_size(2700).is_ok());
        let error = rows.check_size(2699).unwrap_err().in_file(Path::new("a"));
        let said = "a:2:7: found index `900`, which makes 3 samples of 900 features, expected at \
                    most 2699 values";
        assert!(error.to_string().starts_with(said), "{error}");
    }

    #[test]
    fn joining_widens_the_narrower_part() {
        let joined = read("1 1:1\n").join(read("2 2:5\n")).unwrap();
        assert_eq!(joined.x, array![[1.0, 0.0], [0.0, 5.0]]);
        assert_eq!(joined.labels, ["1", "2"]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn near_misses_never_panic(text in "[-+0-9.:# \t\r\neEnaif]{0,80}") {
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn what_is_written_is_read_back(
            rows in proptest::collection::vec((0..4i32, proptest::collection::vec(-1e3..1e3f64, 3)), 1..8)
        ) {
            let text: String = rows
                .iter()
                .map(|(label, v)| format!("{label} 1:{:?} 2:{:?} 3:{:?}\n", v[0], v[1], v[2]))
                .collect();
            let samples = read(&text);
            for (row, (label, values)) in samples.x.rows().into_iter().zip(&rows) {
                prop_assert_eq!(row.to_vec(), values.clone());
                prop_assert!(samples.labels.contains(&label.to_string()));
            }
        }
    }
}
