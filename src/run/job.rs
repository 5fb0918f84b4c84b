//! A job: the open cells of one split, one after the other. It runs in this process or in a child process.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use npsvc::Seed;
use npsvc::kernel::PivotedFactor;
use serde::{Deserialize, Serialize};

use super::evaluate::{FitContext, Fold, evaluate};
use super::{embedding, host, select};
use crate::error::Error;
use crate::event::Epochs;
use crate::ledger::{self, Embedding, Plan, PlannedCell, Record, Selection, Status};
use crate::plan::Prepared;
use crate::spec::{Recording, SelectOn};
use crate::{memory, wording};

/// With more samples, no factor of a full kernel matrix is made for its smallest pivot alone.
const MOST_FACTORED: usize = 4000;

/// The open cells of one split of a dataset, which share a kernel matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Job {
    pub dataset: usize,
    pub cells: Vec<PlannedCell>,
    /// Parameters that were chosen once for the dataset, by method.
    pub chosen: BTreeMap<usize, Selection>,
    /// Estimated peak memory.
    pub bytes: f64,
}

/// What the cells of a process have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunContext {
    pub threads: usize,
    /// What networks are trained on: `cpu` or `cuda:N`.
    pub device: String,
    /// Folder that holds the networks under training.
    pub checkpoints: PathBuf,
    /// Whether no other job runs in this process, so that its peak memory is that of a cell.
    pub is_alone: bool,
}

/// What happens to a cell of a job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum JobEvent {
    /// The data is loaded and the cell begins. A timeout counts from now.
    Started,
    /// The network under training ended an epoch.
    Epoch(Epochs),
    /// The cell ended, well or not.
    Done { record: Box<Record>, files: Files },
    /// The process that ran the cell is gone, so nothing was computed. The record says why.
    Lost(Box<Record>),
}

/// The files of a cell next to its record: paths in the results folder with their contents.
pub(super) type Files = Vec<(PathBuf, String)>;

/// Why a job does not continue.
pub(super) enum Stop {
    /// The user interrupted the run, or a cell failed under `--fail-fast`.
    Asked,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Receives the events of a job.
pub(super) type Emit<'a> = &'a (dyn Fn(&PlannedCell, JobEvent) -> Result<(), Stop> + Sync);

/// Runs the cells of a job in this process.
pub(super) fn run_job(
    prepared: &Prepared,
    job: &Job,
    context: &RunContext,
    emit: Emit<'_>,
) -> Result<(), Stop> {
    let Some(first) = job.cells.first() else {
        return Ok(());
    };
    let Ok(source) = &prepared.sources[first.dataset] else {
        return Ok(());
    };
    let split = &source.splits[first.split];
    let fold = Fold {
        experiment: &prepared.plan.experiment,
        source,
        train: &split.train,
        test: &split.test,
        threads: context.threads,
        kernel: OnceLock::new(),
    };
    let mut chosen = job.chosen.clone();
    for cell in &job.cells {
        emit(cell, JobEvent::Started)?;
        let is_measured = context.is_alone && memory::reset_peak();
        let mut record = blank(prepared, cell, context);
        let runner = Runner { prepared, cell, fold: &fold, context };
        // A panic inside a method fails the cell, not the run.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            runner.run(&mut record, &mut chosen, &|epochs| {
                // A job that should stop does so at the end of the cell, at the latest.
                let _ = emit(cell, JobEvent::Epoch(epochs));
            })
        }))
        .unwrap_or_else(|panic| {
            Err(format!("the method panicked: {}", wording::panic_text(&*panic)))
        });
        let files = outcome.unwrap_or_else(|reason| {
            record.error = Some(reason);
            Vec::new()
        });
        let peak = memory::peak().filter(|_| is_measured);
        record.peak_mb = peak.map(|bytes| bytes as f64 / f64::from(1 << 20));
        emit(cell, JobEvent::Done { record: Box::new(record), files })?;
    }
    Ok(())
}

/// A cell and what it is computed from.
struct Runner<'a> {
    prepared: &'a Prepared,
    cell: &'a PlannedCell,
    fold: &'a Fold<'a>,
    context: &'a RunContext,
}

