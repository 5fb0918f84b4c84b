//! Draws a [`Figure`] as SVG: title, legend, rows of panels and a caption, from top to bottom.
//!
//! plotters takes whole numbers only, so everything is drawn on a grid finer than pixels, which is the SVG's view box.

use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, DashedPathElement, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::HPos;
use plotters::style::{Color, RGBAColor, ShapeStyle};

use super::axis::Axis;
use super::colour;
use super::model::{Figure, Look, Mark, Panel, Shape};
use super::text::Face;

/// Width of a figure in pixels: that of a README's column.
pub(super) const WIDTH: u32 = 960;
/// Steps of the grid per pixel.
const FINE: f64 = 4.0;
const MARGIN: f64 = 20.0;
const INNER: f64 = WIDTH as f64 - 2.0 * MARGIN;
/// Between panels.
const GAP: f64 = 24.0;
/// Rows of panels end here; the data has the numbers of all.
const TALLEST: f64 = 3600.0;
/// More than any figure is high.
const ROOM: u32 = 100_000;

const TITLE: Face = Face::bold(16.0);
const LEGEND: Face = Face::plain(11.5);
const CAPTION: Face = Face::plain(10.5);
const NAME: Face = Face::bold(12.5);
const LABEL: Face = Face::plain(11.5);
const STRONG: Face = Face::bold(11.5);
pub(super) const TICK: Face = Face::plain(10.5);
const MESSAGE: Face = Face::plain(11.0);

const CAPTION_LINE: f64 = 15.0;
const MESSAGE_LINE: f64 = 15.0;
const MESSAGE_LINES: usize = 12;

type Drawing = Result<(), DrawingAreaErrorKind<std::io::Error>>;
type Place<'a> = &'a dyn Fn((f64, f64)) -> (i32, i32);

/// Draws from top to bottom.
struct Sheet<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    /// Where the next thing goes, in pixels.
    y: f64,
}

/// A rectangle in pixels.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// Heights of a row: above the plots, the plots, and below them.
struct Heights {
    head: f64,
    plot: f64,
    foot: f64,
}

/// Width of each of some panels next to each other.
pub(super) fn panel_width(columns: usize) -> f64 {
    (INNER + GAP) / columns.max(1) as f64 - GAP
}

/// The figure as an SVG document, the same bytes on every machine.
pub(super) fn svg(figure: &Figure) -> Result<String, String> {
    let mut text = String::new();
    let size = (WIDTH * FINE as u32, ROOM * FINE as u32);
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let mut sheet = Sheet { area, y: MARGIN };
    sheet.draw(figure).map_err(|error| error.to_string())?;
    let height = (sheet.y + MARGIN).ceil();
    drop(sheet);
    let (_, body) = text.split_once('\n').ok_or("an SVG without a first line")?;
    let (wide, high) = (f64::from(WIDTH) * FINE, height * FINE);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {wide} {high}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n\
         <rect width=\"{wide}\" height=\"{high}\" fill=\"#FFFFFF\"/>\n{body}",
        escaped(&figure.title),
        escaped(&figure.caption)
    ))
}

/// Text without the two characters that XML cannot hold.
fn drawable(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "")
}

