//! Promise: no file makes a parser panic or take memory beyond measure. Files that are known to be
//! interesting, `tests/corpus`, and damaged ones made of them are read by every parser. PROPTEST_CASES
//! says how many; `scripts/fuzz` gives each parser a minute.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use npsvcpp::data::{Store, load_files};
use npsvcpp::ledger::{self, Ledger};
use npsvcpp::spec;
use npsvcpp::spec::FilesSpec;
use proptest::collection::vec;
use proptest::prelude::*;

/// Notes the largest block that each thread, and so each test, asked for, and gives none above a gibibyte. Code that does
/// not expect a refusal aborts, and the test with it.
struct Counting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}
const REFUSED: usize = 1 << 30;
/// The most that a dataset may take, and so that a reader may ask for.
const TOO_MUCH: usize = 1 << 32;

// SAFETY: every call is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more.
        let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(layout.size())));
        if layout.size() > REFUSED {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One way to damage a file.
#[derive(Clone, Debug)]
enum Damage {
    Flip { at: usize, bit: u8 },
    Replace { at: usize, with: Vec<u8> },
    Insert { at: usize, what: Vec<u8> },
    Remove { at: usize, length: usize },
    Repeat { at: usize, length: usize, times: usize },
    Cut { at: usize },
}

/// Words that parsers of numbers, lengths and texts stumble over.
const WORDS: [&[u8]; 18] = [
    b"1000000000000",
    b"18446744073709551615",
    b"-1",
    b"0",
    b"1e400",
    b"nan",
    b"-inf",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\x7f",
    b"\n",
    b"\r\n",
    b"\"",
    b"'",
    b"{",
    b"]",
    b": ",
    b"\xef\xbb\xbf",
];

fn damage() -> impl Strategy<Value = Damage> {
    let at = || any::<usize>();
    let word =
        || prop_oneof![(0..WORDS.len()).prop_map(|i| WORDS[i].to_vec()), vec(any::<u8>(), 1..9),];
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip { at, bit }),
        (at(), word()).prop_map(|(at, with)| Damage::Replace { at, with }),
        (at(), word()).prop_map(|(at, what)| Damage::Insert { at, what }),
        (at(), 1..64_usize).prop_map(|(at, length)| Damage::Remove { at, length }),
        (at(), 1..40_usize, 1..60_usize).prop_map(|(at, length, times)| Damage::Repeat {
            at,
            length,
            times
        }),
        at().prop_map(|at| Damage::Cut { at }),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |at: usize| at % (bytes.len() + 1);
        match self {
            Self::Flip { at, bit } => {
                let at = place(*at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Replace { at, with } => {
                let at = place(*at);
                let end = (at + with.len()).min(bytes.len());
                bytes.splice(at..end, with.iter().copied());
            }
            Self::Insert { at, what } => {
                let at = place(*at);
                bytes.splice(at..at, what.iter().copied());
            }
            Self::Remove { at, length } => {
                let at = place(*at);
                let end = (at + length).min(bytes.len());
                bytes.drain(at..end);
            }
            Self::Repeat { at, length, times } => {
                let at = place(*at);
                let end = (at + length).min(bytes.len());
                let part = bytes[at..end].repeat(*times);
                bytes.splice(at..at, part);
            }
            Self::Cut { at } => {
                let at = place(*at);
                bytes.truncate(at);
            }
        }
    }
}

fn corpus_folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(format)
}