impl Runner<'_> {
    /// Chooses parameters if there is a choice, fits, predicts and scores. Gives the files next to the record.
    fn run(
        &self,
        record: &mut Record,
        chosen: &mut BTreeMap<usize, Selection>,
        on_epoch: &dyn Fn(Epochs),
    ) -> Result<Files, String> {
        let Self { prepared, cell, fold, context } = *self;
        self.choose(record, chosen)?;
        let point = record.selection.as_ref().map_or(0, |selection| selection.chosen);
        let points = &prepared.candidates[cell.method].points;
        let point = points.get(point).ok_or("the choice on record is not in the grid")?;
        record.params = point.params.clone();
        if point.criterion().is_none() {
            let kernel = fold.kernel()?;
            record.kernel_seconds = Some(kernel.seconds);
            let factor = kernel.set.factor();
            record.factor_rank = factor.map(PivotedFactor::rank);
            record.factor_error = factor.map(PivotedFactor::error);
            let is_cheap = factor.is_some() || kernel.set.shape().n <= MOST_FACTORED;
            record.smallest_pivot = is_cheap.then(|| kernel.set.smallest_pivot());
        }
        // Only the first split is recorded.
        let wanted = &prepared.plan.experiment.record;
        let recordings: &[Recording] = if cell.split == 0 { wanted } else { &[] };
        let checkpoint = Some(context.checkpoints.join(format!("{}.safetensors", cell.cell)));
        let (seed, device) = (&fit_seed(prepared, cell), &context.device);
        let how = FitContext { seed, device, checkpoint, recordings, on_epoch };
        let evaluation = evaluate(point, fold, how)?;
        let (accuracy, balanced_accuracy) = fold.accuracies(&evaluation.predicted);
        record.accuracy = Some(accuracy);
        record.balanced_accuracy = Some(balanced_accuracy);
        record.fit_seconds = Some(evaluation.fit_seconds);
        record.predict_seconds = Some(evaluation.predict_seconds);
        record.certificate = Some(evaluation.certificate.into());
        let mut files = Vec::new();
        if !evaluation.trace.is_empty() {
            let line = |row| serde_json::to_string(row).expect("a row is numbers") + "\n";
            let text = evaluation.trace.iter().map(line).collect();
            files.push((ledger::trace_path(Path::new(""), &cell.cell), text));
        }
        let seed = self::seed(prepared, cell, "embedding", cell.split).child("t-sne");
        let map = evaluation.representation.and_then(|z| embedding::embedding(fold, &z, &seed));
        if let Some(map) = map {
            let text = serde_json::to_string(&map).expect("a map is numbers");
            files.push((Embedding::path(Path::new(""), &cell.cell), text));
        }
        record.status = Status::Ok;
        Ok(files)
    }

    /// Chooses among the points of the method, unless there is only one, or another cell made the choice.
    fn choose(
        &self,
        record: &mut Record,
        chosen: &mut BTreeMap<usize, Selection>,
    ) -> Result<(), String> {
        let Self { prepared, cell, fold, context } = *self;
        let experiment = &prepared.plan.experiment;
        let candidates = &prepared.candidates[cell.method];
        record.select_seconds = Some(0.0);
        let Some(settings) = experiment.select.as_ref().filter(|_| candidates.is_tuned()) else {
            return Ok(());
        };
        record.selection = chosen.get(&cell.method).cloned();
        if record.selection.is_some() {
            return Ok(());
        }
        let split = if settings.once { 0 } else { cell.split };
        let purpose = match settings.on {
            // What is scored on test samples has the seed of the fit that comes last. That one shares no intermediate
            // results with other points, so it may end elsewhere within its tolerance.
            SelectOn::Test => "fit",
            SelectOn::Training | SelectOn::Validation => "select",
        };
        let seed = seed(prepared, cell, purpose, split).child(candidates.entry.info.name);
        let begun = Instant::now();
        let found = select::select(settings, candidates, fold, split, &seed, &context.device);
        record.select_seconds = Some(begun.elapsed().as_secs_f64());
        record.selection = Some(found?);
        chosen.extend(record.selection.clone().map(|found| (cell.method, found)));
        Ok(())
    }
}

/// The seed of a purpose on a split.
fn seed(prepared: &Prepared, cell: &PlannedCell, purpose: &str, split: usize) -> Seed {
    let Plan { experiment, datasets, .. } = &prepared.plan;
    let seed = Seed::root(experiment.seed).child(purpose);
    seed.child(&datasets[cell.dataset].name).child(split.to_string())
}

/// The seed of a cell's last fit. All entries of a method have the same one.
fn fit_seed(prepared: &Prepared, cell: &PlannedCell) -> Seed {
    let method = prepared.candidates[cell.method].entry.info.name;
    let seed = seed(prepared, cell, "fit", cell.split).child(method);
    match cell.training_seed {
        0 => seed,
        number => seed.child("training").child(number.to_string()),
    }
}

/// The record of a cell that begins now.
pub(super) fn blank(prepared: &Prepared, cell: &PlannedCell, context: &RunContext) -> Record {
    let dataset = &prepared.plan.datasets[cell.dataset];
    let method = &prepared.plan.methods[cell.method];
    let candidates = &prepared.candidates[cell.method];
    let is_network = candidates.entry.is_network;
    let source = prepared.sources[cell.dataset].as_ref().ok();
    let split = source.map(|source| &source.splits[cell.split]);
    let encoder = source.and_then(|source| source.dataset.encoder.as_ref());
    Record {
        cell: cell.cell.clone(),
        experiment: prepared.plan.experiment.name.clone(),
        dataset: dataset.name.clone(),
        method: method.method.clone(),
        label: method.label.clone(),
        scheme: method.scheme.clone(),
        split: cell.split,
        training_seed: is_network.then_some(cell.training_seed),
        seed: fit_seed(prepared, cell).number(),
        n_train: split.map_or(dataset.n_train, |split| split.train.len()),
        n_test: split.map_or(dataset.n_test, |split| split.test.len()),
        dims: dataset.dims,
        classes: dataset.classes.len(),
        params: candidates.settled(),
        started: timestamp(SystemTime::now()),
        host: host::pseudonym(),
        threads: context.threads,
        device: if is_network { context.device.clone() } else { "cpu".to_owned() },
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: host::commit(),
        split_hash: split.map(|split| split.hash.clone()),
        data_hash: source.map(|source| source.dataset.hash.clone()),
        weights_hash: encoder.map(|encoder| encoder.weights_hash.clone()),
        ..Record::default()
    }
}

/// A time as records have it.
pub(super) fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}
