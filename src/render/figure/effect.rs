//! `effect`: what scheme and tuning do, each method under ovr and rvo, fixed and tuned.
//!
//! Taken from whatever variants there are: entries of one experiment, or of several that are rendered
//! together. Levels of a method are compared on the same data and on the splits that all of them have.

use std::collections::{BTreeMap, BTreeSet};

use plotters::style::Color;
use serde::Serialize;

use super::axis::Axis;
use super::model::{ACROSS, Figure, Look, Mark, Panel, Series};
use super::{caption, in_rows, splits};
use crate::analyse::{Column, Summary, mean, standard_deviation};
use crate::ledger::PlannedDataset;
use crate::render::csv::csv;

/// Levels of the two factors, in the order of the axis: the first bit is the scheme, the second the tuning.
const LEVELS: [&str; 4] = ["ovr, fixed", "rvo, fixed", "ovr, tuned", "rvo, tuned"];

/// Number and hash of a split: experiments with the same seed have splits in common.
type Split<'a> = (usize, &'a str);

/// A method at one level on one dataset, with all splits it has.
struct Entry<'a> {
    summary: &'a Summary,
    data: &'a PlannedDataset,
    column: &'a Column,
    level: usize,
    values: BTreeMap<Split<'a>, f64>,
}

/// An entry over the splits that all levels of its method have.
#[derive(Default, Serialize)]
struct Level<'a> {
    dataset: &'a str,
    train: usize,
    test: usize,
    method: &'a str,
    level: &'static str,
    accuracy: f64,
    sd: Option<f64>,
    splits: usize,
}

type Point<'p, 'a> = (&'p Entry<'a>, Level<'a>);

/// The figure, if a method with a scheme appears at two levels on the same splits.
pub(in crate::render) fn figure(summaries: &[&Summary]) -> Option<Figure> {
    let entries = entries(summaries);
    let points = entries.iter().filter_map(|entry| Some((entry, level(entry, &entries)?)));
    let points: Vec<Point> = points.collect();
    let mut datasets: Vec<&PlannedDataset> = Vec::new();
    for (entry, _) in &points {
        if !datasets.iter().any(|data| same_data(data, entry.data)) {
            datasets.push(entry.data);
        }
    }
    let mut series = Series::default();
    let panels = datasets.iter().filter_map(|data| {
        let drawn = points.iter().filter(|(entry, _)| same_data(data, entry.data));
        let drawn: Vec<&Point> = drawn.collect();
        panel(data, &drawn, &mut series)
    });
    let panels: Vec<Panel> = panels.collect();
    let words = "Mean test accuracy over the splits that all levels of a method have on the same data; bars reach one \
                 standard deviation, lines join levels that differ in one factor. ovr: hyperplane l is close to class l \
                 (the paper's text); rvo: close to all others (the authors' code). tuned: parameters chosen by a \
                 search; fixed: set beforehand, to values that may be none of those tried. Methods at one level only \
                 are left out.";
    let is_drawn =
        |of: &&&Summary| points.iter().any(|(entry, _)| std::ptr::eq(entry.summary, **of));
    let states = summaries.iter().filter(is_drawn);
    let states = states.map(|summary| format!(" {}: {}", summary.name(), caption(summary, "")));
    let caption = words.to_owned() + &states.collect::<String>();
    let data: Vec<Level> = points.into_iter().map(|(_, level)| level).collect();
    let (title, legend) = ("effect of scheme and tuning", series.legend(ACROSS));
    let rows = in_rows(&panels, 2);
    let figure = super::figure(summaries.first()?, title, rows, legend, words, &data)?;
    let figure = Figure { name: "effect", ..figure };
    if summaries.len() == 1 {
        return Some(figure);
    }
    let title = format!("All experiments: {title}");
    let cautions: BTreeSet<&str> = summaries.iter().flat_map(|of| of.cautions()).collect();
    let data = csv(&cautions.into_iter().collect::<Vec<_>>(), &data);
    Some(Figure { title, caption, data, ..figure })
}

/// Every entry with a scheme; of several at one level the first, in the order of the experiments.
fn entries<'a>(summaries: &[&'a Summary]) -> Vec<Entry<'a>> {
    let mut found: Vec<Entry> = Vec::new();
    for summary in summaries {
        for column in &summary.columns {
            let level = match column.scheme.as_deref() {
                Some("ovr") => 2 * usize::from(column.points > 1),
                Some("rvo") => 2 * usize::from(column.points > 1) + 1,
                _ => continue,
            };
            for row in &summary.rows {
                let data = &row.data;
                let values = row.cells[column.index].values().filter_map(|(split, value)| {
                    Some(((split, data.splits.get(split)?.as_str()), value))
                });
                let values = values.collect();
                let is_percentage = |value: &f64| (0.0..=100.0).contains(value);
                let entry = Entry { summary, data, column, level, values };
                let is_known = |other: &Entry| alike(other, &entry) && other.level == level;
                let is_new = !entry.values.is_empty() && !found.iter().any(is_known);
                if is_new && entry.values.values().all(is_percentage) {
                    found.push(entry);
                }
            }
        }
    }
    found
}

