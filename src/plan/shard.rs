//! `--shard I/N`: one of N parts of a plan, for N processes that know nothing of each other.
//!
//! A plan's groups (a dataset's splits) are distributed in turn. So the methods of a split stay together and
//! share their kernel matrix, and every shard has its share of every dataset. Which shard a group
//! belongs to follows from the plan alone, never from what is already done.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexSet;
use sha2::{Digest, Sha256};

use super::{Filter, Plan, PlannedCell};
use crate::data::hex;

/// Shard `number` of `count`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    count: usize,
}

impl Shard {
    /// `None` unless `1 <= number <= count`.
    pub fn new(number: usize, count: usize) -> Option<Self> {
        (1..=count).contains(&number).then_some(Self { number, count })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        parts
            .and_then(|(number, count)| Self::new(number.parse().ok()?, count.parse().ok()?))
            .ok_or("expected I/N, the I-th of N shards counted from 1, such as 2/8".to_owned())
    }
}

/// The part of a plan that a run is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Only cells that [`Filter::keep`] keeps.
    pub only: Vec<Filter>,
    /// Only the cells of this shard.
    pub shard: Option<Shard>,
}

impl Part {
    /// Its cells, in the order of the plan.
    pub fn cells<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a PlannedCell> {
        let Shard { number, count } = self.shard.unwrap_or(Shard { number: 1, count: 1 });
        let own = with_shard(plan, count).filter(move |(of, _)| *of == number);
        own.map(|(_, cell)| cell).filter(|cell| Filter::keep(&self.only, plan, cell))
    }

    /// Name of its ledger and of the files next to it; `None` for the folder's own. Shards of
    /// different parts have different names, so that they never write into one ledger.
    pub fn name(&self) -> Option<String> {
        let Shard { number, count } = self.shard?;
        let name = format!("{number}-of-{count}");
        if self.only.is_empty() {
            return Some(name);
        }
        let mut filters: Vec<String> = self.only.iter().map(ToString::to_string).collect();
        filters.sort();
        let digest = Sha256::digest(filters.join("\n").as_bytes());
        Some(format!("{name}-{}", hex(&digest[..4])))
    }
}

/// Every cell of a plan, in order, with the number of its shard, of `count` shards.
pub(crate) fn with_shard(plan: &Plan, count: usize) -> impl Iterator<Item = (usize, &PlannedCell)> {
    let mut groups = IndexSet::new();
    plan.cells.iter().map(move |cell| {
        let (group, _) = groups.insert_full((cell.dataset, cell.split));
        (group % count.max(1) + 1, cell)
    })
}

/// How many groups a plan has.
pub fn group_count(plan: &Plan) -> usize {
    plan.cells.iter().map(|cell| (cell.dataset, cell.split)).collect::<IndexSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_written_as_they_are_read() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for bad in ["", "2", "0/8", "9/8", "a/8", "1/0", "-1/3", "1/2/3"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_part_of_a_part_has_its_own_ledger() {
        let shard = Shard::new(1, 4);
        let whole = Part { shard, ..Part::default() };
        let some = |value: &str| Part { only: vec![value.parse().unwrap()], shard };
        assert_eq!(whole.name().unwrap(), "1-of-4");
        assert_ne!(some("method=svm").name(), whole.name());
        assert_ne!(some("method=svm").name(), some("method=twsvm").name());
        assert_eq!(Part::default().name(), None);
    }
}
