//! `effect`: what scheme and tuning do, each method under ovr and rvo, fixed and tuned.
//!
//! Taken from whatever variants there are: entries of one experiment, or of several that are rendered
//! together. Levels of a method are compared on the same data and on the splits that all of them have.

use std::collections::BTreeMap;

use super::colour;
use super::plot::{Look, Plot};
use super::scale::Scale;
use super::sheet::{Frame, Sheet};
use super::{Drawn, MOST, MOST_PANELS};
use crate::ledger::PlannedDataset;
use crate::methods;
use crate::render::csv::{optional, quoted};
use crate::render::text::counted;
use crate::render::{Cell, Summary};
use crate::stats;

/// Levels of the two factors, in the order of the axis: the first bit is the scheme, the second the tuning.
const LEVELS: [&str; 4] = ["ovr, fixed", "rvo, fixed", "ovr, tuned", "rvo, tuned"];

/// Number and hash of a split: experiments with the same seed have splits in common.
type Split<'a> = (usize, &'a str);

/// A method at one level on one dataset, with all splits it has.
struct Entry<'a> {
    /// Index of its experiment.
    origin: usize,
    data: &'a PlannedDataset,
    method: &'a str,
    level: usize,
    values: BTreeMap<Split<'a>, f64>,
}

/// An entry over the splits that all levels of its method have.
struct Point<'a> {
    origin: usize,
    data: &'a PlannedDataset,
    method: &'a str,
    level: usize,
    mean: f64,
    deviation: Option<f64>,
    splits: usize,
}

/// The figure, where a method with a scheme appears at two levels on the same splits.
pub(in crate::render) fn figure(summaries: &[&Summary]) -> Option<Drawn> {
    let points = points(&entries(summaries));
    let panels = panels(&points);
    if panels.is_empty() {
        return None;
    }
    let heading = match summaries {
        [only] => only.heading(),
        _ => "All experiments",
    };
    let title = format!("{heading}: effect of scheme and tuning");
    let mut methods: Vec<&str> = Vec::new();
    for point in &points {
        if !methods.contains(&point.method) {
            methods.push(point.method);
        }
    }
    methods.truncate(MOST);
    let mut sheet = Sheet::new(&title);
    let looks = methods.iter().enumerate();
    let title_of =
        |method: &str| methods::find(method).map_or(method, |entry| entry.info.title).to_owned();
    let looks = looks.map(|(index, method)| (title_of(method), Look::of(index).icon()));
    sheet.legend(looks.collect());
    let frames = sheet.grid(panels.len(), panels.len().min(2), 260.0);
    for (panel, frame) in panels.iter().zip(frames) {
        draw(panel, &name(panel, &panels), &methods, frame, &mut sheet);
    }
    let picture = sheet.finish(title.clone(), &words(summaries, &points));
    Some(Drawn { name: "effect", title, picture, data: data(&points) })
}

/// Every entry with a scheme; of several at one level the first, in the order of the experiments.
fn entries<'a>(summaries: &[&'a Summary]) -> Vec<Entry<'a>> {
    let mut found: Vec<Entry> = Vec::new();
    for (origin, summary) in summaries.iter().enumerate() {
        for (column, method) in summary.plan.methods.iter().enumerate() {
            let tuned = 2 * usize::from(method.points > 1);
            let level = match method.scheme.as_deref() {
                Some("ovr") => tuned,
                Some("rvo") => tuned + 1,
                _ => continue,
            };
            for (row, data) in summary.rows.iter().zip(&summary.plan.datasets) {
                let cell = row.cells.get(column).filter(|cell| drawable(cell));
                let entry = cell.map(|cell| Entry {
                    origin,
                    data,
                    method: &method.method,
                    level,
                    values: by_split(cell, data),
                });
                let known = |entry: &Entry| found.iter().any(|other| alike(other, entry, true));
                found.extend(entry.filter(|entry| !known(entry)));
            }
        }
    }
    found
}

fn drawable(cell: &Cell) -> bool {
    let mut values = cell.values.values();
    !cell.values.is_empty() && values.all(|value| (0.0..=100.0).contains(value))
}

fn by_split<'a>(cell: &Cell, data: &'a PlannedDataset) -> BTreeMap<Split<'a>, f64> {
    let values = cell.values.iter();
    let hashed = values.filter_map(|(&split, &value)| {
        let hash = data.splits.get(split)?.as_str();
        Some(((split, hash), value))
    });
    hashed.collect()
}

/// Whether two datasets are the same: not only by name, since one may be a part of the other.
fn same_data(a: &PlannedDataset, b: &PlannedDataset) -> bool {
    (&a.name, &a.hash, a.n_train, a.n_test) == (&b.name, &b.hash, b.n_train, b.n_test)
}

/// Whether two entries are of the same data and method, and at the same level or not.
fn alike(a: &Entry, b: &Entry, same_level: bool) -> bool {
    a.method == b.method && same_data(a.data, b.data) && (a.level == b.level) == same_level
}

