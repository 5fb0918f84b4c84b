//! The whole figure: title, legend, a grid of panels and a caption.

use plotters::style::text_anchor::HPos;

use super::canvas::{Picture, Shape};
use super::colour;
use super::font::Face;
use super::lane;
use super::panel::{self, Frame};
use super::sheet::{GAP, INNER, Icon, MARGIN, Sheet};
use crate::render::text::counted;
use crate::render::{Row, Summary};

/// What is drawn of very large experiments; the rest is in the data beside the figure.
pub(super) const MOST_PANELS: usize = 18;
pub(super) const MOST_METHODS: usize = 30;

/// Widest column of method names.
const LABELS: f64 = 190.0;
/// Highest row of panels that have words only.
const WORDS: f64 = 200.0;

const METHOD: Face = Face::plain(12.0);
const REFERENCE: Face = Face::bold(12.0);

/// Draws from top to bottom.
struct Page<'a> {
    summary: &'a Summary,
    rows: &'a [Row],
    methods: usize,
    sheet: Sheet,
}

/// The figure of a table.
pub(super) fn picture(summary: &Summary) -> Picture {
    let title = summary.heading();
    let mut page = Page {
        summary,
        rows: &summary.rows[..summary.rows.len().min(MOST_PANELS)],
        methods: summary.columns.len().min(MOST_METHODS),
        sheet: Sheet::new(title),
    };
    let caption = page.caption();
    let entries = page.entries();
    page.sheet.legend(entries);
    page.panels();
    page.sheet.finish(format!("{title}: test accuracy by method"), &caption)
}

/// How many panels stand side by side.
fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}

