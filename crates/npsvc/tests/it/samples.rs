//! Small random problems, and the comparison of two models' predictions.

use std::ops::Range;

use faer::{Mat, MatRef, Par};
use npsvc::kernel::PivotedFactor;
use npsvc::ndarray::{Array2, ArrayView2, Axis};
use npsvc::{Kernel, KernelMachine, Model, Rule, Storage, TrainingSet};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same random cases every time.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(2024),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Training samples of two or three classes, and samples to predict.
#[derive(Clone, Debug)]
pub struct Samples {
    pub x: Array2<f64>,
    pub y: Vec<usize>,
    pub classes: usize,
    pub test: Array2<f64>,
}

/// Number of samples to predict.
pub const TESTED: usize = 12;

impl Samples {
    pub fn set(&self, kernel: &Kernel) -> TrainingSet {
        let set = TrainingSet::new(self.x.clone(), self.y.clone(), kernel).unwrap();
        set.with_classes(self.classes).unwrap()
    }

    pub fn reordered(&self, order: &[usize]) -> Self {
        Self {
            x: self.x.select(Axis(0), order),
            y: order.iter().map(|&i| self.y[i]).collect(),
            ..self.clone()
        }
    }
}

/// Classes around different centres, overlapping.
pub fn samples(classes: Range<usize>) -> impl Strategy<Value = Samples> {
    (classes, 3..8_usize, 1..4_usize)
        .prop_flat_map(|(classes, each, dims)| {
            let n = classes * each;
            let values = prop::collection::vec(-1.0..1.0_f64, (n + TESTED) * dims);
            (Just((classes, n, dims)), values)
        })
        .prop_map(|((classes, n, dims), values)| {
            let all = Array2::from_shape_vec((n + TESTED, dims), values).unwrap();
            let y: Vec<usize> = (0..n).map(|i| i % classes).collect();
            let centre = |class: usize, j: usize| if j % classes == class { 0.8 } else { 0.0 };
            let x = Array2::from_shape_fn((n, dims), |(i, j)| all[[i, j]] + centre(y[i], j));
            let test = Array2::from_shape_fn((TESTED, dims), |(i, j)| 1.5 * all[[n + i, j]]);
            Samples { x, y, classes, test }
        })
}

/// An order of `n` samples, from numbers to sort by.
pub fn order(n: usize, keys: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| keys[i]);
    order
}

/// Values of the functions behind a model, one row per row.
pub fn values(set: &TrainingSet, model: &Model, rows: ArrayView2<'_, f64>) -> Mat<f64> {
    let samples = match set.storage() {
        Storage::Full { .. } => set.x().to_owned(),
        Storage::Pivoted { rank, tolerance } => {
            let factor = PivotedFactor::new(set.kernel(), set.x(), rank, tolerance, Par::Seq);
            set.x().select(Axis(0), factor.pivots())
        }
    };
    let cross = set.kernel().cross(rows, samples.view(), Par::Seq);
    expand(cross.as_ref(), model.machine())
}

/// `cross coefficients + offsets`.
pub fn expand(cross: MatRef<'_, f64>, machine: &KernelMachine) -> Mat<f64> {
    let f = cross * &machine.coefficients;
    Mat::from_fn(f.nrows(), f.ncols(), |i, l| f[(i, l)] + machine.offsets[l])
}

/// A model and the rows that it predicts.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub set: &'a TrainingSet,
    pub model: &'a Model,
    pub rows: &'a Array2<f64>,
}

/// The class that the rule chooses from function values, and how far it is from another class.
/// A vote changes where a function changes its sign. The class of votes is not computed here.
fn winner_and_margin(rule: &Rule, values: &Mat<f64>, i: usize) -> (Option<usize>, f64) {
    let (sign, norms) = match rule {
        Rule::Nearest { norms } => (1.0, norms),
        Rule::Farthest { norms } => (-1.0, norms),
        Rule::Vote { .. } => {
            let sizes = (0..values.ncols()).map(|pair| values[(i, pair)].abs());
            return (None, sizes.fold(f64::INFINITY, f64::min));
        }
    };
    let scores: Vec<f64> =
        (0..norms.len()).map(|l| sign * values[(i, l)].abs() / norms[l]).collect();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    (Some(order[0]), scores[order[1]] - scores[order[0]])
}

/// Asserts that two models predict alike wherever `one` has a margin.
pub fn assert_alike(name: &str, one: Asked<'_>, other: Asked<'_>) {
    const MARGIN: f64 = 1e-4;
    let predict = |asked: Asked<'_>| asked.model.predict(asked.rows.view()).unwrap();
    let (first, second) = (predict(one), predict(other));
    let values = values(one.set, one.model, one.rows.view());
    let mut compared = 0;
    for i in 0..first.len() {
        let (winner, margin) = winner_and_margin(&one.model.machine().rule, &values, i);
        if margin > MARGIN {
            assert!(
                winner.is_none_or(|winner| winner == first[i]),
                "{name}: the rule is not obeyed"
            );
            assert_eq!(first[i], second[i], "{name}: sample {i}, margin {margin}");
            compared += 1;
        }
    }
    let enough = 2 * compared >= first.len();
    assert!(enough, "{name}: only {compared} samples have a margin");
}
