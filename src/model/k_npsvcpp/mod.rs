//! K-NPSVC++: nonparallel hyperplanes on a representation `z(x) = P^T phi(x)` they share.
//!
//! ```text
//! J_l = 1/2 sum_p f_l^2 + c sum_q [1 - f_l]_+ + r1/2 |u_l - P v_l|^2 + r2/2 |v_l|^2
//!       + mu/2 tr(Z L Z^T),      f_l(x) = <u_l, phi(x)>
//! min_theta max_l J_l,  by  max_tau min_theta sum_l tau_l J_l  (Algorithm 1)
//! ```
//!
//! Everything is written in kernel coordinates, `P = phi(X) A` with `A^T K A = I` and
//! `u_l = phi(X) b_l`, so the only cubic work is that of [`super::plane`], and nothing of size
//! n x n is kept per class. [`train`] holds the iteration.

mod hyperplanes;
mod path;
mod power;
mod train;

use std::borrow::Cow;
use std::fmt;

use faer::Mat;
use rand_distr::{Distribution, StandardNormal};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{
    Along, BadParameter, Cost, Fit, FitError, Method, Problem, Scheme, Shape, nonparallel,
};
use crate::kernel::GraphOptions;
use crate::seed::Seed;
use crate::solve::stiefel::Frame;

/// Parameters of K-NPSVC++.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KNpsvcpp {
    /// Weight of the dissimilarity loss.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// Regulariser of `w_l = u_l - P v_l`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub r1: f64,
    /// Regulariser of `v_l`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub r2: f64,
    /// Weight of the objectives against the gradient norm in the tau-step.
    #[schemars(range(min = 0.0))]
    pub gamma: f64,
    /// Weight of the manifold term.
    #[schemars(range(min = 0.0))]
    pub mu: f64,
    /// Dimensions of the learnt representation: a number, or a multiple of the classes as in `2K`.
    pub d: Dimension,
    pub scheme: Scheme,
    /// Append a constant feature, so that the hyperplanes need not pass through the origin.
    pub bias: bool,
    /// `tau <- (1 - m) tau + m tau*`: 1 is the paper's text, 0.75 the authors' code.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub tau_momentum: f64,
    pub graph: GraphOptions,
    pub gpi: Gpi,
    /// Length of the projected gradient step on `P`.
    #[schemars(range(min = 0.0))]
    pub step: f64,
    /// Largest number of outer iterations.
    #[schemars(range(min = 1))]
    pub max_iter: usize,
    /// Stop when the relative primal-dual gap, the relative gradient norm and the relative change of
    /// the objective are below this.
    #[schemars(range(min = 0.0))]
    pub tolerance: f64,
    /// Relative duality gap of the box QPs.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub qp_tolerance: f64,
}

impl Default for KNpsvcpp {
    fn default() -> Self {
        Self {
            c: 1.0,
            r1: 0.05,
            r2: 0.05,
            gamma: 4.0,
            mu: 0.01,
            d: Dimension::PerClass(2),
            scheme: Scheme::Ovr,
            bias: false,
            tau_momentum: 1.0,
            graph: GraphOptions::default(),
            gpi: Gpi::default(),
            step: 0.1,
            max_iter: 10,
            tolerance: 1e-3,
            qp_tolerance: 1e-5,
        }
    }
}

/// The generalised power iteration of the P-step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gpi {
    /// `sigma = shift + mu sigma_max`: 1 is the paper's text, 0.1 the authors' code. It sets the
    /// length of a round's step, not where the rounds lead.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub shift: f64,
    /// Stop when a round moves `P` by less than this, relative to `|P|`; 0 runs all rounds.
    #[schemars(range(min = 0.0))]
    pub tolerance: f64,
    /// Largest number of rounds; the authors' code always makes 25.
    #[schemars(range(min = 1))]
    pub max_rounds: usize,
}

impl Default for Gpi {
    fn default() -> Self {
        Self {
            shift: 1.0,
            tolerance: 1e-2,
            max_rounds: 25,
        }
    }
}

/// A number of dimensions, absolute or per class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    Fixed(usize),
    PerClass(usize),
}

impl Dimension {
    /// The number for a problem of this shape.
    pub fn resolve(self, shape: Shape) -> usize {
        match self {
            Self::Fixed(d) => d,
            Self::PerClass(factor) => factor.saturating_mul(shape.classes),
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(d) => write!(f, "{d}"),
            Self::PerClass(factor) => write!(f, "{factor}K"),
        }
    }
}

