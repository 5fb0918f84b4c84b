//! Criteria that networks are trained by, as data: parameters, ranges and cost.
//!
//! All criteria train the same network:
//!
//! ```text
//! phi(x)                                        prior encoder: given vectors, or a residual network
//! z(x) = MLP(phi(x))                            m -> 512 -> 128, each with dropout, batch norm, ReLU
//! f_l(x) = <w~_l, LN([z(x), phi(x)])> + b_l     the paper's hypothesis, Figure A.1
//! ```
//!
//! Every build knows the parameters, so a spec is checked, and has the same schema, whether or not the build can
//! train networks. The computation is in `networks`, with the feature `deep`.

mod parameters;

pub use parameters::{
    AmSoftmax, ArcFace, CrossEntropy, DNpsvcpp, Dtwsvn, FrozenBatchNorms, Gamma, Hinge, Hypothesis,
    LossScale, Network, SecondPass, TauGradient, Training,
};

use npsvc::params::Ranges;
use npsvc::{BadParameter, MethodInfo, Scheme, Shape};

use super::{Cost, Text};

/// Why a build without libtorch cannot train these methods.
pub const NEEDS_DEEP: &str = "needs a program built with `--features deep`";

/// The parameters of a criterion as a spec writes them.
pub(super) trait Parameters: Text + Ranges + Into<Criterion> {
    fn info(losses: [&'static str; 2]) -> MethodInfo;
}

/// A criterion, the network it trains, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    pub loss: Loss,
    /// Learning rate at the start.
    pub lr: f64,
    pub network: Network,
    pub training: Training,
}

/// What is minimised.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// `-log softmax(logits)_y`.
    Softmax(Margin),
    /// Objectives of nonparallel hyperplanes, one per class.
    Hyperplanes(Hyperplanes),
}

/// Margin between the right class and the others in a softmax.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// `f_l = <w_l, x> + b_l`.
    None,
    /// `scale (cos theta_l - margin [l = y])`.
    Additive { scale: f64, margin: f64 },
    /// `scale cos(theta_l + margin [l = y])`.
    Angular { scale: f64, margin: f64 },
}

/// ```text
/// ovr: J_l = 1/|B| [         sum_{y=l}  f^2/2 + c/(K-1) sum_{y!=l} [s-f]_+^2/2 ]
/// rvo: J_l = 1/|B| [ 1/(K-1) sum_{y!=l} f^2/2 +       c sum_{y=l}  [s-f]_+^2/2 ]
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hyperplanes {
    pub c: f64,
    /// `s`.
    pub margin: f64,
    pub scheme: Scheme,
    pub hinge: Hinge,
    pub scale: LossScale,
    /// How the weights of the objectives are learnt; equal weights without.
    pub tau_step: Option<TauStep>,
}

/// The tau-step of Algorithm 2 and the descent that follows it.
#[derive(Clone, Debug, PartialEq)]
pub struct TauStep {
    pub gamma: Gamma,
    /// `beta`.
    pub momentum: f64,
    pub gradient: TauGradient,
    pub second_pass: SecondPass,
}

impl Criterion {
    /// The multi-class scheme, where there is one.
    pub fn scheme(&self) -> Option<Scheme> {
        match &self.loss {
            Loss::Softmax(_) => None,
            Loss::Hyperplanes(hyperplanes) => Some(hyperplanes.scheme),
        }
    }

    /// Names the first parameter outside its range that is not the criterion's own.
    pub fn check(&self) -> Result<(), BadParameter> {
        self.network.check_ranges().map_err(|error| error.inside("network"))?;
        self.training.check_ranges().map_err(|error| error.inside("training"))?;
        match &self.loss {
            Loss::Softmax(Margin::Angular { margin, .. }) => {
                let is_acute = *margin < std::f64::consts::FRAC_PI_2;
                let expected = "at least 0, below a right angle";
                BadParameter::unless(is_acute, "margin", margin, expected)
            }
            Loss::Softmax(Margin::None | Margin::Additive { .. }) => Ok(()),
            Loss::Hyperplanes(Hyperplanes { scale, tau_step, .. }) => {
                scale.check_ranges().map_err(|error| error.inside("loss_scale"))?;
                let Some(TauStep { gamma, .. }) = tau_step else {
                    return Ok(());
                };
                gamma.check_ranges().map_err(|error| error.inside("gamma"))?;
                BadParameter::unless(gamma.t_max != Some(0), "gamma.t_max", 0, "at least 1")
            }
        }
    }

    /// Operations of the layers behind the encoder, three passes' worth per descent, at the rate of double
    /// precision: libtorch is several times as fast in single precision.
    pub fn cost(&self, shape: Shape) -> Cost {
        let (hidden, z) = (self.network.hidden as f64, self.network.z as f64);
        let (n, m, k) = (shape.n as f64, shape.dims as f64, shape.classes as f64);
        let weights = m * hidden + hidden * z + (m + z) * k;
        Cost {
            flops: self.training.epochs as f64 * n * weights * 2.0,
            bytes: 4.0 * (6.0 * weights + n * (m + 2.0 * k)) + 64e6,
        }
    }
}
