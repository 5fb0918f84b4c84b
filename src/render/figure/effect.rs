//! `effect`: what scheme and tuning do, each method under ovr and rvo, fixed and tuned.
//!
//! The variants are entries of one experiment, or of several that are rendered together. Levels of a method are compared
//! on the same data and on the splits that all of them have.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use plotters::style::Color;
use serde::Serialize;

use super::axis::Axis;
use super::model::{ACROSS, Figure, Look, Mark, Panel, Series};
use super::{caption, in_rows, splits};
use crate::analyse::{Column, Summary, mean, standard_deviation};
use crate::render::csv::csv;

/// Levels of the two factors, in the order of the axis: the first bit is the scheme, the second the tuning.
const LEVELS: [&str; 4] = ["ovr, fixed", "rvo, fixed", "ovr, tuned", "rvo, tuned"];

/// Name, hash, and samples for training and testing: a dataset may be a part of another one with the same name.
type Data<'a> = (&'a str, &'a str, usize, usize);
/// Number and hash of a split: experiments with the same seed have splits in common.
type Split<'a> = (usize, &'a str);
/// By dataset, method and level, in the order of the experiments.
type Entries<'a> = IndexMap<(Data<'a>, &'a str, usize), Entry<'a>>;

/// A method at one level on one dataset, with all splits it has.
struct Entry<'a> {
    summary: &'a Summary,
    column: &'a Column,
    values: BTreeMap<Split<'a>, f64>,
}

/// An entry over the splits that all levels of its method have.
#[derive(Serialize)]
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

/// An entry, the index of its level, and its numbers.
type Point<'p, 'a> = (&'p Entry<'a>, usize, Level<'a>);

/// The figure, if a method with a scheme appears at two levels on the same splits.
pub(in crate::render) fn figure(summaries: &[&Summary]) -> Option<Figure> {
    let entries = entries(summaries);
    let points = Vec::from_iter(entries.iter().filter_map(|(&(data, method, index), entry)| {
        Some((data, (entry, index, level(&entries, data, method, index)?)))
    }));
    let mut datasets: IndexMap<Data, Vec<&Point>> = IndexMap::new();
    for (data, point) in &points {
        datasets.entry(*data).or_default().push(point);
    }
    let mut series = Series::default();
    let panels = Vec::from_iter(datasets.values().filter_map(|points| panel(points, &mut series)));
    let words = "Mean test accuracy over the splits that all levels of a method have on the same data; bars reach one \
                 standard deviation, lines join levels that differ in one factor. ovr: hyperplane l is close to class l \
                 (the paper's text); rvo: close to all others (the authors' code). tuned: parameters chosen by a \
                 search; fixed: set in the spec, possibly to values that the search does not try. Methods with only one \
                 level are left out.";
    let of = |summary: &Summary| {
        points.iter().any(|(_, (entry, ..))| std::ptr::eq(entry.summary, summary))
    };
    let states = summaries.iter().filter(|summary| of(summary));
    let states = states.map(|summary| format!(" {}: {}", summary.name(), caption(summary, "")));
    let caption = words.to_owned() + &states.collect::<String>();
    let data: Vec<Level> = points.into_iter().map(|(_, (_, _, level))| level).collect();
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

/// Every entry with a scheme; of several at one level the first.
fn entries<'a>(summaries: &[&'a Summary]) -> Entries<'a> {
    let mut entries = Entries::new();
    for &summary in summaries {
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
                let values: BTreeMap<Split, f64> = values.collect();
                let are_percentages = values.values().all(|value| (0.0..=100.0).contains(value));
                if !values.is_empty() && are_percentages {
                    let data = (&*data.name, &*data.hash, data.n_train, data.n_test);
                    let place = entries.entry((data, &*column.method, level));
                    place.or_insert(Entry { summary, column, values });
                }
            }
        }
    }
    entries
}

/// The numbers of an entry over the splits of all levels of its method, if there is another level.
fn level<'a>(
    entries: &Entries<'a>,
    data: Data<'a>,
    method: &'a str,
    index: usize,
) -> Option<Level<'a>> {
    let levels =
        Vec::from_iter((0..LEVELS.len()).filter_map(|level| entries.get(&(data, method, level))));
    let is_common = |split: &Split| levels.iter().all(|entry| entry.values.contains_key(split));
    let values = entries[&(data, method, index)].values.iter();
    let common = values.filter(|(split, _)| is_common(split));
    let values: Vec<f64> = common.map(|(_, value)| *value).collect();
    let (dataset, _, train, test) = data;
    let (accuracy, sd) = (mean(&values)?, standard_deviation(&values));
    let (level, splits) = (LEVELS[index], values.len());
    let level = Level { dataset, train, test, method, level, accuracy, sd, splits };
    (levels.len() > 1).then_some(level)
}

fn panel(points: &[&Point], series: &mut Series) -> Option<Panel> {
    let is_used = |level: &usize| points.iter().any(|(_, used, _)| used == level);
    let levels: Vec<usize> = (0..LEVELS.len()).filter(is_used).collect();
    let x = Axis::names(levels.iter().map(|&level| LEVELS[level].to_owned()));
    let ends = points.iter().flat_map(|(.., row)| {
        let (mean, reach) = (row.accuracy, row.sd.unwrap_or(0.0));
        [mean - reach, mean + reach]
    });
    let y = Axis::percent(ends)?;
    let mut methods: IndexMap<&str, Vec<&Point>> = IndexMap::new();
    for &point in points {
        methods.entry(point.2.method).or_default().push(point);
    }
    let mut marks = Vec::new();
    for (index, (method, points)) in methods.iter().enumerate() {
        let title = points[0].0.column.info.map_or(*method, |info| info.title);
        let look = Look { radius: 3.75, ..series.look(title) };
        // Methods are next to each other, so that bars do not cover each other.
        let shift = (index as f64 - (methods.len() - 1) as f64 / 2.0) * 0.5 / methods.len() as f64;
        let drawn = levels.iter().enumerate().filter_map(|(place, level)| {
            let (.., row) = points.iter().find(|(_, other, _)| other == level)?;
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
    // The size distinguishes datasets with the same name.
    let Level { dataset, train, .. } = points[0].2;
    let splits = splits(points.iter().map(|(.., row)| row.splits));
    let name = format!("{dataset}, {train} for training, {splits}");
    let about = "mean test accuracy (%)".to_owned();
    Some(Panel { name, about, marks, ..Panel::new(x, y, 190.0) })
}
