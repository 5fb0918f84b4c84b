//! Choice of parameters by stratified cross-validation on training samples.
//!
//! Or on a dataset's own validation samples, after a fit on all training samples.
//!
//! All points of a grid share a fold's kernel matrix. The test samples are never seen, except with
//! `on: test`, which every rendering warns of.

mod grid;

use std::time::Instant;

use ndarray::Axis;
use npsvc::{FitError, Method, Model, Seed};
use rayon::prelude::*;
use serde_json::{Map, json};

use super::network::Task;
use super::{Candidates, Source};
use crate::data::split;
use crate::ledger::{Selection, Tried};
use crate::methods::Point;
use crate::spec::{Experiment, Select, SelectOn};

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

/// What fits are made with.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    pub threads: usize,
    /// What networks are trained on.
    pub device: &'a str,
}

/// Chooses among the points of `candidates` for split `split` of `source`.
pub fn select(
    experiment: &Experiment,
    settings: &Select,
    source: &Source,
    split: usize,
    candidates: &Candidates,
    seed: &Seed,
    means: Means<'_>,
) -> Result<Selection, String> {
    let begun = Instant::now();
    let split = if settings.once { 0 } else { split };
    let rounds = rounds(settings, source, split, seed);
    let tried = |point: &Point| Tried { params: point.params.clone(), ..Tried::default() };
    let mut points: Vec<Tried> = candidates.points.iter().map(tried).collect();
    for (number, round) in rounds.iter().enumerate() {
        // What is scored on test samples is the very fit that comes last.
        let seed = match settings.on {
            SelectOn::Test => seed.clone(),
            SelectOn::Training | SelectOn::Validation => seed.child(format!("fold {number}")),
        };
        score_round(experiment, source, round, candidates, &seed, means, &mut points);
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
    let (neighbours, edges) = grid::surroundings(&candidates.grid, &points, chosen);
    Ok(Selection {
        settings: json!(settings),
        samples: rounds.iter().map(|round| round.score.len()).sum(),
        points,
        chosen,
        neighbours,
        edges,
        seconds: begun.elapsed().as_secs_f64(),
        extra: Map::new(),
    })
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
    let labels =
        |index: &[usize]| -> Vec<usize> { index.iter().map(|&i| source.dataset.y[i]).collect() };
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

fn score_round(
    experiment: &Experiment,
    source: &Source,
    round: &Round,
    candidates: &Candidates,
    seed: &Seed,
    means: Means<'_>,
    points: &mut [Tried],
) {
    let alive: Vec<usize> = (0..points.len()).filter(|&index| is_alive(&points[index])).collect();
    let results = match candidates.entry.is_network {
        true => score_networks(source, round, candidates, &alive, seed, means),
        false => score_kernels(experiment, source, round, candidates, &alive, seed, means.threads),
    };
    for (index, predicted) in results {
        match predicted {
            Ok(predicted) => points[index].scores.push(accuracy(source, round, &predicted)),
            Err(error) => points[index].error = Some(error),
        }
    }
}

/// The classes that a point predicts for the samples of a round, by the index of the point.
type Predicted = (usize, Result<Vec<usize>, String>);

/// Percent of the samples of a round that are classified correctly.
fn accuracy(source: &Source, round: &Round, predicted: &[usize]) -> f64 {
    let pairs = round.score.iter().zip(predicted);
    let correct = pairs.filter(|&(&i, &l)| source.dataset.y[i] == l).count();
    100.0 * correct as f64 / round.score.len() as f64
}

fn score_networks(
    source: &Source,
    round: &Round,
    candidates: &Candidates,
    alive: &[usize],
    seed: &Seed,
    means: Means<'_>,
) -> Vec<Predicted> {
    let predict = |&index: &usize| {
        let criterion = candidates.points[index].criterion()?;
        let task = Task {
            source,
            criterion,
            train: &round.fit,
            test: &round.score,
            seed,
            device: means.device,
            checkpoint: None,
            has_monitor: false,
            has_representation: false,
            on_epoch: &|_| (),
        };
        Some((index, task.run().map(|answers| answers.predicted)))
    };
    match round.fit.len() <= SMALL && (2..=alive.len()).contains(&means.threads) {
        // Trainings differ in length: a free thread takes the next one.
        true => alive.iter().par_bridge().filter_map(predict).collect(),
        false => alive.iter().filter_map(predict).collect(),
    }
}

/// Training samples up to which networks are trained in parallel.
const SMALL: usize = 2000;

fn score_kernels(
    experiment: &Experiment,
    source: &Source,
    round: &Round,
    candidates: &Candidates,
    alive: &[usize],
    seed: &Seed,
    threads: usize,
) -> Vec<Predicted> {
    let every = |error: String| alive.iter().map(|&index| (index, Err(error.clone()))).collect();
    let set = match source.training_set(experiment, &round.fit, threads) {
        Ok(set) => set,
        Err(error) => return every(error),
    };
    let cross = match set.cross(source.dataset.x.select(Axis(0), &round.score).view()) {
        Ok(cross) => cross,
        Err(error) => return every(error.to_string()),
    };
    set.prepare();
    let points: Vec<&dyn Method> =
        (alive.iter()).filter_map(|&index| candidates.points[index].kernel_method()).collect();
    let predict = |index: usize, model: Result<Model, FitError>| {
        let model = model.map_err(|error| source.explain(&error));
        let predict = |model: Model| model.predict_from(&cross).map_err(|error| error.to_string());
        (alive[index], model.and_then(predict))
    };
    set.sweep().run(&points, seed, predict)
}

fn best(points: &[Tried]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (index, point) in points.iter().enumerate() {
        let Some(mean) = point.mean else { continue };
        if best.is_none_or(|(_, most)| mean > most) {
            best = Some((index, mean));
        }
    }
    best.map(|(index, _)| index)
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
    fn the_last_point_is_never_dropped() {
        let mut points = vec![scored(&[10.0])];
        halve(&mut points, 1);
        assert!(is_alive(&points[0]));
    }
}
