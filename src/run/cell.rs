//! One cell: choose parameters if there is a choice, fit, predict, score, and record it all.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use ndarray::Axis;
use npsvc::{Certificate, Cross, FitOptions, Iteration, Seed, TrainingSet};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::beside::{self, Beside};
use super::network::{Answers, Task};
use super::select::{self, Means};
use super::{Prepared, Source};
use crate::event::Epochs;
use crate::ledger::{PlannedCell, Record, Selection, Status};
use crate::methods::criteria::Criterion;
use crate::methods::{Point, TraceRow};
use crate::spec::{Recording, SelectOn};
use crate::wording::panic_text;

/// What every record of a run has in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Circumstances {
    pub host: String,
    pub threads: usize,
    pub version: String,
    pub git: Option<String>,
    /// What networks are trained on: `cpu` or `cuda:N`.
    pub device: String,
    /// Where networks under training are kept until their cells are recorded.
    pub checkpoints: Option<PathBuf>,
}

/// A split's training and test side, shared by the cells of all methods on it.
pub struct Bench<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) source: &'a Source,
    dataset: usize,
    pub(super) split: usize,
    threads: usize,
    /// Only methods with a kernel need it.
    set: OnceLock<Result<TrainingSet, String>>,
    cross: OnceLock<Result<Cross, String>>,
    kernel_seconds: OnceLock<f64>,
}

/// Choices made once per dataset, so that its other splits need not repeat them.
pub type Choices = Mutex<HashMap<(usize, usize), Arc<OnceLock<Result<Selection, String>>>>>;

/// The outcome of a fit that succeeded.
struct Scored {
    configured_params: Value,
    certificate: Certificate,
    accuracy: f64,
    balanced_accuracy: f64,
    fit_seconds: f64,
    predict_seconds: f64,
    beside: Beside,
}

impl<'a> Bench<'a> {
    pub fn new(
        prepared: &'a Prepared,
        source: &'a Source,
        dataset: usize,
        split: usize,
        threads: usize,
    ) -> Self {
        Self {
            prepared,
            source,
            dataset,
            split,
            threads,
            set: OnceLock::new(),
            cross: OnceLock::new(),
            kernel_seconds: OnceLock::new(),
        }
    }

    fn set(&self) -> Result<&TrainingSet, String> {
        let train = &self.source.splits[self.split].train;
        let experiment = &self.prepared.plan.experiment;
        let make = || self.source.training_set(experiment, train, self.threads);
        self.set.get_or_init(make).as_ref().map_err(String::clone)
    }

