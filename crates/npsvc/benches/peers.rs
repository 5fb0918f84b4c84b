//! Our side of `scripts/bench-peers`: times our work on the .npy files that `examples/peer_data.rs` of
//! the harness writes (best of 3, kernel matrix and graph included), and prints one JSON object per
//! case. Cases `growth-full-N` and `growth-pivoted-N` fit K-NPSVC++ to N samples of Pendigits, once;
//! one per process, because the memory is that of the process.
//!
//! `cargo bench -p npsvc --profile dev --bench peers -- FOLDER [CASE...]`

use std::path::Path;
use std::time::Instant;

use faer::Par;
use npsvc::kernel::FittedKernel;
use npsvc::ndarray::{Array2, s};
use npsvc::{
    Dimension, FitOptions, KNpsvcpp, Kernel, Method, Model, Scheme, Seed, Storage, Svm,
    TrainingSet, Twsvm, algebra,
};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde_json::json;

const CASES: [&str; 12] = [
    "kernel-8000",
    "sweep-binalpha",
    "separate-binalpha",
    "separate-parallel-binalpha",
    "large",
    "svm-usps",
    "svm-one-usps",
    "product-usps",
    "k-npsvcpp-rvo-usps",
    "k-npsvcpp-ovr-usps",
    "k-npsvcpp-rvo-binalpha",
    "twsvm-ovr-usps",
];
const THREADS: usize = 2;

fn main() {
    // `cargo bench` appends --bench to its arguments.
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let Some((folder, chosen)) = arguments.split_first() else {
        eprintln!("usage: cargo bench -p npsvc --profile dev --bench peers -- FOLDER [CASE...]");
        return;
    };
    let all: Vec<String> = CASES.iter().map(|&case| case.to_owned()).collect();
    for case in if chosen.is_empty() { &all } else { chosen } {
        let Timed { seconds, optimum } = run(case, Path::new(folder));
        println!(
            "{}",
            json!({"case": case, "seconds": seconds, "optimum": optimum, "peak_mb": peak_mb()})
        );
    }
}

/// Most memory this process has held so far, in MiB, if the system reports it.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// The samples of a case.
struct Samples {
    x: Array2<f64>,
    y: Vec<usize>,
}

impl Samples {
    fn read(folder: &Path, name: &str) -> Self {
        let y = read_npy(&folder.join(format!("{name}-y.npy")));
        Self {
            x: read_npy(&folder.join(format!("{name}-x.npy"))),
            y: y.iter().map(|&class| class as usize).collect(),
        }
    }

    fn set(&self, threads: usize) -> TrainingSet {
        let set = TrainingSet::new(self.x.clone(), self.y.clone(), &Kernel::default());
        set.expect("a training set").with_threads(threads)
    }
}

/// A matrix of f64 in NumPy's format, version 1, row by row.
fn read_npy(path: &Path) -> Array2<f64> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8_lossy(&bytes[10..start]);
    let shape = header.split(['(', ')']).nth(1).expect("a shape");
    let sizes: Vec<usize> = shape.split(',').filter_map(|size| size.trim().parse().ok()).collect();
    let numbers = bytes[start..].chunks_exact(8);
    let numbers = numbers.map(|number| f64::from_le_bytes(number.try_into().expect("8 bytes")));
    Array2::from_shape_vec((sizes[0], sizes[1]), numbers.collect()).expect("a full matrix")
}

fn best_of_3(mut work: impl FnMut()) -> f64 {
    let times = (0..3).map(|_| once(&mut work));
    times.fold(f64::INFINITY, f64::min)
}

