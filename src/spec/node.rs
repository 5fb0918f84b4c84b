//! YAML as a tree whose every key and value knows its place in the file.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{
    DefaultMessageFormatter, DuplicateKeyPolicy, Error, Location, MessageFormatter, Options,
    Spanned,
};

use super::phrase::{name_of, printable};
use super::problem::{Finding, Place};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: Kind,
    pub at: Place,
}

/// What a value is. Integers that fit no 64 bits arrive as floats.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    pub key_at: Place,
    pub value: Node,
}

impl Node {
    /// The value under `key`, where this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }
}

/// Parses `text`; keys given twice are reported in `findings` and their first value is kept.
pub(super) fn parse(text: &str, findings: &mut Vec<Finding>) -> Result<Node, Box<Finding>> {
    let root: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options())
        .map_err(|e| Box::new(syntax_error(text, &e)))?;
    Ok(node(root, findings))
}

/// Limits far above any experiment, far below what would hurt.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            flow_nesting_limit: 32,
            max_nodes: 200_000,
            max_events: 500_000,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_merge_keys: 1_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
            max_replay_stack_depth: 8,
        },
        // A streamed map hands on every entry under this policy, so `node` sees both places.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        emit_comments: false,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    }
}

fn syntax_error(text: &str, error: &Error) -> Finding {
    let at = match error.location() {
        Some(location) if location.line() > 0 => {
            Place::of_line(text, location.line(), location.column())
        }
        _ => Place::default(),
    };
    match error.without_snippet() {
        Error::MultipleDocuments { .. } => {
            Finding::new(at, "a second YAML document starts here, expected one experiment per file")
        }
        error => {
            let message = DefaultMessageFormatter.format_message(error);
            Finding::new(at, format!("not valid YAML: {}", printable(&message)))
        }
    }
}

fn node(raw: Spanned<Raw>, findings: &mut Vec<Finding>) -> Node {
    let at = place(raw.defined);
    let kind = match raw.value {
        Raw::Null => Kind::Null,
        Raw::Bool(value) => Kind::Bool(value),
        Raw::Int(value) => Kind::Int(value),
        Raw::Float(value) => Kind::Float(value),
        Raw::Text(text) => Kind::Text(text),
        Raw::List(items) => {
            Kind::List(items.into_iter().map(|item| node(item, findings)).collect())
        }
        Raw::Map(entries) => Kind::Map(map(entries, findings)),
    };
    Node { kind, at }
}

fn map(raw: Vec<(Spanned<String>, Spanned<Raw>)>, findings: &mut Vec<Finding>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::with_capacity(raw.len());
    let mut seen = std::collections::HashMap::new();
    for (key, value) in raw {
        let key_at = place(key.defined);
        if let Some(first) = seen.insert(key.value.clone(), key_at) {
            let name = name_of(&key.value);
            let message = format!("the key {name} is given twice, first in line {}", first.line);
            findings.push(Finding::new(key_at, message).also(first, "first given here"));
            seen.insert(key.value, first);
            continue;
        }
        let mut value = node(value, findings);
        // Nothing at all stands after the colon: the key is what can be pointed at.
        if matches!(value.kind, Kind::Null) && value.at.length == 0 {
            value.at = key_at;
        }
        entries.push(Entry { key: key.value, key_at, value });
    }
    entries
}

fn place(location: Location) -> Place {
    let number = |n: u64| usize::try_from(n).unwrap_or(0);
    let span = location.span();
    Place {
        line: number(location.line()),
        column: number(location.column()),
        offset: number(span.byte_offset().unwrap_or(0)),
        length: number(span.byte_len().unwrap_or(0)),
    }
}

/// What serde is asked for.
enum Raw {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Int(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Node {
        let mut findings = Vec::new();
        let root = parse(text, &mut findings).expect("valid YAML");
        assert!(findings.is_empty(), "{findings:?}");
        root
    }

    #[test]
    fn every_key_and_value_knows_its_place() {
        let text = "a: é\nb: [1, {c: -2.5}]\n";
        let root = root(text);
        let b = root.get("b").expect("a key");
        assert_eq!((b.key_at.line, b.key_at.column), (2, 1));
        let c = b.value.items()[1].get("c").expect("a key");
        assert_eq!((c.value.at.line, c.value.at.column), (2, 12));
        assert_eq!(&text[c.value.at.offset..][..c.value.at.length], "-2.5");
    }

    #[test]
    fn scalars_are_what_they_look_like() {
        let root = root("[~, yes, true, 1, 1.0, 1e999, 2K, '1', 99999999999999999999999, .nan]");
        let kinds: Vec<_> = root.items().iter().map(|item| format!("{:?}", item.kind)).collect();
        let expected = [
            "Null",
            "Text(\"yes\")",
            "Bool(true)",
            "Int(1)",
            "Float(1.0)",
            "Float(inf)",
            "Text(\"2K\")",
            "Text(\"1\")",
            "Float(1e23)",
            "Float(NaN)",
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_merge_key_is_no_duplicate() {
        let root = root("a: &base {c: 1, d: 2}\nb: {<<: *base, c: 3}\n");
        let b = &root.get("b").expect("a key").value;
        assert_eq!(b.entries().len(), 2);
        assert!(matches!(b.get("c").expect("a key").value.kind, Kind::Int(3)));
    }

    #[test]
    fn a_key_given_three_times_is_reported_twice_with_both_places() {
        let mut findings = Vec::new();
        let root = parse("a: 1\nb: {a: 1}\na: 2\na: 3\n", &mut findings).expect("valid YAML");
        assert!(matches!(root.get("a").expect("a key").value.kind, Kind::Int(1)));
        let lines: Vec<_> = findings.iter().map(|finding| finding.at.line).collect();
        assert_eq!(lines, [3, 4]);
        assert!(findings[1].message.contains("first in line 1"));
    }

    #[test]
    fn bombs_are_refused() {
        let mut laughs = String::from("a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n");
        for level in 1..10 {
            let row = vec![format!("*a{}", level - 1); 10].join(", ");
            laughs += &format!("a{level}: &a{level} [{row}]\n");
        }
        let deep_block: String = (0..5000).map(|d| format!("{}a:\n", " ".repeat(d))).collect();
        let nested = (0..200).fold("a0: &a0 [1]\n".to_owned(), |text, level| {
            text + &format!(
                "b{level}: &a{} {}*a{level}{}\n",
                level + 1,
                "[".repeat(20),
                "]".repeat(20)
            )
        });
        for bomb in [laughs, "[".repeat(100_000), deep_block, nested, "a: &a [*a]".into()] {
            assert!(parse(&bomb, &mut Vec::new()).is_err());
        }
    }
}
