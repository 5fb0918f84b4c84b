//! `index.html`: several experiments side by side, and the paper's claims under all their protocols.

use std::collections::BTreeSet;

use super::html::{self, Field, escape, list, table};
use super::{FILE, INDEX, sections};
use crate::methods;
use crate::render::csv::with_column;
use crate::render::figure;
use crate::render::{Answer, Claim, Drawn, ExportError, Summary};
use crate::spec::Protocol;
use crate::stats::Reproduction;

/// Name of the file with the numbers of the page's figure, beside the page.
pub(in crate::render) const NUMBERS: &str = "index-effect.csv";

/// The page over experiments, each with the name of its folder next to the page, and the files that go with the page.
pub(in crate::render) fn index(
    experiments: &[(String, &Summary)],
) -> Result<Vec<(String, Vec<u8>)>, ExportError> {
    let summaries: Vec<&Summary> = experiments.iter().map(|(_, summary)| *summary).collect();
    let effect = figure::effect::figure(&summaries);
    let page = page(experiments, &summaries, effect.as_ref())?;
    let mut files = vec![(INDEX.to_owned(), page.into_bytes())];
    let mut cautions: Vec<&str> =
        (summaries.iter()).flat_map(|summary| summary.cautions.iter().copied()).collect();
    cautions.sort_unstable();
    cautions.dedup();
    files.extend(effect.map(|drawn| {
        let data = with_column(&drawn.data, "cautions", &cautions.join(" "));
        (NUMBERS.to_owned(), data.into_bytes())
    }));
    Ok(files)
}

fn page(
    experiments: &[(String, &Summary)],
    summaries: &[&Summary],
    effect: Option<&Drawn>,
) -> Result<String, ExportError> {
    let title = format!("{} experiments", experiments.len());
    let mut body = format!(
        "<header>\n<h1>{title}</h1>\n<p class=\"lead\">What each found, and what they say together about the \
         paper's claims.</p>\n</header>\n<main>\n"
    );
    body += &format!(
        "<section id=\"experiments\">\n<h2>Experiments</h2>\n{}</section>\n",
        overview(experiments)
    );
    let claims = claims(summaries);
    if !claims.is_empty() {
        body += &format!(
            "<section id=\"claims\">\n<h2>The paper's claims under each protocol</h2>\n{claims}</section>\n"
        );
    }
    if let Some(drawn) = effect {
        let figure = sections::figure(drawn, NUMBERS)?;
        body +=
            &format!("<section id=\"figures\">\n<h2>Scheme and tuning</h2>\n{figure}</section>\n");
    }
    for (folder, summary) in experiments {
        body += &format!(
            "<section>\n<h2><a href=\"{}/{FILE}\">{}</a></h2>\n{}{}</section>\n",
            escape(folder),
            escape(summary.heading()),
            sections::warnings(summary),
            sections::words(summary)
        );
    }
    body += "</main>\n";
    Ok(html::page(&title, &body))
}

fn overview(experiments: &[(String, &Summary)]) -> String {
    let rows: Vec<Vec<Field>> = experiments
        .iter()
        .map(|(folder, summary)| {
            let link = format!(
                "<a href=\"{}/{FILE}\">{}</a>",
                escape(folder),
                escape(&summary.experiment)
            );
            let verdicts = |verdict: Reproduction| {
                let cells = summary.rows.iter().flat_map(|row| &row.cells);
                let count = cells.filter(|cell| cell.reproduction == Some(verdict)).count();
                match summary.paper {
                    Some(_) => Field::number(&count.to_string(), Some(count as f64)),
                    None => Field::number("–", None),
                }
            };
            let count = |count: usize| Field::number(&count.to_string(), Some(count as f64));
            vec![
                Field { html: link, key: Some(summary.experiment.clone()), class: "word" },
                Field::word(protocol(summary)),
                count(summary.counts.planned()),
                count(summary.counts.ok),
                count(summary.warnings.len()),
                verdicts(Reproduction::Reproduced),
                verdicts(Reproduction::Higher),
                verdicts(Reproduction::Lower),
                verdicts(Reproduction::NotRun),
                Field { class: "word prose", ..Field::word(summary.heading()) },
            ]
        })
        .collect();
    let header = [
        "Experiment",
        "Protocol",
        "Cells",
        "ok",
        "Warnings",
        "Reproduced",
        "Higher",
        "Lower",
        "Not run",
        "Title",
    ];
    table("", &header.map(str::to_owned), 2, &rows)
}

fn protocol(summary: &Summary) -> &'static str {
    match summary.protocol {
        Some(Protocol::Paper) => "paper",
        Some(Protocol::Tuned) => "tuned",
        None => "–",
    }
}

/// A line per claim, a column per experiment that speaks to it.
fn claims(summaries: &[&Summary]) -> String {
    let speaking: Vec<&&Summary> = summaries.iter().filter(|s| !s.claims.is_empty()).collect();
    // A claim is known by the table, the dataset's row and the method, or its label where several entries are of
    // one method.
    let key = |summary: &Summary, claim: &Claim| {
        let table = summary.paper.map(|table| table.table.clone())?;
        let dataset = summary.rows.get(claim.row)?.dataset.clone();
        let rival = summary.columns.get(claim.column)?;
        let alike = summary.columns.iter().filter(|column| column.method == rival.method);
        let title = methods::find(&rival.method).map(|entry| entry.info.title.to_owned());
        let name = title.filter(|_| alike.count() == 1).unwrap_or_else(|| rival.label.clone());
        Some((table, dataset, name))
    };
    let mut keys = Vec::new();
    let mut seen = BTreeSet::new();
    for summary in &speaking {
        for claim in &summary.claims {
            if let Some(key) = key(summary, claim).filter(|key| seen.insert(key.clone())) {
                keys.push((key, claim));
            }
        }
    }
    if keys.is_empty() {
        return String::new();
    }
    let mut header =
        ["Table", "Dataset", "Better than", "Paper's mark"].map(str::to_owned).to_vec();
    for summary in &speaking {
        let name = format!("{} ({})", summary.experiment, protocol(summary));
        header.push(format!("{name}: paper's test"));
        header.push(format!("{name}: corrected"));
    }
    let rows: Vec<Vec<Field>> = keys
        .iter()
        .map(|(found, claim)| {
            let mut fields = vec![
                Field::word(&found.0),
                Field::word(&found.1),
                Field::word(&found.2),
                Field::word(claim.mark.map_or("", |mark| mark.symbol())),
            ];
            for summary in &speaking {
                let mut claims = summary.claims.iter();
                let same = claims.find(|claim| key(summary, claim).as_ref() == Some(found));
                fields.push(answer(same.map(|claim| claim.naive)));
                fields.push(answer(same.map(|claim| claim.corrected)));
            }
            fields
        })
        .collect();
    let mut sentences: Vec<String> = Vec::new();
    for summary in &speaking {
        let sentence = crate::render::findings::claims(summary);
        sentences.extend(
            sentence.map(|text| format!("{} ({}): {text}", summary.experiment, protocol(summary))),
        );
    }
    format!("{}{}", list(&sentences), table("", &header, 4, &rows))
}

fn answer(answer: Option<Answer>) -> Field {
    let word = answer.unwrap_or(Answer::NotRun).word();
    Field {
        html: format!("<span class=\"verdict {}\">{word}</span>", word.replace(' ', "-")),
        key: Some(word.to_owned()),
        class: "word",
    }
}
