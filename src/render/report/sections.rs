//! The sections of the report, each as markup; an empty one is left out.

use serde_json::Value;

use super::details::spelt;
use super::html::{Field, escape, list, table, text_table};
use crate::data::registry;
use crate::render::summary::{Cell, Place, Row};
use crate::render::tables;
use crate::render::text::{counted, letter, number, p_value, plus_minus, signed};
use crate::render::{Drawn, ExportError, Summary};
use crate::spec::{Protocol, SelectOn};
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
    let protocol = summary.protocol.map(|protocol| match protocol {
        Protocol::Paper => {
            "Protocol paper: one documented, fixed setting per method, tuned on nothing."
        }
        Protocol::Tuned => {
            "Protocol tuned: the same budget of cross-validation on training data for every method."
        }
    });
    let mut sentences = vec![summary.state.clone()];
    sentences.extend(protocol.map(str::to_owned));
    if summary.findings.is_empty() {
        sentences.push("There are no results to speak of yet.".to_owned());
    }
    sentences.extend(summary.findings.iter().cloned());
    list(&sentences)
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
            let mark = theirs
                .mark
                .map_or(String::new(), |mark| format!(" {}", mark.symbol()));
            let shown = plus_minus(theirs.value, theirs.deviation) + &mark;
            let verdict = cell.reproduction.unwrap_or(Reproduction::NotRun);
            rows.push(vec![
                Field::word(&dataset(row)),
                Field::word(&column.label),
                Field::number(&shown, Some(theirs.value)),
                ours(summary, cell, (row_index, index)),
                Field::number(
                    &cell.difference.map_or("–".to_owned(), signed),
                    cell.difference,
                ),
                Field::number(
                    &cell.welch.map_or("–".to_owned(), |test| p_value(test.p)),
                    cell.welch.map(|test| test.p),
                ),
                Field {
                    html: chip(verdict.word()),
                    key: Some(verdict.word().to_owned()),
                    class: "word",
                },
            ]);
        }
    }
    let header = [
        "Dataset",
        "Method",
        "Paper",
        "Ours",
        "Difference",
        "Welch's p",
        "Verdict",
    ];
    let caption = format!("The paper's Table {}: {}", paper.table, paper.caption);
    let legend = crate::render::reproduction::legend();
    format!(
        "{}<p class=\"note\">{}</p>\n",
        table(&caption, &header.map(str::to_owned), 2, &rows),
        escape(&legend)
    )
}

