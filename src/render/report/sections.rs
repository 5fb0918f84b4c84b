//! The sections of the report that say what was found, each as markup; an empty one is left out.

use super::html::{Field, escape, list, table, text_table};
use crate::render::summary::{Cell, Place, Row};
use crate::render::tables;
use crate::render::text::{letter, number, p_value, plus_minus, signed};
use crate::render::{Drawn, ExportError, Summary, reproduction};
use crate::spec::Protocol;
use crate::stats::Reproduction;

/// What a reader must know before believing anything below.
pub(super) fn warnings(summary: &Summary) -> String {
    if summary.warnings.is_empty() {
        return String::new();
    }
    format!(
        "<aside class=\"warnings\" role=\"note\">\n<h2>Warnings</h2>\n{}</aside>\n",
        list(&summary.warnings)
    )
}

pub(super) fn words(summary: &Summary) -> String {
    let mut sentences = vec![summary.state.clone()];
    sentences.extend(protocol(summary).map(str::to_owned));
    if summary.findings.is_empty() {
        sentences.push("There are no results to speak of yet.".to_owned());
    }
    sentences.extend(summary.findings.iter().cloned());
    list(&sentences)
}

/// What the experiment's protocol is, as far as its settings bear it out.
fn protocol(summary: &Summary) -> Option<&'static str> {
    const NOT_ALIKE: [&str; 3] = ["chosen-on-test", "unequal-budgets", "partly-tuned"];
    let is_doubtful = summary.cautions.iter().any(|caution| NOT_ALIKE.contains(caution));
    let is_tuned = summary.plan.methods.iter().any(|method| method.points > 1);
    Some(match summary.protocol? {
        Protocol::Paper if !is_tuned => "Protocol paper: one documented, fixed setting per method.",
        Protocol::Paper => {
            "Declared as protocol paper, but some methods are tuned: see the warnings."
        }
        Protocol::Tuned if is_tuned && !is_doubtful => {
            "Protocol tuned: the same budget of cross-validation on training data for every method."
        }
        Protocol::Tuned => {
            "Declared as protocol tuned, but not all methods are tuned alike on training data: see the warnings."
        }
    })
}

/// Every number of the paper, ours, and the verdict.
pub(super) fn verdicts(summary: &Summary) -> String {
    let Some(paper) = summary.paper else {
        return String::new();
    };
    let mut rows = Vec::new();
    for (row_index, row) in summary.rows.iter().enumerate() {
        for (index, (cell, column)) in row.cells.iter().zip(&summary.columns).enumerate() {
            let Some(theirs) = cell.paper else {
                continue;
            };
            let mark = theirs.mark.map_or(String::new(), |mark| format!(" {}", mark.symbol()));
            let shown = plus_minus(theirs.value, theirs.deviation) + &mark;
            let verdict = cell.reproduction.unwrap_or(Reproduction::NotRun);
            rows.push(vec![
                Field::word(&dataset(row)),
                Field::word(&column.label),
                Field::number(&shown, Some(theirs.value)),
                ours(summary, cell, (row_index, index)),
                Field::number(&cell.difference.map_or("–".to_owned(), signed), cell.difference),
                Field::number(
                    &cell.welch.map_or("–".to_owned(), |test| p_value(test.p)),
                    cell.welch.map(|test| test.p),
                ),
                seen(cell),
                Field {
                    html: chip(verdict.word()),
                    key: Some(verdict.word().to_owned()),
                    class: "word",
                },
            ]);
        }
    }
    let header =
        ["Dataset", "Method", "Paper", "Ours", "Difference", "Welch's p", "Seen from", "Verdict"];
    let caption = format!("The paper's Table {}: {}", paper.table, paper.caption);
    let legend = format!(
        "{} Seen from: the smallest difference in points that would have been called higher or lower.",
        reproduction::legend()
    );
    format!(
        "{}<p class=\"note\">{}</p>\n",
        table(&caption, &header.map(str::to_owned), 2, &rows),
        escape(&legend)
    )
}

fn seen(cell: &Cell) -> Field {
    let seen = reproduction::smallest_seen(cell);
    Field::number(&seen.map_or("–".to_owned(), number), seen)
}

fn chip(word: &str) -> String {
    format!("<span class=\"verdict {}\">{word}</span>", word.replace(' ', "-"))
}

pub(super) fn claims(summary: &Summary) -> String {
    tables::paper_claims(summary).map_or(String::new(), |table| {
        format!("<p>{}</p>\n{}", escape(&table.caption), text_table(&table))
    })
}

