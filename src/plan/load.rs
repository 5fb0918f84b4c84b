//! Data for a plan: found or downloaded, images encoded, split.

use std::sync::Arc;

use ndarray::{Array2, Axis};
use npsvc::{FitError, Seed, TrainingSet};

use super::PlannedDataset;
use crate::data::registry;
use crate::data::{DataError, Dataset, Encoder, Progress, Split, Store, split};
use crate::event::{Event, Events};
#[cfg(not(feature = "deep"))]
use crate::methods::criteria::NEEDS_DEEP;
#[cfg(feature = "deep")]
use crate::networks;
use crate::spec::{DatasetSpec, Experiment};

/// Loaded data and its splits.
pub struct Source {
    pub dataset: Arc<Dataset>,
    pub splits: Vec<Split>,
    /// What looks like a mistake in the data, or makes it unfit for the experiment.
    pub warnings: Vec<String>,
}

/// The dataset that `spec` describes, before a part of its samples is taken.
pub fn load_whole(
    spec: &DatasetSpec,
    experiment: &Experiment,
    store: &Store,
) -> Result<Dataset, DataError> {
    let mut spec = spec.clone();
    match &mut spec {
        DatasetSpec::Registered { options, .. } => options.subsample = None,
        DatasetSpec::Files(files) => files.subsample = None,
    }
    let source = Source::load(&spec, experiment, store, &|| false, &|_| ())?;
    Ok(Arc::unwrap_or_clone(source.dataset))
}

impl Source {
    /// Reads a dataset, downloads it first if `may_download`, and splits it.
    pub(super) fn load(
        spec: &DatasetSpec,
        experiment: &Experiment,
        store: &Store,
        may_download: &dyn Fn() -> bool,
        events: Events<'_>,
    ) -> Result<Self, DataError> {
        let seed = Seed::root(experiment.seed);
        let on_validation = experiment.chooses_on_validation();
        let mut progress = |progress: Progress<'_>| events(Event::Download(progress));
        let mut dataset =
            store.load_spec(spec, &seed, on_validation, may_download, &mut progress)?;
        if let DatasetSpec::Registered { options, .. } = spec {
            dataset = match (dataset.images.take(), options.encoder.clone()) {
                (None, None) => dataset,
                (None, Some(_)) => {
                    let problem = "it has no images, so leave `encoder` out";
                    return Err(DataError::unfit(&dataset.name, "encoder", problem));
                }
                (Some(images), encoder) => {
                    let encoder = encoder.unwrap_or_default();
                    let weights = store.weights(&dataset.name, &encoder)?;
                    let encoder = Encoder::new(encoder, weights)?;
                    let images = images.resized(encoder.spec.size);
                    let x = match store.plans_only {
                        // A plan does not depend on the vectors.
                        true => Array2::zeros((images.len(), encoder.spec.network.dims())),
                        #[cfg(feature = "deep")]
                        false => {
                            let (name, device) = (&dataset.name, &store.device);
                            let begin = |images| events(Event::Encoding { dataset: name, images });
                            networks::dataset_features(&dataset, &images, &encoder, device, &begin)?
                        }
                        #[cfg(not(feature = "deep"))]
                        false => {
                            let problem = format!("encoding its images {NEEDS_DEEP}");
                            return Err(DataError::unfit(&dataset.name, "encoder", problem));
                        }
                    };
                    dataset.encoded(x, images, encoder)
                }
            };
        }
        if experiment.splits.seeds > 1 && dataset.fixed_train.is_none() {
            let problem = "`seeds` is for datasets with their own split, and this one is split at random; use `repeats`";
            return Err(DataError::unfit(&dataset.name, "train", problem));
        }
        let splits = split::splits(&dataset, &experiment.splits, &seed)?;
        let mut warnings = dataset.warnings.clone();
        let has_mixed_units = match spec {
            DatasetSpec::Files(_) => true,
            DatasetSpec::Registered { name, .. } => registry::find(name)?.manifest.mixed_units,
        };
        warnings.extend(dataset.variance_warning().filter(|_| has_mixed_units));
        warnings.extend(dataset.kernel_warning(&experiment.kernel, experiment.jitter));
        Ok(Self { dataset: Arc::new(dataset), splits, warnings })
    }

    /// The row of the plan.
    pub(super) fn row(&self) -> PlannedDataset {
        let (dataset, first) = (&self.dataset, self.splits.first());
        PlannedDataset {
            name: dataset.name.clone(),
            unavailable: None,
            hash: dataset.hash.clone(),
            samples: dataset.own_samples(),
            dims: dataset.x.ncols(),
            classes: dataset.classes.clone(),
            class_counts: dataset.class_counts(),
            n_train: first.map_or(0, |split| split.train.len()),
            n_test: first.map_or(0, |split| split.test.len()),
            own_split: dataset.fixed_train.is_some().then_some(true),
            splits: self.splits.iter().map(|split| split.hash.clone()).collect(),
            validation: dataset.validation.as_ref().map(|part| part.hash.clone()),
            notes: dataset.notes.clone(),
        }
    }

    /// Why a fit failed, with the name that the data gives the class.
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
