//! A dataset as an experiment names it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EncoderSpec, FilesSpec, registry};

/// A dataset of the registry with its options, or the user's own files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DatasetSpec {
    Registered { name: String, options: DatasetOptions },
    Files(FilesSpec),
}

impl DatasetSpec {
    /// The name shown in tables, unique within an experiment.
    pub fn name(&self) -> String {
        match self {
            Self::Registered { name, .. } => name.clone(),
            Self::Files(files) => files.name(),
        }
    }

    /// Whether the data comes with its own split, which is known without the data.
    pub fn has_own_split(&self) -> bool {
        match self {
            Self::Registered { name, .. } => {
                registry::find(name).is_ok_and(|entry| entry.manifest.train.is_some())
            }
            Self::Files(files) => files.test.is_some(),
        }
    }
}

/// Options every registered dataset takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct DatasetOptions {
    /// Use a seeded random part of this many samples.
    #[schemars(range(min = 4))]
    pub subsample: Option<usize>,
    /// Train on the publisher's training file and test on its test file, as a fixed split.
    #[serde(skip_serializing_if = "is_false")]
    pub official_split: bool,
    /// Measure accuracies on the validation samples instead of the test samples, for studies that must
    /// not see these. For datasets that have some, such as `flowers102`.
    #[serde(skip_serializing_if = "EvaluateOn::is_test")]
    pub evaluate_on: EvaluateOn,
    /// For images: what makes vectors of them. A ResNet34 as the paper's if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<EncoderSpec>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The samples on which accuracies are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluateOn {
    #[default]
    Test,
    Validation,
}

impl EvaluateOn {
    fn is_test(&self) -> bool {
        *self == Self::Test
    }
}
