//! How well classes are separated: silhouettes and nearest neighbours, both from plain distances.

use ndarray::ArrayView2;

/// Squared Euclidean distances of all pairs of rows, row by row; `None` if one is not finite.
pub(super) fn squared_distances(x: ArrayView2<'_, f64>) -> Option<Vec<Vec<f64>>> {
    let rows: Vec<Vec<f64>> = x.rows().into_iter().map(|row| row.to_vec()).collect();
    let between =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum() };
    let mut distances = vec![vec![0.0; rows.len()]; rows.len()];
    for i in 0..rows.len() {
        for j in 0..i {
            let distance = between(&rows[i], &rows[j]);
            if !distance.is_finite() {
                return None;
            }
            distances[i][j] = distance;
            distances[j][i] = distance;
        }
    }
    Some(distances)
}

/// Mean silhouette `(b - a) / max(a, b)`, with `a` the mean distance to a sample's own class and `b`
/// that to the nearest other one; 0 for a class of one sample.
///
/// `None` for fewer than two classes, unequal lengths or values that are not finite.
pub fn silhouette(x: ArrayView2<'_, f64>, labels: &[usize]) -> Option<f64> {
    let classes = labels.iter().max()? + 1;
    let mut sizes = vec![0_usize; classes];
    labels.iter().for_each(|&label| sizes[label] += 1);
    if x.nrows() != labels.len() || sizes.iter().filter(|size| **size > 0).count() < 2 {
        return None;
    }
    let distances = squared_distances(x)?;
    let of_sample = |i: usize| {
        let mut sums = vec![0.0; classes];
        for (j, distance) in distances[i].iter().enumerate() {
            sums[labels[j]] += distance.sqrt();
        }
        let own = labels[i];
        if sizes[own] < 2 {
            return 0.0;
        }
        let a = sums[own] / (sizes[own] - 1) as f64;
        let others = (0..classes).filter(|&class| class != own && sizes[class] > 0);
        let b = others.map(|class| sums[class] / sizes[class] as f64).fold(f64::INFINITY, f64::min);
        let larger = a.max(b);
        if larger > 0.0 { (b - a) / larger } else { 0.0 }
    };
    Some((0..labels.len()).map(of_sample).sum::<f64>() / labels.len() as f64)
}

/// Percent of the rows whose `k` nearest other rows vote for their class; the nearest of the tied
/// classes wins.
///
/// `None` for no neighbours, fewer than two rows, unequal lengths or values that are not finite.
pub fn knn_accuracy(x: ArrayView2<'_, f64>, labels: &[usize], k: usize) -> Option<f64> {
    let n = labels.len();
    if x.nrows() != n || n < 2 || k == 0 {
        return None;
    }
    let distances = squared_distances(x)?;
    let classes = labels.iter().max()? + 1;
    let correct = (0..n)
        .filter(|&i| {
            let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            others.sort_by(|&a, &b| distances[i][a].total_cmp(&distances[i][b]));
            others.truncate(k);
            let mut votes = vec![0_usize; classes];
            others.iter().for_each(|&j| votes[labels[j]] += 1);
            let most = votes.iter().copied().max().unwrap_or(0);
            let winner = others.iter().find(|&&j| votes[labels[j]] == most);
            winner.is_some_and(|&j| labels[j] == labels[i])
        })
        .count();
    Some(100.0 * correct as f64 / n as f64)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn as_scikit_learn_has_it() {
        // silhouette_score and a leave-one-out 3-nearest-neighbour vote.
        let x = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [6.0, 5.0], [2.0, 2.0]];
        let labels = [0, 0, 0, 1, 1, 1];
        let ours = silhouette(x.view(), &labels).unwrap();
        assert!((ours - 0.5158676723636476).abs() < 1e-12, "{ours}");
        assert_eq!(knn_accuracy(x.view(), &labels, 3), Some(500.0 / 6.0));
    }

    #[test]
    fn what_is_not_defined_is_none() {
        let x = array![[0.0], [1.0], [f64::NAN]];
        assert_eq!(silhouette(x.view(), &[0, 1, 1]), None);
        assert_eq!(knn_accuracy(x.view(), &[0, 1, 1], 1), None);
        let x = array![[0.0], [1.0]];
        assert_eq!(silhouette(x.view(), &[0, 0]), None);
        assert_eq!(silhouette(x.view(), &[0]), None);
        assert_eq!(silhouette(x.view(), &[0, 1]), Some(0.0), "classes of one sample");
        assert_eq!(knn_accuracy(x.view(), &[0, 1], 0), None);
        assert_eq!(silhouette(array![[1.0], [1.0], [1.0]].view(), &[0, 0, 1]), Some(0.0));
    }
}
