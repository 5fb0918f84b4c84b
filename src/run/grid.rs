//! Whether a point is at an end of its grid.

use serde_json::Value;

use crate::ledger::{Edge, End, Tried};

/// Fewest values of a parameter whose ends are reported: of two values, one is always at an end.
const FEWEST: usize = 3;

/// The ends of parameters' values at which the point `chosen` is.
///
/// Values may be given in any order; those that are not numbers have no ends. An end counts if the value next to it
/// is worse: on a plateau the choice of the end is an accident.
pub(super) fn edges(grid: &[(String, Vec<Value>)], points: &[Tried], chosen: usize) -> Vec<Edge> {
    let mean = |index: usize| points.get(index).and_then(|point| point.mean);
    let mut edges = Vec::new();
    // The last parameter changes fastest.
    let mut stride = 1;
    for (parameter, values) in grid.iter().rev() {
        let at = chosen / stride % values.len().max(1);
        if let Some((end, next)) = end(values, at).filter(|_| values.len() >= FEWEST)
            && mean(chosen + next * stride - at * stride) < mean(chosen)
        {
            edges.push(Edge { parameter: parameter.clone(), value: values[at].clone(), end });
        }
        stride *= values.len().max(1);
    }
    edges.reverse();
    edges
}

/// The end at which the value number `at` is, and the number of the value next to it.
fn end(values: &[Value], at: usize) -> Option<(End, usize)> {
    let numbers: Vec<f64> = values.iter().map(Value::as_f64).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    match order[..] {
        [smallest, next, ..] if smallest == at => Some((End::Smallest, next)),
        [.., next, largest] if largest == at => Some((End::Largest, next)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn points(means: &[f64]) -> Vec<Tried> {
        let point = |&mean| Tried { mean: Some(mean), ..Tried::default() };
        means.iter().map(point).collect()
    }

    fn grid(of: &[(&str, Value)]) -> Vec<(String, Vec<Value>)> {
        let values = |value: &Value| value.as_array().unwrap().clone();
        of.iter().map(|(name, v)| ((*name).to_owned(), values(v))).collect()
    }

    #[test]
    fn a_point_in_the_middle_is_at_no_end() {
        // c by r: the point (2, 0.1) is the middle one of 3 x 3.
        let grid = grid(&[("c", json!([1, 2, 4])), ("r", json!([0.01, 0.1, 1]))]);
        let means = [1.0, 2.0, 1.0, 2.0, 9.0, 2.0, 1.0, 2.0, 1.0];
        assert_eq!(edges(&grid, &points(&means), 4), []);
    }

    #[test]
    fn an_end_is_found_in_any_order_of_values() {
        let grid = grid(&[("scheme", json!(["ovr", "rvo"])), ("c", json!([4, 1, 2]))]);
        // The best point is (rvo, 4); the value next to 4 is 2.
        let means = [1.0, 1.0, 1.0, 9.0, 5.0, 7.0];
        let (parameter, value, end) = ("c".to_owned(), json!(4), End::Largest);
        assert_eq!(edges(&grid, &points(&means), 3), [Edge { parameter, value, end }]);
    }

    #[test]
    fn a_plateau_and_two_values_have_no_ends() {
        let three = grid(&[("c", json!([1, 2, 3]))]);
        assert_eq!(edges(&three, &points(&[5.0, 5.0, 1.0]), 0), []);
        let two = grid(&[("c", json!([1, 2]))]);
        assert_eq!(edges(&two, &points(&[5.0, 1.0]), 0), []);
    }
}