impl Page<'_> {
    fn reference(&self) -> Option<usize> {
        let comparison = self.summary.comparison.as_ref()?;
        Some(comparison.reference).filter(|&index| index < self.methods)
    }

    fn entries(&self) -> Vec<(String, Icon)> {
        let mut entries: Vec<(String, Icon)> = vec![
            (
                "mean ± sd over splits".to_owned(),
                Box::new(|at, shapes| {
                    shapes.push(lane::level(at.0 - 12.0, at.0 + 12.0, at.1, 2.0, colour::METHOD));
                    shapes.extend(lane::mean_dot(at, colour::METHOD));
                }),
            ),
            (
                "one split".to_owned(),
                Box::new(|at, shapes| {
                    for (dx, dy) in [(-5.0, 1.5), (0.5, -2.5), (6.0, 2.0)] {
                        shapes.push(lane::split_dot((at.0 + dx, at.1 + dy), colour::METHOD));
                    }
                }),
            ),
        ];
        if let Some(column) = self.reference().and_then(|i| self.summary.columns.get(i)) {
            let text = format!("{}, the reference (dashes: its mean)", column.label);
            entries.push((
                text,
                Box::new(|at, shapes| {
                    shapes.push(lane::level(
                        at.0 - 12.0,
                        at.0 + 12.0,
                        at.1,
                        2.0,
                        colour::REFERENCE,
                    ));
                    shapes.extend(lane::mean_dot(at, colour::REFERENCE));
                }),
            ));
        }
        if let Some(table) = self.summary.paper {
            let text = format!("paper (Table {}), mean ± sd", table.table);
            entries.push((
                text,
                Box::new(|at, shapes| {
                    shapes.push(lane::level(at.0 - 12.0, at.0 + 12.0, at.1, 1.25, colour::INK));
                    shapes.push(lane::diamond(at));
                }),
            ));
        }
        entries
    }

    fn panels(&mut self) {
        if self.rows.is_empty() || self.methods == 0 {
            let lacking = if self.rows.is_empty() { "datasets" } else { "methods" };
            let text = format!("no results: the plan has no {lacking}");
            self.sheet.y += 10.0;
            self.sheet.line(METHOD, colour::GREY, 30.0, text);
            return;
        }
        let labels = self.labels();
        let names = labels.iter().flatten().map(|(face, text)| face.width(text));
        let names = names.fold(0.0, f64::max) + 12.0;
        let shares = self.rows.iter().flat_map(|row| &row.cells);
        let share =
            shares.filter_map(|cell| Some(panel::SHARE.width(&cell.share()?))).fold(0.0, f64::max);
        let columns = columns(self.rows.len());
        let pitch = (INNER - names + GAP) / columns as f64;
        for rows in self.rows.chunks(columns) {
            let some_results = rows.iter().any(|row| row.no_results.is_none());
            let mut frame = Frame {
                left: MARGIN + names,
                top: self.sheet.y + panel::HEAD,
                width: pitch - GAP - share,
                height: 0.0,
            };
            frame.height = self.height(rows, frame.width);
            if some_results {
                self.methods(&labels, frame);
            }
            for row in rows {
                frame.draw(self.summary, row, self.methods, &mut self.sheet.shapes);
                frame.left += pitch;
            }
            let foot = if some_results { panel::FOOT } else { 10.0 };
            self.sheet.y = frame.top + frame.height + foot;
        }
    }

    /// Height of the lanes of some panels side by side.
    fn height(&self, rows: &[Row], width: f64) -> f64 {
        let lane =
            if self.summary.paper.is_some() { lane::HEIGHT_WITH_PAPER } else { lane::HEIGHT };
        let lanes = self.methods as f64 * lane;
        let reasons = rows.iter().filter_map(|row| row.no_results.as_ref());
        let words = reasons
            .map(|reason| panel::height_of_reason(reason, width, WORDS.max(lanes)))
            .fold(0.0, f64::max);
        if rows.iter().any(|row| row.no_results.is_none()) { lanes.max(words) } else { words }
    }

    /// The methods' names, in at most two lines each.
    fn labels(&self) -> Vec<Vec<(Face, String)>> {
        let reference = self.reference();
        let columns = self.summary.columns.iter().take(self.methods).enumerate();
        columns
            .map(|(index, column)| {
                let face = if reference == Some(index) { REFERENCE } else { METHOD };
                let lines = face.block(&column.label, LABELS, 2);
                lines.into_iter().map(|line| (face, line)).collect()
            })
            .collect()
    }

    /// Writes the names to the left of the first panel.
    fn methods(&mut self, labels: &[Vec<(Face, String)>], first: Frame) {
        let height = first.height / labels.len() as f64;
        for (index, lines) in labels.iter().enumerate() {
            let middle = first.top + (index as f64 + 0.5) * height;
            for (number, (face, text)) in lines.iter().enumerate() {
                let shift = (number as f64 - (lines.len() as f64 - 1.0) / 2.0) * 12.5;
                let is_reference = face.bold;
                self.sheet.shapes.push(Shape::Text {
                    at: (first.left - 9.0, middle + shift + face.size * 0.35),
                    anchor: HPos::Right,
                    face: *face,
                    colour: if is_reference { colour::REFERENCE } else { colour::INK },
                    text: text.clone(),
                });
            }
        }
    }

    fn leaves_off(&self, row: &Row) -> bool {
        let axis = panel::axis(row, self.methods).filter(|_| row.no_results.is_none());
        let mut cells = row.cells.iter().take(self.methods);
        axis.is_some_and(|axis| cells.any(|cell| lane::leaves_off(&axis, cell)))
    }

    /// What a reader must know: the state, what a bar is, what is not drawn, and the origin.
    fn caption(&self) -> String {
        let mut sentences = vec![
            self.summary.state.clone(),
            "Bars reach one standard deviation (sd) over the splits to either side of the mean, as \
             in the paper's tables; training sets of splits overlap, so a bar is no confidence \
             interval."
                .to_owned(),
        ];
        let undotted = lane::undotted(self.summary);
        if !undotted.is_empty() {
            sentences.push(undotted.trim().to_owned());
        }
        let cells = || self.rows.iter().flat_map(|row| &row.cells);
        if self.rows.iter().any(|row| self.leaves_off(row)) {
            sentences.push(format!(
                "{}: mean ± sd of what lies off the axis, so far below that it would squeeze the \
                 others.",
                lane::OFF
            ));
        }
        if cells().any(|cell| cell.share().is_some()) {
            sentences.push("k/n beside a lane: k of its n planned splits succeeded.".to_owned());
        }
        if self.rows.iter().any(|row| row.other_problem) {
            sentences.push("≠: not the problem of the paper's row.".to_owned());
        }
        let panels = self.summary.rows.len() - self.rows.len();
        let methods = self.summary.columns.len() - self.methods;
        for (left_out, noun) in [(panels, "more dataset"), (methods, "more method")] {
            if left_out > 0 {
                let left_out = counted(left_out, noun);
                sentences.push(format!("Not drawn, but in accuracy.csv: {left_out}."));
            }
        }
        let warnings = self.summary.warnings.iter();
        sentences.extend(warnings.map(|warning| format!("Warning: {warning}.")));
        sentences.push(self.summary.provenance.clone());
        sentences.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_two_or_three_columns() {
        let grids: Vec<usize> = (0..8).map(columns).collect();
        assert_eq!(grids, [1, 1, 2, 3, 2, 3, 3, 3]);
    }
}