fn escaped(text: &str) -> String {
    drawable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn steps(pixels: f64) -> i32 {
    (pixels * FINE).round() as i32
}

fn stroke(colour: RGBAColor, thick: f64) -> ShapeStyle {
    colour.stroke_width(steps(thick).max(1).unsigned_abs())
}

impl Sheet<'_> {
    fn draw(&mut self, figure: &Figure) -> Drawing {
        for line in TITLE.wrapped(&figure.title, INNER, 3) {
            self.line(TITLE, colour::INK, 22.0, &line)?;
        }
        self.legend(&figure.legend)?;
        let drawn = fitting(&figure.rows, figure.columns);
        self.panels(&figure.rows[..drawn], figure.columns)?;
        let panels = |rows: &[Vec<Panel>]| rows.iter().map(Vec::len).sum::<usize>();
        let mut caption = figure.caption.clone();
        if drawn < figure.rows.len() {
            caption += &format!(
                " {} of {} panels are drawn; {}.csv has the numbers of all.",
                panels(&figure.rows[..drawn]),
                panels(&figure.rows),
                figure.name
            );
        }
        for line in CAPTION.wrapped(&caption, INNER, usize::MAX) {
            self.line(CAPTION, colour::GREY, CAPTION_LINE, &line)?;
        }
        self.area.present()
    }

    /// A line of text over the whole width.
    fn line(&mut self, face: Face, colour: RGBAColor, height: f64, text: &str) -> Drawing {
        let middle = self.y + face.size * 0.65;
        self.y += height;
        self.text(face, colour, (MARGIN, middle), HPos::Left, text)
    }

    /// A text, if there is any, around the height of its place.
    fn text(
        &self,
        face: Face,
        colour: RGBAColor,
        (x, y): (f64, f64),
        anchor: HPos,
        text: &str,
    ) -> Drawing {
        if text.is_empty() {
            return Ok(());
        }
        let style = face.style(FINE, colour, anchor);
        self.area.draw_text(&drawable(text), &style, (steps(x), steps(y)))
    }

    /// Samples of the marks with their meaning, next to each other while there is room.
    fn legend(&mut self, entries: &[(String, Vec<Mark>)]) -> Drawing {
        const ICON: (f64, f64) = (24.0, 14.0);
        const WORDS: f64 = ICON.0 + 6.0;
        let mut x = MARGIN;
        self.y += 10.0;
        for (text, marks) in entries {
            let text = LEGEND.shortened(text, INNER - WORDS);
            let width = WORDS + LEGEND.width(&text);
            if x > MARGIN && x + width > MARGIN + INNER {
                x = MARGIN;
                self.y += 19.0;
            }
            let (left, y) = (x, self.y);
            let place = |at: (f64, f64)| {
                let half = (ICON.0 / 2.0, ICON.1 / 2.0);
                (steps(left + half.0 + at.0 * half.0), steps(y - at.1 * half.1))
            };
            marks.iter().try_for_each(|mark| self.mark(mark, &place, (x, x + width)))?;
            self.text(LEGEND, colour::INK, (x + WORDS, y), HPos::Left, &text)?;
            x += width + 26.0;
        }
        self.y += if entries.is_empty() { 0.0 } else { 20.0 };
        Ok(())
    }

    fn panels(&mut self, rows: &[Vec<Panel>], columns: usize) -> Drawing {
        let width = panel_width(columns);
        let sides = rows.iter().flatten().map(|panel| side(&panel.y, width));
        let side = sides.fold(0.0, f64::max);
        for row in rows {
            let heights = heights(row, width);
            for (index, panel) in row.iter().enumerate() {
                let left = MARGIN + index as f64 * (width + GAP);
                let top = self.y + heights.head;
                self.titles(panel, Frame { left, top: self.y, width, height: heights.head })?;
                let plot = Frame { left, top, width, height: heights.plot };
                match &panel.message {
                    Some(message) => self.message(message, plot)?,
                    None => self.plot(panel, side, Frame { height: panel.height, ..plot })?,
                }
            }
            self.y += heights.head + heights.plot + heights.foot;
        }
        self.y += 8.0;
        Ok(())
    }

    fn titles(&self, panel: &Panel, frame: Frame) -> Drawing {
        let name = NAME.shortened(&panel.name, frame.width);
        self.text(NAME, colour::INK, (frame.left, frame.top + 8.0), HPos::Left, &name)?;
        let about = TICK.shortened(&panel.about, frame.width);
        self.text(TICK, colour::GREY, (frame.left, frame.top + 25.0), HPos::Left, &about)
    }

    /// Words on a grey ground.
    fn message(&self, message: &str, frame: Frame) -> Drawing {
        let corners = [
            (steps(frame.left), steps(frame.top)),
            (steps(frame.left + frame.width), steps(frame.top + frame.height)),
        ];
        self.area.draw(&Rectangle::new(corners, colour::EMPTY.filled()))?;
        for (index, line) in message_lines(message, frame.width).iter().enumerate() {
            let at = (frame.left + 10.0, frame.top + 17.0 + index as f64 * MESSAGE_LINE);
            self.text(MESSAGE, colour::GREY, at, HPos::Left, line)?;
        }
        Ok(())
    }

    /// Axes, grid and marks. The frame is that of the plot and, to its left and right, of its labels.
    fn plot(&self, panel: &Panel, side: f64, frame: Frame) -> Drawing {
        let Panel { x, y, .. } = panel;
        let side = if y.ticks.is_empty() { 0.0 } else { side };
        let (left, right) = (frame.left + side, frame.left + frame.width - beyond(panel));
        let below = 20.0;
        let area = self.area.clone().shrink(
            (steps(frame.left), steps(frame.top)),
            (steps(right - frame.left), steps(frame.height + below)),
        );
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(steps(below))
            .y_label_area_size(steps(side))
            .build_cartesian_2d(thinned(x, right - left), y.clone())?;
        if !x.ticks.is_empty() {
            let mut mesh = chart.configure_mesh();
            mesh.axis_style(stroke(colour::AXIS, 1.0))
                .bold_line_style(stroke(colour::GRID, 1.0))
                .label_style(TICK.style(FINE, colour::GREY, HPos::Center))
                .set_all_tick_mark_size(steps(3.0));
            if y.is_names {
                mesh.disable_y_mesh().disable_y_axis();
            }
            mesh.draw()?;
        }
        let place = |at: (f64, f64)| chart.plotting_area().map_coordinate(&at);
        if y.is_names {
            self.names(y, (frame.left, left), |at| f64::from(place((x.low, at)).1) / FINE)?;
        }
        let bounds = (frame.left, frame.left + frame.width);
        panel.marks.iter().try_for_each(|mark| self.mark(mark, &place, bounds))?;
        let at = ((left + right) / 2.0, frame.top + frame.height + 27.0);
        let title = TICK.shortened(&panel.below, frame.width);
        self.text(TICK, colour::GREY, at, HPos::Center, &title)
    }

    /// Names to the left of a plot, in at most two lines each.
    fn names(&self, axis: &Axis, (from, to): (f64, f64), y: impl Fn(f64) -> f64) -> Drawing {
        for (index, (value, name)) in axis.ticks.iter().enumerate() {
            let is_strong = axis.strong == Some(index);
            let face = if is_strong { STRONG } else { LABEL };
            let colour = if is_strong { colour::REFERENCE } else { colour::INK };
            let lines = face.wrapped(name, to - from - 8.0, 2);
            for (number, line) in lines.iter().enumerate() {
                let shift = (number as f64 - (lines.len() as f64 - 1.0) / 2.0) * 12.0;
                self.text(face, colour, (to - 8.0, y(*value) + shift), HPos::Right, line)?;
            }
        }
        Ok(())
    }

    fn mark(&self, mark: &Mark, place: Place, bounds: (f64, f64)) -> Drawing {
        let places = |points: &[(f64, f64)]| points.iter().map(|at| place(*at)).collect::<Vec<_>>();
        match mark {
            Mark::Line { points, thick, colour, is_dashed: false } => {
                self.area.draw(&PathElement::new(places(points), stroke(*colour, *thick)))
            }
            Mark::Line { points, thick, colour, is_dashed: true } => {
                let style = stroke(*colour, *thick);
                let (dash, gap) = (steps(4.0), steps(4.0));
                self.area.draw(&DashedPathElement::new(places(points), dash, gap, style))
            }
            Mark::Area { points, colour } => {
                self.area.draw(&Polygon::new(places(points), colour.filled()))
            }
            Mark::Dots { at, look } => at.iter().try_for_each(|at| self.dot(place(*at), *look)),
            Mark::Text { at, anchor, face, colour, text } => {
                let (x, y) = place(*at);
                let (x, y) = (f64::from(x) / FINE, f64::from(y) / FINE);
                let (x, room) = match anchor {
                    HPos::Left => (x + 5.0, bounds.1 - x),
                    HPos::Center => (x, bounds.1 - bounds.0),
                    HPos::Right => (x - 5.0, x - bounds.0),
                };
                self.text(*face, *colour, (x, y), *anchor, &face.shortened(text, room))
            }
        }
    }

    /// A point, with a white rim unless others shine through.
    fn dot(&self, at: (i32, i32), look: Look) -> Drawing {
        let shape = |radius: f64, colour: RGBAColor| {
            let around = |corners: &[(f64, f64)]| {
                let corner =
                    |(x, y): &(f64, f64)| (at.0 + steps(x * radius), at.1 + steps(y * radius));
                let corners = corners.iter().map(corner).collect::<Vec<_>>();
                self.area.draw(&Polygon::new(corners, colour.filled()))
            };
            match look.shape {
                Shape::Dot | Shape::Faint => {
                    self.area.draw(&Circle::new(at, steps(radius), colour.filled()))
                }
                Shape::Square => around(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
                Shape::Triangle => around(&[(0.0, -1.2), (1.15, 0.8), (-1.15, 0.8)]),
                Shape::Diamond | Shape::Open => {
                    around(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)])
                }
            }
        };
        match look.shape {
            Shape::Faint => shape(look.radius, colour::faint(look.colour, 0.3)),
            Shape::Open => {
                shape(look.radius, look.colour)?;
                shape(look.radius - 1.4, colour::WHITE)
            }
            _ => {
                shape(look.radius + 1.0, colour::WHITE)?;
                shape(look.radius, look.colour)
            }
        }
    }
}

