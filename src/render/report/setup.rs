//! The sections of the report that say how it was done: protocol, data, machine and commands.

use maud::{Markup, html};
use serde_json::Value;

use super::html::{definitions, list, note, plain};
use crate::analyse::{Row, Summary, protocol};
use crate::ledger::Record;
use crate::render::tables::{self, Field, Head, Kind, Table, heads};

/// What a scheme is, and where the choices of this program are told.
const SCHEMES: &str = "Scheme ovr (the paper's text): hyperplane l is close to class l, the nearest one wins. \
    Scheme rvo (the authors' code): it is close to all other classes, the farthest one wins. Where paper and code \
    differ, or the paper leaves a choice open, docs/fidelity.md of the program has the list.";

pub(super) fn protocol(summary: &Summary) -> Markup {
    let deviations = protocol::deviations(summary);
    html! {
        (definitions(&protocol::settings(summary)))
        (plain(&methods(summary)))
        @if let Some(losses) = tables::methods(summary) { (plain(&losses)) }
        (note(SCHEMES))
        @if !deviations.is_empty() {
            h3 { "Deviations from the paper's table" } "\n"
            (list(&deviations))
        }
    }
}

/// Every entry with its parameters.
fn methods(summary: &Summary) -> Table {
    let rows = summary.columns.iter().map(|column| {
        let used = summary.parameters(column.index);
        let used = used.map_or("not run yet".to_owned(), protocol::parameters);
        let used = if column.points > 1 { format!("e.g. {used}") } else { used };
        vec![
            Field::text(&column.label),
            Field::text(&column.method),
            Field::text(column.scheme.as_deref().unwrap_or("–")),
            Field::count(column.points),
            Field::text(used),
        ]
    });
    let mut head = heads(["Label", "Method", "Scheme"], ["Points tried"]);
    head.push(Head { name: "Parameters as used".to_owned(), kind: Kind::Prose });
    Table { head, rows: rows.collect(), ..Table::default() }
}

pub(super) fn data(summary: &Summary) -> Markup {
    html! {
        @for row in &summary.rows { h3 { (row.data.name) } "\n" (definitions(&about(row))) }
    }
}

/// What the registry knows of a dataset, and what was read.
fn about(row: &Row) -> Vec<(&'static str, String)> {
    let data = &row.data;
    let mut entries = Vec::new();
    if let Some(manifest) = row.manifest {
        entries.extend([
            ("what it is", manifest.title.clone()),
            ("licence", manifest.licence.clone()),
            ("source", manifest.homepage.clone()),
            ("cite", manifest.citation.clone()),
        ]);
    }
    if let Some(reason) = &data.unavailable {
        entries.push(("not to be had", reason.clone()));
        return entries;
    }
    let counts = data.classes.iter().zip(&data.class_counts);
    let counts: Vec<String> = counts.map(|(class, count)| format!("{class}: {count}")).collect();
    let size = format!(
        "{} samples, {} dimensions, {} classes; {} for training, {} for testing",
        data.samples,
        data.dims,
        data.classes.len(),
        data.n_train,
        data.n_test
    );
    entries.extend([
        ("size", size),
        ("samples by class", counts.join(", ")),
        ("SHA-256 of the values", data.hash.clone()),
    ]);
    entries.extend(data.notes.iter().map(|note| ("note", note.clone())));
    entries
}

pub(super) fn machine(summary: &Summary) -> Markup {
    let names = ["processor", "cores", "system", "architecture"];
    let recorded = names.into_iter().filter_map(|name| {
        let value = match &summary.origin["machine"][name] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some((name, value))
    });
    let entries: Vec<_> = recorded.chain(work(summary)).collect();
    html! { @if !entries.is_empty() { (definitions(&entries)) } }
}

/// Where and when the cells ran; nothing if none did.
fn work(summary: &Summary) -> Vec<(&'static str, String)> {
    let started = || summary.records().map(|record| record.started.as_str());
    let (Some(first), Some(last)) = (started().min(), started().max()) else {
        return Vec::new();
    };
    let distinct = |get: fn(&Record) -> String| {
        let mut found: Vec<String> = summary.records().map(get).collect();
        found.sort_unstable();
        found.dedup();
        found.join(", ")
    };
    let program = |record: &Record| match &record.git {
        Some(git) => format!("npsvcpp {} ({git})", record.version),
        None => format!("npsvcpp {}", record.version),
    };
    let seconds: f64 = summary.records().filter_map(|record| record.fit_seconds).sum();
    vec![
        ("hosts of the cells", distinct(|record| record.host.clone())),
        ("threads per cell", distinct(|record| record.threads.to_string())),
        ("device", distinct(|record| record.device.clone())),
        ("program", distinct(program)),
        ("cells started", format!("{first} to {last}")),
        ("time of all fits", format!("{seconds:.0} s")),
    ]
}

pub(super) fn repeat(summary: &Summary) -> Markup {
    let git = summary.records().find_map(|record| record.git.clone());
    let checkout = git.map_or(String::new(), |git| {
        let commit: String = git.chars().filter(char::is_ascii_hexdigit).collect();
        format!("git checkout {commit}\n")
    });
    let name = summary.name();
    html! {
        pre {
            (checkout)
            "npsvcpp run spec.yaml          # the spec below; the same splits, seeds and cells\n"
            "npsvcpp render results/" (name) "    # this page again from the ledger, nothing fitted"
        } "\n"
        @if let Some(spec) = &summary.spec {
            details open { summary { "spec.yaml" } "\n" pre { (spec) } } "\n"
        }
    }
}
