//! One line of a ledger: how a cell ended.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{RecordedCertificate, Selection};

/// How a cell ended, in order of what counts more between ledgers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Never started, because it needs something that is missing; `error` names it.
    Skipped,
    /// Started, but ended in an error; `error` is its text. `--retry-failed` tries again.
    #[default]
    Failed,
    /// Fitted, predicted and scored.
    Ok,
}

/// One cell of an experiment: a method on a split of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Record {
    /// Hash of dataset, data hash, split, method, parameters and the method's code version.
    pub cell: String,
    pub experiment: String,
    pub dataset: String,
    /// Registry name of the method, such as `twsvm`.
    pub method: String,
    /// The name shown in tables, which distinguishes two entries of one method.
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    pub split: usize,
    /// Of a network: which of its trainings on this split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_seed: Option<usize>,
    pub seed: u64,
    pub n_train: usize,
    pub n_test: usize,
    pub dims: usize,
    pub classes: usize,
    /// The parameters as used: after defaults, and after selection if there was one.
    pub params: Value,
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Percent of the test samples classified correctly.
    pub accuracy: Option<f64>,
    /// Mean over the classes of the percentage classified correctly.
    pub balanced_accuracy: Option<f64>,
    pub fit_seconds: Option<f64>,
    pub predict_seconds: Option<f64>,
    /// Peak resident memory of the whole process while the cell ran, data and all, in MiB. Known if cells
    /// run one at a time or in child processes, and the system measures it.
    pub peak_mb: Option<f64>,
    pub certificate: Option<RecordedCertificate>,
    /// How the parameters were chosen and the inner scores, where a grid was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    pub started: String,
    /// Distinguishes machines without naming them.
    pub host: String,
    pub threads: usize,
    pub device: String,
    pub version: String,
    pub git: Option<String>,
    /// The key of the split in `splits.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    /// Of the encoder that made the vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights_hash: Option<String>,
    /// The kernel matrices, which all methods on a split share and no method's time contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_seconds: Option<f64>,
    /// Rank of the factor that replaces the kernel matrix, and the share of the trace it loses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor_rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor_error: Option<f64>,
    /// Smallest pivot of a factorisation of the kernel matrix: evidence that the matrix is positive definite. Left out
    /// if the matrix is large and not factored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_pivot: Option<f64>,
    /// What the choice of parameters took in this cell: 0 if there was none, or another split's was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_seconds: Option<f64>,
    /// Fields of other versions, and fields that another version writes in another form.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Record {
    /// The record of a line, or what the line is instead.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        // A line end in the middle of a text would be another mistake.
        let record: Self = serde_json::from_slice(line.trim_ascii_end()).map_err(|error| {
            if error.is_eof() {
                return "a line that is not a ledger record: it breaks off".to_owned();
            }
            // The parser counts lines and columns from the begin of this line, not of the file.
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or(&text);
            format!("a line that is not a ledger record ({reason})")
        })?;
        record.impossible().map_or(Ok(record), Err)
    }

    /// A number that no run writes, so the line was damaged or edited.
    fn impossible(&self) -> Option<String> {
        const PERCENT: &str = "a percentage of 0 to 100";
        const AMOUNT: &str = "a number that is not negative";
        if self.status == Status::Ok && self.accuracy.is_none() {
            return Some(format!("a record whose `accuracy` is missing, expected {PERCENT}"));
        }
        let numbers = [
            ("accuracy", self.accuracy, PERCENT),
            ("balanced_accuracy", self.balanced_accuracy, PERCENT),
            ("fit_seconds", self.fit_seconds, AMOUNT),
            ("predict_seconds", self.predict_seconds, AMOUNT),
            ("peak_mb", self.peak_mb, AMOUNT),
        ];
        numbers.into_iter().find_map(|(name, value, expected)| {
            // A mean of percentages may be off by a rounding.
            let range =
                if expected == PERCENT { -1e-9..=100.0 + 1e-9 } else { 0.0..=f64::INFINITY };
            let value = value.filter(|value| !range.contains(value))?;
            Some(format!("a record whose `{name}` is {value}, expected {expected}"))
        })
    }

    /// The record of an object in which only [`ESSENTIAL`] fields need to have the expected form. Any other that has
    /// another form is kept as it is, and its typed field is empty.
    fn tolerant(object: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let blank = Self::serialize(&Self::default(), serde_json::value::Serializer)?;
        let blank: Map<String, Value> = serde_json::from_value(blank)?;
        let is_sound = |name: &String, value: &Value| {
            let mut blank = blank.clone();
            blank.insert(name.clone(), value.clone());
            ESSENTIAL.contains(&name.as_str()) || Self::deserialize(&blank).is_ok()
        };
        let (sound, strange): (Map<_, _>, Map<_, _>) =
            object.into_iter().partition(|(name, value)| is_sound(name, value));
        let mut fields = blank.clone();
        fields.retain(|name, _| !ESSENTIAL.contains(&name.as_str()));
        fields.extend(sound);
        let mut record = Self::deserialize(&fields)?;
        record.extra.extend(strange);
        Ok(record)
    }
}

/// What a record is of and how it ended. A line without one of these is not a record.
const ESSENTIAL: [&str; 7] =
    ["cell", "experiment", "dataset", "method", "label", "split", "status"];

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As a value, a field of `extra` takes the place of the empty one of the same name.
        let value = Self::serialize(self, serde_json::value::Serializer);
        value.map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Map::deserialize(deserializer)?;
        let record = Self::deserialize(&object);
        record.or_else(|_| Self::tolerant(object)).map_err(D::Error::custom)
    }
}