/// How many of the rows are drawn, at least one.
fn fitting(rows: &[Vec<Panel>], columns: usize) -> usize {
    let width = panel_width(columns);
    let ends = rows.iter().scan(0.0, |end, row| {
        let Heights { head, plot, foot } = heights(row, width);
        *end += head + plot + foot;
        Some(*end)
    });
    ends.take_while(|end| *end <= TALLEST).count().clamp(usize::from(!rows.is_empty()), rows.len())
}

fn heights(row: &[Panel], width: f64) -> Heights {
    let has_about = row.iter().any(|panel| !panel.about.is_empty());
    let has_ticks = row.iter().any(|panel| !panel.x.ticks.is_empty());
    let has_below = row.iter().any(|panel| !panel.below.is_empty());
    let plots = row.iter().map(|panel| match &panel.message {
        Some(message) => message_lines(message, width).len() as f64 * MESSAGE_LINE + 20.0,
        None => panel.height,
    });
    Heights {
        head: if has_about { 38.0 } else { 22.0 },
        plot: plots.fold(0.0, f64::max),
        foot: match (has_ticks, has_below) {
            (_, true) => 46.0,
            (true, false) => 32.0,
            (false, false) => 14.0,
        },
    }
}

fn message_lines(message: &str, width: f64) -> Vec<String> {
    MESSAGE.wrapped(&format!("no results: {message}"), width - 20.0, MESSAGE_LINES)
}

