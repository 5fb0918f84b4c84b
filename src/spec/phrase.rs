//! The words of error messages: lists of names, did-you-mean, values as they were found.

use super::node::{Kind, Node};

/// Longest piece of a user's text repeated in a message, in characters.
const LONGEST: usize = 60;

/// The candidate that was probably meant. Case, `-` and `_` count little.
pub(super) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.chars().count() > LONGEST {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = plain(candidate);
            let longest = word.chars().count().max(other.chars().count());
            let distance = strsim::damerau_levenshtein(&word, &other);
            (distance < longest && distance <= longest.div_ceil(3)).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The question to ask where a name is close to a known one.
pub(super) fn did_you_mean(name: &str) -> String {
    format!("did you mean {}?", name_of(name))
}

/// A name between backticks, shortened and free of control characters.
pub(super) fn name_of(name: &str) -> String {
    format!("`{}`", printable(&shortened(name)))
}

/// Text that keeps to its line and its direction: control characters are escaped.
pub(super) fn printable(text: &str) -> String {
    let harmful =
        |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match harmful(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

/// "`a`", or "one of `a`, `b`".
pub(super) fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(name_of).collect();
    match names.as_slice() {
        [only] => only.clone(),
        _ => format!("one of {}", names.join(", ")),
    }
}

/// The value of a node, as an end to "`key` is".
pub(super) fn found(node: &Node) -> String {
    match &node.kind {
        Kind::Null => "empty".into(),
        Kind::Bool(value) => value.to_string(),
        Kind::Int(value) => value.to_string(),
        Kind::Float(value) => format!("{value:?}"),
        Kind::Text(text) => format!("the string {:?}", shortened(text)),
        Kind::List(items) if items.is_empty() => "an empty list".into(),
        Kind::List(_) => "a list".into(),
        Kind::Map(_) => "a mapping".into(),
    }
}

/// "1 value", "2 values".
pub(super) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested_and_far_ones_are_not() {
        let keys = ["repeats", "train_fraction", "stratified", "c", "r1"];
        assert_eq!(closest("repeat", keys), Some("repeats"));
        assert_eq!(closest("train-fraction", keys), Some("train_fraction"));
        assert_eq!(closest("trainFraction", keys), Some("train_fraction"));
        assert_eq!(closest("C", keys), Some("c"));
        assert_eq!(closest("r", keys), Some("r1"));
        assert_eq!(closest("x", keys), None);
        assert_eq!(closest("banana", keys), None);
        assert_eq!(closest(&"repeats".repeat(100), keys), None);
    }

    #[test]
    fn text_of_the_user_is_shortened_and_escaped() {
        assert_eq!(name_of("a\nb\u{1b}[0m"), "`a\\nb\\u{1b}[0m`");
        assert!(name_of(&"ä".repeat(1000)).chars().count() < 70);
    }
}