fn once(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

/// Points in `classes` normal clouds.
fn clouds(n: usize, dims: usize, classes: usize) -> Samples {
    let mut rng = Seed::root(1).rng();
    let mut normal = |_: (usize, usize)| -> f64 { StandardNormal.sample(&mut rng) };
    let centres = Array2::from_shape_fn((classes, dims), &mut normal);
    let noise = Array2::from_shape_fn((n, dims), &mut normal);
    let y: Vec<usize> = (0..n).map(|i| i % classes).collect();
    let x = Array2::from_shape_fn((n, dims), |(i, j)| 0.25 * centres[[y[i], j]] + noise[[i, j]]);
    Samples { x, y }
}

fn fit(method: &dyn Method, set: &TrainingSet) -> Model {
    let model = method.fit(set, FitOptions::seeded(Seed::root(2024)));
    model.expect("the fit succeeds")
}

/// `exp(-d^2/t)` of 8000 points in 256 dimensions, the full square.
fn kernel() -> f64 {
    let Samples { x, .. } = clouds(8000, 256, 10);
    let kernel = FittedKernel::new(&Kernel::default(), x.view());
    best_of_3(|| {
        std::hint::black_box(kernel.gram(x.view(), 0.0, Par::rayon(THREADS)));
    })
}

/// How the points of a grid are fitted.
#[derive(Clone, Copy, PartialEq)]
enum Grid {
    /// In one sweep.
    Shared,
    /// With nothing shared, one after another, on two threads.
    OneByOne,
    /// With nothing shared, two in parallel, on one thread each.
    InParallel,
}

/// 100 points of K-NPSVC++ on the first split of BinAlpha, fitted and scored.
fn grid(kind: Grid, folder: &Path) -> f64 {
    let samples = Samples::read(folder, "binalpha");
    let x_test = read_npy(&folder.join("binalpha-x-test.npy"));
    let mut points = Vec::new();
    for r1 in [0.05, 0.5] {
        for mu in [0.01, 0.1] {
            for c in [10.0, 3.0, 1.0, 0.3, 0.1] {
                points.extend([0.01, 0.1, 1.0, 10.0, 100.0].map(|gamma| KNpsvcpp {
                    scheme: Scheme::Rvo,
                    r1,
                    mu,
                    c,
                    gamma,
                    ..KNpsvcpp::default()
                }));
            }
        }
    }
    let alone = |point: &KNpsvcpp, threads: usize| {
        let model = fit(point, &samples.set(threads));
        std::hint::black_box(model.predict(x_test.view()).expect("finite rows"));
    };
    best_of_3(|| match kind {
        Grid::Shared => {
            let set = samples.set(THREADS);
            let cross = set.cross(x_test.view()).expect("finite rows");
            let points: Vec<&dyn Method> = points.iter().map(|point| point as _).collect();
            set.prepare();
            set.sweep().run(&points, &Seed::root(2024), |_, model| {
                let model = model.expect("the fit succeeds");
                std::hint::black_box(model.predict_from(&cross).unwrap());
            });
        }
        Grid::OneByOne => points.iter().for_each(|point| alone(point, THREADS)),
        Grid::InParallel => points.par_iter().for_each(|point| alone(point, 1)),
    })
}

fn rvo() -> KNpsvcpp {
    KNpsvcpp { scheme: Scheme::Rvo, ..KNpsvcpp::default() }
}

fn pivoted(set: TrainingSet, rank: usize) -> TrainingSet {
    let storage = Storage::Pivoted { rank: Some(rank), tolerance: 0.0 };
    set.with_storage(storage).expect("a good storage")
}

/// 50,000 samples in 512 dimensions on a factor of rank 1500, the factor included.
fn large() -> f64 {
    let set = pivoted(clouds(50_000, 512, 10).set(THREADS), 1500);
    once(|| {
        let model = fit(&rvo(), &set);
        eprintln!("{:?}", model.certificate());
        eprintln!("{:?}", set.factor().map(|factor| (factor.rank(), factor.error())));
    })
}

/// K-NPSVC++ on `n` samples of Pendigits, kernel or factor included.
fn growth(kind: &str, n: usize, folder: &Path) -> f64 {
    let all = Samples::read(folder, "pendigits");
    let part = Samples { x: all.x.slice(s![..n, ..]).to_owned(), y: all.y[..n].to_vec() };
    let set = match kind {
        "pivoted" => pivoted(part.set(THREADS), 500),
        _ => part.set(THREADS),
    };
    once(|| {
        std::hint::black_box(fit(&rvo(), &set));
    })
}

/// The time of a case, and its objective if that can be compared.
struct Timed {
    seconds: f64,
    optimum: Option<f64>,
}

impl From<f64> for Timed {
    fn from(seconds: f64) -> Self {
        Self { seconds, optimum: None }
    }
}

fn run(case: &str, folder: &Path) -> Timed {
    match case.split('-').collect::<Vec<_>>()[..] {
        ["kernel", _] => kernel().into(),
        ["sweep", _] => grid(Grid::Shared, folder).into(),
        ["separate", "parallel", _] => grid(Grid::InParallel, folder).into(),
        ["separate", _] => grid(Grid::OneByOne, folder).into(),
        ["large"] => large().into(),
        ["growth", kind, n] => {
            let n = n.parse().expect("a number of samples");
            growth(kind, n, folder).into()
        }
        _ => on_split(case, folder),
    }
}

/// Fits to the first split of the dataset that a case ends with.
fn on_split(case: &str, folder: &Path) -> Timed {
    let name = case.rsplit('-').next().unwrap_or(case);
    let samples = Samples::read(folder, name);
    let ten = |scheme, d| KNpsvcpp {
        scheme,
        d: Dimension::Fixed(d),
        tolerance: 0.0,
        ..KNpsvcpp::default()
    };
    match case {
        "svm-usps" => svm(&samples, folder, THREADS).into(),
        "svm-one-usps" => svm(&samples, folder, 1).into(),
        "product-usps" => {
            let set = samples.set(THREADS);
            let k = set.full_matrix();
            let product = || {
                std::hint::black_box(algebra::product(k, k, Par::rayon(THREADS)));
            };
            best_of_3(product).into()
        }
        "twsvm-ovr-usps" => {
            let twsvm = Twsvm { tolerance: 1e-4, ..Twsvm::default() };
            fitted(&samples, &twsvm)
        }
        "k-npsvcpp-ovr-usps" => fitted(&samples, &ten(Scheme::Ovr, 20)),
        "k-npsvcpp-rvo-binalpha" => fitted(&samples, &ten(Scheme::Rvo, 72)),
        _ => fitted(&samples, &ten(Scheme::Rvo, 20)),
    }
}

/// A fit from the samples: kernel matrix, graph and all.
fn fitted(samples: &Samples, method: &dyn Method) -> Timed {
    let mut optimum = None;
    let seconds = best_of_3(|| {
        optimum = Some(fit(method, &samples.set(THREADS)).certificate().dual);
    });
    Timed { seconds, optimum }
}

/// A fit and the prediction of the test samples.
fn svm(samples: &Samples, folder: &Path, threads: usize) -> f64 {
    let x_test = read_npy(&folder.join("usps-x-test.npy"));
    let svm = Svm { c: 10.0, ..Svm::default() };
    best_of_3(|| {
        let model = fit(&svm, &samples.set(threads));
        std::hint::black_box(model.predict(x_test.view()).expect("finite rows"));
    })
}
