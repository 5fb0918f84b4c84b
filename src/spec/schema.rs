//! The JSON schema of a spec (draft 2020-12), composed of the spec's types and the registries of methods
//! and datasets.
//!
//! The same schema validates specs here and completes them in editors. Methods and datasets are
//! externally tagged: `svm`, or `svm: {c: 1}`. Every scalar parameter also takes a list or a range.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::form::{Form, tag};
use super::types::Experiment;
use super::{DatasetOptions, FilesSpec};
use crate::data::registry;
use crate::methods::{Entry, METHODS};

/// The entry for data of one's own.
pub(super) const FILES: &str = "files";
/// The parameter that every method takes.
pub(super) const LABEL: &str = "label";

/// The JSON schema of a spec.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let options = generator.subschema_for::<DatasetOptions>().to_value();
    let files = generator.subschema_for::<FilesSpec>().to_value();
    let head = generator.settings().meta_schema.clone();
    let mut schema = object(json!({"$schema": head, "title": "Experiment", "description": ""}));
    schema.extend(object(Experiment::json_schema(&mut generator).to_value()));
    // The place of the methods is before their own definitions.
    let common =
        [("Range", range()), ("Dataset", datasets(&options, &files)), ("Method", Value::Null)];
    let common = common.into_iter().map(|(name, common)| (name.to_owned(), common));
    generator.definitions_mut().extend(common);
    let methods: Vec<Value> = METHODS.iter().map(|entry| method(entry, &mut generator)).collect();
    let mut definitions = generator.take_definitions(true);
    definitions["Method"] = json!({"oneOf": methods});
    for (key, item) in [("datasets", "Dataset"), ("methods", "Method")] {
        schema["properties"][key]["items"] = json!({"$ref": format!("#/$defs/{item}")});
    }
    schema.insert("$defs".to_owned(), definitions.clone().into());
    let mut schema = Value::Object(schema);
    allow_bare_names(&mut schema, &definitions);
    schema
}

/// The schema as text, the way it is kept in `docs/`.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// An entry with options. That its name alone will do is added by [`allow_bare_names`].
fn named(name: &str, title: &str, about: &str, options: Value) -> Value {
    json!({
        "type": "object",
        "title": title,
        "description": about,
        "properties": {name: options},
        "required": [name],
        "additionalProperties": false,
    })
}

fn datasets(options: &Value, files: &Value) -> Value {
    let options = json!({"anyOf": [options, {"type": "null"}]});
    let registered = registry::all().iter().map(|dataset| &dataset.manifest);
    let registered = registered.map(|set| named(&set.name, &set.name, &set.title, options.clone()));
    let files = named(FILES, FILES, "A dataset of the user's own.", files.clone());
    json!({"oneOf": registered.chain([files]).collect::<Vec<_>>()})
}

/// A method with its parameters: a label, and lists and ranges where they can be tuned.
fn method(entry: &Entry, generator: &mut SchemaGenerator) -> Value {
    let info = &entry.info;
    let mut schema = entry.json_schema(generator);
    let mut properties = json!({
        LABEL: {
            "type": "string",
            "minLength": 1,
            "description": format!("Name in tables; `{}` if left out.", info.title),
        },
    });
    for (name, property) in object(schema["properties"].take()) {
        properties[name] = tunable(property, generator.definitions());
    }
    let parameters = json!({
        // `- svm:` with nothing after the colon is `- svm`.
        "type": ["object", "null"],
        "properties": properties,
        "required": [],
        "additionalProperties": false,
    });
    named(info.name, info.title, info.about, parameters)
}

/// A parameter that may be a list of values to choose among, unless it is a list itself, or a range of numbers.
fn tunable(mut plain: Value, definitions: &Map<String, Value>) -> Value {
    let form = Form::of(&plain, definitions);
    if form.list.is_some() {
        return plain;
    }
    let mut whole = Map::new();
    for annotation in ["description", "default"] {
        let text = plain.as_object_mut().and_then(|plain| plain.shift_remove(annotation));
        whole.extend(text.map(|text| (annotation.to_owned(), text)));
    }
    let list = json!({"type": "array", "items": plain, "minItems": 1, "uniqueItems": true});
    let range = form.number.map(|_| json!({"$ref": "#/$defs/Range"}));
    let union: Vec<Value> = [plain, list].into_iter().chain(range).collect();
    whole.insert("anyOf".to_owned(), union.into());
    Value::Object(whole)
}

fn range() -> Value {
    let form = |name: &str, about: &str| {
        let bounds = json!({
            "type": "array",
            "items": {"type": "number"},
            "minItems": 2,
            "maxItems": 3,
            "description": "First, last and step; without a step for `search: random` and `latin-hypercube`.",
        });
        named(name, name, about, bounds)
    };
    json!({
        "description": "Values to choose among, both ends included.",
        "oneOf": [
            form("log2", "Powers of 2; first, last and step are exponents."),
            form("log10", "Powers of 10; first, last and step are exponents."),
            form("linear", "Numbers at equal distances."),
        ],
    })
}

/// Lets the bare name of a variant stand for the variant with default options, everywhere.
fn allow_bare_names(schema: &mut Value, definitions: &Map<String, Value>) {
    let inner = match schema {
        Value::Object(object) => {
            if let Some(Value::Array(variants)) = object.get_mut("oneOf") {
                let known: Vec<&Value> = variants.iter().map(|variant| &variant["const"]).collect();
                let bare = variants.iter().filter_map(|variant| bare(variant, definitions));
                let bare = bare.filter(|bare| !known.contains(&&bare["const"]));
                let bare: Vec<Value> = bare.collect();
                variants.splice(0..0, bare);
            }
            object.values_mut().collect::<Vec<_>>()
        }
        Value::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().for_each(|inner| allow_bare_names(inner, definitions));
}

fn bare(variant: &Value, definitions: &Map<String, Value>) -> Option<Value> {
    let (name, options) = tag(variant)?;
    if !Form::of(options, definitions).map?.required.is_empty() {
        return None;
    }
    let mut bare = json!({"type": "string", "const": name});
    for annotation in ["title", "description"] {
        if let Some(text) = variant.get(annotation) {
            bare[annotation] = text.clone();
        }
    }
    Some(bare)
}
