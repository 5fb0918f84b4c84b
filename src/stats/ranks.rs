//! Many methods over many datasets: ranks and Friedman's test.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{holm, level, signed_rank};

/// Friedman's test of "all methods rank alike".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Friedman {
    /// Corrected for ties.
    pub chi2: f64,
    /// From the chi-squared distribution with `methods - 1` degrees of freedom.
    pub p: f64,
}

/// Two columns compared over all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub first: usize,
    pub second: usize,
    /// Of the exact signed-rank test.
    pub p: f64,
    /// The same after Holm's adjustment for all pairs.
    pub adjusted: f64,
}

/// The signed-rank test of every pair of columns over the rows, adjusted by Holm.
///
/// Empty where [`average_ranks`] is `None`.
pub fn pairwise_signed_rank(rows: &[Vec<f64>]) -> Vec<Pair> {
    let Some(columns) = average_ranks(rows).map(|ranks| ranks.len()) else {
        return Vec::new();
    };
    let pairs = (0..columns).flat_map(|first| (first + 1..columns).map(move |b| (first, b)));
    let mut tested: Vec<Pair> = pairs
        .filter_map(|(first, second)| {
            let d: Vec<f64> = (rows.iter()).map(|row| level(row[first] - row[second])).collect();
            let p = signed_rank(&d)?.p;
            Some(Pair { first, second, p, adjusted: p })
        })
        .collect();
    let p_values: Vec<f64> = tested.iter().map(|pair| pair.p).collect();
    for (pair, adjusted) in tested.iter_mut().zip(holm(&p_values)) {
        pair.adjusted = adjusted;
    }
    tested
}

/// Ranks from the smallest value up, starting at 1; equal values share the mean of their ranks.
///
/// Values are compared exactly, without a tolerance.
pub(super) fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        for &index in group {
            ranks[index] = below as f64 + (group.len() + 1) as f64 / 2.0;
        }
        below += group.len();
    }
    ranks
}

/// Mean rank of each column over the rows; 1 is the best, that is the largest value.
///
/// `None` for no rows, no columns, rows of unequal length, or values that are not finite.
pub fn average_ranks(rows: &[Vec<f64>]) -> Option<Vec<f64>> {
    let ranked = rank_rows(rows)?;
    let columns = ranked.first()?.len();
    let mean =
        |column: usize| ranked.iter().map(|ranks| ranks[column]).sum::<f64>() / ranked.len() as f64;
    Some((0..columns).map(mean).collect())
}

/// Friedman's test, rows being datasets and columns methods.
///
/// `None` where [`average_ranks`] is, and for fewer than two rows or three columns. When every row
/// is one tie the statistic is 0 and p is 1.
pub fn friedman(rows: &[Vec<f64>]) -> Option<Friedman> {
    let ranked = rank_rows(rows)?;
    let columns = ranked.first()?.len();
    if ranked.len() < 2 || columns < 3 {
        return None;
    }
    let (n, k) = (ranked.len() as f64, columns as f64);
    let sum_of = |column: usize| ranked.iter().map(|ranks| ranks[column]).sum::<f64>();
    let squares: f64 = (0..columns).map(|column| sum_of(column).powi(2)).sum();
    let tied: f64 = ranked.iter().map(|ranks| tie_term(ranks)).sum();
    let untied_share = 1.0 - tied / (n * k * (k * k - 1.0));
    let chi2 = if untied_share > 0.0 {
        (12.0 / (k * n * (k + 1.0)) * squares - 3.0 * n * (k + 1.0)) / untied_share
    } else {
        0.0
    };
    let distribution = ChiSquared::new(k - 1.0).ok()?;
    Some(Friedman { chi2, p: distribution.sf(chi2.max(0.0)).clamp(0.0, 1.0) })
}

/// Sum of `t^3 - t` over groups of `t` equal ranks.
pub(super) fn tie_term(ranks: &[f64]) -> f64 {
    let mut sorted = ranks.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .chunk_by(|a, b| a == b)
        .map(|group| (group.len() as f64).powi(3) - group.len() as f64)
        .sum()
}

/// Ranks within each row, 1 for the largest value.
fn rank_rows(rows: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let columns = rows.first()?.len();
    let is_sound =
        |row: &Vec<f64>| row.len() == columns && row.iter().all(|value| value.is_finite());
    let ranked = rows.iter().map(|row| {
        let negated: Vec<f64> = row.iter().map(|value| -value).collect();
        midranks(&negated)
    });
    (columns > 0 && rows.iter().all(is_sound)).then(|| ranked.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(midranks(&[10.0, 20.0, 10.0, 30.0, 10.0]), [2.0, 4.0, 2.0, 5.0, 2.0]);
        assert_eq!(midranks(&[]), [0.0; 0]);
    }

    #[test]
    fn the_largest_accuracy_has_rank_one() {
        let rows = [vec![70.0, 90.0, 80.0], vec![60.0, 60.0, 50.0]];
        assert_eq!(average_ranks(&rows), Some(vec![2.25, 1.25, 2.5]));
    }

    #[test]
    fn rows_that_are_all_ties_say_nothing() {
        let rows = vec![vec![5.0; 4]; 3];
        let test = friedman(&rows).unwrap();
        assert_eq!((test.chi2, test.p), (0.0, 1.0));
    }

    #[test]
    fn too_small_or_ragged_tables_are_refused() {
        assert_eq!(friedman(&[vec![1.0, 2.0, 3.0]]), None);
        assert_eq!(friedman(&[vec![1.0, 2.0], vec![2.0, 1.0]]), None);
        assert_eq!(average_ranks(&[]), None);
        assert_eq!(average_ranks(&[vec![]]), None);
        assert_eq!(average_ranks(&[vec![1.0, 2.0], vec![1.0]]), None);
        assert_eq!(average_ranks(&[vec![1.0, f64::NAN]]), None);
    }
}
