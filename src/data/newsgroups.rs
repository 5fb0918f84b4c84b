//! 20 Newsgroups, 100 words: `documents` (words x documents, sparse, binary) and `newsgroups`.

use ndarray::Array2;

use super::Samples;
use super::error::{BadContent, bad, variable};
use super::mat::MatFile;
use crate::wording::counted;

/// A sample is a document, a feature is a word.
pub(crate) fn parse(file: &[u8]) -> Result<Samples, BadContent> {
    let file = MatFile::parse(file)?;
    let documents = file.matrix("documents")?;
    let groups = file.matrix("newsgroups")?;
    if groups.values.len() != documents.columns {
        let found = counted(groups.values.len(), "label");
        let expected = format!("{}, one for each column of `documents`", documents.columns);
        return Err(bad(variable("newsgroups"), found, expected));
    }
    // Column after column of words x documents is row after row of documents x words.
    let x = Array2::from_shape_vec((documents.columns, documents.rows), documents.values)
        .expect("a matrix has as many values as its shape says");
    Ok(Samples::new(x, groups.values.iter().map(f64::to_string).collect()))
}
