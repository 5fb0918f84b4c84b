//! Parameters of a method: single values, values to choose among, and the points these make.

use serde_json::{Map, Value};

use super::candidates::Candidates;
use super::form::Form;
use super::node::Kind;
use super::phrase::name_of;
use super::problem::Problem;
use super::range::{MOST_POINTS, expand};
use super::resolve::{Entry, Resolver};
use super::sample::{self, Axis};
use super::schema::LABEL;
use super::types::{MethodSpec, Search, default_seed};
use crate::methods::{self, ConfigureError};
use crate::wording::counted;
use npsvc::{BadParameter, Seed};

impl Resolver<'_> {
    /// The parameters of an entry, ranges expanded and points drawn.
    pub(super) fn method(&mut self, entry: &Entry<'_>) -> MethodSpec {
        let title = methods::find(entry.name).map(|known| known.info.title.to_owned());
        let mut spec = MethodSpec {
            method: entry.name.to_owned(),
            label: title,
            fixed: Map::new(),
            tuned: Vec::new(),
            sampled: Vec::new(),
        };
        let search = serde_json::from_value(self.value["select"]["search"].clone());
        let search: Search = search.unwrap_or_default();
        let methods = self.form.key("methods").and_then(|methods| methods.list.as_ref());
        let form = methods.and_then(|methods| methods.items.content(entry.name));
        let mut axes: Vec<(&str, Axis<'_>)> = Vec::new();
        for (name, value) in entry.options.as_object().into_iter().flatten() {
            let Some(form) = form.and_then(|form| form.key(name)) else {
                continue;
            };
            if name == LABEL {
                spec.label = value.as_str().map(str::to_owned);
                continue;
            }
            match axis(value, form, search) {
                Err((wrong, help)) => self.bad_range(entry, name, &wrong, help),
                Ok(Axis::List(values)) if values.len() == 1 => {
                    spec.fixed.extend(values.into_iter().map(|value| (name.clone(), value)));
                }
                Ok(Axis::List(values)) if search == Search::Grid => {
                    spec.tuned.push((name.clone(), values));
                }
                Ok(axis) => axes.push((name, axis)),
            }
        }
        let seed = self.value["seed"].as_u64().unwrap_or_else(default_seed);
        let seed = Seed::root(seed).child("search").child(entry.name);
        match sample::points(search, &axes, &seed) {
            Ok(points) => spec.sampled = points,
            Err((name, wrong)) => self.bad_range(entry, name, &wrong, None),
        }
        spec
    }

    fn bad_range(&mut self, entry: &Entry<'_>, name: &str, wrong: &str, help: Option<&str>) {
        let message = format!("the range of {} {wrong}", entry.subject(name));
        let problem = Problem::new(self.place(entry, &[name]), message);
        self.problems.push(problem.help(help.map(str::to_owned)));
    }

    /// Checks that tuned parameters can be chosen, and that every point is allowed.
    pub(super) fn candidates(
        &mut self,
        entry: &Entry<'_>,
        spec: &MethodSpec,
    ) -> Option<Candidates> {
        let grid = spec.tuned.first().map(|(name, values)| (name, values.len()));
        let drawn = spec.sampled.first().and_then(|point| point.keys().next());
        if let Some((name, values)) = grid.or(drawn.map(|name| (name, spec.sampled.len()))) {
            let selected = self.text.root.get("select");
            if selected.is_none_or(|select| matches!(select.kind, Kind::Null)) {
                let (subject, values) = (entry.subject(name), counted(values, "value"));
                let message = format!("{subject} has {values}, but nothing says how to choose one");
                let help = "add `select: {by: cross-validation, folds: 5}`".to_owned();
                self.problems.push(Problem::new(self.place(entry, &[name]), message).help(help));
            }
            let points = spec.points();
            if points > MOST_POINTS {
                let method = name_of(entry.name);
                let message = format!(
                    "{method} has a grid of {points} points, expected at most {MOST_POINTS}"
                );
                self.problems.push(Problem::new(self.place(entry, &[name]), message));
                return None;
            }
        }
        let refused = match Candidates::new(methods::find(entry.name)?, spec) {
            Ok(candidates) => return Some(candidates),
            Err((index, ConfigureError::Range(bad))) => {
                let BadParameter { parameter, found, expected } = &bad;
                let message =
                    format!("{} is {found}, expected {expected}", entry.subject(parameter));
                // The item of a list that makes the point bad, or the parameter.
                let value = spec.point(index).get(parameter).cloned();
                let values = spec.tuned.iter().find(|(name, _)| name == parameter);
                let mut values = values.into_iter().flat_map(|(_, values)| values);
                let item = values.position(|other| Some(other) == value.as_ref());
                let item = item.map_or_else(String::new, |item| item.to_string());
                Problem::new(self.place(entry, &[parameter, &item]), message)
            }
            Err((_, ConfigureError::Shape(error))) => {
                let message = format!("{} is not valid: {error}", name_of(entry.name));
                Problem::new(self.place(entry, &[]), message)
            }
        };
        self.problems.push(refused);
        None
    }
}

/// The values that a parameter is given as: one, a list, or a range `{scale: [first, last, step]}`. A range
/// without a step stays one, and points are drawn from it. Else what is wrong with the range, and what would help.
fn axis<'a>(
    value: &'a Value,
    form: &'a Form,
    search: Search,
) -> Result<Axis<'a>, (String, Option<&'static str>)> {
    let range = match value {
        Value::Array(values) if form.is_tuned => return Ok(Axis::List(values.clone())),
        Value::Object(range) if form.range.is_some() => range.iter().next(),
        _ => None,
    };
    let Some((scale, bounds)) = range else {
        return Ok(Axis::List(vec![value.clone()]));
    };
    let bounds = bounds.as_array().into_iter().flatten();
    let bounds: Vec<f64> = bounds.filter_map(Value::as_f64).collect();
    let axis = match *bounds.as_slice() {
        [first, last] if search != Search::Grid => {
            // Checked as a range of two values, so that the ends are said to be wrong in the same words.
            let step = if last > first { last - first } else { 1.0 };
            expand(scale, [first, last, step]).map(|_| Axis::Range { scale, first, last, form })
        }
        [first, last, step] => expand(scale, [first, last, step]).and_then(|numbers| {
            let values = numbers.into_iter().map(|number| typed(number, form));
            Ok(Axis::List(values.collect::<Result<_, _>>()?))
        }),
        _ => {
            let help = "or draw points from it with `select: {search: {random: {budget: 20}}}`";
            return Err(("has no step, expected first, last and step".to_owned(), Some(help)));
        }
    };
    axis.map_err(|wrong| (wrong, None))
}

/// A number of a range in the type of its parameter.
pub(super) fn typed(number: f64, form: &Form) -> Result<Value, String> {
    let value = form.number.as_ref().and_then(|limits| limits.number(&Kind::Float(number)));
    value.ok_or_else(|| format!("holds {number}, expected {}", form.expected()))
}
