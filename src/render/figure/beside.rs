//! `paper`: ours minus the paper's, with Welch's interval and the practical margin.

use plotters::style::RGBAColor;

use super::colour;
use super::forest::{self, Lane, Panel};
use super::lane;
use super::plot::bar;
use super::sheet::{Icon, Sheet};
use super::{Drawn, MOST, MOST_PANELS, caption, left_out};
use crate::render::csv::{optional, quoted, rounded};
use crate::render::{Cell, Summary};
use crate::stats::Reproduction;

const CONFIDENCE: f64 = 0.95;

/// The figure, where the paper has numbers.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let table = summary.paper?;
    let rows = summary.rows.iter().filter(|row| row.cells.iter().any(|c| c.paper.is_some()));
    let panels: Vec<Panel> = rows
        .take(MOST_PANELS)
        .map(|row| {
            let cells = row.cells.iter().zip(&summary.columns);
            let cells = cells.filter(|(cell, _)| cell.paper.is_some()).take(MOST);
            let other = if row.other_problem { " ≠" } else { "" };
            Panel {
                name: format!("{}{other}", row.dataset),
                lanes: cells.map(|(cell, column)| method(cell, &column.label)).collect(),
            }
        })
        .collect();
    let title = format!("{}: ours minus the paper's Table {}", summary.heading(), table.table);
    let mut sheet = Sheet::new(&title);
    sheet.legend(legend());
    let margin = Reproduction::MARGIN;
    forest::draw(
        &mut sheet,
        &panels,
        "our mean accuracy minus the paper's, in points",
        Some(margin),
    );
    let words = format!(
        "Bars are 95 % intervals of Welch's test from the paper's mean, deviation and 10 runs and ours. The \
         green band is the practical margin of {margin} points. A number is higher or lower if its interval \
         excludes zero and its mean lies outside the band; the longer the bar, the less it says that a number \
         is reproduced. ≠: not the problem of the paper's row."
    );
    let picture =
        sheet.finish(title.clone(), &caption(summary, &(words + &left_out(summary, "paper"))));
    Some(Drawn { name: "paper", title, picture, data: data(summary) })
}

fn look(verdict: Option<Reproduction>) -> RGBAColor {
    match verdict {
        Some(Reproduction::Reproduced) => colour::METHOD,
        Some(Reproduction::Higher | Reproduction::Lower) => colour::REFERENCE,
        Some(Reproduction::NotRun) | None => colour::AXIS,
    }
}

fn method(cell: &Cell, label: &str) -> Lane {
    Lane {
        label: label.to_owned(),
        dots: Vec::new(),
        mean: cell.difference,
        interval: cell.welch.and_then(|test| test.interval(CONFIDENCE)),
        inner: None,
        colour: look(cell.reproduction),
        words: cell.word().to_owned(),
    }
}

fn legend() -> Vec<(String, Icon)> {
    let mark = |verdict: Reproduction| -> Icon {
        let colour = look(Some(verdict));
        Box::new(move |at, shapes| {
            shapes.push(lane::level(at.0 - 12.0, at.0 + 12.0, at.1, 1.5, colour));
            shapes.extend(lane::mean_dot(at, colour));
        })
    };
    let band: Icon = Box::new(|at, shapes| {
        let green = colour::faint(colour::SERIES[2], 0.25);
        shapes.push(bar(at.0 - 12.0, at.1 - 7.0, 24.0, 14.0, green));
    });
    vec![
        ("reproduced: not told apart, or by little".to_owned(), mark(Reproduction::Reproduced)),
        ("higher or lower".to_owned(), mark(Reproduction::Higher)),
        ("not the same problem".to_owned(), mark(Reproduction::NotRun)),
        ("practical margin".to_owned(), band),
    ]
}

fn data(summary: &Summary) -> String {
    let mut text =
        "dataset,method,label,ours,sd,splits,paper,paper_sd,difference,low,high,p_welch,verdict\n"
            .to_owned();
    for row in &summary.rows {
        for (cell, column) in row.cells.iter().zip(&summary.columns) {
            let Some(paper) = cell.paper else {
                continue;
            };
            let names = [&row.dataset, &column.method, &column.label].map(|name| quoted(name));
            let interval = cell.welch.and_then(|test| test.interval(CONFIDENCE));
            let fields = [
                optional(cell.mean),
                optional(cell.deviation),
                cell.counts.ok.to_string(),
                optional(Some(paper.value)),
                optional(paper.deviation),
                optional(cell.difference.map(rounded)),
                optional(interval.map(|(low, _)| rounded(low))),
                optional(interval.map(|(_, high)| rounded(high))),
                optional(cell.welch.map(|test| rounded(test.p))),
                cell.reproduction.map_or("", Reproduction::word).to_owned(),
            ];
            text += &format!("{},{}\n", names.join(","), fields.join(","));
        }
    }
    text
}
