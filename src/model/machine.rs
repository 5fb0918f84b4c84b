//! The trained form of every method: kernel expansions and a decision rule.

use faer::{Mat, MatRef, Par};

use crate::kernel::algebra::add_product;

/// Functions `f_l(x) = sum_i coefficients[i, l] k(x_i, x) + offsets[l]` and a [`Rule`].
#[derive(Clone, Debug)]
pub struct KernelMachine {
    /// One column per function, one row per sample of the expansion.
    pub coefficients: Mat<f64>,
    pub offsets: Vec<f64>,
    pub rule: Rule,
}

/// How function values become a class.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// `argmin_l |f_l| / norms[l]`: the nearest hyperplane, for one versus rest.
    Nearest { norms: Vec<f64> },
    /// `argmax_l |f_l| / norms[l]`: the farthest hyperplane, for rest versus one.
    Farthest { norms: Vec<f64> },
    /// One function per pair of classes `(0,1), (0,2), ..`; positive is a vote for the first.
    /// Ties go to the lower class, as in LIBSVM.
    Vote { classes: usize },
}

impl KernelMachine {
    /// Function values, samples in rows, from kernel values `k(x, x_i)` with samples in rows.
    pub fn decision(&self, cross: MatRef<'_, f64>, par: Par) -> Mat<f64> {
        let mut f = Mat::from_fn(cross.nrows(), self.offsets.len(), |_, l| self.offsets[l]);
        add_product(f.as_mut(), 1.0, cross, self.coefficients.as_ref(), par);
        f
    }

    /// The class of each row of `cross`.
    pub fn predict(&self, cross: MatRef<'_, f64>, par: Par) -> Vec<usize> {
        let f = self.decision(cross, par);
        (0..f.nrows())
            .map(|i| self.rule.class(|l| f[(i, l)]))
            .collect()
    }
}

impl Rule {
    /// The class for the function values `f(0), f(1), ..`; the lower class wins ties.
    fn class(&self, f: impl Fn(usize) -> f64) -> usize {
        match self {
            Self::Nearest { norms } => {
                first_minimum((0..norms.len()).map(|l| f(l).abs() / norms[l]))
            }
            Self::Farthest { norms } => {
                first_minimum((0..norms.len()).map(|l| -f(l).abs() / norms[l]))
            }
            Self::Vote { classes } => {
                let mut votes = vec![0.0; *classes];
                for (pair, (a, b)) in pairs(*classes).enumerate() {
                    votes[if f(pair) > 0.0 { a } else { b }] -= 1.0;
                }
                first_minimum(votes.into_iter())
            }
        }
    }
}

/// All pairs `(a, b)` with `a < b < classes`, in LIBSVM's order.
pub fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |a| (a + 1..classes).map(move |b| (a, b)))
}

fn first_minimum(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::INFINITY);
    for (l, value) in values.enumerate() {
        if value < best.1 {
            best = (l, value);
        }
    }
    best.0
}
