//! From a validated spec to a plan: data loaded and split, parameters checked against their shapes.
//!
//! Everything that can be wrong is found here, before the first fit.

mod changes;
pub(crate) mod cost;
mod file;
mod filter;
mod former;
mod identity;
mod shard;

pub(crate) use changes::causes;
pub use cost::{Estimate, estimate, size};
pub use file::{Plan, PlannedCell, PlannedDataset, PlannedMethod, Remembered};
pub use filter::Filter;
pub use former::Former;
pub use identity::planned_cells;
pub(crate) use shard::shard_numbers;
pub use shard::{Part, Shard, group_count};

use std::collections::BTreeMap;
use std::sync::Arc;

use miette::Diagnostic;
use ndarray::{Array2, Axis};
use npsvc::{FitError, Kernel, Shape, TrainingSet};

use crate::data::{DataError, Dataset, Encoder, Images, Progress, Split, Store, split};
use crate::event::{Event, Events};
#[cfg(not(feature = "deep"))]
use crate::methods::criteria::NEEDS_DEEP;
#[cfg(feature = "deep")]
use crate::networks;
use crate::spec::{
    Candidates, DatasetSpec, EncoderSpec, Experiment, Problem, SelectOn, Spec, SpecError,
};
use former::unknown_split;
use identity::{all_settings, cells, row_cells};
use npsvc::Seed;

/// Rows that still show the former data of a dataset that changed, by their place in the plan.
pub(crate) type Kept = BTreeMap<usize, PlannedDataset>;

/// A plan and what is needed to carry it out.
pub struct Prepared {
    pub plan: Plan,
    /// One per dataset of the plan; `None` if the data is not on this machine or cannot be used.
    pub sources: Vec<Option<Source>>,
    /// One per method of the plan.
    pub candidates: Arc<[Candidates]>,
    /// Datasets that are not on this machine, or whose images cannot be encoded, and why, with the folders. The
    /// plan holds the same without the folders, because it ends in published tables.
    pub missing: Vec<(String, DataError)>,
    /// Datasets whose data is not the one the results folder was computed from, with the folder's row.
    pub changed: Vec<(usize, PlannedDataset)>,
    pub seed: Seed,
    /// The text of the spec, for the results folder.
    pub spec: String,
}

impl Prepared {
    /// Why the cells of `dataset` cannot run, for the terminal.
    pub fn reason(&self, dataset: &str) -> Option<&DataError> {
        let mut missing = self.missing.iter();
        missing.find_map(|(name, error)| (name == dataset).then_some(error))
    }
}

/// Loaded data and its splits.
pub struct Source {
    pub dataset: Arc<Dataset>,
    pub splits: Vec<Split>,
}

impl Source {
    /// Why a fit failed, with the class called what the data calls it.
    pub(crate) fn explain(&self, error: &FitError) -> String {
        match error {
            FitError::EmptyClass { class } => self.empty_class(*class),
            other => other.to_string(),
        }
    }

    /// The samples with these indices, to fit kernel methods on.
    pub(crate) fn training_set(
        &self,
        experiment: &Experiment,
        indices: &[usize],
        threads: usize,
    ) -> Result<TrainingSet, String> {
        let data = &self.dataset;
        let y = indices.iter().map(|&i| data.y[i]).collect();
        let x = data.x.select(Axis(0), indices);
        let storage = experiment.factor.storage(experiment.jitter);
        TrainingSet::new(x, y, &experiment.kernel)
            .and_then(|set| set.with_classes(data.classes.len()))
            .and_then(|set| set.with_storage(storage))
            .map(|set| set.with_threads(threads))
            .map_err(|error| error.to_string())
    }

    pub(crate) fn empty_class(&self, class: usize) -> String {
        let name = &self.dataset.classes[class];
        format!("class `{name}` has no training sample in this split")
    }
}

