//! Fits on one part of a dataset, and predictions for another part. Kernel methods and networks alike.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ndarray::{Array2, Axis};
use npsvc::{Certificate, CrossKernel, FitOptions, Iteration, Method, Seed, TrainingSet};
use rayon::prelude::*;

use super::network;
use crate::event::Epochs;
use crate::methods::{Fitter, Point, TraceRow};
use crate::plan::Source;
use crate::spec::{Experiment, Recording};

/// Samples to fit on and samples to predict, as indices into a dataset. A split is a fold, too.
pub(super) struct Fold<'a> {
    pub experiment: &'a Experiment,
    pub source: &'a Source,
    pub train: &'a [usize],
    pub test: &'a [usize],
    pub threads: usize,
    /// Empty until the first kernel method.
    pub kernel: OnceLock<Result<Kernel, String>>,
}

/// The kernel values of a fold, computed when the first kernel method needs them.
pub(super) struct Kernel {
    pub set: TrainingSet,
    pub cross: CrossKernel,
    /// Time of the computation, which no method's time contains.
    pub seconds: f64,
}

impl Fold<'_> {
    pub fn kernel(&self) -> Result<&Kernel, String> {
        let make = || {
            let set = self.source.training_set(self.experiment, self.train, self.threads)?;
            let begun = Instant::now();
            set.prepare();
            let rows = self.source.dataset.x.select(Axis(0), self.test);
            let cross = set.cross(rows.view()).map_err(|error| error.to_string())?;
            Ok(Kernel { set, cross, seconds: begun.elapsed().as_secs_f64() })
        };
        self.kernel.get_or_init(make).as_ref().map_err(String::clone)
    }

    /// Percent of the test samples predicted correctly, over samples and over classes.
    pub fn accuracies(&self, predicted: &[usize]) -> (f64, f64) {
        let dataset = &self.source.dataset;
        let mut of_class = vec![(0_usize, 0_usize); dataset.classes.len()];
        for (&i, &l) in self.test.iter().zip(predicted) {
            let (correct, total) = &mut of_class[dataset.y[i]];
            *correct += usize::from(l == dataset.y[i]);
            *total += 1;
        }
        let percent = |correct: usize, total: usize| 100.0 * correct as f64 / total as f64;
        let correct = of_class.iter().map(|(correct, _)| correct).sum();
        of_class.retain(|(_, total)| *total > 0);
        let sum: f64 = of_class.iter().map(|&(correct, total)| percent(correct, total)).sum();
        (percent(correct, predicted.len().max(1)), sum / of_class.len().max(1) as f64)
    }
}

/// How a point is fitted.
#[cfg_attr(
    not(feature = "deep"),
    expect(dead_code, reason = "only a build that trains networks reads all of it")
)]
pub(super) struct FitContext<'a> {
    pub seed: &'a Seed,
    /// What networks are trained on.
    pub device: &'a str,
    /// Where to keep what a killed training continues from.
    pub checkpoint: Option<PathBuf>,
    pub recordings: &'a [Recording],
    /// Called after every epoch of a network.
    pub on_epoch: &'a dyn Fn(Epochs),
}

/// A fit that succeeded, and its predictions for the test samples.
pub(super) struct Evaluation {
    pub predicted: Vec<usize>,
    pub certificate: Certificate,
    pub trace: Vec<TraceRow>,
    /// The representation of the test samples, if it is recorded and the method has one.
    pub representation: Option<Array2<f64>>,
    pub fit_seconds: f64,
    pub predict_seconds: f64,
}

/// Fits one point on the training samples of a fold and predicts its test samples.
pub(super) fn evaluate(
    point: &Point,
    fold: &Fold<'_>,
    context: FitContext<'_>,
) -> Result<Evaluation, String> {
    match &point.fitter {
        Fitter::Kernel(method, _) => fit_kernel(method.as_ref(), fold, &context),
        Fitter::Network(criterion) => network::fit(criterion, fold, context),
    }
}

fn fit_kernel(
    method: &dyn Method,
    fold: &Fold<'_>,
    context: &FitContext<'_>,
) -> Result<Evaluation, String> {
    let Kernel { set, cross, .. } = fold.kernel()?;
    let (mut accuracies, mut watching) = (Vec::new(), Duration::ZERO);
    let mut watch = |iteration: &Iteration<'_>| {
        let begun = Instant::now();
        let model = iteration.model().ok();
        let predicted = model.and_then(|model| model.predict_from(cross).ok());
        accuracies.push(predicted.map(|predicted| fold.accuracies(&predicted).0));
        watching += begun.elapsed();
    };
    let mut options = FitOptions::seeded(context.seed.clone());
    if context.recordings.contains(&Recording::Evolution) {
        options.on_iteration = Some(&mut watch);
    }
    let begun = Instant::now();
    let model = method.fit(set, options).map_err(|error| fold.source.explain(&error))?;
    let fit_seconds = begun.elapsed().saturating_sub(watching).as_secs_f64();
    let begun = Instant::now();
    let predicted = model.predict_from(cross).map_err(|error| error.to_string())?;
    let predict_seconds = begun.elapsed().as_secs_f64();
    let mut trace: Vec<TraceRow> = model.trace().iter().map(TraceRow::from).collect();
    for (row, accuracy) in trace.iter_mut().zip(accuracies) {
        row.accuracy = accuracy;
    }
    let representation = match context.recordings.contains(&Recording::Embedding) {
        true => model.transform_from(cross).map_err(|error| error.to_string())?,
        false => None,
    };
    let certificate = model.certificate();
    Ok(Evaluation { predicted, certificate, trace, representation, fit_seconds, predict_seconds })
}

/// Training samples up to which networks are trained in parallel.
const SMALL: usize = 2000;

/// Fits several points of one method on a fold and predicts its test samples with each. Kernel methods share
/// intermediate results.
pub(super) fn predict_all(
    points: &[&Point],
    fold: &Fold<'_>,
    seed: &Seed,
    device: &str,
) -> Vec<Result<Vec<usize>, String>> {
    let methods: Option<Vec<&dyn Method>> =
        points.iter().map(|point| point.kernel_method()).collect();
    if let Some(methods) = methods {
        let Kernel { set, cross, .. } = match fold.kernel() {
            Ok(kernel) => kernel,
            Err(error) => return vec![Err(error); points.len()],
        };
        return set.sweep().run(&methods, seed, |_, model| {
            let model = model.map_err(|error| fold.source.explain(&error))?;
            model.predict_from(cross).map_err(|error| error.to_string())
        });
    }
    let predict = |point: &&Point| {
        let context =
            FitContext { seed, device, checkpoint: None, recordings: &[], on_epoch: &|_| () };
        Ok(evaluate(point, fold, context)?.predicted)
    };
    match fold.train.len() <= SMALL && (2..=points.len()).contains(&fold.threads) {
        // Trainings differ in length: a free thread takes the next one.
        true => points.par_iter().with_max_len(1).map(predict).collect(),
        false => points.iter().map(predict).collect(),
    }
}
