//! The words of error messages: lists of names, did-you-mean, values as they were found.

use super::node::{Kind, Node};

/// Longest piece of a user's text repeated in a message, in characters.
const LONGEST: usize = 60;

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
    let shown = |c: char| if harmful(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// "`a`", or "one of `a`, `b`", or "none".
pub(super) fn one_of(names: impl IntoIterator<Item: AsRef<str>>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| name_of(name.as_ref())).collect();
    match names.as_slice() {
        [] => "none".into(),
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
    fn text_of_the_user_is_shortened_and_escaped() {
        assert_eq!(name_of("a\nb\u{1b}[0m"), "`a\\nb\\u{1b}[0m`");
        assert!(name_of(&"ä".repeat(1000)).chars().count() < 70);
    }
}