/// Whether two datasets are the same: not only by name, since one may be a part of the other.
fn same_data(a: &PlannedDataset, b: &PlannedDataset) -> bool {
    (&a.name, &a.hash, a.n_train, a.n_test) == (&b.name, &b.hash, b.n_train, b.n_test)
}

/// Whether two entries are of the same data and method.
fn alike(a: &Entry, b: &Entry) -> bool {
    a.column.method == b.column.method && same_data(a.data, b.data)
}

/// An entry over the splits of all levels of its method, if there is another level.
fn level<'a>(entry: &Entry<'a>, entries: &[Entry<'a>]) -> Option<Level<'a>> {
    let is_other = |other: &&Entry| alike(other, entry) && other.level != entry.level;
    let others = entries.iter().filter(is_other);
    others.clone().next()?;
    let is_common = |split: &Split| others.clone().all(|other| other.values.contains_key(split));
    let common = entry.values.iter().filter(|(split, _)| is_common(split));
    let values: Vec<f64> = common.map(|(_, value)| *value).collect();
    Some(Level {
        dataset: &entry.data.name,
        train: entry.data.n_train,
        test: entry.data.n_test,
        method: &entry.column.method,
        level: LEVELS[entry.level],
        accuracy: mean(&values)?,
        sd: standard_deviation(&values),
        splits: values.len(),
    })
}

fn panel(data: &PlannedDataset, points: &[&Point], series: &mut Series) -> Option<Panel> {
    let is_used = |level: &usize| points.iter().any(|(entry, _)| entry.level == *level);
    let levels: Vec<usize> = (0..LEVELS.len()).filter(is_used).collect();
    let x = Axis::names(levels.iter().map(|&level| LEVELS[level].to_owned()));
    let ends = points.iter().flat_map(|(_, row)| {
        let (mean, reach) = (row.accuracy, row.sd.unwrap_or(0.0));
        [mean - reach, mean + reach]
    });
    let y = Axis::percent(ends)?;
    let mut methods: Vec<&Column> = Vec::new();
    for (entry, _) in points {
        if !methods.iter().any(|column| column.method == entry.column.method) {
            methods.push(entry.column);
        }
    }
    let mut marks = Vec::new();
    for (index, column) in methods.iter().enumerate() {
        let title = column.info.map_or(column.method.as_str(), |info| info.title);
        let look = Look { radius: 3.75, ..series.look(title) };
        // Methods stand next to each other, so that bars do not cover each other.
        let shift = (index as f64 - (methods.len() - 1) as f64 / 2.0) * 0.5 / methods.len() as f64;
        let drawn = levels.iter().enumerate().filter_map(|(place, level)| {
            let of =
                |entry: &Entry| (&entry.column.method, entry.level) == (&column.method, *level);
            let (_, row) = points.iter().find(|(entry, _)| of(entry))?;
            Some((*level, (place as f64 + shift, row.accuracy), row.sd.unwrap_or(0.0)))
        });
        let drawn: Vec<_> = drawn.collect();
        for (_, (x, mean), sd) in &drawn {
            let ends = vec![(*x, mean - sd), (*x, mean + sd)];
            marks.push(Mark::line(ends, 1.5, look.colour.mix(0.45)));
        }
        // Lines join neighbours that differ in one factor only.
        let joined = drawn.windows(2).filter(|pair| (pair[0].0 ^ pair[1].0).count_ones() == 1);
        let joined = joined.map(|pair| Mark::line(vec![pair[0].1, pair[1].1], 1.75, look.colour));
        marks.extend(joined);
        marks.push(Mark::Dots { at: drawn.iter().map(|(_, at, _)| *at).collect(), look });
    }
    // The size tells apart what has the same name.
    let splits = splits(points.iter().map(|(_, row)| row.splits));
    let name = format!("{}, {} for training, {splits}", data.name, data.n_train);
    let about = "mean test accuracy (%)".to_owned();
    Some(Panel { name, about, marks, ..Panel::new(x, y, 190.0) })
}
