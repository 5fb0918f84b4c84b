//! Promise: one identity, one number. What a method computes changes only together with its version.
//!
//! `tests/golden/<dataset>.json` holds the objective, a hash of the predictions and the accuracy of every kernel method at
//! its version, for every scheme, bias, kernel and storage, and for a sweep over `c`. On a processor with the instructions
//! that the file names, predictions must be equal; everywhere, objectives must agree within their certificates.
//! `NPSVCPP_ACCEPT=1` adds numbers of new versions, methods and parameters. It never replaces a number.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ndarray::{Array2, Axis};
use npsvc::{FitError, FitOptions, Kernel, Method, Model, Seed, Storage, TrainingSet};
use npsvcpp::analyse::sha256;
use npsvcpp::data::Store;
use npsvcpp::methods::{Entry, METHODS};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const TRAIN: usize = 120;
const TEST: usize = 80;
const STORAGES: [(&str, Storage); 2] = [
    ("full", Storage::Full { jitter: 1e-6 }),
    ("pivoted", Storage::Pivoted { rank: Some(40), tolerance: 1e-6 }),
];

/// What is kept of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Golden {
    objective: f64,
    gap: f64,
    /// Hash of the classes of the test samples.
    predictions: String,
    accuracy: f64,
}

/// The numbers of a method at its version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Numbers {
    version: u32,
    /// What faer and our own loops choose their instructions by.
    cpu: String,
    fits: BTreeMap<String, Golden>,
}

type File = BTreeMap<String, Numbers>;

/// Training and test samples.
struct Problem {
    x: [Array2<f64>; 2],
    y: [Vec<usize>; 2],
    /// Of learned representations: no more than a linear kernel has.
    dims: usize,
}

impl Problem {
    /// Parts of a dataset that comes with the program.
    fn embedded(name: &str) -> Self {
        let data = Store::new(None, true).fetch(name, &mut |_| ()).unwrap();
        let part = |begin: usize, end: usize| (begin..end).collect::<Vec<_>>();
        let parts = [part(0, TRAIN), part(TRAIN, TRAIN + TEST)];
        Self {
            x: parts.each_ref().map(|part| data.x.select(Axis(0), part)),
            y: parts.map(|part| part.into_iter().map(|i| data.y[i]).collect()),
            dims: 8,
        }
    }

    /// Two overlapping clouds, in which samples occur several times.
    fn clouds() -> Self {
        let part = |begin: usize, count: usize| {
            let x = Array2::from_shape_fn((count, 2), |(i, j)| {
                let i = i + begin;
                let shift = if i.is_multiple_of(3) { 2 } else { 0 };
                ([i * 7 % 11, i * 5 % 13][j] + shift) as f64
            });
            (
                x,
                (begin..begin + count)
                    .map(|i| usize::from(i.is_multiple_of(3)))
                    .collect::<Vec<_>>(),
            )
        };
        let ((train, train_y), (test, test_y)) = (part(0, TRAIN), part(TRAIN, TEST));
        Self { x: [train, test], y: [train_y, test_y], dims: 2 }
    }

    fn set(&self, kernel: &Value, storage: Storage) -> TrainingSet {
        let kernel: Kernel = serde_json::from_value(kernel.clone()).unwrap();
        let set = TrainingSet::new(self.x[0].clone(), self.y[0].clone(), &kernel).unwrap();
        set.with_storage(storage).unwrap().with_threads(1)
    }

    /// The number of a fit. There is none if a hyperplane is zero, as it may be for a factor of low rank.
    fn number(&self, model: &Result<Model, FitError>, key: &str) -> Option<Golden> {
        match model {
            Ok(model) => Some(self.golden(model)),
            Err(FitError::ZeroHyperplane { .. }) => None,
            Err(error) => panic!("{key}: {error}"),
        }
    }

