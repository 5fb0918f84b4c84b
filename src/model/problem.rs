//! A training set with everything methods share: kernel matrix, cross kernel, neighbour graph.

use std::sync::{Arc, Mutex, OnceLock};

use faer::{Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2};

use super::{FitError, Shape};
use crate::data::{Encoder, Images};
use crate::kernel::{GraphOptions, Kernel, Laplacian, Resolved};

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
    has_finite_gram: OnceLock<bool>,
    gram_with_bias: OnceLock<Mat<f64>>,
    graphs: Mutex<Vec<(GraphOptions, Arc<Laplacian>)>>,
    pictures: Option<Pictures>,
    watched: Option<Watched>,
}

/// The images that samples were made of, and what made them.
#[derive(Clone, Debug)]
pub struct Pictures {
    pub images: Images,
    pub encoder: Encoder,
}

/// Samples that take no part in a fit, but are looked at while it goes on.
pub struct Watched {
    pub x: Array2<f64>,
    pub y: Vec<usize>,
    pub images: Option<Images>,
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
            has_finite_gram: OnceLock::new(),
            gram_with_bias: OnceLock::new(),
            graphs: Mutex::default(),
            pictures: None,
            watched: None,
        }
    }

    /// With the images that the training samples were made of.
    pub fn picturing(self, pictures: Option<Pictures>) -> Self {
        Self { pictures, ..self }
    }

    pub fn pictures(&self) -> Option<&Pictures> {
        self.pictures.as_ref()
    }

    /// With samples whose accuracy is recorded as training goes on, where a method does so.
    pub fn watching(self, watched: Option<Watched>) -> Self {
        Self { watched, ..self }
    }

    pub fn watched(&self) -> Option<&Watched> {
        self.watched.as_ref()
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

    /// The training kernel matrix, plus one everywhere if `bias`: a constant feature appended to
    /// `phi(x)`. Predictions need no such matrix, see `nonparallel`.
    pub fn gram_with(&self, bias: bool) -> MatRef<'_, f64> {
        if !bias {
            return self.gram();
        }
        self.gram_with_bias
            .get_or_init(|| {
                let k = self.gram();
                Mat::from_fn(k.nrows(), k.ncols(), |i, j| k[(i, j)] + 1.0)
            })
            .as_ref()
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
        let k = self.gram();
        let is_finite = self.has_finite_gram.get_or_init(|| {
            (k.col_iter()).all(|column| column.iter().all(|value| value.is_finite()))
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

    /// Kernel values between `samples` (rows) and the training samples (columns).
    pub fn cross(&self, samples: ArrayView2<'_, f64>) -> Mat<f64> {
        self.kernel.cross(samples, self.x.view(), self.par)
    }
}
