//! 20 Newsgroups, 100 words: `documents` (words x documents, sparse, binary) and `newsgroups`.

use std::path::PathBuf;

use ndarray::Array2;

use super::error::DataError;
use super::manifest::Manifest;
use super::{Samples, mat};

/// Loader of the registry.
pub(crate) fn load(_: &Manifest, paths: &[PathBuf]) -> Result<Samples, DataError> {
    let Some(path) = paths.first() else {
        return Ok(Samples::default());
    };
    let file = mat::read(path, &["documents", "newsgroups"])?;
    let documents = file.matrix("documents")?;
    let groups = file.matrix("newsgroups")?;
    if groups.values.len() != documents.columns {
        let found = format!("{} labels", groups.values.len());
        let expected = format!("{}, one for each column of `documents`", documents.columns);
        return Err(file.refuse("newsgroups", found, expected));
    }
    // Column after column of words x documents is row after row of documents x words.
    let shape = (documents.columns, documents.rows);
    let x = Array2::from_shape_vec(shape, documents.values.clone())
        .map_err(|error| file.refuse("documents", error.to_string(), "words x documents"))?;
    let labels = groups.values.iter().map(f64::to_string).collect();
    Ok(Samples { x, labels })
}