/// Loads data and makes the plan, and reports what it is doing to `events`. All that is wrong with the data is
/// reported at once. Of `formers`, the first is the results folder; the first that knows an absent dataset
/// supplies its row.
pub fn prepare(
    loaded: &Spec,
    store: &Store,
    formers: &[Former],
    events: Events<'_>,
) -> Result<Prepared, SpecError> {
    let experiment = &loaded.experiment;
    let seed = Seed::root(experiment.seed);
    if !store.plans_only {
        check_available(loaded)?;
    }
    let candidates = Arc::clone(&loaded.methods);
    let settings = all_settings(experiment, &candidates);
    let mut sources = Vec::new();
    let mut datasets = Vec::new();
    let mut missing = Vec::new();
    let mut changed = Vec::new();
    let mut problems = Vec::new();
    for (index, spec) in experiment.datasets.iter().enumerate() {
        events(Event::Loading(&spec.name()));
        let former = |former: &Former| former.row(experiment, spec);
        let own = formers.first().and_then(former);
        let remembered = own.clone().or_else(|| formers.iter().find_map(former));
        // Finished cells need no data, so nothing is downloaded for them.
        let is_needed = || {
            let is_finished = |cell: &String| formers.iter().any(|f| f.is_finished(cell));
            let cells = remembered.iter().flat_map(|row| row_cells(row, &settings));
            remembered.is_none() || !{ cells }.all(|(cell, ..)| is_finished(&cell))
        };
        let loaded_data = load(spec, store, &is_needed, experiment, events)
            .and_then(|dataset| found(dataset, experiment, &seed));
        let (source, planned) = match loaded_data {
            Ok((source, planned)) => {
                let has_changed = |row: &PlannedDataset| row.hash != planned.hash;
                changed.extend(own.filter(has_changed).map(|row| (index, row)));
                (Some(source), planned)
            }
            Err(error)
                if error.spares_other_datasets()
                    || (remembered.is_some() && error.is_not_found()) =>
            {
                let planned = remembered.unwrap_or_else(|| not_found(spec, experiment, &error));
                missing.push((planned.name.clone(), error));
                (None, planned)
            }
            Err(error) => {
                problems.push(data_problem(loaded, index, spec, &error));
                continue;
            }
        };
        sources.push(source);
        datasets.push(planned);
    }
    if !problems.is_empty() {
        return Err(loaded.source.error(problems));
    }
    check_shapes(loaded, &candidates, &datasets)?;
    let methods = planned_methods(experiment, &candidates);
    let cells = cells(&datasets, &settings);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let plan = Plan {
        version,
        experiment: experiment.clone(),
        datasets,
        methods,
        cells,
        remembered: Vec::new(),
    };
    Ok(Prepared {
        plan,
        sources,
        candidates,
        missing,
        changed,
        seed,
        spec: loaded.source.text().to_owned(),
    })
}

/// What is wrong with the data of dataset `index`, at the place of the spec that names it.
fn data_problem(loaded: &Spec, index: usize, spec: &DatasetSpec, error: &DataError) -> Problem {
    let key = match spec {
        _ if matches!(error, DataError::Subsample { .. }) => "subsample",
        DatasetSpec::Files(files) if files.test.as_deref() == error.path() => "test",
        _ => "train",
    };
    let help = error.help().map(|help| help.to_string());
    let path = ["datasets", &index.to_string(), key];
    loaded.source.problem(&path, error.to_string(), help)
}

/// Refuses methods that this build cannot fit, in one sentence for all of the kind.
fn check_available(spec: &Spec) -> Result<(), SpecError> {
    for (index, method) in spec.methods.iter().enumerate() {
        if let Some(lacks) = method.entry.unavailable_reason() {
            let message = format!("method `{}` {lacks}", method.entry.info.name);
            let help = "run scripts/setup-libtorch once, then build with `--features deep`";
            let path = ["methods", &index.to_string()];
            let problem = spec.source.problem(&path, message, Some(help.to_owned()));
            return Err(spec.source.error(vec![problem]));
        }
    }
    Ok(())
}

fn load(
    spec: &DatasetSpec,
    store: &Store,
    may_download: &dyn Fn() -> bool,
    experiment: &Experiment,
    events: Events<'_>,
) -> Result<Dataset, DataError> {
    let seed = Seed::root(experiment.seed);
    let on_validation = experiment.chooses_on_validation();
    let mut progress = |progress: Progress<'_>| events(Event::Download(progress));
    let dataset = store.load_spec(spec, &seed, on_validation, may_download, &mut progress)?;
    match (&dataset.images, spec) {
        (None, DatasetSpec::Registered { options, .. }) if options.encoder.is_some() => {
            Err(DataError::Encoder {
                problem: "it has none, so leave `encoder` out".to_owned(),
                dataset: dataset.name,
            })
        }
        (Some(_), DatasetSpec::Registered { options, .. }) => {
            encode(dataset, options.encoder.clone().unwrap_or_default(), store, events)
        }
        _ => Ok(dataset),
    }
}

/// Vectors of images, by a frozen encoder; zeros where a plan is all that is wanted.
fn encode(
    dataset: Dataset,
    spec: EncoderSpec,
    store: &Store,
    events: Events<'_>,
) -> Result<Dataset, DataError> {
    let weights = store.weights(&dataset.name, &spec)?;
    let encoder = Encoder::new(spec, weights)?;
    let images = dataset.images.clone().unwrap_or_default();
    let images = images.resized(encoder.spec.size);
    let hash = encoder.hash()?;
    let x = match store.plans_only {
        true => Array2::zeros((images.len(), encoder.spec.network.dims())),
        false => vectors(&dataset, &images, &encoder, store, events)?,
    };
    Ok(dataset.encoded(x, images, encoder, &hash))
}

