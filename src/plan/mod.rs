//! From a spec to a plan: data loaded and split, parameters checked against its shape, cells named.
//!
//! Everything that can be wrong is found here, before the first fit.

mod changes;
pub(crate) mod cost;
mod file;
mod filter;
mod former;
mod identity;
mod kept;
mod load;
mod shard;

pub use crate::data::manifest::Manifest;
pub use crate::event::Place;
pub(crate) use changes::causes;
pub use cost::{estimate, size};
pub use file::{Plan, PlannedCell, PlannedDataset, PlannedMethod, Remembered};
pub use filter::Filter;
pub use former::Former;
pub(crate) use identity::code_version;
pub use identity::{earlier_names, planned_cells};
pub use kept::{Kept, Versions};
pub use load::{Source, load_whole};
pub(crate) use shard::with_shard;
pub use shard::{Part, Shard, group_count};

use std::sync::Arc;

use miette::Diagnostic;

use crate::data::{DataError, Store};
use crate::event::{Event, Events};
use crate::spec::{Candidates, DatasetSpec, Experiment, Problem, Spec, SpecError, SpecText};
use former::unknown_split;
use identity::cells;

/// A plan and what is needed to carry it out.
pub struct Prepared {
    pub plan: Plan,
    /// One per dataset of the plan; an error if the data is not on this machine or its images cannot be encoded. The
    /// error names folders of this machine. The plan gives the reason without them, because it ends in published tables.
    pub sources: Vec<Result<Source, DataError>>,
    /// One per method of the plan.
    pub candidates: Arc<[Candidates]>,
    /// What the results folder was computed from and is different now.
    pub changed: Kept,
    /// The text of the spec, for the results folder.
    pub spec: String,
}

/// Loads data and makes the plan, and reports what it is doing to `events`. All that is wrong with the data is
/// reported at once. Of `formers`, the first is the results folder; the first that knows an absent dataset
/// supplies its row. Datasets that are not part of `part` are not read if the plan can do without.
pub fn prepare(
    spec: &Spec,
    store: &Store,
    formers: &[Former],
    part: &Part,
    events: Events<'_>,
) -> Result<Prepared, SpecError> {
    let experiment = &spec.experiment;
    if !store.plans_only {
        check_available(spec)?;
    }
    let methods = experiment.methods.iter().zip(&*spec.methods);
    let methods = methods.map(|(method, candidates)| PlannedMethod {
        method: method.method.clone(),
        label: method.label.clone(),
        scheme: candidates.scheme(),
        points: candidates.points.len(),
    });
    let plan = Plan {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: experiment.clone(),
        datasets: Vec::new(),
        methods: methods.collect(),
        cells: Vec::new(),
        remembered: Vec::new(),
    };
    let mut prepared = Prepared {
        plan,
        sources: Vec::new(),
        candidates: Arc::clone(&spec.methods),
        changed: Kept::default(),
        spec: spec.text.as_str().to_owned(),
    };
    let mut problems = Vec::new();
    for (index, dataset) in experiment.datasets.iter().enumerate() {
        if let Err(error) = prepared.add_dataset(dataset, store, formers, part, events) {
            problems.push(data_problem(&spec.text, index, dataset, &error));
        }
    }
    spec.text.refuse(problems)?;
    check_shapes(spec, &prepared.plan.datasets)?;
    prepared.plan.cells = prepared.cells(&prepared.plan.datasets, &Versions::new());
    if let Some(former) = formers.first() {
        prepared.changed.versions = prepared.former_versions(former);
    }
    Ok(prepared)
}

