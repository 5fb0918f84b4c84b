//! The types of a spec. Keys are snake case, values such as `cross-validation` are kebab case.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kernel::Kernel;

/// An experiment: which methods on which datasets, how split, selected, compared and rendered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Short name; results go to `results/<name>`.
    #[schemars(
        regex(pattern = r"^[a-z0-9][a-z0-9._-]{0,99}$"),
        extend("patternErrorMessage" = "up to 100 lower-case letters, digits, `.`, `_` or `-`, the first a letter or digit")
    )]
    pub name: String,
    /// Heading of tables and reports.
    #[serde(default)]
    pub title: String,
    /// Which table of the paper stands beside ours.
    #[serde(default)]
    pub reproduces: Option<Reproduces>,
    /// How parameters were set; shown in the report, changes nothing.
    #[serde(default)]
    pub protocol: Option<Protocol>,
    /// Root of the seed tree.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Registered datasets by name, with options if need be, or files of one's own.
    #[schemars(with = "Vec<Value>", length(min = 1))]
    pub datasets: Vec<DatasetSpec>,
    /// The outer splits, the same for every method.
    #[serde(default)]
    pub splits: Splits,
    /// The kernel, the same for every method.
    #[serde(default)]
    pub kernel: Kernel,
    /// Added to the diagonal of the training kernel matrix (the paper's epsilon).
    #[serde(default = "default_jitter")]
    #[schemars(range(min = 0.0))]
    pub jitter: f64,
    /// Methods by name, with parameters if need be. A list or a range of values is tuned.
    #[schemars(with = "Vec<Value>", length(min = 1))]
    pub methods: Vec<MethodSpec>,
    /// How to choose parameters that are given as lists or ranges.
    #[serde(default)]
    pub select: Option<Select>,
    /// Significance tests against one method.
    #[serde(default)]
    pub compare: Option<Compare>,
    /// What to render besides the tables that are always written.
    #[serde(default = "default_render")]
    #[schemars(extend("uniqueItems" = true))]
    pub render: Vec<Rendering>,
}

fn default_seed() -> u64 {
    2024
}

fn default_jitter() -> f64 {
    1e-6
}

fn default_render() -> Vec<Rendering> {
    vec![Rendering::Table]
}

/// A table of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reproduces {
    /// The table's number, such as 2.
    #[schemars(range(min = 1))]
    pub table: u32,
}

/// How the parameters of an experiment were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// One documented fixed setting per method.
    Paper,
    /// The same budget of cross-validation on training data for every method.
    Tuned,
}

/// A dataset of the registry with its options, or files of one's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DatasetSpec {
    Registered {
        name: String,
        options: DatasetOptions,
    },
    Files(FilesSpec),
}

impl DatasetSpec {
    /// The name shown in tables, unique within an experiment.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Registered { name, .. } => name.into(),
            Self::Files(files) => files.name(),
        }
    }
}

/// Options every registered dataset takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DatasetOptions {
    /// Use a seeded random part of this many samples.
    #[schemars(range(min = 4))]
    pub subsample: Option<usize>,
}

/// A dataset of the user's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesSpec {
    /// Name shown in tables; the file's stem if left out.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// LIBSVM text (plain, .bz2, .gz), .csv, .npy or .npz; relative to the working folder.
    #[schemars(length(min = 1))]
    pub train: PathBuf,
    /// With a test file the split is fixed; without it, `train` is split at random.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub test: Option<PathBuf>,
    /// The format, where the file's name does not tell.
    #[serde(default)]
    pub format: Option<FileFormat>,
    /// CSV: name or number (from 1) of the label column; the last column if left out.
    #[serde(default, deserialize_with = "name_or_number")]
    #[schemars(schema_with = "name_or_number_schema")]
    pub label: Option<String>,
    /// Use a seeded random part of this many samples.
    #[serde(default)]
    #[schemars(range(min = 4))]
    pub subsample: Option<usize>,
}

impl FilesSpec {
    /// The given name, or the training file's without its extensions.
    pub fn name(&self) -> Cow<'_, str> {
        if let Some(name) = &self.name {
            return name.into();
        }
        let mut stem = self.train.clone();
        let packed = |path: &PathBuf| path.extension().is_some_and(|e| e == "bz2" || e == "gz");
        if packed(&stem) {
            stem.set_extension("");
        }
        match stem.file_stem() {
            Some(stem) => stem.to_string_lossy().into_owned().into(),
            None => "files".into(),
        }
    }
}

