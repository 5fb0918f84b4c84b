//! `--only KEY=VALUE`: a part of a plan.

use std::fmt;
use std::str::FromStr;

use super::{Plan, PlannedCell};
use crate::spec::Experiment;
use crate::wording::closest;

const KEYS: [&str; 4] = ["dataset", "method", "split", "seed"];

/// One condition on a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// One of [`KEYS`].
    key: &'static str,
    /// A name, a method's name or label, or the number of a split or a training seed.
    value: String,
}

impl Filter {
    pub fn matches(&self, plan: &Plan, cell: &PlannedCell) -> bool {
        let (dataset, label, split, seed) = plan.place(cell);
        match self.key {
            "dataset" => dataset == self.value,
            "method" => label == self.value || plan.methods[cell.method].method == self.value,
            "split" => split.to_string() == self.value,
            _ => seed.to_string() == self.value,
        }
    }

    /// Whether a cell meets the conditions: those with the same key are alternatives, those with different keys must
    /// all hold.
    pub fn keep(filters: &[Self], plan: &Plan, cell: &PlannedCell) -> bool {
        filters.iter().all(|one| {
            let mut alternatives = filters.iter().filter(|other| other.key == one.key);
            alternatives.any(|filter| filter.matches(plan, cell))
        })
    }

    /// Whether the conditions allow cells of a dataset.
    pub fn keep_dataset(filters: &[Self], name: &str) -> bool {
        let mut named = filters.iter().filter(|filter| filter.key == "dataset").peekable();
        named.peek().is_none() || named.any(|filter| filter.value == name)
    }

    /// A sentence if `experiment` has no such dataset or method, for which no data is needed.
    pub fn misnames(&self, experiment: &Experiment) -> Option<String> {
        let Self { key, value } = self;
        let methods = &experiment.methods;
        let known: Vec<String> = match *key {
            "dataset" => experiment.datasets.iter().map(|dataset| dataset.name()).collect(),
            "method" if methods.iter().any(|method| method.method == *value) => return None,
            "method" => methods.iter().map(|method| method.label.clone()).collect(),
            _ => return None,
        };
        if known.contains(value) {
            return None;
        }
        // A method goes by its label or its name.
        let other = methods.iter().filter(|_| *key == "method").map(|one| one.method.as_str());
        let names = known.iter().map(String::as_str).chain(other);
        let hint =
            closest(value, names).map_or(String::new(), |it| format!("; did you mean `{it}`?"));
        let known = known.join("`, `");
        Some(format!("no {key} `{value}` in this experiment, expected one of `{known}`{hint}"))
    }

    /// A sentence if the filter matches nothing in `plan`.
    pub fn misses(&self, plan: &Plan) -> Option<String> {
        if plan.cells.iter().any(|cell| self.matches(plan, cell)) {
            return None;
        }
        self.misnames(&plan.experiment).or_else(|| {
            let noun = if self.key == "seed" { "training seed" } else { self.key };
            let value = &self.value;
            Some(format!("no {noun} {value} in this experiment, they count from 0"))
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected dataset=NAME, method=NAME, split=NUMBER or seed=NUMBER";
        let (key, value) = text.split_once('=').ok_or_else(|| format!("no `=`, {expected}"))?;
        let known = KEYS.into_iter().find(|known| *known == key.trim());
        let key = known.ok_or_else(|| format!("unknown key `{}`, {expected}", key.trim()))?;
        let mut value = value.trim().to_owned();
        if ["split", "seed"].contains(&key) {
            let number = value.parse::<usize>().map(|number| number.to_string());
            let refused = |_| format!("{key} `{value}` is not a whole number, {expected}");
            value = number.map_err(refused)?;
        }
        Ok(Self { key, value })
    }
}
