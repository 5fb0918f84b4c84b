//! Splits, parts and folds: every random choice under its own name in the seed tree.
//!
//! Draws use only 64-bit words of ChaCha8 and integer arithmetic, so they are the same on every
//! platform and do not change with a version of a random-number crate.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::DataError;
use super::{Dataset, hex};
use npsvc::seed::{Seed, shuffle};

/// The outer splits, the same for every method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Splits {
    /// How many random splits.
    #[schemars(range(min = 1, max = 10000))]
    pub repeats: usize,
    /// Share of the samples used for training; rounded down, as in the paper.
    #[schemars(range(min = 0.01, max = 0.99))]
    pub train_fraction: f64,
    /// Keep class shares equal in both parts. The paper does not.
    pub stratified: bool,
    /// Train each network this many times on a dataset's own split, with other initial weights, order
    /// and dropout. Methods without a training seed run once.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 100))]
    pub seeds: usize,
}

fn is_one(count: &usize) -> bool {
    *count == 1
}

impl Default for Splits {
    fn default() -> Self {
        Self { repeats: 10, train_fraction: 0.6, stratified: false, seeds: 1 }
    }
}

impl Splits {
    /// Whether split `k` of both has the same samples.
    pub fn draw_alike(&self, other: &Self) -> bool {
        self.train_fraction == other.train_fraction && self.stratified == other.stratified
    }

    /// Training samples of `n`.
    pub fn train_size(&self, n: usize) -> usize {
        // The small addend keeps 0.29 * 100 = 28.999999999999996 from losing a sample.
        (self.train_fraction * n as f64 + 1e-9).floor() as usize
    }
}

/// A division into training and test samples, both ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    pub train: Vec<usize>,
    pub test: Vec<usize>,
    /// Samples for validation, where the dataset has some and they were asked for.
    pub validation: Vec<usize>,
    /// SHA-256 over the index lists of training and test samples.
    pub hash: String,
}

impl Split {
    fn new(train: Vec<usize>, test: Vec<usize>) -> Self {
        let mut hash = Sha256::new();
        for part in [&train, &test] {
            hash.update((part.len() as u64).to_le_bytes());
            part.iter().for_each(|&i| hash.update((i as u64).to_le_bytes()));
        }
        let hash = hex(&hash.finalize());
        Self { train, test, validation: Vec::new(), hash }
    }
}

/// The splits of `dataset`: its own if it has one, else `splits.repeats` random ones.
///
/// Repeat `k` draws from `seed / "split" / <dataset's name> / k` and from nothing else, so it is the
/// same for every method and do not depend on the rest of the experiment. The training part has
/// `floor(train_fraction * n)` samples.
pub fn splits(dataset: &Dataset, splits: &Splits, seed: &Seed) -> Result<Vec<Split>, DataError> {
    let n = dataset.own_samples();
    if let Some(train) = dataset.fixed_train {
        let mut split = Split::new((0..train).collect(), (train..n).collect());
        split.validation = (n..dataset.y.len()).collect();
        return Ok(vec![split]);
    }
    let size = splits.train_size(n);
    if size == 0 || size >= n {
        let (fraction, part) =
            (splits.train_fraction, if size == 0 { "training" } else { "testing" });
        let problem =
            format!("a train fraction of {fraction} leaves none of {n} samples for {part}");
        return Err(DataError::unfit(&dataset.name, "train", problem));
    }
    let branch = seed.child("split").child(&dataset.name);
    let draw = |repeat: usize| {
        let seed = branch.child(repeat.to_string());
        let mut train: Vec<usize> = (0..n).collect();
        match splits.stratified {
            true => train = stratified_part(&dataset.y, size, &seed),
            false => shuffle(&mut train, &mut seed.rng()),
        }
        train.truncate(size);
        train.sort_unstable();
        let test = (0..n).filter(|i| train.binary_search(i).is_err()).collect();
        Split::new(train, test)
    };
    Ok((0..splits.repeats).map(draw).collect())
}

/// A seeded part of `size` samples with the class shares of the whole, which must have as many.
/// Of data with its own split, only training samples are left out.
///
/// Draws from `seed / "subsample" / <dataset's name>`.
pub fn subsample(dataset: &Dataset, size: usize, seed: &Seed) -> Result<Dataset, DataError> {
    let candidates = dataset.fixed_train.unwrap_or(dataset.y.len());
    if size > candidates {
        let kind = if dataset.fixed_train.is_some() { "training samples" } else { "samples" };
        let problem = format!("`subsample` is {size}, but there are only {candidates} {kind}");
        return Err(DataError::unfit(&dataset.name, "subsample", problem));
    }
    if size == candidates {
        return Ok(dataset.clone());
    }
    let seed = seed.child("subsample").child(&dataset.name);
    let mut kept = stratified_part(&dataset.y[..candidates], size, &seed);
    kept.extend(candidates..dataset.y.len());
    let mut samples = dataset.part(&kept);
    samples.train = dataset.fixed_train.map(|_| size);
    samples.notes.push(format!("a stratified random part: {size} of {candidates} samples"));
    let name = format!("{} with {size} samples", dataset.name);
    let part = Dataset::new(&dataset.name, samples, [Path::new(&name); 2])?;
    Ok(Dataset { rows: Some(kept), ..part })
}

