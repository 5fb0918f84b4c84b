//! Files as another program writes them, damaged ones, and arbitrary bytes.

use super::*;
use matrw::{MatVariable, MatlabType, SparseArray, matfile, matvar};
use proptest::prelude::*;
use std::fs;

/// A structure, a matrix, cells and a sparse matrix behind the header text that SciPy writes.
fn example(compress: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    let sparse = SparseArray::new(
        3,
        2,
        vec![0, 2, 1],
        vec![0, 2, 3],
        MatlabType::F64(vec![1.5, 2.0, 3.0]),
        None,
    );
    let file = matfile!(
        other: matvar!({ field: 1.0 }),
        m: matvar!([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]),
        c: matvar!(["ab", "c"]),
        s: MatVariable::SparseArray(sparse.unwrap())
    );
    matrw::save_matfile_v7(path.to_str().unwrap(), file, compress).unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[..116].fill(b' ');
    bytes[..40].copy_from_slice(b"MATLAB 5.0 MAT-file Platform: posix, Cre");
    bytes
}

fn scan(bytes: &[u8], wanted: &[&str]) -> Result<Variables<'static>, String> {
    parse(bytes, Path::new("a.mat"), wanted).map_err(|error| error.to_string())
}

#[test]
fn reads_what_another_program_writes() {
    for compress in [false, true] {
        let variables = scan(&example(compress), &["m", "c", "s"]).unwrap();
        let m = variables.matrix("m").unwrap();
        assert_eq!((m.rows, m.columns), (2, 3));
        assert_eq!(m.values, [1.0, 4.0, 2.0, 5.0, 3.0, 6.5]);
        assert_eq!(variables.texts("c").unwrap(), ["ab", "c"]);
        let s = variables.matrix("s").unwrap();
        assert_eq!((s.rows, s.columns), (3, 2));
        assert_eq!(s.values, [1.5, 0.0, 2.0, 0.0, 3.0, 0.0]);
    }
}

#[test]
fn a_wrong_kind_is_named() {
    let error = scan(&example(false), &["other"]).err().unwrap();
    assert!(error.contains("a variable of class 2"), "{error}");
    let variables = scan(&example(false), &["m", "c"]).unwrap();
    assert_eq!(
        variables.matrix("c").unwrap_err().to_string(),
        "a.mat, variable `c`: found a cell array of 1 x 2, expected a numeric matrix"
    );
    assert_eq!(
        variables.texts("m").unwrap_err().to_string(),
        "a.mat, variable `m`: found a numeric matrix of 2 x 3, expected a cell array"
    );
}

#[test]
fn big_endian_files_are_read_too() {
    // A 1 x 2 matrix `a` of int16, as a big-endian machine writes it.
    let mut bytes = vec![b' '; 124];
    bytes.extend(b"\x01\x00MI");
    bytes.extend([0, 0, 0, 14, 0, 0, 0, 48]);
    bytes.extend([0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0, 10, 0, 0, 0, 0]);
    bytes.extend([0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2]);
    bytes.extend([0, 1, 0, 1, b'a', 0, 0, 0]);
    bytes.extend([0, 4, 0, 3, 1, 0, 255, 255]);
    let variables = scan(&bytes, &["a"]).unwrap();
    assert_eq!(variables.matrix("a").unwrap().values, [256.0, -1.0]);
}

#[test]
fn an_absent_variable_is_named() {
    assert_eq!(
        scan(&example(true), &["m", "x"]).err().unwrap(),
        "a.mat: found only `other`, `m`, `c`, `s`, expected a variable `x`"
    );
}

#[test]
fn every_cut_is_an_error() {
    for compress in [false, true] {
        let bytes = example(compress);
        for length in 0..bytes.len() {
            let result = scan(&bytes[..length], &["m", "c", "s"]);
            assert!(result.is_err(), "cut to {length} of {}", bytes.len());
        }
    }
}

#[test]
fn a_shape_beyond_the_file_is_refused_before_it_is_allocated() {
    let mut bytes = example(false);
    let shape = [5, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
    let at = bytes.windows(16).position(|window| window == shape).unwrap() + 8;
    bytes[at + 3] = 0x7f;
    let error = scan(&bytes, &["m"]).err().unwrap();
    assert!(error.contains("a shape of 2130706434 x 3"), "{error}");
    bytes[at + 3] = 0;
    bytes[at + 1] = 1;
    let error = scan(&bytes, &["m"]).err().unwrap();
    assert!(error.ends_with("found 6 values, expected 774 as the shape tells"), "{error}");
}

proptest! {
    #[test]
    fn damaged_files_never_panic(at in HEADER..900usize, byte: u8, compress: bool) {
        let mut bytes = example(compress);
        let at = at.min(bytes.len() - 1);
        bytes[at] = byte;
        let _ = scan(&bytes, &["m", "c", "s", "other"]);
    }
}