/// Room for the labels of a vertical axis.
fn side(axis: &Axis, width: f64) -> f64 {
    let faces = |index| if axis.strong == Some(index) { STRONG } else { LABEL };
    let face = |index| if axis.is_names { faces(index) } else { TICK };
    let widths = axis.ticks.iter().enumerate().map(|(index, (_, label))| face(index).width(label));
    let widest = widths.fold(0.0, f64::max);
    if axis.ticks.is_empty() { 0.0 } else { widest.min(0.4 * width) + 9.0 }
}

/// Room to the right of a plot, for texts that start at its end.
fn beyond(panel: &Panel) -> f64 {
    let widths = panel.marks.iter().map(|mark| match mark {
        Mark::Text { at, anchor: HPos::Left, face, text, .. } if at.0 >= panel.x.high => {
            face.width(text) + 5.0
        }
        _ => 0.0,
    });
    widths.fold(0.0, f64::max)
}

/// The axis with those ticks whose labels do not touch each other.
fn thinned(axis: &Axis, width: f64) -> Axis {
    let mut free = f64::NEG_INFINITY;
    let mut axis = axis.clone();
    let (low, high) = (axis.low, axis.high);
    let room = (width / axis.ticks.len().max(1) as f64).max(60.0);
    axis.ticks.retain_mut(|(value, label)| {
        *label = TICK.shortened(&drawable(label), room);
        let place = (*value - low) / (high - low) * width;
        let reach = TICK.width(label) / 2.0;
        let fits = place - reach >= free;
        free = if fits { place + reach + 4.0 } else { free };
        fits
    });
    axis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_breaks_the_document() {
        let hidden = || Axis::hidden(0.0, 1.0);
        let style = (TICK, colour::INK);
        let mark = Mark::text((0.0, 0.5), HPos::Left, style, "</svg>\u{fffe}&");
        let panel = Panel { marks: vec![mark], ..Panel::new(hidden(), hidden(), 40.0) };
        let figure = Figure {
            name: "test",
            title: "<a> & \u{ffff}b".to_owned(),
            legend: Vec::new(),
            rows: vec![vec![panel]],
            columns: 1,
            caption: String::new(),
            data: String::new(),
        };
        let text = svg(&figure).unwrap();
        let document = roxmltree::Document::parse(&text).unwrap();
        let words: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
        assert!(words.contains(&"<a> & b"), "{words:?}");
        assert!(words.iter().any(|word| word.trim() == "</svg>&"));
    }
}
