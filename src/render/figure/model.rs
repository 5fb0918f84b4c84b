//! A figure as plain data: panels, axes, and marks in the coordinates of the data.

use indexmap::IndexSet;
use plotters::style::RGBAColor;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::colour;
use super::draw::CAPTION;
use super::text::Face;

/// A figure that is ready to be drawn.
#[derive(Clone)]
pub struct Figure {
    /// Name of its files, without ending.
    pub name: &'static str,
    pub title: String,
    pub(super) legend: Legend,
    /// Panels from top to bottom, and from left to right.
    pub(super) rows: Vec<Vec<Panel>>,
    /// What the figure shows, in words.
    pub caption: String,
    /// The numbers that are drawn, as CSV.
    pub data: String,
}

/// Each entry with its marks, which are between -1 and 1 in both directions.
pub(super) type Legend = Vec<(String, Vec<Mark>)>;

/// A plot with its titles.
#[derive(Clone, Default)]
pub(super) struct Panel {
    pub(super) name: String,
    /// Below the name: what the vertical axis shows, or what the data is.
    pub(super) about: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Below the horizontal axis: what it shows.
    pub(super) below: String,
    /// Height of the plot in pixels, without titles and labels.
    pub(super) height: f64,
    pub(super) marks: Vec<Mark>,
}

/// Lines in a legend.
pub(super) const ACROSS: [(f64, f64); 2] = [(-1.0, 0.0), (1.0, 0.0)];
pub(super) const UPWARDS: [(f64, f64); 2] = [(0.0, -1.0), (0.0, 1.0)];

/// Something in a panel.
#[derive(Clone)]
pub(super) enum Mark {
    /// A line, `thick` pixels wide.
    Line { points: Vec<(f64, f64)>, thick: f64, colour: RGBAColor },
    /// A dashed line, one pixel wide.
    Dashes { points: Vec<(f64, f64)>, colour: RGBAColor },
    /// A filled polygon.
    Area { points: Vec<(f64, f64)>, colour: RGBAColor },
    /// Points of the same look.
    Dots { at: Vec<(f64, f64)>, look: Look },
    /// At most `most` lines of text. They start a little to the right of their place, end a little to the left, or lie
    /// around it. Those that end at the left end of the horizontal axis or start at its right end get room there.
    Text { at: (f64, f64), anchor: HPos, face: Face, text: String, most: usize },
}

/// Colour, shape and radius in pixels of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    pub(super) colour: RGBAColor,
    pub(super) shape: Shape,
    pub(super) radius: f64,
}

/// The outline of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Dot,
    Square,
    Triangle,
    Diamond,
    /// A diamond that is white inside.
    Open,
    /// A dot that others shine through.
    Faint,
}

/// Names of series in the order of their first use, which gives their look.
#[derive(Default)]
pub(super) struct Series(IndexSet<String>);

impl Panel {
    /// A panel without titles and marks.
    pub(super) fn new(x: Axis, y: Axis, height: f64) -> Self {
        Self { x, y, height, ..Self::default() }
    }

    /// A grey panel with the reason why there is nothing to plot.
    pub(super) fn message(name: String, reason: &str) -> Self {
        let text = format!("no results: {reason}");
        let (at, anchor) = ((0.01, 0.5), HPos::Left);
        let ground = Mark::rectangle((0.0, 0.0), (1.0, 1.0), colour::EMPTY);
        let marks = vec![ground, Mark::Text { at, anchor, face: CAPTION, text, most: 5 }];
        Self { name, marks, ..Self::new(Axis::hidden(0.0, 1.0), Axis::hidden(0.0, 1.0), 95.0) }
    }
}

impl Mark {
    pub(super) fn line(points: Vec<(f64, f64)>, thick: f64, colour: RGBAColor) -> Self {
        Self::Line { points, thick, colour }
    }

    pub(super) fn rectangle(from: (f64, f64), to: (f64, f64), colour: RGBAColor) -> Self {
        Self::Area { points: vec![from, (from.0, to.1), to, (to.0, from.1)], colour }
    }

    pub(super) fn dot(at: (f64, f64), look: Look) -> Self {
        Self::Dots { at: vec![at], look }
    }

    pub(super) fn text(at: (f64, f64), anchor: HPos, face: Face, text: impl Into<String>) -> Self {
        Self::Text { at, anchor, face, text: text.into(), most: 2 }
    }

    /// A line through points, with a mark at each if there are few.
    pub(super) fn curve(points: Vec<(f64, f64)>, look: Look) -> Vec<Self> {
        let has_dots = points.len() <= 40;
        let dots = has_dots.then(|| Self::Dots { at: points.clone(), look });
        [Self::line(points, 1.75, look.colour)].into_iter().chain(dots).collect()
    }
}

impl Look {
    /// The look of the series with this number: colours change fastest, so that 28 differ.
    pub(super) fn series(index: usize) -> Self {
        const SHAPES: [Shape; 4] = [Shape::Dot, Shape::Square, Shape::Triangle, Shape::Diamond];
        // Neighbours differ in their shape as well, for those who see no colours at all.
        let colours = colour::SERIES.len();
        let shape = SHAPES[(index % colours + index / colours) % SHAPES.len()];
        Self { colour: colour::SERIES[index % colours], shape, radius: 4.0 }
    }

    pub(super) fn dot(colour: RGBAColor) -> Self {
        Self { colour, shape: Shape::Dot, radius: 4.25 }
    }

    /// In a legend: the point on a line.
    pub(super) fn icon(self, line: [(f64, f64); 2], thick: f64) -> Vec<Mark> {
        vec![Mark::line(line.to_vec(), thick, self.colour), Mark::dot((0.0, 0.0), self)]
    }
}

impl Series {
    pub(super) fn look(&mut self, name: &str) -> Look {
        Look::series(self.0.insert_full(name.to_owned()).0)
    }

    /// A legend of points on lines.
    pub(super) fn legend(self, line: [(f64, f64); 2]) -> Legend {
        let names = self.0.into_iter().enumerate();
        names.map(|(index, name)| (name, Look::series(index).icon(line, 1.75))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_28_series_look_alike() {
        let looks: Vec<Look> = (0..28).map(Look::series).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "series {index}");
        }
    }
}
