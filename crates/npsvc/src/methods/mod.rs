//! The methods. Each one is its parameters: a plain struct with `Default`.

pub(crate) mod duals;
mod gepsvm;
pub(crate) mod k_npsvcpp;
mod nhsvm;
mod nonparallel;
mod reweighted;
mod svm;
mod table1;

pub use gepsvm::Gepsvm;
pub use k_npsvcpp::{Dimension, Gpi, KNpsvcpp};
pub use nhsvm::Nhsvm;
pub use nonparallel::{Dissimilarity, Similarity};
pub use svm::Svm;
pub use table1::{Ctwsvm, Lstwsvm, Npsvm, Pintwsvm, Rmtbsvm, Twsvm};

use crate::BadParameter;
use crate::kernel::GraphOptions;

/// Names the parameter of a neighbour graph that is outside its range.
fn check_graph(graph: &GraphOptions) -> Result<(), BadParameter> {
    let has_neighbours = graph.neighbours != Some(0);
    BadParameter::unless(has_neighbours, "graph.neighbours", 0, "at least 1")
}
