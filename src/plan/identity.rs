//! The identity of a cell: everything its numbers depend on, and nothing else.

use std::collections::{BTreeMap, HashMap};

use npsvc::Kernel;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::Versions;
use super::file::{Plan, PlannedCell, PlannedDataset};
use crate::data::hex;
use crate::methods::is_default;
use crate::spec::{Candidates, Experiment, Factor, Select};

/// Everything the numbers of a cell depend on. Its name is the hash of this as JSON, so order, names and formats
/// of the keys must not change. A new key is left out at its default: then finished cells keep their names.
#[derive(Serialize)]
pub(super) struct Identity<'a> {
    dataset: &'a str,
    data: &'a str,
    split: usize,
    samples: &'a str,
    /// The first training has the name that it has without `seeds`.
    #[serde(skip_serializing_if = "is_default")]
    training_seed: usize,
    /// Of cells with tuned parameters: only the choice depends on validation samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<&'a str>,
    seed: u64,
    kernel: &'a Kernel,
    jitter: f64,
    method: &'a str,
    version: u32,
    points: &'a RawValue,
    /// Of cells with tuned parameters.
    select: Option<&'a Select>,
    #[serde(skip_serializing_if = "Factor::is_full")]
    factor: &'a Factor,
}

impl<'a> Identity<'a> {
    pub fn new(
        experiment: &'a Experiment,
        row: &'a PlannedDataset,
        method: &'a Candidates,
        split: usize,
        training_seed: usize,
    ) -> Self {
        let is_tuned = method.is_tuned();
        Self {
            dataset: &row.name,
            data: &row.hash,
            split,
            samples: &row.splits[split],
            training_seed,
            validation: row.validation.as_deref().filter(|_| is_tuned),
            seed: experiment.seed,
            kernel: &experiment.kernel,
            jitter: experiment.jitter,
            method: method.entry.info.name,
            version: method.entry.info.version,
            points: &method.text,
            select: experiment.select.as_ref().filter(|_| is_tuned),
            factor: &experiment.factor,
        }
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("an identity holds numbers, names and flags")
    }

    /// The cell's name: the first half of the hash, enough to distinguish all cells that ever ran.
    fn name(&self) -> String {
        hex(&Sha256::digest(self.text())[..12])
    }

    /// Every key with its value.
    pub fn keys(&self) -> BTreeMap<String, Value> {
        serde_json::from_str(&self.text()).expect("an identity is a JSON object")
    }
}

/// The cells of all datasets, in the order in which they are run. Methods have their present version, unless `versions`
/// has another one for a dataset and a method.
pub(super) fn cells(
    experiment: &Experiment,
    rows: &[PlannedDataset],
    methods: &[Candidates],
    versions: &Versions,
) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for (dataset, row) in rows.iter().enumerate() {
        for split in 0..row.splits.len() {
            for training_seed in 0..experiment.splits.seeds {
                // Only networks have a training seed.
                let trained = methods.iter().enumerate();
                let trained = trained.filter(|(_, one)| training_seed == 0 || one.entry.is_network);
                cells.extend(trained.map(|(method, candidates)| {
                    let identity = Identity::new(experiment, row, candidates, split, training_seed);
                    let version = versions.get(&(dataset, method)).copied();
                    let version = version.unwrap_or(identity.version);
                    let identity = Identity { version, ..identity };
                    PlannedCell { cell: identity.name(), dataset, method, split, training_seed }
                }));
            }
        }
    }
    cells
}

/// The cells of a plan, computed again from its experiment and its datasets.
pub fn planned_cells(plan: &Plan) -> Result<Vec<PlannedCell>, String> {
    Ok(cells(&plan.experiment, &plan.datasets, &methods(plan)?, &Versions::new()))
}

fn methods(plan: &Plan) -> Result<Vec<Candidates>, String> {
    plan.experiment.methods.iter().map(Candidates::of).collect()
}

/// The names that the cells of a plan had when their methods had earlier versions, each with the present name.
pub fn earlier_names(plan: &Plan) -> Result<HashMap<String, String>, String> {
    let methods = methods(plan)?;
    let named = |versions: &Versions| cells(&plan.experiment, &plan.datasets, &methods, versions);
    let now = named(&Versions::new());
    let mut names = HashMap::new();
    for versions in earlier_versions(plan.datasets.len(), &methods) {
        let pairs = named(&versions).into_iter().zip(&now);
        let pairs = pairs.filter(|(then, now)| then.cell != now.cell);
        names.extend(pairs.map(|(then, now)| (then.cell, now.cell.clone())));
    }
    Ok(names)
}

