//! Columns of a table: which of them is the label, which are features, and what they are called.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::error::{Parsed, bad, quote};
use crate::wording::closest;

/// Most columns that a message lists.
const LISTED: usize = 20;

/// A column of a table. YAML distinguishes the two: what is in quotes is a name.
#[derive(Clone, Debug, Eq)]
pub enum Column {
    Name(String),
    /// Counted from 1.
    Position(usize),
}

impl Column {
    /// Its name or its number.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Name(name) => name.into(),
            Self::Position(number) => number.to_string().into(),
        }
    }
}

/// Plans of version 0.1 write a position as text, so the two compare as such. What is read decides
/// whether the data is the same.
impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Name(name) => to.serialize_str(name),
            Self::Position(number) => to.serialize_u64(*number as u64),
        }
    }
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(name) => Ok(Self::Name(name)),
            Value::Number(number) if number.as_u64().is_some_and(|number| number > 0) => {
                Ok(Self::Position(number.as_u64().unwrap_or_default() as usize))
            }
            _ => Err(de::Error::custom("expected a column's name or number")),
        }
    }
}

impl JsonSchema for Column {
    fn schema_name() -> Cow<'static, str> {
        "Column".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 1}]
        })
    }
}

/// What a spec says about the columns of a table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice<'a> {
    /// The label column; the last one if left out.
    pub label: Option<&'a Column>,
    /// Whether the first line of a CSV file is a header; guessed if left out.
    pub header: Option<bool>,
    /// Columns that are neither label nor feature.
    pub drop: &'a [Column],
    /// Of a test file: the columns of the training file.
    pub like: Option<&'a Names>,
}

/// The names of label and features.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Names {
    pub label: String,
    pub features: Vec<String>,
}

/// Where label and features are in a row.
#[derive(Debug)]
pub(crate) struct Layout {
    pub label: usize,
    pub features: Vec<usize>,
    pub names: Option<Names>,
}

impl Layout {
    /// The layout of a table of `width` columns with these names, if it has names. Errors are about `place`.
    pub fn new(
        names: Option<&[&str]>,
        width: usize,
        choice: &Choice<'_>,
        place: &str,
    ) -> Parsed<Self> {
        let find = |column: &Column, role| find(names, width, column, role, place);
        let like = choice.like.filter(|_| names.is_some());
        let label = match (like, choice.label) {
            (Some(like), _) => find(&Column::Name(like.label.clone()), "label")?,
            (None, Some(label)) => find(label, "label")?,
            (None, None) => width.saturating_sub(1),
        };
        let mut dropped = Vec::new();
        for column in choice.drop {
            match find(column, "`drop`") {
                Ok(column) => dropped.push(column),
                // A column that has no effect may be in one of the files only.
                Err(_) if like.is_some() => {}
                Err(error) => return Err(error),
            }
        }
        if dropped.contains(&label) {
            let found = format!("the label column {} among those to `drop`", label + 1);
            return Err(bad(place, found, "another column; name the label with `label:`"));
        }
        let features: Vec<usize> =
            (0..width).filter(|at| *at != label && !dropped.contains(at)).collect();
        if features.is_empty() {
            return Err(bad(place, "one column", "a label column and at least one feature"));
        }
        let Some(names) = names else {
            return Ok(Self { label, features, names: None });
        };
        let features = match like {
            Some(like) => matched(names, features, &like.features, place)?,
            None => features,
        };
        let name = |at: usize| names[at].to_owned();
        let named =
            Names { label: name(label), features: features.iter().map(|&at| name(at)).collect() };
        Ok(Self { label, features, names: Some(named) })
    }
}

