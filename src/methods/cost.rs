//! Rough cost of a fit, for the plan and the memory budget, beyond the kernel matrix it is given.

use npsvc::solve::smo::CACHE_BYTES;
use npsvc::{KNpsvcpp, Scheme, Shape};

use super::svm::{Engine, Svm};

/// Operations and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub flops: f64,
    pub bytes: f64,
}

impl Cost {
    /// Operations a core makes in a second on this mix of work.
    const FLOPS_PER_SECOND: f64 = 1.5e10;

    /// Seconds on one core.
    pub fn seconds(self) -> f64 {
        self.flops / Self::FLOPS_PER_SECOND
    }

    /// The cost of both, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self { flops: self.flops + other.flops, bytes: self.bytes.max(other.bytes) }
    }
}

/// A square similarity loss: the similar samples are eliminated under rest versus one.
pub fn square_similarity(scheme: Scheme, shape: Shape) -> Cost {
    if scheme == Scheme::Ovr || shape.rank.is_some() {
        return full_dual(shape);
    }
    let (n, classes) = (shape.n as f64, shape.classes as f64);
    let flops = 2.0 * n.powi(3) + classes * (n / classes).powi(3) + 20.0 * n * n;
    Cost { flops, bytes: 16.0 * n * n }
}

/// Duals in all coefficients: coordinate steps at first, then a dozen linear systems per class with a
/// quarter of the samples each, or as many through the shared inverse. The memory is that of the
/// inverse and of its computation.
pub fn full_dual(shape: Shape) -> Cost {
    let (n, classes) = (shape.n as f64, shape.classes as f64);
    if let Some(rank) = shape.rank {
        return low_rank(shape, rank);
    }
    let steps = (n * n / 5000.0).clamp(0.5 * n, 4.0 * n);
    let systems = 12.0 * (n / classes + n / 4.0).min(n).powi(3) / 3.0;
    Cost { flops: classes * (steps * 12.0 * n + systems), bytes: 16.0 * n * n + 16.0 * n * classes }
}

/// With a factor of the kernel matrix: a dozen systems per class of O(n rank^2) operations. The memory
/// is that of a few copies of the factor and of a system per class.
fn low_rank(shape: Shape, rank: usize) -> Cost {
    let (n, classes, rank) = (shape.n as f64, shape.classes as f64, rank as f64);
    Cost {
        flops: classes * (12.0 * n * rank * rank + rank.powi(3)),
        bytes: 8.0 * (3.0 * n * rank + (classes + 2.0) * rank * rank + 4.0 * n * classes),
    }
}

/// The full dual, and a factorisation of the deformed kernel.
pub fn rmtbsvm(shape: Shape) -> Cost {
    let plain = full_dual(shape);
    if shape.rank.is_some() {
        return plain;
    }
    let n = shape.n as f64;
    Cost { flops: plain.flops + 8.0 / 3.0 * n.powi(3), bytes: plain.bytes + 8.0 * n * n }
}

/// The full dual on a matrix that is made for each class.
pub fn nhsvm(shape: Shape) -> Cost {
    let (n, classes) = (shape.n as f64, shape.classes as f64);
    let plain = full_dual(shape);
    if shape.rank.is_some() {
        return Cost { flops: 4.0 * plain.flops, bytes: 2.0 * plain.bytes };
    }
    Cost { flops: plain.flops + classes * 2.0 * n.powi(3), bytes: plain.bytes + 24.0 * n * n }
}

/// TWSVM's problems, and products with the kernel matrix in every round of the P-step.
pub fn k_npsvcpp(method: &KNpsvcpp, shape: Shape) -> Cost {
    let (n, d) = (shape.n as f64, method.d.resolve(shape.classes) as f64);
    let planes = square_similarity(method.scheme, shape);
    let rounds = method.max_iter as f64 * 8.0;
    // Under one versus rest, the reduced factor of each class is as large as the factor.
    let reduced = match (shape.rank, method.scheme) {
        (Some(rank), Scheme::Ovr) => 8.0 * shape.classes as f64 * n * rank as f64,
        _ => 0.0,
    };
    Cost {
        flops: planes.flops + rounds * 2.0 * n * n * d,
        bytes: planes.bytes + 144.0 * n * d + reduced,
    }
}

/// A two-class problem per pair of classes; threads work on different pairs.
pub fn svm(method: &Svm, shape: Shape, threads: usize) -> Cost {
    let (n, classes) = (shape.n as f64, shape.classes.max(2) as f64);
    let pairs = classes * (classes - 1.0) / 2.0;
    let samples = 2.0 * n / classes;
    // About as many steps as samples, each of which reads a few columns.
    let flops = pairs * 10.0 * samples * samples;
    let coefficients = 8.0 * n * pairs;
    let scratch = match method.engine {
        Engine::Smo => (8.0 * samples * samples).min(CACHE_BYTES as f64),
        // Index and value of every entry, copied three times.
        Engine::Libsvm => 48.0 * samples * samples,
        Engine::Linfa => 8.0 * samples * (samples + shape.dims as f64),
    };
    // The pairs use the full matrix, also if there is a factor of it.
    let matrix = shape.rank.map_or(0.0, |_| 8.0 * n * n);
    Cost { flops, bytes: matrix + 2.0 * coefficients + scratch * pairs.min(threads as f64) }
}