    /// Runs one cell to its record; a panic inside a method fails the cell, not the run.
    pub fn run(
        &self,
        cell: &PlannedCell,
        circumstances: &Circumstances,
        choices: &Choices,
        on_epoch: &dyn Fn(Epochs),
    ) -> (Record, Beside) {
        let started = SystemTime::now();
        let mut selection = None;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let candidates = &self.prepared.candidates[cell.method];
            let point = self.choose(cell, circumstances, choices, &mut selection)?;
            match point.criterion() {
                None => self.score(point, candidates.entry.info.name),
                Some(criterion) => self.train(point, criterion, cell, circumstances, on_epoch),
            }
        }))
        .unwrap_or_else(|panic| Err(format!("the method panicked: {}", panic_text(&*panic))));
        let mut record = self.blank(cell, circumstances, started);
        let points = &self.prepared.candidates[cell.method].points;
        let chosen = selection.as_ref().and_then(|found| points.get(found.chosen));
        let chosen = chosen.map(|point| point.params.clone());
        record.selection = selection;
        let mut beside = Beside::default();
        match outcome {
            Ok(scored) => {
                record.status = Status::Ok;
                record.params = scored.configured_params;
                record.accuracy = Some(scored.accuracy);
                record.balanced_accuracy = Some(scored.balanced_accuracy);
                record.fit_seconds = Some(scored.fit_seconds);
                record.predict_seconds = Some(scored.predict_seconds);
                record.certificate = Some(scored.certificate.into());
                beside = scored.beside;
            }
            Err(reason) => {
                record.error = Some(reason);
                if let Some(chosen) = chosen {
                    record.params = chosen;
                }
            }
        }
        let is_network = self.prepared.candidates[cell.method].entry.is_network;
        if is_network {
            record.device.clone_from(&circumstances.device);
        } else if let Some(seconds) = self.kernel_seconds.get() {
            record.kernel_seconds = Some(*seconds);
            if let Some(factor) = self.set().ok().and_then(|set| set.factor()) {
                record.factor_rank = Some(factor.rank);
                record.factor_error = Some(factor.error);
            }
        }
        (record, beside)
    }

    /// The parameter point to use, and the selection that led to it.
    fn choose(
        &self,
        cell: &PlannedCell,
        circumstances: &Circumstances,
        choices: &Choices,
        selection: &mut Option<Selection>,
    ) -> Result<&Point, String> {
        let candidates = &self.prepared.candidates[cell.method];
        let settings = match &self.prepared.plan.experiment.select {
            Some(settings) if candidates.points.len() > 1 => settings,
            _ => return Ok(&candidates.points[0]),
        };
        let split = if settings.once { 0 } else { self.split };
        let compute = || {
            let purpose = match settings.on {
                SelectOn::Test => "fit",
                SelectOn::Training | SelectOn::Validation => "select",
            };
            let seed = self.seed(purpose, split, candidates.entry.info.name);
            let experiment = &self.prepared.plan.experiment;
            select::select(
                experiment,
                settings,
                self.source,
                split,
                candidates,
                &seed,
                Means { threads: self.threads, device: &circumstances.device },
            )
        };
        let found = if self.prepared.plan.experiment.chooses_once() {
            let slot = {
                let mut choices = choices.lock().unwrap_or_else(|poison| poison.into_inner());
                choices.entry((self.dataset, cell.method)).or_default().clone()
            };
            slot.get_or_init(compute).clone()
        } else {
            compute()
        }?;
        let chosen = found.chosen;
        *selection = Some(found);
        let point =
            candidates.points.get(chosen).ok_or("the choice on record is not in the grid")?;
        Ok(point)
    }

    fn score(&self, point: &Point, name: &str) -> Result<Scored, String> {
        let method = point.kernel_method().ok_or("a network has no kernel")?;
        let (set, cross) = self.prepare_kernel()?;
        let (mut accuracies, mut watching) = (Vec::new(), Duration::ZERO);
        let mut watch = |iteration: &Iteration<'_>| {
            let begun = Instant::now();
            let model = iteration.model().ok();
            let predicted = model.and_then(|model| model.predict_from(cross).ok());
            accuracies.push(predicted.map(|predicted| self.accuracies(&predicted).0));
            watching += begun.elapsed();
        };
        let record = &self.prepared.plan.experiment.record;
        let is_watched = self.split == 0 && record.contains(&Recording::Evolution);
        let mut options = FitOptions::seeded(self.seed("fit", self.split, name));
        let begun = Instant::now();
        if is_watched {
            options.on_iteration = Some(&mut watch);
        }
        let model = method.fit(set, options).map_err(|error| self.source.explain(&error))?;
        let fit_seconds = begun.elapsed().saturating_sub(watching).as_secs_f64();
        let begun = Instant::now();
        let predicted = model.predict_from(cross).map_err(|error| error.to_string())?;
        let predict_seconds = begun.elapsed().as_secs_f64();
        let (accuracy, balanced_accuracy) = self.accuracies(&predicted);
        let mut trace: Vec<TraceRow> = model.trace().iter().map(TraceRow::from).collect();
        for (row, accuracy) in trace.iter_mut().zip(accuracies) {
            row.accuracy = accuracy;
        }
        let mut embedding = None;
        if beside::wants_embedding(self) {
            let z = model.transform_from(cross).map_err(|error| error.to_string())?;
            embedding = z.and_then(|z| beside::embedding(self, &z));
        }
        Ok(Scored {
            configured_params: point.params.clone(),
            certificate: model.certificate(),
            accuracy,
            balanced_accuracy,
            fit_seconds,
            predict_seconds,
            beside: Beside { trace, embedding },
        })
    }

    fn train(
        &self,
        point: &Point,
        criterion: &Criterion,
        cell: &PlannedCell,
        circumstances: &Circumstances,
        on_epoch: &dyn Fn(Epochs),
    ) -> Result<Scored, String> {
        let split = &self.source.splits[self.split];
        let record = &self.prepared.plan.experiment.record;
        let folder = circumstances.checkpoints.as_ref();
        let task = Task {
            source: self.source,
            criterion,
            train: &split.train,
            test: &split.test,
            seed: &self.fit_seed(cell),
            device: &circumstances.device,
            checkpoint: folder.map(|folder| folder.join(format!("{}.safetensors", cell.cell))),
            has_monitor: self.split == 0 && record.contains(&Recording::Evolution),
            has_representation: beside::wants_embedding(self),
            on_epoch,
        };
        let Answers { certificate, trace, predicted, predict_seconds, representation } =
            task.run()?;
        let (accuracy, balanced_accuracy) = self.accuracies(&predicted);
        Ok(Scored {
            configured_params: point.params.clone(),
            certificate,
            accuracy,
            balanced_accuracy,
            // Of the epochs, whichever run they were made in, and without what was monitored.
            fit_seconds: trace.iter().filter_map(|row| row.seconds).sum(),
            predict_seconds,
            beside: Beside {
                embedding: representation.and_then(|z| beside::embedding(self, &z)),
                trace,
            },
        })
    }

    /// Both kernel matrices, so that no method's time contains them.
    fn prepare_kernel(&self) -> Result<(&TrainingSet, &Cross), String> {
        let set = self.set()?;
        let begun = Instant::now();
        let cross = self.cross.get_or_init(|| {
            set.prepare();
            let test = &self.source.splits[self.split].test;
            let rows = self.source.dataset.x.select(Axis(0), test);
            set.cross(rows.view()).map_err(|error| error.to_string())
        });
        self.kernel_seconds.get_or_init(|| begun.elapsed().as_secs_f64());
        Ok((set, cross.as_ref().map_err(String::clone)?))
    }

    /// Percent correct, over samples and over classes.
    pub(super) fn accuracies(&self, predicted: &[usize]) -> (f64, f64) {
        let dataset = &self.source.dataset;
        let mut of_class = vec![(0_usize, 0_usize); dataset.classes.len()];
        for (&i, &l) in self.source.splits[self.split].test.iter().zip(predicted) {
            let (correct, total) = &mut of_class[dataset.y[i]];
            *correct += usize::from(l == dataset.y[i]);
            *total += 1;
        }
        let percent = |correct: usize, total: usize| 100.0 * correct as f64 / total as f64;
        let correct = of_class.iter().map(|(correct, _)| correct).sum();
        let present: Vec<f64> = of_class
            .iter()
            .filter(|(_, total)| *total > 0)
            .map(|&(correct, total)| percent(correct, total))
            .collect();
        let balanced = present.iter().sum::<f64>() / present.len().max(1) as f64;
        (percent(correct, predicted.len().max(1)), balanced)
    }

    /// The seed of a purpose on a split; the same for every entry of a method.
    pub(super) fn seed(&self, purpose: &str, split: usize, method: &str) -> Seed {
        let name = &self.source.dataset.name;
        self.prepared.seed.child(purpose).child(name).child(split.to_string()).child(method)
    }

    /// The seed of a cell's last fit.
    fn fit_seed(&self, cell: &PlannedCell) -> Seed {
        let method = self.prepared.candidates[cell.method].entry.info.name;
        let seed = self.seed("fit", self.split, method);
        match cell.training_seed {
            0 => seed,
            number => seed.child("training").child(number.to_string()),
        }
    }

    fn blank(
        &self,
        cell: &PlannedCell,
        circumstances: &Circumstances,
        started: SystemTime,
    ) -> Record {
        let split = &self.source.splits[self.split];
        let mut record = blank(self.prepared, cell, circumstances, started);
        record.n_train = split.train.len();
        record.n_test = split.test.len();
        record.seed = self.fit_seed(cell).number();
        record.split_hash = Some(split.hash.clone());
        record.data_hash = Some(self.source.dataset.hash.clone());
        let encoder = self.source.dataset.encoder.as_ref();
        record.weights_hash = encoder.map(|encoder| encoder.weights_hash.clone());
        record
    }
}

/// A record of a cell that has not been fitted (yet).
pub fn blank(
    prepared: &Prepared,
    cell: &PlannedCell,
    circumstances: &Circumstances,
    started: SystemTime,
) -> Record {
    let dataset = &prepared.plan.datasets[cell.dataset];
    let method = &prepared.plan.methods[cell.method];
    let is_network = prepared.candidates[cell.method].entry.is_network;
    Record {
        cell: cell.cell.clone(),
        experiment: prepared.plan.experiment.name.clone(),
        dataset: dataset.name.clone(),
        method: method.method.clone(),
        label: method.label.clone(),
        scheme: method.scheme.clone(),
        split: cell.split,
        training_seed: is_network.then_some(cell.training_seed),
        n_train: dataset.n_train,
        n_test: dataset.n_test,
        dims: dataset.dims,
        classes: dataset.classes.len(),
        params: prepared.candidates[cell.method].settled(),
        started: humantime::format_rfc3339_seconds(started).to_string(),
        host: circumstances.host.clone(),
        threads: circumstances.threads,
        device: "cpu".into(),
        version: circumstances.version.clone(),
        git: circumstances.git.clone(),
        ..Record::default()
    }
}
