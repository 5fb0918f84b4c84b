//! What a spec may name: the registries of methods and datasets, in the form [`crate::spec`] reads.

use serde_json::Value;

use crate::data;
use crate::methods::{ConfigureError, METHODS};
use crate::paper;
use crate::spec::{Catalogue, DatasetEntry, MethodEntry};

/// All methods and datasets of this build.
pub fn catalogue() -> Catalogue {
    let methods = METHODS
        .iter()
        .map(|entry| MethodEntry {
            name: entry.info.name,
            title: entry.info.title,
            about: entry.info.about,
            schema: entry.schema(),
            check: Box::new(move |params: &Value| match entry.point(params) {
                Ok(point) => Ok(point.params),
                Err(ConfigureError::Range(bad)) => {
                    let fragment = format!("is {}, expected {}", bad.found, bad.expected);
                    Err((bad.parameter, fragment))
                }
                Err(ConfigureError::Shape(error)) => Err((String::new(), error.to_string())),
            }),
        })
        .collect();
    let datasets = data::registry::all()
        .iter()
        .map(|entry| DatasetEntry {
            name: entry.manifest.name.clone(),
            title: entry.manifest.title.clone(),
        })
        .collect();
    // Tables of the appendix have no number that `reproduces` could name.
    let tables = paper::tables().iter();
    let tables = tables.filter_map(|table| table.table.parse().ok()).collect();
    Catalogue { methods, datasets, tables }
}
