//! Parameters of a method: single values, values to choose among, and the points these make.

use serde_json::{Map, Value};

use super::candidates::Candidates;
use super::form::Form;
use super::node::Kind;
use super::phrase::name_of;
use super::problem::Problem;
use super::range::{MOST_POINTS, expand};
use super::resolve::{Named, Resolver};
use super::sample::{self, Axis};
use super::schema::LABEL;
use super::types::{MethodSpec, Search, default_seed};
use crate::methods::{self, ConfigureError};
use crate::wording::counted;
use npsvc::{BadParameter, Seed};

impl<'a> Resolver<'a> {
    /// The parameters of an entry, ranges expanded and points drawn.
    pub(super) fn method(&mut self, entry: &Named<'_>) -> MethodSpec {
        let title = methods::find(entry.name).map(|known| known.info.title.to_owned());
        let mut spec = MethodSpec {
            method: entry.name.to_owned(),
            label: title,
            fixed: Map::new(),
            tuned: Vec::new(),
            sampled: Vec::new(),
        };
        let search = self.search();
        let methods = self.form.key("methods").and_then(|methods| methods.list.as_ref());
        let form = methods.and_then(|methods| methods.items.tagged(entry.name));
        let mut axes: Vec<(&str, Axis<'_>)> = Vec::new();
        for (name, value) in &entry.values {
            let Some(form) = form.and_then(|form| form.key(name)) else {
                continue;
            };
            let axis = match value {
                Value::String(label) if name == LABEL => {
                    spec.label = Some(label.clone());
                    continue;
                }
                Value::Array(values) if form.is_tuned => Axis::List(values.clone()),
                Value::Object(range) if form.range.is_some() => match axis(range, form, search) {
                    Ok(axis) => axis,
                    Err((wrong, help)) => {
                        let message = format!("the range of {} {wrong}", entry.subject(name));
                        let problem = Problem::new(entry.place(name), message);
                        self.problems.push(problem.help(help.map(str::to_owned)));
                        continue;
                    }
                },
                single => Axis::List(vec![single.clone()]),
            };
            match axis {
                Axis::List(values) if values.len() == 1 => {
                    spec.fixed.extend(values.into_iter().map(|value| (name.clone(), value)));
                }
                Axis::List(values) if search == Search::Grid => {
                    spec.tuned.push((name.clone(), values));
                }
                axis => axes.push((name, axis)),
            }
        }
        let seed = self.value["seed"].as_u64().unwrap_or_else(default_seed);
        let seed = Seed::root(seed).child("search").child(entry.name);
        match sample::points(search, &axes, &seed) {
            Ok(points) => spec.sampled = points,
            Err((name, wrong)) => {
                let message = format!("the range of {} {wrong}", entry.subject(name));
                self.problems.push(Problem::new(entry.place(name), message));
            }
        }
        spec
    }

    /// How points are searched for; a grid if the spec does not say.
    fn search(&self) -> Search {
        let search = self.value["select"]["search"].clone();
        serde_json::from_value(search).unwrap_or_default()
    }

    /// Checks that tuned parameters can be chosen, and that every point is allowed.
    pub(super) fn candidates(
        &mut self,
        entry: &Named<'_>,
        spec: &MethodSpec,
    ) -> Option<Candidates> {
        let grid = spec.tuned.first().map(|(name, values)| (name, values.len()));
        let drawn = spec.sampled.first().and_then(|point| point.keys().next());
        if let Some((name, values)) = grid.or(drawn.map(|name| (name, spec.sampled.len()))) {
            let selected = self.root.get("select");
            if selected.is_none_or(|select| matches!(select.kind, Kind::Null)) {
                let (subject, values) = (entry.subject(name), counted(values, "value"));
                let message = format!("{subject} has {values}, but nothing says how to choose one");
                let help = "add `select: {by: cross-validation, folds: 5}`".to_owned();
                self.problems.push(Problem::new(entry.place(name), message).help(help));
            }
            let points = spec.points();
            if points > MOST_POINTS {
                let method = name_of(entry.name);
                let message = format!(
                    "{method} has a grid of {points} points, expected at most {MOST_POINTS}"
                );
                self.problems.push(Problem::new(entry.place(name), message));
                return None;
            }
        }
        match Candidates::new(methods::find(entry.name)?, spec) {
            Ok(candidates) => return Some(candidates),
            Err((index, ConfigureError::Range(bad))) => {
                let BadParameter { parameter, found, expected } = &bad;
                let message =
                    format!("{} is {found}, expected {expected}", entry.subject(parameter));
                // The item of a list that makes the point bad, or the parameter.
                let value = spec.point(index).get(parameter).cloned();
                let values = spec.tuned.iter().find(|(name, _)| name == parameter);
                let item = values.and_then(|(_, values)| {
                    let index = values.iter().position(|other| Some(other) == value.as_ref())?;
                    entry.option(parameter)?.items().get(index)
                });
                let at = item.map_or_else(|| entry.place(parameter), |item| item.at);
                self.problems.push(Problem::new(at, message));
            }
            Err((_, ConfigureError::Shape(error))) => {
                let message = format!("{} is not valid: {error}", name_of(entry.name));
                self.problems.push(Problem::new(entry.at, message));
            }
        }
        None
    }
}

/// The values of a range `{scale: [first, last, step]}`, or the range itself if it has no step and points are
/// drawn from it; else what is wrong with it, and what would help.
fn axis<'a>(
    range: &'a Map<String, Value>,
    form: &'a Form,
    search: Search,
) -> Result<Axis<'a>, (String, Option<&'static str>)> {
    let bounds = |(scale, bounds): (&'a String, &Value)| {
        let numbers: Vec<f64> = bounds.as_array()?.iter().filter_map(Value::as_f64).collect();
        Some((scale.as_str(), numbers))
    };
    let (scale, bounds) = range.iter().next().and_then(bounds).unwrap_or_default();
    let plain = |wrong| (wrong, None);
    match *bounds.as_slice() {
        [first, last] if search != Search::Grid => {
            // Checked as a range of two values, so that the ends are said to be wrong in the same words.
            let step = if last > first { last - first } else { 1.0 };
            expand(scale, [first, last, step]).map_err(plain)?;
            Ok(Axis::Range { scale, first, last, form })
        }
        [first, last, step] => {
            let numbers = expand(scale, [first, last, step]).map_err(plain)?;
            let numbers = numbers.into_iter().map(|number| typed(number, form));
            numbers.collect::<Result<_, _>>().map(Axis::List).map_err(plain)
        }
        _ => Err((
            "has no step, expected first, last and step".to_owned(),
            Some("or draw points from it with `select: {search: {random: {budget: 20}}}`"),
        )),
    }
}

/// A number of a range in the type of its parameter.
pub(super) fn typed(number: f64, form: &Form) -> Result<Value, String> {
    let value = form.number.as_ref().and_then(|limits| limits.number(&Kind::Float(number)));
    value.ok_or_else(|| format!("holds {number}, expected {}", form.expected()))
}
