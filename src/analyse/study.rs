//! Hyperparameter studies: accuracies over the values of parameters, gathered from a ledger.
//!
//! There are two sources: the inner scores of tuned entries, one per point of their grid; and
//! several entries of one method with fixed parameters that differ in one or two numbers.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use super::protocol::parameters;
use super::summary::{Entry, Summary};
use crate::spec::SelectOn;
use crate::stats;

/// Accuracies of a method on a dataset over some parameters.
#[derive(Clone, Debug)]
pub struct Study {
    pub dataset: String,
    pub label: String,
    /// What the accuracies are of.
    pub scored: &'static str,
    /// Each parameter with its values in order.
    pub axes: Vec<Axis>,
    pub points: Vec<Point>,
}

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub name: String,
    pub values: Vec<Value>,
}

/// A point of the grid: the place of its value on each axis, and its accuracy over splits.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub at: Vec<usize>,
    pub mean: f64,
    pub deviation: Option<f64>,
    pub splits: usize,
}

impl Axis {
    /// A value as a tick.
    pub fn tick(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => short(number.as_f64().unwrap_or(0.0)),
            other => parameters(other),
        }
    }
}

/// `0.05`, `0.0032`, `1e-5`, `1024`: two digits, or all of a whole number.
fn short(value: f64) -> String {
    if value == 0.0 || (value.fract() == 0.0 && value.abs() < 1e5) {
        return format!("{value}");
    }
    let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    if (1e-4..1e5).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

impl Study {
    fn new(dataset: &str, label: &str, scored: &'static str) -> Self {
        let (dataset, label) = (dataset.to_owned(), label.to_owned());
        Self { dataset, label, scored, axes: Vec::new(), points: Vec::new() }
    }

    /// Where parameters are on the axes, if all of their values are there.
    fn place(&self, params: &Value) -> Option<Vec<usize>> {
        let places = self.axes.iter().map(|axis| {
            let used = params.get(&axis.name)?;
            axis.values.iter().position(|given| is_value(given, used))
        });
        places.collect()
    }

    /// Adds a point; `scores` are one per split.
    fn add(&mut self, at: Vec<usize>, scores: &[f64]) {
        if let Some(mean) = stats::mean(scores) {
            self.points.push(Point {
                at,
                mean,
                deviation: stats::standard_deviation(scores),
                splits: scores.len(),
            });
        }
    }

    /// The point with the highest mean, the first among equals.
    pub fn best(&self) -> Option<&Point> {
        self.points.iter().reduce(|best, point| if point.mean > best.mean { point } else { best })
    }

    /// The points along an axis where all others are at their best.
    pub fn along(&self, axis: usize) -> Vec<&Point> {
        let Some(best) = self.best() else {
            return Vec::new();
        };
        let others_equal = |point: &&Point| {
            let places = point.at.iter().zip(&best.at).enumerate();
            places.filter(|(index, _)| *index != axis).all(|(_, (a, b))| a == b)
        };
        let mut line: Vec<&Point> = self.points.iter().filter(others_equal).collect();
        line.sort_by_key(|point| point.at[axis]);
        line
    }
}

/// Every study a ledger holds; where methods are compared, the reference's come first.
pub fn studies(summary: &Summary) -> Vec<Study> {
    let mut methods: Vec<&str> =
        summary.columns.iter().map(|column| column.method.as_str()).collect();
    methods.dedup();
    let is_study = methods.len() == 1;
    let has_reference = summary.reference().is_some();
    let mut found = Vec::new();
    for (index, row) in summary.rows.iter().enumerate() {
        for (column, entry) in summary.entries_of(row).enumerate() {
            let of_rival = has_reference && !entry.column.is_reference;
            let study = of_grid(summary, column, entry);
            found.extend(study.map(|study| (of_rival, study)));
        }
        if is_study {
            found.extend(of_entries(summary, index).map(|study| (false, study)));
        }
    }
    // Where not all are drawn, those of the method that the table is about are.
    found.sort_by_key(|(of_rival, _)| *of_rival);
    found.into_iter().map(|(_, study)| study).collect()
}

/// From the inner scores of a tuned entry.
fn of_grid(summary: &Summary, column: usize, entry: Entry<'_>) -> Option<Study> {
    let tuned = &summary.plan.experiment.methods.get(column)?.tuned;
    let select = summary.plan.experiment.select.as_ref();
    let scored = match select.map(|select| select.on) {
        Some(SelectOn::Test) => "test accuracy (%)",
        Some(SelectOn::Validation) => "validation accuracy (%)",
        _ => "cross-validated accuracy (%)",
    };
    let mut study = Study::new(&entry.row.dataset, &entry.column.label, scored);
    study.axes = tuned
        .iter()
        .map(|(name, values)| Axis { name: name.clone(), values: ordered(values.clone()) })
        .collect();
    if study.axes.is_empty() {
        return None;
    }
    // Scores of all splits by their places, in the order of the grid's axes.
    let mut grid: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
    for record in entry.cell.records.values().flatten() {
        let points = record.selection.iter().flat_map(|selection| &selection.points);
        for point in points {
            if let (Some(at), Some(mean)) = (study.place(&point.params), point.mean) {
                grid.entry(at).or_default().push(mean);
            }
        }
    }
    for (at, scores) in grid {
        study.add(at, &scores);
    }
    (study.points.len() > 1).then_some(study)
}

/// Whether a parameter with the value `used` had been given as `given`, which may leave out defaults and
/// write a number in another way.
fn is_value(given: &Value, used: &Value) -> bool {
    match (given, used) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Object(given), Value::Object(used)) => given
            .iter()
            .all(|(name, value)| used.get(name).is_some_and(|used| is_value(value, used))),
        _ => given == used,
    }
}