fn name_or_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name)),
        Value::Number(number) => Ok(Some(number.to_string())),
        _ => Err(de::Error::custom("expected a column's name or number")),
    }
}

fn name_or_number_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "integer", "minimum": 1},
            {"type": "null"},
        ]
    })
}

/// File formats for data of one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    Libsvm,
    Csv,
    Npy,
    Npz,
}

/// The outer splits, the same for every method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Splits {
    /// How many random splits.
    #[schemars(range(min = 1, max = 10000))]
    pub repeats: usize,
    /// Share of the samples used for training; rounded down, as in the paper.
    #[schemars(range(min = 0.01, max = 0.99))]
    pub train_fraction: f64,
    /// Keep class shares equal in both parts. The paper does not.
    pub stratified: bool,
}

impl Default for Splits {
    fn default() -> Self {
        Self {
            repeats: 10,
            train_fraction: 0.6,
            stratified: false,
        }
    }
}

/// A method with its parameters; each may be one value, a list or a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodSpec {
    pub method: String,
    /// Name in tables; the method's title if left out. Always present once loaded.
    pub label: Option<String>,
    /// Parameters with a single value, as JSON.
    pub fixed: Map<String, Value>,
    /// Parameters to be tuned: name and the values to try, ranges already expanded.
    pub tuned: Vec<(String, Vec<Value>)>,
}

impl MethodSpec {
    /// How many parameter points there are; 1 where nothing is tuned.
    pub fn points(&self) -> usize {
        let lengths = self.tuned.iter().map(|(_, values)| values.len());
        lengths.fold(1, usize::saturating_mul)
    }

    /// The parameters at point `index` of the grid; the last tuned parameter changes fastest.
    pub fn point(&self, mut index: usize) -> Map<String, Value> {
        let mut point = self.fixed.clone();
        for (name, values) in self.tuned.iter().rev() {
            let length = values.len().max(1);
            if let Some(value) = values.get(index % length) {
                point.insert(name.clone(), value.clone());
            }
            index /= length;
        }
        point
    }
}

/// How tuned parameters are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Select {
    /// The criterion.
    pub by: SelectBy,
    /// Folds of the inner cross-validation.
    #[schemars(range(min = 2, max = 100))]
    pub folds: usize,
    /// The samples that selection sees.
    pub on: SelectOn,
    /// Cross-validate on a stratified part of this many training samples.
    #[schemars(range(min = 10))]
    pub subsample: Option<usize>,
    /// Choose once per dataset, on the first split's training samples, instead of once per split.
    /// Other splits test on some of these samples, so results carry a warning.
    pub once: bool,
}

impl Default for Select {
    fn default() -> Self {
        Self {
            by: SelectBy::CrossValidation,
            folds: 5,
            on: SelectOn::Training,
            subsample: None,
            once: false,
        }
    }
}

/// The criterion of selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SelectBy {
    /// Accuracy in cross-validation.
    CrossValidation,
}

/// The data that selection sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SelectOn {
    /// The training samples of a split.
    Training,
    /// Choose on the test samples, as some published code does. Every rendering carries a warning.
    Test,
}

/// Significance tests against one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Method name or label that the others are tested against; its label once loaded.
    pub against: String,
    /// Significance levels, each between 0 and 1.
    #[serde(default = "default_levels")]
    #[schemars(schema_with = "levels_schema")]
    pub levels: Vec<f64>,
    /// The tests to run.
    #[serde(default = "default_tests")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub test: Vec<Test>,
}

fn default_levels() -> Vec<f64> {
    vec![0.05, 0.1]
}

fn levels_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "minItems": 1,
        "uniqueItems": true,
    })
}

fn default_tests() -> Vec<Test> {
    vec![Test::PairedT, Test::NadeauBengio]
}

/// A significance test over splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// The paper's.
    PairedT,
    /// Corrected for the overlap of the training sets.
    NadeauBengio,
}

/// Renderings a spec can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rendering {
    /// The table of accuracies.
    Table,
}
