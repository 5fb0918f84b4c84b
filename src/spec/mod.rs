//! Experiment specs: the YAML types, their schema, and validation with positions.
//!
//! The schema of these types is what validates a file, so the schema in `docs/` cannot drift from
//! what the program accepts. Which methods and datasets exist is handed in as a [`Catalogue`]:
//! this module knows neither.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kernel::Kernel;

/// A whole experiment, validated, with defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Experiment {
    /// Short name; results go to `results/<name>`.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9._-]*$"))]
    pub name: String,
    /// Heading of tables and reports.
    #[serde(default)]
    pub title: String,
    /// Which table of the paper stands beside ours.
    #[serde(default)]
    pub reproduces: Option<Reproduces>,
    /// Root of the seed tree.
    #[serde(default = "default_seed")]
    pub seed: u64,
    #[schemars(with = "Vec<Value>")]
    pub datasets: Vec<DatasetSpec>,
    #[serde(default)]
    pub splits: Splits,
    #[serde(default)]
    pub kernel: Kernel,
    /// Added to the diagonal of the training kernel matrix (the paper's epsilon).
    #[serde(default = "default_jitter")]
    #[schemars(range(min = 0.0))]
    pub jitter: f64,
    #[schemars(with = "Vec<Value>")]
    pub methods: Vec<MethodSpec>,
    /// How to choose parameters that are given as lists or ranges.
    #[serde(default)]
    pub select: Option<Select>,
    #[serde(default)]
    pub compare: Option<Compare>,
    /// What to render besides the tables that are always written.
    #[serde(default = "default_render")]
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
    pub table: u32,
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

/// Options every registered dataset takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DatasetOptions {
    /// Use a seeded random part of this many samples.
    #[schemars(range(min = 4))]
    pub subsample: Option<usize>,
}

/// A dataset of the user's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilesSpec {
    /// Name shown in tables; the file's stem if left out.
    #[serde(default)]
    pub name: Option<String>,
    /// LIBSVM text (plain, .bz2, .gz), .csv, .npy or .npz; relative to the working folder.
    pub train: PathBuf,
    /// With a test file the split is fixed; without it, `train` is split at random.
    #[serde(default)]
    pub test: Option<PathBuf>,
    /// The format, where the file's name does not tell.
    #[serde(default)]
    pub format: Option<FileFormat>,
    /// CSV: name or number (from 1) of the label column; the last column if left out.
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    #[schemars(range(min = 4))]
    pub subsample: Option<usize>,
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
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Splits {
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
    /// Name in tables; the method's title if left out.
    pub label: Option<String>,
    /// Parameters with a single value, as JSON.
    pub fixed: Map<String, Value>,
    /// Parameters to be tuned: name and the values to try, ranges already expanded.
    pub tuned: Vec<(String, Vec<Value>)>,
}

/// Choice of tuned parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Select {
    pub by: SelectBy,
    #[schemars(range(min = 2, max = 100))]
    pub folds: usize,
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
    CrossValidation,
}

/// The data that selection sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SelectOn {
    Training,
    /// Choose on the test samples, as some published code does. Every rendering carries a warning.
    Test,
}

/// Significance tests against one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Compare {
    /// Method name or label that the others are tested against.
    pub against: String,
    #[serde(default = "default_levels")]
    pub levels: Vec<f64>,
    #[serde(default = "default_tests")]
    pub test: Vec<Test>,
}

fn default_levels() -> Vec<f64> {
    vec![0.05, 0.1]
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
    Table,
}
