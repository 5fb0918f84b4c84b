//! Files as another program writes them, damaged ones, and arbitrary bytes.

use super::*;
use matrw::{MatVariable, MatlabType, SparseArray, matfile, matvar};
use ndarray::array;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

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

/// The variables `m`, `s` and `c` of [`example`].
fn scan(bytes: &[u8]) -> Result<([Array2<f64>; 2], Vec<String>), String> {
    let read = || {
        let file = MatFile::parse(bytes)?;
        let texts = file.cells("c", Variable::text)?.into_iter().cloned().collect();
        Ok(([file.matrix("m")?.clone(), file.matrix("s")?.clone()], texts))
    };
    read().map_err(sentence)
}

fn sentence(bad: crate::data::BadContent) -> String {
    bad.in_file(Path::new("a.mat")).to_string()
}

#[test]
fn reads_what_another_program_writes() {
    for compress in [false, true] {
        let ([m, s], c) = scan(&example(compress)).unwrap();
        assert_eq!(m, array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]);
        assert_eq!(c, ["ab", "c"]);
        assert_eq!(s, array![[1.5, 0.0], [0.0, 3.0], [2.0, 0.0]]);
    }
}

#[test]
fn a_wrong_kind_is_named() {
    let bytes = example(false);
    let file = MatFile::parse(&bytes).unwrap();
    for name in ["other", "c"] {
        assert_eq!(
            sentence(file.matrix(name).unwrap_err()),
            format!("a.mat, variable `{name}`: found something else, expected a numeric matrix")
        );
    }
    assert_eq!(
        sentence(file.cells("m", Variable::text).unwrap_err()),
        "a.mat, variable `m`: found something else, expected cells of matrices or texts"
    );
}

#[test]
fn files_of_other_programs_are_recognised() {
    let refused = |bytes: &[u8]| sentence(MatFile::parse(bytes).err().unwrap());
    let hdf5 = refused(b"MATLAB 7.3 MAT-file");
    assert!(
        hdf5.ends_with("found MATLAB 7.3 (HDF5), expected MATLAB v5; save with `-v7`"),
        "{hdf5}"
    );
    let mut big_endian = example(false);
    big_endian[126..128].copy_from_slice(b"MI");
    let big_endian = refused(&big_endian);
    assert!(big_endian.ends_with("expected a little-endian MATLAB v5 file"), "{big_endian}");
}

#[test]
fn an_absent_variable_is_named() {
    let bytes = example(true);
    let file = MatFile::parse(&bytes).unwrap();
    assert_eq!(
        sentence(file.matrix("x").unwrap_err()),
        "a.mat: found only `other`, `m`, `c`, `s`, expected a variable `x`"
    );
}

#[test]
fn every_cut_is_an_error() {
    for compress in [false, true] {
        let bytes = example(compress);
        for length in 0..bytes.len() {
            assert!(scan(&bytes[..length]).is_err(), "cut to {length} of {}", bytes.len());
        }
    }
}

#[test]
fn a_shape_beyond_the_file_is_refused_before_it_is_allocated() {
    let mut bytes = example(false);
    let shape = [5, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
    let at = bytes.windows(16).position(|window| window == shape).unwrap() + 8;
    for (byte, value) in [(3, 0x7f), (1, 1)] {
        bytes[at + byte] = value;
        let error = scan(&bytes).err().unwrap();
        let end = ": found a cut or damaged variable, expected an intact MATLAB v5 file";
        assert!(error.starts_with("a.mat, byte ") && error.ends_with(end), "{error}");
        bytes[at + byte] = 0;
    }
}

proptest! {
    #[test]
    fn damaged_files_never_panic(at in HEADER..900usize, byte: u8, compress: bool) {
        let mut bytes = example(compress);
        let at = at.min(bytes.len() - 1);
        bytes[at] = byte;
        let _ = scan(&bytes);
        let _ = MatFile::parse(&bytes).map(|file| file.cells("other", Variable::numbers).map(|_| ()));
    }
}
