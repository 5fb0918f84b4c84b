//! `index.html`: several experiments on one page, and the paper's claims under all their protocols.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::html::{list, page, plain};
use super::{FILE, INDEX, figure, warnings, words};
use crate::analyse::{Answer, Claim, Entry, Reproduction, Summary, claims_sentence, protocol};
use crate::error::Error;
use crate::render::Figure;
use crate::render::figure::effect;
use crate::render::tables::{Field, Head, Kind, Table, heads};

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
    html! {
        header { "\n"
            h1 { (title) } "\n"
            p class="lead" {
                "What each found, and what they say together about the paper's claims."
            } "\n"
        } "\n"
        main { "\n"
            section id="experiments" { "\n" h2 { "Experiments" } "\n" (plain(&overview(experiments))) } "\n"
            @if let Some(claims) = claims(summaries) {
                section id="claims" { "\n"
                    h2 { "The paper's claims under each protocol" } "\n"
                    (list(sentences(summaries)))
                    (plain(&claims))
                } "\n"
            }
            @if let Some((drawn, svg)) = effect {
                section id="figures" { "\n" h2 { "Scheme and tuning" } "\n" (figure(drawn, svg, NUMBERS)) } "\n"
            }
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
    let rows = experiments.iter().map(|(folder, summary)| {
        let link = Some(format!("{folder}/{FILE}"));
        let verdicts = |verdict: Reproduction| {
            let compared = summary.entries().filter_map(|entry| entry.cell.paper.as_ref());
            let count = compared.filter(|versus| versus.verdict == verdict).count();
            summary.paper.map_or(Field::text("–"), |_| Field::count(count))
        };
        vec![
            Field { link, ..Field::text(summary.name()) },
            Field::text(protocol::name(summary)),
            Field::count(summary.counts.planned()),
            Field::count(summary.counts.done),
            Field::count(summary.warnings.len()),
            verdicts(Reproduction::Reproduced),
            verdicts(Reproduction::Higher),
            verdicts(Reproduction::Lower),
            verdicts(Reproduction::NotRun),
            Field::text(summary.heading()),
        ]
    });
    let numbers = ["Cells", "ok", "Warnings", "Reproduced", "Higher", "Lower", "Not run"];
    let mut head = heads(["Experiment", "Protocol"], numbers);
    head.push(Head { name: "Title".to_owned(), kind: Kind::Prose });
    Table { head, rows: rows.collect(), ..Table::default() }
}

/// The paper's claims with our answers.
fn claimed(summary: &Summary) -> impl Iterator<Item = (Entry<'_>, Claim)> {
    summary.entries().filter_map(|entry| Some((entry, entry.cell.claim?)))
}

fn name(summary: &Summary) -> String {
    format!("{} ({})", summary.name(), protocol::name(summary))
}

/// How the claims stand in each experiment that has some.
fn sentences(summaries: &[&Summary]) -> Vec<String> {
    let sentence =
        |summary: &&Summary| Some(format!("{}: {}", name(summary), claims_sentence(summary)?));
    summaries.iter().filter_map(sentence).collect()
}

/// A claim is known by the table, the dataset's row and the method, or its label where several entries are of one
/// method.
fn key(summary: &Summary, entry: Entry<'_>) -> Option<[String; 3]> {
    let table = summary.paper?.table.clone();
    let rival = entry.column;
    let alike = summary.columns.iter().filter(|column| column.method == rival.method);
    let title = rival.info.map(|info| info.title.to_owned());
    let name = title.filter(|_| alike.count() == 1).unwrap_or_else(|| rival.label.clone());
    Some([table, entry.row.dataset.clone(), name])
}

/// A line per claim, two columns per experiment that has some; `None` if none has.
fn claims(summaries: &[&Summary]) -> Option<Table> {
    let has_claims = |summary: &&&Summary| claimed(summary).next().is_some();
    let speaking: Vec<&&Summary> = summaries.iter().filter(has_claims).collect();
    let mut seen = BTreeSet::new();
    let mut rows: Vec<Vec<Field>> = Vec::new();
    for summary in &speaking {
        for (entry, _) in claimed(summary) {
            let Some(found) = key(summary, entry).filter(|key| seen.insert(key.clone())) else {
                continue;
            };
            let mark = entry.cell.paper.as_ref().and_then(|versus| versus.printed.mark);
            let mut fields: Vec<Field> = found.iter().map(Field::text).collect();
            fields.push(Field::text(mark.map_or("", |mark| mark.symbol())));
            for other in &speaking {
                let same =
                    claimed(other).find(|(entry, _)| key(other, *entry).as_ref() == Some(&found));
                let answers =
                    same.map_or([Answer::NotRun; 2], |(_, claim)| [claim.naive, claim.corrected]);
                fields.extend(answers.map(|answer| Field::verdict(answer.word())));
            }
            rows.push(fields);
        }
    }
    let first = ["Table", "Dataset", "Better than", "Paper's mark"].map(str::to_owned);
    let answers = speaking.iter().flat_map(|summary| {
        let name = name(summary);
        [format!("{name}: paper's test"), format!("{name}: corrected")]
    });
    let head = heads(first.into_iter().chain(answers), []);
    (!rows.is_empty()).then(|| Table { head, rows, ..Table::default() })
}
