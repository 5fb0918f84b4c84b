//! Draws a [`Figure`] as SVG: title, legend, rows of panels and a caption, from top to bottom.
//!
//! plotters takes whole numbers only, so everything is drawn on a grid finer than pixels, which is the SVG's view box.

use maud::html;
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, DashedPathElement, PathElement, Polygon};
use plotters::style::text_anchor::HPos;
use plotters::style::{Color, RGBAColor, ShapeStyle};

use super::axis::Axis;
use super::colour;
use super::model::{Figure, Look, Mark, Panel, Shape};
use super::text::Face;

/// Width of a figure in pixels: that of a README's column.
const WIDTH: u32 = 960;
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

const TITLE: Face = Face::bold(16.0, 22.0, colour::INK);
pub(super) const CAPTION: Face = Face::plain(10.5, 15.0, colour::GREY);
const NAME: Face = Face::bold(12.5, 16.0, colour::INK);
pub(super) const LABEL: Face = Face::plain(11.5, 12.0, colour::INK);
pub(super) const STRONG: Face = Face::bold(11.5, 12.0, colour::REFERENCE);
pub(super) const TICK: Face = Face::plain(10.5, 12.0, colour::GREY);

type Drawing<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;
type Plot<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// Draws from top to bottom.
struct Sheet<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    /// Where the next thing goes, in pixels.
    y: f64,
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
    let words = html! {
        title { (drawable(&figure.title)) } "\n"
        desc { (drawable(&figure.caption)) } "\n"
    };
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {wide} {high}\" role=\"img\">\n{}\
         <rect width=\"{wide}\" height=\"{high}\" fill=\"#FFFFFF\"/>\n{body}",
        words.into_string()
    ))
}

/// Text without the two characters that XML cannot hold.
fn drawable(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "")
}

fn steps(pixels: f64) -> i32 {
    (pixels * FINE).round() as i32
}

fn stroke(colour: RGBAColor, thick: f64) -> ShapeStyle {
    colour.stroke_width(steps(thick).max(1).unsigned_abs())
}

impl<'a> Sheet<'a> {
    fn draw(&mut self, figure: &Figure) -> Drawing {
        self.block(TITLE, &figure.title, 3)?;
        self.legend(&figure.legend)?;
        let drawn = self.panels(&figure.rows)?;
        let all: usize = figure.rows.iter().map(Vec::len).sum();
        let mut caption = figure.caption.clone();
        if drawn < all {
            let name = figure.name;
            caption +=
                &format!(" {drawn} of {all} panels are drawn; {name}.csv has the numbers of all.");
        }
        self.block(CAPTION, &caption, usize::MAX)?;
        self.area.present()
    }

    /// At most this many lines of text over the whole width.
    fn block(&mut self, face: Face, text: &str, most: usize) -> Drawing {
        let lines = face.wrapped(text, INNER, most);
        self.lines(face, (MARGIN, self.y + face.line / 2.0), HPos::Left, &lines)?;
        self.y += face.line * lines.len() as f64;
        Ok(())
    }

    /// Lines of text, the first around the height of its place.
    fn lines(&self, face: Face, (x, y): (f64, f64), anchor: HPos, lines: &[String]) -> Drawing {
        let style = face.style(FINE, anchor);
        for (index, line) in lines.iter().enumerate() {
            let at = (steps(x), steps(y + index as f64 * face.line));
            self.area.draw_text(&drawable(line), &style, at)?;
        }
        Ok(())
    }

    /// Samples of the marks with their meaning, next to each other while there is room.
    fn legend(&mut self, entries: &[(String, Vec<Mark>)]) -> Drawing {
        const ICON: (f64, f64) = (24.0, 14.0);
        const WORDS: f64 = ICON.0 + 6.0;
        let mut x = MARGIN;
        self.y += 10.0;
        for (text, marks) in entries {
            let text = LABEL.shortened(text, INNER - WORDS);
            let width = WORDS + LABEL.width(&text);
            if x > MARGIN && x + width > MARGIN + INNER {
                x = MARGIN;
                self.y += 19.0;
            }
            let corner = (steps(x), steps(self.y - ICON.1 / 2.0));
            let icon = self.area.clone().shrink(corner, (steps(ICON.0), steps(ICON.1)));
            let axis = || Axis::hidden(-1.0, 1.0);
            let icon = ChartBuilder::on(&icon).build_cartesian_2d(axis(), axis())?;
            let ends = (x, x + ICON.0);
            marks.iter().try_for_each(|mark| self.mark(mark, icon.plotting_area(), ends))?;
            self.lines(LABEL, (x + WORDS, self.y), HPos::Left, &[text])?;
            x += width + 26.0;
        }
        self.y += if entries.is_empty() { 0.0 } else { 20.0 };
        Ok(())
    }

