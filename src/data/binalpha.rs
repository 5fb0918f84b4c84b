//! Binary Alphadigits in Roweis's layout: `dat`, 36 x 39 cells of 20 x 16 pixels, and `classlabels`.

use ndarray::Array2;

use super::Samples;
use super::error::{BadContent, bad, variable};
use super::mat::{MatFile, Matrix};
use crate::wording::counted;

/// Samples are ordered by class; pixels column by column, as MATLAB does.
pub(crate) fn parse(file: &[u8]) -> Result<Samples, BadContent> {
    let file = MatFile::parse(file)?;
    let Matrix { rows: classes, columns: per_class, values: images } = file.matrices("dat")?;
    let names = file.texts("classlabels")?.values;
    if names.len() != classes {
        let expected = format!("{classes}, one for each row of `dat`");
        return Err(bad(variable("classlabels"), counted(names.len(), "label"), expected));
    }
    let (rows, columns) = images.first().map_or((0, 0), |image| (image.rows, image.columns));
    if images.iter().any(|image| (image.rows, image.columns) != (rows, columns)) {
        let expected = format!("{rows} x {columns} pixels as in the first cell");
        return Err(bad(variable("dat"), "images of other sizes", expected));
    }
    // Row after row of the cells.
    let cells = (0..classes).flat_map(|class| (0..per_class).map(move |number| (class, number)));
    let values = cells.clone().flat_map(|(class, number)| &images[number * classes + class].values);
    let x = Array2::from_shape_vec((images.len(), rows * columns), values.copied().collect())
        .expect("all images were checked to have this size");
    Ok(Samples::new(x, cells.map(|(class, _)| names[class].trim().to_owned()).collect()))
}
