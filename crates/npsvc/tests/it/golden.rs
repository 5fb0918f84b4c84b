//! Every fit gives the recorded numbers, to the last bit.
//!
//! `tests/golden/bits.json` has an entry for every method with each scheme, storage and bias, and entries for sweeps of
//! six points. An entry holds the objective, the gap, and a hash of the coefficients, the offsets and the certificate.
//! The file also names the instructions of the processor that computed it. On a processor with the same instructions,
//! the hashes must be equal. Elsewhere rounding differs, so the objectives must agree within their gaps.
//! `NPSVCPP_ACCEPT=1` writes the file again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use npsvc::{FitError, FitOptions, Kernel, Model, Seed, TrainingSet};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::digits::Digits;
use super::support::{Entry, method, methods, pivoted};

/// The record of a fit.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Golden {
    hash: String,
    objective: f64,
    gap: f64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    /// The features by which faer and our own loops choose their instructions.
    cpu: String,
    fits: BTreeMap<String, Golden>,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bits.json")
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

/// A fit that ends with an error has its text instead of a hash.
fn golden(fit: Result<Model, FitError>) -> Golden {
    let model = match fit {
        Ok(model) => model,
        Err(error) => return Golden { hash: error.to_string(), objective: 0.0, gap: 0.0 },
    };
    let (machine, certificate) = (model.machine(), model.certificate());
    let mut hash = Sha256::new();
    let coefficients = machine.coefficients.col_iter();
    let numbers = coefficients
        .flat_map(|column| column.iter().copied().collect::<Vec<_>>())
        .chain(machine.offsets.iter().copied())
        .chain([certificate.primal, certificate.dual, certificate.gap]);
    for number in numbers {
        hash.update(number.to_bits().to_le_bytes());
    }
    hash.update((certificate.iterations as u64).to_le_bytes());
    hash.update([u8::from(certificate.converged())]);
    Golden {
        hash: hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
        objective: certificate.primal,
        gap: certificate.gap,
    }
}

/// The parameter sets of a method: each scheme and bias that it has.
fn variants(entry: &Entry) -> Vec<Value> {
    let mut found = Vec::new();
    for scheme in entry.schemes() {
        for bias in [false, true] {
            let mut params = scheme.clone();
            if bias && !entry.has("bias") {
                continue;
            }
            if bias {
                params["bias"] = json!(true);
            }
            entry.set_dimensions(&mut params, 8);
            found.push(params);
        }
    }
    found
}

fn compute() -> File {
    let digits = Digits::load();
    let mut fits = BTreeMap::new();
    for entry in methods() {
        let (name, defaults) = (entry.name, &entry.defaults);
        for storage in ["full", "pivoted"] {
            // The one-versus-one SVM needs the whole matrix.
            if storage == "pivoted" && name == "svm" {
                continue;
            }
            let set = |threads: usize| match storage {
                "full" => digits.set().with_threads(threads),
                _ => (digits.stored(&Kernel::default(), pivoted(Some(40), 1e-6)))
                    .with_threads(threads),
            };
            for params in variants(&entry) {
                let key = format!("{name} {storage} {params}");
                let fit = |threads: usize| {
                    let options = FitOptions::seeded(Seed::root(3));
                    golden(method(name, &params).fit(&set(threads), options))
                };
                fits.insert(format!("{key} 2 threads"), fit(2));
                fits.insert(key, fit(1));
            }
            for (key, golden) in sweep(name, defaults, &set(1)) {
                fits.insert(format!("{name} {storage} sweep {key}"), golden);
            }
        }
    }
    File { cpu: cpu(), fits }
}

/// Six points one after another in one chain, for each scheme.
fn sweep(name: &str, defaults: &Value, set: &TrainingSet) -> Vec<(String, Golden)> {
    let r = ["r1", "r"].into_iter().find(|r| defaults.get(*r).is_some());
    let mut found = Vec::new();
    for scheme in ["ovr", "rvo"] {
        let sweep = set.sweep();
        let mut chain = sweep.chain();
        for (value, c) in [0.05, 0.5].into_iter().flat_map(|r| [0.1, 1.0, 10.0].map(|c| (r, c))) {
            let mut params = json!({});
            let mut set = |key: &str, value: Value| {
                if defaults.get(key).is_some() {
                    params[key] = value;
                }
            };
            set("scheme", json!(scheme));
            set("c", json!(c));
            set("d", json!(8));
            set(r.unwrap_or("c"), json!(if r.is_some() { value } else { c }));
            let model = chain.fit(&*method(name, &params), &Seed::root(3));
            found.push((format!("{scheme} {params} {value}"), golden(model)));
        }
    }
    found
}

#[test]
fn every_fit_has_the_same_bits() {
    let found = compute();
    if std::env::var_os("NPSVCPP_ACCEPT").is_some() {
        let mut text = serde_json::to_string_pretty(&found).unwrap();
        text.push('\n');
        fs::write(path(), text).unwrap();
    }
    let known: File = serde_json::from_slice(&fs::read(path()).unwrap()).unwrap();
    let names = |file: &File| file.fits.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&known));
    let has_same_cpu = found.cpu == known.cpu;
    let mut moved = Vec::new();
    for (name, now) in &found.fits {
        let then = &known.fits[name];
        // Rounding may add to what the gaps allow.
        let slack = now.gap.abs() + then.gap.abs() + 1e-6 * then.objective.abs().max(1e-9);
        let agrees = match has_same_cpu {
            true => now.hash == then.hash,
            false => (now.objective - then.objective).abs() <= slack,
        };
        if !agrees {
            moved.push(format!("{name}: {then:?} is now {now:?}"));
        }
    }
    assert!(moved.is_empty(), "{}", moved.join("\n"));
}