    /// Rows of panels, at least one and then while there is room. Gives the number of panels drawn.
    fn panels(&mut self, rows: &[Vec<Panel>]) -> Drawing<usize> {
        let width = panel_width(rows.iter().map(Vec::len).max().unwrap_or(1));
        let sides = rows.iter().flatten().map(|panel| sides(panel, width).0);
        let side = sides.fold(0.0, f64::max);
        let end = self.y + TALLEST;
        let mut drawn = 0;
        for row in rows {
            let [head, plot, foot] = heights(row, width);
            if drawn > 0 && self.y + head + plot + foot > end {
                break;
            }
            for (index, panel) in row.iter().enumerate() {
                let left = MARGIN + index as f64 * (width + GAP);
                self.titles(panel, (left, self.y), width)?;
                self.plot(panel, (left, self.y + head), width, side)?;
            }
            self.y += head + plot + foot;
            drawn += row.len();
        }
        self.y += 8.0;
        Ok(drawn)
    }

    fn titles(&self, panel: &Panel, (left, top): (f64, f64), width: f64) -> Drawing {
        let names = NAME.wrapped(&panel.name, width, 2);
        self.lines(NAME, (left, top + 8.0), HPos::Left, &names)?;
        let about = CAPTION.wrapped(&panel.about, width, 1);
        let y = top + 9.0 + NAME.line * names.len() as f64;
        self.lines(CAPTION, (left, y), HPos::Left, &about)
    }

    /// Axes, grid and marks. The width is that of the plot and, to its left and right, of its labels; `side` is that to
    /// the left of all plots that have some there.
    fn plot(&self, panel: &Panel, (left, top): (f64, f64), width: f64, side: f64) -> Drawing {
        let Panel { x, y, .. } = panel;
        let below = 20.0;
        let (own, beyond) = sides(panel, width);
        let (from, to) = (left + if own > 0.0 { side } else { 0.0 }, left + width - beyond);
        let size = (steps(to - left), steps(panel.height + below));
        let area = self.area.clone().shrink((steps(left), steps(top)), size);
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(steps(below))
            .y_label_area_size(steps(from - left))
            .build_cartesian_2d(thinned(x, to - from), y.clone())?;
        if !x.ticks.is_empty() {
            let mut mesh = chart.configure_mesh();
            mesh.axis_style(stroke(colour::AXIS, 1.0))
                .bold_line_style(stroke(colour::GRID, 1.0))
                .label_style(TICK.style(FINE, HPos::Center))
                .set_all_tick_mark_size(steps(3.0));
            if y.ticks.is_empty() {
                mesh.disable_y_mesh().disable_y_axis();
            }
            mesh.draw()?;
        }
        let ends = (left, left + width);
        panel.marks.iter().try_for_each(|mark| self.mark(mark, chart.plotting_area(), ends))?;
        let title = TICK.wrapped(&panel.below, width, 1);
        let (down, _) = foot(panel);
        self.lines(TICK, ((from + to) / 2.0, top + panel.height + down), HPos::Center, &title)
    }

