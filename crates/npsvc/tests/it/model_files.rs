//! A saved model is the model that is loaded. Any other file is refused with the right error, without
//! a panic and without asking for much more memory than the size of the file.

use std::io::{self, Read};

use npsvc::ndarray::Array2;
use npsvc::{Kernel, LoadError, Model, Storage, Svm, TrainingSet};
use proptest::prelude::*;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::allocation::largest_during;
use super::samples::{Samples, cases, samples};
use super::support::{fit, fit_unless_zero, methods, pivoted};

/// Bytes in front of the version, and in front of the contents.
const VERSION_AT: usize = 12;
const CONTENTS_AT: usize = 16;
const HASH_BYTES: usize = 32;

fn saved(model: &Model) -> Vec<u8> {
    let mut file = Vec::new();
    model.save(&mut file).unwrap();
    file
}

/// The file with a new checksum.
fn signed(mut file: Vec<u8>) -> Vec<u8> {
    file.truncate(file.len() - HASH_BYTES);
    let hash = Sha256::digest(&file);
    file.extend(hash);
    file
}

/// Loads, and asserts that no request for memory is out of proportion.
fn load(file: &[u8]) -> Result<Model, LoadError> {
    let (loaded, largest) = largest_during(|| Model::load(file));
    let most = 4 * file.len() + 1024;
    assert!(largest <= most, "{largest} bytes for a file of {}", file.len());
    loaded
}

/// Equal up to rounding, relative to the largest value.
fn assert_close(name: &str, found: &Array2<f64>, expected: &Array2<f64>) {
    assert_eq!(found.dim(), expected.dim(), "{name}");
    let largest = |a: &Array2<f64>| a.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let apart = largest(&(found - expected));
    assert!(apart <= 1e-12 * largest(expected), "{name}: {apart}");
}

fn assert_same(name: &str, found: &Model, expected: &Model, samples: &Samples) {
    let rows = samples.test.view();
    assert_eq!(found.predict(rows), expected.predict(rows), "{name}");
    let decision = |model: &Model| model.decision(rows).unwrap();
    assert_close(name, &decision(found), &decision(expected));
    let transform = |model: &Model| model.transform(rows).unwrap();
    assert_eq!(transform(found).is_some(), transform(expected).is_some());
    if let (Some(found), Some(expected)) = (transform(found), transform(expected)) {
        assert_close(name, &found, &expected);
    }
    assert_eq!(found.certificate(), expected.certificate(), "{name}");
    assert_eq!(found.trace(), expected.trace(), "{name}");
    assert_eq!(found.support(), expected.support(), "{name}");
    assert_eq!(found.classes(), expected.classes(), "{name}");
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop_oneof![
        Just(Kernel::default()),
        Just(Kernel::Linear),
        (1..4_u32, 0.1..2.0, 0.1..2.0).prop_map(|(degree, offset, scale)| Kernel::Polynomial {
            degree,
            offset,
            scale
        }),
    ]
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn every_model_survives_its_file(samples in samples(2..4), kernel in kernel(), bias: bool) {
        for storage in [Storage::default(), pivoted(Some(5), 1e-9)] {
            let set = samples.set(&kernel).with_storage(storage).unwrap();
            for entry in methods() {
                for mut params in entry.schemes() {
                    if entry.has("bias") {
                        params["bias"] = json!(bias);
                    }
                    entry.set_dimensions(&mut params, 1);
                    let name = format!("{} {params} {storage:?} {kernel:?}", entry.name);
                    let Some(model) = fit_unless_zero(entry.name, &params, &set, 1) else {
                        continue;
                    };
                    let copy = load(&saved(&model)).unwrap();
                    assert_same(&name, &copy, &model, &samples);
                    assert_eq!(saved(&copy), saved(&model), "{name}");
                }
            }
        }
    }
}

/// A file of each kind of model: distances with a representation and a trace, and votes.
fn files() -> [Vec<u8>; 2] {
    let x = Array2::from_shape_fn((9, 2), |(i, j)| ((3 * i + 5 * j) % 7) as f64 + i as f64 / 9.0);
    let y = (0..9).map(|i| i % 3).collect();
    let set = TrainingSet::new(x, y, &Kernel::default()).unwrap();
    ["k-npsvcpp", "svm"].map(|name| {
        let params = if name == "svm" { json!({}) } else { json!({"d": 2}) };
        saved(&fit(name, &params, &set, 1))
    })
}

fn assert_refused(file: &[u8], at: usize) {
    let error = load(file).unwrap_err();
    let is_right = match &error {
        LoadError::NotAModel => at < VERSION_AT,
        LoadError::Newer { found } => at < CONTENTS_AT && *found > 1,
        LoadError::Damaged(_) => at >= VERSION_AT,
        LoadError::Read(_) => false,
    };
    assert!(is_right, "byte {at}: {error}");
}