/// The files of `tests/corpus/<format>`, in order.
fn corpus(format: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(corpus_folder(format)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Reads every file of the corpus and damaged ones, and checks that no block was too large.
fn fuzz(format: &str, read: impl Fn(&[u8])) {
    let files = corpus(format);
    assert!(files.len() >= 2, "the corpus of {format} is gone");
    let check = |bytes: &[u8]| {
        read(bytes);
        let largest = LARGEST.get();
        assert!(largest <= TOO_MUCH, "asked for {largest} bytes at once");
    };
    files.iter().for_each(|file| check(file));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let cases = (0..files.len(), vec(damage(), 1..6));
    let outcome = runner.run(&cases, |(file, damages)| {
        let mut bytes = files[file].clone();
        damages.iter().for_each(|damage| damage.apply(&mut bytes));
        check(&bytes);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{format}: {failure}");
    }
}

fn files(train: &Path) -> FilesSpec {
    serde_json::from_value(serde_json::json!({"train": train})).unwrap()
}

/// Reads `bytes` as a user's dataset, in a file called `name`.
fn load(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    if let Err(error) = load_files(&files(&path)) {
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn specs() {
    fuzz("spec", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Err(error) = spec::parse(&text, "x.yaml") {
            assert!(!error.plain().is_empty());
        }
    });
}

#[test]
fn libsvm() {
    fuzz("libsvm", |bytes| load("x.txt", bytes));
}

#[test]
fn csv() {
    fuzz("csv", |bytes| load("x.csv", bytes));
}

#[test]
fn npy() {
    let labels = fs::read(corpus_folder("npy").join("ints.npy")).unwrap();
    fuzz("npy", |bytes| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("features.npy"), bytes).unwrap();
        fs::write(folder.path().join("labels.npy"), &labels).unwrap();
        let spec = files(&folder.path().join("features.npy"));
        let _ = load_files(&spec);
        // And as labels.
        fs::write(folder.path().join("features.npy"), &labels).unwrap();
        fs::write(folder.path().join("labels.npy"), bytes).unwrap();
        let _ = load_files(&spec);
    });
}

#[test]
fn mat() {
    fuzz("mat", |bytes| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("binalpha")).unwrap();
        let path = folder.path().join("binalpha/binaryalphadigs.mat");
        fs::write(path, bytes).unwrap();
        let store = Store::in_folder(folder.path().to_path_buf(), true);
        // The small file is whole, but not the dataset it describes.
        assert!(store.fetch("binalpha", &mut |_| {}).is_err());
    });
}

/// CIFAR-10: a batch among whole ones, and the archive.
#[test]
fn cifar() {
    let batch = fs::read(corpus_folder("cifar").join("batch.bin")).unwrap();
    fuzz("cifar", |bytes| {
        let folder = tempfile::tempdir().unwrap();
        let load = |files: &[(String, &[u8])]| {
            let inner = folder.path().join("cifar10");
            for (name, bytes) in files {
                let path = inner.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            let store = Store::in_folder(folder.path().to_path_buf(), true);
            if let Err(error) = store.fetch("cifar10", &mut |_| {}) {
                assert!(!error.to_string().is_empty());
            }
            fs::remove_dir_all(inner).unwrap();
        };
        let mut batches: Vec<_> = ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4"]
            .iter()
            .chain(&["data_batch_5", "test_batch"])
            .map(|name| (format!("cifar-10-batches-bin/{name}.bin"), batch.as_slice()))
            .collect();
        batches[1].1 = bytes;
        load(&batches);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        let packed = packed.finish().unwrap();
        load(&[("cifar-10-binary.tar.gz".to_owned(), &packed)]);
        load(&[("cifar-10-binary.tar.gz".to_owned(), bytes)]);
    });
}

#[test]
fn ledgers() {
    fuzz("ledger", |bytes| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ledger::FILE);
        fs::write(&path, bytes).unwrap();
        let ledger = Ledger::read(folder.path()).unwrap();
        let lines = bytes.split(|&byte| byte == b'\n').count();
        assert!(ledger.records().len() + ledger.warnings().len() <= lines);
    });
}

/// An archive is read in memory and nothing in it is ever written by its name.
#[test]
fn an_archive_that_leaves_its_folder_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("data/inner");
    fs::create_dir_all(&inner).unwrap();
    let mut zip = zip::ZipWriter::new(fs::File::create(inner.join("x.npz")).unwrap());
    for name in ["../../escaped.npy", "/escaped.npy", "..\\escaped.npy"] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"out").unwrap();
    }
    zip.finish().unwrap();
    let before = walk(folder.path());
    let error = load_files(&files(&inner.join("x.npz"))).unwrap_err().to_string();
    assert!(error.contains("expected an array called `x`"), "{error}");
    assert_eq!(walk(folder.path()), before);
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}
