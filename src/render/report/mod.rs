//! `report.html`: everything about a results folder on one page that needs only a browser.
//!
//! First comes what was found: words, verdicts, tables and figures. [`setup`] has the rest: protocol, data, machine and
//! how to repeat it. [`details`] is what cells show when pointed at, [`html`] writes tables and pages, `style.css` and
//! `script.js` go into the page as they are. [`index`] is the page over several experiments.

mod details;
mod html;
mod index;
mod setup;

use maud::{Markup, PreEscaped, html};

pub(super) use index::{NUMBERS, index};

use super::Figure;
use super::tables;
use crate::analyse::text::letter;
use crate::analyse::{Summary, protocol};

/// Name of the page in a results folder.
pub(super) const FILE: &str = "report.html";
/// Name of the page over several experiments.
pub(super) const INDEX: &str = "index.html";
/// Part of every page.
pub(super) const GENERATOR: &str = "<meta name=\"generator\" content=\"npsvcpp\">";

/// The whole page. `figures` are those of the experiment, each with its SVG.
pub fn page(summary: &Summary, figures: &[(Figure, String)]) -> String {
    let drawn = html! {
        @for (drawn, svg) in figures { (figure(drawn, svg, &format!("figures/{}.csv", drawn.name))) }
    };
    let parts = [
        ("words", "In words", words(summary)),
        ("verdict", "Comparison with the paper", titled([tables::comparison(summary)])),
        ("claims", "The paper's claims", titled([tables::claims(summary)])),
        ("accuracy", "Test accuracy", accuracy(summary)),
        ("tests", "Differences and tests", tests(summary)),
        ("figures", "Figures", drawn),
        ("protocol", "Protocol and deviations", setup::protocol(summary)),
        ("data", "Data", setup::data(summary)),
        ("machine", "Machine", setup::machine(summary)),
        ("repeat", "How to repeat it", setup::repeat(summary)),
    ];
    let parts = || parts.iter().filter(|(_, _, body)| !body.0.is_empty());
    let body = html! {
        header { "\n"
            h1 { (summary.heading()) } "\n"
            p class="lead" { (summary.state) } "\n"
            nav aria-label="sections" {
                ul { @for (id, title, _) in parts() { li { a href=(format!("#{id}")) { (title) } } } }
            } "\n"
        } "\n"
        (warnings(summary))
        main { "\n"
            @for (id, title, body) in parts() { (section(id, title, body)) }
        } "\n"
        footer class="note" { p { (summary.provenance) } } "\n"
        div id="details" role="dialog" aria-label="details of a cell" hidden {} "\n"
        script type="application/json" id="cells" { (PreEscaped(details::json(summary))) } "\n"
    };
    html::page(summary.heading(), &body)
}

fn section(id: &str, title: &str, body: &Markup) -> Markup {
    html! { section id=(id) { "\n" h2 { (title) } "\n" (body) } "\n" }
}

/// What a reader must know before believing anything below.
fn warnings(summary: &Summary) -> Markup {
    html! {
        @if !summary.warnings.is_empty() {
            aside class="warnings" role="note" { "\n"
                h2 { "Warnings" } "\n"
                (html::list(&summary.warnings))
            } "\n"
        }
    }
}

fn words(summary: &Summary) -> Markup {
    let declared = protocol::declared(summary);
    let nothing = summary.findings.is_empty().then_some("No results yet.");
    let findings = summary.findings.iter().map(String::as_str);
    let state = [summary.state.as_str()].into_iter();
    html::list(state.chain(declared).chain(nothing).chain(findings))
}

/// Tables below their captions.
fn titled<const N: usize>(tables: [Option<tables::Table>; N]) -> Markup {
    html! { @for table in tables.iter().flatten() { (html::titled(table)) } }
}

fn tests(summary: &Summary) -> Markup {
    titled([
        tables::differences(summary),
        tables::pairs(summary),
        tables::times(summary),
        tables::wins(summary),
    ])
}

/// The table itself, with its footnotes.
fn accuracy(summary: &Summary) -> Markup {
    let mut table = tables::accuracy(summary);
    table.caption += &format!(
        "; point at or tap a number for its {}, parameters and certificates",
        summary.repeats()
    );
    html! {
        (html::titled(&table))
        @if !summary.footnotes.is_empty() {
            ul class="note" { "\n"
                @for (index, note) in summary.footnotes.iter().enumerate() {
                    li { sup { (letter(index)) } " " (note) } "\n"
                }
            } "\n"
        }
    }
}

/// A figure whose numbers are in the file `numbers`, seen from the page.
fn figure(drawn: &Figure, svg: &str, numbers: &str) -> Markup {
    html! {
        figure id=(format!("figure-{}", drawn.name)) { "\n"
            div class="wide" { (PreEscaped(svg)) } "\n"
            figcaption { (drawn.title) "; its numbers are in " (numbers) "." } "\n"
        } "\n"
    }
}
