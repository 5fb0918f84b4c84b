//! S. Roweis's two datasets, each a MATLAB file.

use std::iter::repeat_n;

use ndarray::Array2;

use super::Samples;
use super::error::{Parsed, bad, place_of};
use super::mat::{MatFile, Variable};
use crate::wording::counted;

/// Binary Alphadigits: `dat`, 36 x 39 cells of 20 x 16 pixels, and `classlabels`. Samples are ordered by class;
/// pixels column by column, as MATLAB does.
pub(crate) fn binalpha(file: &[u8]) -> Parsed<Samples> {
    let file = MatFile::parse(file)?;
    let images = file.cells("dat", Variable::numbers)?;
    let names = file.cells("classlabels", Variable::text)?;
    let (classes, per_class) = images.dim();
    check_labels("classlabels", names.len(), classes, "row of `dat`")?;
    let (rows, columns) = images.first().map_or((0, 0), |image| image.dim());
    if images.iter().any(|image| image.dim() != (rows, columns)) {
        let expected = format!("{rows} x {columns} pixels as in the first cell");
        return Err(bad(place_of("dat"), "images of other sizes", expected));
    }
    let pixels = images.iter().flat_map(|image| image.t()).copied().collect();
    let x = Array2::from_shape_vec((images.len(), rows * columns), pixels)
        .expect("all images were checked to have this size");
    let labels = names.iter().flat_map(|name| repeat_n(name.trim().to_owned(), per_class));
    Ok(Samples::new(x, labels.collect()))
}

/// 20 Newsgroups, 100 words: `documents` (words x documents, sparse, binary) and `newsgroups`. A sample is a
/// document, a feature is a word.
pub(crate) fn newsgroups(file: &[u8]) -> Parsed<Samples> {
    let file = MatFile::parse(file)?;
    let x = file.matrix("documents")?.t().as_standard_layout().into_owned();
    let groups = file.vector("newsgroups")?;
    check_labels("newsgroups", groups.len(), x.nrows(), "column of `documents`")?;
    Ok(Samples::new(x, groups.iter().map(f64::to_string).collect()))
}

fn check_labels(name: &str, labels: usize, wanted: usize, each: &str) -> Parsed<()> {
    if labels == wanted {
        return Ok(());
    }
    let expected = format!("{wanted}, one for each {each}");
    Err(bad(place_of(name), counted(labels, "label"), expected))
}
