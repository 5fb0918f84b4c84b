//! `effect`: what scheme and tuning do, each method under ovr and rvo, fixed and tuned.
//!
//! Taken from whatever variants there are: entries of one experiment, or of several that are rendered
//! together.

use super::colour;
use super::plot::{Look, Plot};
use super::scale::Scale;
use super::sheet::{Icon, Sheet};
use super::{Drawn, MOST, MOST_PANELS};
use crate::render::csv::quoted;
use crate::render::{Cell, Summary};

/// Levels of the two factors, in the order of the axis.
const LEVELS: [&str; 4] = ["ovr, fixed", "rvo, fixed", "ovr, tuned", "rvo, tuned"];

/// A method at one level on one dataset.
struct Point {
    dataset: String,
    method: String,
    level: usize,
    mean: f64,
    deviation: f64,
    splits: usize,
}

/// The figure, where a method with a scheme appears at two levels on the same dataset.
pub(in crate::render) fn figure(summaries: &[&Summary]) -> Option<Drawn> {
    let points = points(summaries);
    let mut methods = distinct(points.iter().map(|point| &point.method));
    methods.truncate(MOST);
    let mut datasets = distinct(points.iter().map(|point| &point.dataset));
    datasets.truncate(MOST_PANELS);
    if methods.is_empty() || datasets.is_empty() {
        return None;
    }
    let heading = match summaries {
        [only] => only.heading().to_owned(),
        _ => "All experiments".to_owned(),
    };
    let title = format!("{heading}: effect of scheme and tuning");
    let mut sheet = Sheet::new(&title);
    let entries = methods.iter().enumerate().map(|(index, method)| {
        let look = Look::of(index);
        let icon: Icon =
            Box::new(move |at, shapes| shapes.extend(look.mark.draw(at, 4.5, look.colour)));
        (method.clone(), icon)
    });
    sheet.legend(entries.collect());
    let levels: Vec<usize> = (0..LEVELS.len())
        .filter(|level| points.iter().any(|point| point.level == *level))
        .collect();
    let names: Vec<String> = levels
        .iter()
        .map(|&level| LEVELS[level].to_owned())
        .collect();
    let frames = sheet.grid(datasets.len(), datasets.len().min(2), 260.0);
    for (dataset, frame) in datasets.iter().zip(frames) {
        let here: Vec<&Point> = points
            .iter()
            .filter(|point| point.dataset == *dataset)
            .collect();
        let y = here
            .iter()
            .flat_map(|p| [p.mean - p.deviation, p.mean + p.deviation]);
        let Some(y) = Scale::linear(y, 0.5) else {
            continue;
        };
        let titles = (dataset.as_str(), "", "test accuracy (%)");
        let plot = Plot::new(frame, (Scale::names(&names), y), titles, &mut sheet.shapes);
        for (index, method) in methods.iter().enumerate() {
            let look = Look::of(index);
            // Methods stand side by side, so that bars do not cover each other.
            let shift =
                (index as f64 - (methods.len() - 1) as f64 / 2.0) * 0.5 / methods.len() as f64;
            let mut curve = Vec::new();
            for point in here.iter().filter(|point| point.method == *method) {
                let Some(place) = levels.iter().position(|level| *level == point.level) else {
                    continue;
                };
                let x = place as f64 + shift;
                let ends = (point.mean - point.deviation, point.mean + point.deviation);
                let whisker = plot.whisker(x, ends, colour::faint(look.colour, 0.45));
                sheet.shapes.push(whisker);
                curve.push((x, point.mean));
            }
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
            plot.curve(&curve, look, &mut sheet.shapes);
        }
    }
    let words = "Mean test accuracy, bars reach one standard deviation over splits. ovr: hyperplane l is close to \
                 class l (the paper's text); rvo: close to all others (the authors' code). tuned: parameters \
                 chosen by cross-validation on training samples. Only methods that appear at two levels or more \
                 are drawn. Fixed and tuned settings differ in their other parameters, too.";
    let origins: Vec<String> = summaries
        .iter()
        .map(|summary| super::caption(summary, ""))
        .collect();
    let picture = sheet.finish(title.clone(), &format!("{words} {}", origins.join(" ")));
    Some(Drawn {
        name: "effect",
        title,
        picture,
        data: data(&points),
    })
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}

fn points(summaries: &[&Summary]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for summary in summaries {
        for (column, planned) in summary.plan.methods.iter().enumerate() {
            let Some(scheme) = planned
                .scheme
                .as_deref()
                .filter(|s| ["ovr", "rvo"].contains(s))
            else {
                continue;
            };
            let level = usize::from(scheme == "rvo") + 2 * usize::from(planned.points > 1);
            for row in &summary.rows {
                let cell = row.cells.get(column).filter(|cell| drawable(cell));
                let Some((cell, mean)) = cell.and_then(|cell| Some((cell, cell.mean?))) else {
                    continue;
                };
                let point = Point {
                    dataset: row.dataset.clone(),
                    method: planned.method.clone(),
                    level,
                    mean,
                    deviation: cell.deviation.unwrap_or(0.0),
                    splits: cell.counts.ok,
                };
                let same = |p: &Point| {
                    (p.level, &p.method, &p.dataset) == (level, &point.method, &point.dataset)
                };
                if !points.iter().any(same) {
                    points.push(point);
                }
            }
        }
    }
    let compared = |point: &Point, all: &[Point]| {
        let mut others = all.iter();
        others.any(|p| {
            p.level != point.level && p.method == point.method && p.dataset == point.dataset
        })
    };
    let keep: Vec<bool> = points
        .iter()
        .map(|point| compared(point, &points))
        .collect();
    let mut keep = keep.into_iter();
    points.retain(|_| keep.next().unwrap_or(false));
    points
}

fn drawable(cell: &Cell) -> bool {
    cell.values
        .values()
        .all(|value| (0.0..=100.0).contains(value))
}

fn data(points: &[Point]) -> String {
    let mut text = "dataset,method,level,accuracy,sd,splits\n".to_owned();
    for point in points {
        text += &format!(
            "{},{},{},{:?},{:?},{}\n",
            quoted(&point.dataset),
            quoted(&point.method),
            quoted(LEVELS[point.level]),
            point.mean,
            point.deviation,
            point.splits
        );
    }
    text
}
