//! Text forms of kernels and certificates (features `serde` and `schemars`).
//!
//! The forms are part of the identity of recorded results, so they do not follow from the Rust types:
//! a kernel is `{"gaussian":{"width":"mean-squared-distance"}}` or `"linear"`, and a certificate has
//! the key `converged` next to `termination`. The doc comments of the text types are the descriptions
//! in JSON schemas.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::certificate::{Certificate, Termination};
use crate::kernel::{self, Width};

/// The kernel an experiment uses, as written in its spec.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Kernel {
    /// `exp(-|x - x'|^2 / t)`.
    Gaussian(Gaussian),
    /// `<x, x'>`.
    Linear,
    /// `(scale <x, x'> + offset)^degree`.
    Polynomial(Polynomial),
}

/// Parameters of the Gaussian kernel.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Gaussian {
    /// The width t: a positive number, or `mean-squared-distance` of the training samples.
    width: Width,
}

/// Parameters of the polynomial kernel.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Polynomial {
    #[cfg_attr(feature = "schemars", schemars(range(min = 1, max = 20)))]
    degree: u32,
    offset: f64,
    scale: f64,
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

impl From<Kernel> for kernel::Kernel {
    fn from(text: Kernel) -> Self {
        match text {
            Kernel::Gaussian(Gaussian { width }) => Self::Gaussian { width },
            Kernel::Linear => Self::Linear,
            Kernel::Polynomial(Polynomial {
                degree,
                offset,
                scale,
            }) => Self::Polynomial {
                degree,
                offset,
                scale,
            },
        }
    }
}

impl From<kernel::Kernel> for Kernel {
    fn from(kernel: kernel::Kernel) -> Self {
        match kernel {
            kernel::Kernel::Gaussian { width } => Self::Gaussian(Gaussian { width }),
            kernel::Kernel::Linear => Self::Linear,
            kernel::Kernel::Polynomial {
                degree,
                offset,
                scale,
            } => Self::Polynomial(Polynomial {
                degree,
                offset,
                scale,
            }),
        }
    }
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
        deserializer.deserialize_any(NumberOrWord)
    }
}

struct NumberOrWord;

impl Visitor<'_> for NumberOrWord {
    type Value = Width;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

#[cfg(feature = "schemars")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Kernel, MEAN_SQUARED_DISTANCE, Width, kernel};

    impl JsonSchema for kernel::Kernel {
        fn schema_name() -> Cow<'static, str> {
            Kernel::schema_name()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            Kernel::json_schema(generator)
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
}

/// The keys of a certificate. Records written before `termination` existed have only `converged`.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Certificate")]
struct CertificateText {
    primal: f64,
    dual: f64,
    gap: f64,
    iterations: usize,
    converged: bool,
    #[serde(default)]
    termination: Option<Termination>,
}

impl Serialize for Certificate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = CertificateText {
            primal: self.primal,
            dual: self.dual,
            gap: self.gap,
            iterations: self.iterations,
            converged: self.converged(),
            termination: Some(self.termination),
        };
        text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Certificate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = CertificateText::deserialize(deserializer)?;
        let inferred = if text.converged {
            Termination::Solved
        } else {
            Termination::IterationLimit
        };
        Ok(Self {
            primal: text.primal,
            dual: text.dual,
            gap: text.gap,
            iterations: text.iterations,
            termination: text.termination.unwrap_or(inferred),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_keep_their_text() {
        let polynomial = kernel::Kernel::Polynomial {
            degree: 2,
            offset: 0.5,
            scale: 2.0,
        };
        for (kernel, text) in [
            (
                kernel::Kernel::default(),
                r#"{"gaussian":{"width":"mean-squared-distance"}}"#,
            ),
            (
                kernel::Kernel::Gaussian {
                    width: Width::Fixed(2.0),
                },
                r#"{"gaussian":{"width":2.0}}"#,
            ),
            (kernel::Kernel::Linear, r#""linear""#),
            (
                polynomial,
                r#"{"polynomial":{"degree":2,"offset":0.5,"scale":2.0}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&kernel).unwrap(), text);
            assert_eq!(
                serde_json::from_str::<kernel::Kernel>(text).unwrap(),
                kernel
            );
        }
    }

    #[test]
    fn missing_parameters_have_defaults_and_unknown_ones_are_refused() {
        let read = serde_json::from_str::<kernel::Kernel>;
        assert_eq!(
            read(r#"{"gaussian":{}}"#).unwrap(),
            kernel::Kernel::default()
        );
        let cubic = kernel::Kernel::Polynomial {
            degree: 3,
            offset: 1.0,
            scale: 1.0,
        };
        assert_eq!(read(r#"{"polynomial":{}}"#).unwrap(), cubic);
        let sentence = |text| read(text).unwrap_err().to_string();
        let unknown = sentence(r#"{"gaussian":{"t":1}}"#);
        assert!(
            unknown.starts_with("unknown field `t`, expected `width`"),
            "{unknown}"
        );
        let negative = sentence(r#"{"gaussian":{"width":-1}}"#);
        let expected = "invalid value: floating point `-1.0`, expected a positive number or `mean-squared-distance`";
        assert!(negative.starts_with(expected), "{negative}");
    }

    #[test]
    fn graph_options_keep_their_text() {
        let text = r#"{"weights":"mean-squared-distance","neighbours":null}"#;
        let options = kernel::GraphOptions::default();
        assert_eq!(serde_json::to_string(&options).unwrap(), text);
        let read = serde_json::from_str::<kernel::GraphOptions>;
        assert_eq!(read("{}").unwrap(), options);
        let distances = read(r#"{"weights":"mean-distance","neighbours":3}"#).unwrap();
        assert_eq!(distances.weights, kernel::GraphWeights::MeanDistance);
        assert_eq!(distances.neighbours, Some(3));
        assert!(read(r#"{"k":3}"#).is_err());
    }

    #[test]
    fn certificates_are_read_with_and_without_a_termination() {
        let old = r#"{"primal":2.0,"dual":1.5,"gap":0.5,"iterations":3,"converged":"#;
        for (converged, termination) in [
            (true, Termination::Solved),
            (false, Termination::IterationLimit),
        ] {
            let text = format!("{old}{converged}}}");
            let found: Certificate = serde_json::from_str(&text).unwrap();
            assert_eq!(found.termination, termination);
        }
        let stalled = format!(r#"{old}false,"termination":"stalled"}}"#);
        let found: Certificate = serde_json::from_str(&stalled).unwrap();
        assert_eq!(found.termination, Termination::Stalled);
        assert_eq!(serde_json::to_string(&found).unwrap(), stalled);
    }
}
