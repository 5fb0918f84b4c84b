//! Parameters of a method: single values, values to choose among, and the points these make.

use serde_json::{Map, Value};

use super::{Named, Resolver};
use crate::spec::catalogue::MethodEntry;
use crate::spec::check::Checker;
use crate::spec::node::{Kind, Node};
use crate::spec::phrase::name_of;
use crate::spec::problem::{Finding, Place};
use crate::spec::range::{MOST_POINTS, expand};
use crate::spec::sample::{self, Axis, Drawn};
use crate::spec::schema::{LABEL, is_tunable, takes_range};
use crate::spec::types::{MethodSpec, Search, default_seed};
use crate::wording::counted;
use npsvc::Seed;

/// A range as it is written: `{scale: [first, last, step]}`, the step left out where points are drawn.
struct Range<'a> {
    scale: &'a str,
    first: f64,
    last: f64,
    step: Option<f64>,
}

impl<'a> Range<'a> {
    fn of(range: &'a Map<String, Value>) -> Option<Self> {
        let (scale, bounds) = range.iter().next()?;
        let bounds = bounds.as_array()?.iter().map(Value::as_f64);
        let bounds: Vec<f64> = bounds.collect::<Option<_>>()?;
        let (first, last, step) = match *bounds.as_slice() {
            [first, last] => (first, last, None),
            [first, last, step] => (first, last, Some(step)),
            _ => return None,
        };
        Some(Self { scale, first, last, step })
    }
}

