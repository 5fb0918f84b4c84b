//! Numbers and words as every table writes them.

/// One line without control characters: text of specs, data and errors ends up in terminals.
pub fn clean(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `71.28`.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

/// `71.28 ± 1.79`, or the mean alone.
pub fn plus_minus(mean: f64, deviation: Option<f64>) -> String {
    match deviation {
        Some(deviation) => format!("{} ± {}", number(mean), number(deviation)),
        None => number(mean),
    }
}

/// `+0.18`, `−0.32` with a minus sign, `0.00`.
pub fn signed(value: f64) -> String {
    let size = number(value.abs());
    if size == "0.00" {
        size
    } else if value < 0.0 {
        format!("−{size}")
    } else {
        format!("+{size}")
    }
}

/// `0.0312`, `< 0.0001`.
pub fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

pub use crate::wording::counted;

/// `a`, `a and b`, `a, b and c`.
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The name of a footnote: `a` to `z`, then `aa`, `ab`, ...
pub fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letter(more - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_decimals_and_no_negative_zero() {
        assert_eq!(plus_minus(71.284, Some(1.786)), "71.28 ± 1.79");
        assert_eq!(plus_minus(100.0, None), "100.00");
        assert_eq!(signed(-0.316), "−0.32");
        assert_eq!(signed(0.184), "+0.18");
        assert_eq!(signed(-0.004), "0.00");
        assert_eq!(number(-0.0), "0.00");
        assert_eq!(p_value(0.03125), "0.0312");
        assert_eq!(p_value(0.0), "< 0.0001");
    }

    #[test]
    fn text_from_outside_cannot_steer_a_terminal() {
        assert_eq!(clean("a\u{1b}[31m\n  b\t"), "a [31m b");
    }

    #[test]
    fn lists_and_letters() {
        assert_eq!(listed::<&str>(&[]), "");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(letter(0), "a");
        assert_eq!(letter(25), "z");
        assert_eq!(letter(26), "aa");
        assert_eq!(letter(27 * 26), "aaa");
    }
}