/// For every number below the highest version of a method: that version of all methods that have had it.
pub(super) fn earlier_versions(
    datasets: usize,
    methods: &[Candidates],
) -> impl Iterator<Item = Versions> {
    let latest = methods.iter().map(|method| method.entry.info.version).max().unwrap_or(1);
    (1..latest).map(move |version| {
        let had = methods.iter().enumerate();
        let had = had.filter(|(_, candidates)| version < candidates.entry.info.version);
        let pairs = had.flat_map(|(method, _)| (0..datasets).map(move |dataset| (dataset, method)));
        pairs.map(|pair| (pair, version)).collect()
    })
}

/// The version of the method's code under which a cell of `plan` has its name. `None` if no version gives it, so
/// the plan does not belong to the cell.
pub(crate) fn code_version(plan: &Plan, cell: &PlannedCell, method: &Candidates) -> Option<u32> {
    /// More than any method will have.
    const VERSIONS: u32 = 100;
    let row = &plan.datasets[cell.dataset];
    let mut identity = Identity::new(&plan.experiment, row, method, cell.split, cell.training_seed);
    (0..VERSIONS).find(|version| {
        identity.version = *version;
        identity.name() == cell.cell
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec;

    /// Ledgers refer to cells by this text's hash, so it must never change by accident.
    #[test]
    fn an_identity_is_one_json_object_without_keys_at_their_default() {
        let text =
            "name: x\ndatasets: [usps]\nmethods: [svm: {c: [1, 2]}, gepsvm]\nselect: {folds: 3}\n";
        let spec = spec::parse(text, "x.yaml").unwrap();
        let row = PlannedDataset {
            name: "usps".into(),
            hash: "d".into(),
            splits: vec!["s0".into(), "s1".into()],
            validation: Some("v".into()),
            ..PlannedDataset::default()
        };
        let of = |method: usize, split, seed| {
            Identity::new(&spec.experiment, &row, &spec.methods[method], split, seed)
        };
        let tuned = of(0, 1, 2).text();
        let begin = r#"{"dataset":"usps","data":"d","split":1,"samples":"s1","training_seed":2,"validation":"v","seed":2024,"kernel":{"gaussian":"#;
        assert!(tuned.starts_with(begin), "{tuned}");
        let middle = r#","jitter":1e-6,"method":"svm","version":"#;
        assert!(tuned.contains(middle), "{tuned}");
        assert!(tuned.contains(r#""points":[{"c":1.0,"#), "{tuned}");
        assert!(tuned.contains(r#""select":{"by":"cross-validation","folds":3,"#), "{tuned}");
        let fixed = of(1, 0, 0).text();
        assert!(fixed.ends_with(r#","select":null}"#), "{fixed}");
        for key in ["training_seed", "validation", "factor"] {
            assert!(!fixed.contains(key), "{fixed}");
        }
        assert_eq!(of(1, 0, 0).name().len(), 24);
    }

    #[test]
    fn a_name_shows_which_version_of_the_code_it_was_given_by() {
        let text = "name: x\ndatasets: [usps]\nmethods: [svm]\n";
        let spec = spec::parse(text, "x.yaml").unwrap();
        let row = PlannedDataset { splits: vec!["s".into()], ..PlannedDataset::default() };
        let named = |version| {
            let mut identity = Identity::new(&spec.experiment, &row, &spec.methods[0], 0, 0);
            identity.version = version;
            identity.name()
        };
        let of = |cell: String| {
            let cell = PlannedCell { cell, dataset: 0, method: 0, split: 0, training_seed: 0 };
            let plan = Plan {
                version: String::new(),
                experiment: spec.experiment.clone(),
                datasets: vec![row.clone()],
                methods: Vec::new(),
                cells: Vec::new(),
                remembered: Vec::new(),
            };
            code_version(&plan, &cell, &spec.methods[0])
        };
        assert_eq!(of(named(7)), Some(7));
        assert_eq!(of("0".repeat(24)), None);
    }

    /// A new key either changes numbers, and is part of the identity, or is named here.
    #[test]
    fn every_key_of_a_spec_is_part_of_the_identity_or_changes_no_number() {
        // Of datasets, splits and methods the identity has what they lead to.
        let without_effect = [
            "name",
            "title",
            "reproduces",
            "protocol",
            "datasets",
            "splits",
            "methods",
            "compare",
            "record",
            "render",
            "slurm",
        ];
        let text =
            "name: x\ndatasets: [usps]\nmethods: [svm: {c: [1, 2]}]\nselect: {}\nfactor: pivoted\n";
        let spec = spec::parse(text, "x.yaml").unwrap();
        let row = PlannedDataset { splits: vec!["s".into()], ..PlannedDataset::default() };
        let keys = Identity::new(&spec.experiment, &row, &spec.methods[0], 0, 0).keys();
        for key in spec::schema()["properties"].as_object().unwrap().keys() {
            let has_effect = !without_effect.contains(&key.as_str());
            assert_eq!(keys.contains_key(key), has_effect, "{key}");
        }
    }
}
