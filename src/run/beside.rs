//! What is stored beside the ledger, where a spec asks for it under `record`.

use ndarray::{Array2, Axis};

use super::cell::Bench;
use crate::ledger::{Cloud, Embedding};
use crate::methods::TraceRow;
use crate::spec::Recording;
use crate::stats;

/// Most samples of a map; its cost grows with their square.
const SAMPLES: usize = 1000;
const PERPLEXITY: f64 = 30.0;
const NEIGHBOURS: usize = 5;

/// Files of one cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    pub(super) trace: Vec<TraceRow>,
    pub(super) embedding: Option<Embedding>,
}

/// Whether a map of the samples is to be made.
pub(super) fn wants_embedding(bench: &Bench<'_>) -> bool {
    let wanted = &bench.prepared.plan.experiment.record;
    bench.split == 0 && wanted.contains(&Recording::Embedding)
}

/// Maps of test samples, evenly taken where there are many; `z` has all of them.
pub(super) fn embedding(bench: &Bench<'_>, z: &Array2<f64>) -> Option<Embedding> {
    let test = &bench.source.splits[bench.split].test;
    let count = test.len().min(SAMPLES);
    let places: Vec<usize> = (0..count).map(|i| i * test.len() / count).collect();
    let samples: Vec<usize> = places.iter().map(|&place| test[place]).collect();
    let data = &bench.source.dataset;
    let labels: Vec<usize> = samples.iter().map(|&i| data.y[i]).collect();
    let raw = data.x.select(Axis(0), &samples);
    let z = z.select(Axis(0), &places);
    let cloud = |x: &Array2<f64>| {
        let seed = bench.seed("embedding", bench.split, "t-sne");
        let points = stats::tsne(x.view(), PERPLEXITY, &seed)?;
        // Four decimals are finer than any screen.
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        Some(Cloud {
            dims: x.ncols(),
            points: points.into_iter().map(|point| point.map(rounded)).collect(),
            silhouette: stats::silhouette(x.view(), &labels)?,
            knn_accuracy: stats::knn_accuracy(x.view(), &labels, NEIGHBOURS)?,
        })
    };
    let (raw, learnt) = (cloud(&raw)?, cloud(&z)?);
    Some(Embedding { perplexity: PERPLEXITY, neighbours: NEIGHBOURS, raw, learnt, labels })
}