impl Serialize for Dimension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(d) => serializer.serialize_u64(*d as u64),
            Self::PerClass(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Dimension {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Dimension;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number above 0, or a multiple of the classes such as `2K`")
            }
            fn visit_u64<E: de::Error>(self, d: u64) -> Result<Dimension, E> {
                match usize::try_from(d) {
                    Ok(d) if d > 0 => Ok(Dimension::Fixed(d)),
                    _ => Err(E::invalid_value(de::Unexpected::Unsigned(d), &self)),
                }
            }
            fn visit_i64<E: de::Error>(self, d: i64) -> Result<Dimension, E> {
                match u64::try_from(d) {
                    Ok(d) => self.visit_u64(d),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Signed(d), &self)),
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Dimension, E> {
                let digits = text.strip_suffix('K').unwrap_or_default();
                match digits.parse() {
                    Ok(factor) if factor > 0 => Ok(Dimension::PerClass(factor)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Dimension {
    fn schema_name() -> Cow<'static, str> {
        "Dimension".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": "^[1-9][0-9]{0,5}K$"},
            ]
        })
    }
}

/// Where the iteration begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// `A^T` with `A^T K A = I`, d x n.
    pub frame: Frame,
    /// `V`, d x K.
    pub v: Mat<f64>,
}

/// What a random start depends on beside the samples.
#[derive(Clone, PartialEq)]
struct Drawn {
    d: usize,
    bias: bool,
    seed: Seed,
}

impl Start {
    /// A random frame and standard normal `V`.
    pub fn random(problem: &Problem, d: usize, bias: bool, seed: &Seed) -> Self {
        let Shape { n, classes, .. } = problem.shape();
        let mut rng = seed.child("frame").rng();
        let m: Mat<f64> = Mat::from_fn(n, d, |_, _| StandardNormal.sample(&mut rng));
        let mt = m.transpose().to_owned();
        let frame = Frame::nearest(mt.as_ref(), problem.gram_with(bias), problem.par());
        let mut rng = seed.child("v").rng();
        let v = Mat::from_fn(d, classes, |_, _| StandardNormal.sample(&mut rng));
        Self { frame, v }
    }
}

impl KNpsvcpp {
    /// Trains from a given start, as [`Method::fit`] does from a random one.
    pub fn fit_from(&self, problem: &Problem, start: &Start) -> Result<Fit, FitError> {
        train::fit(self, problem, start)
    }
}

impl Method for KNpsvcpp {
    const NAME: &'static str = "k-npsvcpp";
    const TITLE: &'static str = "K-NPSVC++";
    const ABOUT: &'static str =
        "TWSVM's losses on a shared learnt representation (Zhang et al. 2024)";
    const LOSSES: [&'static str; 2] = ["a²/2", "[s − a]₊"];
    const LEARNS: bool = true;
    const VERSION: u32 = 2;
    // Fits that differ in these often go the same way, see `path.rs`.
    const ALONG: &'static [Along] = &[Along::Down("c"), Along::Up("gamma")];

    fn check(&self) -> Result<(), BadParameter> {
        BadParameter::unless_positive("c", self.c)?;
        BadParameter::unless_positive("r1", self.r1)?;
        BadParameter::unless_positive("r2", self.r2)?;
        BadParameter::unless_not_negative("gamma", self.gamma)?;
        BadParameter::unless_not_negative("mu", self.mu)?;
        let momentum = self.tau_momentum;
        let in_range = momentum > 0.0 && momentum <= 1.0;
        BadParameter::unless(
            in_range,
            "tau_momentum",
            momentum,
            "a number above 0, at most 1",
        )?;
        BadParameter::unless_positive("gpi.shift", self.gpi.shift)?;
        BadParameter::unless_not_negative("gpi.tolerance", self.gpi.tolerance)?;
        let rounds = self.gpi.max_rounds;
        BadParameter::unless(rounds >= 1, "gpi.max_rounds", rounds, "at least 1")?;
        BadParameter::unless_not_negative("step", self.step)?;
        BadParameter::unless(self.max_iter >= 1, "max_iter", self.max_iter, "at least 1")?;
        BadParameter::unless_not_negative("tolerance", self.tolerance)?;
        BadParameter::unless_positive("qp_tolerance", self.qp_tolerance)
    }

    fn check_shape(&self, shape: Shape) -> Result<(), BadParameter> {
        let d = self.d.resolve(shape);
        let found = match self.d {
            Dimension::Fixed(_) => d.to_string(),
            Dimension::PerClass(_) => format!("{} = {d}", self.d),
        };
        let (most, what) = match shape.rank {
            Some(rank) => (
                rank,
                "columns of the kernel's factor for the training samples",
            ),
            None => (shape.n, "training samples"),
        };
        BadParameter::unless(d <= most, "d", found, format!("at most the {most} {what}"))
    }

    fn fit(&self, problem: &Problem, seed: &Seed) -> Result<Fit, FitError> {
        self.check_shape(problem.shape())?;
        let drawn = Drawn {
            d: self.d.resolve(problem.shape()),
            bias: self.bias,
            seed: seed.clone(),
        };
        let start = problem.once_per_sweep(
            |(known, _): &(Drawn, Start)| *known == drawn,
            || {
                (
                    drawn.clone(),
                    Start::random(problem, drawn.d, drawn.bias, seed),
                )
            },
        );
        self.fit_from(problem, &start.1)
    }

    fn cost(&self, shape: Shape) -> Cost {
        let (n, d) = (shape.n as f64, self.d.resolve(shape) as f64);
        let planes = nonparallel::square_similarity_cost(shape, self.scheme);
        let rounds = self.max_iter as f64 * 8.0;
        // One versus rest, the reduced factors of all classes are each as large as the factor.
        let reduced = match (shape.rank, self.scheme) {
            (Some(rank), Scheme::Ovr) => 8.0 * shape.classes as f64 * n * rank as f64,
            _ => 0.0,
        };
        Cost {
            flops: planes.flops + rounds * 2.0 * n * n * d,
            bytes: planes.bytes + 144.0 * n * d + reduced,
        }
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }
}

#[cfg(test)]
mod tests {
    use faer::Par;
    use ndarray::Array2;

