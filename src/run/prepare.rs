//! From a validated spec to a plan: data loaded and split, parameters checked against their shapes.
//!
//! Everything that can be wrong is found here, before the first fit.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::data::{DataError, Dataset, Split, Store, load_files, split};
use crate::ledger::{Plan, PlannedCell, PlannedDataset, PlannedMethod};
use crate::model::registry::{self, Configured, Entry};
use crate::model::{FitError, Shape};
use crate::seed::Seed;
use crate::spec::{DatasetSpec, Experiment, Loaded, MethodSpec, Problem, SelectOn, SpecError};

/// A plan and what is needed to carry it out.
pub struct Prepared {
    pub plan: Plan,
    /// One per dataset of the plan; `None` where the data is not to be had.
    pub sources: Vec<Option<Source>>,
    /// One per method of the plan.
    pub candidates: Vec<Candidates>,
    pub seed: Seed,
}

/// Loaded data and its splits.
pub struct Source {
    pub dataset: Arc<Dataset>,
    pub splits: Vec<Split>,
}

impl Source {
    /// Why a fit failed, with the class called what the data calls it.
    pub(super) fn explain(&self, error: &FitError) -> String {
        match error {
            FitError::EmptyClass { class } => format!(
                "class `{}` has no training sample in this split",
                self.dataset.classes[*class]
            ),
            other => other.to_string(),
        }
    }
}

/// A method entry of the spec: one parameter point, or several to choose from.
pub struct Candidates {
    pub entry: &'static dyn Entry,
    pub points: Vec<Box<dyn Configured>>,
}

/// Why a spec cannot be carried out.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum PrepareError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Data(#[from] DataError),
}

/// Loads data and makes the plan. `on_dataset` is told each dataset's name before it is loaded.
pub fn prepare(
    loaded: &Loaded,
    store: &Store,
    mut on_dataset: impl FnMut(&str),
) -> Result<Prepared, PrepareError> {
    let experiment = &loaded.experiment;
    let seed = Seed::root(experiment.seed);
    let candidates = configure(loaded)?;
    let mut sources = Vec::new();
    let mut datasets = Vec::new();
    for spec in &experiment.datasets {
        on_dataset(&spec.name());
        let (source, planned) = match load(spec, store, &seed) {
            Ok(dataset) => found(dataset, experiment, &seed)?,
            Err(error) if error.is_unavailable() => (None, missing(spec, experiment, &error)),
            Err(error) => return Err(error.into()),
        };
        sources.push(source);
        datasets.push(planned);
    }
    check_shapes(loaded, &candidates, &datasets)?;
    let methods = planned_methods(experiment, &candidates);
    let cells = cells(experiment, &datasets, &candidates);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let plan = Plan {
        version,
        experiment: experiment.clone(),
        datasets,
        methods,
        cells,
    };
    Ok(Prepared {
        plan,
        sources,
        candidates,
        seed,
    })
}

fn configure(loaded: &Loaded) -> Result<Vec<Candidates>, SpecError> {
    let mut problems = Vec::new();
    let mut candidates = Vec::new();
    for (index, spec) in loaded.experiment.methods.iter().enumerate() {
        match configure_one(spec) {
            Ok(found) => candidates.push(found),
            Err(message) => {
                problems.push(loaded.source.problem(
                    &["methods", &index.to_string()],
                    message,
                    None,
                ));
            }
        }
    }
    if problems.is_empty() {
        Ok(candidates)
    } else {
        Err(SpecError::new(problems))
    }
}

fn configure_one(spec: &MethodSpec) -> Result<Candidates, String> {
    let entry = registry::find(&spec.method)
        .ok_or_else(|| format!("there is no method `{}`", spec.method))?;
    let points = (0..spec.points())
        .map(|index| entry.configure(&Value::Object(spec.point(index))))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    Ok(Candidates { entry, points })
}

fn load(spec: &DatasetSpec, store: &Store, seed: &Seed) -> Result<Dataset, DataError> {
    let (dataset, size) = match spec {
        DatasetSpec::Registered { name, options } => (store.load(name)?, options.subsample),
        DatasetSpec::Files(files) => (load_files(files, Path::new("."))?, files.subsample),
    };
    match size {
        Some(size) if size < dataset.y.len() => split::subsample(&dataset, size, seed),
        _ => Ok(dataset),
    }
}

fn found(
    dataset: Dataset,
    experiment: &Experiment,
    seed: &Seed,
) -> Result<(Option<Source>, PlannedDataset), DataError> {
    let splits = split::splits(&dataset, &experiment.splits, seed)?;
    let first = splits.first();
    let planned = PlannedDataset {
        name: dataset.name.clone(),
        unavailable: None,
        hash: dataset.hash.clone(),
        samples: dataset.x.nrows(),
        dims: dataset.x.ncols(),
        classes: dataset.classes.clone(),
        class_counts: dataset.class_counts(),
        n_train: first.map_or(0, |split| split.train.len()),
        n_test: first.map_or(0, |split| split.test.len()),
        splits: splits.iter().map(|split| split.hash.clone()).collect(),
        notes: dataset.notes.clone(),
    };
    Ok((
        Some(Source {
            dataset: Arc::new(dataset),
            splits,
        }),
        planned,
    ))
}