/// `k` disjoint lists of indices that together are all of `y`, each class spread evenly over them
/// and the lists equally long up to one.
pub fn folds(y: &[usize], k: usize, seed: &Seed) -> Vec<Vec<usize>> {
    let k = k.max(1);
    let mut rng = seed.rng();
    let mut folds = vec![Vec::new(); k];
    // Dealing continues where the last class ended, so that short classes do not all fill fold 0.
    let members = by_class(y).into_iter().flat_map(|mut members| {
        shuffle(&mut members, &mut rng);
        members
    });
    for (at, index) in members.enumerate() {
        folds[at % k].push(index);
    }
    folds.iter_mut().for_each(|fold| fold.sort_unstable());
    folds
}

/// `size` indices of `y`, ascending, with the class shares of the whole; every class keeps at least
/// one sample where `size` allows.
pub fn stratified_part(y: &[usize], size: usize, seed: &Seed) -> Vec<usize> {
    let classes = by_class(y);
    let sizes: Vec<usize> = classes.iter().map(Vec::len).collect();
    let mut rng = seed.rng();
    let mut part = Vec::with_capacity(size.min(y.len()));
    for (mut members, quota) in classes.into_iter().zip(quotas(&sizes, size)) {
        shuffle(&mut members, &mut rng);
        part.extend(members.into_iter().take(quota));
    }
    part.sort_unstable();
    part
}

fn by_class(y: &[usize]) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); y.iter().max().map_or(0, |last| last + 1)];
    for (index, &class) in y.iter().enumerate() {
        members[class].push(index);
    }
    members
}

