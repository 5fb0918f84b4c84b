//! Golden values of a rebuild: the same numbers to the last bit, and the same names of cells.
//!
//! `tests/golden/bits.json` holds a hash of the coefficients, offsets and certificate of every method, scheme, storage
//! and bias, and of a sweep of six points each, with the objective, the gap and the processor's instructions it was
//! computed with. On a processor with the same instructions the hashes must be equal; elsewhere rounding differs, and
//! the objectives must agree within their gaps. `NPSVCPP_ACCEPT=1` writes the file again.

#[allow(dead_code, reason = "shared with tests that ask it for more")]
mod support;

#[cfg(feature = "deep")]
#[path = "golden/networks.rs"]
mod networks;
#[cfg(feature = "deep")]
mod textures;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use faer::Par;
use npsvcpp::kernel::Factor;
use npsvcpp::ledger::{self, Plan, Status};
use npsvcpp::model::{Fit, Problem, registry};
use npsvcpp::seed::Seed;
use npsvcpp::{run, spec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::Digits;

/// What is kept of a fit.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Golden {
    hash: String,
    objective: f64,
    gap: f64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    /// What faer and our own loops choose their instructions by.
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

fn golden(fit: &Fit) -> Golden {
    let (machine, certificate) = (&fit.machine, &fit.certificate);
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
    hash.update([u8::from(certificate.converged)]);
    Golden {
        hash: hash
            .finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
        objective: certificate.primal,
        gap: certificate.gap,
    }
}

fn fit(name: &str, params: &Value, problem: &Problem) -> Golden {
    let method = registry::find(name).unwrap().configure(params).unwrap();
    golden(&method.fit(problem, &Seed::root(3)).unwrap())
}

/// The parameter sets of a method: each scheme and bias that it has.
fn variants(defaults: &Value) -> Vec<Value> {
    let schemes: &[&str] = if defaults.get("scheme").is_some() {
        &["ovr", "rvo"]
    } else {
        &[""]
    };
    let biases: &[bool] = if defaults.get("bias").is_some() {
        &[false, true]
    } else {
        &[false]
    };
    let mut found = Vec::new();
    for &scheme in schemes {
        for &bias in biases {
            let mut params = json!({});
            if !scheme.is_empty() {
                params["scheme"] = json!(scheme);
            }
            if bias {
                params["bias"] = json!(true);
            }
            if defaults.get("d").is_some() {
                params["d"] = json!(8);
            }
            found.push(params);
        }
    }
    found
}

fn compute() -> File {
    let digits = Digits::load();
    let mut fits = BTreeMap::new();
    for entry in registry::METHODS {
        let name = entry.name();
        let defaults = entry.defaults();
        for (storage, factor) in [
            ("full", Factor::Full),
            (
                "pivoted",
                serde_json::from_value(json!({"pivoted": {"rank": 40}})).unwrap(),
            ),
        ] {
            // The one-versus-one SVM needs the whole matrix.
            if storage == "pivoted" && name == "svm" {
                continue;
            }
            let problem = |par: Par| digits.problem(par).with_factor(factor.clone());
            for params in variants(&defaults) {
                let key = format!("{name} {storage} {params}");
                let seq = fit(name, &params, &problem(Par::Seq));
                let two = fit(name, &params, &problem(Par::rayon(2)));
                fits.insert(format!("{key} 2 threads"), two);
                fits.insert(key, seq);
            }
            let r = ["r1", "r"].into_iter().find(|r| defaults.get(*r).is_some());
            for scheme in ["ovr", "rvo"] {
                let lane = problem(Par::Seq).for_sweep().lane(Par::Seq);
                for value in [0.05, 0.5] {
                    for c in [0.1, 1.0, 10.0] {
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
                        let key = format!("{name} {storage} sweep {scheme} {params} {value}");
                        fits.insert(key, fit(name, &params, &lane));
                    }
                }
            }
        }
    }
    File { cpu: cpu(), fits }
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

/// The published results folders.
fn published() -> Vec<PathBuf> {
    let results = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("results");
    let entries = fs::read_dir(results)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| path.join(Plan::FILE).is_file())
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// The name of every published cell follows from its plan, and every finished record has such a name.
#[test]
fn every_published_cell_keeps_its_name() {
    for folder in published() {
        let plan = Plan::read(&folder).unwrap();
        let cells = run::planned_cells(&plan).unwrap();
        assert_eq!(cells, plan.cells, "{}", folder.display());
        let planned: BTreeSet<&str> = cells.iter().map(|cell| cell.cell.as_str()).collect();
        let records = ledger::read_folder(&folder).unwrap();
        assert!(records.warnings.is_empty(), "{:?}", records.warnings);
        for record in records
            .latest()
            .iter()
            .filter(|record| record.status == Status::Ok)
        {
            let name = record.cell.as_str();
            assert!(planned.contains(name), "{}: {name}", folder.display());
        }
    }
}

/// The plan, with all grid points, follows from the spec.
#[test]
fn every_published_spec_gives_its_experiment() {
    for folder in published() {
        let plan = Plan::read(&folder).unwrap();
        let loaded = spec::load(&folder.join("spec.yaml"), &npsvcpp::catalogue()).unwrap();
        assert_eq!(loaded.experiment, plan.experiment, "{}", folder.display());
    }
}

/// The hash of a split follows from its samples.
#[test]
fn every_published_split_keeps_its_hash() {
    for folder in published() {
        let text = fs::read(folder.join("splits.json")).unwrap();
        let splits: BTreeMap<String, Value> = serde_json::from_slice(&text).unwrap();
        for (hash, split) in &splits {
            let n = split["samples"].as_u64().unwrap() as usize;
            let samples = |part: &str| -> Option<Vec<usize>> {
                let digits: Vec<u32> = (split.get(part)?.as_str().unwrap().chars())
                    .map(|digit| digit.to_digit(16).unwrap())
                    .collect();
                let is_in = |i: &usize| digits[i / 4] >> (i % 4) & 1 == 1;
                Some((0..n).filter(is_in).collect())
            };
            let train = samples("train").unwrap();
            let rest = || (0..n).filter(|i| train.binary_search(i).is_err()).collect();
            let test: Vec<usize> = samples("test").unwrap_or_else(rest);
            let mut found = Sha256::new();
            for part in [&train, &test] {
                found.update((part.len() as u64).to_le_bytes());
                part.iter()
                    .for_each(|&i| found.update((i as u64).to_le_bytes()));
            }
            let found: String = found
                .finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(found, *hash, "{} {}", folder.display(), split["dataset"]);
        }
        let plan = Plan::read(&folder).unwrap();
        for row in plan.datasets.iter().filter(|row| row.unavailable.is_none()) {
            for hash in &row.splits {
                assert!(
                    splits.contains_key(hash),
                    "{} {}",
                    folder.display(),
                    row.name
                );
            }
        }
    }
}

/// Names, versions and defaults of all methods, and of an experiment, as the JSON text that identities hash.
#[test]
fn defaults_keep_their_text() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/defaults.json");
    let mut found = serde_json::Map::new();
    for entry in registry::all() {
        let defaults = json!({"version": entry.version(), "params": entry.defaults()});
        found.insert(entry.name().to_owned(), defaults);
    }
    let folder = tempfile::tempdir().unwrap();
    let smallest = folder.path().join("smallest.yaml");
    fs::write(
        &smallest,
        "name: smallest\ndatasets: [usps]\nmethods: [svm]\n",
    )
    .unwrap();
    let loaded = spec::load(&smallest, &npsvcpp::catalogue()).unwrap();
    found.insert("experiment".to_owned(), json!(loaded.experiment));
    let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
    if std::env::var_os("NPSVCPP_ACCEPT").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}
