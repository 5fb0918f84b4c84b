//! LIBSVM text: `label index:value index:value ...`, indices from 1 and increasing, zeros left out.

use std::str::FromStr;

use super::error::{Parsed, bad, quote};
use super::{Samples, most_values, without_mark, zeros};

/// Highest feature index accepted.
const MAX_INDEX: usize = 10_000_000;

pub(crate) fn parse(file: &[u8]) -> Parsed<Samples> {
    let (mut labels, mut entries) = (Vec::new(), Vec::new());
    let (mut dims, mut widest) = (0, String::new());
    for (line, text) in (1..).zip(without_mark(file).split(|&byte| byte == b'\n')) {
        let place = |column: usize| format!(":{line}:{column}");
        let mut tokens = tokens(text);
        let Some((column, token)) = tokens.next() else {
            continue;
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
            if index > dims {
                (dims, widest) = (index, place(column));
            }
            if value != 0.0 {
                entries.push((labels.len() as u32, index as u32 - 1, value));
            }
        }
        labels.push(label.to_owned());
    }
    let (samples, most) = (labels.len(), most_values());
    if samples == 0 {
        return Err(bad("", "no sample", "lines such as `1 3:0.5 7:2`"));
    }
    if samples.saturating_mul(dims) > most {
        let found = format!("index `{dims}`, which makes {samples} samples of {dims} features");
        let expected = format!("at most {most} values including zeros (memory limit)");
        return Err(bad(widest, found, expected));
    }
    let mut x = zeros(samples, dims)?;
    for (row, column, value) in entries {
        x[[row as usize, column as usize]] = value;
    }
    Ok(Samples::new(x, labels))
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

/// Index and value of a token. `place` gives the place of its byte with this number.
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
    fn the_index_that_makes_rows_too_wide_is_named() {
        let text = "1 1:1\n2 2:1 9000000:1 \n\n".to_owned() + &"1 3:1\n".repeat(100);
        let error = parse(text.as_bytes()).unwrap_err().in_file(Path::new("a"));
        let said = "a:2:7: found index `9000000`, which makes 102 samples of 9000000 features, expected at most ";
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
