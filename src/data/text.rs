//! Text in data files: its encoding, and the marks for what is missing.

use super::error::{Parsed, bad, quote};
use crate::wording::counted;

/// The text of a file, without the byte order mark that some programs put first.
pub(crate) fn decode(file: &[u8]) -> Parsed<&str> {
    let wide = [&b"\xff\xfe"[..], b"\xfe\xff"].iter().any(|mark| file.starts_with(mark));
    // Text of the usual characters has a zero in every second byte.
    if wide || file.iter().take(200).filter(|&&byte| byte == 0).count() > 10 {
        let expected =
            "UTF-8; save the file as UTF-8, or convert it with `iconv -f UTF-16 -t UTF-8`";
        return Err(bad("", "UTF-16 text or a binary file", expected));
    }
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    str::from_utf8(file).map_err(|error| {
        let (before, rest) = file.split_at(error.valid_up_to());
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|&&byte| byte != b'\n').count();
        let byte = rest[0];
        let found = format!("byte {byte:#04x} (`{}` in Latin-1)", char::from(byte));
        let expected =
            "UTF-8; save the file as UTF-8, or convert it with `iconv -f LATIN1 -t UTF-8`";
        bad(format!(":{line}:{column}"), found, expected)
    })
}

/// Whether the text of a feature is one of the usual marks for a missing value.
pub(crate) fn is_missing(text: &str) -> bool {
    let others = ["-", ".", "none", "missing"];
    is_missing_label(text) || others.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether a label is missing. A class may well be called `none`.
pub(crate) fn is_missing_label(text: &str) -> bool {
    let usual = ["", "?", "na", "n/a", "#n/a", "<na>", "nan", "+nan", "-nan", "null"];
    usual.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether the text is a number with a decimal comma.
pub(crate) fn has_decimal_comma(text: &str) -> bool {
    let mut parts = text.split(',');
    let (Some(whole), Some(rest), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_digits(whole.trim_start_matches(['-', '+'])) && rest.parse::<f64>().is_ok() && {
        let digits = rest.find(['e', 'E']).map_or(rest, |at| &rest[..at]);
        is_digits(digits)
    }
}

/// What is missing in a file: how much, and where the first is.
#[derive(Default)]
pub(crate) struct Missing {
    count: usize,
    first: Option<(String, String)>,
}

impl Missing {
    /// Counts another one, which the file writes as `text`.
    pub fn add(&mut self, text: &str, place: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(|| (place(), quote(text.as_bytes())));
    }

    /// An error if something is missing; `noun` is `value` or `label`.
    pub fn refuse(&self, noun: &str) -> Parsed<()> {
        let Some((place, text)) = &self.first else {
            return Ok(());
        };
        let found = match self.count {
            1 => format!("{text}, a missing {noun}"),
            count => format!("{text}, the first of {}", counted(count, &format!("missing {noun}"))),
        };
        let expected = match noun {
            "label" => "a label; leave out the samples without one, or give them a class",
            _ => "a number; leave out the samples or columns with missing values, or fill them in",
        };
        Err(bad(place, found, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn text_in_another_encoding_is_named_with_its_place() {
        let said = |bytes: &[u8]| {
            let error = decode(bytes).unwrap_err();
            error.in_file(Path::new("a")).to_string()
        };
        assert_eq!(
            said(b"1,a\n2,b\xe4r\n"),
            "a:2:4: found byte 0xe4 (`ä` in Latin-1), expected UTF-8; save the file as UTF-8, or \
             convert it with `iconv -f LATIN1 -t UTF-8`"
        );
        let wide: Vec<u8> = "1,a\n2,b\n3,c\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let with_mark = [b"\xff\xfe".to_vec(), wide.clone()].concat();
        for text in [wide, with_mark] {
            assert!(said(&text).starts_with("a: found UTF-16 text or a binary file"));
        }
        assert_eq!(decode("\u{feff}bär".as_bytes()).unwrap(), "bär");
    }

    #[test]
    fn decimal_commas_are_recognised() {
        for text in ["5,1", "-0,5", "+12,25", "1,5e3"] {
            assert!(has_decimal_comma(text), "{text}");
        }
        for text in ["5", "5,", ",1", "a,b", "1,2,3", "1,-2", "5.1", "1,inf"] {
            assert!(!has_decimal_comma(text), "{text}");
        }
    }
}
