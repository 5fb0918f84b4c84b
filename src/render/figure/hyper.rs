//! `hyperparameters`: accuracy over pairs of parameters as heat maps, over each of them as lines.

use super::canvas::Shape;
use super::colour;
use super::font::Face;
use super::plot::{Look, Plot, bar};
use super::scale::Scale;
use super::sheet::{Frame, Sheet, text_around, text_at, text_before};
use super::{Drawn, caption, cut};
use crate::render::Summary;
use crate::render::csv::{optional, quoted};
use crate::render::protocol;
use crate::render::study::{Axis, Point, Study, studies};
use crate::stats::SAME;

/// Studies that are drawn, a row of panels each; the data has all.
const MOST: usize = 12;
const NAME: Face = Face::bold(12.5);
const TICK: Face = Face::plain(10.5);
const VALUE: Face = Face::plain(9.5);
const HEIGHT: f64 = 250.0;

/// The figure, where the ledger holds a study.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let studies = studies(summary);
    if studies.is_empty() {
        return None;
    }
    let title = format!("{}: hyperparameters", summary.heading());
    let mut sheet = Sheet::new(&title);
    sheet.y += 6.0;
    for study in studies.iter().take(MOST) {
        // A pair has a heat map before its lines; more parameters have lines only.
        let is_pair = study.axes.len() == 2;
        let panels = usize::from(is_pair) + study.axes.len().min(3);
        let mut frames = sheet.grid(panels, panels.max(2), HEIGHT).into_iter();
        if is_pair && let Some(frame) = frames.next() {
            heat_map(study, frame, &mut sheet.shapes);
        }
        for (axis, frame) in frames.enumerate() {
            line(study, axis, frame, &mut sheet.shapes);
        }
    }
    let picture = sheet.finish(title.clone(), &caption(summary, &words(summary, &studies)));
    Some(Drawn { name: "hyperparameters", title, picture, data: data(&studies) })
}

fn words(summary: &Summary, studies: &[Study]) -> String {
    let drawn = || studies.iter().take(MOST);
    let rows = (0..summary.rows.len())
        .filter(|&row| drawn().any(|study| study.dataset == summary.rows[row].dataset));
    let splits = || drawn().flat_map(|study| study.points.iter().map(|point| point.splits));
    let (fewest, most) = (splits().min().unwrap_or(0), splits().max().unwrap_or(0));
    let over = match (fewest, most) {
        (1, 1) => "of one split".to_owned(),
        _ if fewest == most => format!("mean over {most} splits"),
        _ => format!("mean over {fewest} to {most} splits"),
    };
    let scored: Vec<&str> = drawn().map(|study| study.scored).collect();
    let scored = if scored.iter().all(|name| name.starts_with("test")) {
        "Test accuracy in percent"
    } else {
        "Accuracy in percent, of the samples that the axis names"
    };
    let left_out = cut(MOST, studies.len(), "studies");
    format!(
        "{scored}, {over}. Lines: horizontal one parameter's values, evenly spaced whatever their size, the others at \
         their best; bands reach one standard deviation over splits. Heat maps: one parameter to the right, one \
         upwards, the stronger the colour the higher, the best framed. The best of many is no estimate of an accuracy.{left_out} {}",
        protocol::data(&summary.plan, rows)
    )
}

fn heading(study: &Study) -> String {
    format!("{} on {}", study.label, study.dataset)
}

/// A line along one parameter, with a band.
fn line(study: &Study, axis: usize, frame: Frame, shapes: &mut Vec<Shape>) {
    let points = study.along(axis);
    let spread = |deviation: Option<f64>| deviation.unwrap_or(0.0);
    let ends =
        points.iter().flat_map(|p| [p.mean - spread(p.deviation), p.mean + spread(p.deviation)]);
    let Some(y) = Scale::linear(ends, 0.5) else {
        return;
    };
    let parameter = &study.axes[axis];
    let names: Vec<String> = parameter.values.iter().map(Axis::tick).collect();
    let name = heading(study);
    let titles = (name.as_str(), parameter.name.as_str(), study.scored);
    let plot = Plot::new(frame, (Scale::names(&names), y), titles, shapes);
    let look = Look::of(0);
    let place = |p: &Point| p.at[axis] as f64;
    let band: Vec<_> = (points.iter())
        .map(|p| (place(p), p.mean - spread(p.deviation), p.mean + spread(p.deviation)))
        .collect();
    plot.band(&band, look.colour, shapes);
    let curve: Vec<_> = points.iter().map(|p| (place(p), p.mean)).collect();
    plot.curve(&curve, look, shapes);
}

