//! Problems from the digits that are part of the program, so that a benchmark needs no data.

use faer::Par;
use npsvcpp::data::{Store, subsample};
use npsvcpp::kernel::Kernel;
use npsvcpp::model::Problem;
use npsvcpp::seed::Seed;

/// Threads every benchmark uses.
pub fn par() -> Par {
    Par::rayon(std::thread::available_parallelism().map_or(1, usize::from))
}

/// `n` samples of Pendigits with their kernel matrix.
pub fn pendigits(n: usize) -> Problem {
    let problem = pendigits_without_kernel(n);
    problem.gram();
    problem
}

/// `n` samples of Pendigits; the kernel matrix is computed when it is first asked for.
pub fn pendigits_without_kernel(n: usize) -> Problem {
    let seed = Seed::root(2024);
    let all = Store::new(None, true)
        .load("pendigits")
        .expect("Pendigits is part of the program");
    let some = subsample(&all, n, &seed).expect("there are more than n samples");
    let classes = some.classes.len();
    Problem::new(some.x, some.y, classes, &Kernel::default(), 1e-6, par())
}
