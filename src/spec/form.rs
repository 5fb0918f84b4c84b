//! What a value may be: a JSON schema as types, and in words.

use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::node::Kind;
use super::phrase::one_of;
use crate::wording::counted;

/// What a value may be: any of these.
#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    pub has_null: bool,
    pub has_flag: bool,
    pub number: Option<Limits>,
    pub text: Option<Pattern>,
    /// Fixed words, and keys of maps with a single key, with what the key holds.
    pub variants: Vec<Variant>,
    pub list: Option<Box<List>>,
    pub map: Option<Keys>,
    /// A parameter for which a list or a range gives values to choose among.
    pub is_tuned: bool,
    pub range: Option<Box<Form>>,
    /// All but the variants in words.
    words: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub name: String,
    /// What a map with the name as its only key holds, if that is allowed.
    pub content: Option<Form>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Limits {
    minimum: Option<f64>,
    maximum: Option<f64>,
    exclusive_minimum: Option<f64>,
    exclusive_maximum: Option<f64>,
    /// The Rust type behind the number.
    #[serde(default)]
    format: String,
    #[serde(skip)]
    is_whole: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pattern {
    #[serde(rename = "pattern")]
    regex: Option<String>,
    #[serde(rename = "patternErrorMessage")]
    words: Option<String>,
    #[serde(default)]
    min_length: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct List {
    #[serde(skip)]
    pub items: Form,
    #[serde(default, rename = "uniqueItems")]
    pub is_unique: bool,
    #[serde(default)]
    min_items: usize,
    max_items: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Keys {
    known: Vec<(String, Form)>,
    pub required: Vec<String>,
    /// What other keys may hold, if there may be any.
    others: Option<Box<Form>>,
}

impl Form {
    /// The form of a schema whose references are names of `definitions`.
    pub fn of(schema: &Value, definitions: &Map<String, Value>) -> Self {
        let mut form = Self::default();
        form.add(schema, definitions);
        form
    }

    fn add(&mut self, schema: &Value, definitions: &Map<String, Value>) {
        if let Some(target) = schema["$ref"].as_str() {
            self.add(&definitions[target.trim_start_matches("#/$defs/")], definitions);
        }
        match items(&schema["anyOf"]) {
            [one, list, range @ ..] if list["items"] == *one => {
                self.add(one, definitions);
                self.is_tuned = true;
                // That a list or a range would do as well only distracts from a wrong value.
                self.list = Some(Box::new(List::of(list, definitions)));
                self.range = range.first().map(|range| Box::new(Self::of(range, definitions)));
            }
            union => union.iter().for_each(|one| self.add(one, definitions)),
        }
        for variant in items(&schema["oneOf"]) {
            match tag(variant) {
                Some((name, content)) => {
                    let content = Self::of(content, definitions);
                    self.variant(name).content = Some(content);
                }
                None => self.add(variant, definitions),
            }
        }
        let words: Vec<&str> =
            [&schema["const"], &schema["enum"]].into_iter().flat_map(strings).collect();
        if words.is_empty() {
            strings(&schema["type"]).for_each(|name| self.add_type(name, schema, definitions));
        }
        for word in words {
            self.variant(word);
        }
    }

    /// The variant called `name`, which is added if there is none.
    fn variant(&mut self, name: &str) -> &mut Variant {
        let known = self.variants.iter().position(|variant| variant.name == name);
        let index = known.unwrap_or(self.variants.len());
        if known.is_none() {
            self.variants.push(Variant { name: name.to_owned(), content: None });
        }
        &mut self.variants[index]
    }

    fn add_type(&mut self, name: &str, schema: &Value, definitions: &Map<String, Value>) {
        let words = match name {
            "boolean" => {
                self.has_flag = true;
                "true or false".into()
            }
            "number" | "integer" => {
                let limits: Limits = parsed(schema);
                self.number.insert(Limits { is_whole: name == "integer", ..limits }).in_words()
            }
            "string" => self.text.insert(parsed(schema)).in_words(),
            "array" => {
                self.list = Some(Box::new(List::of(schema, definitions)));
                "a list".into()
            }
            "object" => {
                self.map = Some(Keys::of(schema, definitions));
                "a mapping".into()
            }
            _ => {
                self.has_null = true;
                return;
            }
        };
        self.words.push(words);
    }

    /// In words: "a number above 0 or `mean-squared-distance`".
    pub fn expected(&self) -> String {
        let names = (!self.variants.is_empty()).then(|| one_of(self.names()));
        self.words.iter().cloned().chain(names).collect::<Vec<String>>().join(" or ")
    }

    /// The names of all variants.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variants.iter().map(|variant| variant.name.as_str())
    }

    /// The variant called `name`.
    pub fn named(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// What the only key of a map holds, if it is called `name`.
    pub fn content(&self, name: &str) -> Option<&Self> {
        self.named(name)?.content.as_ref()
    }

    /// What a key of the map may hold.
    pub fn key(&self, name: &str) -> Option<&Self> {
        self.map.as_ref()?.get(name)
    }
}

impl Limits {
    /// The number in this type, if it is within the limits.
    pub fn number(&self, kind: &Kind) -> Option<Value> {
        let (float, whole) = both(kind)?;
        let is_within = float.is_finite()
            && self.minimum.is_none_or(|least| float >= least)
            && self.maximum.is_none_or(|most| float <= most)
            && self.exclusive_minimum.is_none_or(|above| float > above)
            && self.exclusive_maximum.is_none_or(|below| float < below);
        let number = match self.is_whole {
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
        (exceeds && self.is_whole && self.maximum.is_none()).then(|| self.largest())
    }

    fn largest(&self) -> i128 {
        match self.format.as_str() {
            "uint8" => u8::MAX.into(),
            "uint16" => u16::MAX.into(),
            "uint32" => u32::MAX.into(),
            _ => u64::MAX.into(),
        }
    }

    fn in_words(&self) -> String {
        let noun = if self.is_whole { "a whole number" } else { "a number" };
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

impl Pattern {
    pub fn admits(&self, text: &str) -> bool {
        let matches =
            |regex: &String| regex::Regex::new(regex).is_ok_and(|regex| regex.is_match(text));
        text.chars().count() >= self.min_length && self.regex.as_ref().is_none_or(matches)
    }

    fn in_words(&self) -> String {
        match (&self.words, &self.regex, self.min_length) {
            (Some(words), ..) => words.clone(),
            (None, Some(regex), _) => format!("a string that matches `{regex}`"),
            (None, None, 1..) => "a string that is not empty".into(),
            (None, None, 0) => "a string".into(),
        }
    }
}

impl List {
    fn of(schema: &Value, definitions: &Map<String, Value>) -> Self {
        Self { items: Form::of(&schema["items"], definitions), ..parsed(schema) }
    }

    /// What length it should have, if `length` is none.
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
}

impl Keys {
    fn of(schema: &Value, definitions: &Map<String, Value>) -> Self {
        let form = |schema: &Value| Form::of(schema, definitions);
        let properties = schema["properties"].as_object().into_iter().flatten();
        let others = Some(&schema["additionalProperties"]).filter(|others| others.is_object());
        Self {
            known: properties.map(|(name, schema)| (name.clone(), form(schema))).collect(),
            required: strings(&schema["required"]).map(str::to_owned).collect(),
            others: others.map(|schema| Box::new(form(schema))),
        }
    }

    /// What the key called `name` may hold, if there may be such a key.
    pub fn get(&self, name: &str) -> Option<&Form> {
        let known = self.known.iter().find(|(key, _)| key == name);
        known.map(|(_, form)| form).or(self.others.as_deref())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|(name, _)| name.as_str())
    }
}

/// Name and content of an externally tagged variant.
pub(super) fn tag(variant: &Value) -> Option<(&str, &Value)> {
    let mut properties = variant["properties"].as_object()?.iter();
    let (name, content) = properties.next()?;
    let is_tag = strings(&variant["required"]).eq([name.as_str()]);
    (is_tag && properties.next().is_none()).then_some((name, content))
}

/// A number as a float and without its fraction.
fn both(kind: &Kind) -> Option<(f64, i128)> {
    match *kind {
        Kind::Int(value) => Some((value as f64, value)),
        Kind::Float(value) => Some((value, value as i128)),
        _ => None,
    }
}

/// What a schema says of one type.
fn parsed<T: serde::de::DeserializeOwned>(schema: &Value) -> T {
    serde_json::from_value(schema.clone()).expect("a schema of the program's own types")
}

/// The items of an array; none for anything else.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A string, or the strings in an array.
fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter_map(Value::as_str)
}
