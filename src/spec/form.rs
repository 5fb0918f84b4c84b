//! What a value may be: a JSON schema as a type, and in words.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::node::Kind;
use super::phrase::one_of;
use crate::wording::counted;

/// A JSON schema without references.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Form {
    /// Names of types, as JSON schemas have them.
    #[serde(skip)]
    types: Vec<String>,
    /// The only values of a string, if it has fixed ones.
    #[serde(skip)]
    words: Vec<String>,
    /// Mappings with a single key, by this key: what it holds.
    #[serde(skip)]
    tags: Vec<(String, Form)>,
    /// The value may have any of these forms, too.
    #[serde(skip)]
    union: Vec<Form>,
    /// Of a parameter that can be tuned: a list of values to choose among, and a range of them.
    #[serde(skip)]
    tuned: Option<Box<Form>>,
    #[serde(skip)]
    pub range: Option<Box<Form>>,

    minimum: Option<f64>,
    maximum: Option<f64>,
    exclusive_minimum: Option<f64>,
    exclusive_maximum: Option<f64>,
    /// The Rust type of a number.
    format: String,

    pattern: Option<String>,
    /// The pattern in words.
    pattern_error_message: Option<String>,
    min_length: usize,

    /// Of a list.
    #[serde(skip)]
    pub items: Option<Box<Form>>,
    pub unique_items: bool,
    min_items: usize,
    max_items: Option<usize>,

    /// Of a mapping.
    #[serde(skip)]
    properties: Vec<(String, Form)>,
    pub required: Vec<String>,
    /// What keys without a form of their own hold, if there may be any.
    #[serde(skip)]
    others: Option<Box<Form>>,
}

impl Form {
    /// The form of a schema whose references are names of `definitions`.
    pub fn of(schema: &Value, definitions: &Map<String, Value>) -> Self {
        if let Some(target) = schema["$ref"].as_str() {
            return Self::of(&definitions[target.trim_start_matches("#/$defs/")], definitions);
        }
        let of = |schema: &Value| Self::of(schema, definitions);
        let boxed = |schema: &Value| schema.is_object().then(|| Box::new(of(schema)));
        let properties = schema["properties"].as_object().into_iter().flatten();
        let mut form = Self {
            types: strings(&schema["type"]).collect(),
            words: strings(&schema["const"]).chain(strings(&schema["enum"])).collect(),
            items: boxed(&schema["items"]),
            properties: properties.map(|(name, schema)| (name.clone(), of(schema))).collect(),
            others: boxed(&schema["additionalProperties"]),
            ..Self::deserialize(schema).expect("a schema of the program's own types")
        };
        match schema["anyOf"].as_array().map_or(&[][..], Vec::as_slice) {
            [one, list, range @ ..] if list["items"] == *one => {
                form.union.push(of(one));
                form.tuned = boxed(list);
                form.range = range.first().and_then(boxed);
            }
            union => form.union.extend(union.iter().map(of)),
        }
        for one in schema["oneOf"].as_array().into_iter().flatten().map(of) {
            match one.tag() {
                Some(tag) => form.tags.push(tag.clone()),
                None => form.union.push(one),
            }
        }
        form
    }

    /// Name and content of an externally tagged variant.
    pub fn tag(&self) -> Option<&(String, Self)> {
        match self.properties.as_slice() {
            [tag] if self.required == [tag.0.as_str()] => Some(tag),
            _ => None,
        }
    }

    /// The forms of the union that have a type. That a list or a range would do as well for a parameter only
    /// distracts from a wrong value.
    fn typed(&self) -> Vec<&Self> {
        let own = (self.words.is_empty() && !self.types.is_empty()).then_some(self);
        own.into_iter().chain(self.union.iter().flat_map(Self::typed)).collect()
    }

    /// The form for values of the type called `name`.
    pub fn of_type(&self, name: &str) -> Option<&Self> {
        self.typed().into_iter().find(|form| form.types.iter().any(|of| of == name))
    }

    pub fn number(&self) -> Option<&Self> {
        self.of_type("number").or_else(|| self.of_type("integer"))
    }

    pub fn list(&self) -> Option<&Self> {
        self.tuned.as_deref().or_else(|| self.of_type("array"))
    }

    /// Whether a list or a range gives values to choose among.
    pub fn is_tuned(&self) -> bool {
        self.tuned.is_some()
    }

    /// Fixed words, and keys of mappings with a single key, with what such a key holds.
    pub fn variants(&self) -> IndexMap<&str, Option<&Self>> {
        let words = self.words.iter().map(|word| (word.as_str(), None));
        let mut variants: IndexMap<_, _> =
            words.chain(self.union.iter().flat_map(Self::variants)).collect();
        variants.extend(self.tags.iter().map(|(name, content)| (name.as_str(), Some(content))));
        variants
    }

