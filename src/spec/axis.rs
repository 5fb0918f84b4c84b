//! The lists and ranges that parameters are given as, and points drawn from them for searches that do not try
//! all of them.
//!
//! Every coordinate `u` in [0, 1) gives a value: the item `floor(u n)` of a list of `n`, or the
//! place `first + u (last - first)` of a range. A random search draws every `u` independently. A Latin
//! hypercube of `b` points has one `u` in each of `[i / b, (i + 1) / b)` for every parameter.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde_json::{Map, Value};

use super::form::Form;
use super::node::Kind;
use super::range::{expand, value};
use super::types::{Budget, Search};
use npsvc::Seed;

/// What is wrong with a range from which no points are drawn.
pub(super) const NO_STEP: &str = "has no step, expected first, last and step";

/// What a parameter is given as.
#[derive(Clone, Debug)]
pub(super) enum Axis<'a> {
    List(Vec<Value>),
    Range {
        scale: &'a str,
        first: f64,
        last: f64,
        /// Of the parameter.
        form: &'a Form,
    },
}

/// The points of `search`, each with one value per axis; none for a grid. Fails with the name of an axis whose range
/// holds a number that its parameter does not take, and with the reason.
pub(super) fn points<'a>(
    search: Search,
    axes: &[(&'a str, Axis<'_>)],
    seed: &Seed,
) -> Result<Vec<Map<String, Value>>, (&'a str, String)> {
    let mut rng = seed.rng();
    let columns: Vec<Vec<f64>> = axes.iter().map(|_| coordinates(search, &mut rng)).collect();
    let mut points: Vec<Map<String, Value>> = Vec::new();
    for row in 0..columns.first().map_or(0, Vec::len) {
        let mut point = Map::new();
        for ((name, axis), us) in axes.iter().zip(&columns) {
            let value = axis.at(us[row]).map_err(|wrong| (*name, wrong))?;
            point.insert((*name).to_owned(), value);
        }
        if !points.contains(&point) {
            points.push(point);
        }
    }
    Ok(points)
}

impl<'a> Axis<'a> {
    /// The values that a parameter is given as: one, a list, or a range `{scale: [first, last, step]}`. A range
    /// without a step stays one, and points are drawn from it. Else what is wrong with the range.
    pub fn of(value: &'a Value, form: &'a Form, search: Search) -> Result<Self, String> {
        let range = match value {
            Value::Array(values) if form.is_tuned() => return Ok(Self::List(values.clone())),
            Value::Object(range) if form.range.is_some() => range.iter().next(),
            _ => None,
        };
        let Some((scale, bounds)) = range else {
            return Ok(Self::List(vec![value.clone()]));
        };
        let bounds = bounds.as_array().into_iter().flatten();
        let bounds: Vec<f64> = bounds.filter_map(Value::as_f64).collect();
        match *bounds.as_slice() {
            [first, last] if search != Search::Grid => {
                // Checked as a range of two values, so that the ends are said to be wrong in the same words.
                let step = if last > first { last - first } else { 1.0 };
                expand(scale, [first, last, step])?;
                Ok(Self::Range { scale, first, last, form })
            }
            [first, last, step] => {
                let numbers = expand(scale, [first, last, step])?.into_iter();
                Ok(Self::List(numbers.map(|number| typed(number, form)).collect::<Result<_, _>>()?))
            }
            _ => Err(NO_STEP.to_owned()),
        }
    }

    /// The value at `u` in the type of its parameter, rounded if that is whole.
    fn at(&self, u: f64) -> Result<Value, String> {
        match self {
            Self::List(values) => {
                let index = (u * values.len() as f64) as usize;
                Ok(values[index.min(values.len() - 1)].clone())
            }
            Self::Range { scale, first, last, form } => {
                let number = value(scale, first + u * (last - first));
                // Six digits are more than any tuning needs, and can be read.
                let number: f64 = format!("{number:.5e}").parse().unwrap_or(number);
                typed(number, form).or_else(|wrong| typed(number.round(), form).map_err(|_| wrong))
            }
        }
    }
}

/// A number of a range in the type of its parameter.
fn typed(number: f64, form: &Form) -> Result<Value, String> {
    let value = form.number().and_then(|form| form.value(&Kind::Float(number)));
    value.ok_or_else(|| format!("holds {number}, expected {}", form.expected()))
}

/// The coordinates of all points along one axis; none for a grid.
fn coordinates(search: Search, rng: &mut ChaCha8Rng) -> Vec<f64> {
    match search {
        Search::Grid => Vec::new(),
        Search::Random(Budget { budget }) => (0..budget).map(|_| unit(rng)).collect(),
        // One in each of `budget` equal parts of [0, 1), in random order.
        Search::LatinHypercube(Budget { budget }) => {
            let mut parts: Vec<usize> = (0..budget).collect();
            for last in (1..budget).rev() {
                let other = (unit(rng) * (last + 1) as f64) as usize;
                parts.swap(last, other.min(last));
            }
            let place = |part: usize, u: f64| (part as f64 + u) / budget as f64;
            parts.into_iter().map(|part| place(part, unit(rng))).collect()
        }
    }
}

/// A number in [0, 1).
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn axes(form: &Form) -> [(&'static str, Axis<'_>); 2] {
        let list = vec!["a".into(), "b".into(), "c".into()];
        [
            ("c", Axis::Range { scale: "log2", first: -4.0, last: 4.0, form }),
            ("scheme", Axis::List(list)),
        ]
    }

    fn number() -> Form {
        Form::of(&json!({"type": "number"}), &Map::new())
    }

    fn drawn(search: Search, seed: u64) -> Vec<Map<String, Value>> {
        points(search, &axes(&number()), &Seed::root(seed)).unwrap()
    }

    fn numbers(points: &[Map<String, Value>]) -> Vec<f64> {
        points.iter().map(|point| point["c"].as_f64().unwrap()).collect()
    }

    #[test]
    fn a_latin_hypercube_has_one_point_in_every_part() {
        let search = Search::LatinHypercube(Budget { budget: 8 });
        let points = drawn(search, 3);
        let mut parts: Vec<i64> =
            numbers(&points).iter().map(|number| number.log2().floor() as i64).collect();
        parts.sort_unstable();
        assert_eq!(parts, [-4, -3, -2, -1, 0, 1, 2, 3]);
        let count = |name: &str| points.iter().filter(|point| point["scheme"] == name).count();
        assert!(["a", "b", "c"].map(count).iter().all(|n| (2..=4).contains(n)));
    }

    #[test]
    fn points_follow_from_the_seed_and_stay_within_their_ranges() {
        let search = Search::Random(Budget { budget: 50 });
        let points = drawn(search, 3);
        assert_eq!(points, drawn(search, 3));
        assert_ne!(points, drawn(search, 4));
        assert_eq!(points.len(), 50);
        assert!(numbers(&points).iter().all(|n| (0.0625..=16.0).contains(n)));
    }

    #[test]
    fn a_point_drawn_twice_is_tried_once() {
        let search = Search::Random(Budget { budget: 50 });
        let points = points(search, &axes(&Form::default())[1..], &Seed::root(3)).unwrap();
        assert_eq!(points.len(), 3);
    }
}
