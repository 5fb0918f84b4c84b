//! Binary Alphadigits in Roweis's layout: `dat`, 36 x 39 cells of 20 x 16 pixels, and `classlabels`.

use std::path::PathBuf;

use super::error::DataError;
use super::manifest::Manifest;
use super::{Samples, mat, zeros};

/// Loader of the registry. Samples are ordered by class; pixels column by column, as MATLAB does.
pub(crate) fn load(_: &Manifest, paths: &[PathBuf]) -> Result<Samples, DataError> {
    let Some(path) = paths.first() else {
        return Ok(Samples::default());
    };
    let file = mat::read(path, &["dat", "classlabels"])?;
    let (classes, per_class, images) = file.cells("dat")?;
    let names = file.texts("classlabels")?;
    if names.len() != classes {
        let expected = format!("{classes}, one for each row of `dat`");
        return Err(file.refuse("classlabels", format!("{} labels", names.len()), expected));
    }
    let shape = images.first().map_or((0, 0), |image| (image.rows, image.columns));
    let mut samples = Samples {
        x: zeros(images.len(), shape.0 * shape.1, path)?,
        labels: Vec::with_capacity(images.len()),
    };
    for (class, name) in names.iter().enumerate() {
        for number in 0..per_class {
            let image = &images[number * classes + class];
            if (image.rows, image.columns) != shape {
                let found = format!(
                    "an image of {} x {} in row {}, column {}",
                    image.rows,
                    image.columns,
                    class + 1,
                    number + 1
                );
                let expected = format!("{} x {} as in the first cell", shape.0, shape.1);
                return Err(file.refuse("dat", found, expected));
            }
            let mut row = samples.x.row_mut(samples.labels.len());
            row.iter_mut().zip(&image.values).for_each(|(to, from)| *to = *from);
            samples.labels.push(name.trim().to_owned());
        }
    }
    Ok(samples)
}
