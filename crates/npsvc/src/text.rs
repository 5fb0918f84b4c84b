//! Text forms of kernel widths and dimensions (features `serde` and `schemars`).
//!
//! The forms are part of the identity of recorded results: a kernel is
//! `{"gaussian":{"width":"mean-squared-distance"}}` or `"linear"`, and a dimension `8` or `"2K"`.

use std::fmt;

use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::kernel::Width;
use crate::methods::Dimension;

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
        deserializer.deserialize_any(NumberOrWord {
            expected: "a positive number or `mean-squared-distance`",
            read: |found| match found {
                Unexpected::Str(MEAN_SQUARED_DISTANCE) => Some(Self::MeanSquaredDistance),
                Unexpected::Unsigned(t) if t > 0 => Some(Self::Fixed(t as f64)),
                Unexpected::Float(t) if t.is_finite() && t > 0.0 => Some(Self::Fixed(t)),
                _ => None,
            },
        })
    }
}

impl Serialize for Dimension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(d) => serializer.serialize_u64(*d as u64),
            Self::PerClass(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Dimension {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn positive(number: Option<usize>) -> Option<usize> {
            number.filter(|&number| number > 0)
        }
        deserializer.deserialize_any(NumberOrWord {
            expected: "a whole number above 0, or a multiple of the classes such as `2K`",
            read: |found| match found {
                Unexpected::Unsigned(d) => positive(d.try_into().ok()).map(Self::Fixed),
                Unexpected::Str(text) => {
                    positive(text.strip_suffix('K')?.parse().ok()).map(Self::PerClass)
                }
                _ => None,
            },
        })
    }
}

/// Reads a number or a word. Whole numbers stay whole, because `8` is not `8.0` in an identity.
struct NumberOrWord<T> {
    expected: &'static str,
    read: fn(Unexpected<'_>) -> Option<T>,
}

impl<T> NumberOrWord<T> {
    fn found<E: de::Error>(self, found: Unexpected<'_>) -> Result<T, E> {
        let invalid = || E::invalid_value(found, &self.expected);
        (self.read)(found).ok_or_else(invalid)
    }
}

impl<T> Visitor<'_> for NumberOrWord<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.found(Unexpected::Str(text))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.found(Unexpected::Float(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.found(Unexpected::Unsigned(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => self.found(Unexpected::Signed(number)),
        }
    }
}

#[cfg(feature = "schemars")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Dimension, MEAN_SQUARED_DISTANCE, Width};

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

    impl JsonSchema for Dimension {
        fn schema_name() -> Cow<'static, str> {
            "Dimension".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "anyOf": [
                    {"type": "integer", "minimum": 1},
                    {
                        "type": "string",
                        "pattern": "^[1-9][0-9]{0,5}K$",
                        "patternErrorMessage": "a multiple of the class count such as `2K`",
                    },
                ]
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernel;
    use crate::kernel::{GraphOptions, GraphWeights};

    #[test]
    fn kernels_keep_their_text() {
        let polynomial = Kernel::Polynomial { degree: 2, offset: 0.5, scale: 2.0 };
        for (kernel, text) in [
            (Kernel::default(), r#"{"gaussian":{"width":"mean-squared-distance"}}"#),
            (Kernel::Gaussian { width: Width::Fixed(2.0) }, r#"{"gaussian":{"width":2.0}}"#),
            (Kernel::Linear, r#""linear""#),
            (polynomial, r#"{"polynomial":{"degree":2,"offset":0.5,"scale":2.0}}"#),
        ] {
            assert_eq!(serde_json::to_string(&kernel).unwrap(), text);
            assert_eq!(serde_json::from_str::<Kernel>(text).unwrap(), kernel);
        }
    }

    #[test]
    fn missing_parameters_have_defaults_and_unknown_ones_are_refused() {
        let read = serde_json::from_str::<Kernel>;
        assert_eq!(read(r#"{"gaussian":{}}"#).unwrap(), Kernel::default());
        let cubic = Kernel::Polynomial { degree: 3, offset: 1.0, scale: 1.0 };
        assert_eq!(read(r#"{"polynomial":{}}"#).unwrap(), cubic);
        let sentence = |text| read(text).unwrap_err().to_string();
        let unknown = sentence(r#"{"gaussian":{"t":1}}"#);
        assert!(unknown.starts_with("unknown field `t`, expected `width`"), "{unknown}");
        let negative = sentence(r#"{"gaussian":{"width":-1}}"#);
        let expected =
            "invalid value: integer `-1`, expected a positive number or `mean-squared-distance`";
        assert!(negative.starts_with(expected), "{negative}");
    }

    #[test]
    fn graph_options_keep_their_text() {
        let text = r#"{"weights":"mean-squared-distance","neighbours":null}"#;
        let options = GraphOptions::default();
        assert_eq!(serde_json::to_string(&options).unwrap(), text);
        let read = serde_json::from_str::<GraphOptions>;
        assert_eq!(read("{}").unwrap(), options);
        let distances = read(r#"{"weights":"mean-distance","neighbours":3}"#).unwrap();
        assert_eq!(distances.weights, GraphWeights::MeanDistance);
        assert_eq!(distances.neighbours, Some(3));
        assert!(read(r#"{"k":3}"#).is_err());
    }
}
