//! Our side of `scripts/bench-peers`: writes the samples of each case as .npy files for the other
//! programs, times our own work on them (best of 3, kernel matrix included where theirs is), and
//! prints one JSON object per case. Needs the real data (`NPSVCPP_DATA`).
//!
//! `cargo bench --profile dev --bench peers -- FOLDER [CASE...]`

use std::path::Path;
use std::time::Instant;

use faer::Par;
use ndarray::{Array2, Axis};
use npsvcpp::data::{Dataset, Store, splits};
use npsvcpp::kernel::{Kernel, algebra};
use npsvcpp::model::{Problem, registry};
use npsvcpp::seed::Seed;
use serde_json::{Value, json};

const CASES: [&str; 6] = [
    "svm-usps",
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
    let wanted = |case: &&str| chosen.is_empty() || chosen.iter().any(|name| name == case);
    for case in CASES.iter().filter(|case| wanted(case)) {
        let seconds = run(case, Path::new(folder));
        println!("{}", json!({"case": case, "seconds": seconds}));
    }
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
        let (x, y) = (self.x.clone(), self.y.clone());
        Problem::new(x, y, self.classes, &Kernel::default(), 1e-6, par())
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

fn run(case: &str, folder: &Path) -> f64 {
    let name = case.rsplit('-').next().unwrap_or(case);
    let parts = first_split(name);
    parts.save(folder, name);
    let fit = |method: &str, params: Value| {
        let method = registry::find(method)
            .expect("a method of the registry")
            .configure(&params)
            .expect("valid parameters");
        let problem = parts.problem();
        problem.gram();
        best_of_3(|| {
            let fit = method.fit(&problem, &Seed::root(2024));
            std::hint::black_box(fit.expect("the fit succeeds"));
        })
    };
    match case {
        "svm-usps" => best_of_3(|| {
            let method = registry::find("svm").expect("a method of the registry");
            let method = method
                .configure(&json!({"c": 10, "tolerance": 1e-3}))
                .expect("valid parameters");
            let problem = parts.problem();
            let fit = method.fit(&problem, &Seed::root(2024));
            let cross = problem.cross(parts.x_test.view());
            let machine = fit.expect("the fit succeeds").machine;
            std::hint::black_box(machine.predict(cross.as_ref(), par()));
        }),
        "product-usps" => {
            let problem = parts.problem();
            let k = problem.gram();
            best_of_3(|| {
                std::hint::black_box(algebra::product(k, k, par()));
            })
        }
        "twsvm-ovr-usps" => fit("twsvm", json!({"scheme": "ovr", "tolerance": 1e-4})),
        "k-npsvcpp-ovr-usps" => fit("k-npsvcpp", json!({"scheme": "ovr", "d": 20})),
        "k-npsvcpp-rvo-binalpha" => fit("k-npsvcpp", json!({"scheme": "rvo", "d": 72})),
        _ => fit("k-npsvcpp", json!({"scheme": "rvo", "d": 20})),
    }
}