#[cfg(feature = "deep")]
fn vectors(
    dataset: &Dataset,
    images: &Images,
    encoder: &Encoder,
    store: &Store,
    events: Events<'_>,
) -> Result<Array2<f64>, DataError> {
    let cache = dirs::cache_dir().map(|cache| cache.join("npsvcpp").join("features"));
    let vectors = |part: std::ops::Range<usize>| {
        let begin = || events(Event::Encoding { dataset: &dataset.name, images: part.len() });
        let images = images.select(&part.clone().collect::<Vec<usize>>());
        let x = networks::features(&images, encoder, &store.device, cache.as_deref(), begin);
        x.map_err(|error| DataError::Unencodable {
            dataset: dataset.name.clone(),
            problem: error.to_string(),
            path: error.path().map(Into::into),
        })
    };
    // Samples for validation apart, so that the others are kept under the same name with and without.
    let own = dataset.own_samples();
    let x = vectors(0..own)?;
    if own == images.len() {
        return Ok(x);
    }
    let validation = vectors(own..images.len())?;
    Ok(ndarray::concatenate![ndarray::Axis(0), x, validation])
}

#[cfg(not(feature = "deep"))]
fn vectors(
    dataset: &Dataset,
    _: &Images,
    _: &Encoder,
    _: &Store,
    _: Events<'_>,
) -> Result<Array2<f64>, DataError> {
    Err(DataError::Encoder { dataset: dataset.name.clone(), problem: format!("that {NEEDS_DEEP}") })
}

fn found(
    dataset: Dataset,
    experiment: &Experiment,
    seed: &Seed,
) -> Result<(Source, PlannedDataset), DataError> {
    if experiment.splits.seeds > 1 && dataset.fixed_train.is_none() {
        return Err(DataError::Split {
            dataset: dataset.name,
            problem:
                "`seeds` is for datasets with their own split, and this one is split at random; \
                      use `repeats`"
                    .to_owned(),
        });
    }
    let splits = split::splits(&dataset, &experiment.splits, seed)?;
    let first = splits.first();
    let planned = PlannedDataset {
        name: dataset.name.clone(),
        unavailable: None,
        hash: dataset.hash.clone(),
        samples: dataset.own_samples(),
        dims: dataset.x.ncols(),
        classes: dataset.classes.clone(),
        class_counts: dataset.class_counts(),
        n_train: first.map_or(0, |split| split.train.len()),
        n_test: first.map_or(0, |split| split.test.len()),
        splits: splits.iter().map(|split| split.hash.clone()).collect(),
        validation: dataset.validation.as_ref().map(|part| part.hash.clone()),
        notes: dataset.notes.clone(),
    };
    Ok((Source { dataset: Arc::new(dataset), splits }, planned))
}

/// The row of a dataset that is neither on this machine nor in the results folder. Its cells are planned
/// too, so that they show as not run.
fn not_found(spec: &DatasetSpec, experiment: &Experiment, error: &DataError) -> PlannedDataset {
    let splits = (0..experiment.splits.repeats).map(unknown_split).collect();
    PlannedDataset {
        name: spec.name().into_owned(),
        unavailable: Some(error.for_the_record()),
        hash: String::new(),
        samples: 0,
        dims: 0,
        classes: Vec::new(),
        class_counts: Vec::new(),
        n_train: 0,
        n_test: 0,
        splits,
        validation: None,
        notes: Vec::new(),
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

/// Parameters that a dataset is too small for, all of them at once.
fn check_shapes(
    loaded: &Spec,
    candidates: &[Candidates],
    datasets: &[PlannedDataset],
) -> Result<(), SpecError> {
    let mut problems: Vec<Problem> = Vec::new();
    for dataset in datasets.iter().filter(|dataset| dataset.unavailable.is_none()) {
        for (index, method) in candidates.iter().enumerate() {
            let refused = method.points.iter().find_map(|point| {
                point.check_shape(smallest_fit(&loaded.experiment, method, dataset)).err()
            });
            if let Some(bad) = refused {
                let path = ["methods", &index.to_string(), &bad.parameter];
                let message = format!("{bad} of dataset `{}`", dataset.name);
                problems.push(loaded.source.problem(&path, message, None));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(loaded.source.error(problems)) }
}

/// The smallest training set a method meets: a fold's, where parameters are chosen.
fn smallest_fit(experiment: &Experiment, method: &Candidates, dataset: &PlannedDataset) -> Shape {
    let shape = dataset.shape(experiment);
    match &experiment.select {
        Some(select) if method.points.len() > 1 && select.on == SelectOn::Training => {
            let n = select.subsample.map_or(shape.n, |size| size.min(shape.n));
            let n = n - n.div_ceil(select.folds);
            let rank = shape.rank.map(|rank| rank.min(n));
            Shape { n, rank, ..shape }
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
            label: spec.label.clone().unwrap_or_else(|| candidates.entry.info.title.to_owned()),
            scheme: candidates.scheme(),
            points: candidates.points.len(),
        })
        .collect()
}

impl Prepared {
    /// The plan of a results folder that still shows the rows `kept` in place of the ones to be run.
    pub(crate) fn plan_with(&self, kept: &Kept) -> Plan {
        let mut plan = self.plan.clone();
        if kept.is_empty() {
            return plan;
        }
        for (&index, row) in kept {
            plan.datasets[index] = row.clone();
        }
        let settings = all_settings(&plan.experiment, &self.candidates);
        plan.cells = cells(&plan.datasets, &settings);
        plan
    }
}
