//! `--only KEY=VALUE`: a part of a plan.

use std::fmt;
use std::str::FromStr;

use super::{Plan, PlannedCell};

/// One condition on a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    Dataset(String),
    /// A method's name or label.
    Method(String),
    Split(usize),
    /// A training seed.
    Seed(usize),
}

impl Filter {
    pub fn matches(&self, plan: &Plan, cell: &PlannedCell) -> bool {
        match self {
            Self::Dataset(name) => plan.datasets[cell.dataset].name == *name,
            Self::Method(name) => {
                let method = &plan.methods[cell.method];
                method.method == *name || method.label == *name
            }
            Self::Split(split) => cell.split == *split,
            Self::Seed(seed) => cell.training_seed == *seed,
        }
    }

    /// Whether a cell is wanted: filters of one key are alternatives, those of different keys must
    /// all hold.
    pub fn keep(filters: &[Self], plan: &Plan, cell: &PlannedCell) -> bool {
        let is_alike = |a: &Self, b: &Self| std::mem::discriminant(a) == std::mem::discriminant(b);
        filters.iter().all(|one| {
            let mut alternatives = filters.iter().filter(|other| is_alike(one, other));
            alternatives.any(|filter| filter.matches(plan, cell))
        })
    }

    /// A sentence where the filter can match nothing in `plan`.
    pub fn misses(&self, plan: &Plan) -> Option<String> {
        if plan.cells.iter().any(|cell| self.matches(plan, cell)) {
            return None;
        }
        let list = |names: Vec<&str>| names.join("`, `");
        Some(match self {
            Self::Dataset(name) => {
                let known = plan.datasets.iter().map(|dataset| dataset.name.as_str()).collect();
                format!("no dataset `{name}` in this experiment, expected one of `{}`", list(known))
            }
            Self::Method(name) => {
                let known = plan.methods.iter().map(|method| method.label.as_str()).collect();
                format!("no method `{name}` in this experiment, expected one of `{}`", list(known))
            }
            Self::Split(split) => format!("no split {split} in this experiment, they count from 0"),
            Self::Seed(seed) => {
                format!("no training seed {seed} in this experiment, they count from 0")
            }
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dataset(name) => write!(f, "dataset={name}"),
            Self::Method(name) => write!(f, "method={name}"),
            Self::Split(split) => write!(f, "split={split}"),
            Self::Seed(seed) => write!(f, "seed={seed}"),
        }
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected dataset=NAME, method=NAME, split=NUMBER or seed=NUMBER";
        let (key, value) = text.split_once('=').ok_or_else(|| format!("no `=`, {expected}"))?;
        let (key, value) = (key.trim(), value.trim());
        let number = || {
            let number = value.parse::<usize>();
            number.map_err(|_| format!("{key} `{value}` is not a whole number, {expected}"))
        };
        match key {
            "dataset" => Ok(Self::Dataset(value.to_owned())),
            "method" => Ok(Self::Method(value.to_owned())),
            "split" => number().map(Self::Split),
            "seed" => number().map(Self::Seed),
            other => Err(format!("unknown key `{other}`, {expected}")),
        }
    }
}
