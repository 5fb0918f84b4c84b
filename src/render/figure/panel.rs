//! One dataset: its name and size, a lane per method and an axis, or the reason for no results.

use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::canvas::Shape;
use super::colour;
use super::font::Face;
use super::lane::{self, Lane};
pub(super) use super::sheet::Frame;
use crate::paper;
use crate::render::{Row, Summary};

pub(super) const NAME: Face = Face::bold(13.0);
const SIZE: Face = Face::plain(10.5);
const TICK: Face = Face::plain(10.5);
pub(super) const SHARE: Face = Face::plain(10.0);
const REASON: Face = Face::plain(11.0);
const REASON_LINE: f64 = 15.0;
/// Least height of a panel with words only.
const LEAST: f64 = 60.0;
/// Name and size above the lanes.
pub(super) const HEAD: f64 = 38.0;
/// Ticks and the axis' title below them.
pub(super) const FOOT: f64 = 38.0;

/// Height that a panel without results wants for its reason.
pub(super) fn height_of_reason(reason: &str, width: f64, most: f64) -> f64 {
    let lines = REASON.block(&words(reason), width - 20.0, lines_in(most)).len();
    (lines as f64 * REASON_LINE + 20.0).max(LEAST)
}

fn lines_in(height: f64) -> usize {
    ((height - 20.0) / REASON_LINE).max(1.0) as usize
}

fn words(reason: &str) -> String {
    format!("no results: {reason}")
}

/// The axis of a dataset, of whose methods the first are drawn.
pub(super) fn axis(row: &Row, methods: usize) -> Option<Axis> {
    let cells = row.cells.iter().take(methods);
    Axis::around(cells.flat_map(lane::spans).collect())
}

impl Frame {
    /// Draws a dataset: `methods` lanes of it.
    pub(super) fn draw(
        self,
        summary: &Summary,
        row: &Row,
        methods: usize,
        shapes: &mut Vec<Shape>,
    ) {
        self.head(row, shapes);
        match (&row.no_results, axis(row, methods)) {
            (Some(reason), _) => self.reason(reason, shapes),
            (None, None) => self.reason("no accuracy can be drawn", shapes),
            (None, Some(axis)) => self.lanes(summary, row, methods, &axis, shapes),
        }
    }

    fn head(self, row: &Row, shapes: &mut Vec<Shape>) {
        let differs = if row.other_problem { " ≠" } else { "" };
        let name = format!("{}{differs}", row.dataset);
        let lines = [
            (NAME, colour::INK, name, 24.0),
            (SIZE, colour::GREY, row.shape.map_or(String::new(), size), 8.0),
        ];
        for (face, colour, text, above) in lines {
            if !text.is_empty() {
                shapes.push(Shape::Text {
                    at: (self.left, self.top - above),
                    anchor: HPos::Left,
                    face,
                    colour,
                    text: face.shortened(&text, self.width),
                });
            }
        }
    }

    fn reason(self, reason: &str, shapes: &mut Vec<Shape>) {
        shapes.push(Shape::Bar {
            left: self.left,
            top: self.top,
            width: self.width,
            height: self.height,
            colour: colour::EMPTY,
        });
        let lines = REASON.block(&words(reason), self.width - 20.0, lines_in(self.height));
        for (index, text) in lines.into_iter().enumerate() {
            shapes.push(Shape::Text {
                at: (self.left + 10.0, self.top + 21.0 + index as f64 * REASON_LINE),
                anchor: HPos::Left,
                face: REASON,
                colour: colour::GREY,
                text,
            });
        }
    }

    fn lanes(
        self,
        summary: &Summary,
        row: &Row,
        methods: usize,
        axis: &Axis,
        shapes: &mut Vec<Shape>,
    ) {
        let reference = summary.comparison.as_ref().map(|found| found.reference);
        let height = self.height / methods as f64;
        self.axis(axis, shapes);
        if let Some(index) = reference.filter(|&index| index < methods) {
            self.stress(index as f64 * height, height, shapes);
            let mean = row.cells.get(index).and_then(|cell| cell.mean);
            if let Some(mean) = mean.filter(|mean| axis.holds(*mean)) {
                self.guide(self.place(axis, mean), shapes);
            }
        }
        for (index, cell) in row.cells.iter().take(methods).enumerate() {
            let middle = self.top + (index as f64 + 0.5) * height;
            let is_reference = reference == Some(index);
            let lane = Lane {
                left: self.left,
                width: self.width,
                middle,
                colour: if is_reference { colour::REFERENCE } else { colour::METHOD },
                shared: summary.paper.is_some(),
                axis,
            };
            lane.draw(cell, shapes);
            if let Some(share) = cell.share() {
                shapes.push(Shape::Text {
                    at: (self.left + self.width + 5.0, middle + SHARE.size * 0.35),
                    anchor: HPos::Left,
                    face: SHARE,
                    colour: colour::GREY,
                    text: share,
                });
            }
        }
    }

    fn place(self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.place(value) * self.width
    }

    fn axis(self, axis: &Axis, shapes: &mut Vec<Shape>) {
        let place = |value| self.place(axis, value);
        let bottom = self.top + self.height;
        for (value, label) in axis.ticks() {
            shapes.push(Shape::Bar {
                left: place(value) - 0.5,
                top: self.top,
                width: 1.0,
                height: self.height + 4.0,
                colour: colour::GRID,
            });
            shapes.push(Shape::Text {
                at: (place(value), bottom + 16.0),
                anchor: HPos::Center,
                face: TICK,
                colour: colour::GREY,
                text: label,
            });
        }
        let (left, right) = (self.left, self.left + self.width);
        shapes.push(lane::level(left, right, bottom, 1.0, colour::AXIS));
        shapes.push(Shape::Text {
            at: (self.left + self.width / 2.0, bottom + 31.0),
            anchor: HPos::Center,
            face: TICK,
            colour: colour::GREY,
            text: "test accuracy (%)".to_owned(),
        });
    }

    /// A tinted band behind the reference method.
    fn stress(self, offset: f64, height: f64, shapes: &mut Vec<Shape>) {
        shapes.push(Shape::Bar {
            left: self.left,
            top: self.top + offset,
            width: self.width,
            height,
            colour: colour::faint(colour::REFERENCE, 0.09),
        });
    }

    /// A dashed line at the reference method's mean.
    fn guide(self, x: f64, shapes: &mut Vec<Shape>) {
        const DASH: f64 = 3.0;
        let dashes = (self.height / (2.0 * DASH)) as usize;
        for index in 0..dashes {
            shapes.push(Shape::Bar {
                left: x - 0.5,
                top: self.top + index as f64 * 2.0 * DASH,
                width: 1.0,
                height: DASH,
                colour: colour::faint(colour::REFERENCE, 0.7),
            });
        }
    }
}

fn size(shape: paper::Shape) -> String {
    let paper::Shape { n_train, n_test, dims, classes } = shape;
    format!("{n_train} train, {n_test} test, {dims} dims, {classes} classes")
}
