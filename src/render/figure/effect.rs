//! `effect`: what scheme and tuning do, each method under ovr and rvo, fixed and tuned.
//!
//! Taken from whatever variants there are: entries of one experiment, or of several that are rendered
//! together. Levels of a method are compared on the same data and on the splits that all of them have.

use std::collections::BTreeMap;

use serde::Serialize;

use super::axis::Axis;
use super::colour;
use super::lanes::MOST;
use super::model::{Figure, Look, Mark, Panel};
use super::splits;
use crate::analyse::text::counted;
use crate::analyse::{Cell, Summary, mean, standard_deviation};
use crate::ledger::PlannedDataset;
use crate::render::csv::{Number, csv};

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
    level: usize,
    row: Level<'a>,
}

#[derive(Default, Serialize)]
struct Level<'a> {
    dataset: &'a str,
    train: usize,
    test: usize,
    method: &'a str,
    level: &'static str,
    accuracy: Number,
    sd: Number,
    splits: usize,
}

/// The figure, if a method with a scheme appears at two levels on the same splits.
pub(in crate::render) fn figure(summaries: &[&Summary]) -> Option<Figure> {
    let points = points(&entries(summaries));
    let groups = by_dataset(&points);
    let mut methods: Vec<&str> = Vec::new();
    for point in &points {
        if !methods.contains(&point.row.method) {
            methods.push(point.row.method);
        }
    }
    methods.truncate(MOST);
    let panels: Vec<Panel> =
        (groups.iter()).filter_map(|group| panel(group, name(group, &groups), &methods)).collect();
    let caption = words(summaries, &points);
    let rows: Vec<Level> = points.into_iter().map(|point| point.row).collect();
    if panels.is_empty() {
        return None;
    }
    let heading = match summaries {
        [only] => only.heading(),
        _ => "All experiments",
    };
    let columns = || summaries.iter().flat_map(|summary| &summary.columns);
    let title_of = |method: &str| {
        let column = columns().find(|column| column.method == method);
        column.and_then(|column| column.info).map_or(method, |info| info.title).to_owned()
    };
    let columns = panels.len().min(2);
    Some(Figure {
        name: "effect",
        title: format!("{heading}: effect of scheme and tuning"),
        legend: Look::legend(methods.iter().map(|method| title_of(method))),
        rows: Figure::grid(panels, columns),
        columns,
        caption,
        data: csv(&cautions(summaries), &rows),
    })
}

/// Every entry with a scheme; of several at one level the first, in the order of the experiments.
fn entries<'a>(summaries: &[&'a Summary]) -> Vec<Entry<'a>> {
    let mut found: Vec<Entry> = Vec::new();
    for (origin, summary) in summaries.iter().enumerate() {
        for column in &summary.columns {
            let tuned = 2 * usize::from(column.points > 1);
            let level = match column.scheme.as_deref() {
                Some("ovr") => tuned,
                Some("rvo") => tuned + 1,
                _ => continue,
            };
            for row in &summary.rows {
                let cell = row.cells.get(column.index).filter(|cell| drawable(cell));
                let entry = cell.map(|cell| Entry {
                    origin,
                    data: &row.data,
                    method: &column.method,
                    level,
                    values: by_split(cell, &row.data),
                });
                let known = |entry: &Entry| found.iter().any(|other| alike(other, entry, true));
                found.extend(entry.filter(|entry| !known(entry)));
            }
        }
    }
    found
}

fn drawable(cell: &Cell) -> bool {
    cell.counts.done > 0 && cell.values().all(|(_, value)| (0.0..=100.0).contains(&value))
}

fn by_split<'a>(cell: &Cell, data: &'a PlannedDataset) -> BTreeMap<Split<'a>, f64> {
    let hashed = cell.values().filter_map(|(split, value)| {
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
        let row = Level {
            dataset: &entry.data.name,
            train: entry.data.n_train,
            test: entry.data.n_test,
            method: entry.method,
            level: LEVELS[entry.level],
            accuracy: mean(&values)?.into(),
            sd: standard_deviation(&values).into(),
            splits: values.len(),
        };
        Some(Point { origin: entry.origin, data: entry.data, level: entry.level, row })
    };
    entries.iter().filter_map(point).collect()
}

/// The points of each dataset.
fn by_dataset<'p, 'a>(points: &'p [Point<'a>]) -> Vec<Vec<&'p Point<'a>>> {
    let mut panels: Vec<Vec<&Point>> = Vec::new();
    for point in points {
        let same = |panel: &&mut Vec<&Point>| same_data(panel[0].data, point.data);
        match panels.iter_mut().find(same) {
            Some(panel) => panel.push(point),
            None => panels.push(vec![point]),
        }
    }
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
    let splits = splits(panel.iter().map(|point| point.row.splits));
    format!("{}{size}, {splits}", data.name)
}

fn panel(points: &[&Point], name: String, methods: &[&str]) -> Option<Panel> {
    let is_used = |level: &usize| points.iter().any(|point| point.level == *level);
    let levels: Vec<usize> = (0..LEVELS.len()).filter(is_used).collect();
    let x = Axis::names(levels.iter().map(|&level| LEVELS[level].to_owned()));
    let y = Axis::percent(points.iter().flat_map(|point| point.ends()))?;
    let mut marks = Vec::new();
    for (index, method) in methods.iter().enumerate() {
        let look = Look { radius: 3.75, ..Look::series(index) };
        // Methods stand next to each other, so that bars do not cover each other.
        let shift = (index as f64 - (methods.len() - 1) as f64 / 2.0) * 0.5 / methods.len() as f64;
        let is_drawn = |level: usize| {
            move |point: &&&Point| point.row.method == *method && point.level == level
        };
        let drawn = levels.iter().enumerate().filter_map(|(place, level)| {
            let point = points.iter().find(is_drawn(*level))?;
            Some((place as f64 + shift, *point))
        });
        let drawn: Vec<(f64, &Point)> = drawn.collect();
        for (x, point) in &drawn {
            let ends = point.ends().map(|end| (*x, end)).to_vec();
            marks.push(Mark::line(ends, 1.5, colour::faint(look.colour, 0.45)));
        }
        let at: Vec<_> = drawn.iter().map(|(x, point)| (*x, point.row.accuracy.value())).collect();
        for (points, ends) in drawn.windows(2).zip(at.windows(2)) {
            // Lines join neighbours that differ in one factor only.
            if (points[0].1.level ^ points[1].1.level).count_ones() == 1 {
                marks.push(Mark::line(ends.to_vec(), 1.75, look.colour));
            }
        }
        marks.push(Mark::Dots { at, look });
    }
    let about = "mean test accuracy (%)".to_owned();
    Some(Panel { name, about, marks, ..Panel::new(x, y, 190.0) })
}

impl Point<'_> {
    /// One standard deviation to either side of the mean.
    fn ends(&self) -> [f64; 2] {
        let (mean, reach) = (self.row.accuracy.value(), self.row.sd.value());
        [mean - reach, mean + reach]
    }
}

/// The words that warn of any of the experiments.
fn cautions(summaries: &[&Summary]) -> Vec<&'static str> {
    let all = summaries.iter().flat_map(|summary| summary.cautions());
    let mut all: Vec<&str> = all.collect();
    if summaries.len() > 1 {
        all.sort_unstable();
        all.dedup();
    }
    all
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
            words += &format!(" {}:", summary.name());
        }
        words += &format!(" {}", super::caption(summary, ""));
    }
    words
}
