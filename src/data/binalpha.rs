//! Binary Alphadigits in Roweis's layout: `dat`, 36 x 39 cells of 20 x 16 pixels, and `classlabels`.

use ndarray::Array2;

use super::Samples;
use super::error::BadContent;
use super::mat::{MatFile, Matrix};

/// Samples are ordered by class; pixels column by column, as MATLAB does.
pub(crate) fn parse(file: &[u8]) -> Result<Samples, BadContent> {
    let file = MatFile::parse(file)?;
    let Matrix { rows: classes, columns: per_class, values: images } = file.matrices("dat")?;
    let names = file.texts("classlabels")?.values;
    if names.len() != classes {
        let expected = format!("{classes}, one for each row of `dat`");
        let found = format!("{} labels", names.len());
        return Err(BadContent::variable("classlabels", found, expected));
    }
    let (rows, columns) = images.first().map_or((0, 0), |image| (image.rows, image.columns));
    let differs = |image: &Matrix| (image.rows, image.columns) != (rows, columns);
    if let Some(at) = images.iter().position(differs) {
        let Matrix { rows: r, columns: c, .. } = &images[at];
        let (row, column) = (at % classes + 1, at / classes + 1);
        let found = format!("an image of {r} x {c} in row {row}, column {column}");
        let expected = format!("{rows} x {columns} as in the first cell");
        return Err(BadContent::variable("dat", found, expected));
    }
    // Row after row of the cells.
    let cells = (0..classes).flat_map(|class| (0..per_class).map(move |number| (class, number)));
    let values = cells.clone().flat_map(|(class, number)| &images[number * classes + class].values);
    let x = Array2::from_shape_vec((images.len(), rows * columns), values.copied().collect())
        .map_err(|error| BadContent::variable("dat", error.to_string(), "images"))?;
    Ok(Samples::new(x, cells.map(|(class, _)| names[class].trim().to_owned()).collect()))
}
