//! `hyperparameters`: accuracy over pairs of parameters as heat maps, over each of them as lines.

use plotters::style::text_anchor::HPos;
use serde::Serialize;

use super::axis::Axis;
use super::model::{Figure, Look, Mark, Panel};
use super::text::Face;
use super::{caption, colour, splits};
use crate::analyse::{Axis as Parameter, SAME, Study, Summary, protocol, studies};
use crate::render::csv::{Number, csv};

const VALUE: Face = Face::plain(9.5);
const HEIGHT: f64 = 180.0;
/// Most parameters of a study that get a line each.
const LINES: usize = 3;

#[derive(Default, Serialize)]
struct Point<'a> {
    dataset: &'a str,
    label: &'a str,
    parameter: &'a str,
    value: String,
    /// Grids of three parameters and more have their further values in one field.
    other_parameter: String,
    other_value: String,
    accuracy: Number,
    sd: Number,
    splits: usize,
    scored: &'a str,
}

/// The figure, if the ledger holds a study.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let studies = studies(summary);
    let rows: Vec<Vec<Panel>> = studies.iter().map(panels).collect();
    let widest = rows.iter().map(Vec::len).max()?;
    Some(Figure {
        name: "hyperparameters",
        title: format!("{}: hyperparameters", summary.heading()),
        legend: Vec::new(),
        rows,
        columns: widest.max(2),
        caption: caption(summary, &words(summary, &studies)),
        data: csv(&summary.cautions(), &studies.iter().flat_map(points).collect::<Vec<_>>()),
    })
}

fn words(summary: &Summary, studies: &[Study]) -> String {
    let rows = summary.rows.iter();
    let rows = rows.filter(|row| studies.iter().any(|study| study.dataset == row.dataset));
    let points = studies.iter().flat_map(|study| &study.points);
    let over = splits(points.map(|point| point.splits));
    let scored = if studies.iter().all(|study| study.scored.starts_with("test")) {
        "Test accuracy in percent"
    } else {
        "Accuracy in percent, of the samples that the axis names"
    };
    format!(
        "{scored}, mean over {over}. Lines: horizontal one parameter's values, evenly spaced whatever their size, the others at \
         their best; bands reach one standard deviation over splits. Heat maps: one parameter to the right, one upwards, \
         the stronger the colour the higher, the best framed. The best of many is not an estimate of an accuracy. {}",
        protocol::data(rows)
    )
}

/// A pair has a heat map before its lines; more parameters have lines only.
fn panels(study: &Study) -> Vec<Panel> {
    let map = heat_map(study);
    let lines = (0..study.axes.len().min(LINES)).filter_map(|axis| line(study, axis));
    let name = format!("{} on {}", study.label, study.dataset);
    map.into_iter().chain(lines).map(|panel| Panel { name: name.clone(), ..panel }).collect()
}

fn ticks(parameter: &Parameter) -> Axis {
    Axis::names(parameter.values.iter().map(Parameter::tick))
}

/// A line along one parameter, with a band.
fn line(study: &Study, axis: usize) -> Option<Panel> {
    let points = study.along(axis);
    let parameter = study.axes.get(axis)?;
    let band = |sign: f64| {
        let end = move |deviation: Option<f64>| sign * deviation.unwrap_or(0.0);
        points.iter().map(move |p| (p.at[axis] as f64, p.mean + end(p.deviation)))
    };
    let y = Axis::percent(band(-1.0).chain(band(1.0)).map(|point| point.1))?;
    let look = Look::series(0);
    let around = band(-1.0).chain(band(1.0).rev()).collect();
    let mut marks = vec![Mark::Area { points: around, colour: colour::faint(look.colour, 0.18) }];
    marks.extend(Mark::curve(band(0.0).collect(), look));
    Some(Panel {
        about: study.scored.to_owned(),
        below: parameter.name.clone(),
        marks,
        ..Panel::new(ticks(parameter), y, HEIGHT)
    })
}

/// The first parameter to the right, the second upwards.
fn heat_map(study: &Study) -> Option<Panel> {
    let [across, up] = study.axes.as_slice() else {
        return None;
    };
    let means = || study.points.iter().map(|point| point.mean);
    let (low, top) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
    let mut marks = Vec::new();
    for point in &study.points {
        let (x, y) = (point.at[0] as f64, point.at[1] as f64);
        let share = if top > low { (point.mean - low) / (top - low) } else { 1.0 };
        let cell =
            |half: f64, colour| Mark::rectangle((x - half, y - half), (x + half, y + half), colour);
        let is_best = top - point.mean <= SAME;
        marks.push(cell(0.49, colour::ramp(share)));
        if is_best {
            let corners = [(-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)];
            let frame = corners.map(|(dx, dy)| (x + 0.47 * dx, y + 0.47 * dy)).to_vec();
            marks.push(Mark::line(frame, 2.5, colour::REFERENCE));
        }
        // Many values leave no room for numbers.
        if across.values.len() <= 8 && up.values.len() <= 12 {
            let colour = if share > 0.55 { colour::WHITE } else { colour::INK };
            let text = format!("{:.1}", point.mean);
            marks.push(Mark::text((x, y), HPos::Center, (VALUE, colour), text));
        }
    }
    Some(Panel {
        about: format!("{} upwards; {}", up.name, study.scored),
        below: across.name.clone(),
        marks,
        ..Panel::new(ticks(across), ticks(up), HEIGHT)
    })
}

fn points(study: &Study) -> impl Iterator<Item = Point<'_>> {
    study.points.iter().map(|point| {
        let value = |(axis, at): (&Parameter, &usize)| {
            axis.values.get(*at).map_or(String::new(), protocol::value_of)
        };
        let joined = |texts: Vec<String>| texts.join(" ");
        let places = || study.axes.iter().zip(&point.at);
        let others = || places().skip(1);
        Point {
            dataset: &study.dataset,
            label: &study.label,
            parameter: study.axes.first().map_or("", |axis| &axis.name),
            value: places().next().map_or(String::new(), value),
            other_parameter: joined(others().map(|(axis, _)| axis.name.clone()).collect()),
            other_value: joined(others().map(value).collect()),
            accuracy: Number::from(point.mean),
            sd: point.deviation.into(),
            splits: point.splits,
            scored: study.scored,
        }
    })
}
