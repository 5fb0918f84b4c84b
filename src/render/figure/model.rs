//! A figure as plain data: panels, axes, and marks in the coordinates of the data.

use plotters::style::RGBAColor;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::colour;
use super::text::Face;

/// A figure that is ready to be drawn.
#[derive(Clone)]
pub struct Figure {
    /// Name of its files, without ending.
    pub name: &'static str,
    pub title: String,
    /// Each entry with the marks that stand for it, which lie between -1 and 1 in both directions.
    pub(super) legend: Vec<(String, Vec<Mark>)>,
    /// Panels from top to bottom, and from left to right.
    pub(super) rows: Vec<Vec<Panel>>,
    /// How many panels have room next to each other.
    pub(super) columns: usize,
    /// What the figure shows, in words.
    pub caption: String,
    /// The numbers that are drawn, as CSV.
    pub data: String,
}

/// A plot with its titles.
#[derive(Clone)]
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
    /// Why there is nothing to plot.
    pub(super) message: Option<String>,
}

/// Something in a panel.
#[derive(Clone)]
pub(super) enum Mark {
    /// A line, `thick` pixels wide.
    Line { points: Vec<(f64, f64)>, thick: f64, colour: RGBAColor, is_dashed: bool },
    /// A filled polygon.
    Area { points: Vec<(f64, f64)>, colour: RGBAColor },
    /// Points of the same look.
    Dots { at: Vec<(f64, f64)>, look: Look },
    /// A line of text. It starts a little to the right of its place, ends a little to the left, or lies around it.
    Text { at: (f64, f64), anchor: HPos, face: Face, colour: RGBAColor, text: String },
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

impl Figure {
    /// Puts panels into rows of `columns`.
    pub(super) fn grid(panels: Vec<Panel>, columns: usize) -> Vec<Vec<Panel>> {
        let mut rows: Vec<Vec<Panel>> = Vec::new();
        for panel in panels {
            match rows.last_mut().filter(|row| row.len() < columns) {
                Some(row) => row.push(panel),
                None => rows.push(vec![panel]),
            }
        }
        rows
    }
}

impl Panel {
    /// A panel without titles and marks.
    pub(super) fn new(x: Axis, y: Axis, height: f64) -> Self {
        Self {
            name: String::new(),
            about: String::new(),
            x,
            y,
            below: String::new(),
            height,
            marks: Vec::new(),
            message: None,
        }
    }

    /// A panel of words, as high as they need.
    pub(super) fn message(name: String, message: String) -> Self {
        let hidden = || Axis::hidden(0.0, 1.0);
        Self { name, message: Some(message), ..Self::new(hidden(), hidden(), 0.0) }
    }
}

impl Mark {
    pub(super) fn line(points: Vec<(f64, f64)>, thick: f64, colour: RGBAColor) -> Self {
        Self::Line { points, thick, colour, is_dashed: false }
    }

    pub(super) fn dashes(points: Vec<(f64, f64)>, colour: RGBAColor) -> Self {
        Self::Line { points, thick: 1.0, colour, is_dashed: true }
    }

    pub(super) fn rectangle(from: (f64, f64), to: (f64, f64), colour: RGBAColor) -> Self {
        Self::Area { points: vec![from, (from.0, to.1), to, (to.0, from.1)], colour }
    }

    pub(super) fn text(
        at: (f64, f64),
        anchor: HPos,
        (face, colour): (Face, RGBAColor),
        text: impl Into<String>,
    ) -> Self {
        Self::Text { at, anchor, face, colour, text: text.into() }
    }

    /// A line through points, with a mark at each if there are few.
    pub(super) fn curve(points: Vec<(f64, f64)>, look: Look) -> Vec<Self> {
        let mut marks = Vec::new();
        if points.len() > 1 {
            marks.push(Self::line(points.clone(), 1.75, look.colour));
        }
        if points.len() <= 40 {
            marks.push(Self::Dots { at: points, look });
        }
        marks
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

    /// The legend of these series.
    pub(super) fn legend(names: impl Iterator<Item = String>) -> Vec<(String, Vec<Mark>)> {
        names.enumerate().map(|(index, name)| (name, Self::series(index).icon())).collect()
    }

    /// Its mark in a legend.
    pub(super) fn icon(self) -> Vec<Mark> {
        vec![Mark::Dots { at: vec![(0.0, 0.0)], look: self }]
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