/// From several entries with fixed parameters.
fn of_entries(summary: &Summary, row: usize) -> Option<Study> {
    let fixed: Vec<(usize, &Value)> = (0..summary.columns.len())
        .filter(|&column| summary.columns[column].points <= 1)
        .filter_map(|column| Some((column, summary.parameters(column)?)))
        .collect();
    let (first, params) = fixed.first()?;
    let names: Vec<&String> = params.as_object()?.keys().collect();
    let differing: Vec<String> = names
        .into_iter()
        .filter(|name| fixed.iter().any(|(_, other)| other[name.as_str()] != params[name.as_str()]))
        .cloned()
        .collect();
    if fixed.len() < 3 || !(1..=2).contains(&differing.len()) {
        return None;
    }
    let row = &summary.rows[row];
    let mut study = Study::new(&row.dataset, &summary.columns[*first].method, "test accuracy (%)");
    for name in &differing {
        let mut values: Vec<Value> = Vec::new();
        for (_, params) in &fixed {
            let value = &params[name.as_str()];
            if !value.is_number() && !value.is_string() {
                return None;
            }
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        study.axes.push(Axis { name: name.clone(), values: ordered(values) });
    }
    for (column, params) in &fixed {
        let cell = row.cells.get(*column)?;
        let scores: Vec<f64> = cell.values().map(|(_, score)| score).collect();
        let at = study.place(params)?;
        study.add(at, &scores);
    }
    (study.points.len() > 2).then_some(study)
}

/// Numbers by size, multiples of the classes such as `2K` by their factor; words, and both together, as they come.
fn ordered(mut values: Vec<Value>) -> Vec<Value> {
    if !values.iter().all(Value::is_number) && !values.iter().all(Value::is_string) {
        return values;
    }
    let size = |value: &Value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.strip_suffix('K').and_then(|factor| factor.parse().ok()),
        _ => None,
    };
    values.sort_by(|a, b| match (size(a), size(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => Ordering::Equal,
    });
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mapping_is_found_among_the_values_it_was_given_as() {
        let given = json!({"max": 1});
        let used = json!({"max": 1.0, "t_max": null, "epsilon": 1e-6});
        assert!(is_value(&given, &used));
        assert!(!is_value(&given, &json!({"max": 2.0})));
        assert!(!is_value(&given, &json!({"t_max": 1.0})));
    }

    #[test]
    fn values_are_ordered_by_size() {
        let sorted = ordered(vec![json!(10.0), json!(0.1), json!(1)]);
        assert_eq!(sorted, [json!(0.1), json!(1), json!(10.0)]);
        assert_eq!(
            ordered(vec![json!(5), json!(10), json!("2K")]),
            [json!(5), json!(10), json!("2K")]
        );
        assert_eq!(ordered(vec![json!("10K"), json!("2K")]), [json!("2K"), json!("10K")]);
        let ticks: Vec<String> =
            [json!(0.05), json!(0.003162), json!(1e-5), json!(1024.0), json!("2K")]
                .iter()
                .map(Axis::tick)
                .collect();
        assert_eq!(ticks, ["0.05", "0.0032", "1e-5", "1024", "2K"]);
    }

    #[test]
    fn a_line_runs_through_the_best_point() {
        let point = |a: usize, b: usize, mean: f64| Point {
            at: vec![a, b],
            mean,
            deviation: None,
            splits: 1,
        };
        let axis = |name: &str| Axis { name: name.to_owned(), values: vec![json!(1), json!(2)] };
        let study = Study {
            dataset: String::new(),
            label: String::new(),
            scored: "",
            axes: vec![axis("a"), axis("b")],
            points: vec![
                point(1, 0, 70.0),
                point(0, 0, 60.0),
                point(0, 1, 50.0),
                point(1, 1, 90.0),
            ],
        };
        let means = |axis| study.along(axis).iter().map(|point| point.mean).collect::<Vec<_>>();
        assert_eq!(means(0), [50.0, 90.0]);
        assert_eq!(means(1), [70.0, 90.0]);
    }
}