/// Cells of a dataset that is not there are planned all the same, so that they show as skipped.
fn missing(spec: &DatasetSpec, experiment: &Experiment, error: &DataError) -> PlannedDataset {
    let splits = (0..experiment.splits.repeats)
        .map(|split| format!("split {split}"))
        .collect();
    PlannedDataset {
        name: spec.name().into_owned(),
        unavailable: Some(error.to_string()),
        hash: String::new(),
        samples: 0,
        dims: 0,
        classes: Vec::new(),
        class_counts: Vec::new(),
        n_train: 0,
        n_test: 0,
        splits,
        notes: Vec::new(),
    }
}

impl PlannedDataset {
    /// Shape of a training set.
    pub fn shape(&self) -> Shape {
        Shape {
            n: self.n_train,
            dims: self.dims,
            classes: self.classes.len(),
        }
    }
}

/// Parameters that a dataset is too small for, all of them at once.
fn check_shapes(
    loaded: &Loaded,
    candidates: &[Candidates],
    datasets: &[PlannedDataset],
) -> Result<(), SpecError> {
    let mut problems: Vec<Problem> = Vec::new();
    for dataset in datasets
        .iter()
        .filter(|dataset| dataset.unavailable.is_none())
    {
        for (index, method) in candidates.iter().enumerate() {
            let refused = method.points.iter().find_map(|point| {
                point
                    .check_shape(smallest_fit(&loaded.experiment, method, dataset))
                    .err()
            });
            if let Some(bad) = refused {
                let path = ["methods", &index.to_string(), bad.parameter];
                let message = format!("{bad} of dataset `{}`", dataset.name);
                problems.push(loaded.source.problem(&path, message, None));
            }
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(SpecError::new(problems))
    }
}

/// The smallest training set a method meets: a fold's, where parameters are chosen.
fn smallest_fit(experiment: &Experiment, method: &Candidates, dataset: &PlannedDataset) -> Shape {
    let shape = dataset.shape();
    match &experiment.select {
        Some(select) if method.points.len() > 1 && select.on == SelectOn::Training => {
            let n = select.subsample.map_or(shape.n, |size| size.min(shape.n));
            Shape {
                n: n - n.div_ceil(select.folds),
                ..shape
            }
        }
        _ => shape,
    }
}

fn planned_methods(experiment: &Experiment, candidates: &[Candidates]) -> Vec<PlannedMethod> {
    experiment
        .methods
        .iter()
        .zip(candidates)
        .map(|(spec, candidates)| PlannedMethod {
            method: spec.method.clone(),
            label: spec
                .label
                .clone()
                .unwrap_or_else(|| candidates.entry.title().to_owned()),
            scheme: candidates.scheme(),
            points: candidates.points.len(),
        })
        .collect()
}

impl Candidates {
    /// The scheme, where all points agree on one.
    fn scheme(&self) -> Option<String> {
        let first = self.points.first()?.scheme()?;
        let agree = self
            .points
            .iter()
            .all(|point| point.scheme() == Some(first));
        agree.then(|| first.name().to_owned())
    }
}

fn cells(
    experiment: &Experiment,
    datasets: &[PlannedDataset],
    candidates: &[Candidates],
) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for (dataset, planned) in datasets.iter().enumerate() {
        for (split, split_hash) in planned.splits.iter().enumerate() {
            for (method, candidate) in candidates.iter().enumerate() {
                let cell = identity(experiment, planned, split, split_hash, candidate);
                cells.push(PlannedCell {
                    cell,
                    dataset,
                    method,
                    split,
                });
            }
        }
    }
    cells
}

/// A cell's identity: everything its numbers depend on, and nothing else.
fn identity(
    experiment: &Experiment,
    dataset: &PlannedDataset,
    split: usize,
    split_hash: &str,
    candidates: &Candidates,
) -> String {
    let is_tuned = candidates.points.len() > 1;
    let points: Vec<Value> = candidates
        .points
        .iter()
        .map(|point| point.params())
        .collect();
    let text = json!({
        "dataset": dataset.name,
        "data": dataset.hash,
        "split": split,
        "samples": split_hash,
        "seed": experiment.seed,
        "kernel": experiment.kernel,
        "jitter": experiment.jitter,
        "method": candidates.entry.name(),
        "version": candidates.entry.version(),
        "points": points,
        "select": is_tuned.then_some(&experiment.select),
    });
    let digest = Sha256::digest(text.to_string().as_bytes());
    digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
