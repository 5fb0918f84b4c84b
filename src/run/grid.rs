//! The place of a point in its grid: its neighbours, and whether it lies at an end.

use serde_json::Value;

use crate::ledger::{Edge, End, Tried};

/// Fewest values of a parameter whose ends say something: of two values one is always at an end.
const FEWEST: usize = 3;

/// The neighbours of the point `chosen`, and the ends of parameters' values it lies at.
///
/// A step of a parameter goes to the next larger or smaller of its values, in whatever order they are
/// given; parameters that are no numbers have no steps. An end counts where the value next to it is
/// worse: on a plateau the choice of the end is an accident.
pub(super) fn surroundings(
    grid: &[(String, Vec<Value>)],
    points: &[Tried],
    chosen: usize,
) -> (Vec<usize>, Vec<Edge>) {
    let (mut neighbours, mut edges) = (Vec::new(), Vec::new());
    // The last parameter changes fastest.
    let mut stride = 1;
    for (parameter, values) in grid.iter().rev() {
        let at = chosen / stride % values.len().max(1);
        let step = |to: usize| (chosen + to * stride).checked_sub(at * stride);
        if let Some((below, above)) = beside(values, at) {
            let beside: Vec<usize> =
                [below, above].into_iter().flatten().filter_map(step).collect();
            let end = match (below, above) {
                (None, Some(_)) => Some(End::Smallest),
                (Some(_), None) => Some(End::Largest),
                _ => None,
            };
            let is_worse = |&index: &usize| {
                let mean = |index: usize| points.get(index).and_then(|point| point.mean);
                mean(index) < mean(chosen)
            };
            if let Some(end) = end.filter(|_| values.len() >= FEWEST && beside.iter().all(is_worse))
            {
                edges.push(Edge { parameter: parameter.clone(), value: values[at].clone(), end });
            }
            neighbours.extend(beside);
        }
        stride *= values.len().max(1);
    }
    neighbours.sort_unstable();
    edges.reverse();
    (neighbours, edges)
}

/// Indices of the next smaller and the next larger value than the one at `at`; nothing where values
/// are no numbers.
fn beside(values: &[Value], at: usize) -> Option<(Option<usize>, Option<usize>)> {
    let numbers: Vec<f64> = values.iter().map(Value::as_f64).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let place = order.iter().position(|&index| index == at)?;
    let below = place.checked_sub(1).and_then(|i| order.get(i));
    Some((below.copied(), order.get(place + 1).copied()))
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
    fn neighbours_are_one_step_of_one_parameter_away() {
        // c by r: the point (2, 0.1) is the middle one of 3 x 3.
        let grid = grid(&[("c", json!([1, 2, 4])), ("r", json!([0.01, 0.1, 1]))]);
        let means = [1.0, 2.0, 1.0, 2.0, 9.0, 2.0, 1.0, 2.0, 1.0];
        let (neighbours, edges) = surroundings(&grid, &points(&means), 4);
        assert_eq!(neighbours, [1, 3, 5, 7]);
        assert_eq!(edges, []);
    }

    #[test]
    fn an_end_is_found_in_whatever_order_values_stand() {
        let grid = grid(&[("scheme", json!(["ovr", "rvo"])), ("c", json!([4, 1, 2]))]);
        // The best point is (rvo, 4); the value next to 4 is 2.
        let means = [1.0, 1.0, 1.0, 9.0, 5.0, 7.0];
        let (neighbours, edges) = surroundings(&grid, &points(&means), 3);
        assert_eq!(neighbours, [5]);
        let (parameter, value, end) = ("c".to_owned(), json!(4), End::Largest);
        assert_eq!(edges, [Edge { parameter, value, end }]);
    }

    #[test]
    fn a_plateau_and_two_values_have_no_ends() {
        let three = grid(&[("c", json!([1, 2, 3]))]);
        let (_, edges) = surroundings(&three, &points(&[5.0, 5.0, 1.0]), 0);
        assert_eq!(edges, []);
        let two = grid(&[("c", json!([1, 2]))]);
        let (neighbours, edges) = surroundings(&two, &points(&[5.0, 1.0]), 0);
        assert_eq!((neighbours, edges), (vec![1], vec![]));
    }
}
