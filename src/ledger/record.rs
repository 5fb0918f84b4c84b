//! One line of a ledger: how a cell ended.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{RecordedCertificate, Selection, crc};

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
    /// The line of a ledger, with its checksum and a line end.
    pub fn line(&self) -> Vec<u8> {
        let text = serde_json::to_vec(self).expect("a record can be written as JSON");
        crc::add(text)
    }

    /// All fields as JSON, in their order.
    pub fn fields(&self) -> Map<String, Value> {
        match Self::serialize(self, serde_json::value::Serializer) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    /// The record of a line, or what the line is instead.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        // A line end in the middle of a text would be another mistake.
        let line = line.trim_ascii_end();
        let mut record = Self::from_json(line).map_err(|error| {
            if error.is_eof() {
                return "a line that is not a ledger record: it breaks off".to_owned();
            }
            // The parser counts lines and columns from the begin of this line, not of the file.
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or(&text);
            format!("a line that is not a ledger record ({reason})")
        })?;
        if let Some(reason) = record.impossible() {
            return Err(reason);
        }
        // The checksum belongs to the line; a line that is written again gets a new one.
        if record.extra.shift_remove(crc::KEY).is_some() {
            crc::check(line)?;
        }
        Ok(record)
    }

    /// A ledger may have 100,000 lines, so the usual line is read in one pass. Any other takes the tolerant way.
    fn from_json(line: &[u8]) -> Result<Self, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_slice(line);
        let direct =
            Self::deserialize(&mut reader).and_then(|record| reader.end().map(|()| record));
        direct.or_else(|_| serde_json::from_slice(line))
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
        let out_of_range = numbers.into_iter().find_map(|(name, value, expected)| {
            // A mean of percentages may be off by a rounding.
            let range =
                if expected == PERCENT { -1e-9..=100.0 + 1e-9 } else { 0.0..=f64::INFINITY };
            let value = value.filter(|value| !range.contains(value))?;
            Some(format!("a record whose `{name}` is {value}, expected {expected}"))
        });
        out_of_range.or_else(|| self.fraction_of_a_sample())
    }

    /// An accuracy that no number of correctly classified test samples has.
    fn fraction_of_a_sample(&self) -> Option<String> {
        let (accuracy, n_test) = (self.accuracy?, self.n_test);
        let correct = accuracy * n_test as f64 / 100.0;
        // Rounding moves it by far less, for as many samples as a dataset may have.
        if (correct - correct.round()).abs() < 1e-6 {
            return None;
        }
        Some(format!(
            "a record whose `accuracy` is {accuracy}, which is {correct} of {n_test} test samples, expected a whole number"
        ))
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

/// The cell that a line names, even if the line breaks off.
pub(super) fn cell(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        cell: String,
    }
    if let Ok(named) = serde_json::from_slice::<Named>(line) {
        return Some(named.cell);
    }
    let text = str::from_utf8(line.strip_prefix(br#"{"cell":""#)?).ok()?;
    let (cell, _) = text.split_once('"')?;
    Some(cell.to_owned())
}

/// What a record is of and how it ended. A line without one of these is not a record.
const ESSENTIAL: [&str; 5] = ["cell", "dataset", "method", "split", "status"];

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
