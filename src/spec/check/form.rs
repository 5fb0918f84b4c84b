//! Whether one form of a schema admits a value, and in which type.

use serde_json::{Number, Value};

use super::Form;
use crate::spec::node::{Kind, Node};
use crate::spec::schema::{allows, names, tag};
use crate::wording::counted;

/// The content schema of the variant tagged `name`.
pub(super) fn content<'a>(variants: &[&'a Form], name: &str) -> Option<&'a Value> {
    let mut tags = variants.iter().filter_map(|form| tag(form));
    tags.find(|(tag, _)| *tag == name).map(|(_, content)| content)
}

/// The number in the form's type, if the form admits it.
pub(super) fn normal_number(node: &Node, form: &Form) -> Option<Value> {
    let float = match node.kind {
        Kind::Int(value) => value as f64,
        Kind::Float(value) => value,
        _ => return None,
    };
    let limit = |key: &str| form.get(key).and_then(Value::as_f64);
    let within = float.is_finite()
        && limit("minimum").is_none_or(|min| float >= min)
        && limit("maximum").is_none_or(|max| float <= max)
        && limit("exclusiveMinimum").is_none_or(|min| float > min)
        && limit("exclusiveMaximum").is_none_or(|max| float < max);
    if !within {
        None
    } else if allows(form, "number") {
        // Adding zero turns -0 into 0, which are one value and should be one text.
        Number::from_f64(float + 0.0).map(Value::Number)
    } else if allows(form, "integer") {
        let whole = match node.kind {
            Kind::Int(value) => value,
            _ if float.fract() == 0.0 => float as i128,
            _ => return None,
        };
        let largest = largest(form).unwrap_or(i128::from(u64::MAX));
        (whole <= largest).then(|| Number::from_i128(whole)).flatten().map(Value::Number)
    } else {
        None
    }
}

/// The largest integer of a form without a maximum of its own, where the node exceeds it.
pub(super) fn excess(node: &Node, form: &Form) -> Option<i128> {
    let largest = largest(form)?;
    let exceeds = match node.kind {
        Kind::Int(value) => value > largest,
        Kind::Float(value) => value > largest as f64,
        _ => false,
    };
    (exceeds && !form.contains_key("maximum")).then_some(largest)
}

/// The largest integer of the Rust type behind a form.
fn largest(form: &Form) -> Option<i128> {
    Some(match form.get("format")?.as_str()? {
        "uint8" => u8::MAX.into(),
        "uint16" => u16::MAX.into(),
        "uint32" => u32::MAX.into(),
        "int8" => i8::MAX.into(),
        "int16" => i16::MAX.into(),
        "int32" => i32::MAX.into(),
        "int64" | "int" => i64::MAX.into(),
        "uint64" | "uint" => u64::MAX.into(),
        _ => return None,
    })
}

pub(super) fn admits_text(form: &Form, text: &str) -> bool {
    if names(form).next().is_some() {
        return names(form).any(|name| name == text);
    }
    let length = form.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let pattern = form.get("pattern").and_then(Value::as_str);
    let matches = pattern.is_none_or(|pattern| {
        regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
    });
    text.chars().count() as u64 >= length && matches
}

/// What length a list should have, if it has another.
pub(super) fn wrong_length(length: usize, form: &Form) -> Option<String> {
    let limit =
        |key: &str| form.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let (min, max) = (limit("minItems").unwrap_or(0), limit("maxItems").unwrap_or(usize::MAX));
    if min == max && length != min {
        Some(format!("exactly {}", counted(min, "item")))
    } else if length < min {
        Some(format!("at least {}", counted(min, "item")))
    } else if length > max {
        Some(format!("at most {}", counted(max, "item")))
    } else {
        None
    }
}
