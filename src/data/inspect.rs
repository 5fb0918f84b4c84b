//! What looks like a mistake in data that is sound otherwise.

use std::collections::HashSet;

use ndarray::{ArrayView1, Axis};
use npsvc::Kernel;
use npsvc::faer::Par;
use npsvc::kernel::FittedKernel;

use super::Dataset;
use crate::wording::counted;

/// Largest ratio of variances that needs no remark.
const USUAL_RATIO: f64 = 1e4;
/// Samples on which a kernel is tried.
const TRIED: usize = 100;

impl Dataset {
    /// Warns of test samples that are training samples too.
    pub(crate) fn warn_of_shared_rows(&mut self) {
        let Some(train) = self.fixed_train.filter(|_| self.images.is_none()) else {
            return;
        };
        // Adding zero turns -0 into 0.
        let bits = |row: ArrayView1<'_, f64>| row.iter().map(|v| (v + 0.0).to_bits()).collect();
        let key = |index: usize| -> (usize, Vec<u64>) { (self.y[index], bits(self.x.row(index))) };
        let known: HashSet<_> = (0..train).map(key).collect();
        let tests = self.own_samples() - train;
        let shared = (train..train + tests).filter(|&index| known.contains(&key(index))).count();
        let warning = match shared {
            0 => return,
            1 => format!("1 of {} is also a training sample", counted(tests, "test sample")),
            _ => format!("{shared} of {} are also training samples", counted(tests, "test sample")),
        };
        self.warnings.push(warning);
    }

    /// Warns of a number of classes that is too large for a label.
    pub(crate) fn warn_of_many_classes(&mut self) {
        let (samples, classes) = (self.y.len(), self.classes.len());
        if classes > 10 && samples < 4 * classes {
            let warning = format!(
                "{classes} classes for {samples} samples; if this is not the label, name it with `label:`"
            );
            self.warnings.push(warning);
        }
    }

    /// A warning if the variances of features are far apart. For data that is not scaled.
    pub fn variance_warning(&self) -> Option<String> {
        let variances = self.x.var_axis(Axis(0), 0.0);
        // A constant feature has no scale.
        let is_positive = |&variance: &f64| variance > 0.0 && variance.is_finite();
        let (smallest, largest) = variances
            .iter()
            .copied()
            .filter(is_positive)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        (largest > USUAL_RATIO * smallest).then(|| {
            format!(
                "the largest variance of a feature is {:.0e} times the smallest, so large features decide alone; \
                 scale the features first",
                largest / smallest
            )
        })
    }

    /// A warning if the values are too small or too large for the kernel. For data that is not scaled.
    pub fn kernel_warning(&self, kernel: &Kernel, jitter: f64) -> Option<String> {
        if self.x.ncols() == 0 {
            return None;
        }
        let step = self.x.nrows().div_ceil(TRIED);
        let rows: Vec<usize> = (0..self.x.nrows()).step_by(step.max(1)).collect();
        let x = self.x.select(Axis(0), &rows);
        let matrix = FittedKernel::new(kernel, x.view()).gram(x.view(), 0.0, Par::Seq);
        let size = rows.len();
        let matrix = &matrix;
        let differ = |&(i, j): &(usize, usize)| x.row(i) != x.row(j);
        let pairs = (0..size).flat_map(|i| (0..i).map(move |j| (i, j))).filter(differ);
        let pairs = pairs.map(|pair| matrix[pair]);
        let (low, high) = pairs
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let largest = (0..size).map(|i| matrix[(i, i)].abs()).fold(0.0, f64::max);
        let is_constant = high - low <= 1e-9 * largest;
        (is_constant || largest < jitter).then(|| {
            let why = match kernel {
                Kernel::Gaussian { .. } => "choose another `width`",
                _ => "scale the features first",
            };
            format!(
                "the kernel is constant on all pairs of samples, because the features are too small or too large for it; {why}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Samples;
    use super::*;
    use ndarray::Array2;
    use npsvc::Width;
    use std::path::Path;

    /// Twenty samples of two features; the second is multiplied by `factor`.
    fn dataset(factor: f64) -> Dataset {
        let x = Array2::from_shape_fn((20, 2), |(i, j)| {
            (i * (3 + 4 * j) % 11) as f64 * if j == 0 { 1.0 } else { factor }
        });
        let labels = (0..20).map(|i| (i % 2).to_string()).collect();
        Dataset::new("t", Samples::new(x, labels), [Path::new("t"); 2]).unwrap()
    }

    #[test]
    fn variances_far_apart_are_warned_of() {
        assert_eq!(dataset(50.0).variance_warning(), None);
        let warning = dataset(1e3).variance_warning().unwrap();
        assert!(warning.ends_with("scale the features first"), "{warning}");
        // A constant feature is no small one.
        assert_eq!(dataset(0.0).variance_warning(), None);
    }

    #[test]
    fn a_kernel_that_is_constant_is_warned_of() {
        let gaussian = |width| Kernel::Gaussian { width: Width::Fixed(width) };
        assert_eq!(dataset(1.0).kernel_warning(&gaussian(10.0), 1e-6), None);
        for width in [1e-9, 1e15] {
            let warning = dataset(1.0).kernel_warning(&gaussian(width), 1e-6).unwrap();
            assert!(warning.starts_with("the kernel is constant"), "{width}: {warning}");
            assert!(warning.ends_with("choose another `width`"), "{warning}");
        }
        let mut tiny = dataset(1.0);
        tiny.x *= 1e-20;
        assert_eq!(tiny.kernel_warning(&Kernel::default(), 1e-6), None);
        assert!(tiny.kernel_warning(&Kernel::Linear, 1e-6).is_some());
    }
}