/// Entries that have another level to be compared with, over the splits of all levels.
fn points<'a>(entries: &[Entry<'a>]) -> Vec<Point<'a>> {
    let point = |entry: &Entry<'a>| {
        let others = entries.iter().filter(|other| alike(other, entry, false));
        others.clone().next()?;
        let common = entry
            .values
            .iter()
            .filter(|(split, _)| others.clone().all(|other| other.values.contains_key(split)));
        let values: Vec<f64> = common.map(|(_, value)| *value).collect();
        Some(Point {
            origin: entry.origin,
            data: entry.data,
            method: entry.method,
            level: entry.level,
            mean: stats::mean(&values)?,
            deviation: stats::standard_deviation(&values),
            splits: values.len(),
        })
    };
    entries.iter().filter_map(point).collect()
}

/// The points of each dataset.
fn panels<'p, 'a>(points: &'p [Point<'a>]) -> Vec<Vec<&'p Point<'a>>> {
    let mut panels: Vec<Vec<&Point>> = Vec::new();
    for point in points {
        let same = |panel: &&mut Vec<&Point>| same_data(panel[0].data, point.data);
        match panels.iter_mut().find(same) {
            Some(panel) => panel.push(point),
            None => panels.push(vec![point]),
        }
    }
    panels.truncate(MOST_PANELS);
    panels
}

/// `dna, 10 splits`; with the size where other data has the same name.
fn name(panel: &[&Point], panels: &[Vec<&Point>]) -> String {
    let data = panel[0].data;
    let namesakes = panels.iter().filter(|other| other[0].data.name == data.name);
    let size = if namesakes.count() > 1 {
        format!(", {} for training", counted(data.n_train, "sample"))
    } else {
        String::new()
    };
    let splits = || panel.iter().map(|point| point.splits);
    let (fewest, most) = (splits().min().unwrap_or(0), splits().max().unwrap_or(0));
    let splits = if fewest == most {
        counted(most, "split")
    } else {
        format!("{fewest} to {}", counted(most, "split"))
    };
    format!("{}{size}, {splits}", data.name)
}

fn draw(panel: &[&Point], name: &str, methods: &[&str], frame: Frame, sheet: &mut Sheet) {
    let levels: Vec<usize> =
        (0..LEVELS.len()).filter(|level| panel.iter().any(|point| point.level == *level)).collect();
    let names: Vec<String> = (levels.iter()).map(|&level| LEVELS[level].to_owned()).collect();
    let Some(y) = Scale::linear(panel.iter().flat_map(|point| point.ends()), 0.5) else {
        return;
    };
    let titles = (name, "", "mean test accuracy (%)");
    let plot = Plot::new(frame, (Scale::names(&names), y), titles, &mut sheet.shapes);
    for (index, method) in methods.iter().enumerate() {
        let look = Look::of(index);
        // Methods stand side by side, so that bars do not cover each other.
        let shift = (index as f64 - (methods.len() - 1) as f64 / 2.0) * 0.5 / methods.len() as f64;
        // Lines join neighbours that differ in one factor only.
        let mut curves: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut before: Option<usize> = None;
        for (place, level) in levels.iter().enumerate() {
            let of = |point: &&&Point| point.method == *method && point.level == *level;
            if let Some(point) = panel.iter().find(of) {
                let x = place as f64 + shift;
                let [low, high] = point.ends();
                let faint = colour::faint(look.colour, 0.45);
                sheet.shapes.push(plot.whisker(x, (low, high), faint));
                let joins = before.is_some_and(|before| (before ^ level).count_ones() == 1);
                match curves.last_mut().filter(|_| joins) {
                    Some(curve) => curve.push((x, point.mean)),
                    None => curves.push(vec![(x, point.mean)]),
                }
                before = Some(*level);
            }
        }
        for curve in &curves {
            plot.curve(curve, look, &mut sheet.shapes);
        }
    }
}

impl Point<'_> {
    /// One standard deviation to either side of the mean.
    fn ends(&self) -> [f64; 2] {
        let reach = self.deviation.unwrap_or(0.0);
        [self.mean - reach, self.mean + reach]
    }
}

/// The caption, with the state and the warnings of every experiment that is drawn.
fn words(summaries: &[&Summary], points: &[Point]) -> String {
    let mut words = "Mean test accuracy over the splits that all levels of a method have on the same data; bars \
                     reach one standard deviation, lines join levels that differ in one factor. ovr: hyperplane l is close to class l (the paper's text); rvo: \
                     close to all others (the authors' code). tuned: parameters chosen by a search; fixed: set \
                     beforehand, to values that may be none of those tried. Methods at one level only are left out."
        .to_owned();
    let drawn = summaries.iter().enumerate();
    for (_, summary) in drawn.filter(|(index, _)| points.iter().any(|p| p.origin == *index)) {
        if summaries.len() > 1 {
            words += &format!(" {}:", summary.experiment);
        }
        words += &format!(" {}", super::caption(summary, ""));
    }
    words
}

fn data(points: &[Point]) -> String {
    let mut text = "dataset,train,test,method,level,accuracy,sd,splits\n".to_owned();
    for point in points {
        text += &format!(
            "{},{},{},{},{},{:?},{},{}\n",
            quoted(&point.data.name),
            point.data.n_train,
            point.data.n_test,
            quoted(point.method),
            quoted(LEVELS[point.level]),
            point.mean,
            optional(point.deviation),
            point.splits
        );
    }
    text
}
