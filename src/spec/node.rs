//! YAML as a tree whose every key and value knows its place in the file.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{
    DefaultMessageFormatter, DuplicateKeyPolicy, Error, Location, MessageFormatter, Options,
    Spanned,
};

use super::phrase::printable;
use super::problem::{Place, Problem};

/// A value and its place.
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

/// A key and its value. A key that is given twice has two entries.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    pub key_at: Place,
    pub value: Node,
}

impl Node {
    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        Some(&self.entries().iter().find(|entry| entry.key == key)?.value)
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

/// Parses `text`.
pub(super) fn parse(text: &str) -> Result<Node, Box<Problem>> {
    serde_saphyr::from_str_with_options(text, options())
        .map_err(|error| Box::new(syntax(text, &error)))
}

/// The limits on depth and size are those of the parser, far above any experiment.
fn options() -> Options {
    serde_saphyr::options! {
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
        // A streamed map hands on every entry under this policy, so that both places are known.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        emit_comments: false,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    }
}

fn syntax(text: &str, error: &Error) -> Problem {
    let at = error.location().filter(|location| location.line() > 0);
    let at = at.map_or_else(Place::default, |at| at_character(text, at));
    match error.without_snippet() {
        Error::MultipleDocuments { .. } => {
            Problem::new(at, "a second YAML document starts here, expected one experiment per file")
        }
        error => {
            let message = DefaultMessageFormatter.format_message(error);
            Problem::new(at, format!("not valid YAML: {}", printable(&message)))
        }
    }
}

/// The place of an error, whose offset is in characters; the end of the text if there is none.
fn at_character(text: &str, location: Location) -> Place {
    let number = usize::try_from(location.span().offset()).unwrap_or(usize::MAX);
    let character = text.char_indices().nth(number);
    let (offset, length) = character.map_or((text.len(), 0), |(at, c)| (at, c.len_utf8()));
    Place { offset, length, ..Place::from(location) }
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        let number = |n: u64| usize::try_from(n).unwrap_or(0);
        let span = location.span();
        Self {
            line: number(location.line()),
            column: number(location.column()),
            offset: number(span.byte_offset().unwrap_or(0)),
            length: number(span.byte_len().unwrap_or(0)),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Kind>::deserialize(deserializer)?;
        Ok(Self { kind: spanned.value, at: spanned.defined.into() })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Int(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, mut value)) = map.next_entry::<Spanned<String>, Node>()? {
            let key_at = Place::from(key.defined);
            // There is nothing after the colon, so the message points at the key.
            if matches!(value.kind, Kind::Null) && value.at.length == 0 {
                value.at = key_at;
            }
            entries.push(Entry { key: key.value, key_at, value });
        }
        Ok(Kind::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Node {
        parse(text).expect("valid YAML")
    }

    #[test]
    fn every_key_and_value_knows_its_place() {
        let text = "a: é\nb: [1, {c: -2.5}]\n";
        let root = root(text);
        let b = &root.entries()[1];
        assert_eq!((b.key_at.line, b.key_at.column), (2, 1));
        let c = b.value.items()[1].get("c").expect("a key");
        assert_eq!((c.at.line, c.at.column), (2, 12));
        assert_eq!(&text[c.at.offset..][..c.at.length], "-2.5");
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
        let b = root.get("b").expect("a key");
        assert_eq!(b.entries().len(), 2);
        assert!(matches!(b.get("c").expect("a key").kind, Kind::Int(3)));
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
            assert!(parse(&bomb).is_err());
        }
    }
}
