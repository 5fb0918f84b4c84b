//! Objectives of nonparallel hyperplanes on a mini-batch, and DTWSVN, which weighs them equally.
//!
//! ```text
//! ovr: J_l = 1/|B| [         sum_{y=l}  f^2/2 + c/(K-1) sum_{y!=l} [s-f]_+^2/2 ]
//! rvo: J_l = 1/|B| [ 1/(K-1) sum_{y!=l} f^2/2 +       c sum_{y=l}  [s-f]_+^2/2 ]
//! ```

use tch::{Kind, Tensor};

use super::head::Head;
use super::objective::{Labels, Objective, Step, largest, numbers};
use crate::methods::TraceRow;
use crate::methods::criteria::{Hinge, Hyperplanes};
use npsvc::Scheme;

/// The objectives of all classes.
pub struct Planes {
    hyperplanes: Hyperplanes,
    classes: usize,
}

/// The two kinds of losses on a batch, already weighted: `near^2` and `far^2` are twice their values.
pub struct Parts {
    near: Tensor,
    far: Tensor,
    near_weight: f64,
    far_weight: f64,
}

impl Planes {
    pub fn new(hyperplanes: &Hyperplanes, classes: usize) -> Self {
        Self {
            hyperplanes: hyperplanes.clone(),
            classes,
        }
    }

    /// Splits `f` by the side each sample is on; `members` is 1 where sample `i` is of class `l`.
    pub fn parts(&self, f: &Tensor, members: &Tensor) -> Parts {
        let others = (self.classes as f64 - 1.0).max(1.0);
        let short = match self.hyperplanes.hinge {
            Hinge::Clipped => (self.hyperplanes.margin - f).relu(),
            Hinge::Unclipped => self.hyperplanes.margin - f,
        };
        let Hyperplanes { c, scale, .. } = &self.hyperplanes;
        let (near, far) = (scale.near, scale.far * c);
        match self.hyperplanes.scheme {
            Scheme::Ovr => Parts {
                near: f * members,
                far: &short - &short * members,
                near_weight: near,
                far_weight: far / others,
            },
            Scheme::Rvo => Parts {
                near: f - f * members,
                far: short * members,
                near_weight: near / others,
                far_weight: far,
            },
        }
    }

    /// The nearest hyperplane, or under rest versus one the farthest.
    pub fn classify(&self, f: &Tensor, head: &Head) -> Vec<usize> {
        let weight = &head.cls.weight;
        let norms = (weight * weight)
            .sum_dim_intlist([1].as_slice(), false, None::<Kind>)
            .sqrt();
        let distances = f.abs() / norms;
        match self.hyperplanes.scheme {
            Scheme::Ovr => largest(&-distances),
            Scheme::Rvo => largest(&distances),
        }
    }
}

impl Parts {
    fn samples(&self) -> f64 {
        self.near.size()[0] as f64
    }

    /// `J_l` of every class.
    pub fn objectives(&self) -> Tensor {
        let squares =
            &self.near * &self.near * self.near_weight + &self.far * &self.far * self.far_weight;
        squares.sum_dim_intlist([0].as_slice(), false, None::<Kind>) / (2.0 * self.samples())
    }

    /// `dJ_l/df_il`.
    pub fn slopes(&self) -> Tensor {
        let n = self.samples();
        &self.near * (self.near_weight / n) - &self.far * (self.far_weight / n)
    }
}

/// `1/K sum_l J_l`.
pub struct Equal(pub Planes);

impl Objective for Equal {
    fn step(&mut self, step: &mut Step<'_>) {
        let phi = step.phi.shallow_clone();
        let pass = step.pass(&phi);
        let f = self.functions(step.head, &pass);
        let objectives = self.0.parts(&f, &step.labels.members).objectives();
        step.descend(&objectives.mean(None::<Kind>));
    }

    fn describe(&self, f: &Tensor, labels: &Labels, row: &mut TraceRow) {
        row.objectives = numbers(&self.0.parts(f, &labels.members).objectives());
        row.tau = vec![1.0 / self.0.classes as f64; self.0.classes];
        row.tau_star.clone_from(&row.tau);
    }

    fn classify(&self, f: &Tensor, head: &Head) -> Vec<usize> {
        self.0.classify(f, head)
    }
}