    fn golden(&self, model: &Model) -> Golden {
        let predicted = model.predict(self.x[1].view()).unwrap();
        let correct = predicted.iter().zip(&self.y[1]).filter(|(l, y)| l == y).count();
        let classes: Vec<u8> = predicted.iter().map(|&class| class as u8).collect();
        let certificate = model.certificate();
        Golden {
            objective: certificate.primal,
            gap: certificate.gap,
            predictions: sha256(&classes)[..16].to_owned(),
            accuracy: 100.0 * correct as f64 / TEST as f64,
        }
    }
}

/// The parameter sets of a method: each scheme and each bias that it has. All parameters are given, so that another
/// default is not another number.
fn variants(entry: &Entry, dims: usize) -> Vec<Value> {
    let choices = |name: &str, values: [Value; 2]| match entry.defaults.get(name) {
        Some(_) => values.map(Some).to_vec(),
        None => vec![None],
    };
    let mut found = Vec::new();
    for scheme in choices("scheme", [json!("ovr"), json!("rvo")]) {
        for bias in choices("bias", [json!(false), json!(true)]) {
            let mut params = entry.defaults.clone();
            if entry.defaults.get("d").is_some() {
                params["d"] = json!(dims);
            }
            let given = [("scheme", &scheme), ("bias", &bias)];
            for (name, value) in given {
                if let Some(value) = value {
                    params[name] = value.clone();
                }
            }
            found.push(params);
        }
    }
    found
}

fn fits(problem: &Problem, entry: &Entry) -> BTreeMap<String, Golden> {
    let kernels = [
        json!({"gaussian": {}}),
        json!("linear"),
        json!({"polynomial": {"degree": 2, "scale": 1e-3}}),
    ];
    let mut found = BTreeMap::new();
    for (storage_name, storage) in STORAGES {
        for kernel in &kernels {
            let set = problem.set(kernel, storage);
            // A representation cannot be learned from a factor that has all of a singular kernel matrix.
            let is_whole = set.factor().is_some_and(|factor| factor.rank() == problem.x[0].ncols());
            if entry.info.learns_representation && is_whole {
                continue;
            }
            for params in variants(entry, problem.dims) {
                let point = entry.point(&params).unwrap();
                let method = point.kernel_method().unwrap();
                let key = format!("{storage_name} {kernel} {params}");
                let model = method.fit(&set, FitOptions::seeded(Seed::root(3)));
                found.extend(problem.number(&model, &key).map(|number| (key, number)));
            }
        }
        let set = problem.set(&kernels[0], storage);
        for params in variants(entry, problem.dims) {
            found.extend(sweep(problem, entry, &params, &set, storage_name));
        }
    }
    found
}

/// Fits that share intermediate results, as tuning makes them.
fn sweep(
    problem: &Problem,
    entry: &Entry,
    params: &Value,
    set: &TrainingSet,
    storage: &str,
) -> Vec<(String, Golden)> {
    if params.get("c").is_none() {
        return Vec::new();
    }
    let at = |c: f64| {
        let mut params = params.clone();
        params["c"] = json!(c);
        entry.point(&params).unwrap()
    };
    let points = [0.1, 1.0, 10.0].map(at);
    let methods = points.each_ref().map(|point| point.kernel_method().unwrap());
    let methods: [&dyn Method; 3] = methods;
    let keys = points.each_ref().map(|point| format!("{storage} sweep {}", point.params));
    let numbers = set
        .sweep()
        .run(&methods, &Seed::root(3), |index, model| problem.number(&model, &keys[index]));
    keys.iter().cloned().zip(numbers).filter_map(|(key, number)| Some((key, number?))).collect()
}

fn cpu() -> String {
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! has {
            ($($name:tt)*) => { $(if std::arch::is_x86_feature_detected!($name) { found.push($name); })* };
        }
        has!("avx2" "fma" "avx512f" "avx512vl" "avx512dq" "avx512bw");
    }
    format!("{} {}", std::env::consts::ARCH, found.join(" "))
}

