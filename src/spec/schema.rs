//! The JSON schema of a spec (draft 2020-12), composed of the spec's types and the registries of methods
//! and datasets.
//!
//! The same schema validates specs here and completes them in editors. Methods and datasets are
//! externally tagged: `svm`, or `svm: {c: 1}`. Every scalar parameter also takes a list or a range.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::form::Form;
use super::types::Experiment;
use super::{DatasetOptions, FilesSpec};
use crate::data::registry;
use crate::methods::{Entry, METHODS};

/// The entry for the user's own data.
pub(super) const FILES: &str = "files";
/// The parameter that every method takes.
pub(super) const LABEL: &str = "label";

/// The form of a spec.
pub(super) static FORM: LazyLock<Form> = LazyLock::new(|| {
    let schema = schema();
    Form::of(&schema, schema["$defs"].as_object().expect("the schema has definitions"))
});

/// A value of the key `slurm` or of its `task`, if the schema allows it; else what it expects.
pub fn slurm_option(key: &str, text: &str) -> Result<String, String> {
    let form = FORM.at(&["slurm", key]).or_else(|| FORM.at(&["slurm", "task", key]));
    let form = form.ok_or_else(|| format!("no key `{key}`"))?;
    match form.of_type("string").is_some_and(|string| string.admits(text)) {
        true => Ok(text.to_owned()),
        // A spec needs quotes around what YAML would read as a number.
        false => Err(format!("expected {}", form.expected().trim_end_matches(", in quotes"))),
    }
}

/// The JSON schema of a spec.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let datasets = datasets(&mut generator);
    let methods: Vec<Value> = METHODS.iter().map(|entry| method(entry, &mut generator)).collect();
    let entries =
        [("Range", range()), ("Dataset", datasets), ("Method", json!({"oneOf": methods}))];
    let entries = entries.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    generator.definitions_mut().extend(entries);
    let mut schema = generator.into_root_schema_for::<Experiment>();
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    RecursiveTransform(|schema: &mut Schema| allow_bare_names(schema, &definitions))
        .transform(&mut schema);
    schema.to_value()
}

/// The schema as text, the way it is kept in `docs/`.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// An entry with options. [`allow_bare_names`] adds that its name alone is enough.
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

fn datasets(generator: &mut SchemaGenerator) -> Value {
    let options = generator.subschema_for::<Option<DatasetOptions>>().to_value();
    let registered = registry::all().iter().map(|dataset| &dataset.manifest);
    let registered = registered.map(|set| named(&set.name, &set.name, &set.title, options.clone()));
    let files = generator.subschema_for::<FilesSpec>().to_value();
    let files = named(FILES, FILES, "A dataset of the user's own.", files);
    json!({"oneOf": registered.chain([files]).collect::<Vec<_>>()})
}

/// A method with its parameters: a label, and lists and ranges where they can be tuned.
fn method(entry: &Entry, generator: &mut SchemaGenerator) -> Value {
    let info = &entry.info;
    let schema = entry.json_schema(generator);
    let mut properties = json!({
        LABEL: {
            "type": "string",
            "minLength": 1,
            "description": format!("Name in tables; `{}` if left out.", info.title),
        },
    });
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        properties[name] = tunable(property.clone(), generator.definitions());
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
    if form.list().is_some() {
        return plain;
    }
    let mut whole = Map::new();
    for annotation in ["description", "default"] {
        let text = plain.as_object_mut().and_then(|plain| plain.shift_remove(annotation));
        whole.extend(text.map(|text| (annotation.to_owned(), text)));
    }
    let list = json!({"type": "array", "items": plain, "minItems": 1, "uniqueItems": true});
    let range = form.number().map(|_| json!({"$ref": "#/$defs/Range"}));
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

/// Lets the bare name of a variant mean the variant with default options.
fn allow_bare_names(schema: &mut Schema, definitions: &Map<String, Value>) {
    if let Some(Value::Array(variants)) = schema.get_mut("oneOf") {
        let bare = variants.iter().filter_map(|variant| bare(variant, definitions));
        let is_new = |bare: &Value| variants.iter().all(|known| known["const"] != bare["const"]);
        let bare: Vec<Value> = bare.filter(is_new).collect();
        variants.splice(0..0, bare);
    }
}

fn bare(variant: &Value, definitions: &Map<String, Value>) -> Option<Value> {
    let form = Form::of(variant, definitions);
    let (name, options) = form.tag()?;
    if !options.of_type("object")?.required.is_empty() {
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
