//! A panel with two axes, and the marks of series.

use plotters::style::RGBAColor;

use super::canvas::Shape;
use super::colour;
use super::font::Face;
use super::scale::Scale;
use super::sheet::{Frame, Icon, text_around, text_at, text_before};

const NAME: Face = Face::bold(12.5);
const TICK: Face = Face::plain(10.5);
/// Above the axes: the panel's name and the vertical axis' title.
const HEAD: f64 = 36.0;
/// Below them: labels and the horizontal axis' title.
const FOOT: f64 = 36.0;
/// To their left: labels.
const SIDE: f64 = 44.0;

/// A panel.
pub(super) struct Plot {
    pub(super) frame: Frame,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Plot {
    /// A panel within `outer`, axes and titles included, which are drawn at once.
    pub(super) fn new(
        outer: Frame,
        (x, y): (Scale, Scale),
        (name, x_title, y_title): (&str, &str, &str),
        shapes: &mut Vec<Shape>,
    ) -> Self {
        let frame = Frame {
            left: outer.left + SIDE,
            top: outer.top + HEAD,
            width: outer.width - SIDE - 8.0,
            height: outer.height - HEAD - FOOT,
        };
        let plot = Self { frame, x, y };
        let name = NAME.shortened(name, outer.width);
        shapes.push(text_at(NAME, colour::INK, (outer.left, outer.top + 12.0), name));
        let y_title = TICK.shortened(y_title, outer.width);
        shapes.push(text_at(TICK, colour::GREY, (outer.left, outer.top + 28.0), y_title));
        plot.axes(x_title, shapes);
        plot
    }

    /// Where a point lies.
    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let Frame { left, top, width, height } = self.frame;
        (left + self.x.place(x) * width, top + (1.0 - self.y.place(y)) * height)
    }

    fn axes(&self, x_title: &str, shapes: &mut Vec<Shape>) {
        let Frame { left, top, width, height } = self.frame;
        let bottom = top + height;
        let mut free = f64::NEG_INFINITY;
        for (place, label) in self.x.ticks() {
            let x = left + place * width;
            shapes.push(bar(x - 0.5, top, 1.0, height + 4.0, colour::GRID));
            // Where labels would touch, every other or more go without.
            let reach = TICK.width(label) / 2.0;
            if x - reach >= free {
                free = x + reach + 4.0;
                let at = (x, bottom + 16.0);
                shapes.push(text_around(TICK, colour::GREY, at, label.to_owned()));
            }
        }
        for (place, label) in self.y.ticks() {
            let y = bottom - place * height;
            shapes.push(bar(left, y - 0.5, width, 1.0, colour::GRID));
            shapes.push(text_before(TICK, colour::GREY, (left - 6.0, y + 3.7), label.to_owned()));
        }
        shapes.push(bar(left, bottom - 0.5, width, 1.0, colour::AXIS));
        shapes.push(bar(left - 0.5, top, 1.0, height, colour::AXIS));
        let x_title = TICK.shortened(x_title, width + 40.0);
        shapes.push(text_around(TICK, colour::GREY, (left + width / 2.0, bottom + 31.0), x_title));
    }

    /// A line through points, and a mark at each where there are few.
    pub(super) fn curve(&self, points: &[(f64, f64)], look: Look, shapes: &mut Vec<Shape>) {
        let places: Vec<_> = points.iter().map(|&(x, y)| self.at(x, y)).collect();
        if places.len() > 1 {
            shapes.push(Shape::Line { points: places.clone(), thick: 1.75, colour: look.colour });
        }
        if places.len() <= 40 {
            for place in places {
                shapes.extend(look.mark.draw(place, 3.5, look.colour));
            }
        }
    }

    /// A band between two lines over the same places.
    pub(super) fn band(
        &self,
        band: &[(f64, f64, f64)],
        colour: RGBAColor,
        shapes: &mut Vec<Shape>,
    ) {
        let lower = band.iter().map(|&(x, low, _)| self.at(x, low));
        let upper = band.iter().rev().map(|&(x, _, high)| self.at(x, high));
        let points: Vec<_> = lower.chain(upper).collect();
        if band.len() > 1 {
            shapes.push(Shape::Area { points, colour: colour::faint(colour, 0.18) });
        }
    }

    /// An upright bar from `low` to `high`.
    pub(super) fn whisker(&self, x: f64, (low, high): (f64, f64), colour: RGBAColor) -> Shape {
        let (from, to) = (self.at(x, high), self.at(x, low));
        bar(from.0 - 0.75, from.1, 1.5, to.1 - from.1, colour)
    }
}

/// A rectangle.
pub(super) fn bar(left: f64, top: f64, width: f64, height: f64, colour: RGBAColor) -> Shape {
    Shape::Bar { left, top, width, height, colour }
}

/// Colour and mark of a series; both tell it apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) colour: RGBAColor,
    pub(super) mark: Mark,
}

/// The outline of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Dot,
    Square,
    Triangle,
    Diamond,
}

impl Look {
    /// The look of the series with this number: colours change fastest, so that 28 differ.
    pub(super) fn of(index: usize) -> Self {
        const MARKS: [Mark; 4] = [Mark::Dot, Mark::Square, Mark::Triangle, Mark::Diamond];
        // Neighbours differ in their mark as well, for those who see no colours at all.
        let colours = colour::SERIES.len();
        let mark = (index % colours + index / colours) % MARKS.len();
        Self { colour: colour::series(index), mark: MARKS[mark] }
    }

    /// Its mark in a legend.
    pub(super) fn icon(self) -> Icon {
        Box::new(move |at, shapes| shapes.extend(self.mark.draw(at, 4.5, self.colour)))
    }
}

impl Mark {
    /// The mark around a place, with a white rim.
    pub(super) fn draw(self, (x, y): (f64, f64), radius: f64, colour: RGBAColor) -> Vec<Shape> {
        let shape = |r: f64, colour| match self {
            Self::Dot => Shape::Dot { centre: (x, y), radius: r, colour },
            Self::Square => bar(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r, colour),
            Self::Triangle => Shape::Area {
                points: vec![
                    (x, y - 1.2 * r),
                    (x + 1.15 * r, y + 0.8 * r),
                    (x - 1.15 * r, y + 0.8 * r),
                ],
                colour,
            },
            Self::Diamond => Shape::Area {
                points: vec![
                    (x, y - 1.3 * r),
                    (x + 1.3 * r, y),
                    (x, y + 1.3 * r),
                    (x - 1.3 * r, y),
                ],
                colour,
            },
        };
        vec![shape(radius + 1.0, colour::WHITE), shape(radius, colour)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_28_series_look_alike() {
        let looks: Vec<String> = (0..28).map(|index| format!("{:?}", Look::of(index))).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "series {index}");
        }
    }
}