impl Prepared {
    /// Loads the next dataset of the experiment. If it is absent, the row of a results folder that knows it takes
    /// its place, or else one without data, whose cells show as not run.
    fn add_dataset(
        &mut self,
        spec: &DatasetSpec,
        store: &Store,
        formers: &[Former],
        part: &Part,
        events: Events<'_>,
    ) -> Result<(), DataError> {
        let experiment = &self.plan.experiment;
        let row_of = |former: &Former| former.row(experiment, spec);
        let own = formers.first().and_then(row_of);
        let remembered = own.clone().or_else(|| formers.iter().find_map(row_of));
        // Finished cells need no data, so nothing is downloaded for them.
        let is_needed = || {
            let Some(row) = &remembered else {
                return true;
            };
            let cells = self.cells(std::slice::from_ref(row), &Versions::new());
            let is_finished = |cell: &str| formers.iter().any(|former| former.is_finished(cell));
            !cells.iter().all(|cell| is_finished(&cell.cell))
        };
        let name = spec.name();
        // The numbers of shards follow from the splits of all datasets. Finished cells that the plan does not know need
        // the data to stay in it.
        let is_left_out = part.shard.is_none()
            && !Filter::keep_dataset(&part.only, &name)
            && (remembered.is_some()
                || formers.first().is_none_or(|former| former.finished_of(&name).next().is_none()));
        let loaded = if is_left_out {
            Err(DataError::LeftOut { dataset: name.clone() })
        } else {
            events(Event::Loading(&name));
            Source::load(spec, experiment, store, &is_needed, events)
        };
        let row = match &loaded {
            Ok(source) => {
                let row = source.row();
                let changed = own.filter(|own| own.hash != row.hash);
                self.changed.rows.extend(changed.map(|own| (self.sources.len(), own)));
                row
            }
            Err(error)
                if error.spares_other_datasets()
                    || (remembered.is_some() && error.is_not_found()) =>
            {
                remembered.unwrap_or_else(|| unread_row(experiment, spec, error, formers))
            }
            Err(_) => return loaded.map(|_| ()),
        };
        self.sources.push(loaded);
        self.plan.datasets.push(row);
        Ok(())
    }

    fn cells(&self, rows: &[PlannedDataset], versions: &Versions) -> Vec<PlannedCell> {
        cells(&self.plan.experiment, rows, &self.candidates, versions)
    }
}

/// The row of a dataset that was not read and that no results folder knows. A run that leaves it out keeps the reason
/// that the folder gives already.
fn unread_row(
    experiment: &Experiment,
    spec: &DatasetSpec,
    error: &DataError,
    formers: &[Former],
) -> PlannedDataset {
    let (name, has_own_split) = (spec.name(), spec.has_own_split());
    let splits = if has_own_split { 1 } else { experiment.splits.repeats };
    let rows = formers.first().and_then(|former| former.plan.as_ref()).map(|plan| &plan.datasets);
    let is_same = |row: &&PlannedDataset| {
        row.name == name && row.unavailable.is_some() && row.splits.len() == splits
    };
    let former = rows.into_iter().flatten().find(is_same).filter(|_| error.is_left_out());
    former.cloned().unwrap_or_else(|| PlannedDataset {
        name,
        unavailable: Some(error.for_the_record()),
        own_split: has_own_split.then_some(true),
        splits: (0..splits).map(unknown_split).collect(),
        ..PlannedDataset::default()
    })
}

/// What is wrong with the data of dataset `index`, located where the spec names it.
fn data_problem(text: &SpecText, index: usize, spec: &DatasetSpec, error: &DataError) -> Problem {
    let key = match spec {
        _ if let DataError::Unfit { key, .. } = error => key,
        DatasetSpec::Files(files) if files.test.as_deref() == error.path() => "test",
        _ => "train",
    };
    let help = error.help().map(|help| help.to_string());
    text.problem(&["datasets", &index.to_string(), key], error.to_string(), help)
}

/// Refuses methods that this build cannot fit. One sentence about the first of them is enough.
fn check_available(spec: &Spec) -> Result<(), SpecError> {
    let mut methods = spec.methods.iter().enumerate();
    let problem = methods.find_map(|(index, method)| {
        let lacks = method.entry.unavailable_reason()?;
        let message = format!("method `{}` {lacks}", method.entry.info.name);
        let help = "run scripts/setup-libtorch once, then build with `--features deep`".to_owned();
        Some(spec.text.problem(&["methods", &index.to_string()], message, help))
    });
    spec.text.refuse(problem.into_iter().collect())
}

/// Refuses parameters that a dataset is too small for, all of them at once.
fn check_shapes(spec: &Spec, datasets: &[PlannedDataset]) -> Result<(), SpecError> {
    let mut problems = Vec::new();
    for dataset in datasets.iter().filter(|dataset| dataset.unavailable.is_none()) {
        for (index, method) in spec.methods.iter().enumerate() {
            let shape = dataset.shape(&spec.experiment);
            // The smallest training set of a method is that of a fold, if parameters are chosen.
            let select = spec.experiment.select.as_ref().filter(|_| method.is_tuned());
            let shape = select.map_or(shape, |select| select.shape(shape));
            let refused = method.points.iter().find_map(|point| point.check_shape(shape).err());
            problems.extend(refused.map(|bad| {
                let path = ["methods", &index.to_string(), &bad.parameter];
                spec.text.problem(&path, format!("{bad} of dataset `{}`", dataset.name), None)
            }));
        }
    }
    spec.text.refuse(problems)
}
