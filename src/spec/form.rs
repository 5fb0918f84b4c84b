//! What a value may be: a JSON schema as a type, and in words.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::node::Kind;
use super::phrase::one_of;
use crate::wording::counted;

/// The types that a value may have, and its fixed names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Form {
    types: Vec<Type>,
    /// Fixed words, and keys of mappings with a single key, with what such a key holds.
    pub variants: IndexMap<String, Option<Form>>,
    /// For a parameter that can be tuned: a list of values to choose among.
    tuned: Option<Box<Type>>,
    /// And a range of them.
    pub range: Option<Box<Form>>,
}

/// A JSON schema of one type, without references.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Type {
    /// As JSON schemas have it.
    #[serde(skip)]
    name: String,

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
    pub items: Form,
    pub unique_items: bool,
    min_items: usize,
    max_items: Option<usize>,

    /// Of a mapping.
    #[serde(skip)]
    pub keys: IndexMap<String, Form>,
    pub required: Vec<String>,
    /// What keys without a form hold, if there may be any.
    #[serde(skip)]
    others: Option<Form>,
}

impl Form {
    /// The form of a schema whose references are names of `definitions`.
    pub fn of(schema: &Value, definitions: &Map<String, Value>) -> Self {
        if let Some(target) = schema["$ref"].as_str() {
            return Self::of(&definitions[target.trim_start_matches("#/$defs/")], definitions);
        }
        let of = |schema: &Value| Self::of(schema, definitions);
        let words = strings(&schema["const"]).chain(strings(&schema["enum"]));
        let mut form =
            Self { variants: words.map(|word| (word, None)).collect(), ..Self::default() };
        if form.variants.is_empty() {
            let names = strings(&schema["type"]);
            form.types = names.map(|name| Type::of(name, schema, &of)).collect();
        }
        match schema["anyOf"].as_array().map_or(&[][..], Vec::as_slice) {
            [one, list, range @ ..] if list["items"] == *one => {
                form = of(one);
                form.tuned = of(list).types.pop().map(Box::new);
                form.range = range.first().map(|range| Box::new(of(range)));
            }
            union => union.iter().map(of).for_each(|one| form.add(one)),
        }
        for one in schema["oneOf"].as_array().into_iter().flatten().map(of) {
            match one.tag() {
                Some((name, content)) => {
                    form.variants.insert(name.clone(), Some(content.clone()));
                }
                None => form.add(one),
            }
        }
        form
    }

    /// Allows what `other` allows, too.
    fn add(&mut self, other: Self) {
        self.types.extend(other.types);
        self.variants.extend(other.variants);
    }

    /// Name and content of an externally tagged variant.
    pub fn tag(&self) -> Option<(&String, &Self)> {
        let [Type { keys, required, .. }] = &self.types[..] else {
            return None;
        };
        keys.first().filter(|(name, _)| keys.len() == 1 && required == &[name.as_str()])
    }

    /// The form of the value at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |form, key| form.of_type("object")?.key(key))
    }

    /// The type called `name`, if values may have it.
    pub fn of_type(&self, name: &str) -> Option<&Type> {
        self.types.iter().find(|of| of.name == name)
    }

    pub fn number(&self) -> Option<&Type> {
        self.of_type("number").or_else(|| self.of_type("integer"))
    }

    pub fn list(&self) -> Option<&Type> {
        self.tuned.as_deref().or_else(|| self.of_type("array"))
    }

    /// Whether a list or a range gives values to choose among.
    pub fn is_tuned(&self) -> bool {
        self.tuned.is_some()
    }

    /// In words: "a number above 0 or `mean-squared-distance`". That a parameter could be a list or a range
    /// is left out: it only distracts from a wrong value.
    pub fn expected(&self) -> String {
        let types = self.types.iter().filter_map(Type::in_words);
        let names = (!self.variants.is_empty()).then(|| one_of(self.variants.keys()));
        types.chain(names).collect::<Vec<String>>().join(" or ")
    }
}

impl Type {
    fn of(name: String, schema: &Value, form: &impl Fn(&Value) -> Form) -> Self {
        let keys = schema["properties"].as_object().into_iter().flatten();
        let others = &schema["additionalProperties"];
        Self {
            name,
            items: form(&schema["items"]),
            keys: keys.map(|(name, schema)| (name.clone(), form(schema))).collect(),
            others: others.is_object().then(|| form(others)),
            ..Self::deserialize(schema).expect("a schema of the program's own types")
        }
    }

    /// What a key of the mapping may hold, if there may be such a key.
    pub fn key(&self, name: &str) -> Option<&Form> {
        self.keys.get(name).or(self.others.as_ref())
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
        self.name == "integer"
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

    fn in_words(&self) -> Option<String> {
        Some(match (self.name.as_str(), &self.pattern_error_message, &self.pattern) {
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
