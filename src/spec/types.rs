//! The types of a spec. Keys are snake case, values such as `cross-validation` are kebab case.

use std::collections::BTreeMap;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use npsvc::params::Range;
use npsvc::{Kernel, Shape, Storage};

use super::schema::slurm_option;
use crate::data::{DatasetSpec, Splits};
use crate::methods::{is_default, spec_parameters};

/// An experiment: which methods on which datasets, how split, selected, compared and rendered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
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
    /// The table of the paper to compare with.
    #[serde(default)]
    pub reproduces: Option<Reproduces>,
    /// How parameters were set; shown in the report, changes nothing.
    #[serde(default)]
    pub protocol: Option<Protocol>,
    /// Root of the seed tree; below 2^53, so that every reader of JSON reads it exactly.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Registered datasets by name, with or without options, or your own files.
    #[schemars(with = "Vec<Value>", length(min = 1), extend("items" = {"$ref": "#/$defs/Dataset"}))]
    pub datasets: Vec<DatasetSpec>,
    /// The outer splits, shared by all methods.
    #[serde(default)]
    pub splits: Splits,
    /// The kernel, shared by all methods.
    #[serde(default)]
    pub kernel: Kernel,
    /// Added to the diagonal of the training kernel matrix (the paper's epsilon).
    #[serde(default = "default_jitter")]
    #[schemars(range(min = 0.0))]
    pub jitter: f64,
    /// How the training kernel matrix is held: `full`, or as a `pivoted` factor of low rank.
    #[serde(default, skip_serializing_if = "Factor::is_full")]
    pub factor: Factor,
    /// Methods by name, with or without parameters. A list or a range of values is tuned.
    #[schemars(with = "Vec<Value>", length(min = 1), extend("items" = {"$ref": "#/$defs/Method"}))]
    pub methods: Vec<MethodSpec>,
    /// How to choose parameters that are given as lists or ranges.
    #[serde(default)]
    pub select: Option<Select>,
    /// Significance tests against one method.
    #[serde(default)]
    pub compare: Option<Compare>,
    /// What to store next to the ledger for figures, for the first split of every dataset.
    #[serde(default)]
    #[schemars(extend("uniqueItems" = true))]
    pub record: Vec<Recording>,
    /// What to write next to the ledger; everything if left out.
    #[serde(default = "default_render")]
    #[schemars(extend("uniqueItems" = true))]
    pub render: Vec<Rendering>,
    /// What `npsvcpp submit --slurm` requests from a cluster. It changes no numbers and is not part of a plan.
    #[serde(default, skip_serializing)]
    pub slurm: Option<Slurm>,
}

impl Experiment {
    /// Whether parameters are chosen on validation samples.
    pub fn chooses_on_validation(&self) -> bool {
        self.select.as_ref().is_some_and(|select| select.on == SelectOn::Validation)
    }

    /// Whether parameters are chosen once per dataset: on request, or because all trainings on its own
    /// split make the same choice.
    pub fn chooses_once(&self) -> bool {
        self.select.as_ref().is_some_and(|select| select.once || self.splits.seeds > 1)
    }
}

pub(super) fn default_seed() -> u64 {
    2024
}

fn default_jitter() -> f64 {
    1e-6
}

fn default_render() -> Vec<Rendering> {
    vec![Rendering::Table, Rendering::Figures, Rendering::Report]
}

/// How the training kernel matrix is held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub enum Factor {
    /// All of it, n x n.
    #[default]
    Full,
    /// A pivoted partial Cholesky factor, n x rank.
    Pivoted(Pivoted),
}

impl Factor {
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }

    /// The storage with this jitter, which a factor does not have.
    pub fn storage(&self, jitter: f64) -> Storage {
        match *self {
            Self::Full => Storage::Full { jitter },
            Self::Pivoted(Pivoted { rank, tolerance }) => Storage::Pivoted { rank, tolerance },
        }
    }
}

spec_parameters! {
    /// Where a pivoted factor ends.
    pub struct Pivoted {
        /// Largest number of columns; without it, the tolerance alone decides.
        #[schemars(range(min = 1))]
        rank: Option<usize> = None;
        /// The factor ends when the error's trace is below this, relative to that of the kernel matrix.
        tolerance: f64 = 1e-6, Range::Below(0.0, 1.0);
    }
}

/// A table of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
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

/// A method with its parameters; each may be one value, a list or a range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MethodSpec {
    pub method: String,
    /// Name in tables.
    pub label: String,
    /// Parameters with a single value, as JSON.
    pub fixed: Map<String, Value>,
    /// Parameters to be tuned: name and the values to try, ranges already expanded.
    pub tuned: Vec<(String, Vec<Value>)>,
    /// Points to try instead of a grid, each with all tuned parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sampled: Vec<Map<String, Value>>,
}

impl MethodSpec {
    /// How many parameter points there are; 1 where nothing is tuned.
    pub fn points(&self) -> usize {
        if !self.sampled.is_empty() {
            return self.sampled.len();
        }
        let lengths = self.tuned.iter().map(|(_, values)| values.len());
        lengths.fold(1, usize::saturating_mul)
    }