/// The table itself.
pub(super) fn accuracy(summary: &Summary) -> String {
    let mut header = vec!["Dataset".to_owned()];
    header.extend(summary.columns.iter().map(|column| column.label.clone()));
    header.push("Train, test, dims, classes".to_owned());
    let mut rows: Vec<Vec<Field>> = Vec::new();
    for (row_index, row) in summary.rows.iter().enumerate() {
        let notes = superscript(&summary.letters(&row.footnotes));
        let mut fields = vec![Field {
            html: escape(&dataset(row)) + &notes,
            key: Some(row.dataset.clone()),
            class: "word",
        }];
        let cells = row.cells.iter().enumerate();
        fields.extend(cells.map(|(index, cell)| ours(summary, cell, (row_index, index))));
        let size = row.shape.map_or("–".to_owned(), |s| {
            format!("{}, {}, {}, {}", s.n_train, s.n_test, s.dims, s.classes)
        });
        fields.push(Field::number(&size, row.shape.map(|s| s.n_train as f64)));
        rows.push(fields);
    }
    let repeats = summary.repeats();
    let mut text = table(
        &format!(
            "Test accuracy in percent, mean ± standard deviation over {repeats}; point at or tap a number for its \
             {repeats}, parameters and certificates"
        ),
        &header,
        1,
        &rows,
    );
    text += "<p class=\"note\">Bold: best of a row; italic: second best.</p>\n";
    if let Some(ranks) = &summary.ranks {
        let average: Vec<String> = (summary.columns.iter().zip(&ranks.average))
            .map(|(column, rank)| format!("{} {}", column.label, number(*rank)))
            .collect();
        text += &format!("<p class=\"note\">Average ranks: {}.</p>\n", escape(&average.join(", ")));
    }
    for legend in summary.legend() {
        text += &format!("<p class=\"note\">{}</p>\n", escape(&legend));
    }
    if !summary.footnotes.is_empty() {
        let notes = summary.footnotes.iter().enumerate();
        let notes = notes.map(|(index, note)| {
            format!("<li><sup>{}</sup> {}</li>\n", letter(index), escape(note))
        });
        text += &format!("<ul class=\"note\">\n{}</ul>\n", notes.collect::<String>());
    }
    text
}

fn dataset(row: &Row) -> String {
    let other = if row.other_problem { " ≠" } else { "" };
    format!("{}{other}", row.dataset)
}

fn superscript(letters: &str) -> String {
    if letters.is_empty() { String::new() } else { format!("<sup>{letters}</sup>") }
}

/// A number of ours, which opens its details.
fn ours(summary: &Summary, cell: &Cell, at: (usize, usize)) -> Field {
    let notes = superscript(&summary.letters(&cell.footnotes));
    let shown = match cell.mean {
        None => escape(cell.word()),
        Some(mean) => {
            let class = match cell.place {
                Place::Best => "best",
                Place::SecondBest => "second",
                Place::Other => "",
            };
            let deviation = cell.deviation.map_or(String::new(), |sd| format!(" ± {}", number(sd)));
            let marks = Some(cell.marks()).filter(|marks| !marks.is_empty());
            let marks = marks.map_or(String::new(), |marks| {
                format!(" <span class=\"marks\">{}</span>", escape(&marks))
            });
            let share = cell.share().map_or(String::new(), |share| format!(" [{share}]"));
            format!("<span class=\"{class}\">{}</span>{deviation}{marks}{share}", number(mean))
        }
    };
    Field {
        html: format!(
            "<button type=\"button\" data-cell=\"{},{}\">{shown}</button>{notes}",
            at.0, at.1
        ),
        key: Some(cell.mean.map_or(String::new(), |mean| mean.to_string())),
        class: "",
    }
}

pub(super) fn tests(summary: &Summary) -> String {
    let mut text = String::new();
    for found in [tables::differences(summary), tables::pairs(summary), tables::times(summary)]
        .into_iter()
        .flatten()
    {
        text += &format!("<h3>{}</h3>\n{}", escape(&found.caption), text_table(&found));
    }
    text + &tallies(summary)
}

/// Wins, ties and losses of the reference.
fn tallies(summary: &Summary) -> String {
    let reference = summary.comparison.as_ref().map(|comparison| comparison.reference);
    let Some(label) = reference.and_then(|index| summary.columns.get(index)).map(|c| &c.label)
    else {
        return String::new();
    };
    let rows: Vec<Vec<Field>> = (summary.columns.iter().zip(&summary.tallies))
        .filter_map(|(column, tally)| {
            let tally = tally.as_ref()?;
            Some(vec![
                Field::word(&column.label),
                Field::plain(&tally.means.to_string()),
                Field::plain(&tally.naive.to_string()),
                Field::plain(&tally.corrected.to_string()),
            ])
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = ["Against", "by means", "by the paper's test", "by the corrected test"];
    format!(
        "<h3>{} wins/ties/losses over datasets</h3>\n{}",
        escape(label),
        table("", &header.map(str::to_owned), 1, &rows)
    )
}

pub(super) fn figures(figures: &[Drawn]) -> Result<String, ExportError> {
    let mut text = String::new();
    for drawn in figures {
        text += &figure(drawn, &format!("figures/{}.csv", drawn.name))?;
    }
    Ok(text)
}

/// A figure whose numbers are in the file `numbers`, seen from the page.
pub(super) fn figure(drawn: &Drawn, numbers: &str) -> Result<String, ExportError> {
    let svg = String::from_utf8_lossy(&drawn.svg()?).into_owned();
    Ok(format!(
        "<figure id=\"figure-{}\">\n<div class=\"wide\">{svg}</div>\n<figcaption>{}; its numbers are in \
         {numbers}.</figcaption>\n</figure>\n",
        drawn.name,
        escape(&drawn.title)
    ))
}
