//! `embeddings/<cell>.json`: maps of samples in two dimensions, before and after a method.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The same samples before a method and as it represents them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// Class of each sample.
    pub labels: Vec<usize>,
    pub perplexity: f64,
    /// Number of nearest neighbours that vote for a class.
    pub neighbours: usize,
    pub raw: Cloud,
    pub learnt: Cloud,
}

/// A map, and how well the classes are separated in the space that it shows, not in the map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cloud {
    /// Dimensions of the space.
    pub dims: usize,
    pub points: Vec<[f64; 2]>,
    /// Mean silhouette of the classes, from -1 to 1.
    pub silhouette: f64,
    /// Percent of the samples that their nearest neighbours classify correctly.
    pub knn_accuracy: f64,
}

impl Embedding {
    /// Folder of embeddings in a results folder.
    pub const FOLDER: &str = "embeddings";

    /// Where the embedding of a cell is in a results folder.
    pub fn path(folder: &Path, cell: &str) -> PathBuf {
        folder.join(Self::FOLDER).join(format!("{cell}.json"))
    }
}
