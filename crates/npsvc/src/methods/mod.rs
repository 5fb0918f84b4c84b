//! The methods. Each one is its parameters: a plain struct with `Default`.

pub(crate) mod duals;
mod gepsvm;
pub(crate) mod k_npsvcpp;
mod nhsvm;
mod nonparallel;
mod reweighted;
mod svm;
mod table1;

pub use k_npsvcpp::{Dimension, Gpi};
pub use nonparallel::{Dissimilarity, Similarity};

use std::ops::Deref;

use crate::kernel::GraphOptions;
use crate::{BadParameter, Method};

/// Exports each method and makes a variant of [`AnyMethod`] of it.
macro_rules! methods {
    ($($module:ident::$name:ident),* $(,)?) => {
        $(pub use $module::$name;)*

        /// A method that is chosen at run time. It dereferences to `dyn` [`Method`], and it can be
        /// cloned and compared.
        ///
        /// With the feature `serde`, its text has one key, the method's name:
        /// `{"twsvm": {"c": 2.0}}`. Parameters that are left out have their defaults.
        ///
        /// ```
        /// use npsvc::ndarray::array;
        /// use npsvc::{AnyMethod, FitOptions, Kernel, TrainingSet};
        ///
        /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
        /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
        /// for method in AnyMethod::all() {
        ///     if !method.info().learns_representation {
        ///         let model = method.fit(&set, FitOptions::default())?;
        ///         assert_eq!(model.predict(set.x())?, set.y(), "{}", method.info().title);
        ///     }
        /// }
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(rename_all = "kebab-case")
        )]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[allow(missing_docs, reason = "each variant is the method of the same name")]
        pub enum AnyMethod {
            $($name($name),)*
        }

        impl AnyMethod {
            /// Every method with its default parameters.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$name($name::default()),)*]
            }
        }

        impl Deref for AnyMethod {
            type Target = dyn Method;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$name(method) => method,)*
                }
            }
        }
    };
}

// Those of the paper's Table 2 in its order, then the others.
methods![
    svm::Svm,
    table1::Twsvm,
    table1::Npsvm,
    table1::Pintwsvm,
    table1::Rmtbsvm,
    k_npsvcpp::KNpsvcpp,
    table1::Lstwsvm,
    table1::Ctwsvm,
    nhsvm::Nhsvm,
    gepsvm::Gepsvm,
];

/// Names the parameter of a neighbour graph that is outside its range.
fn check_graph(graph: &GraphOptions) -> Result<(), BadParameter> {
    let has_neighbours = graph.neighbours != Some(0);
    BadParameter::unless(has_neighbours, "graph.neighbours", 0, "at least 1")
}
