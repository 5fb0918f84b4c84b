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
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::network::Task;
use super::prepare::{Candidates, Source};
use crate::data::split;
use crate::spec::{Experiment, Select, SelectOn};

/// What was tried and what was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    pub settings: Select,
    /// Samples that took part.
    pub samples: usize,
    pub points: Vec<Scored>,
    /// Index of the point chosen: the best mean, the earlier one among equals.
    pub chosen: usize,
    /// Indices of the points of the grid that are one step of one parameter away from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<usize>,
    /// Parameters whose best value lies at an end of their grid, with a worse one next to it: beyond
    /// the end there may be better ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge>,
    pub seconds: f64,
}

/// A parameter whose best value lies at an end of its grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    pub parameter: String,
    pub value: Value,
    pub end: End,
}

/// An end of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    Smallest,
    Largest,
}

/// The inner scores of one point, in percent, one per fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub params: Value,
    pub scores: Vec<f64>,
    /// Mean score; absent where a fold failed or not all were scored.
    pub mean: Option<f64>,
    /// The number of folds after which successive halving dropped the point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Scored {
    /// Whether it can still be chosen.
    fn is_alive(&self) -> bool {
        self.error.is_none() && self.dropped.is_none()
    }

    fn mean_so_far(&self) -> f64 {
        self.scores.iter().sum::<f64>() / self.scores.len().max(1) as f64
    }
}

/// Drops the worse half of the points that are left, of equals the later ones.
fn halve(points: &mut [Scored], folds: usize) {
    let mut alive: Vec<usize> = (0..points.len()).filter(|&i| points[i].is_alive()).collect();
    let keep = alive.len().div_ceil(2);
    alive.sort_by(|&a, &b| {
        let (a, b) = (points[a].mean_so_far(), points[b].mean_so_far());
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
    let samples =
        rounds.iter().flat_map(|round| &round.score).collect::<std::collections::HashSet<_>>();
    let mut points: Vec<Scored> = candidates
        .points
        .iter()
        .map(|point| Scored {
            params: point.params.clone(),
            scores: Vec::new(),
            mean: None,
            dropped: None,
            error: None,
        })
        .collect();
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
    for point in points.iter_mut().filter(|point| point.is_alive()) {
        point.mean = Some(point.mean_so_far());
    }
    let chosen = best(&points).ok_or_else(|| {
        let reason = points.iter().find_map(|point| point.error.clone()).unwrap_or_default();
        format!("no parameter point could be fitted; the first failed because {reason}")
    })?;
    let samples = samples.len();
    let (neighbours, edges) = grid::surroundings(&candidates.grid, &points, chosen);
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Selection {
        settings: settings.clone(),
        samples,
        points,
        chosen,
        neighbours,
        edges,
        seconds,
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
    points: &mut [Scored],
) {
    let alive: Vec<usize> = (0..points.len()).filter(|&index| points[index].is_alive()).collect();
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

fn best(points: &[Scored]) -> Option<usize> {
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

    fn scored(scores: &[f64]) -> Scored {
        Scored {
            params: Value::Null,
            scores: scores.to_vec(),
            mean: None,
            dropped: None,
            error: None,
        }
    }

    #[test]
    fn halving_drops_the_worse_half_and_of_equals_the_later() {
        let mut points: Vec<Scored> =
            [50.0, 90.0, 70.0, 90.0, 70.0].map(|score| scored(&[score])).into();
        halve(&mut points, 1);
        let dropped: Vec<_> = points.iter().map(|point| point.dropped).collect();
        assert_eq!(dropped, [Some(1), None, None, None, Some(1)]);
        halve(&mut points, 2);
        let alive: Vec<_> = (0..5).filter(|&i| points[i].is_alive()).collect();
        assert_eq!(alive, [1, 3]);
    }

    #[test]
    fn the_last_point_is_never_dropped() {
        let mut points = vec![scored(&[10.0])];
        halve(&mut points, 1);
        assert!(points[0].is_alive());
    }
}
