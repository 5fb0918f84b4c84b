//! `differences`: what the t-tests see, the reference minus each method on every split.

use super::colour;
use super::forest::{self, Lane, Panel};
use super::lane;
use super::sheet::{Icon, Sheet};
use super::{Drawn, MOST, MOST_PANELS, caption, left_out};
use crate::render::compare::CONFIDENCE;
use crate::render::csv::{quoted, rounded};
use crate::render::{Cell, Summary};

/// The figure, where anything is compared.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let reference = summary.comparison.as_ref()?.reference;
    let label = &summary.columns.get(reference)?.label;
    let panels = panels(summary, reference);
    if panels.is_empty() {
        return None;
    }
    let title = format!("{}: {label} minus each method, split by split", summary.heading());
    let mut sheet = Sheet::new(&title);
    sheet.legend(legend());
    forest::draw(
        &mut sheet,
        &panels,
        &format!("accuracy of {label} minus the method's, in points"),
        None,
    );
    let words = format!(
        "Right of the dashes {label} is better. The thick bar is the {0} % interval of the paper's paired \
         t-test, which takes splits for independent; the thin one allows for overlapping training sets \
         (Nadeau and Bengio). Where only the thin one crosses the dashes, the paper's test sees a \
         difference that the corrected one does not.",
        CONFIDENCE * 100.0
    );
    let picture = sheet.finish(
        title.clone(),
        &caption(summary, &(words + &lane::undotted(summary) + &left_out(summary, "differences"))),
    );
    Some(Drawn { name: "differences", title, picture, data: data(summary) })
}

fn panels(summary: &Summary, reference: usize) -> Vec<Panel> {
    let rows = summary.rows.iter().filter(|row| row.cells.iter().any(|c| c.paired.is_some()));
    rows.take(MOST_PANELS)
        .map(|row| {
            let rivals = row.cells.iter().zip(&summary.columns).enumerate();
            let rivals = rivals.filter(|(index, _)| *index != reference).take(MOST);
            Panel {
                name: row.dataset.clone(),
                lanes: rivals.map(|(_, (cell, column))| rival(cell, &column.label)).collect(),
            }
        })
        .collect()
}

fn rival(cell: &Cell, label: &str) -> Lane {
    let paired = cell.paired.as_ref();
    let words = if cell.mean.is_some() { "too few common splits" } else { cell.word() };
    Lane {
        label: label.to_owned(),
        dots: paired.map_or(Vec::new(), |paired| {
            lane::dotted(paired.differences.iter()).copied().collect()
        }),
        mean: paired.map(|paired| paired.naive.mean_difference),
        interval: paired.and_then(|paired| paired.interval()),
        inner: paired.and_then(|paired| paired.naive.interval(CONFIDENCE)),
        colour: colour::METHOD,
        words: words.to_owned(),
    }
}

fn legend() -> Vec<(String, Icon)> {
    let bar = |thick: f64| -> Icon {
        Box::new(move |at, shapes| {
            shapes.push(lane::level(at.0 - 12.0, at.0 + 12.0, at.1, thick, colour::METHOD));
        })
    };
    let dots: Icon = Box::new(|at, shapes| {
        for (dx, dy) in [(-5.0, 1.5), (0.5, -2.5), (6.0, 2.0)] {
            shapes.push(lane::split_dot((at.0 + dx, at.1 + dy), colour::METHOD));
        }
    });
    let mean: Icon = Box::new(|at, shapes| shapes.extend(lane::mean_dot(at, colour::METHOD)));
    vec![
        ("one split".to_owned(), dots),
        ("mean".to_owned(), mean),
        ("interval of the paper's test".to_owned(), bar(3.5)),
        ("corrected interval".to_owned(), bar(1.5)),
    ]
}

fn data(summary: &Summary) -> String {
    let mut text = "dataset,method,label,kind,number,difference,low,high\n".to_owned();
    for row in &summary.rows {
        for (cell, column) in row.cells.iter().zip(&summary.columns) {
            let Some(paired) = &cell.paired else {
                continue;
            };
            let names = [&row.dataset, &column.method, &column.label].map(|name| quoted(name));
            let names = names.join(",");
            for (number, difference) in paired.differences.iter().enumerate() {
                text += &format!("{names},split,{number},{:?},,\n", rounded(*difference));
            }
            let tests = [("paired-t", Some(paired.naive)), ("nadeau-bengio", paired.corrected)];
            for (kind, test) in tests {
                let Some((test, (low, high))) =
                    test.and_then(|t| Some((t, t.interval(CONFIDENCE)?)))
                else {
                    continue;
                };
                let [mean, low, high] = [test.mean_difference, low, high].map(rounded);
                text += &format!("{names},{kind},,{mean:?},{low:?},{high:?}\n");
            }
        }
    }
    text
}