/// The column that is meant, counted from 0.
fn find(
    names: Option<&[&str]>,
    width: usize,
    column: &Column,
    role: &str,
    place: &str,
) -> Parsed<usize> {
    let name = match column {
        Column::Position(number) if *number <= width => return Ok(number - 1),
        Column::Position(number) => {
            let expected = format!("a {role} column from 1 to {width}");
            return Err(bad(place, format!("no column {number}"), expected));
        }
        Column::Name(name) => name,
    };
    let position = match name.parse::<usize>() {
        Ok(_) => "; a number without quotes is a position",
        Err(_) => "",
    };
    let Some(names) = names else {
        let found = format!("no header with a column {}", quote(name.as_bytes()));
        let expected = format!("a {role} column from 1 to {width}, as a number{position}");
        return Err(bad(place, found, expected));
    };
    let mut places = (0..width).filter(|&at| names[at] == name);
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(at),
        (Some(first), Some(second)) => {
            let (first, second) = (first + 1, second + 1);
            let found =
                format!("{} as the name of columns {first} and {second}", quote(name.as_bytes()));
            Err(bad(place, found, format!("one {role} column; give its number instead")))
        }
        (None, _) => {
            let hint = closest(name, names.iter().copied())
                .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
            let found = format!("no column {}{hint}", quote(name.as_bytes()));
            let expected = format!("a {role} column of the header: {}{position}", listed(names));
            Err(bad(place, found, expected))
        }
    }
}

/// The columns `features` of a test file in the order of the training file's features.
fn matched(
    names: &[&str],
    features: Vec<usize>,
    wanted: &[String],
    place: &str,
) -> Parsed<Vec<usize>> {
    if features.iter().map(|&at| names[at]).eq(wanted.iter().map(String::as_str)) {
        return Ok(features);
    }
    let of = |name: &String| {
        let mut same = features.iter().copied().filter(|&at| names[at] == name);
        same.next().filter(|_| same.next().is_none())
    };
    let absent: Vec<&str> =
        wanted.iter().filter(|name| of(name).is_none()).map(String::as_str).collect();
    let is_new = |name: &&str| wanted.iter().all(|known| known != name);
    let new: Vec<&str> = features.iter().map(|&at| names[at]).filter(is_new).collect();
    if absent.is_empty() && new.is_empty() && features.len() == wanted.len() {
        return Ok(wanted.iter().filter_map(of).collect());
    }
    let clauses = [("columns that the training file lacks", new), ("no columns", absent)];
    let clauses = clauses.iter().filter(|(_, names)| !names.is_empty());
    let clauses: Vec<String> =
        clauses.map(|(clause, names)| format!("{clause} ({})", listed(names))).collect();
    let found = match clauses.is_empty() {
        true => "other columns under the same names".to_owned(),
        false => clauses.join(" and "),
    };
    let expected = "the columns of the training file, each once and in any order; rename them, or leave columns \
                    out with `drop:`";
    Err(bad(place, found, expected))
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().take(LISTED).map(|name| quote(name.as_bytes())).collect();
    let rest = if names.len() > LISTED { ", ..." } else { "" };
    quoted.join(", ") + rest
}

/// A warning if a column without a name counts the rows, as the index does that pandas writes. The columns of `names`
/// are those of `x`; without names, only columns that count from 0 or 1 are meant.
pub(crate) fn index_warning(
    names: Option<&Names>,
    columns: &[usize],
    column_of: &dyn Fn(usize) -> Vec<f64>,
) -> Option<String> {
    const UNNAMED: [&str; 3] = ["", "Unnamed: 0", "__index_level_0__"];
    // Fewer rows may count by chance.
    const FEW: usize = 10;
    let is_index = |feature: &usize| match names {
        Some(names) if !UNNAMED.contains(&names.features[*feature].as_str()) => false,
        Some(_) => {
            let mut values = column_of(*feature);
            values.sort_by(f64::total_cmp);
            let is_whole = values.iter().all(|value| value.fract() == 0.0);
            is_whole && values.windows(2).all(|pair| pair[0] != pair[1])
        }
        None => {
            let values = column_of(*feature);
            let first = values.first().copied().unwrap_or(-1.0);
            let counts = values.iter().enumerate().all(|(row, value)| *value == first + row as f64);
            (first == 0.0 || first == 1.0) && counts && values.len() >= FEW
        }
    };
    let at = columns[(0..columns.len()).find(is_index)?] + 1;
    Some(format!(
        "column {at} has no name and counts the rows, like the index that pandas writes; if it is no feature, leave it \
         out with `drop: [{at}]`"
    ))
}
