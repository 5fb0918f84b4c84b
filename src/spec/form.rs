//! What a value may be: a JSON schema as types, and in words.

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
    /// Fixed words.
    names: Vec<String>,
    pub list: Option<Box<List>>,
    pub map: Option<Keys>,
    /// Maps with a single key, and what it holds.
    pub tagged: Vec<(String, Form)>,
    /// A parameter for which a list or a range gives values to choose among.
    pub is_tuned: bool,
    pub range: Option<Box<Form>>,
    /// All but the names and tags in words.
    words: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Limits {
    is_whole: bool,
    least: Option<f64>,
    most: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
    /// The largest number of the Rust type behind a whole number.
    largest: i128,
}

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Option<String>,
    least: usize,
}

#[derive(Clone, Debug)]
pub(super) struct List {
    pub items: Form,
    pub is_unique: bool,
    least: usize,
    most: usize,
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
        match schema["anyOf"].as_array().map(Vec::as_slice) {
            Some([one, list, range @ ..]) if list["items"] == *one => {
                self.add(one, definitions);
                self.is_tuned = true;
                // That a list or a range would do as well only distracts from a wrong value.
                self.list = Some(Box::new(List::of(list, definitions)));
                self.range = range.first().map(|range| Box::new(Self::of(range, definitions)));
            }
            union => union.into_iter().flatten().for_each(|one| self.add(one, definitions)),
        }
        for variant in schema["oneOf"].as_array().into_iter().flatten() {
            match tag(variant) {
                Some((name, content)) => {
                    self.tagged.push((name.to_owned(), Self::of(content, definitions)));
                }
                None => self.add(variant, definitions),
            }
        }
        let names: Vec<String> =
            strings(&schema["const"]).chain(strings(&schema["enum"])).collect();
        if names.is_empty() {
            strings(&schema["type"]).for_each(|name| self.add_type(&name, schema, definitions));
        }
        self.names.extend(names);
    }

    fn add_type(&mut self, name: &str, schema: &Value, definitions: &Map<String, Value>) {
        let words = match name {
            "boolean" => {
                self.has_flag = true;
                "true or false".into()
            }
            "number" | "integer" => {
                let limits = Limits::of(schema, name == "integer");
                self.number.insert(limits).in_words()
            }
            "string" => self.text.insert(Pattern::of(schema)).in_words(schema),
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
        let names = self.names();
        let names = (!names.is_empty()).then(|| one_of(names));
        self.words.iter().cloned().chain(names).collect::<Vec<String>>().join(" or ")
    }

    /// All names, bare ones and tags.
    pub fn names(&self) -> Vec<&str> {
        let bare = self.names.iter().map(String::as_str);
        let tags = self.tagged.iter().map(|(tag, _)| tag.as_str());
        bare.chain(tags.filter(|tag| !self.has_name(tag))).collect()
    }

    pub fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Whether the only texts are fixed words.
    pub fn is_named(&self) -> bool {
        self.text.is_none() && !self.names.is_empty()
    }

    /// What the variant called `name` holds.
    pub fn tagged(&self, name: &str) -> Option<&Self> {
        self.tagged.iter().find(|(tag, _)| tag == name).map(|(_, content)| content)
    }

    /// What a key of the map may hold.
    pub fn key(&self, name: &str) -> Option<&Self> {
        self.map.as_ref()?.get(name)
    }
}

impl Limits {
    fn of(schema: &Value, is_whole: bool) -> Self {
        let limit = |key: &str| schema[key].as_f64();
        let largest = match schema["format"].as_str() {
            Some("uint8") => u8::MAX.into(),
            Some("uint16") => u16::MAX.into(),
            Some("uint32") => u32::MAX.into(),
            _ => u64::MAX.into(),
        };
        Self {
            is_whole,
            least: limit("minimum"),
            most: limit("maximum"),
            above: limit("exclusiveMinimum"),
            below: limit("exclusiveMaximum"),
            largest,
        }
    }

