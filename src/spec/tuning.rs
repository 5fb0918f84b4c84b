//! Parameters of a method: single values, values to choose among, and the points these make.

use super::axis::{self, Axis, NO_STEP};
use super::candidates::Candidates;
use super::node::Kind;
use super::phrase::name_of;
use super::problem::Problem;
use super::range::MOST_POINTS;
use super::resolve::{Entry, Resolver};
use super::schema::{FORM, LABEL};
use super::types::{MethodSpec, Search, default_seed};
use crate::methods::{self, ConfigureError};
use crate::wording::counted;
use npsvc::{BadParameter, Seed};

impl Resolver<'_> {
    /// The parameters of an entry, ranges expanded and points drawn.
    pub(super) fn method(&mut self, entry: &Entry<'_>) -> MethodSpec {
        let mut spec = MethodSpec { method: entry.name.to_owned(), ..MethodSpec::default() };
        spec.label = methods::find(entry.name).map(|known| known.info.title.to_owned());
        let search: Search =
            serde_json::from_value(self.value["select"]["search"].clone()).unwrap_or_default();
        let methods = FORM.key("methods").and_then(|methods| methods.list()?.items.as_deref());
        let form = methods.and_then(|methods| methods.variants()[entry.name]?.of_type("object"));
        let mut axes: Vec<(&str, Axis<'_>)> = Vec::new();
        for (name, value) in entry.options.as_object().into_iter().flatten() {
            let form = form.and_then(|form| form.key(name)).expect("a parameter of the schema");
            if name == LABEL {
                spec.label = value.as_str().map(str::to_owned);
                continue;
            }
            match Axis::of(value, form, search) {
                Err(wrong) => self.bad_range(entry, name, &wrong),
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
        match axis::points(search, &axes, &seed) {
            Ok(points) => spec.sampled = points,
            Err((name, wrong)) => self.bad_range(entry, name, &wrong),
        }
        spec
    }

    fn bad_range(&mut self, entry: &Entry<'_>, name: &str, wrong: &str) {
        let message = format!("the range of {} {wrong}", entry.subject(name));
        let help = "or draw points from it with `select: {search: {random: {budget: 20}}}`";
        let help = (wrong == NO_STEP).then(|| help.to_owned());
        self.problems.push(Problem::new(self.place(entry, &[name]), message).help(help));
    }

    /// Checks that tuned parameters can be chosen, and that every point is allowed.
    pub(super) fn candidates(
        &mut self,
        entry: &Entry<'_>,
        spec: &MethodSpec,
    ) -> Option<Candidates> {
        let drawn = spec.sampled.iter().flat_map(|point| point.keys());
        let drawn = drawn.map(|name| (name, spec.sampled.len()));
        let mut tuned = spec.tuned.iter().map(|(name, values)| (name, values.len())).chain(drawn);
        if let Some((name, values)) = tuned.next() {
            let (at, points) = (self.place(entry, &[name]), spec.points());
            let selected = self.text.root.get("select");
            if selected.is_none_or(|select| matches!(select.kind, Kind::Null)) {
                let (subject, values) = (entry.subject(name), counted(values, "value"));
                let message = format!("{subject} has {values}, but nothing says how to choose one");
                let help = "add `select: {by: cross-validation, folds: 5}`".to_owned();
                self.problems.push(Problem::new(at, message).help(help));
            }
            if points > MOST_POINTS {
                let method = name_of(entry.name);
                let message = format!(
                    "{method} has a grid of {points} points, expected at most {MOST_POINTS}"
                );
                self.problems.push(Problem::new(at, message));
                return None;
            }
        }
        let refused = match Candidates::new(methods::find(entry.name)?, spec) {
            Ok(candidates) => return Some(candidates),
            Err((index, ConfigureError::Range(BadParameter { parameter, found, expected }))) => {
                let subject = entry.subject(&parameter);
                // The item of a list that makes the point bad, or the parameter.
                let value = spec.point(index).remove(&parameter);
                let values = spec.tuned.iter().find(|(name, _)| *name == parameter);
                let mut values = values.into_iter().flat_map(|(_, values)| values);
                let item = values.position(|other| Some(other) == value.as_ref());
                let item = item.map_or_else(String::new, |item| item.to_string());
                let message = format!("{subject} is {found}, expected {expected}");
                Problem::new(self.place(entry, &[&parameter, &item]), message)
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