/// The first parameter to the right, the second upwards.
fn heat_map(study: &Study, outer: Frame, shapes: &mut Vec<Shape>) {
    let [across, up] = study.axes.as_slice() else {
        return;
    };
    let name = NAME.shortened(&heading(study), outer.width);
    let at = (outer.left, outer.top + 12.0);
    shapes.push(text_at(NAME, colour::INK, at, name));
    let title = format!("{} upwards; {}", up.name, study.scored);
    let title = TICK.shortened(&title, outer.width);
    let at = (outer.left, outer.top + 28.0);
    shapes.push(text_at(TICK, colour::GREY, at, title));
    let field = Field::new(outer, across, up);
    let (low, top) =
        study.points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, top), point| {
            (low.min(point.mean), top.max(point.mean))
        });
    for point in &study.points {
        let share = if top > low { (point.mean - low) / (top - low) } else { 1.0 };
        field.cell(point, share, top - point.mean <= SAME, shapes);
    }
    field.ticks(across, up, shapes);
}

/// The cells of a heat map.
struct Field {
    frame: Frame,
    /// Size of a cell.
    wide: f64,
    high: f64,
}

impl Field {
    fn new(outer: Frame, across: &Axis, up: &Axis) -> Self {
        let frame = Frame {
            left: outer.left + 48.0,
            top: outer.top + 36.0,
            width: outer.width - 54.0,
            height: outer.height - 72.0,
        };
        Self {
            wide: frame.width / across.values.len().max(1) as f64,
            high: frame.height / up.values.len().max(1) as f64,
            frame,
        }
    }

    /// A cell with its mean, where there is room for it; the best is framed.
    fn cell(&self, point: &Point, share: f64, is_best: bool, shapes: &mut Vec<Shape>) {
        let Self { frame, wide, high } = self;
        let left = frame.left + point.at[0] as f64 * wide;
        let above = frame.top + frame.height - (point.at[1] + 1) as f64 * high;
        if is_best {
            shapes.push(bar(left, above, *wide, *high, colour::REFERENCE));
        }
        let rim = if is_best { 2.5 } else { 0.5 };
        shapes.push(bar(
            left + rim,
            above + rim,
            wide - 2.0 * rim,
            high - 2.0 * rim,
            colour::ramp(share),
        ));
        if *wide > 24.0 && *high > 12.0 {
            let ink = if share > 0.55 { colour::WHITE } else { colour::INK };
            let at = (left + wide / 2.0, above + high / 2.0 + 3.4);
            shapes.push(text_around(VALUE, ink, at, format!("{:.1}", point.mean)));
        }
    }

    fn ticks(&self, across: &Axis, up: &Axis, shapes: &mut Vec<Shape>) {
        let Self { frame, wide, high } = self;
        let bottom = frame.top + frame.height;
        for (index, value) in across.values.iter().enumerate() {
            let at = (frame.left + (index as f64 + 0.5) * wide, bottom + 15.0);
            let tick = TICK.shortened(&Axis::tick(value), *wide);
            shapes.push(text_around(TICK, colour::GREY, at, tick));
        }
        for (index, value) in up.values.iter().enumerate() {
            let at = (frame.left - 5.0, bottom - (index as f64 + 0.5) * high + 3.7);
            shapes.push(text_before(TICK, colour::GREY, at, Axis::tick(value)));
        }
        let at = (frame.left + frame.width / 2.0, bottom + 31.0);
        shapes.push(text_around(TICK, colour::GREY, at, across.name.clone()));
    }
}

fn data(studies: &[Study]) -> String {
    let mut text =
        "dataset,label,parameter,value,other_parameter,other_value,accuracy,sd,splits,scored\n"
            .to_owned();
    for study in studies {
        for point in &study.points {
            // Grids of three parameters and more have their further values in one field.
            let value = |axis: &Axis, at: usize| {
                let value = axis.values.get(at);
                value.map_or(String::new(), protocol::value_of)
            };
            let mut fields = study.axes.iter().zip(&point.at);
            let (first, first_value) =
                fields.next().map_or((String::new(), String::new()), |(axis, &at)| {
                    (axis.name.clone(), value(axis, at))
                });
            let (names, values): (Vec<String>, Vec<String>) =
                fields.map(|(axis, &at)| (axis.name.clone(), value(axis, at))).unzip();
            text += &format!(
                "{},{},{},{},{},{},{:?},{},{},{}\n",
                quoted(&study.dataset),
                quoted(&study.label),
                quoted(&first),
                quoted(&first_value),
                quoted(&names.join(" ")),
                quoted(&values.join(" ")),
                point.mean,
                optional(point.deviation),
                point.splits,
                quoted(study.scored)
            );
        }
    }
    text
}
