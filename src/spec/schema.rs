//! The JSON schema of a spec (draft 2020-12), composed of the spec's types and a catalogue.
//!
//! The same schema validates specs here and completes them in editors. Methods and datasets are
//! externally tagged: `svm`, or `svm: {c: 1}`. Every scalar parameter also takes a list or a range.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::catalogue::{Catalogue, MethodEntry};
use super::types::{DatasetOptions, Experiment, FilesSpec};

/// The entry for data of one's own.
pub(super) const FILES: &str = "files";
/// The parameter that every method takes.
pub(super) const LABEL: &str = "label";

/// The JSON schema of a spec.
pub fn schema(catalogue: &Catalogue) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    generator.subschema_for::<DatasetOptions>();
    generator.subschema_for::<FilesSpec>();
    let mut root = generator.into_root_schema_for::<Experiment>().to_value();
    let mut definitions = take_definitions(&mut root);
    definitions.insert("Range".into(), range());
    definitions.insert("Dataset".into(), datasets(catalogue));
    // Taken before the methods' own definitions join, so that none of them can have the name.
    definitions.insert("Method".into(), Value::Null);
    let methods = methods(catalogue, &mut definitions);
    definitions.insert("Method".into(), methods);
    for (key, item) in [("datasets", "Dataset"), ("methods", "Method")] {
        if let Some(list) = root.pointer_mut(&format!("/properties/{key}")) {
            list["items"] = json!({"$ref": format!("#/$defs/{item}")});
        }
    }
    root["$defs"] = Value::Object(definitions);
    let complete = root.clone();
    allow_bare_names(&mut root, &complete);
    headed(root)
}

/// Puts what tells a reader about the schema before all the rest.
fn headed(schema: Value) -> Value {
    let mut head = Map::new();
    for key in ["$schema", "title", "description"] {
        if let Some(text) = schema.get(key) {
            head.insert(key.into(), text.clone());
        }
    }
    if let Value::Object(rest) = schema {
        head.extend(rest);
    }
    Value::Object(head)
}

/// The schema as text, the way it is kept in `docs/`.
pub fn schema_text(catalogue: &Catalogue) -> String {
    format!("{:#}\n", schema(catalogue))
}

