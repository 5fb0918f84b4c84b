//! Choice of parameters by stratified cross-validation on training samples.
//!
//! All points of a grid share a fold's kernel matrix. The test samples are never seen, except with
//! `on: test`, which every rendering warns of.

use std::time::Instant;

use faer::Par;
use ndarray::Axis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::prepare::{Candidates, Source};
use crate::data::split;
use crate::model::Problem;
use crate::seed::Seed;
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
    pub seconds: f64,
}

/// The inner scores of one point, in percent, one per fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub params: Value,
    pub scores: Vec<f64>,
    /// Mean score; absent where a fold failed.
    pub mean: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Chooses among the points of `candidates` for split `split` of `source`.
pub fn select(
    experiment: &Experiment,
    settings: &Select,
    source: &Source,
    split: usize,
    candidates: &Candidates,
    seed: &Seed,
    par: Par,
) -> Result<Selection, String> {
    let begun = Instant::now();
    let split = if settings.once { 0 } else { split };
    let rounds = rounds(settings, source, split, seed);
    let samples = rounds
        .iter()
        .flat_map(|round| &round.score)
        .collect::<std::collections::HashSet<_>>();
    let mut points: Vec<Scored> = candidates
        .points
        .iter()
        .map(|point| Scored {
            params: point.params(),
            scores: Vec::new(),
            mean: None,
            error: None,
        })
        .collect();
    for (number, round) in rounds.iter().enumerate() {
        let seed = seed.child(format!("fold {number}"));
        score_round(
            experiment,
            source,
            round,
            candidates,
            &seed,
            par,
            &mut points,
        );
    }
    for point in points.iter_mut().filter(|point| point.error.is_none()) {
        point.mean = Some(point.scores.iter().sum::<f64>() / point.scores.len().max(1) as f64);
    }
    let chosen = best(&points).ok_or_else(|| {
        let reason = points
            .iter()
            .find_map(|point| point.error.clone())
            .unwrap_or_default();
        format!("no parameter point could be fitted; the first failed because {reason}")
    })?;
    let samples = samples.len();
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Selection {
        settings: settings.clone(),
        samples,
        points,
        chosen,
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
    if settings.on == SelectOn::Test {
        return vec![Round {
            fit: outer.train.clone(),
            score: outer.test.clone(),
        }];
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
                (0..samples.len())
                    .filter(|&i| is_scored[i] == scored)
                    .map(|i| samples[i])
                    .collect()
            };
            Round {
                fit: pick(false),
                score: pick(true),
            }
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
    par: Par,
    points: &mut [Scored],
) {
    let dataset = &source.dataset;
    let y: Vec<usize> = round.fit.iter().map(|&i| dataset.y[i]).collect();
    let x = dataset.x.select(Axis(0), &round.fit);
    let kernel = &experiment.kernel;
    let problem = Problem::new(x, y, dataset.classes.len(), kernel, experiment.jitter, par);
    let cross = problem.cross(dataset.x.select(Axis(0), &round.score).view());
    for (point, scored) in candidates.points.iter().zip(points) {
        if scored.error.is_some() {
            continue;
        }
        match point.fit(&problem, seed) {
            Ok(fit) => {
                let predicted = fit.machine.predict(cross.as_ref(), par);
                let correct = round
                    .score
                    .iter()
                    .zip(predicted)
                    .filter(|&(&i, l)| dataset.y[i] == l)
                    .count();
                scored
                    .scores
                    .push(100.0 * correct as f64 / round.score.len() as f64);
            }
            Err(error) => scored.error = Some(source.explain(&error)),
        }
    }
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