    use super::*;
    use crate::kernel::{Gaussian, Kernel};

    const CLASSES: usize = 3;

    /// Three classes in five dimensions, every sample `copies` times.
    fn problem(kernel: &Kernel, copies: usize, scale: f64, jitter: f64) -> Problem {
        let n = 30;
        let mut rng = Seed::root(1).rng();
        let noise = Array2::from_shape_fn((n, 5), |_| -> f64 { StandardNormal.sample(&mut rng) });
        let y: Vec<usize> = (0..n).map(|i| i / copies % CLASSES).collect();
        let x = Array2::from_shape_fn((n, 5), |(i, j)| {
            let centre = if j == y[i] { 1.5 } else { 0.0 };
            scale * (noise[[i / copies, j]] + centre)
        });
        Problem::new(x, y, CLASSES, kernel, jitter, Par::Seq)
    }

    fn fit(problem: &Problem, d: usize) -> Result<Fit, FitError> {
        let method = KNpsvcpp {
            d: Dimension::Fixed(d),
            ..KNpsvcpp::default()
        };
        method.fit(problem, &Seed::root(3))
    }

    #[test]
    fn one_iteration_does_not_show_that_the_objective_has_settled() {
        let problem = problem(&Kernel::Gaussian(Gaussian::default()), 1, 1.0, 1e-6);
        // A tolerance that any gap and any gradient meets.
        let method = KNpsvcpp {
            d: Dimension::Fixed(3),
            tolerance: 1.0,
            ..KNpsvcpp::default()
        };
        let fit = method.fit(&problem, &Seed::root(3)).unwrap();
        assert!(fit.certificate.converged);
        assert_eq!(fit.certificate.iterations, 2);
    }

    #[test]
    fn more_dimensions_than_the_kernel_has_are_refused_with_both_numbers() {
        for scale in [1.0, 100.0] {
            let problem = problem(&Kernel::Linear, 1, scale, 0.0);
            let most = fit(&problem, 5);
            // Without jitter it may be lost in rounding errors, but not for want of rank.
            let is_possible = matches!(most, Ok(_) | Err(FitError::Singular));
            assert!(is_possible, "scale {scale}: {most:?}");
            for d in [6, 8, 20] {
                let error = fit(&problem, d).err().map(|error| error.to_string());
                let expected = format!(
                    "`d` is {d}, but the kernel matrix has a numerical rank of only 5; lower `d` \
                     or raise `jitter`"
                );
                assert_eq!(error, Some(expected), "scale {scale}");
            }
        }
        let gaussian = Kernel::Gaussian(Gaussian::default());
        let duplicated = problem(&gaussian, 3, 1.0, 0.0);
        assert!(fit(&duplicated, 10).is_ok());
        let refused = fit(&duplicated, 11);
        assert!(
            matches!(refused, Err(FitError::Rank { d: 11, rank: 10 })),
            "{refused:?}"
        );
    }

    #[test]
    fn with_jitter_the_rank_does_not_matter() {
        let problem = problem(&Kernel::Linear, 1, 1.0, 1e-6);
        let fit = fit(&problem, 20).unwrap();
        assert!(fit.certificate.primal < 100.0, "{:?}", fit.certificate);
    }

    #[test]
    fn a_singular_kernel_never_ends_in_a_senseless_answer() {
        for scale in [1.0, 10.0, 100.0] {
            let problem = problem(&Kernel::Linear, 1, scale, 0.0);
            for d in 1..=5 {
                match fit(&problem, d) {
                    // A hyperplane of zeros costs c per dissimilar sample, plus the manifold term.
                    Ok(fit) => {
                        let last = fit.trace.last().unwrap();
                        let loss = fit.certificate.primal - last.manifold;
                        assert!(loss < 30.0, "d = {d}, scale {scale}: {loss}");
                    }
                    Err(error) => assert!(matches!(error, FitError::Singular), "{error}"),
                }
            }
        }
    }
}
