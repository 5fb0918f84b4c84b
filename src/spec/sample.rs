//! Points drawn from lists and ranges, for searches that do not try all of them.
//!
//! Every coordinate `u` in [0, 1) stands for a value: the item `floor(u n)` of a list of `n`, or the
//! place `first + u (last - first)` of a range. A random search draws every `u` by itself; a Latin
//! hypercube of `b` points has one `u` in each of `[i / b, (i + 1) / b)` for every parameter.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde_json::Value;

use super::range::value;
use super::types::Search;
use npsvc::Seed;

/// What a parameter is drawn from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Axis {
    List(Vec<Value>),
    Range { scale: String, bounds: [f64; 2] },
}

/// A value that was drawn: one of a list as it stands, or a number of a range.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Drawn {
    Item(Value),
    Number(f64),
}

/// The points of `search`, each with one value per axis; none for a grid.
pub(super) fn points(search: Search, axes: &[Axis], seed: &Seed) -> Vec<Vec<Drawn>> {
    let (budget, is_spread) = match search {
        Search::Grid => return Vec::new(),
        Search::Random(budget) => (budget.budget, false),
        Search::LatinHypercube(budget) => (budget.budget, true),
    };
    let mut rng = seed.rng();
    let columns: Vec<Vec<f64>> = axes
        .iter()
        .map(|_| match is_spread {
            true => spread(budget, &mut rng),
            false => (0..budget).map(|_| unit(&mut rng)).collect(),
        })
        .collect();
    let mut points: Vec<Vec<Drawn>> = Vec::new();
    for row in 0..budget {
        let point = axes.iter().zip(&columns);
        let point: Vec<Drawn> = point.map(|(axis, us)| axis.at(us[row])).collect();
        if !points.contains(&point) {
            points.push(point);
        }
    }
    points
}

impl Axis {
    fn at(&self, u: f64) -> Drawn {
        match self {
            Self::List(values) => {
                let index = (u * values.len() as f64) as usize;
                let item = values.get(index).or(values.last());
                Drawn::Item(item.cloned().unwrap_or(Value::Null))
            }
            Self::Range { scale, bounds: [first, last] } => {
                let number = value(scale, first + u * (last - first));
                // Six digits are more than any tuning needs, and can be read.
                Drawn::Number(format!("{number:.5e}").parse().unwrap_or(number))
            }
        }
    }
}

/// One number in each of `count` equal parts of [0, 1), in random order.
fn spread(count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut parts: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let other = (unit(rng) * (last + 1) as f64) as usize;
        parts.swap(last, other.min(last));
    }
    let place = |part: usize, u: f64| (part as f64 + u) / count as f64;
    parts.into_iter().map(|part| place(part, unit(rng))).collect()
}

/// A number in [0, 1).
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Budget;

    fn axes() -> Vec<Axis> {
        vec![
            Axis::Range { scale: "log2".into(), bounds: [-4.0, 4.0] },
            Axis::List(vec!["a".into(), "b".into(), "c".into()]),
        ]
    }

    fn numbers(points: &[Vec<Drawn>]) -> Vec<f64> {
        let first = points.iter().map(|point| match &point[0] {
            Drawn::Number(number) => *number,
            Drawn::Item(item) => panic!("{item} is no number"),
        });
        first.collect()
    }

    #[test]
    fn a_latin_hypercube_has_one_point_in_every_part() {
        let search = Search::LatinHypercube(Budget { budget: 8 });
        let points = points(search, &axes(), &Seed::root(3));
        let mut parts: Vec<i64> =
            numbers(&points).iter().map(|number| number.log2().floor() as i64).collect();
        parts.sort_unstable();
        assert_eq!(parts, [-4, -3, -2, -1, 0, 1, 2, 3]);
        let count = |name: &str| {
            let item = Drawn::Item(name.into());
            points.iter().filter(|point| point[1] == item).count()
        };
        assert!(["a", "b", "c"].map(count).iter().all(|n| (2..=4).contains(n)));
    }

    #[test]
    fn points_follow_from_the_seed_and_stay_within_their_ranges() {
        let search = Search::Random(Budget { budget: 50 });
        let drawn = points(search, &axes(), &Seed::root(3));
        assert_eq!(drawn, points(search, &axes(), &Seed::root(3)));
        assert_ne!(drawn, points(search, &axes(), &Seed::root(4)));
        assert_eq!(drawn.len(), 50);
        assert!(numbers(&drawn).iter().all(|n| (0.0625..=16.0).contains(n)));
    }

    #[test]
    fn a_point_drawn_twice_is_tried_once() {
        let search = Search::Random(Budget { budget: 50 });
        let points = points(search, &axes()[1..], &Seed::root(3));
        assert_eq!(points.len(), 3);
    }
}
