//! From a validated spec to a plan: data loaded and split, parameters checked against their shapes.
//!
//! Everything that can be wrong is found here, before the first fit.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use miette::Diagnostic;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::former::{Former, unknown_split};
use super::provenance::Kept;
#[cfg(feature = "deep")]
use crate::data::Encoder;
use crate::data::{DataError, Dataset, Progress, Split, Store, load_files, split};
#[cfg(feature = "deep")]
use crate::deep::{self, EncoderError};
use crate::kernel::Kernel;
use crate::ledger::{Plan, PlannedCell, PlannedDataset, PlannedMethod};
#[cfg(not(feature = "deep"))]
use crate::model::deep::NEEDS_DEEP;
use crate::model::registry::{self, Configured, Entry};
use crate::model::{FitError, Shape};
use crate::seed::Seed;
use crate::spec::{
    DatasetSpec, EncoderSpec, Experiment, Loaded, MethodSpec, Problem, SelectOn, SpecError,
};

/// A plan and what is needed to carry it out.
pub struct Prepared {
    pub plan: Plan,
    /// One per dataset of the plan; `None` if the data is not on this machine.
    pub sources: Vec<Option<Source>>,
    /// One per method of the plan.
    pub candidates: Vec<Candidates>,
    /// Datasets that are not on this machine, and why, with the folders that were searched. The plan
    /// holds the same without the folders, because it ends in published tables.
    pub missing: Vec<(String, DataError)>,
    /// Datasets whose data is not the one the results folder was computed from, with the folder's row.
    pub changed: Vec<(usize, PlannedDataset)>,
    pub seed: Seed,
    /// The text of the spec, for the results folder.
    pub spec: String,
}

impl Prepared {
    /// Why there is no data for `dataset`, for the terminal.
    pub fn reason(&self, dataset: &str) -> Option<&DataError> {
        let mut missing = self.missing.iter();
        missing.find_map(|(name, error)| (name == dataset).then_some(error))
    }
}