fn chip(word: &str) -> String {
    format!(
        "<span class=\"verdict {}\">{word}</span>",
        word.replace(' ', "-")
    )
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
    let mut text = table(
        "Test accuracy in percent, mean ± standard deviation over splits; point at or tap a number for its splits, parameters and certificates",
        &header,
        1,
        &rows,
    );
    text += "<p class=\"note\">Bold: best of a row; italic: second best.</p>\n";
    if let Some(ranks) = &summary.ranks {
        let average: Vec<String> = (summary.columns.iter().zip(&ranks.average))
            .map(|(column, rank)| format!("{} {}", column.label, number(*rank)))
            .collect();
        text += &format!(
            "<p class=\"note\">Average ranks: {}.</p>\n",
            escape(&average.join(", "))
        );
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
    if letters.is_empty() {
        String::new()
    } else {
        format!("<sup>{letters}</sup>")
    }
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
            let deviation = cell
                .deviation
                .map_or(String::new(), |sd| format!(" ± {}", number(sd)));
            let marks = Some(cell.marks()).filter(|marks| !marks.is_empty());
            let marks = marks.map_or(String::new(), |marks| {
                format!(" <span class=\"marks\">{}</span>", escape(&marks))
            });
            let share = cell
                .share()
                .map_or(String::new(), |share| format!(" [{share}]"));
            format!(
                "<span class=\"{class}\">{}</span>{deviation}{marks}{share}",
                number(mean)
            )
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
    for found in [
        tables::differences(summary),
        tables::pairs(summary),
        tables::times(summary),
    ]
    .into_iter()
    .flatten()
    {
        text += &format!(
            "<h3>{}</h3>\n{}",
            escape(&found.caption),
            text_table(&found)
        );
    }
    text + &tallies(summary)
}

/// Wins, ties and losses of the reference.
fn tallies(summary: &Summary) -> String {
    let reference = summary
        .comparison
        .as_ref()
        .map(|comparison| comparison.reference);
    let Some(label) = reference
        .and_then(|index| summary.columns.get(index))
        .map(|c| &c.label)
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
    let header = [
        "Against",
        "by means",
        "by the paper's test",
        "by the corrected test",
    ];
    format!(
        "<h3>{} wins/ties/losses over datasets</h3>\n{}",
        escape(label),
        table("", &header.map(str::to_owned), 1, &rows)
    )
}

pub(super) fn figures(figures: &[Drawn]) -> Result<String, ExportError> {
    let mut text = String::new();
    for drawn in figures {
        let svg = String::from_utf8_lossy(&drawn.svg()?).into_owned();
        text += &format!(
            "<figure id=\"figure-{0}\">\n<div class=\"wide\">{svg}</div>\n<figcaption>{1}; its numbers are in \
             figures/{0}.csv.</figcaption>\n</figure>\n",
            drawn.name,
            escape(&drawn.title)
        );
    }
    Ok(text)
}

pub(super) fn protocol(summary: &Summary) -> String {
    let experiment = &summary.plan.experiment;
    let splits = &experiment.splits;
    let stratified = if splits.stratified {
        "stratified"
    } else {
        "not stratified"
    };
    let mut entries = vec![
        ("seed", experiment.seed.to_string()),
        (
            "splits",
            format!(
                "{}, {} % for training, {stratified}; the same for every method",
                counted(splits.repeats, "random split"),
                (splits.train_fraction * 1e4).round() / 1e2
            ),
        ),
        ("kernel", json(&experiment.kernel)),
        ("jitter", experiment.jitter.to_string()),
    ];
    if !experiment.factor.is_full() {
        entries.push(("kernel matrix", json(&experiment.factor)));
    }
    let selection = match &experiment.select {
        Some(select) if summary.plan.methods.iter().any(|method| method.points > 1) => {
            let on = match select.on {
                SelectOn::Training => "the training samples of the split",
                SelectOn::Test => "THE TEST SAMPLES of the split",
            };
            let part = select
                .subsample
                .map_or(String::new(), |n| format!(", at most {n} of them"));
            let once = if select.once {
                ", once per dataset on its first split"
            } else {
                ""
            };
            match select.on {
                SelectOn::Training => format!(
                    "by {}-fold cross-validation on {on}{part}{once}",
                    select.folds
                ),
                SelectOn::Test => format!("by the accuracy on {on}{once}"),
            }
        }
        _ => "none: all parameters are fixed".to_owned(),
    };
    entries.push(("choice of parameters", selection));
    if let Some(compare) = &experiment.compare {
        let levels: Vec<String> = compare.levels.iter().map(f64::to_string).collect();
        entries.push((
            "tests",
            format!(
                "against {}, levels {}",
                compare.against,
                levels.join(" and ")
            ),
        ));
    }
    let mut text = definitions(&entries);
    let rows: Vec<Vec<Field>> = (summary.plan.methods.iter().enumerate())
        .map(|(index, method)| {
            let used = summary
                .parameters(index)
                .map_or("not run yet".to_owned(), spelt);
            let used = if method.points > 1 {
                format!("e.g. {used}")
            } else {
                used
            };
            vec![
                Field::word(&method.label),
                Field::word(&method.method),
                Field::word(method.scheme.as_deref().unwrap_or("–")),
                Field::number(&method.points.to_string(), Some(method.points as f64)),
                Field {
                    class: "word prose",
                    ..Field::word(&used)
                },
            ]
        })
        .collect();
    let header = [
        "Label",
        "Method",
        "Scheme",
        "Points tried",
        "Parameters as used",
    ];
    text += &table("", &header.map(str::to_owned), 3, &rows);
    text += &tables::methods(summary).map_or(String::new(), |table| text_table(&table));
    text += "<p class=\"note\">Scheme ovr (the paper's text): hyperplane l is close to class l, the nearest one wins. \
             Scheme rvo (the authors' code): it is close to all other classes, the farthest one wins. Where paper \
             and code differ, or the paper leaves a choice open, docs/fidelity.md of the program has the list.</p>\n";
    let deviations: Vec<String> = deviations(summary);
    if !deviations.is_empty() {
        text += &format!(
            "<h3>Deviations from the paper's table</h3>\n{}",
            list(&deviations)
        );
    }
    text
}

/// What differs from the experiment behind the paper's table.
fn deviations(summary: &Summary) -> Vec<String> {
    if summary.paper.is_none() {
        return Vec::new();
    }
    let experiment = &summary.plan.experiment;
    let mut found = vec![
        "The paper does not say how its hyperparameters were chosen; ours are those above.".to_owned(),
        "The paper does not say which multi-class scheme its rivals use, nor which multi-class SVM; see the \
         schemes above. Our SVM is one versus one."
            .to_owned(),
    ];
    if experiment.splits.repeats != 10 || experiment.splits.train_fraction != 0.6 {
        found.push("The paper has 10 random splits with 60 % for training.".to_owned());
    }
    let others = summary.rows.iter().filter(|row| row.other_problem);
    found.extend(others.map(|row| {
        format!(
            "{}: another problem than the paper's row, see the warnings.",
            row.dataset
        )
    }));
    found
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn definitions(entries: &[(&str, String)]) -> String {
    let shown = |value: &str| match value.starts_with("https://") && !value.contains(' ') {
        true => format!("<a href=\"{0}\">{0}</a>", escape(value)),
        false => escape(value),
    };
    let entries: String = (entries.iter())
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), shown(value)))
        .collect();
    format!("<dl>\n{entries}</dl>\n")
}

