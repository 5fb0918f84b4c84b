//! `hyperparameters`: accuracy over pairs of parameters as heat maps, over each of them as lines.

use plotters::style::Color;
use plotters::style::text_anchor::HPos;
use serde::Serialize;

use super::axis::Axis;
use super::draw::TICK;
use super::model::{Figure, Look, Mark, Panel};
use super::text::Face;
use super::{colour, splits};
use crate::analyse::{Axis as Parameter, SAME, Study, Summary, protocol, studies};

const HEIGHT: f64 = 180.0;
/// Most parameters of a study that get a line each.
const LINES: usize = 3;

#[derive(Serialize)]
struct Point<'a> {
    dataset: &'a str,
    label: &'a str,
    parameter: &'a str,
    value: String,
    /// Grids of three parameters and more have their further values in one field.
    other_parameter: String,
    other_value: String,
    accuracy: f64,
    sd: Option<f64>,
    splits: usize,
    scored: &'a str,
}

/// The figure, if the ledger holds a study.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let studies = studies(summary);
    let words = words(summary, &studies);
    let data: Vec<Point> = studies.iter().flat_map(points).collect();
    let rows = studies.iter().map(panels).collect();
    super::figure(summary, "hyperparameters", rows, Vec::new(), &words, &data)
}

fn words(summary: &Summary, studies: &[Study]) -> String {
    let rows = summary.rows.iter();
    let rows = rows.filter(|row| studies.iter().any(|study| study.dataset == row.dataset));
    let points = studies.iter().flat_map(|study| &study.points);
    let over = splits(points.map(|point| point.splits));
    format!(
        "Accuracy in percent of the samples that the panel names, mean over {over}. Lines: values of one parameter, evenly \
         spaced, with the others at their best; bands reach one standard deviation over splits. Heat maps: one parameter \
         to the right, one upwards; darker is better, and the best points are framed. The maximum over a grid overestimates \
         the accuracy. {}",
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
    let mut marks = vec![Mark::Area { points: around, colour: look.colour.mix(0.18) }];
    marks.extend(Mark::curve(band(0.0).collect(), look));
    let (about, below) = (study.scored.to_owned(), parameter.name.clone());
    Some(Panel { about, below, marks, ..Panel::new(ticks(parameter), y, HEIGHT) })
}

/// The first parameter to the right, the second upwards.
fn heat_map(study: &Study) -> Option<Panel> {
    let [across, up] = study.axes.as_slice() else {
        return None;
    };
    let means = || study.points.iter().map(|point| point.mean);
    let (low, top) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
    let (mut marks, mut frames) = (Vec::new(), Vec::new());
    for point in &study.points {
        let (x, y) = (point.at[0] as f64, point.at[1] as f64);
        let share = if top > low { (point.mean - low) / (top - low) } else { 1.0 };
        let corners = [(-0.49, -0.49), (-0.49, 0.49), (0.49, 0.49), (0.49, -0.49), (-0.49, -0.49)];
        let points = corners.map(|(dx, dy)| (x + dx, y + dy)).to_vec();
        if top - point.mean <= SAME {
            frames.push(Mark::line(points.clone(), 2.5, colour::REFERENCE));
        }
        marks.push(Mark::Area { points, colour: colour::ramp(share) });
        // Many values leave no room for numbers.
        if across.values.len() <= 8 && up.values.len() <= 12 {
            let colour = if share > 0.55 { colour::WHITE } else { colour::INK };
            let text = format!("{:.1}", point.mean);
            marks.push(Mark::text((x, y), HPos::Center, Face { colour, ..TICK }, text));
        }
    }
    marks.extend(frames);
    let about = format!("{} upwards; {}", up.name, study.scored);
    let below = across.name.clone();
    Some(Panel { about, below, marks, ..Panel::new(ticks(across), ticks(up), HEIGHT) })
}

fn points(study: &Study) -> impl Iterator<Item = Point<'_>> {
    let names: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
    study.points.iter().map(move |point| {
        let places = study.axes.iter().zip(&point.at);
        let values = Vec::from_iter(places.map(|(axis, at)| protocol::value_of(&axis.values[*at])));
        Point {
            dataset: &study.dataset,
            label: &study.label,
            parameter: names[0],
            value: values[0].clone(),
            other_parameter: names[1..].join(" "),
            other_value: values[1..].join(" "),
            accuracy: point.mean,
            sd: point.deviation,
            splits: point.splits,
            scored: study.scored,
        }
    })
}