#[test]
fn a_file_with_any_byte_changed_is_refused() {
    for mut file in files() {
        for at in 0..file.len() {
            for change in [1, 0x80, 0xff] {
                file[at] ^= change;
                assert_refused(&file, at);
                file[at] ^= change;
            }
        }
        load(&file).unwrap();
    }
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    for file in files() {
        for length in 0..file.len() {
            assert_refused(&file[..length], length);
        }
    }
}

#[test]
fn a_file_with_more_behind_it_is_refused() {
    for mut file in files() {
        file.push(0);
        let error = load(&file).unwrap_err().to_string();
        assert_eq!(error, "the model file is damaged: its checksum differs");
        // With a right checksum as well.
        let mut longer = file[..file.len() - HASH_BYTES].to_vec();
        longer.extend([0; 1 + HASH_BYTES]);
        let error = load(&signed(longer)).unwrap_err();
        assert!(matches!(error, LoadError::Damaged(_)), "{error}");
    }
}

#[test]
fn only_versions_that_are_known_are_read() {
    let [mut file, _] = files();
    file[VERSION_AT] = 7;
    assert_eq!(
        load(&signed(file.clone())).unwrap_err().to_string(),
        "the model has format version 7, but this build reads versions up to 1; update npsvc"
    );
    file[VERSION_AT] = 0;
    assert_eq!(
        load(&signed(file)).unwrap_err().to_string(),
        "the model file is damaged: its version is 0"
    );
}

#[test]
fn a_failed_read_is_reported() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    assert_eq!(
        Model::load(Broken).unwrap_err().to_string(),
        "failed to read the model: the disk is gone"
    );
}

/// A model with strange numbers predicts classes or returns an error.
fn assert_harmless(file: &[u8]) {
    if let Ok(model) = load(file) {
        let rows = Array2::zeros((3, 2));
        if let Ok(predicted) = model.predict(rows.view()) {
            assert!(predicted.iter().all(|&class| class < model.classes()));
            assert_eq!(model.decision(rows.view()).unwrap().ncols(), model.classes());
            model.transform(rows.view()).unwrap();
        }
        model.support();
    }
}

/// Somebody else's file may be wrong and still have the right checksum.
#[test]
fn wrong_contents_with_a_right_checksum_do_no_harm() {
    for file in files() {
        for at in CONTENTS_AT..file.len() - HASH_BYTES {
            for value in [0, 1, 2, 0x7f, 0xff] {
                let mut other = file.clone();
                other[at] = value;
                assert_harmless(&signed(other));
            }
        }
    }
}

#[test]
fn a_count_that_is_too_large_asks_for_no_memory() {
    for file in files() {
        for at in CONTENTS_AT..file.len() - HASH_BYTES - 8 {
            let mut other = file.clone();
            other[at..at + 8].copy_from_slice(&(u64::MAX >> 8).to_le_bytes());
            assert_harmless(&signed(other));
        }
    }
}

#[test]
fn a_rule_without_classes_is_refused() {
    let [_, file] = files();
    let mut contents = file[..CONTENTS_AT].to_vec();
    // A linear kernel, no columns, no samples, no rows, votes among no classes, and nothing else.
    for count in [1_u64, 0, 0, 0, 0, 2] {
        contents.extend(count.to_le_bytes());
    }
    contents.extend([0; 8 * (2 + 4 + 3 + 1)]);
    contents.extend([0; HASH_BYTES]);
    assert_eq!(
        load(&signed(contents)).unwrap_err().to_string(),
        "the model file is damaged: the rule has no classes"
    );
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn random_bytes_are_not_a_model(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let error = load(&bytes).unwrap_err();
        prop_assert!(matches!(error, LoadError::NotAModel), "{}", error);
        let [file, _] = files();
        let contents = [&file[..CONTENTS_AT], &bytes].concat();
        let error = load(&contents).unwrap_err();
        prop_assert!(matches!(error, LoadError::Damaged(_)), "{}", error);
        let contents = [&contents[..], &[0; HASH_BYTES]].concat();
        assert_harmless(&signed(contents));
    }
}

#[test]
fn samples_without_a_multiplier_are_left_out() {
    let x = Array2::from_shape_fn((200, 1), |(i, _)| i as f64);
    let y = (0..200).map(|i| usize::from(i >= 100)).collect();
    let set = TrainingSet::new(x, y, &Kernel::Linear).unwrap();
    let model = npsvc::Method::fit(&Svm::default(), &set, Default::default()).unwrap();
    let support = model.support().len();
    assert!(support < 100, "{support}");
    // A sample takes a feature, its row and a coefficient.
    let file = saved(&model);
    assert!(file.len() < 24 * support + 300, "{} bytes", file.len());
}
