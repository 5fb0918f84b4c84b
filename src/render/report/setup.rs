//! The sections of the report about its making: protocol, data, machine and commands.

use maud::{Markup, html};

use super::html::{definitions, list, note, plain};
use crate::analyse::{Row, Summary, program, protocol};
use crate::ledger::Record;
use crate::render::tables;

/// What a scheme is, and where the choices of this program are listed.
const SCHEMES: &str = "Scheme ovr (the paper's text): hyperplane l is close to class l, the nearest one wins. \
    Scheme rvo (the authors' code): it is close to all other classes, the farthest one wins. Where paper and code \
    differ, or the paper leaves a choice open, docs/fidelity.md lists our choices.";

pub(super) fn protocol(summary: &Summary) -> Markup {
    let deviations = protocol::deviations(summary);
    html! {
        (definitions(&protocol::settings(&summary.plan)))
        (plain(&tables::methods(summary)))
        @if let Some(losses) = tables::losses(summary) { (plain(&losses)) }
        (note(SCHEMES))
        @if !deviations.is_empty() {
            h3 { "Deviations from the paper's table" } "\n"
            (list(&deviations))
        }
    }
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
        entries.push(("unavailable", reason.clone()));
        return entries;
    }
    let counts = data.classes.iter().zip(&data.class_counts);
    let counts: Vec<String> = counts.map(|(class, count)| format!("{class}: {count}")).collect();
    entries.extend([
        ("size", format!("{} samples; {}", data.samples, row.size())),
        ("samples by class", counts.join(", ")),
        ("SHA-256 of the values", data.hash.clone()),
    ]);
    entries.extend(data.notes.iter().map(|note| ("note", note.clone())));
    entries
}

pub(super) fn machine(summary: &Summary) -> Markup {
    let machine = &summary.origin["machine"];
    let names = ["processor", "cores", "system", "architecture"];
    let recorded = names.into_iter().filter(|name| !machine[name].is_null());
    let recorded = recorded.map(|name| (name, protocol::value_of(&machine[name])));
    let entries: Vec<_> = recorded.chain(work(summary)).collect();
    html! { @if !entries.is_empty() { (definitions(&entries)) } }
}

/// Where and when the cells ran; nothing if none did.
fn work(summary: &Summary) -> Vec<(&'static str, String)> {
    let started = summary.distinct(|record| record.started.clone());
    let [Some(first), Some(last)] = [started.first(), started.last()] else {
        return Vec::new();
    };
    let distinct = |get: fn(&Record) -> String| summary.distinct(get).join(", ");
    let seconds: f64 = summary.records().filter_map(|record| record.fit_seconds).sum();
    vec![
        ("hosts of the cells", distinct(|record| record.host.clone())),
        ("threads per cell", distinct(|record| record.threads.to_string())),
        ("device", distinct(|record| record.device.clone())),
        ("program", distinct(|record| format!("npsvcpp {}", program(record)))),
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
