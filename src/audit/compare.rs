//! A record and the refit of its cell.

use serde_json::Value;

use crate::ledger::{Record, RecordedCertificate, Status};
use crate::methods::Entry;

/// A value that is not what it should be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// What is different, as the ledger calls it.
    pub what: String,
    pub recorded: String,
    pub expected: String,
}

impl Difference {
    pub fn new(what: &str, recorded: String, expected: String) -> Self {
        Self { what: what.to_owned(), recorded, expected }
    }
}

/// Accuracies are ratios of whole numbers, so only their last digits may differ.
const ROUNDING: f64 = 1e-9;

/// The tolerance of methods that have no such parameter.
const TOLERANCE: f64 = 1e-6;

/// What differs between a record and the refit of its cell. The samples are those of the plan, to which the record was
/// compared before.
pub(super) fn compare(
    record: &Record,
    again: &Record,
    is_choice_repeated: bool,
    method: &Entry,
) -> Vec<Difference> {
    if again.status != Status::Ok {
        let reason = again.error.as_deref().unwrap_or("no reason");
        return vec![Difference::new("status", "ok".to_owned(), format!("failed: {reason}"))];
    }
    let mut found = Vec::new();
    if is_choice_repeated {
        found.extend(choice(record, again));
    }
    found.extend(parameters(&record.params, &again.params, &method.defaults));
    for (what, recorded, recomputed) in [
        ("accuracy", record.accuracy, again.accuracy),
        ("balanced_accuracy", record.balanced_accuracy, again.balanced_accuracy),
    ] {
        let is_same = |a: f64, b: f64| (a - b).abs() <= ROUNDING;
        if let (Some(recorded), Some(recomputed)) = (recorded, recomputed)
            && !is_same(recorded, recomputed)
        {
            let [recorded, recomputed] = [recorded, recomputed].map(|value| value.to_string());
            found.push(Difference::new(what, recorded, recomputed));
        }
    }
    match (&record.certificate, &again.certificate) {
        (Some(recorded), Some(recomputed)) => {
            found.extend(certificate(recorded, recomputed, &record.params));
        }
        (None, None) => {}
        (recorded, _) => {
            let text = |is_there| if is_there { "there" } else { "missing or not finite" };
            let [was, is] = [recorded.is_some(), recorded.is_none()].map(text).map(str::to_owned);
            found.push(Difference::new("certificate", was, is));
        }
    }
    found
}

/// The choice of parameters: the same point, by the same inner scores.
fn choice(record: &Record, again: &Record) -> Option<Difference> {
    let (recorded, recomputed) = (record.selection.as_ref()?, again.selection.as_ref()?);
    if recorded.chosen != recomputed.chosen {
        let [recorded, recomputed] = [recorded, recomputed].map(|one| one.chosen.to_string());
        return Some(Difference::new("chosen", recorded, recomputed));
    }
    let points = recorded.points.iter().zip(&recomputed.points).enumerate();
    let mut differ = points.filter_map(|(index, (was, is))| {
        let mut scores = was.scores.iter().zip(&is.scores);
        let (was, is) = scores.find(|(was, is)| (*was - *is).abs() > ROUNDING)?;
        let what = format!("inner score of point {index}");
        Some(Difference::new(&what, was.to_string(), is.to_string()))
    });
    differ.next()
}

/// Parameters that differ. Records of former versions lack the parameters that came later, at their defaults.
fn parameters(recorded: &Value, recomputed: &Value, defaults: &Value) -> Option<Difference> {
    let (was, is) = (recorded.as_object()?, recomputed.as_object()?);
    let mut keys = was.keys().chain(is.keys());
    let key = keys.find(|key| {
        let value = was.get(*key).or_else(|| defaults.get(key));
        !value.zip(is.get(*key)).is_some_and(|(was, is)| is_same(was, is))
    })?;
    let text = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
    Some(Difference::new(&format!("parameter {key}"), text(was.get(key)), text(is.get(key))))
}

/// Equal values; `1` and `1.0` are.
fn is_same(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a == b)
}

/// An objective or a gap that another fit of the cell cannot have.
///
/// Neither objective is further from the optimum than its gap, and a solver stops at a gap of its tolerance times the
/// objective. So the two may differ by the gap of the refit plus the tolerance times the recorded objective. The
/// recorded gap is not trusted, but has to agree in the same way.
fn certificate(
    recorded: &RecordedCertificate,
    recomputed: &RecordedCertificate,
    params: &Value,
) -> Option<Difference> {
    let tolerance = params.get("tolerance").and_then(Value::as_f64).unwrap_or(TOLERANCE);
    let tolerance = tolerance.max(TOLERANCE);
    let allowed = recomputed.gap.max(0.0) + tolerance * recorded.primal.abs();
    let values =
        [("objective", recorded.primal, recomputed.primal), ("gap", recorded.gap, recomputed.gap)];
    // Numbers that are not finite agree with nothing.
    let agrees = |was: f64, is: f64| (was - is).abs() <= allowed;
    let (what, was, is) = values.into_iter().find(|(_, was, is)| !agrees(*was, *is))?;
    Some(Difference::new(what, was.to_string(), is.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods;
    use serde_json::json;

    fn record() -> Record {
        let certificate = RecordedCertificate {
            primal: 100.0,
            dual: 99.99,
            gap: 0.01,
            ..RecordedCertificate::default()
        };
        Record {
            status: Status::Ok,
            accuracy: Some(75.0),
            params: json!({"c": 1.0, "tolerance": 1e-3}),
            certificate: Some(certificate),
            ..Record::default()
        }
    }

    fn compared(change: impl FnOnce(&mut Record)) -> Vec<String> {
        let mut again = record();
        change(&mut again);
        let svm = methods::find("svm").unwrap();
        compare(&record(), &again, true, svm).into_iter().map(|found| found.what).collect()
    }

    #[test]
    fn each_value_that_differs_is_named() {
        assert_eq!(compared(|_| ()), [""; 0]);
        assert_eq!(compared(|again| again.accuracy = Some(74.9)), ["accuracy"]);
        assert_eq!(compared(|again| again.params["c"] = json!(2)), ["parameter c"]);
        assert_eq!(compared(|again| again.params["c"] = json!(1)), [""; 0]);
        assert_eq!(compared(|again| again.status = Status::Failed), ["status"]);
        assert_eq!(compared(|again| again.certificate = None), ["certificate"]);
    }

    #[test]
    fn parameters_that_came_later_have_their_defaults() {
        let later = |value| compared(|again| again.params["max_iter"] = value);
        assert_eq!(later(methods::find("svm").unwrap().defaults["max_iter"].clone()), [""; 0]);
        assert_eq!(later(json!(3)), ["parameter max_iter"]);
    }

    #[test]
    fn objectives_agree_within_the_gap_and_the_tolerance() {
        let moved = |primal: f64, gap: f64| {
            compared(|again| {
                let certificate = again.certificate.as_mut().unwrap();
                (certificate.primal, certificate.gap) = (primal, gap);
            })
        };
        assert_eq!(moved(100.05, 0.05), [""; 0]);
        assert_eq!(moved(99.95, 0.0), [""; 0]);
        assert_eq!(moved(100.5, 0.05), ["objective"]);
        assert_eq!(moved(99.8, 0.05), ["objective"]);
        assert_eq!(moved(f64::NAN, 0.01), ["objective"]);
        assert_eq!(moved(100.0, f64::NAN), ["gap"]);
    }
}
