//! Choice of parameters by stratified cross-validation on training samples.
//!
//! Or on a dataset's own validation samples, after a fit on all training samples.
//!
//! All points of a grid share a fold's kernel matrix. The test samples are never seen, except with
//! `on: test`, which every rendering warns of.

use std::sync::OnceLock;
use std::time::Instant;

use npsvc::Seed;
use serde_json::{Map, json};

use super::evaluate::{Fold, predict_all};
use super::grid;
use crate::data::split;
use crate::ledger::{Selection, Tried};
use crate::methods::Point;
use crate::plan::Source;
use crate::spec::{Candidates, Select, SelectOn};

/// Whether a point can still be chosen.
fn is_alive(point: &Tried) -> bool {
    point.error.is_none() && point.dropped.is_none()
}

fn mean_so_far(point: &Tried) -> f64 {
    point.scores.iter().sum::<f64>() / point.scores.len().max(1) as f64
}

/// Drops the worse half of the points that are left, of equals the later ones.
fn halve(points: &mut [Tried], folds: usize) {
    let mut alive: Vec<usize> = (0..points.len()).filter(|&i| is_alive(&points[i])).collect();
    let keep = alive.len().div_ceil(2);
    alive.sort_by(|&a, &b| {
        let (a, b) = (mean_so_far(&points[a]), mean_so_far(&points[b]));
        b.total_cmp(&a)
    });
    for index in alive.into_iter().skip(keep) {
        points[index].dropped = Some(folds);
    }
}

/// Chooses among the points of `candidates` for split `split` of the dataset of `outer`.
pub(super) fn select(
    settings: &Select,
    candidates: &Candidates,
    outer: &Fold<'_>,
    split: usize,
    seed: &Seed,
    device: &str,
) -> Result<Selection, String> {
    let begun = Instant::now();
    let source = outer.source;
    let rounds = rounds(settings, source, split, seed);
    let tried = |point: &Point| Tried { params: point.params.clone(), ..Tried::default() };
    let mut points: Vec<Tried> = candidates.points.iter().map(tried).collect();
    for (number, round) in rounds.iter().enumerate() {
        let seed = match settings.on {
            SelectOn::Test => seed.clone(),
            SelectOn::Training | SelectOn::Validation => seed.child(format!("fold {number}")),
        };
        let alive: Vec<usize> = (0..points.len()).filter(|&i| is_alive(&points[i])).collect();
        let left: Vec<&Point> = alive.iter().map(|&index| &candidates.points[index]).collect();
        let (train, test) = (&round.fit[..], &round.score[..]);
        let fold = Fold { train, test, kernel: OnceLock::new(), ..*outer };
        let predictions = predict_all(&left, &fold, &seed, device);
        for (&index, predicted) in alive.iter().zip(predictions) {
            match predicted {
                Ok(predicted) => points[index].scores.push(fold.accuracies(&predicted).0),
                Err(error) => points[index].error = Some(error),
            }
        }
        if settings.halving && number + 1 < rounds.len() {
            halve(&mut points, number + 1);
        }
    }
    for point in points.iter_mut().filter(|point| is_alive(point)) {
        point.mean = Some(mean_so_far(point));
    }
    let chosen = best(&points).ok_or_else(|| {
        let reason = points.iter().find_map(|point| point.error.clone()).unwrap_or_default();
        format!("no parameter point could be fitted; the first failed because {reason}")
    })?;
    Ok(Selection {
        settings: json!(settings),
        samples: rounds.iter().map(|round| round.score.len()).sum(),
        edges: grid::edges(&candidates.grid, &points, chosen),
        points,
        chosen,
        neighbours: Vec::new(),
        seconds: begun.elapsed().as_secs_f64(),
        extra: Map::new(),
    })
}

/// The point with the best mean, the first one among equals.
fn best(points: &[Tried]) -> Option<usize> {
    let means = points.iter().enumerate().filter_map(|(index, point)| Some((index, point.mean?)));
    // `max_by` gives the last of equals.
    means.rev().max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(index, _)| index)
}

/// One fit-and-score round, as indices into the dataset.
struct Round {
    fit: Vec<usize>,
    score: Vec<usize>,
}

fn rounds(settings: &Select, source: &Source, split: usize, seed: &Seed) -> Vec<Round> {
    let outer = &source.splits[split];
    let score = match settings.on {
        SelectOn::Training => None,
        SelectOn::Validation => Some(&outer.validation),
        SelectOn::Test => Some(&outer.test),
    };
    if let Some(score) = score {
        return vec![Round { fit: outer.train.clone(), score: score.clone() }];
    }
    let y = &source.dataset.y;
    let labels = |index: &[usize]| -> Vec<usize> { index.iter().map(|&i| y[i]).collect() };
    let mut samples = outer.train.clone();
    if let Some(size) = settings.subsample.filter(|&size| size < samples.len()) {
        let part = split::stratified_part(&labels(&samples), size, &seed.child("part"));
        samples = part.into_iter().map(|i| samples[i]).collect();
    }
    let folds = split::folds(&labels(&samples), settings.folds, &seed.child("folds"));
    folds
        .into_iter()
        .map(|fold| {
            let mut is_scored = vec![false; samples.len()];
            fold.iter().for_each(|&i| is_scored[i] = true);
            let pick = |scored: bool| {
                (0..samples.len()).filter(|&i| is_scored[i] == scored).map(|i| samples[i]).collect()
            };
            Round { fit: pick(false), score: pick(true) }
        })
        .filter(|round: &Round| !round.score.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(scores: &[f64]) -> Tried {
        Tried { scores: scores.to_vec(), ..Tried::default() }
    }

    #[test]
    fn halving_drops_the_worse_half_and_of_equals_the_later() {
        let mut points: Vec<Tried> =
            [50.0, 90.0, 70.0, 90.0, 70.0].map(|score| scored(&[score])).into();
        halve(&mut points, 1);
        let dropped: Vec<_> = points.iter().map(|point| point.dropped).collect();
        assert_eq!(dropped, [Some(1), None, None, None, Some(1)]);
        halve(&mut points, 2);
        let alive: Vec<_> = (0..5).filter(|&i| is_alive(&points[i])).collect();
        assert_eq!(alive, [1, 3]);
    }

    #[test]
    fn the_first_of_the_best_points_is_chosen() {
        let point = |mean: f64| Tried { mean: Some(mean), ..Tried::default() };
        let failed = Tried { error: Some("too few samples".into()), ..Tried::default() };
        assert_eq!(best(&[failed.clone(), point(1.0), point(3.0), point(3.0)]), Some(2));
        assert_eq!(best(&[failed]), None);
    }

    #[test]
    fn the_last_point_is_never_dropped() {
        let mut points = vec![scored(&[10.0])];
        halve(&mut points, 1);
        assert!(is_alive(&points[0]));
    }
}