fn take_definitions(schema: &mut Value) -> Map<String, Value> {
    match schema.as_object_mut().and_then(|s| s.shift_remove("$defs")) {
        Some(Value::Object(definitions)) => definitions,
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

fn datasets(catalogue: &Catalogue) -> Value {
    let options = json!({"anyOf": [{"$ref": "#/$defs/DatasetOptions"}, {"type": "null"}]});
    let registered = catalogue
        .datasets
        .iter()
        .map(|dataset| named(&dataset.name, &dataset.name, &dataset.title, options.clone()));
    let files =
        named(FILES, FILES, "A dataset of the user's own.", json!({"$ref": "#/$defs/FilesSpec"}));
    json!({"oneOf": registered.chain([files]).collect::<Vec<_>>()})
}

fn methods(catalogue: &Catalogue, definitions: &mut Map<String, Value>) -> Value {
    let forms = catalogue.methods.iter().map(|method| {
        let parameters = parameters(method, definitions);
        named(method.name, method.title, method.about, parameters)
    });
    json!({"oneOf": forms.collect::<Vec<_>>()})
}

/// The parameters of a method, with a label, and lists and ranges where they can be tuned.
fn parameters(method: &MethodEntry, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = method.schema.clone();
    hoist_definitions(method.name, &mut schema, definitions);
    let mut properties = json!({
        LABEL: {
            "type": "string",
            "minLength": 1,
            "description": format!("Name in tables; `{}` if left out.", method.title),
        },
    });
    if let Some(Value::Object(own)) = schema.get("properties") {
        for (name, property) in own {
            properties[name] = if is_tunable(method, name) {
                tunable(property, accepts_numbers(method, name))
            } else {
                property.clone()
            };
        }
    }
    let required: Vec<&str> = strings(schema.get("required")).collect();
    // `- svm:` with nothing after the colon is `- svm`.
    let kind = match required.is_empty() {
        true => json!(["object", "null"]),
        false => json!("object"),
    };
    json!({
        "type": kind,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Moves the definitions of a method's schema among the common ones. Where a name is taken by
/// something else, the method's name is put in front.
fn hoist_definitions(method: &str, schema: &mut Value, definitions: &mut Map<String, Value>) {
    let own = take_definitions(schema);
    let taken = |name: &String| definitions.get(name).is_some_and(|known| *known != own[name]);
    let clashes: Vec<String> = own.keys().filter(|name| taken(name)).cloned().collect();
    let rename = |part: &mut Value| {
        for_each_object(part, &mut |object| {
            if let Some(Value::String(target)) = object.get_mut("$ref")
                && let Some(name) = target.strip_prefix("#/$defs/")
                && clashes.iter().any(|clash| clash == name)
            {
                *target = format!("#/$defs/{method}.{name}");
            }
        });
    };
    rename(schema);
    for (name, mut definition) in own {
        rename(&mut definition);
        let name = match clashes.contains(&name) {
            true => format!("{method}.{name}"),
            false => name,
        };
        definitions.insert(name, definition);
    }
}

/// Calls `visit` on every JSON object inside `value`, outermost first.
fn for_each_object(value: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            visit(object);
            object.values_mut().for_each(|inner| for_each_object(inner, visit));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_object(item, visit)),
        _ => {}
    }
}

/// Whether a parameter may be a list of values to choose among: all but lists and the label.
pub(super) fn is_tunable(method: &MethodEntry, parameter: &str) -> bool {
    let forms = forms(method, parameter);
    !forms.is_empty() && forms.iter().all(|form| !allows(form, "array"))
}

/// Whether a parameter may be a range: if it can be tuned and a mapping is not one of its values.
pub(super) fn takes_range(method: &MethodEntry, parameter: &str) -> bool {
    let mut forms = forms(method, parameter).into_iter();
    is_tunable(method, parameter) && !forms.any(|form| allows(form, "object"))
}

fn accepts_numbers(method: &MethodEntry, parameter: &str) -> bool {
    forms(method, parameter).iter().any(|form| allows(form, "number") || allows(form, "integer"))
}

fn forms<'a>(method: &'a MethodEntry, parameter: &str) -> Vec<&'a Map<String, Value>> {
    match method.schema.get("properties").and_then(|all| all.get(parameter)) {
        Some(property) => alternatives(property, &method.schema),
        None => Vec::new(),
    }
}

fn tunable(property: &Value, numbers: bool) -> Value {
    let mut plain = property.clone();
    let mut whole = Map::new();
    if let Some(object) = plain.as_object_mut() {
        for annotation in ["description", "default"] {
            if let Some(text) = object.shift_remove(annotation) {
                whole.insert(annotation.into(), text);
            }
        }
    }
    let list = json!({"type": "array", "items": plain, "minItems": 1, "uniqueItems": true});
    let mut forms = vec![plain, list];
    if numbers {
        forms.push(json!({"$ref": "#/$defs/Range"}));
    }
    whole.insert("anyOf".into(), Value::Array(forms));
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
fn allow_bare_names(schema: &mut Value, root: &Value) {
    for_each_object(schema, &mut |object| {
        let Some(Value::Array(variants)) = object.get_mut("oneOf") else {
            return;
        };
        let known: Vec<&str> =
            variants.iter().filter_map(|known| known["const"].as_str()).collect();
        let bare: Vec<Value> = variants
            .iter()
            .filter_map(Value::as_object)
            .filter_map(|variant| bare_form(variant, root))
            .filter(|bare| !known.iter().any(|name| bare["const"] == *name))
            .collect();
        variants.splice(0..0, bare);
    });
}

fn bare_form(variant: &Map<String, Value>, root: &Value) -> Option<Value> {
    let (name, options) = tag(variant)?;
    let optional = alternatives(options, root).into_iter().any(|form| {
        form.get("type").is_some()
            && allows(form, "object")
            && strings(form.get("required")).next().is_none()
    });
    let mut bare = json!({"type": "string", "const": name});
    for annotation in ["title", "description"] {
        if let Some(text) = variant.get(annotation) {
            bare[annotation] = text.clone();
        }
    }
    optional.then_some(bare)
}

/// The forms a value may take: references resolved, `anyOf` and `oneOf` flattened.
pub(super) fn alternatives<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Map<String, Value>> {
    let mut forms = Vec::new();
    collect(schema, root, 0, &mut forms);
    forms
}

fn collect<'a>(
    schema: &'a Value,
    root: &'a Value,
    depth: usize,
    forms: &mut Vec<&'a Map<String, Value>>,
) {
    /// More than any chain of references; a circle ends here.
    const DEEPEST: usize = 16;
    static ANYTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    let Some(object) = schema.as_object() else {
        forms.push(&ANYTHING);
        return;
    };
    if depth > DEEPEST {
        return;
    }
    let target = object.get("$ref").and_then(Value::as_str);
    if let Some(target) = target.and_then(|target| root.pointer(target.trim_start_matches('#'))) {
        collect(target, root, depth + 1, forms);
        return;
    }
    match object.get("anyOf").or_else(|| object.get("oneOf")) {
        Some(Value::Array(inner)) => {
            for schema in inner {
                collect(schema, root, depth + 1, forms);
            }
        }
        _ => forms.push(object),
    }
}

/// Whether a form admits values of the JSON type `kind`.
pub(super) fn allows(form: &Map<String, Value>, kind: &str) -> bool {
    match form.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => match names(form).next() {
            Some(_) => kind == "string",
            None => true,
        },
    }
}

/// The strings a form is limited to, if it is limited.
pub(super) fn names(form: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let only = form.get("const").and_then(Value::as_str);
    only.into_iter().chain(strings(form.get("enum")))
}

/// Name and content schema of an externally tagged variant.
pub(super) fn tag(form: &Map<String, Value>) -> Option<(&str, &Value)> {
    let properties = form.get("properties")?.as_object()?;
    let (name, content) = properties.iter().next()?;
    let required = strings(form.get("required")).eq([name.as_str()]);
    (properties.len() == 1 && required).then_some((name, content))
}

/// The strings in a JSON array.
pub(super) fn strings(array: Option<&Value>) -> impl Iterator<Item = &str> {
    let items = array.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(Value::as_str)
}
