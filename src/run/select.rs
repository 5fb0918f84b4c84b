//! Choice of parameters by stratified cross-validation on training samples.
//!
//! Or on a dataset's own validation samples, after a fit on all training samples.
//!
//! All points of a grid share a fold's kernel matrix. The test samples are never seen, except with
//! `on: test`, which every rendering warns of.

mod grid;

use std::cmp::Ordering;
use std::time::Instant;

use faer::Par;
use ndarray::Axis;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::network::Task;
use super::prepare::{Candidates, Source};
use crate::data::split;
use crate::model::{Along, Problem};
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
    let mut alive: Vec<usize> = (0..points.len())
        .filter(|&i| points[i].is_alive())
        .collect();
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
    pub par: Par,
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
        score_round(
            experiment,
            source,
            round,
            candidates,
            &seed,
            means,
            &mut points,
        );
        if settings.halving && number + 1 < rounds.len() {
            halve(&mut points, number + 1);
        }
    }
    for point in points.iter_mut().filter(|point| point.is_alive()) {
        point.mean = Some(point.mean_so_far());
    }
    let chosen = best(&points).ok_or_else(|| {
        let reason = points
            .iter()
            .find_map(|point| point.error.clone())
            .unwrap_or_default();
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
        return vec![Round {
            fit: outer.train.clone(),
            score: score.clone(),
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
    means: Means<'_>,
    points: &mut [Scored],
) {
    let alive: Vec<usize> = (0..points.len())
        .filter(|&index| points[index].is_alive())
        .collect();
    let results = match candidates.entry.is_network() {
        true => score_networks(source, round, candidates, &alive, seed, means),
        false => score_kernels(
            experiment, source, round, candidates, &alive, seed, means.par,
        ),
    };
    for (index, predicted) in results {
        match predicted {
            Ok(predicted) => points[index]
                .scores
                .push(accuracy(source, round, &predicted)),
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

/// Runs `work` on every task: in parallel where fits are small and tasks enough for all threads; otherwise the
/// threads are used inside, with less memory.
fn each<T: Sync>(
    tasks: &[T],
    n: usize,
    par: Par,
    work: impl Fn(&T, Par) -> Vec<Predicted> + Sync,
) -> Vec<Predicted> {
    let are_parallel = n <= SMALL && (2..=tasks.len()).contains(&par.degree());
    let results: Vec<Vec<Predicted>> = match are_parallel {
        // Tasks last differently long: whoever is free takes the next one.
        true => (tasks.iter().par_bridge())
            .map(|task| work(task, Par::Seq))
            .collect(),
        false => tasks.iter().map(|task| work(task, par)).collect(),
    };
    results.into_iter().flatten().collect()
}

fn score_networks(
    source: &Source,
    round: &Round,
    candidates: &Candidates,
    alive: &[usize],
    seed: &Seed,
    means: Means<'_>,
) -> Vec<Predicted> {
    each(alive, round.fit.len(), means.par, |&index, _| {
        let Some(criterion) = candidates.points[index].criterion() else {
            return Vec::new();
        };
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
        vec![(index, task.run().map(|answers| answers.predicted))]
    })
}

fn score_kernels(
    experiment: &Experiment,
    source: &Source,
    round: &Round,
    candidates: &Candidates,
    alive: &[usize],
    seed: &Seed,
    par: Par,
) -> Vec<Predicted> {
    let dataset = &source.dataset;
    let y: Vec<usize> = round.fit.iter().map(|&i| dataset.y[i]).collect();
    let x = dataset.x.select(Axis(0), &round.fit);
    let kernel = &experiment.kernel;
    let problem = Problem::new(x, y, dataset.classes.len(), kernel, experiment.jitter, par)
        .with_factor(experiment.factor.clone())
        .for_sweep();
    let cross = problem.cross(dataset.x.select(Axis(0), &round.score).view());
    problem.gram_with(false);
    let lanes = lanes(candidates, alive);
    each(&lanes, round.fit.len(), par, |lane, par| {
        let problem = problem.lane(par);
        let predict = |index: usize| {
            let fit = candidates.points[index].fit(&problem, seed);
            let fit = fit.map_err(|error| source.explain(&error))?;
            Ok(fit.machine.predict(cross.as_ref(), problem.par()))
        };
        lane.iter().map(|&index| (index, predict(index))).collect()
    })
}

/// Training samples up to which the points of a grid are fitted in parallel.
const SMALL: usize = 2000;

/// Points that differ in nothing but the parameters that the method names (`c`, mostly), in the
/// order it names: each uses what those before it found.
/// Which points are together does not depend on threads, so neither do the numbers.
fn lanes(candidates: &Candidates, alive: &[usize]) -> Vec<Vec<usize>> {
    let mut lanes: Vec<(Value, Vec<Placed>)> = Vec::new();
    for &index in alive {
        let mut key = candidates.points[index].params();
        let place = (candidates.entry.along().iter())
            .map(|along| take_place(&mut key, *along))
            .collect();
        match lanes.iter_mut().find(|(known, _)| *known == key) {
            Some((_, lane)) => lane.push(Placed { place, index }),
            None => lanes.push((key, vec![Placed { place, index }])),
        }
    }
    // Neighbours then have the same regulariser, and with it what a sweep keeps for it.
    let regulariser = |key: &Value| {
        let number = |name: &str| key.get(name).and_then(Value::as_f64);
        number("r1").or_else(|| number("r")).unwrap_or_default()
    };
    lanes.sort_by(|(a, _), (b, _)| regulariser(a).total_cmp(&regulariser(b)));
    lanes
        .into_iter()
        .map(|(_, mut lane)| {
            lane.sort_by(|a, b| by_place(&a.place, &b.place));
            lane.into_iter().map(|placed| placed.index).collect()
        })
        .collect()
}

/// A point, and where in its lane it belongs.
struct Placed {
    place: Vec<f64>,
    index: usize,
}

fn by_place(a: &[f64], b: &[f64]) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    orders.fold(Ordering::Equal, Ordering::then)
}

/// Removes a parameter, and tells what its value sorts by.
fn take_place(params: &mut Value, along: Along) -> f64 {
    let (Along::Up(name) | Along::Down(name)) = along;
    let value = params
        .as_object_mut()
        .and_then(|params| params.remove(name));
    let value = value.and_then(|value| value.as_f64()).unwrap_or_default();
    match along {
        Along::Up(_) => value,
        Along::Down(_) => -value,
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
        let mut points: Vec<Scored> = [50.0, 90.0, 70.0, 90.0, 70.0]
            .map(|score| scored(&[score]))
            .into();
        halve(&mut points, 1);
        let dropped: Vec<_> = points.iter().map(|point| point.dropped).collect();
        assert_eq!(dropped, [Some(1), None, None, None, Some(1)]);
        halve(&mut points, 2);
        let alive: Vec<_> = (0..5).filter(|&i| points[i].is_alive()).collect();
        assert_eq!(alive, [1, 3]);
    }

    #[test]
    fn places_follow_the_order_that_a_method_names() {
        let mut points: Vec<(Vec<f64>, [f64; 2])> = Vec::new();
        for c in [1.0, 10.0] {
            for gamma in [4.0, 0.5] {
                let mut params = serde_json::json!({"r1": 1, "c": c, "gamma": gamma});
                let along = [Along::Down("c"), Along::Up("gamma")];
                let place = along.map(|along| take_place(&mut params, along)).to_vec();
                assert_eq!(params, serde_json::json!({"r1": 1}));
                points.push((place, [c, gamma]));
            }
        }
        points.sort_by(|(a, _), (b, _)| by_place(a, b));
        let order: Vec<_> = points.into_iter().map(|(_, point)| point).collect();
        assert_eq!(order, [[10.0, 0.5], [10.0, 4.0], [1.0, 0.5], [1.0, 4.0]]);
    }

    #[test]
    fn the_last_point_is_never_dropped() {
        let mut points = vec![scored(&[10.0])];
        halve(&mut points, 1);
        assert!(points[0].is_alive());
    }
}