    /// What a key of the mapping may hold, if there may be such a key.
    pub fn key(&self, name: &str) -> Option<&Self> {
        let known = self.properties.iter().find(|(key, _)| key == name);
        known.map(|(_, form)| form).or(self.others.as_deref())
    }

    /// The known keys of the mapping.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(|(name, _)| name.as_str())
    }

    /// A number in its type, if it is within the limits.
    pub fn value(&self, kind: &Kind) -> Option<Value> {
        let (float, whole) = both(kind)?;
        let is_within = float.is_finite()
            && self.minimum.is_none_or(|least| float >= least)
            && self.maximum.is_none_or(|most| float <= most)
            && self.exclusive_minimum.is_none_or(|above| float > above)
            && self.exclusive_maximum.is_none_or(|below| float < below);
        let number = match self.is_whole() {
            true if whole as f64 == float && whole <= self.largest() => Number::from_i128(whole),
            true => None,
            // Adding zero turns -0 into 0, which are one value and should be one text.
            false => Number::from_f64(float + 0.0),
        };
        number.filter(|_| is_within).map(Value::Number)
    }

    /// The largest number of the type, if `kind` exceeds it and no maximum says more.
    pub fn exceeded(&self, kind: &Kind) -> Option<i128> {
        let exceeds = both(kind).is_some_and(|(_, whole)| whole > self.largest());
        (exceeds && self.is_whole() && self.maximum.is_none()).then(|| self.largest())
    }

    fn is_whole(&self) -> bool {
        self.types.iter().any(|name| name == "integer")
    }

    fn largest(&self) -> i128 {
        if self.format == "uint32" { u32::MAX.into() } else { u64::MAX.into() }
    }

    /// Whether a string has the length and the pattern it should have.
    pub fn admits(&self, text: &str) -> bool {
        let matches =
            |regex: &String| regex::Regex::new(regex).is_ok_and(|regex| regex.is_match(text));
        text.chars().count() >= self.min_length && self.pattern.as_ref().is_none_or(matches)
    }

    /// What length a list should have, if `length` is none.
    pub fn wrong_length(&self, length: usize) -> Option<String> {
        let (least, most) = (self.min_items, self.max_items.unwrap_or(usize::MAX));
        let (bound, limit) = match length {
            _ if (least..=most).contains(&length) => return None,
            _ if least == most => ("exactly", least),
            _ if length < least => ("at least", least),
            _ => ("at most", most),
        };
        Some(format!("{bound} {}", counted(limit, "item")))
    }

    /// In words: "a number above 0 or `mean-squared-distance`".
    pub fn expected(&self) -> String {
        let (typed, variants) = (self.typed(), self.variants());
        let types = typed.iter().flat_map(|form| form.types.iter().map(|name| form.in_words(name)));
        let names = (!variants.is_empty()).then(|| one_of(variants.keys().copied()));
        types.flatten().chain(names).collect::<Vec<String>>().join(" or ")
    }

    fn in_words(&self, name: &str) -> Option<String> {
        Some(match (name, &self.pattern_error_message, &self.pattern) {
            ("boolean", ..) => "true or false".into(),
            ("number", ..) => self.number_in_words("a number"),
            ("integer", ..) => self.number_in_words("a whole number"),
            ("array", ..) => "a list".into(),
            ("object", ..) => "a mapping".into(),
            ("string", Some(words), _) => words.clone(),
            ("string", None, Some(regex)) => format!("a string that matches `{regex}`"),
            ("string", ..) if self.min_length > 0 => "a string that is not empty".into(),
            ("string", ..) => "a string".into(),
            _ => return None,
        })
    }

    fn number_in_words(&self, noun: &str) -> String {
        if let (Some(least), Some(most)) = (self.minimum, self.maximum) {
            return format!("{noun} from {least} to {most}");
        }
        let bounds = [
            self.minimum.map(|least| format!("of at least {least}")),
            self.exclusive_minimum.map(|above| format!("above {above}")),
            self.maximum.map(|most| format!("at most {most}")),
            self.exclusive_maximum.map(|below| format!("below {below}")),
        ];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        format!("{noun} {}", bounds.join(" and ")).trim_end().to_owned()
    }
}

/// A number as a float and without its fraction.
fn both(kind: &Kind) -> Option<(f64, i128)> {
    match *kind {
        Kind::Int(value) => Some((value as f64, value)),
        Kind::Float(value) => Some((value, value as i128)),
        _ => None,
    }
}

/// A string, or the strings in an array.
fn strings(value: &Value) -> impl Iterator<Item = String> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter_map(|item| item.as_str().map(str::to_owned))
}
