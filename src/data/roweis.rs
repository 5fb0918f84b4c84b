//! S. Roweis's two datasets, each a MATLAB file.

use ndarray::Array2;

use super::Samples;
use super::error::{Parsed, bad, place_of};
use super::mat::{MatFile, Matrix, Variable};
use crate::wording::counted;

/// Binary Alphadigits: `dat`, 36 x 39 cells of 20 x 16 pixels, and `classlabels`. Samples are ordered by class;
/// pixels column by column, as MATLAB does.
pub(crate) fn binalpha(file: &[u8]) -> Parsed<Samples> {
    let file = MatFile::parse(file)?;
    let Matrix { rows: classes, columns: per_class, values: images } =
        file.cells("dat", Variable::numbers)?;
    let names = file.cells("classlabels", Variable::text)?.values;
    check_labels("classlabels", names.len(), classes, "row of `dat`")?;
    let (rows, columns) = images.first().map_or((0, 0), |image| (image.rows, image.columns));
    if images.iter().any(|image| (image.rows, image.columns) != (rows, columns)) {
        let expected = format!("{rows} x {columns} pixels as in the first cell");
        return Err(bad(place_of("dat"), "images of other sizes", expected));
    }
    // Row after row of the cells.
    let cells = (0..classes).flat_map(|class| (0..per_class).map(move |number| (class, number)));
    let values = cells.clone().flat_map(|(class, number)| &images[number * classes + class].values);
    let x = Array2::from_shape_vec((images.len(), rows * columns), values.copied().collect())
        .expect("all images were checked to have this size");
    Ok(Samples::new(x, cells.map(|(class, _)| names[class].trim().to_owned()).collect()))
}

/// 20 Newsgroups, 100 words: `documents` (words x documents, sparse, binary) and `newsgroups`. A sample is a
/// document, a feature is a word.
pub(crate) fn newsgroups(file: &[u8]) -> Parsed<Samples> {
    let file = MatFile::parse(file)?;
    let Matrix { rows, columns, values } = file.matrix("documents")?;
    let groups = &file.matrix("newsgroups")?.values;
    check_labels("newsgroups", groups.len(), *columns, "column of `documents`")?;
    // Column after column of words x documents is row after row of documents x words.
    let x = Array2::from_shape_vec((*columns, *rows), values.clone())
        .expect("a matrix has as many values as its shape says");
    Ok(Samples::new(x, groups.iter().map(f64::to_string).collect()))
}

fn check_labels(name: &str, labels: usize, wanted: usize, each: &str) -> Parsed<()> {
    if labels == wanted {
        return Ok(());
    }
    Err(bad(
        place_of(name),
        counted(labels, "label"),
        format_args!("{wanted}, one for each {each}"),
    ))
}
