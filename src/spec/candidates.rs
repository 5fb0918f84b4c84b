//! The points of a method entry: its parameters, configured once.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::types::MethodSpec;
use crate::methods::{self, ConfigureError, Entry, Point};

/// A method entry of the spec: one parameter point, or several to choose from.
pub struct Candidates {
    pub entry: &'static Entry,
    pub points: Vec<Point>,
    /// Tuned parameters and their values, if the points are a grid of them; the last one changes
    /// fastest.
    pub grid: Vec<(String, Vec<Value>)>,
    /// The parameters of all points as JSON.
    pub text: Box<RawValue>,
}

impl Candidates {
    /// All points of `spec`, or the index of the first that is bad and why.
    pub(super) fn new(
        entry: &'static Entry,
        spec: &MethodSpec,
    ) -> Result<Self, (usize, ConfigureError)> {
        let point = |index| {
            let params = Value::Object(spec.point(index));
            entry.point(&params).map_err(|error| (index, error))
        };
        let points = (0..spec.points()).map(point).collect::<Result<Vec<_>, _>>()?;
        let params: Vec<&Value> = points.iter().map(|point| &point.params).collect();
        let text = to_raw_value(&params).map_err(|error| (0, error.into()))?;
        Ok(Self { entry, points, grid: spec.tuned.clone(), text })
    }

    /// The points of a method entry that was checked before, by this program or another version of it.
    pub fn of(spec: &MethodSpec) -> Result<Self, String> {
        let name = &spec.method;
        let entry = methods::find(name).ok_or_else(|| format!("there is no method `{name}`"))?;
        Self::new(entry, spec).map_err(|(_, error)| format!("{name}: {error}"))
    }

    /// Whether there is something to choose.
    pub fn is_tuned(&self) -> bool {
        self.points.len() > 1
    }

    /// Whether both are the same method with the same points.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.entry.info.name == other.entry.info.name && self.text.get() == other.text.get()
    }

    /// The parameters on which all points agree: all of them if nothing is tuned.
    pub fn settled(&self) -> Value {
        let mut settled = self.points[0].params.clone();
        let agree = |name: &String, value: &mut Value| {
            self.points.iter().all(|point| point.params.get(name) == Some(value))
        };
        settled.as_object_mut().expect("parameters are a JSON object").retain(agree);
        settled
    }

    /// The scheme, if all points agree on one.
    pub fn scheme(&self) -> Option<String> {
        let first = self.points.first()?.scheme()?;
        let agree = self.points.iter().all(|point| point.scheme() == Some(first));
        agree.then(|| first.name().to_owned())
    }
}