    /// A mark in a plot. Texts stay between the ends.
    fn mark(&self, mark: &Mark, plot: &Plot<'a>, (left, right): (f64, f64)) -> Drawing {
        match mark {
            Mark::Line { points, thick, colour } => {
                plot.draw(&PathElement::new(points.clone(), stroke(*colour, *thick)))
            }
            Mark::Dashes { points, colour } => {
                let (dash, gap) = (steps(4.0), steps(4.0));
                let points = points.iter().copied();
                plot.draw(&DashedPathElement::new(points, dash, gap, stroke(*colour, 1.0)))
            }
            Mark::Area { points, colour } => {
                plot.draw(&Polygon::new(points.clone(), colour.filled()))
            }
            Mark::Dots { at, look } => {
                at.iter().try_for_each(|at| self.dot(plot.map_coordinate(at), *look))
            }
            Mark::Text { at, anchor, face, text, most } => {
                let (x, y) = plot.map_coordinate(at);
                let (x, y) = (f64::from(x) / FINE, f64::from(y) / FINE);
                let (x, room) = match anchor {
                    HPos::Left => (x + 5.0, right - x - 5.0),
                    HPos::Center => (x, right - left),
                    HPos::Right => (x - 5.0, x - 5.0 - left),
                };
                let lines = face.wrapped(text, room, *most);
                let above = face.line * (lines.len() as f64 - 1.0) / 2.0;
                self.lines(*face, (x, y - above), *anchor, &lines)
            }
        }
    }

    /// A point, with a white rim unless others shine through.
    fn dot(&self, (x, y): (i32, i32), look: Look) -> Drawing {
        let Look { colour, shape, radius } = look;
        let corners: &[(f64, f64)] = match shape {
            Shape::Dot | Shape::Faint => &[],
            Shape::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Shape::Triangle => &[(0.0, -1.2), (1.15, 0.8), (-1.15, 0.8)],
            Shape::Diamond | Shape::Open => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
        };
        let layers = match shape {
            Shape::Faint => vec![(radius, colour.mix(0.3))],
            Shape::Open => vec![(radius, colour), (radius - 1.4, colour::WHITE)],
            _ => vec![(radius + 1.0, colour::WHITE), (radius, colour)],
        };
        for (radius, colour) in layers {
            let corner = |(dx, dy): &(f64, f64)| (x + steps(dx * radius), y + steps(dy * radius));
            match corners {
                [] => self.area.draw(&Circle::new((x, y), steps(radius), colour.filled()))?,
                _ => {
                    let corners: Vec<_> = corners.iter().map(corner).collect();
                    self.area.draw(&Polygon::new(corners, colour.filled()))?;
                }
            }
        }
        Ok(())
    }
}

/// Heights of a row: above the plots, the plots, and below them.
fn heights(row: &[Panel], width: f64) -> [f64; 3] {
    let highest = |height: &dyn Fn(&Panel) -> f64| row.iter().map(height).fold(0.0, f64::max);
    let head = |panel: &Panel| {
        let names = NAME.wrapped(&panel.name, width, 2).len();
        let about = if panel.about.is_empty() { 0.0 } else { 16.0 };
        6.0 + NAME.line * names as f64 + about
    };
    [highest(&head), highest(&|panel| panel.height), highest(&|panel| foot(panel).1)]
}

/// How far below a plot the words below it are, and where the panel ends.
fn foot(panel: &Panel) -> (f64, f64) {
    let down = if panel.x.ticks.is_empty() { 12.0 } else { 27.0 };
    (down, if panel.below.is_empty() { down + 3.0 } else { down + 19.0 })
}

/// Room to the left and to the right of a plot: for the labels of ticks, and for texts that end or start there.
fn sides(panel: &Panel, width: f64) -> (f64, f64) {
    let ticks = panel.y.ticks.iter().map(|(_, label)| TICK.width(label) + 9.0);
    let (mut left, mut right) = (ticks.fold(0.0, f64::max), 0.0_f64);
    for mark in &panel.marks {
        match mark {
            Mark::Text { at, anchor: HPos::Right, face, text, .. } if at.0 <= panel.x.low => {
                left = left.max(face.width(text) + 9.0);
            }
            Mark::Text { at, anchor: HPos::Left, face, text, .. } if at.0 >= panel.x.high => {
                right = right.max(face.width(text) + 6.0);
            }
            _ => (),
        }
    }
    (left.min(0.4 * width), right.min(0.4 * width))
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
        let mark = Mark::text((0.0, 0.5), HPos::Left, TICK, "</svg>\u{fffe}&");
        let panel = Panel { marks: vec![mark], ..Panel::new(hidden(), hidden(), 40.0) };
        let figure = Figure {
            name: "test",
            title: "<a> & \u{ffff}b".to_owned(),
            legend: Vec::new(),
            rows: vec![vec![panel]],
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
