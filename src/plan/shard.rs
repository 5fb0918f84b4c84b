//! `--shard I/N`: one of N parts of a plan, for N processes that know nothing of each other.
//!
//! A plan's groups (a dataset's splits) are dealt out in turn, so that a split's methods stay together
//! and share their kernel matrix, and every shard has its share of every dataset. Which shard a group
//! belongs to follows from the plan alone, never from what is already done.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::{Filter, Plan};
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
    /// Only cells that [`Filter::keep`] wants.
    pub only: Vec<Filter>,
    /// Only the cells of this shard.
    pub shard: Option<Shard>,
}

impl Part {
    /// Indices of its cells in the plan, in order.
    pub fn cells(&self, plan: &Plan) -> Vec<usize> {
        let numbers = self.shard.map(|shard| (shard.number, shard_numbers(plan, shard.count)));
        let is_in_shard = |index: usize| {
            numbers.as_ref().is_none_or(|(number, numbers)| numbers[index] == *number)
        };
        let is_wanted = |index: usize| Filter::keep(&self.only, plan, &plan.cells[index]);
        (0..plan.cells.len()).filter(|&index| is_in_shard(index) && is_wanted(index)).collect()
    }

    /// Name of its ledger and of what lies beside it; `None` for the folder's own. Shards of
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

/// The number of the shard that each cell of a plan belongs to, of `count` shards.
pub fn shard_numbers(plan: &Plan, count: usize) -> Vec<usize> {
    let groups = groups(plan).into_iter();
    groups.map(|group| group % count.max(1) + 1).collect()
}

/// How many groups a plan has.
pub fn group_count(plan: &Plan) -> usize {
    groups(plan).into_iter().max().map_or(0, |last| last + 1)
}

/// The number of every cell's group, in order of first appearance.
fn groups(plan: &Plan) -> Vec<usize> {
    let mut numbers = HashMap::new();
    plan.cells
        .iter()
        .map(|cell| {
            let next = numbers.len();
            *numbers.entry((cell.dataset, cell.split)).or_insert(next)
        })
        .collect()
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
    fn a_part_of_a_part_has_a_ledger_of_its_own() {
        let shard = Shard::new(1, 4);
        let whole = Part { shard, ..Part::default() };
        let some = |value: &str| Part { only: vec![value.parse().unwrap()], shard };
        assert_eq!(whole.name().unwrap(), "1-of-4");
        assert_ne!(some("method=svm").name(), whole.name());
        assert_ne!(some("method=svm").name(), some("method=twsvm").name());
        assert_eq!(Part::default().name(), None);
    }
}
