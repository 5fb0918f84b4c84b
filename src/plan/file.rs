//! The plan of an experiment as a results folder keeps it: the resolved spec and its cells.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::data::manifest::Manifest;
use crate::data::registry;
use crate::event::Place;
use crate::methods::{self, is_default};
use crate::spec::{DatasetOptions, DatasetSpec, Experiment, Splits};

/// The experiment of a results folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the program that wrote the plan.
    pub version: String,
    /// The spec with all defaults filled in.
    pub experiment: Experiment,
    /// Rows of the table, in order.
    pub datasets: Vec<PlannedDataset>,
    /// Columns of the table, in order.
    pub methods: Vec<PlannedMethod>,
    pub cells: Vec<PlannedCell>,
    /// Datasets that finished cells of former specs were computed from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<Remembered>,
}

/// A dataset with the part of the spec that its splits follow from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    pub spec: DatasetSpec,
    pub seed: u64,
    pub splits: Splits,
    pub row: PlannedDataset,
}

/// A dataset as it was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedDataset {
    pub name: String,
    /// Why there is no data, if no machine that ran this experiment has had it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    pub hash: String,
    pub samples: usize,
    pub dims: usize,
    pub classes: Vec<String>,
    pub class_counts: Vec<usize>,
    pub n_train: usize,
    pub n_test: usize,
    /// Whether it came with its own split. Plans of version 0.1 do not have this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_split: Option<bool>,
    /// Hash of each split's training indices.
    pub splits: Vec<String>,
    /// Hash of the validation samples, where parameters are chosen on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A method entry of the spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMethod {
    pub method: String,
    /// Unique within an experiment.
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// How many parameter points selection tries; 1 means fixed parameters.
    pub points: usize,
}

/// One cell: indices into `datasets` and `methods`, the split and the training seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCell {
    pub cell: String,
    pub dataset: usize,
    pub method: usize,
    pub split: usize,
    /// Which of `splits: {seeds: N}` trainings on this split; 0 for methods that have no training seed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub training_seed: usize,
}

impl Plan {
    /// What a reader knows a cell of this plan by.
    pub fn place(&self, cell: &PlannedCell) -> Place<'_> {
        let (dataset, method) = (&self.datasets[cell.dataset], &self.methods[cell.method]);
        (&dataset.name, &method.label, cell.split, cell.training_seed)
    }

    /// All cells by what a reader knows them by.
    pub fn by_place(&self) -> HashMap<Place<'_>, &PlannedCell> {
        self.cells.iter().map(|cell| (self.place(cell), cell)).collect()
    }

    /// Whether both plans are the same, whichever version of the program wrote them.
    pub fn describes(&self, other: &Self) -> bool {
        Self { version: self.version.clone(), ..other.clone() } == *self
    }

    /// Everything the plan knows about datasets: its rows, then those of former specs.
    pub fn known_datasets(&self) -> impl Iterator<Item = Remembered> {
        let rows = self.experiment.datasets.iter().zip(&self.datasets);
        let rows = rows.map(|(spec, row)| Remembered {
            spec: spec.clone(),
            seed: self.experiment.seed,
            splits: self.experiment.splits.clone(),
            row: row.clone(),
        });
        rows.filter(|known| known.row.unavailable.is_none()).chain(self.remembered.iter().cloned())
    }

    /// Remembers what a former plan of the same folder knew about datasets and this one does not.
    pub fn remember(&mut self, former: &Self) {
        for known in former.known_datasets() {
            let is_covered = self.known_datasets().any(|ours| {
                ours.spec == known.spec
                    && ours.row.hash == known.row.hash
                    && ours.row.splits.starts_with(&known.row.splits)
            });
            if !is_covered {
                self.remembered.push(known);
            }
        }
    }

    /// Copies the rows and cells of datasets that only `other` knows, if both plans are of the same spec.
    pub fn learn_from(&mut self, other: &Self) {
        if self.experiment != other.experiment || self.methods != other.methods {
            return;
        }
        let mut cells = Vec::new();
        for (index, row) in self.datasets.iter_mut().enumerate() {
            let is_known = |other: &PlannedDataset| {
                row.unavailable.is_some() && other.unavailable.is_none() && other.name == row.name
            };
            let (known, place) = match other.datasets.iter().position(is_known) {
                Some(place) => {
                    *row = other.datasets[place].clone();
                    (&other.cells, place)
                }
                None => (&self.cells, index),
            };
            let known = known.iter().filter(|cell| cell.dataset == place);
            cells.extend(known.map(|cell| PlannedCell { dataset: index, ..cell.clone() }));
        }
        self.cells = cells;
    }
}

/// What a plan says about its datasets and methods.
impl Plan {
    /// The registry's name of a dataset and its options; `None` for the user's own files.
    pub fn registered(&self, dataset: usize) -> Option<(&str, &DatasetOptions)> {
        let planned = &self.datasets.get(dataset)?.name;
        // By name, because a plan of a part of the spec has fewer rows.
        self.experiment.datasets.iter().find_map(|spec| match spec {
            DatasetSpec::Registered { name, options } if name == planned => {
                Some((name.as_str(), options))
            }
            _ => None,
        })
    }

    /// What the registry knows of a dataset; nothing of the user's own files.
    pub fn manifest(&self, dataset: usize) -> Option<&'static Manifest> {
        let (name, _) = self.registered(dataset)?;
        registry::find(name).ok().map(|entry| &entry.manifest)
    }

    /// Whether a dataset came with its own split.
    pub fn has_own_split(&self, dataset: &PlannedDataset) -> bool {
        dataset.has_own_split(&self.experiment.splits)
    }
}

impl PlannedDataset {
    /// Whether it came with its own split. Plans of version 0.1 do not have this, but random splits have the number and
    /// the size that the spec asks for.
    pub fn has_own_split(&self, splits: &Splits) -> bool {
        self.own_split.unwrap_or_else(|| {
            self.splits.len() != splits.repeats || self.n_train != splits.train_size(self.samples)
        })
    }
}

impl PlannedMethod {
    /// The method of the registry.
    pub fn entry(&self) -> Option<&'static methods::Entry> {
        methods::find(&self.method)
    }

    /// Whether it trains a network.
    pub fn is_network(&self) -> bool {
        self.entry().is_some_and(|entry| entry.is_network)
    }
}
