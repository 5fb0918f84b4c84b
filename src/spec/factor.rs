//! How the training kernel matrix is stored, as a spec writes it.

use npsvc::Storage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the training kernel matrix is held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
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

/// Where a pivoted factor ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pivoted {
    /// Largest number of columns; none means as many as the tolerance asks for.
    #[schemars(range(min = 1))]
    pub rank: Option<usize>,
    /// The factor ends when the error's trace is below this, relative to that of the kernel matrix.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1))]
    pub tolerance: f64,
}

impl Default for Pivoted {
    fn default() -> Self {
        Self { rank: None, tolerance: 1e-6 }
    }
}