    /// The number in this type, if it is within the limits.
    pub fn number(&self, kind: &Kind) -> Option<Value> {
        let (float, whole) = both(kind)?;
        let is_within = float.is_finite()
            && self.least.is_none_or(|least| float >= least)
            && self.most.is_none_or(|most| float <= most)
            && self.above.is_none_or(|above| float > above)
            && self.below.is_none_or(|below| float < below);
        let number = match self.is_whole {
            true if whole as f64 == float && whole <= self.largest => Number::from_i128(whole),
            true => None,
            // Adding zero turns -0 into 0, which are one value and should be one text.
            false => Number::from_f64(float + 0.0),
        };
        number.filter(|_| is_within).map(Value::Number)
    }

    /// The largest number of the type, if `kind` exceeds it and no maximum says more.
    pub fn exceeded(&self, kind: &Kind) -> Option<i128> {
        let exceeds = both(kind).is_some_and(|(_, whole)| whole > self.largest);
        (exceeds && self.is_whole && self.most.is_none()).then_some(self.largest)
    }

    fn in_words(&self) -> String {
        let noun = if self.is_whole { "a whole number" } else { "a number" };
        if let (Some(least), Some(most)) = (self.least, self.most) {
            return format!("{noun} from {least} to {most}");
        }
        let low = self.least.map(|least| format!(" of at least {least}"));
        let low = low.or_else(|| self.above.map(|above| format!(" above {above}")));
        let high = self.most.map(|most| format!(" at most {most}"));
        let high = high.or_else(|| self.below.map(|below| format!(" below {below}")));
        let and = if low.is_some() && high.is_some() { " and" } else { "" };
        format!("{noun}{}{and}{}", low.unwrap_or_default(), high.unwrap_or_default())
    }
}

impl Pattern {
    fn of(schema: &Value) -> Self {
        Self {
            regex: schema["pattern"].as_str().map(str::to_owned),
            least: size(schema, "minLength").unwrap_or(0),
        }
    }

    pub fn admits(&self, text: &str) -> bool {
        let matches =
            |regex: &String| regex::Regex::new(regex).is_ok_and(|regex| regex.is_match(text));
        text.chars().count() >= self.least && self.regex.as_ref().is_none_or(matches)
    }

    fn in_words(&self, schema: &Value) -> String {
        match (schema["patternErrorMessage"].as_str(), &self.regex, self.least) {
            (Some(words), ..) => words.to_owned(),
            (None, Some(regex), _) => format!("a string that matches `{regex}`"),
            (None, None, 1..) => "a string that is not empty".into(),
            (None, None, 0) => "a string".into(),
        }
    }
}

impl List {
    fn of(schema: &Value, definitions: &Map<String, Value>) -> Self {
        Self {
            items: Form::of(&schema["items"], definitions),
            is_unique: schema["uniqueItems"] == true,
            least: size(schema, "minItems").unwrap_or(0),
            most: size(schema, "maxItems").unwrap_or(usize::MAX),
        }
    }

    /// What length it should have, if `length` is none.
    pub fn wrong_length(&self, length: usize) -> Option<String> {
        let (bound, limit) = match length {
            _ if self.least == self.most => ("exactly", self.least),
            _ if length < self.least => ("at least", self.least),
            _ => ("at most", self.most),
        };
        let is_right = (self.least..=self.most).contains(&length);
        (!is_right).then(|| format!("{bound} {}", counted(limit, "item")))
    }
}

impl Keys {
    fn of(schema: &Value, definitions: &Map<String, Value>) -> Self {
        let form = |schema: &Value| Form::of(schema, definitions);
        let properties = schema["properties"].as_object().into_iter().flatten();
        let others = Some(&schema["additionalProperties"]).filter(|others| others.is_object());
        Self {
            known: properties.map(|(name, schema)| (name.clone(), form(schema))).collect(),
            required: strings(&schema["required"]).collect(),
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
    let is_tag = variant["required"].as_array()?.iter().eq([name.as_str()]);
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

fn size(schema: &Value, key: &str) -> Option<usize> {
    schema[key].as_u64().and_then(|size| usize::try_from(size).ok())
}

/// A string, or the strings in an array.
fn strings(value: &Value) -> impl Iterator<Item = String> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter_map(|item| Some(item.as_str()?.to_owned()))
}
