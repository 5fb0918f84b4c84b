//! Parameters of a method: single values, values to choose among, and the points these make.

use super::axis::{self, Axis, NO_STEP};
use super::candidates::Candidates;
use super::form::Form;
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
use serde::Deserialize;

impl Resolver<'_> {
    /// The parameters of an entry, ranges expanded and points drawn; and the points, unless there is a problem.
    pub(super) fn method(&mut self, entry: &Entry<'_>) -> (MethodSpec, Option<Candidates>) {
        let known = methods::find(entry.name).expect("a method of the schema");
        let mut spec = MethodSpec { method: entry.name.to_owned(), ..MethodSpec::default() };
        spec.label = known.info.title.to_owned();
        let before = self.problems.len();
        let search = &self.value["select"]["search"];
        let search: Search = Deserialize::deserialize(search).unwrap_or_default();
        let methods = FORM.at(&["methods"]).and_then(Form::list);
        let form = methods.and_then(|methods| methods.items.variants[entry.name].as_ref());
        let mut axes: Vec<(&str, Axis<'_>)> = Vec::new();
        for (name, value) in entry.options.as_object().into_iter().flatten() {
            let form = form.and_then(|form| form.at(&[name])).expect("a known parameter");
            match Axis::of(value, form, search) {
                _ if name == LABEL => {
                    spec.label = value.as_str().map_or(spec.label, str::to_owned);
                }
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
        let is_sound = self.problems.len() == before && self.check_choice(entry, &spec);
        let candidates = if is_sound { self.candidates(entry, known, &spec) } else { None };
        (spec, candidates)
    }

    fn bad_range(&mut self, entry: &Entry<'_>, name: &str, wrong: &str) {
        let message = format!("the range of {} {wrong}", entry.subject(name));
        let help = "or draw points from it with `select: {search: {random: {budget: 20}}}`";
        let help = (wrong == NO_STEP).then(|| help.to_owned());
        self.problems.push(Problem::new(self.place(entry, &[name]), message).help(help));
    }

    /// Checks that tuned parameters can be chosen; false if they make too many points to look at each.
    fn check_choice(&mut self, entry: &Entry<'_>, spec: &MethodSpec) -> bool {
        let tuned = spec.tuned.first().map(|(name, values)| (name, values.len()));
        let drawn = || Some((spec.sampled.first()?.keys().next()?, spec.sampled.len()));
        let Some((name, values)) = tuned.or_else(drawn) else {
            return true;
        };
        let (at, points) = (self.place(entry, &[name]), spec.points());
        if self.text.root.get("select").is_none_or(|select| matches!(select.kind, Kind::Null)) {
            let (subject, values) = (entry.subject(name), counted(values, "value"));
            let message = format!("{subject} has {values}, but nothing says how to choose one");
            let help = "add `select: {by: cross-validation, folds: 5}`".to_owned();
            self.problems.push(Problem::new(at, message).help(help));
        }
        if points > MOST_POINTS {
            let method = name_of(entry.name);
            let message =
                format!("{method} has a grid of {points} points, expected at most {MOST_POINTS}");
            self.problems.push(Problem::new(at, message));
        }
        points <= MOST_POINTS
    }

    /// Checks that every point is allowed.
    fn candidates(
        &mut self,
        entry: &Entry<'_>,
        known: &'static methods::Entry,
        spec: &MethodSpec,
    ) -> Option<Candidates> {
        let refused = match Candidates::new(known, spec) {
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
