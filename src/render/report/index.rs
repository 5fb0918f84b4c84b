//! `index.html`: several experiments on one page, and the paper's claims under all their protocols.

use indexmap::IndexMap;
use maud::{Markup, html};

use super::html::{list, page, plain};
use super::{FILE, INDEX, figure, section, warnings, words};
use crate::analyse::{Answer, Entry, Reproduction, Summary, claims_sentence, protocol};
use crate::error::Error;
use crate::render::Figure;
use crate::render::figure::effect;
use crate::render::tables::Kind::{Number, Prose, Word};
use crate::render::tables::{Field, Head, Table};

/// Name of the file with the numbers of the page's figure, next to the page.
pub(in crate::render) const NUMBERS: &str = "index-effect.csv";

/// The page over experiments, each with the name of its folder next to the page, and the files that go with the page.
pub(in crate::render) fn index(
    experiments: &[(String, &Summary)],
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let summaries: Vec<&Summary> = experiments.iter().map(|(_, summary)| *summary).collect();
    let effect = effect::figure(&summaries);
    let svg = effect.as_ref().map(Figure::svg).transpose()?;
    let effect = effect.zip(svg);
    let title = format!("{} experiments", experiments.len());
    let body = body(&title, experiments, &summaries, effect.as_ref());
    let mut files = vec![(INDEX.to_owned(), page(&title, &body).into_bytes())];
    files.extend(effect.map(|(drawn, _)| (NUMBERS.to_owned(), drawn.data.into_bytes())));
    Ok(files)
}

fn body(
    title: &str,
    experiments: &[(String, &Summary)],
    summaries: &[&Summary],
    effect: Option<&(Figure, String)>,
) -> Markup {
    let claims = claims(summaries).map(|table| {
        html! { (list(summaries.iter().filter_map(|summary| sentence(summary)))) (plain(&table)) }
    });
    let effect = effect.map(|(drawn, svg)| figure(drawn, svg, NUMBERS));
    html! {
        header { "\n"
            h1 { (title) } "\n"
            p class="lead" {
                "The findings of each experiment, and the answers of all of them to the paper's claims."
            } "\n"
        } "\n"
        main { "\n"
            (section("experiments", "Experiments", &plain(&overview(experiments))))
            @if let Some(claims) = claims {
                (section("claims", "The paper's claims under each protocol", &claims))
            }
            @if let Some(effect) = effect { (section("figures", "Scheme and tuning", &effect)) }
            @for (folder, summary) in experiments {
                section { "\n"
                    h2 { a href=(format!("{folder}/{FILE}")) { (summary.heading()) } } "\n"
                    (warnings(summary))
                    (words(summary))
                } "\n"
            }
        } "\n"
    }
}

fn overview(experiments: &[(String, &Summary)]) -> Table {
    let count = |summary: &Summary, verdict: Reproduction| {
        let compared = summary.cells().filter_map(|cell| cell.paper.as_ref());
        let count = compared.filter(|versus| versus.verdict == verdict).count();
        summary.paper.map_or(Field::text("–"), |_| Field::count(count))
    };
    Table::of(
        experiments,
        &[
            ("Experiment", Word, &|(folder, summary)| Field {
                link: Some(format!("{folder}/{FILE}")),
                ..Field::text(summary.name())
            }),
            ("Protocol", Word, &|(_, summary)| Field::text(protocol::name(summary))),
            ("Cells", Number, &|(_, summary)| Field::count(summary.counts.planned())),
            ("ok", Number, &|(_, summary)| Field::count(summary.counts.done)),
            ("Warnings", Number, &|(_, summary)| Field::count(summary.warnings.len())),
            ("Reproduced", Number, &|(_, summary)| count(summary, Reproduction::Reproduced)),
            ("Higher", Number, &|(_, summary)| count(summary, Reproduction::Higher)),
            ("Lower", Number, &|(_, summary)| count(summary, Reproduction::Lower)),
            ("Not run", Number, &|(_, summary)| count(summary, Reproduction::NotRun)),
            ("Title", Prose, &|(_, summary)| Field::text(summary.heading())),
        ],
    )
}

fn name(summary: &Summary) -> String {
    format!("{} ({})", summary.name(), protocol::name(summary))
}

/// How many claims hold in an experiment, if it has some.
fn sentence(summary: &Summary) -> Option<String> {
    Some(format!("{}: {}", name(summary), claims_sentence(summary)?))
}

/// A claim is known by the table, the dataset's row and the method, or its label where several entries are of one
/// method. The paper's mark follows from these.
fn key(summary: &Summary, entry: Entry<'_>) -> Option<[String; 4]> {
    let rival = entry.column;
    let alike = summary.columns.iter().filter(|column| column.method == rival.method);
    let title = rival.info.map(|info| info.title.to_owned());
    let name = title.filter(|_| alike.count() == 1).unwrap_or_else(|| rival.label.clone());
    let mark = entry.cell.paper.as_ref()?.printed.mark.map_or("", |mark| mark.symbol());
    Some([summary.paper?.table.clone(), entry.row.dataset.clone(), name, mark.to_owned()])
}

/// A line per claim, two columns per experiment that has some; `None` if none has.
fn claims(summaries: &[&Summary]) -> Option<Table> {
    let has_claims = |summary: &&&Summary| summary.cells().any(|cell| cell.claim.is_some());
    let answering: Vec<&&Summary> = summaries.iter().filter(has_claims).collect();
    let mut answers: IndexMap<[String; 4], Vec<[Answer; 2]>> = IndexMap::new();
    for (index, summary) in answering.iter().enumerate() {
        for entry in summary.entries() {
            if let Some((claim, key)) = entry.cell.claim.zip(key(summary, entry)) {
                let known = answers.entry(key);
                let known = known.or_insert_with(|| vec![[Answer::NotRun; 2]; answering.len()]);
                known[index] = [claim.naive, claim.corrected];
            }
        }
    }
    let first = ["Table", "Dataset", "Better than", "Paper's mark"].map(str::to_owned);
    let columns = answering.iter().flat_map(|summary| {
        ["paper's test", "corrected"].map(|test| format!("{}: {test}", name(summary)))
    });
    let head = first.into_iter().chain(columns).map(|name| Head::new(name, Word)).collect();
    let rows = answers.into_iter().map(|(key, answers)| {
        let words = answers.into_iter().flatten().map(|answer| Field::verdict(answer.word()));
        key.map(Field::text).into_iter().chain(words).collect()
    });
    let rows: Vec<Vec<Field>> = rows.collect();
    (!rows.is_empty()).then(|| Table { head, rows, ..Table::default() })
}
