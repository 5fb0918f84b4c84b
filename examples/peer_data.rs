//! Writes the data of `scripts/bench-peers` as .npy files: the first split of USPS and of BinAlpha, as in the
//! experiments, and all samples of Pendigits.
//!
//! `cargo run --example peer_data -- FOLDER`; needs `NPSVCPP_DATA`.

use std::path::Path;

use ndarray::{Array2, Axis};
use npsvc::Seed;
use npsvcpp::data::{Dataset, Store, splits};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: peer_data FOLDER")?;
    let folder = Path::new(&folder);
    let store = Store::new(None, true);
    for name in ["usps", "binalpha"] {
        let data = store.fetch(name, &mut |_| {})?;
        let all = splits(&data, &Default::default(), &Seed::root(2024))?;
        write(folder, name, &data, &all[0].train)?;
        let x_test = data.x.select(Axis(0), &all[0].test);
        std::fs::write(folder.join(format!("{name}-x-test.npy")), npy(&x_test))?;
    }
    let data = store.fetch("pendigits", &mut |_| {})?;
    let all: Vec<usize> = (0..data.y.len()).collect();
    write(folder, "pendigits", &data, &all)?;
    Ok(())
}

/// Writes the features and classes of some rows.
fn write(folder: &Path, name: &str, data: &Dataset, rows: &[usize]) -> std::io::Result<()> {
    let y = Array2::from_shape_fn((rows.len(), 1), |(i, _)| data.y[rows[i]] as f64);
    let x = data.x.select(Axis(0), rows);
    std::fs::write(folder.join(format!("{name}-x.npy")), npy(&x))?;
    std::fs::write(folder.join(format!("{name}-y.npy")), npy(&y))
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
