//! What a plan will cost, before anything is fitted: operations, time and memory.
//!
//! Times are a rough guide: operations counted by each method over a fixed rate, which is that of
//! one core of a present-day server. `status` gives better estimates once some cells are done.

use npsvc::{Kernel, Shape};
use serde_json::Value;

use super::{PlannedCell, PlannedDataset, Prepared};
use crate::methods::Cost;
use crate::spec::{Backbone, Candidates, EncoderSpec, Experiment, SelectOn};

/// Bytes in words, with the units that `--memory` takes.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b >= 1e8 => format!("{:.2} GB", b / 1e9),
        b if b >= 1e5 => format!("{:.2} MB", b / 1e6),
        b => format!("{:.2} KB", b / 1e3),
    }
}

impl PlannedDataset {
    /// Shape of a training set.
    pub fn shape(&self, experiment: &Experiment) -> Shape {
        // The factor of a linear kernel ends at the number of features.
        let most = match experiment.kernel {
            Kernel::Linear => self.n_train.min(self.dims),
            Kernel::Gaussian { .. } | Kernel::Polynomial { .. } => self.n_train,
        };
        Shape {
            n: self.n_train,
            dims: self.dims,
            classes: self.classes.len(),
            rank: experiment.factor.storage(experiment.jitter).rank(most),
        }
    }
}

/// What `cells` cost in all, if a job has this number of threads.
pub fn estimate<'a>(
    prepared: &Prepared,
    cells: impl IntoIterator<Item = &'a PlannedCell>,
    threads: usize,
) -> Cost {
    let costs = cells.into_iter().map(|planned| cell(prepared, planned, threads));
    costs.fold(Cost::default(), Cost::and)
}

/// One cell whose parameters are chosen already, its kernel matrix included.
pub(crate) fn last_fit(prepared: &Prepared, cell: &PlannedCell, threads: usize) -> Cost {
    let Prepared { plan, candidates, .. } = prepared;
    let (row, candidates) = (&plan.datasets[cell.dataset], &candidates[cell.method]);
    if row.unavailable.is_some() {
        return Cost::default();
    }
    let shape = row.shape(&plan.experiment);
    let encoder = images(prepared, cell, shape);
    let all_points = fits(candidates, shape, row.n_test as f64, threads).and(encoder);
    Cost { flops: all_points.flops / candidates.points.len() as f64, ..all_points }
}

/// One cell, its kernel matrix and the choice of its parameters included.
pub(crate) fn cell(prepared: &Prepared, cell: &PlannedCell, threads: usize) -> Cost {
    let Prepared { plan, candidates, .. } = prepared;
    let (row, candidates) = (&plan.datasets[cell.dataset], &candidates[cell.method]);
    let last = last_fit(prepared, cell, threads);
    let is_chosen = candidates.is_tuned() && row.unavailable.is_none();
    let Some(select) = plan.experiment.select.as_ref().filter(|_| is_chosen) else {
        return last;
    };
    let shape = row.shape(&plan.experiment);
    let rounds = if select.on == SelectOn::Training { select.folds } else { 1 };
    let (shape, folds) = (select.shape(shape), select.folds as f64);
    let n = shape.n as f64;
    let inner = fits(candidates, shape, n / folds, threads);
    let repeats = if select.once { 1.0 / row.splits.len().max(1) as f64 } else { 1.0 };
    // A sweep keeps two inverses, see `npsvc::Sweep`.
    let kept = shape.rank.map_or(16.0 * n * n, |_| 0.0);
    last.and(Cost {
        flops: inner.flops * rounds as f64 * repeats,
        bytes: last.bytes + inner.bytes + kept,
    })
}

/// A fit of every point to the same training samples, their kernel matrix included.
fn fits(candidates: &Candidates, shape: Shape, n_test: f64, threads: usize) -> Cost {
    let (n, dims) = (shape.n as f64, shape.dims as f64);
    let columns = shape.rank.map_or(n, |rank| rank as f64);
    // A factor is made in one memory and kept in another.
    let factor = shape.rank.map_or(0.0, |_| n * columns);
    let kernel = match candidates.entry.is_network {
        // The samples and their cast copies.
        true => Cost { flops: 0.0, bytes: 24.0 * dims * (n + n_test) },
        false => Cost {
            flops: columns * (n + n_test) * (2.0 * dims + 20.0) + 2.0 * columns * factor,
            // The kernel matrices, and the samples with their centred and cast copies.
            bytes: (8.0 * columns + 24.0 * dims) * (n + n_test) + 8.0 * factor,
        },
    };
    let points = candidates.points.iter().map(|point| {
        let Cost { flops, bytes } = point.cost(shape, threads);
        // The kernel matrix once more, one added everywhere.
        let has_bias = point.params.get("bias") == Some(&Value::Bool(true));
        let biased = if has_bias { 8.0 * n * columns } else { 0.0 };
        Cost { flops, bytes: bytes + biased }
    });
    let points = points.fold(Cost::default(), Cost::and);
    Cost { flops: kernel.flops + points.flops, bytes: kernel.bytes + points.bytes }
}

/// What the training of an encoder costs, over all points: passes through convolutions, what they keep for
/// the way back, and the pixels. Next to it the layers behind the encoder hardly count.
fn images(prepared: &Prepared, cell: &PlannedCell, shape: Shape) -> Cost {
    /// libtorch's rate in single precision, in the rate of everything else.
    const FASTER: f64 = 12.0;
    let source = prepared.sources[cell.dataset].as_ref().ok();
    let Some(encoder) = source.and_then(|source| source.dataset.encoder.as_ref()) else {
        return Cost::default();
    };
    // Of an image of the usual size: operations of a pass, and bytes that the way back needs.
    let (pass, kept) = match encoder.spec.network {
        Backbone::Resnet18 => (3.6e9, 30e6),
        Backbone::Resnet34 => (7.3e9, 45e6),
        Backbone::Resnet50 => (8.2e9, 115e6),
    };
    let side = f64::from(encoder.spec.size);
    let area = (side / f64::from(EncoderSpec::SIZE)).powi(2);
    let (n, n_test) = (shape.n as f64, prepared.plan.datasets[cell.dataset].n_test as f64);
    let points = prepared.candidates[cell.method].points.iter();
    let trainings = points.filter_map(|point| Some(&point.criterion()?.training));
    let costs = trainings.filter(|training| training.fine_tune > 0).map(|training| {
        let passes = 3.0 * training.fine_tune.min(training.epochs) as f64 * n + n + n_test;
        Cost {
            flops: passes * pass * area / FASTER,
            bytes: training.batch as f64 * kept * area + 3.0 * side * side * (n + n_test),
        }
    });
    costs.fold(Cost::default(), Cost::and)
}
