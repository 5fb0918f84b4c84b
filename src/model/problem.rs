//! A training set with everything methods share: kernel matrix, cross kernel, neighbour graph.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use faer::{Mat, MatRef, Par};
use ndarray::{Array2, ArrayView2, Axis, CowArray, Ix2};

use super::{FitError, Shape};
use crate::kernel::algebra::product;
use crate::kernel::{Factor, Gram, GraphOptions, Kernel, Laplacian, LowRank, Resolved};

/// Training samples of one split. The kernel matrix, or its factor, is computed on first use and
/// then shared by all methods fitted on this split.
pub struct Problem {
    shared: Arc<Shared>,
    par: Par,
    lane: Option<Lane>,
}

/// Where a sweep's fits leave something for the next one.
#[derive(Default)]
struct Lane {
    /// The solutions of the last fit, one per class.
    solutions: Mutex<Vec<Vec<f64>>>,
    /// Whatever a method keeps for its next fit.
    kept: Mutex<Option<Box<dyn Any + Send>>>,
}

/// What fits on the same samples have in common.
struct Shared {
    x: Array2<f64>,
    y: Vec<usize>,
    classes: usize,
    kernel: Resolved,
    jitter: f64,
    factor: Factor,
    gram: OnceLock<Mat<f64>>,
    has_finite_gram: OnceLock<bool>,
    gram_with_bias: OnceLock<Mat<f64>>,
    low_rank: OnceLock<LowRank>,
    low_rank_with_bias: OnceLock<LowRank>,
    graphs: Mutex<Vec<(GraphOptions, Arc<Laplacian>)>>,
    largest: Mutex<Vec<((GraphOptions, bool), f64)>>,
    /// The inverses a sweep keeps, and whether it does.
    inverses: Mutex<Vec<Inverse>>,
    keeps_inverses: bool,
    /// See [`Problem::once_per_sweep`].
    kept: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

/// `(K + r I)^-1` for `r`, with a constant feature or without.
struct Inverse {
    r: f64,
    bias: bool,
    slot: Slot,
}

type Slot = Arc<Mutex<Option<Arc<Mat<f64>>>>>;

/// Inverses a sweep keeps at most: one in use and one for whoever is ahead.
const KEPT_INVERSES: usize = 2;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is replaced whole, so a panic elsewhere leaves nothing half done.
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
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
        let shared = Shared {
            x,
            y,
            classes,
            kernel,
            jitter,
            factor: Factor::Full,
            gram: OnceLock::new(),
            has_finite_gram: OnceLock::new(),
            gram_with_bias: OnceLock::new(),
            low_rank: OnceLock::new(),
            low_rank_with_bias: OnceLock::new(),
            graphs: Mutex::default(),
            largest: Mutex::default(),
            inverses: Mutex::default(),
            keeps_inverses: false,
            kept: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            par,
            lane: None,
        }
    }

    /// Holds the kernel matrix as `factor` says. A factor of low rank approximates the kernel, and
    /// there is no jitter on its diagonal.
    pub fn with_factor(mut self, factor: Factor) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.factor = factor;
        }
        self
    }

    /// Keeps what fits of a sweep have in common beyond the kernel matrix: `(K + r I)^-1`.
    pub fn for_sweep(mut self) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.keeps_inverses = true;
        }
        self
    }

    /// The same samples for a succession of similar fits, each of which starts where the last one
    /// ended.
    pub fn lane(&self, par: Par) -> Self {
        Self {
            shared: self.shared.clone(),
            par,
            lane: Some(Lane::default()),
        }
    }

    /// The solutions of the last fit of this lane, if they are as many and as long as these.
    pub(super) fn warm_start(&self, lengths: &[usize]) -> Option<Vec<Vec<f64>>> {
        let last = lock(&self.lane.as_ref()?.solutions);
        let fits = last.iter().map(Vec::len).eq(lengths.iter().copied());
        fits.then(|| last.clone())
    }

    /// Leaves solutions for the next fit of this lane.
    pub(super) fn leave(&self, solutions: impl Iterator<Item = Vec<f64>>) {
        if let Some(lane) = &self.lane {
            *lock(&lane.solutions) = solutions.collect();
        }
    }

    /// Something that fits of a sweep have in common, kept from the last one that asked for it if it is
    /// what this one asks for.
    pub(super) fn once_per_sweep<T: Send + Sync + 'static>(
        &self,
        is_same: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        if !self.shared.keeps_inverses {
            return Arc::new(make());
        }
        let mut kept = lock(&self.shared.kept);
        let last = kept.clone().and_then(|kept| kept.downcast::<T>().ok());
        if let Some(last) = last.filter(|last| is_same(last)) {
            return last;
        }
        let made = Arc::new(make());
        *kept = Some(made.clone());
        made
    }

    /// Whether this is one of a succession of fits.
    pub(super) fn is_lane(&self) -> bool {
        self.lane.is_some()
    }

    /// Takes what the last fit of this lane kept, if it is such a thing.
    pub(super) fn take_kept<T: Send + 'static>(&self) -> Option<Box<T>> {
        lock(&self.lane.as_ref()?.kept).take()?.downcast().ok()
    }

    /// Keeps something for the next fit of this lane.
    pub(super) fn keep<T: Send + 'static>(&self, kept: T) {
        if let Some(lane) = &self.lane {
            *lock(&lane.kept) = Some(Box::new(kept));
        }
    }

    pub fn shape(&self) -> Shape {
        Shape {
            n: self.shared.x.nrows(),
            dims: self.shared.x.ncols(),
            classes: self.shared.classes,
            rank: self.shared.factor.rank(self.shared.x.nrows()),
        }
    }

    pub fn x(&self) -> ArrayView2<'_, f64> {
        self.shared.x.view()
    }

    pub fn y(&self) -> &[usize] {
        &self.shared.y
    }

    /// The kernel, its width resolved on the training samples.
    pub fn kernel(&self) -> &Resolved {
        &self.shared.kernel
    }

    /// What the kernel matrix has on its diagonal beyond the kernel.
    pub fn jitter(&self) -> f64 {
        self.shared.jitter
    }

    pub fn par(&self) -> Par {
        self.par
    }

    /// Indices of the samples of class `l`, ascending.
    pub fn members(&self, l: usize) -> Vec<usize> {
        (0..self.shared.y.len())
            .filter(|&i| self.shared.y[i] == l)
            .collect()
    }

    /// The training kernel matrix, n x n: `K + jitter I`, or `G G^T` where there is a factor.
    pub fn gram(&self) -> MatRef<'_, f64> {
        self.shared
            .gram
            .get_or_init(|| match self.low_rank() {
                None => self
                    .shared
                    .kernel
                    .gram(self.shared.x.view(), self.shared.jitter, self.par),
                Some(low) => product(low.rows().transpose(), low.rows(), self.par),
            })
            .as_ref()
    }

    /// The factor of the kernel matrix, if that is how it is held.
    pub fn low_rank(&self) -> Option<&LowRank> {
        let Factor::Pivoted(options) = &self.shared.factor else {
            return None;
        };
        let make = || LowRank::new(&self.shared.kernel, self.shared.x.view(), options, self.par);
        Some(self.shared.low_rank.get_or_init(make))
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
                Gram::Full(self.shared.gram_with_bias.get_or_init(add_one).as_ref())
            }
            (Some(low), false) => Gram::LowRank(low),
            (Some(low), true) => Gram::LowRank(
                self.shared
                    .low_rank_with_bias
                    .get_or_init(|| low.with_bias()),
            ),
        }
    }

    /// An error naming the first class without a sample.
    pub fn require_every_class(&self) -> Result<(), FitError> {
        match (0..self.shared.classes).find(|class| !self.shared.y.contains(class)) {
            Some(class) => Err(FitError::EmptyClass { class }),
            None => Ok(()),
        }
    }

    /// An error where the features are so large that the kernel overflows.
    pub fn require_finite_kernel(&self) -> Result<(), FitError> {
        let is_finite = self
            .shared
            .has_finite_gram
            .get_or_init(|| match self.low_rank() {
                Some(low) => low.error().is_finite(),
                None => (self.gram().col_iter())
                    .all(|column| column.iter().all(|value| value.is_finite())),
            });
        if *is_finite {
            Ok(())
        } else {
            Err(FitError::Kernel)
        }
    }

    /// The neighbour graph's normalised Laplacian.
    pub fn laplacian(&self, options: &GraphOptions) -> Arc<Laplacian> {
        let mut graphs = lock(&self.shared.graphs);
        if let Some((_, laplacian)) = graphs.iter().find(|(known, _)| known == options) {
            return laplacian.clone();
        }
        let laplacian = Arc::new(Laplacian::new(self.shared.x.view(), options, self.par));
        graphs.push((options.clone(), laplacian.clone()));
        laplacian
    }

    /// A number that depends on nothing but the samples and the graph, made by `make` once.
    pub(super) fn once_per_graph(
        &self,
        options: &GraphOptions,
        bias: bool,
        make: impl FnOnce() -> f64,
    ) -> f64 {
        let mut known = lock(&self.shared.largest);
        let is_same = |(key, _): &&((GraphOptions, bool), f64)| key.0 == *options && key.1 == bias;
        if let Some((_, value)) = known.iter().find(is_same) {
            return *value;
        }
        let value = make();
        known.push(((options.clone(), bias), value));
        value
    }

    /// `(K + r I)^-1`, made by `make` or kept from another fit of a sweep.
    pub(super) fn inverse(
        &self,
        r: f64,
        bias: bool,
        make: impl FnOnce() -> Result<Mat<f64>, FitError>,
    ) -> Result<Arc<Mat<f64>>, FitError> {
        if !self.shared.keeps_inverses {
            return make().map(Arc::new);
        }
        let slot = self.slot(r, bias);
        // Only whoever wants the same one waits for it.
        let mut matrix = lock(&slot);
        if let Some(matrix) = &*matrix {
            return Ok(matrix.clone());
        }
        let made = Arc::new(make()?);
        *matrix = Some(made.clone());
        Ok(made)
    }

    /// The place of `(K + r I)^-1`, made in the stead of the one that was asked for least lately.
    fn slot(&self, r: f64, bias: bool) -> Slot {
        let mut kept = lock(&self.shared.inverses);
        let is_same = |kept: &Inverse| kept.r == r && kept.bias == bias;
        let found = match kept.iter().position(is_same) {
            Some(place) => kept.remove(place),
            None => {
                if kept.len() == KEPT_INVERSES {
                    kept.remove(0);
                }
                Inverse {
                    r,
                    bias,
                    slot: Slot::default(),
                }
            }
        };
        let slot = found.slot.clone();
        kept.push(found);
        slot
    }

    /// The training samples that trained machines are expansions in: all, or the factor's pivots.
    pub fn expansion(&self) -> CowArray<'_, f64, Ix2> {
        match self.low_rank() {
            None => self.shared.x.view().into(),
            Some(low) => self.shared.x.select(Axis(0), low.pivots()).into(),
        }
    }

    /// Kernel values between `samples` (rows) and the samples of [`Self::expansion`] (columns).
    pub fn cross(&self, samples: ArrayView2<'_, f64>) -> Mat<f64> {
        let expansion = self.expansion();
        self.shared
            .kernel
            .cross(samples, expansion.view(), self.par)
    }
}
