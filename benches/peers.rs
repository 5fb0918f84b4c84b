//! Our side of `scripts/bench-peers`: writes the samples of each case as .npy files for the other
//! programs, times our own work on them (best of 3, kernel matrix and graph included), and
//! prints one JSON object per case. Needs the real data (`NPSVCPP_DATA`). Cases `growth-full-N` and
//! `growth-pivoted-N` fit K-NPSVC++ to N samples of Pendigits, once; one per process, because the
//! memory is that of the process.
//!
//! `cargo bench --profile dev --bench peers -- FOLDER [CASE...]`

use std::path::Path;
use std::time::Instant;

use faer::{Mat, Par};
use ndarray::{Array2, Axis};
use npsvcpp::data::{Dataset, Store, splits};
use npsvcpp::kernel::{Factor, Kernel, Pivoted, Resolved, algebra};
use npsvcpp::model::{Problem, registry};
use npsvcpp::seed::Seed;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde_json::{Value, json};

const CASES: [&str; 12] = [
    "kernel-8000",
    "sweep-binalpha",
    "separate-binalpha",
    "separate-beside-binalpha",
    "large",
    "svm-usps",
    "svm-one-usps",
    "product-usps",
    "k-npsvcpp-rvo-usps",
    "k-npsvcpp-ovr-usps",
    "k-npsvcpp-rvo-binalpha",
    "twsvm-ovr-usps",
];