/// `size` seats among classes of these sizes: whole shares first, then by largest remainder (ties to
/// the earlier class); a class without a seat gets one from the class with most.
fn quotas(sizes: &[usize], size: usize) -> Vec<usize> {
    let n: usize = sizes.iter().sum();
    let size = size.min(n);
    let share = |class: usize| sizes[class] as u128 * size as u128;
    let mut quotas: Vec<usize> =
        (0..sizes.len()).map(|class| (share(class) / n.max(1) as u128) as usize).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(share(class) % n.max(1) as u128));
    let left = size - quotas.iter().sum::<usize>();
    for &class in order.iter().take(left) {
        quotas[class] += 1;
    }
    for class in 0..sizes.len() {
        let richest = (0..sizes.len()).rev().max_by_key(|&other| quotas[other]).unwrap_or(class);
        if quotas[class] == 0 && sizes[class] > 0 && quotas[richest] > 1 {
            quotas[class] += 1;
            quotas[richest] -= 1;
        }
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Samples, counts};
    use ndarray::Array2;
    use proptest::prelude::*;

    fn dataset(name: &str, sizes: &[usize]) -> Dataset {
        let labels: Vec<String> = sizes
            .iter()
            .enumerate()
            .flat_map(|(class, &n)| std::iter::repeat_n(class.to_string(), n))
            .collect();
        let x = Array2::from_shape_fn((labels.len(), 1), |(i, _)| i as f64);
        Dataset::new(name, Samples::new(x, labels), [Path::new(name); 2]).unwrap()
    }

    fn sizes(n: usize) -> (usize, usize) {
        let split = &splits(&dataset("t", &[n / 2, n - n / 2]), &Splits::default(), &Seed::root(1))
            .unwrap()[0];
        (split.train.len(), split.test.len())
    }

    #[test]
    fn training_parts_are_as_large_as_the_papers() {
        assert_eq!(sizes(900), (540, 360));
        assert_eq!(sizes(1404), (842, 562));
        assert_eq!(sizes(16242), (9745, 6497));
        assert_eq!(sizes(10992), (6595, 4397));
        assert_eq!(sizes(2000), (1200, 800));
        assert_eq!(sizes(7291), (4374, 2917));
    }

    #[test]
    fn splits_are_fixed_for_ever() {
        let data = dataset("t", &[6, 4]);
        let options = Splits { repeats: 3, ..Splits::default() };
        let all = splits(&data, &options, &Seed::root(2024)).unwrap();
        // The sequence is part of every published result; a change here is a change of results.
        let trains: Vec<_> = all.iter().map(|split| split.train.clone()).collect();
        assert_eq!(trains, [[0, 2, 4, 6, 7, 9], [1, 2, 5, 6, 8, 9], [1, 5, 6, 7, 8, 9]]);
        let fewer = Splits { repeats: 1, ..Splits::default() };
        assert_eq!(splits(&data, &fewer, &Seed::root(2024)).unwrap()[0], all[0]);
    }

    #[test]
    fn splits_depend_on_seed_name_and_repeat() {
        let draw = |name: &str, seed: u64| {
            splits(&dataset(name, &[50, 50]), &Splits::default(), &Seed::root(seed)).unwrap()
        };
        let first = draw("t", 1);
        assert_eq!(first.len(), 10);
        assert_ne!(first[0].hash, first[1].hash);
        assert_ne!(first[0].hash, draw("t", 2)[0].hash);
        assert_ne!(first[0].hash, draw("u", 1)[0].hash);
        assert_eq!(first, draw("t", 1));
    }

    #[test]
    fn stratified_splits_keep_class_shares() {
        let data = dataset("t", &[60, 30, 10]);
        let options = Splits { stratified: true, ..Splits::default() };
        for split in splits(&data, &options, &Seed::root(3)).unwrap() {
            let classes: Vec<usize> = split.train.iter().map(|&i| data.y[i]).collect();
            assert_eq!(counts(&classes, 3), [36, 18, 6]);
        }
    }

    #[test]
    fn a_split_of_its_own_is_kept() {
        let mut data = dataset("t", &[4, 4]);
        data.fixed_train = Some(5);
        let all = splits(&data, &Splits::default(), &Seed::root(1)).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].train, [0, 1, 2, 3, 4]);
        assert_eq!(all[0].test, [5, 6, 7]);
    }

    #[test]
    fn an_empty_part_is_refused() {
        let options = Splits { train_fraction: 0.1, ..Splits::default() };
        let error = splits(&dataset("t", &[2, 2]), &options, &Seed::root(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "dataset `t`: a train fraction of 0.1 leaves none of 4 samples for training"
        );
    }

    #[test]
    fn a_part_keeps_name_shares_and_gets_its_own_hash() {
        let data = dataset("t", &[80, 20]);
        let part = subsample(&data, 10, &Seed::root(1)).unwrap();
        assert_eq!(part.name, "t");
        assert_eq!(part.class_counts(), [8, 2]);
        assert_ne!(part.hash, data.hash);
        assert_eq!(part.hash, subsample(&data, 10, &Seed::root(1)).unwrap().hash);
        assert_ne!(part.hash, subsample(&data, 10, &Seed::root(2)).unwrap().hash);
        assert_eq!(subsample(&data, 100, &Seed::root(1)).unwrap().hash, data.hash);
        assert!(subsample(&data, 5, &Seed::root(1)).is_err(), "one sample of class 1");
    }

    #[test]
    fn a_part_that_is_more_than_the_whole_is_refused() {
        let mut data = dataset("t", &[80, 20]);
        let refused = |data: &Dataset, size| {
            let outcome = subsample(data, size, &Seed::root(1));
            outcome.unwrap_err().to_string()
        };
        assert_eq!(
            refused(&data, 101),
            "dataset `t`: `subsample` is 101, but there are only 100 samples"
        );
        data.fixed_train = Some(90);
        assert_eq!(
            refused(&data, 100),
            "dataset `t`: `subsample` is 100, but there are only 90 training samples"
        );
    }

    #[test]
    fn a_part_of_fixed_data_keeps_all_test_samples() {
        let mut data = dataset("t", &[8, 8]);
        data.fixed_train = Some(12);
        let part = subsample(&data, 6, &Seed::root(1)).unwrap();
        assert_eq!((part.fixed_train, part.y.len()), (Some(6), 10));
        assert_eq!(part.x.column(0).to_vec()[6..], [12.0, 13.0, 14.0, 15.0]);
    }

    proptest! {
        #[test]
        fn folds_are_a_partition_and_stratified(
            y in proptest::collection::vec(0usize..4, 1..80), k in 2usize..7, seed: u64
        ) {
            let folds = folds(&y, k, &Seed::root(seed));
            let mut all: Vec<usize> = folds.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..y.len()).collect::<Vec<_>>());
            for class in 0..4 {
                let per_fold = folds.iter().map(|f| f.iter().filter(|&&i| y[i] == class).count());
                let (low, high) = (per_fold.clone().min().unwrap(), per_fold.max().unwrap());
                prop_assert!(high - low <= 1);
            }
            let lengths = folds.iter().map(Vec::len);
            prop_assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1);
        }

        #[test]
        fn parts_have_their_size_and_every_class(
            y in proptest::collection::vec(0usize..4, 1..80), size in 0usize..90, seed: u64
        ) {
            let part = stratified_part(&y, size, &Seed::root(seed));
            prop_assert_eq!(part.len(), size.min(y.len()));
            prop_assert!(part.is_sorted_by(|a, b| a < b));
            let whole = counts(&y, 4);
            if part.len() >= whole.iter().filter(|&&n| n > 0).count() {
                let taken: Vec<usize> = part.iter().map(|&i| y[i]).collect();
                for (in_part, in_all) in counts(&taken, 4).iter().zip(&whole) {
                    prop_assert!(in_part <= in_all && (*in_part > 0) == (*in_all > 0));
                }
            }
        }
    }
}