pub(super) fn data(summary: &Summary) -> String {
    let mut text = String::new();
    for dataset in &summary.plan.datasets {
        let known = registry::all()
            .iter()
            .find(|entry| entry.manifest.name == dataset.name);
        text += &format!("<h3>{}</h3>\n", escape(&dataset.name));
        let mut entries: Vec<(&str, String)> = Vec::new();
        if let Some(entry) = known {
            entries.push(("what it is", entry.manifest.title.clone()));
            entries.push(("licence", entry.manifest.licence.clone()));
            entries.push(("source", entry.manifest.homepage.clone()));
            entries.push(("cite", entry.manifest.citation.clone()));
        }
        if let Some(reason) = &dataset.unavailable {
            entries.push(("not to be had", reason.clone()));
            text += &definitions(&entries);
            continue;
        }
        entries.push((
            "size",
            format!(
                "{} samples, {} dimensions, {} classes; {} for training, {} for testing",
                dataset.samples,
                dataset.dims,
                dataset.classes.len(),
                dataset.n_train,
                dataset.n_test
            ),
        ));
        let counts = dataset.classes.iter().zip(&dataset.class_counts);
        let counts: Vec<String> = counts
            .map(|(class, count)| format!("{class}: {count}"))
            .collect();
        entries.push(("samples by class", counts.join(", ")));
        entries.push(("SHA-256 of the values", dataset.hash.clone()));
        entries.extend(dataset.notes.iter().map(|note| ("note", note.clone())));
        text += &definitions(&entries);
    }
    text
}

pub(super) fn machine(summary: &Summary) -> String {
    let distinct = |get: fn(&crate::ledger::Record) -> String| {
        let mut found: Vec<String> = summary.records.iter().map(get).collect();
        found.sort_unstable();
        found.dedup();
        found.join(", ")
    };
    let mut entries = Vec::new();
    let recorded = |name: &str| match summary.origin.pointer(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    for (name, pointer) in [
        ("processor", "/machine/processor"),
        ("cores", "/machine/cores"),
        ("system", "/machine/system"),
        ("architecture", "/machine/architecture"),
    ] {
        entries.extend(recorded(pointer).map(|value| (name, value)));
    }
    if !summary.records.is_empty() {
        entries.push(("hosts of the cells", distinct(|record| record.host.clone())));
        entries.push((
            "threads per cell",
            distinct(|record| record.threads.to_string()),
        ));
        entries.push(("device", distinct(|record| record.device.clone())));
        entries.push((
            "program",
            distinct(|record| match &record.git {
                Some(git) => format!("npsvcpp {} ({git})", record.version),
                None => format!("npsvcpp {}", record.version),
            }),
        ));
        let started = |pick: fn(&mut dyn Iterator<Item = &str>) -> Option<String>| {
            pick(&mut summary.records.iter().map(|record| record.started.as_str()))
                .unwrap_or_default()
        };
        let first = started(|all| all.min().map(str::to_owned));
        let last = started(|all| all.max().map(str::to_owned));
        entries.push(("cells started", format!("{first} to {last}")));
        let seconds: f64 = (summary.records.iter())
            .filter_map(|record| record.fit_seconds)
            .sum();
        entries.push(("time of all fits", format!("{seconds:.0} s")));
    }
    if entries.is_empty() {
        return String::new();
    }
    definitions(&entries)
}

pub(super) fn repeat(summary: &Summary) -> String {
    let git = summary.records.iter().find_map(|record| record.git.clone());
    let checkout = git.map_or(String::new(), |git| {
        let commit: String = git.chars().filter(char::is_ascii_hexdigit).collect();
        format!("git checkout {commit}\n")
    });
    let name = &summary.experiment;
    let commands = format!(
        "{checkout}npsvcpp run spec.yaml          # the spec below; the same splits, seeds and cells\n\
         npsvcpp render results/{name}    # this page again from the ledger, nothing fitted"
    );
    let mut text = format!("<pre>{}</pre>\n", escape(&commands));
    if let Some(spec) = &summary.spec {
        text += &format!(
            "<details open><summary>spec.yaml</summary>\n<pre>{}</pre></details>\n",
            escape(spec)
        );
    }
    text
}