fn main() {
    // `cargo bench` appends --bench to what it is given.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let Some((folder, chosen)) = arguments.split_first() else {
        eprintln!("usage: cargo bench --profile dev --bench peers -- FOLDER [CASE...]");
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

/// Most memory this process has held so far, in MiB, where the system tells.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

fn par() -> Par {
    Par::rayon(2)
}

/// The first split of a dataset, as the experiments make it.
struct Parts {
    x: Array2<f64>,
    y: Vec<usize>,
    classes: usize,
    x_test: Array2<f64>,
}

fn first_split(name: &str) -> Parts {
    let data: Dataset = Store::new(None, true)
        .load(name)
        .unwrap_or_else(|error| panic!("{error}"));
    let all = splits(&data, &Default::default(), &Seed::root(2024)).expect("the set can be split");
    let of = |index: &[usize]| data.x.select(Axis(0), index);
    Parts {
        x: of(&all[0].train),
        y: all[0].train.iter().map(|&i| data.y[i]).collect(),
        classes: data.classes.len(),
        x_test: of(&all[0].test),
    }
}

impl Parts {
    fn problem(&self) -> Problem {
        self.problem_by(par())
    }

    fn problem_by(&self, par: Par) -> Problem {
        let (x, y) = (self.x.clone(), self.y.clone());
        Problem::new(x, y, self.classes, &Kernel::default(), 1e-6, par)
    }

    /// Writes what the other programs read.
    fn save(&self, folder: &Path, name: &str) {
        let labels = Array2::from_shape_fn((self.y.len(), 1), |(i, _)| self.y[i] as f64);
        for (part, values) in [("x", &self.x), ("y", &labels), ("x-test", &self.x_test)] {
            let path = folder.join(format!("{name}-{part}.npy"));
            std::fs::write(&path, npy(values)).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// A matrix in NumPy's format, version 1.
fn npy(values: &Array2<f64>) -> Vec<u8> {
    let (rows, columns) = values.dim();
    let mut header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).expect("a short header");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.as_bytes());
    for value in values {
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

fn best_of_3(mut work: impl FnMut()) -> f64 {
    (0..3)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn once(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

/// Points in `classes` normal clouds.
fn clouds(n: usize, dims: usize, classes: usize) -> (Array2<f64>, Vec<usize>) {
    let mut rng = Seed::root(1).rng();
    let mut normal = |_: (usize, usize)| -> f64 { StandardNormal.sample(&mut rng) };
    let centres = Array2::from_shape_fn((classes, dims), &mut normal);
    let noise = Array2::from_shape_fn((n, dims), &mut normal);
    let y: Vec<usize> = (0..n).map(|i| i % classes).collect();
    let x = Array2::from_shape_fn((n, dims), |(i, j)| {
        0.25 * centres[[y[i], j]] + noise[[i, j]]
    });
    (x, y)
}

fn configured(method: &str, params: Value) -> Box<dyn registry::Configured> {
    let method = registry::find(method).expect("a method of the registry");
    method.configure(&params).expect("valid parameters")
}

/// `exp(-d^2/t)` of 8000 points in 256 dimensions, the full square.
fn kernel(folder: &Path) -> f64 {
    let (x, _) = clouds(8000, 256, 10);
    std::fs::write(folder.join("kernel-x.npy"), npy(&x)).unwrap_or_else(|error| panic!("{error}"));
    let kernel = Resolved::new(&Kernel::default(), x.view());
    best_of_3(|| {
        std::hint::black_box(kernel.gram(x.view(), 0.0, par()));
    })
}

/// How the points of a sweep are fitted.
#[derive(Clone, Copy, PartialEq)]
enum Sweep {
    /// As `select` does: points that differ in `c` and `gamma` one after the other, two such lanes
    /// side by side.
    Shared,
    /// With nothing shared, one after the other, by two threads.
    OneByOne,
    /// With nothing shared, two side by side, by one thread each.
    SideBySide,
}

/// 100 points of K-NPSVC++ on the first split of BinAlpha, fitted and scored.
fn sweep(kind: Sweep) -> f64 {
    let parts = first_split("binalpha");
    let mut lanes = Vec::new();
    for r1 in [0.05, 0.5] {
        for mu in [0.01, 0.1] {
            let mut lane = Vec::new();
            for c in [10.0, 3.0, 1.0, 0.3, 0.1] {
                let point = |gamma: f64| json!({"scheme": "rvo", "r1": r1, "gamma": gamma, "mu": mu, "c": c});
                lane.extend([0.01, 0.1, 1.0, 10.0, 100.0].map(point));
            }
            lanes.push(lane);
        }
    }
    let score = |params: &Value, problem: &Problem, cross: &Mat<f64>| {
        let fit = configured("k-npsvcpp", params.clone()).fit(problem, &Seed::root(2024));
        let machine = fit.expect("the fit succeeds").machine;
        std::hint::black_box(machine.predict(cross.as_ref(), problem.par()));
    };
    best_of_3(|| {
        if kind == Sweep::Shared {
            let problem = parts.problem().for_sweep();
            let cross = problem.cross(parts.x_test.view());
            problem.gram();
            lanes.iter().par_bridge().for_each(|lane| {
                let problem = problem.lane(Par::Seq);
                (lane.iter()).for_each(|params| score(params, &problem, &cross));
            });
        } else {
            let alone = |params: &Value, par: Par| {
                let problem = parts.problem_by(par);
                score(params, &problem, &problem.cross(parts.x_test.view()));
            };
            match kind {
                Sweep::OneByOne => (lanes.iter().flatten()).for_each(|params| alone(params, par())),
                _ => (lanes.par_iter().flatten()).for_each(|params| alone(params, Par::Seq)),
            }
        }
    })
}

/// 50,000 samples in 512 dimensions on a factor of rank 1500, the factor included.
fn large() -> f64 {
    let (x, y) = clouds(50_000, 512, 10);
    let factor = Factor::Pivoted(Pivoted {
        rank: Some(1500),
        tolerance: 0.0,
    });
    let problem = Problem::new(x, y, 10, &Kernel::default(), 1e-6, par()).with_factor(factor);
    let method = configured("k-npsvcpp", json!({"scheme": "rvo"}));
    once(|| {
        let fit = method
            .fit(&problem, &Seed::root(2024))
            .expect("the fit succeeds");
        eprintln!("{:?}", fit.certificate);
        eprintln!(
            "factor error {:?}",
            problem.low_rank().map(|low| low.error())
        );
    })
}

/// K-NPSVC++ on `n` samples of Pendigits, kernel or factor included.
fn growth(kind: &str, n: usize) -> f64 {
    let data: Dataset = Store::new(None, true)
        .load("pendigits")
        .unwrap_or_else(|error| panic!("{error}"));
    let x = data.x.select(Axis(0), &(0..n).collect::<Vec<_>>());
    let factor = match kind {
        "pivoted" => Factor::Pivoted(Pivoted {
            rank: Some(500),
            tolerance: 0.0,
        }),
        _ => Factor::Full,
    };
    let problem = Problem::new(x, data.y[..n].to_vec(), 10, &Kernel::default(), 1e-6, par())
        .with_factor(factor);
    let method = configured("k-npsvcpp", json!({"scheme": "rvo"}));
    once(|| {
        std::hint::black_box(
            method
                .fit(&problem, &Seed::root(2024))
                .expect("the fit succeeds"),
        );
    })
}

/// What a case took, and the objective it came to where that can be compared.
struct Timed {
    seconds: f64,
    optimum: Option<f64>,
}

impl From<f64> for Timed {
    fn from(seconds: f64) -> Self {
        Self {
            seconds,
            optimum: None,
        }
    }
}

fn run(case: &str, folder: &Path) -> Timed {
    match case.split('-').collect::<Vec<_>>()[..] {
        ["kernel", _] => kernel(folder).into(),
        ["sweep", _] => sweep(Sweep::Shared).into(),
        ["separate", "beside", _] => sweep(Sweep::SideBySide).into(),
        ["separate", _] => sweep(Sweep::OneByOne).into(),
        ["large"] => large().into(),
        ["growth", kind, n] => growth(kind, n.parse().expect("a number of samples")).into(),
        _ => on_split(case, folder),
    }
}

/// Fits to the first split of the dataset that a case ends with.
fn on_split(case: &str, folder: &Path) -> Timed {
    let name = case.rsplit('-').next().unwrap_or(case);
    let parts = first_split(name);
    parts.save(folder, name);
    let ten = |scheme: &str, d: usize| json!({"scheme": scheme, "d": d, "tolerance": 0});
    let fit = |method: &str, params: Value| fitted(&parts, &*configured(method, params));
    match case {
        "svm-usps" => svm(&parts, par()).into(),
        "svm-one-usps" => svm(&parts, Par::Seq).into(),
        "product-usps" => {
            let problem = parts.problem();
            let k = problem.gram();
            let product = || {
                std::hint::black_box(algebra::product(k, k, par()));
            };
            best_of_3(product).into()
        }
        "twsvm-ovr-usps" => fit("twsvm", json!({"scheme": "ovr", "tolerance": 1e-4})),
        "k-npsvcpp-ovr-usps" => fit("k-npsvcpp", ten("ovr", 20)),
        "k-npsvcpp-rvo-binalpha" => fit("k-npsvcpp", ten("rvo", 72)),
        _ => fit("k-npsvcpp", ten("rvo", 20)),
    }
}

/// A fit from nothing: kernel matrix, graph and all.
fn fitted(parts: &Parts, method: &dyn registry::Configured) -> Timed {
    let mut optimum = None;
    let seconds = best_of_3(|| {
        let fit = method.fit(&parts.problem(), &Seed::root(2024));
        optimum = Some(fit.expect("the fit succeeds").certificate.dual);
    });
    Timed { seconds, optimum }
}

/// A fit and the prediction of the test samples.
fn svm(parts: &Parts, par: Par) -> f64 {
    let method = configured("svm", json!({"c": 10, "tolerance": 1e-3}));
    best_of_3(|| {
        let problem = parts.problem_by(par);
        let fit = method.fit(&problem, &Seed::root(2024));
        let cross = problem.cross(parts.x_test.view());
        let machine = fit.expect("the fit succeeds").machine;
        std::hint::black_box(machine.predict(cross.as_ref(), par));
    })
}
