//! Many tests at once.

/// Holm's step-down adjustment: `max over smaller p of (m - rank) p`, at most 1, in the order given.
///
/// A value that is not a number is left as it is and takes the last place.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = p_values.to_vec();
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        if p_values[index].is_nan() {
            continue;
        }
        largest = largest.max((p_values.len() - rank) as f64 * p_values[index]);
        adjusted[index] = largest.min(1.0);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_keep_their_order_and_stay_below_one() {
        assert_eq!(holm(&[0.5, 0.01, 0.02]), [0.5, 0.03, 0.04]);
        assert_eq!(holm(&[0.02, 0.021]), [0.04, 0.04]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}
