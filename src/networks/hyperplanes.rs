//! Objectives of nonparallel hyperplanes on a mini-batch.
//!
//! ```text
//! ovr: J_l = 1/|B| [         sum_{y=l}  f^2/2 + c/(K-1) sum_{y!=l} [s-f]_+^2/2 ]
//! rvo: J_l = 1/|B| [ 1/(K-1) sum_{y!=l} f^2/2 +       c sum_{y=l}  [s-f]_+^2/2 ]
//! ```

use tch::{Kind, Tensor};

use super::head::Head;
use super::torch::largest;
use crate::methods::criteria::{Hinge, Hyperplanes};
use npsvc::Scheme;

/// The arguments of both losses, one column per class. A loss is half of the square, times a weight.
pub(super) struct Residuals {
    similar: Tensor,
    dissimilar: Tensor,
    similar_weight: f64,
    dissimilar_weight: f64,
}

impl Residuals {
    /// Splits `f` by the side each sample is on; `members` is 1 where sample `i` is of class `l`.
    pub fn new(hyperplanes: &Hyperplanes, f: &Tensor, members: &Tensor) -> Self {
        let Hyperplanes { c, margin, scale, .. } = hyperplanes;
        let others = (f.size()[1] as f64 - 1.0).max(1.0);
        let short = match hyperplanes.hinge {
            Hinge::Clipped => (*margin - f).relu(),
            Hinge::Unclipped => *margin - f,
        };
        let (similar, dissimilar) = (scale.near, scale.far * c);
        match hyperplanes.scheme {
            Scheme::Ovr => Self {
                similar: f * members,
                dissimilar: &short - &short * members,
                similar_weight: similar,
                dissimilar_weight: dissimilar / others,
            },
            Scheme::Rvo => Self {
                similar: f - f * members,
                dissimilar: short * members,
                similar_weight: similar / others,
                dissimilar_weight: dissimilar,
            },
        }
    }

    fn samples(&self) -> f64 {
        self.similar.size()[0] as f64
    }

    /// `J_l` of every class.
    pub fn objectives(&self) -> Tensor {
        let squares = &self.similar * &self.similar * self.similar_weight
            + &self.dissimilar * &self.dissimilar * self.dissimilar_weight;
        squares.sum_dim_intlist([0].as_slice(), false, None::<Kind>) / (2.0 * self.samples())
    }

    /// `dJ_l/df_il`.
    pub fn slopes(&self) -> Tensor {
        let n = self.samples();
        &self.similar * (self.similar_weight / n) - &self.dissimilar * (self.dissimilar_weight / n)
    }
}

/// The class of the nearest hyperplane, or under rest versus one of the farthest.
pub(super) fn classify(scheme: Scheme, f: &Tensor, head: &Head) -> Vec<usize> {
    let (weight, _) = head.hyperplanes();
    let norms = (weight * weight).sum_dim_intlist([1].as_slice(), false, None::<Kind>).sqrt();
    let distances = f.abs() / norms;
    match scheme {
        Scheme::Ovr => largest(&-distances),
        Scheme::Rvo => largest(&distances),
    }
}
