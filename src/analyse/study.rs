//! Hyperparameter studies: accuracies over the values of parameters, from the inner scores of tuned entries.

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
    /// Of a tuned entry, if it has two points with scores.
    fn of(summary: &Summary, entry: Entry<'_>) -> Option<Self> {
        let experiment = &summary.plan.experiment;
        let tuned = &experiment.methods.get(entry.column.index)?.tuned;
        let axis = |(name, values): &(String, Vec<Value>)| Axis {
            name: name.clone(),
            values: ordered(values.clone()),
        };
        let axes: Vec<Axis> = tuned.iter().map(axis).collect();
        // Scores of all splits by their places, in the order of the axes.
        let mut grid: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
        let selections = entry.cell.records().filter_map(|record| record.selection.as_ref());
        for point in selections.flat_map(|selection| &selection.points) {
            if let (Some(at), Some(mean)) = (place(&axes, &point.params), point.mean) {
                grid.entry(at).or_default().push(mean);
            }
        }
        let points = grid.into_iter().filter_map(|(at, scores)| {
            let (mean, deviation) = (stats::mean(&scores)?, stats::standard_deviation(&scores));
            Some(Point { at, mean, deviation, splits: scores.len() })
        });
        let points: Vec<Point> = points.collect();
        let scored = match experiment.select.as_ref().map(|select| select.on) {
            Some(SelectOn::Test) => "test accuracy (%)",
            Some(SelectOn::Validation) => "validation accuracy (%)",
            _ => "cross-validated accuracy (%)",
        };
        let (dataset, label) = (entry.row.dataset.clone(), entry.column.label.clone());
        (points.len() > 1).then_some(Self { dataset, label, scored, axes, points })
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

/// Every study that a ledger holds. Those of the reference method come first, because not all may be drawn.
pub fn studies(summary: &Summary) -> Vec<Study> {
    let mut entries: Vec<Entry> = summary.entries().collect();
    entries.sort_by_key(|entry| !entry.column.is_reference);
    entries.into_iter().filter_map(|entry| Study::of(summary, entry)).collect()
}

/// Where parameters are on the axes, if all of their values are there.
fn place(axes: &[Axis], params: &Value) -> Option<Vec<usize>> {
    let places = axes.iter().map(|axis| {
        let used = params.get(&axis.name)?;
        axis.values.iter().position(|given| is_value(given, used))
    });
    places.collect()
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

/// Numbers by size, multiples of the number of classes such as `2K` by their factor; others as they are.
fn ordered(mut values: Vec<Value>) -> Vec<Value> {
    let factor = |value: &Value| -> Option<f64> { value.as_str()?.strip_suffix('K')?.parse().ok() };
    for size in [Value::as_f64, factor] {
        if values.iter().all(|value| size(value).is_some()) {
            values.sort_by(|a, b| size(a).partial_cmp(&size(b)).unwrap_or(Ordering::Equal));
        }
    }
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
