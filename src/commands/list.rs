//! `list methods|datasets|experiments`.

use std::path::Path;

use npsvcpp::data::registry;
use npsvcpp::methods::METHODS;
use npsvcpp::spec;
use npsvcpp::{Error, Exit};
use serde_json::Value;

use super::{Failure, store};
use crate::cli::{DataArgs, Listed};
use crate::output::show;

/// The licence of most datasets.
const UNKNOWN_LICENCE: &str = "not stated by the publisher";

pub fn list(what: Listed, data: &DataArgs) -> Result<Exit, Failure> {
    match what {
        Listed::Methods => methods(),
        Listed::Datasets => datasets(data)?,
        Listed::Experiments => experiments()?,
    }
    Ok(Exit::Complete)
}

fn methods() {
    for entry in METHODS.iter() {
        let reason = entry.unavailable_reason();
        let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
        let info = entry.info;
        show!("{:<10} {}: {}{reason}", info.name, info.title, info.about);
        let schema = entry.schema();
        for (name, default) in entry.defaults.as_object().into_iter().flatten() {
            let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            show!("    {name:<14} {default:<24} {}", about(&schema, name));
        }
    }
}

/// What a parameter is for and, where these are words, its possible values.
fn about(schema: &Value, parameter: &str) -> String {
    let property = &schema["properties"][parameter];
    let definition = property["$ref"]
        .as_str()
        .and_then(|path| schema.pointer(path.trim_start_matches('#')))
        .unwrap_or(property);
    let described = [property, definition].map(|part| part["description"].as_str());
    let description = described.into_iter().flatten().next().unwrap_or_default();
    let paragraph = description.split("\n\n").next().unwrap_or_default();
    let words = definition["oneOf"].as_array().into_iter().flatten();
    let words: Vec<&str> = words.filter_map(|one| one["const"].as_str()).collect();
    let words = if words.is_empty() { String::new() } else { format!(" [{}]", words.join(", ")) };
    paragraph.replace('\n', " ") + &words
}

fn datasets(data: &DataArgs) -> Result<(), Error> {
    let store = store(data)?;
    let width = registry::names().map(str::len).max().unwrap_or(0);
    for entry in registry::all() {
        let dataset = &entry.manifest;
        let shape = format!("{} x {} x {}", dataset.samples, dataset.dims, dataset.classes());
        let place = match store.find_files(entry) {
            _ if entry.is_embedded() => "in program",
            Some(_) => "here",
            None if dataset.is_by_hand() => "by hand",
            None => "download",
        };
        let split = if dataset.official.is_some() { ", official split" } else { "" };
        show!("{:<width$}  {shape:<19} {place:<10}  {}{split}", dataset.name, dataset.title);
        if dataset.licence != UNKNOWN_LICENCE {
            show!("{:<width$}  licence: {}", "", dataset.licence);
        }
    }
    show!("  samples x features x classes; licences are {UNKNOWN_LICENCE} unless given");
    show!(
        "  `npsvcpp data path NAME` prints where the files are or belong, `npsvcpp data fetch NAME` downloads them"
    );
    Ok(())
}

fn experiments() -> Result<(), Error> {
    let folder = Path::new("experiments");
    let specs = spec::files(folder).map_err(|error| {
        Error::input(format!("cannot read the folder {}: {error}", folder.display()))
    })?;
    for path in specs {
        match spec::load(&path) {
            Ok(loaded) => show!("{:<34} {}", path.display(), loaded.experiment.title),
            Err(_) => show!("{:<34} not valid; `npsvcpp check` shows why", path.display()),
        }
    }
    Ok(())
}