/// What loading is at.
#[derive(Debug)]
pub enum Loading<'a> {
    /// The dataset of this name is about to be read, or downloaded first.
    Dataset(&'a str),
    /// So many images of the dataset are about to be encoded, which takes a while once.
    Encoding(&'a str, usize),
    /// Some of a download has arrived.
    Download(Progress<'a>),
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
    /// Tuned parameters and their values, where the points are a grid of them; the last one changes
    /// fastest.
    pub grid: Vec<(String, Vec<Value>)>,
}

/// Loads data and makes the plan; tells `observe` what it is at. All that is wrong with the data is
/// reported at once. Of `formers`, the first is the results folder; the first that knows an absent dataset
/// supplies its row.
pub fn prepare(
    loaded: &Loaded,
    store: &Store,
    formers: &[Former],
    mut observe: impl FnMut(Loading<'_>),
) -> Result<Prepared, SpecError> {
    let experiment = &loaded.experiment;
    let seed = Seed::root(experiment.seed);
    let candidates = configure(loaded)?;
    let settings = all_settings(experiment, &candidates);
    let mut sources = Vec::new();
    let mut datasets = Vec::new();
    let mut missing = Vec::new();
    let mut changed = Vec::new();
    let mut problems = Vec::new();
    for (index, spec) in experiment.datasets.iter().enumerate() {
        observe(Loading::Dataset(&spec.name()));
        let former = |former: &Former| former.row(experiment, spec);
        let own = formers.first().and_then(former);
        let remembered = own.clone().or_else(|| formers.iter().find_map(former));
        // Finished cells need no data, so nothing is downloaded for them.
        let is_needed = || {
            let is_finished = |cell: &String| formers.iter().any(|f| f.is_finished(cell));
            let cells = remembered.iter().flat_map(|row| row_cells(row, &settings));
            remembered.is_none()
                || !cells
                    .map(|(_, _, cell)| cell)
                    .all(|cell| is_finished(&cell))
        };
        let loaded_data = load(spec, store, &is_needed, &seed, &mut observe)
            .and_then(|dataset| found(dataset, experiment, &seed));
        let (source, planned) = match loaded_data {
            Ok((source, planned)) => {
                let has_changed = |row: &PlannedDataset| row.hash != planned.hash;
                changed.extend(own.filter(has_changed).map(|row| (index, row)));
                (Some(source), planned)
            }
            Err(error)
                if error.is_unavailable() || (remembered.is_some() && error.is_not_found()) =>
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
        return Err(SpecError::new(problems));
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
fn data_problem(loaded: &Loaded, index: usize, spec: &DatasetSpec, error: &DataError) -> Problem {
    let key = match spec {
        _ if matches!(error, DataError::Subsample { .. }) => "subsample",
        DatasetSpec::Files(files) if files.test.as_deref() == error.path() => "test",
        _ => "train",
    };
    let help = error.help().map(|help| help.to_string());
    let path = ["datasets", &index.to_string(), key];
    loaded.source.problem(&path, error.to_string(), help)
}

fn configure(loaded: &Loaded) -> Result<Vec<Candidates>, SpecError> {
    let mut problems = Vec::new();
    let mut candidates = Vec::new();
    for (index, spec) in loaded.experiment.methods.iter().enumerate() {
        let lacks = registry::find(&spec.method).and_then(|entry| entry.lacks());
        if let Some(lacks) = lacks {
            // One sentence for all methods of the kind.
            let message = format!("method `{}` {lacks}", spec.method);
            let help = "run scripts/setup-libtorch once, then build with `--features deep`";
            let path = ["methods", &index.to_string()];
            let problem = loaded.source.problem(&path, message, Some(help.to_owned()));
            return Err(SpecError::new(vec![problem]));
        }
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
    let grid = spec.tuned.clone();
    Ok(Candidates {
        entry,
        points,
        grid,
    })
}

fn load(
    spec: &DatasetSpec,
    store: &Store,
    may_download: &dyn Fn() -> bool,
    seed: &Seed,
    observe: &mut impl FnMut(Loading<'_>),
) -> Result<Dataset, DataError> {
    let (dataset, size) = match spec {
        DatasetSpec::Registered { name, options } => {
            let mut progress = |progress: Progress<'_>| observe(Loading::Download(progress));
            let dataset = store.load_with(name, may_download, &mut progress)?;
            (dataset, options.subsample)
        }
        DatasetSpec::Files(files) => (load_files(files, Path::new(""))?, files.subsample),
    };
    let dataset = match size {
        Some(size) => split::subsample(&dataset, size, seed)?,
        None => dataset,
    };
    match (&dataset.images, spec) {
        (None, DatasetSpec::Registered { options, .. }) if options.encoder.is_some() => {
            Err(DataError::Encoder {
                problem: "it has none, so leave `encoder` out".to_owned(),
                dataset: dataset.name,
            })
        }
        (Some(_), DatasetSpec::Registered { options, .. }) => encode(
            dataset,
            options.encoder.clone().unwrap_or_default(),
            store,
            observe,
        ),
        _ => Ok(dataset),
    }
}

/// Vectors of images, by a frozen encoder.
#[cfg(feature = "deep")]
fn encode(
    dataset: Dataset,
    spec: EncoderSpec,
    store: &Store,
    observe: &mut impl FnMut(Loading<'_>),
) -> Result<Dataset, DataError> {
    let weights = store.weights(&dataset.name, &spec)?;
    let encoder = Encoder { spec, weights };
    let images = dataset.images.clone().unwrap_or_default();
    let cache = dirs::cache_dir().map(|cache| cache.join("npsvcpp").join("features"));
    let begin = || observe(Loading::Encoding(&dataset.name, images.len()));
    let made = encoder.hash().and_then(|hash| {
        Ok((
            deep::features(&images, &encoder, cache.as_deref(), begin)?,
            hash,
        ))
    });
    match made {
        Ok((x, hash)) => Ok(dataset.encoded(x, encoder, &hash)),
        Err(EncoderError::Image(error)) => Err(error),
        Err(error) => Err(DataError::Encoder {
            dataset: dataset.name,
            problem: error.to_string(),
        }),
    }
}

#[cfg(not(feature = "deep"))]
fn encode(
    dataset: Dataset,
    _: EncoderSpec,
    _: &Store,
    _: &mut impl FnMut(Loading<'_>),
) -> Result<Dataset, DataError> {
    Err(DataError::Encoder {
        dataset: dataset.name,
        problem: format!("that {NEEDS_DEEP}"),
    })
}

fn found(
    dataset: Dataset,
    experiment: &Experiment,
    seed: &Seed,
) -> Result<(Source, PlannedDataset), DataError> {
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
        Source {
            dataset: Arc::new(dataset),
            splits,
        },
        planned,
    ))
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
        notes: Vec::new(),
    }
}

impl PlannedDataset {
    /// Shape of a training set.
    pub fn shape(&self, experiment: &Experiment) -> Shape {
        // The factor of a linear kernel ends at the number of features.
        let most = match experiment.kernel {
            Kernel::Linear => self.n_train.min(self.dims),
            Kernel::Gaussian(_) | Kernel::Polynomial(_) => self.n_train,
        };
        Shape {
            n: self.n_train,
            dims: self.dims,
            classes: self.classes.len(),
            rank: experiment.factor.rank(most),
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
    /// The parameters on which all points agree: all of them where nothing is tuned.
    pub(super) fn settled(&self) -> Value {
        let mut points = self.points.iter().map(|point| point.params());
        let mut settled = points.next().unwrap_or_default();
        for point in points {
            if let Some(agreed) = settled.as_object_mut() {
                agreed.retain(|name, value| point.get(name) == Some(value));
            }
        }
        settled
    }

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

impl Prepared {
    /// The plan of a results folder that still shows the rows `kept` in place of the ones to be run.
    pub(super) fn plan_with(&self, kept: &Kept) -> Plan {
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

fn cells(datasets: &[PlannedDataset], settings: &[String]) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for (dataset, planned) in datasets.iter().enumerate() {
        let row = row_cells(planned, settings);
        cells.extend(row.map(|(split, method, cell)| PlannedCell {
            cell,
            dataset,
            method,
            split,
        }));
    }
    cells
}

/// Split, method and identity of every cell of a dataset.
fn row_cells(
    planned: &PlannedDataset,
    settings: &[String],
) -> impl Iterator<Item = (usize, usize, String)> {
    let splits = planned.splits.iter().enumerate();
    splits.flat_map(move |(split, split_hash)| {
        let place = json!({
            "dataset": planned.name,
            "data": planned.hash,
            "split": split,
            "samples": split_hash,
        })
        .to_string();
        let methods = settings.iter().enumerate();
        methods.map(move |(method, settings)| (split, method, identity(&place, settings)))
    })
}

/// One per method: the part of a cell's identity that its cells have in common.
fn all_settings(experiment: &Experiment, candidates: &[Candidates]) -> Vec<String> {
    let settings = candidates.iter();
    settings.map(|one| settings_of(experiment, one)).collect()
}

/// The part of a cell's identity that a method's cells have in common, as a JSON object.
fn settings_of(experiment: &Experiment, candidates: &Candidates) -> String {
    let is_tuned = candidates.points.len() > 1;
    let points: Vec<Value> = candidates
        .points
        .iter()
        .map(|point| point.params())
        .collect();
    let mut settings = json!({
        "seed": experiment.seed,
        "kernel": experiment.kernel,
        "jitter": experiment.jitter,
        "method": candidates.entry.name(),
        "version": candidates.entry.version(),
        "points": points,
        "select": is_tuned.then_some(&experiment.select),
    });
    // Left out where it is not used, so that the cells of ledgers older than the key keep their names.
    if !experiment.factor.is_full() {
        settings["factor"] = json!(experiment.factor);
    }
    settings.to_string()
}

/// A cell's identity: everything its numbers depend on, and nothing else. It is the hash of one JSON
/// object, given here in two parts.
fn identity(place: &str, settings: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(place.strip_suffix('}').unwrap_or(place));
    hash.update(",");
    hash.update(settings.strip_prefix('{').unwrap_or(settings));
    let digest = hash.finalize();
    let mut digits = String::with_capacity(24);
    for byte in digest.iter().take(12) {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ledgers refer to cells by this hash, so it must never change by accident.
    #[test]
    fn an_identity_is_the_hash_of_one_object() {
        let (place, settings) = (json!({"dataset": "a", "split": 3}), json!({"seed": 1}));
        let whole = json!({"dataset": "a", "split": 3, "seed": 1}).to_string();
        let digest = Sha256::digest(whole.as_bytes());
        let expected: String = digest.iter().take(12).map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            identity(&place.to_string(), &settings.to_string()),
            expected
        );
    }
}
