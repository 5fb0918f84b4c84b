//! LIBSVM text: `label index:value index:value ...`, indices increasing from 1 or from 0, zeros left out.

use std::str::FromStr;

use super::error::{Parsed, bad, quote};
use super::text::{Missing, decode, is_missing, is_missing_label};
use super::{Samples, most_values, zeros};

/// Highest feature index accepted.
const MAX_INDEX: usize = 10_000_000;

/// Samples of a file whose indices start at 1.
pub(crate) fn parse(file: &[u8]) -> Parsed<Samples> {
    Sparse::parse(file)?.samples(1)
}

/// The entries of a file, before it is known whether its indices start at 0 or at 1.
pub(crate) struct Sparse {
    labels: Vec<String>,
    /// Row, index and value of everything that is not zero.
    entries: Vec<(u32, u32, f64)>,
    /// The highest index and its place.
    highest: (usize, String),
    /// The place of the first index 0.
    zero: Option<String>,
}

impl Sparse {
    pub fn parse(file: &[u8]) -> Parsed<Self> {
        let mut sparse =
            Self { labels: vec![], entries: vec![], highest: (0, String::new()), zero: None };
        let (mut missing_values, mut missing_labels) = (Missing::default(), Missing::default());
        for (line, text) in (1..).zip(decode(file)?.split('\n')) {
            let place = |column: usize| format!(":{line}:{column}");
            let mut tokens = tokens(text);
            let Some((column, label)) = tokens.next() else {
                continue;
            };
            if is_missing_label(label) {
                missing_labels.add(label, || place(column));
            } else if label.contains(':') || label.parse().is_ok_and(|n: f64| !n.is_finite()) {
                return Err(bad(place(column), quote(label.as_bytes()), "a label"));
            }
            let mut last = None;
            for (column, token) in tokens {
                let (index, value) = entry(token, |offset| place(column + offset))?;
                if let Some(last) = last.filter(|last| index <= *last) {
                    let problem = if index == last { "twice" } else { "after a higher one" };
                    let found = format!("index `{index}` {problem} (`{last}` precedes it)");
                    return Err(bad(place(column), found, "indices that increase"));
                }
                last = Some(index);
                if index == 0 {
                    sparse.zero.get_or_insert_with(|| place(column));
                }
                if index > sparse.highest.0 {
                    sparse.highest = (index, place(column));
                }
                if value.is_nan() {
                    missing_values.add(token, || place(column));
                } else if value != 0.0 {
                    sparse.entries.push((sparse.labels.len() as u32, index as u32, value));
                }
            }
            sparse.labels.push(label.to_owned());
        }
        missing_values.refuse("value")?;
        missing_labels.refuse("label")?;
        if sparse.labels.is_empty() {
            return Err(bad("", "no sample", "lines such as `1 3:0.5 7:2`"));
        }
        Ok(sparse)
    }

    /// Whether indices start at 0: one of them is 0.
    pub fn has_zero(&self) -> bool {
        self.zero.is_some()
    }

    /// The samples, if indices start at `base`, which is 0 or 1.
    pub fn samples(self, base: usize) -> Parsed<Samples> {
        let Self { labels, entries, highest: (highest, widest), zero } = self;
        if let Some(place) = zero.filter(|_| base == 1) {
            return Err(bad(place, "index `0`", "indices from 1, or `index_base: 0` in the spec"));
        }
        let dims = highest + 1 - base;
        let (samples, most) = (labels.len(), most_values());
        if samples.saturating_mul(dims) > most {
            let found =
                format!("index `{highest}`, which makes {samples} samples of {dims} features");
            let expected = format!("at most {most} values including zeros (memory limit)");
            return Err(bad(widest, found, expected));
        }
        let mut x = zeros(samples, dims)?;
        for (row, index, value) in entries {
            x[[row as usize, index as usize - base]] = value;
        }
        Ok(Samples::new(x, labels))
    }
}

/// The words of a line before its comment, each with its column from 1.
fn tokens(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = line.split('#').next().unwrap_or_default();
    let mut next = 1;
    let words = text.split(|c: char| c.is_ascii_whitespace()).map(move |word| {
        let column = next;
        next += word.len() + 1;
        (column, word)
    });
    words.filter(|(_, word)| !word.is_empty())
}

/// Index and value of a token, NaN if the value is missing. `place` gives the place of its byte with this number.
fn entry(token: &str, place: impl Fn(usize) -> String) -> Parsed<(usize, f64)> {
    let Some((text, value)) = token.split_once(':') else {
        return Err(bad(place(0), quote(token.as_bytes()), "`index:value`"));
    };
    let expected = match number(text) {
        Some(index @ 0..=MAX_INDEX) => {
            let number = number(value).or_else(|| is_missing(value).then_some(f64::NAN));
            let number = number.filter(|number| !number.is_infinite()).ok_or_else(|| {
                let found = format!("value {}", quote(value.as_bytes()));
                bad(place(text.len() + 1), found, "a finite number")
            });
            return Ok((index, number?));
        }
        None if text == "qid" => "no `qid:`; query groups of ranking tasks are not used".to_owned(),
        None => "a whole number from 1".to_owned(),
        Some(_) => format!("an index of at most {MAX_INDEX}"),
    };
    Err(bad(place(0), format_args!("index {}", quote(text.as_bytes())), expected))
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
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
    fn the_index_that_makes_rows_too_wide_is_named() {
        let text = "1 1:1\n2 2:1 9000000:1 \n\n".to_owned() + &"1 3:1\n".repeat(100);
        let error = parse(text.as_bytes()).unwrap_err().in_file(Path::new("a"));
        let said = "a:2:7: found index `9000000`, which makes 102 samples of 9000000 features, expected at most ";
        assert!(error.to_string().starts_with(said), "{error}");
    }

    #[test]
    fn indices_start_at_one_or_at_zero() {
        let sparse = |text: &str| Sparse::parse(text.as_bytes()).unwrap();
        let text = "1 0:5 2:1\r\n2 1:7\r\n";
        assert!(sparse(text).has_zero() && !sparse("1 1:5\n").has_zero());
        let samples = sparse(text).samples(0).unwrap();
        assert_eq!(samples.x, array![[5.0, 0.0, 1.0], [0.0, 7.0, 0.0]]);
        assert_eq!(samples.labels, ["1", "2"]);
        assert_eq!(sparse("1 1:5\n").samples(0).unwrap().x, array![[0.0, 5.0]]);
        let error = sparse(text).samples(1).unwrap_err().in_file(Path::new("a")).to_string();
        let said =
            "a:1:3: found index `0`, expected indices from 1, or `index_base: 0` in the spec";
        assert_eq!(error, said);
    }

    #[test]
    fn missing_values_and_labels_are_counted() {
        let said = |text: &str| {
            let error = parse(text.as_bytes()).unwrap_err();
            error.in_file(Path::new("a")).to_string()
        };
        let error = said("1 1:nan\n2 1:2 2:?\n");
        assert!(
            error.starts_with("a:1:3: found `1:nan`, the first of 2 missing values"),
            "{error}"
        );
        let error = said("1 1:1\n? 1:2\n");
        assert!(
            error.starts_with("a:2:1: found `?`, a missing label, expected a label"),
            "{error}"
        );
        let error = said("1 qid:3 1:2\n");
        assert!(error.starts_with("a:1:3: found index `qid`, expected no `qid:`"), "{error}");
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