    /// The parameters at point `index`; in a grid the last tuned parameter changes fastest.
    pub fn point(&self, mut index: usize) -> Map<String, Value> {
        let mut point = self.fixed.clone();
        if let Some(sampled) = self.sampled.get(index) {
            point.extend(sampled.clone());
            return point;
        }
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

spec_parameters! {
    /// How tuned parameters are chosen.
    pub struct Select {
        /// The criterion.
        by: SelectBy = SelectBy::CrossValidation;
        /// Folds of the inner cross-validation.
        folds: usize = 5, Range::Within(2.0, 100.0);
        /// The samples that selection sees.
        on: SelectOn = SelectOn::Training;
        /// Cross-validate on a stratified part of this many training samples.
        #[schemars(range(min = 10))]
        subsample: Option<usize> = None;
        /// Choose once per dataset, on the first split's training samples, instead of once per split.
        /// Other splits test on some of these samples, so results carry a warning.
        once: bool = false;
        /// Which points are tried.
        #[serde(skip_serializing_if = "is_default")]
        search: Search = Search::Grid;
        /// Successive halving: drop the worse half of the points after every fold. Results carry a note.
        #[serde(skip_serializing_if = "is_default")]
        halving: bool = false;
    }
}

impl Select {
    /// The smallest training set on which points are compared, of a split's training set of this shape.
    pub fn shape(&self, shape: Shape) -> Shape {
        if self.on != SelectOn::Training {
            return shape;
        }
        let n = self.subsample.map_or(shape.n, |size| size.min(shape.n));
        let n = n - n.div_ceil(self.folds);
        Shape { n, rank: shape.rank.map(|rank| rank.min(n)), ..shape }
    }
}

/// Which points of the lists and ranges are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// All.
    #[default]
    Grid,
    /// Points drawn at random. Ranges without a step are drawn from as a whole.
    Random(Budget),
    /// Points drawn at random, but evenly spread over every parameter's values.
    LatinHypercube(Budget),
}

/// How many points are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Budget {
    /// Points per method, at most: points drawn twice are tried once.
    #[schemars(range(min = 2, max = 10000))]
    pub budget: usize,
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
    /// The training samples of a split, by cross-validation.
    Training,
    /// The dataset's own validation samples: fit on all training samples, once per point.
    Validation,
    /// The test samples, as in some published code. Every rendering carries a warning.
    Test,
}

/// Significance tests against one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Compare {
    /// Method name or label that the others are tested against; its label once loaded.
    pub against: String,
    /// Significance levels, each between 0 and 1.
    #[serde(default = "default_levels")]
    #[schemars(
        length(min = 1),
        extend(
            "items" = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "uniqueItems" = true
        )
    )]
    pub levels: Vec<f64>,
    /// The tests to run.
    #[serde(default = "default_tests")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
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

/// Records of a fit that cost extra time or space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recording {
    /// Test accuracy after every iteration, for methods that keep a trace.
    Evolution,
    /// A map of the test samples before and after, for methods that learn a representation.
    Embedding,
}

/// Renderings a spec can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rendering {
    /// The table of accuracies: `table.md`, `table.tex` and `table.csv`.
    Table,
    /// Every figure.
    Figures,
    /// Of the figures, the ranks of the methods with the critical difference.
    CriticalDifference,
    /// `report.html`, one page with everything.
    Report,
}

/// What to request from a Slurm cluster. Options of `npsvcpp submit` override it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Slurm {
    /// The partition; the cluster's default if left out.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._,-]*$"))]
    pub partition: Option<String>,
    /// The account that is charged.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub account: Option<String>,
    /// The quality of service.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub qos: Option<String>,
    /// Modules to load before the program starts.
    #[schemars(inner(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._/+-]*$")))]
    pub modules: Vec<String>,
    /// Lines of shell to run before the program starts.
    #[schemars(inner(regex(pattern = r"^[^\x00-\x1f]+$")))]
    pub setup: Vec<String>,
    /// Further options of sbatch, such as `--constraint=avx512`.
    #[schemars(inner(regex(pattern = r"^--[a-z][^\x00-\x1f]*$")))]
    pub options: Vec<String>,
    /// What a task gets.
    pub task: Resources,
    /// Methods, by name or label, whose tasks get other resources; they are submitted in their own arrays.
    pub methods: BTreeMap<String, Resources>,
}

/// What a task of a job array gets. `npsvcpp submit` takes the same options.
#[derive(Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resources {
    /// Limit the time of a task, such as `4:00:00`; the program is asked to end two minutes before.
    #[arg(long, value_name = "TIME", value_parser = |text: &str| slurm_option("time", text))]
    #[schemars(
        regex(pattern = r"^[0-9]+(-[0-9]+)?(:[0-9]+){0,2}$"),
        extend("patternErrorMessage" = "a time as Slurm writes it, such as `30` (minutes), `4:00:00` or `1-12`, in quotes")
    )]
    pub time: Option<String>,
    /// Give a task this much memory, such as `8G`; estimated if left out.
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| slurm_option("memory", text))]
    #[schemars(
        regex(pattern = r"^[1-9][0-9]{0,11}[KMGT]?$"),
        extend("patternErrorMessage" = "a size as Slurm writes it, such as `500M` or `8G`")
    )]
    pub memory: Option<String>,
    /// Give a task this many cores; 1 if left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    #[schemars(range(min = 1, max = 4096))]
    pub cpus: Option<u32>,
    /// Give a task GPUs, such as `1` or `a100:2`.
    #[arg(long, value_name = "GPUS", value_parser = |text: &str| slurm_option("gpus", text))]
    #[schemars(
        regex(pattern = r"^[A-Za-z0-9._-]+(:[0-9]+)?$"),
        extend("patternErrorMessage" = "a number or a kind and a number, such as `a100:2`, in quotes")
    )]
    pub gpus: Option<String>,
}

impl Resources {
    /// These, and what they leave out from `other`.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            time: self.time.clone().or_else(|| other.time.clone()),
            memory: self.memory.clone().or_else(|| other.memory.clone()),
            cpus: self.cpus.or(other.cpus),
            gpus: self.gpus.clone().or_else(|| other.gpus.clone()),
        }
    }
}
