//! Kernels, distances and the neighbour graph.

pub mod algebra;
mod exponential;
mod factor;
mod gram;
mod graph;
mod low_rank;
mod matrix;
mod pages;
pub mod registers;

pub use factor::{Cholesky, Lu, NotPositiveDefinite, columns, principal_submatrix, submatrix};
pub use gram::Gram;
pub use graph::{GraphOptions, GraphWeights, Laplacian};
pub use low_rank::{Factor, LowRank, Pivoted};
pub use matrix::mirror_lower;
pub use matrix::{Resolved, mean_squared_distance, view};

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The kernel an experiment uses, as written in its spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Kernel {
    /// `exp(-|x - x'|^2 / t)`.
    Gaussian(Gaussian),
    /// `<x, x'>`.
    Linear,
    /// `(scale <x, x'> + offset)^degree`.
    Polynomial(Polynomial),
}

impl Default for Kernel {
    fn default() -> Self {
        Self::Gaussian(Gaussian::default())
    }
}

/// Parameters of the Gaussian kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Gaussian {
    /// The width t: a positive number, or `mean-squared-distance` of the training samples.
    pub width: Width,
}

/// Parameters of the polynomial kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Polynomial {
    #[schemars(range(min = 1, max = 20))]
    pub degree: u32,
    pub offset: f64,
    pub scale: f64,
}

impl Default for Polynomial {
    fn default() -> Self {
        Self {
            degree: 3,
            offset: 1.0,
            scale: 1.0,
        }
    }
}

/// The width of a Gaussian kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Width {
    /// The mean of all squared distances between training samples, as in the paper.
    #[default]
    MeanSquaredDistance,
    Fixed(f64),
}

const MEAN_SQUARED_DISTANCE: &str = "mean-squared-distance";

impl Serialize for Width {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::MeanSquaredDistance => serializer.serialize_str(MEAN_SQUARED_DISTANCE),
            Self::Fixed(t) => serializer.serialize_f64(*t),
        }
    }
}

impl<'de> Deserialize<'de> for Width {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Width;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "a positive number or `{MEAN_SQUARED_DISTANCE}`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Width, E> {
                if text == MEAN_SQUARED_DISTANCE {
                    Ok(Width::MeanSquaredDistance)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(text), &self))
                }
            }
            fn visit_f64<E: de::Error>(self, t: f64) -> Result<Width, E> {
                if t.is_finite() && t > 0.0 {
                    Ok(Width::Fixed(t))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(t), &self))
                }
            }
            fn visit_u64<E: de::Error>(self, t: u64) -> Result<Width, E> {
                self.visit_f64(t as f64)
            }
            fn visit_i64<E: de::Error>(self, t: i64) -> Result<Width, E> {
                self.visit_f64(t as f64)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Width {
    fn schema_name() -> Cow<'static, str> {
        "Width".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "enum": [MEAN_SQUARED_DISTANCE]},
            ]
        })
    }
}