/// What is not as the file has it, one sentence each.
fn differences(name: &str, now: &Numbers, then: &Numbers) -> Vec<String> {
    let mut found = Vec::new();
    for (key, now_fit) in &now.fits {
        let Some(fit) = then.fits.get(key) else { continue };
        // Rounding may add to what the certificates allow.
        let slack = now_fit.gap.abs() + fit.gap.abs() + 1e-6 * fit.objective.abs().max(1e-9);
        let has_same_objective = (now_fit.objective - fit.objective).abs() <= slack;
        let has_same_classes =
            (&now_fit.predictions, now_fit.accuracy) == (&fit.predictions, fit.accuracy);
        if !has_same_objective || (!has_same_classes && now.cpu == then.cpu) {
            found.push(format!("{name} {key}: {fit:?} is now {now_fit:?}"));
        }
    }
    found
}

/// Compares the numbers of all methods on a dataset with its file.
fn check(dataset: &str, problem: &Problem) {
    let path = format!("tests/golden/{dataset}.json");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read(&path).unwrap_or_else(|_| b"{}".to_vec());
    let known: File = serde_json::from_slice(&text).unwrap();
    let mut now = File::new();
    let mut moved = Vec::new();
    for entry in METHODS.iter().filter(|entry| !entry.is_network) {
        let name = entry.info.name;
        let fits = fits(problem, entry);
        let mut numbers = Numbers { version: entry.info.version, cpu: cpu(), fits };
        if let Some(then) = known.get(name).filter(|then| then.version == numbers.version) {
            moved.extend(differences(name, &numbers, then));
            // What is known stays as it is.
            numbers.cpu.clone_from(&then.cpu);
            let fits = numbers.fits.iter_mut();
            fits.for_each(|(key, fit)| *fit = then.fits.get(key).unwrap_or(fit).clone());
        }
        now.insert(name.to_owned(), numbers);
    }
    assert!(
        moved.is_empty(),
        "{dataset}: finished cells of these methods would keep their identity with other numbers. Either undo the change, \
         or raise the `version` in the method's `MethodInfo`, run this test with NPSVCPP_ACCEPT=1, and run the published \
         experiments of the method again.\n{}",
        moved.join("\n")
    );
    if std::env::var_os("NPSVCPP_ACCEPT").is_some() {
        fs::write(&path, serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
        return;
    }
    let differs = |name: &&String| known.get(*name) != now.get(*name);
    let missing: Vec<&String> = now.keys().chain(known.keys()).filter(differs).collect();
    assert!(
        missing.is_empty(),
        "{} does not have the versions and parameters of {missing:?}; run this test with NPSVCPP_ACCEPT=1 to add them",
        path.display()
    );
}

#[test]
fn numbers_on_optdigits_follow_from_the_versions() {
    check("optdigits", &Problem::embedded("optdigits"));
}

#[test]
fn numbers_on_pendigits_follow_from_the_versions() {
    check("pendigits", &Problem::embedded("pendigits"));
}

#[test]
fn numbers_on_two_clouds_follow_from_the_versions() {
    check("clouds", &Problem::clouds());
}

/// A file with other numbers, as they would be after a change of a method.
#[test]
fn a_changed_number_is_noticed_and_rounding_is_not() {
    let fit = Golden { objective: 2.0, gap: 1e-4, predictions: "0a".to_owned(), accuracy: 50.0 };
    let numbers = |fit: &Golden, cpu: &str| Numbers {
        version: 1,
        cpu: cpu.to_owned(),
        fits: [("full".to_owned(), fit.clone())].into(),
    };
    let then = numbers(&fit, "here");
    let is_noticed =
        |fit: &Golden, cpu: &str| !differences("svm", &numbers(fit, cpu), &then).is_empty();
    let (rounded, worse) = (2.0 + 1e-4, 2.0 + 1e-3);
    for (objective, predictions, cpu, noticed) in [
        (2.0, "0a", "here", false),
        (rounded, "0a", "here", false),
        (rounded, "0b", "elsewhere", false),
        (2.0, "0b", "here", true),
        (worse, "0a", "here", true),
        (worse, "0a", "elsewhere", true),
        (f64::NAN, "0a", "here", true),
    ] {
        let fit = Golden { objective, predictions: predictions.to_owned(), ..fit.clone() };
        assert_eq!(is_noticed(&fit, cpu), noticed, "{fit:?} {cpu}");
    }
}
