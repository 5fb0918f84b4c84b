//! Every method against the reference, split by split: all that the paired tests say.

use super::marks::Comparison;
use super::summary::Row;
use crate::spec::Test;
use crate::stats::{self, TTest};

/// Level of the confidence intervals.
pub(super) const CONFIDENCE: f64 = 0.95;

/// A method and the reference on the splits both have.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// Reference minus method, by split.
    pub differences: Vec<f64>,
    /// The paper's test.
    pub naive: TTest,
    /// Nadeau and Bengio's; `None` where the sizes of the split are not known, and for trainings on one
    /// split.
    pub corrected: Option<TTest>,
    /// p of the exact signed-rank test.
    pub signed_rank: f64,
    /// Cohen's d_z.
    pub effect: f64,
    /// p of the three tests after Holm's adjustment for all comparisons of the table.
    pub holm: Adjusted,
    /// Computed once: every table and figure shows it, and quantiles take their time.
    interval: Option<(f64, f64)>,
}

/// p-values adjusted for the number of comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Adjusted {
    pub naive: f64,
    pub corrected: Option<f64>,
    pub signed_rank: f64,
}

impl Paired {
    /// `None` for fewer than two common splits.
    fn new(differences: Vec<f64>, test_to_train: Option<f64>) -> Option<Self> {
        let naive = stats::paired_t(&differences)?;
        let corrected = test_to_train.and_then(|q| stats::corrected_t(&differences, q));
        Some(Self {
            interval: corrected.and_then(|test| test.interval(CONFIDENCE)),
            corrected,
            signed_rank: stats::signed_rank(&differences)?.p,
            effect: stats::cohens_dz(&differences)?,
            holm: Adjusted::default(),
            naive,
            differences,
        })
    }

    /// The confidence interval of the mean difference that allows for overlapping training sets.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval
    }
}

/// Tests every method of a row against the reference on the splits both have.
pub(super) fn row(row: &mut Row, comparison: Option<&Comparison>) {
    let Some(comparison) = comparison else {
        return;
    };
    let Some(reference) = row.cells.get(comparison.reference) else {
        return;
    };
    let reference = reference.values.clone();
    // The correction is for training sets that overlap. Trainings on one split have the same.
    let shape = row.shape.filter(|_| row.trainings.is_none());
    let test_to_train = shape.map(|shape| shape.n_test as f64 / shape.n_train as f64);
    for (index, cell) in row.cells.iter_mut().enumerate() {
        if index == comparison.reference {
            continue;
        }
        let differences = stats::common_differences(&reference, &cell.values);
        let Some(paired) = Paired::new(differences, test_to_train) else {
            continue;
        };
        if comparison.tests.contains(&Test::PairedT) {
            cell.naive = Some(comparison.judge(paired.naive));
        }
        if comparison.tests.contains(&Test::NadeauBengio) {
            cell.corrected = paired.corrected.map(|test| comparison.judge(test));
        }
        cell.paired = Some(paired);
    }
}

/// Holm's adjustment of every test over all comparisons of the table.
pub(super) fn adjust(rows: &mut [Row]) {
    let cells = rows.iter_mut().flat_map(|row| &mut row.cells);
    let mut paired: Vec<&mut Paired> = cells.filter_map(|cell| cell.paired.as_mut()).collect();
    let all = |p: fn(&Paired) -> f64, paired: &[&mut Paired]| {
        stats::holm(&paired.iter().map(|paired| p(paired)).collect::<Vec<_>>())
    };
    let naive = all(|paired| paired.naive.p, &paired);
    let signed_rank = all(|paired| paired.signed_rank, &paired);
    // A comparison that cannot be corrected takes a place all the same: NaN sorts last.
    let corrected = all(|paired| paired.corrected.map_or(f64::NAN, |test| test.p), &paired);
    for (index, paired) in paired.iter_mut().enumerate() {
        paired.holm = Adjusted {
            naive: naive[index],
            corrected: Some(corrected[index]).filter(|p| !p.is_nan()),
            signed_rank: signed_rank[index],
        };
    }
}
