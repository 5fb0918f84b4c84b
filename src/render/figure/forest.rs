//! Differences with intervals: one panel per dataset, one lane per method, a line at zero.

use plotters::style::RGBAColor;

use super::canvas::Shape;
use super::colour;
use super::font::Face;
use super::lane;
use super::plot::bar;
use super::scale::Scale;
use super::sheet::{Frame, GAP, INNER, MARGIN, Sheet, dashes, text_around, text_at, text_before};

const NAME: Face = Face::bold(12.5);
const LABEL: Face = Face::plain(11.5);
const TICK: Face = Face::plain(10.5);
const LANE: f64 = 22.0;
const HEAD: f64 = 26.0;
const FOOT: f64 = 40.0;

/// A dataset.
pub(super) struct Panel {
    pub(super) name: String,
    pub(super) lanes: Vec<Lane>,
}

/// A method: single values, their mean with an interval, or words where there is nothing.
pub(super) struct Lane {
    pub(super) label: String,
    pub(super) dots: Vec<f64>,
    pub(super) mean: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    /// A shorter interval, drawn thicker.
    pub(super) inner: Option<(f64, f64)>,
    pub(super) colour: RGBAColor,
    pub(super) words: String,
}

/// Draws all panels, two side by side.
pub(super) fn draw(sheet: &mut Sheet, panels: &[Panel], axis: &str, band: Option<f64>) {
    let columns = if panels.len() > 1 { 2 } else { 1 };
    let width = (INNER + GAP) / columns as f64 - GAP;
    let labels = panels.iter().flat_map(|panel| &panel.lanes);
    let labels = labels.map(|lane| LABEL.width(&lane.label)).fold(40.0, f64::max);
    let side = labels.min(width * 0.4) + 10.0;
    for pair in panels.chunks(columns) {
        let lanes = pair.iter().map(|panel| panel.lanes.len()).max().unwrap_or(0);
        for (index, panel) in pair.iter().enumerate() {
            let frame = Frame {
                left: MARGIN + index as f64 * (width + GAP) + side,
                top: sheet.y + HEAD,
                width: width - side - 6.0,
                height: panel.lanes.len() as f64 * LANE,
            };
            panel.draw(frame, side, axis, band, &mut sheet.shapes);
        }
        sheet.y += HEAD + lanes as f64 * LANE + FOOT;
    }
}

impl Panel {
    fn scale(&self, band: Option<f64>) -> Option<Scale> {
        let lanes = self.lanes.iter().flat_map(|lane| {
            let ends = lane.interval.into_iter().flat_map(|(low, high)| [low, high]);
            lane.dots.iter().copied().chain(lane.mean).chain(ends)
        });
        let around = band.unwrap_or(0.0);
        Scale::linear(lanes.chain([-around, around]), 0.2)
    }

    fn draw(
        &self,
        frame: Frame,
        side: f64,
        axis: &str,
        band: Option<f64>,
        shapes: &mut Vec<Shape>,
    ) {
        let Frame { left, top, width, height } = frame;
        let name = NAME.shortened(&self.name, width + side);
        shapes.push(text_at(NAME, colour::INK, (left - side, top - 10.0), name));
        if self.lanes.iter().all(|lane| lane.mean.is_none()) {
            for (index, lane) in self.lanes.iter().enumerate() {
                let y = top + (index as f64 + 0.5) * LANE;
                lane.label(left, side, y, shapes);
                lane.draw(y, left, |_| left, shapes);
            }
            return;
        }
        let Some(scale) = self.scale(band) else {
            return;
        };
        let place = |value: f64| left + scale.place(value) * width;
        if let Some(band) = band {
            let (from, to) = (place(-band), place(band));
            shapes.push(bar(from, top, to - from, height, colour::faint(colour::SERIES[2], 0.12)));
        }
        for (share, label) in scale.ticks() {
            let x = left + share * width;
            shapes.push(bar(x - 0.5, top, 1.0, height + 4.0, colour::GRID));
            shapes.push(text_around(
                TICK,
                colour::GREY,
                (x, top + height + 16.0),
                label.to_owned(),
            ));
        }
        shapes.extend(dashes((place(0.0), top), (place(0.0), top + height), 1.0, colour::INK));
        shapes.push(bar(left, top + height - 0.5, width, 1.0, colour::AXIS));
        let title = TICK.shortened(axis, width + side);
        shapes.push(text_around(
            TICK,
            colour::GREY,
            (left + width / 2.0, top + height + 31.0),
            title,
        ));
        for (index, lane) in self.lanes.iter().enumerate() {
            let y = top + (index as f64 + 0.5) * LANE;
            lane.label(left, side, y, shapes);
            lane.draw(y, left, place, shapes);
        }
    }
}

impl Lane {
    fn label(&self, left: f64, side: f64, y: f64, shapes: &mut Vec<Shape>) {
        let label = LABEL.shortened(&self.label, side - 10.0);
        shapes.push(text_before(LABEL, colour::INK, (left - 8.0, y + 4.0), label));
    }

    fn draw(&self, y: f64, left: f64, place: impl Fn(f64) -> f64, shapes: &mut Vec<Shape>) {
        let Some(mean) = self.mean else {
            let words = text_at(TICK, colour::GREY, (left + 5.0, y + 3.7), self.words.clone());
            shapes.push(words);
            return;
        };
        for (index, dot) in self.dots.iter().enumerate() {
            let shift = 5.0 * lane::scatter(index);
            shapes.push(lane::split_dot((place(*dot), y + shift), self.colour));
        }
        for (interval, thick) in [(self.interval, 1.5), (self.inner, 3.5)] {
            if let Some((low, high)) = interval {
                shapes.push(lane::level(place(low), place(high), y, thick, self.colour));
            }
        }
        shapes.extend(lane::mean_dot((place(mean), y), self.colour));
    }
}
