//! Maps of test samples, before and after a method, where a spec asks for them under `record`.

use ndarray::{Array2, Axis};
use npsvc::Seed;

use super::evaluate::Fold;
use crate::ledger::{Cloud, Embedding};
use crate::stats;

/// Most samples of a map; its cost grows with their square.
const SAMPLES: usize = 1000;
const PERPLEXITY: f64 = 30.0;
const NEIGHBOURS: usize = 5;

/// Maps of test samples, evenly taken where there are many; `z` has all of them.
pub(super) fn embedding(fold: &Fold<'_>, z: &Array2<f64>, seed: &Seed) -> Option<Embedding> {
    let (test, data) = (fold.test, &fold.source.dataset);
    let count = test.len().min(SAMPLES);
    let places: Vec<usize> = (0..count).map(|i| i * test.len() / count).collect();
    let samples: Vec<usize> = places.iter().map(|&place| test[place]).collect();
    let labels: Vec<usize> = samples.iter().map(|&i| data.y[i]).collect();
    let cloud = |x: &Array2<f64>| {
        let points = stats::tsne(x.view(), PERPLEXITY, seed)?;
        // Four decimals are finer than any screen.
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        Some(Cloud {
            dims: x.ncols(),
            points: points.into_iter().map(|point| point.map(rounded)).collect(),
            silhouette: stats::silhouette(x.view(), &labels)?,
            knn_accuracy: stats::knn_accuracy(x.view(), &labels, NEIGHBOURS)?,
        })
    };
    let raw = cloud(&data.x.select(Axis(0), &samples))?;
    let learnt = cloud(&z.select(Axis(0), &places))?;
    Some(Embedding { perplexity: PERPLEXITY, neighbours: NEIGHBOURS, raw, learnt, labels })
}