impl Resolver<'_> {
    pub(super) fn method(&mut self, entry: &Named<'_>, method: &MethodEntry) -> MethodSpec {
        let mut spec = MethodSpec {
            method: entry.name.clone(),
            label: Some(method.title.to_owned()),
            fixed: Map::new(),
            tuned: Vec::new(),
            sampled: Vec::new(),
        };
        let search = self.search();
        let mut axes: Vec<(&str, Axis)> = Vec::new();
        for (name, value) in &entry.values {
            let values = match value {
                Value::String(label) if name == LABEL => {
                    spec.label = Some(label.clone());
                    continue;
                }
                Value::Array(values) if is_tunable(method, name) => values.clone(),
                Value::Object(range) if takes_range(method, name) => match Range::of(range) {
                    Some(Range { step: None, scale, first, last }) if search != Search::Grid => {
                        axes.extend(self.axis(entry, name, scale, [first, last]));
                        continue;
                    }
                    Some(range) => self.range(entry, method, name, range),
                    None => continue,
                },
                single => vec![single.clone()],
            };
            match <[Value; 1]>::try_from(values) {
                Ok([single]) => {
                    spec.fixed.insert(name.clone(), single);
                }
                Err(several) if search != Search::Grid => axes.push((name, Axis::List(several))),
                Err(several) => spec.tuned.push((name.clone(), several)),
            }
        }
        if !axes.is_empty() {
            spec.sampled = self.sample(entry, method, search, &axes);
        }
        spec
    }

    /// How points are searched for; a grid where that is not said or not sound.
    fn search(&self) -> Search {
        let search = self.value["select"]["search"].clone();
        serde_json::from_value(search).unwrap_or_default()
    }

    /// What a range without a step is drawn from.
    fn axis<'n>(
        &mut self,
        entry: &Named<'_>,
        name: &'n str,
        scale: &str,
        [first, last]: [f64; 2],
    ) -> Option<(&'n str, Axis)> {
        // Checked as a range of two values, so that the ends are said to be wrong in the same words.
        let step = if last > first { last - first } else { 1.0 };
        match expand(scale, [first, last, step]) {
            Ok(_) => {
                let scale = scale.to_owned();
                let bounds = [first, last];
                Some((name, Axis::Range { scale, bounds }))
            }
            Err(wrong) => {
                let message = format!("the range of {} {wrong}", entry.subject(name));
                self.findings.push(Finding::new(entry.place(name), message));
                None
            }
        }
    }

    /// Draws the points of a search and checks every number against its parameter's schema.
    fn sample(
        &mut self,
        entry: &Named<'_>,
        method: &MethodEntry,
        search: Search,
        axes: &[(&str, Axis)],
    ) -> Vec<Map<String, Value>> {
        let seed = self.value["seed"].as_u64().unwrap_or_else(default_seed);
        let seed = Seed::root(seed).child("search").child(&entry.name);
        let of: Vec<Axis> = axes.iter().map(|(_, axis)| axis.clone()).collect();
        let mut points: Vec<Map<String, Value>> = Vec::new();
        for drawn in sample::points(search, &of, &seed) {
            let mut point = Map::new();
            for ((name, _), drawn) in axes.iter().zip(drawn) {
                let value = match drawn {
                    Drawn::Item(value) => value,
                    Drawn::Number(number) => match self.number(entry, method, name, number) {
                        Some(value) => value,
                        None => return Vec::new(),
                    },
                };
                point.insert((*name).to_owned(), value);
            }
            // Whole numbers are rounded, so two points may meet again.
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    }

    /// A number drawn from a range in the type of its parameter, rounded where that is whole.
    fn number(
        &mut self,
        entry: &Named<'_>,
        method: &MethodEntry,
        name: &str,
        number: f64,
    ) -> Option<Value> {
        let at = entry.place(name);
        let property = &method.schema["properties"][name];
        for candidate in [number, number.round()] {
            let mut checker = Checker::at(&method.schema, entry.path_of(name));
            let kind = Kind::Float(candidate);
            let value = checker.value(&Node { kind, at }, property);
            if checker.findings.is_empty() {
                return Some(value);
            }
        }
        let expected = Checker::new(&method.schema).expectation(property);
        let subject = entry.subject(name);
        let message = format!("the range of {subject} holds {number}, expected {expected}");
        self.findings.push(Finding::new(at, message));
        None
    }

    /// The values of a range, each checked against the parameter's own schema.
    fn range(
        &mut self,
        entry: &Named<'_>,
        method: &MethodEntry,
        name: &str,
        range: Range<'_>,
    ) -> Vec<Value> {
        let at = entry.place(name);
        let Range { scale, first, last, .. } = range;
        let Some(step) = range.step else {
            let message = format!(
                "the range of {} has no step, expected first, last and step",
                entry.subject(name)
            );
            let help = "or draw points from it with `select: {search: {random: {budget: 20}}}`";
            self.findings.push(Finding::new(at, message).help(help.to_owned()));
            return Vec::new();
        };
        let numbers = match expand(scale, [first, last, step]) {
            Ok(numbers) => numbers,
            Err(wrong) => {
                let message = format!("the range of {} {wrong}", entry.subject(name));
                self.findings.push(Finding::new(at, message));
                return Vec::new();
            }
        };
        let mut checker = Checker::at(&method.schema, entry.path_of(name));
        let property = &method.schema["properties"][name];
        let mut values = Vec::with_capacity(numbers.len());
        for number in numbers {
            let kind = Kind::Float(number);
            values.push(checker.value(&Node { kind, at }, property));
            if !checker.findings.is_empty() {
                let message = format!(
                    "the range of {} holds {number}, expected {}",
                    entry.subject(name),
                    checker.expectation(property)
                );
                self.findings.push(Finding::new(at, message));
                break;
            }
        }
        values
    }

    /// Checks that tuned parameters can be chosen, and that every point of the grid is allowed. Gives
    /// the points with all defaults filled in, unless something is wrong with them.
    pub(super) fn check_tuning(
        &mut self,
        entry: &Named<'_>,
        method: &MethodEntry,
        spec: &MethodSpec,
    ) -> Option<Vec<Value>> {
        let grid = spec.tuned.first().map(|(name, values)| (name, values.len()));
        let drawn = spec.sampled.first().and_then(|point| point.keys().next());
        let tuned = grid.or(drawn.map(|name| (name, spec.sampled.len())));
        if let Some((name, values)) = tuned {
            let selected = self.root.get("select");
            if selected.is_none_or(|select| matches!(select.value.kind, Kind::Null)) {
                let values = counted(values, "value");
                let message = format!(
                    "{} has {values}, but nothing says how to choose one",
                    entry.subject(name)
                );
                let help = "add `select: {by: cross-validation, folds: 5}`".to_owned();
                self.findings.push(Finding::new(entry.place(name), message).help(help));
            }
            let points = spec.points();
            if points > MOST_POINTS {
                let message = format!(
                    "{} has a grid of {points} points, expected at most {MOST_POINTS}",
                    name_of(&entry.name)
                );
                self.findings.push(Finding::new(entry.place(name), message));
                return None;
            }
        }
        let mut points = Vec::with_capacity(spec.points());
        for index in 0..spec.points() {
            let point = spec.point(index);
            match (method.check)(&Value::Object(point.clone())) {
                Ok(complete) => points.push(complete),
                Err((name, wrong)) => {
                    let message = format!("{} {wrong}", entry.subject(&name));
                    let at = place_of_value(entry, spec, &name, point.get(&name));
                    self.findings.push(Finding::new(at, message));
                    return None;
                }
            }
        }
        Some(points)
    }
}

/// Where the value of a parameter stands: the item of a list, or the parameter.
fn place_of_value(
    entry: &Named<'_>,
    spec: &MethodSpec,
    name: &str,
    value: Option<&Value>,
) -> Place {
    let tuned = spec.tuned.iter().find(|(tuned, _)| tuned == name);
    let index = tuned.and_then(|(_, values)| values.iter().position(|other| Some(other) == value));
    let item = index.and_then(|index| entry.option(name)?.items().get(index));
    item.map_or_else(|| entry.place(name), |item| item.at)
}
