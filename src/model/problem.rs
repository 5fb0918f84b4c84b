//! A training set with everything methods share: kernel matrix, cross kernel, neighbour graph.

use std::sync::OnceLock;

use faer::{Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2};

use super::Shape;
use crate::kernel::{Kernel, Resolved};

/// Training samples of one split. The kernel matrix is computed on first use and then shared by
/// all methods fitted on this split.
pub struct Problem {
    x: Array2<f64>,
    y: Vec<usize>,
    classes: usize,
    kernel: Resolved,
    jitter: f64,
    par: Par,
    gram: OnceLock<Mat<f64>>,
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
            par,
            gram: OnceLock::new(),
        }
    }

    pub fn shape(&self) -> Shape {
        Shape {
            n: self.x.nrows(),
            dims: self.x.ncols(),
            classes: self.classes,
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

    /// The training kernel matrix `K + jitter I`, n x n.
    pub fn gram(&self) -> MatRef<'_, f64> {
        self.gram
            .get_or_init(|| self.kernel.gram(self.x.view(), self.jitter, self.par))
            .as_ref()
    }

    /// Kernel values between `samples` (rows) and the training samples (columns).
    pub fn cross(&self, samples: ArrayView2<'_, f64>) -> Mat<f64> {
        self.kernel.cross(samples, self.x.view(), self.par)
    }
}
