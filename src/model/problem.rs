//! A training set with everything methods share: kernel matrix, cross kernel, neighbour graph.

use std::sync::{Arc, Mutex, OnceLock};

use faer::{Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2, Axis, CowArray, Ix2};

use super::{FitError, Shape};
use crate::kernel::algebra::product;
use crate::kernel::{Factor, Gram, GraphOptions, Kernel, Laplacian, LowRank, Resolved};

/// Training samples of one split. The kernel matrix, or its factor, is computed on first use and
/// then shared by all methods fitted on this split.
pub struct Problem {
    x: Array2<f64>,
    y: Vec<usize>,
    classes: usize,
    kernel: Resolved,
    jitter: f64,
    factor: Factor,
    par: Par,
    gram: OnceLock<Mat<f64>>,
    has_finite_gram: OnceLock<bool>,
    gram_with_bias: OnceLock<Mat<f64>>,
    low_rank: OnceLock<LowRank>,
    low_rank_with_bias: OnceLock<LowRank>,
    graphs: Mutex<Vec<(GraphOptions, Arc<Laplacian>)>>,
}

impl Problem {
    /// `y` holds classes `0..classes`; the kernel matrix gets `jitter` on its diagonal.
    pub fn new(
        x: Array2<f64>,
        y: Vec<usize>,
        classes: usize,
        kernel: &Kernel,
        jitter: f64,
        par: Par,
    ) -> Self {
        let kernel = Resolved::new(kernel, x.view());
        Self {
            x,
            y,
            classes,
            kernel,
            jitter,
            factor: Factor::Full,
            par,
            gram: OnceLock::new(),
            has_finite_gram: OnceLock::new(),
            gram_with_bias: OnceLock::new(),
            low_rank: OnceLock::new(),
            low_rank_with_bias: OnceLock::new(),
            graphs: Mutex::default(),
        }
    }

    /// Holds the kernel matrix as `factor` says. A factor of low rank approximates the kernel, and
    /// there is no jitter on its diagonal.
    pub fn with_factor(mut self, factor: Factor) -> Self {
        self.factor = factor;
        self
    }

    pub fn shape(&self) -> Shape {
        Shape {
            n: self.x.nrows(),
            dims: self.x.ncols(),
            classes: self.classes,
            rank: self.factor.rank(self.x.nrows()),
        }
    }

    pub fn x(&self) -> ArrayView2<'_, f64> {
        self.x.view()
    }

    pub fn y(&self) -> &[usize] {
        &self.y
    }

    /// The kernel, its width resolved on the training samples.
    pub fn kernel(&self) -> &Resolved {
        &self.kernel
    }

    /// What the kernel matrix has on its diagonal beyond the kernel.
    pub fn jitter(&self) -> f64 {
        self.jitter
    }

    pub fn par(&self) -> Par {
        self.par
    }

    /// Indices of the samples of class `l`, ascending.
    pub fn members(&self, l: usize) -> Vec<usize> {
        (0..self.y.len()).filter(|&i| self.y[i] == l).collect()
    }

    /// The training kernel matrix, n x n: `K + jitter I`, or `G G^T` where there is a factor.
    pub fn gram(&self) -> MatRef<'_, f64> {
        self.gram
            .get_or_init(|| match self.low_rank() {
                None => self.kernel.gram(self.x.view(), self.jitter, self.par),
                Some(low) => product(low.rows().transpose(), low.rows(), self.par),
            })
            .as_ref()
    }

    /// The factor of the kernel matrix, if that is how it is held.
    pub fn low_rank(&self) -> Option<&LowRank> {
        let Factor::Pivoted(options) = &self.factor else {
            return None;
        };
        let make = || LowRank::new(&self.kernel, self.x.view(), options, self.par);
        Some(self.low_rank.get_or_init(make))
    }

    /// The training kernel matrix in the form it is held in, plus one everywhere if `bias`: a
    /// constant feature appended to `phi(x)`. Predictions need no such matrix, see `nonparallel`.
    pub fn gram_with(&self, bias: bool) -> Gram<'_> {
        match (self.low_rank(), bias) {
            (None, false) => Gram::Full(self.gram()),
            (None, true) => {
                let add_one = || {
                    let k = self.gram();
                    Mat::from_fn(k.nrows(), k.ncols(), |i, j| k[(i, j)] + 1.0)
                };
                Gram::Full(self.gram_with_bias.get_or_init(add_one).as_ref())
            }
            (Some(low), false) => Gram::LowRank(low),
            (Some(low), true) => {
                Gram::LowRank(self.low_rank_with_bias.get_or_init(|| low.with_bias()))
            }
        }
    }

    /// An error naming the first class without a sample.
    pub fn require_every_class(&self) -> Result<(), FitError> {
        match (0..self.classes).find(|class| !self.y.contains(class)) {
            Some(class) => Err(FitError::EmptyClass { class }),
            None => Ok(()),
        }
    }

    /// An error where the features are so large that the kernel overflows.
    pub fn require_finite_kernel(&self) -> Result<(), FitError> {
        let is_finite = self.has_finite_gram.get_or_init(|| match self.low_rank() {
            Some(low) => low.error().is_finite(),
            None => {
                (self.gram().col_iter()).all(|column| column.iter().all(|value| value.is_finite()))
            }
        });
        if *is_finite {
            Ok(())
        } else {
            Err(FitError::Kernel)
        }
    }

    /// The neighbour graph's normalised Laplacian.
    pub fn laplacian(&self, options: &GraphOptions) -> Arc<Laplacian> {
        let mut graphs = self
            .graphs
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, laplacian)) = graphs.iter().find(|(known, _)| known == options) {
            return laplacian.clone();
        }
        let laplacian = Arc::new(Laplacian::new(self.x.view(), options, self.par));
        graphs.push((options.clone(), laplacian.clone()));
        laplacian
    }

    /// The training samples that trained machines are expansions in: all, or the factor's pivots.
    pub fn expansion(&self) -> CowArray<'_, f64, Ix2> {
        match self.low_rank() {
            None => self.x.view().into(),
            Some(low) => self.x.select(Axis(0), low.pivots()).into(),
        }
    }

    /// Kernel values between `samples` (rows) and the samples of [`Self::expansion`] (columns).
    pub fn cross(&self, samples: ArrayView2<'_, f64>) -> Mat<f64> {
        let expansion = self.expansion();
        self.kernel.cross(samples, expansion.view(), self.par)
    }
}
