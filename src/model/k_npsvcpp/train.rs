//! Algorithm 1 in kernel coordinates.
//!
//! One iteration: u-step (a box QP per class), v-step, P-step (generalised power iteration),
//! tau-step (a simplex QP), and a projected gradient step on `P` under the new weights.

use std::sync::Arc;

use faer::{Mat, MatRef, Par};

use super::hyperplanes::{Given, Hyperplanes, UStep};
use super::path::{Path, Station};
use super::{KNpsvcpp, Start};
use crate::kernel::algebra::{column, inner, product};
use crate::kernel::{Gram, Laplacian};
use crate::model::nonparallel;
use crate::model::plane::Planes;
use crate::model::{Fit, FitError, KernelMachine, Learnt, Problem, Shape, TraceRow};
use crate::solve::stiefel::Frame;
use crate::solve::{Certificate, lanczos, simplex};

/// Relative residual of `sigma_max`; the eigenvalue itself is then off by about its square.
const SIGMA_TOLERANCE: f64 = 1e-6;
/// Accuracy of the tau-step, which is cheap.
const TAU_TOLERANCE: f64 = 1e-12;

pub(super) fn fit(options: &KNpsvcpp, problem: &Problem, start: &Start) -> Result<Fit, FitError> {
    let (d, rank) = (start.frame.a.ncols(), start.frame.rank());
    if rank < d {
        return Err(FitError::Rank { d, rank });
    }
    let planes = Planes::new(problem, options.r1, options.scheme, options.bias)?;
    let hyperplanes = UStep::new(options, problem, planes.as_ref())?;
    let mut training = Training::new(options, problem, hyperplanes, start)?;
    let mut path = Path::of_lane(options, problem, start);
    let mut trace: Vec<TraceRow> = Vec::new();
    let mut steps = Vec::new();
    let mut converged = false;
    while trace.len() < options.max_iter && !converged {
        let weighed = match path.known() {
            Some(station) => training.adopt(station),
            None => training.turn(),
        };
        let row = training.weigh(trace.len(), &weighed);
        if !row.primal.is_finite() {
            return Err(FitError::NotFinite);
        }
        training.descend(weighed, &mut path);
        if training.rounding() > 1.0 {
            return Err(FitError::Singular);
        }
        converged = training.is_stationary(&row, trace.last());
        trace.push(row);
        steps.push(training.machine()?);
    }
    path.leave(problem);
    let machine = match steps.last() {
        Some(machine) => machine.clone(),
        None => training.machine()?,
    };
    let last = trace.last().cloned().unwrap_or_default();
    let certificate = Certificate {
        primal: last.primal,
        dual: last.dual,
        gap: (last.primal - last.dual).max(0.0),
        iterations: trace.len(),
        converged,
    };
    Ok(Fit {
        machine,
        certificate,
        trace,
        learnt: Some(training.learnt(steps)),
    })
}

struct Training<'a> {
    options: &'a KNpsvcpp,
    k: Gram<'a>,
    /// `|K|_F`.
    k_norm: f64,
    par: Par,
    classes: usize,
    hyperplanes: UStep<'a>,
    laplacian: Arc<Laplacian>,
    /// `sigma` of the power iteration.
    sigma: f64,
    frame: Frame,
    /// `V`, d x K.
    v: Mat<f64>,
    /// `B`, n x K, and `K B`: the functions' values on the training samples.
    b: Mat<f64>,
    f: Mat<f64>,
    tau: Vec<f64>,
    /// Size of each class's objective.
    scale: Vec<f64>,
    /// Whether the last u-step and the last tau-step met their tolerances.
    are_solved: bool,
    is_weighed: bool,
}

/// What the weights are chosen by, after `U`, `V` and `P` have been.
#[derive(Clone)]
pub(super) struct Weighed {
    /// `P^T U`.
    pu: Mat<f64>,
    manifold: Manifold,
    /// `J_l`.
    objectives: Vec<f64>,
    /// Inner products of the classes' Riemannian gradients.
    gram: Mat<f64>,
}

impl<'a> Training<'a> {
    fn new(
        options: &'a KNpsvcpp,
        problem: &'a Problem,
        hyperplanes: UStep<'a>,
        start: &Start,
    ) -> Result<Self, FitError> {
        let Shape { n, classes, .. } = problem.shape();
        let k = problem.gram_with(options.bias);
        let laplacian = problem.laplacian(&options.graph);
        let sigma_max = if options.mu > 0.0 {
            problem.once_per_graph(&options.graph, options.bias, || {
                sigma_max(k, &laplacian, problem.par())
            })
        } else {
            0.0
        };
        let far = |l: usize| (0..n).filter(|&i| !hyperplanes.is_near(i, l)).count();
        let scale = (0..classes).map(|l| options.c * far(l) as f64).collect();
        Ok(Self {
            options,
            k,
            k_norm: k.norm(),
            par: problem.par(),
            classes,
            scale,
            hyperplanes,
            laplacian,
            sigma: options.gpi.shift + options.mu * sigma_max,
            frame: start.frame.clone(),
            v: start.v.clone(),
            b: Mat::zeros(n, classes),
            f: Mat::zeros(n, classes),
            tau: vec![1.0 / classes as f64; classes],
            are_solved: true,
            is_weighed: true,
        })
    }

    /// The first half of a pass through Algorithm 1's loop: `U`, `V` and `P` under fixed weights.
    fn turn(&mut self) -> Weighed {
        self.u_step();
        self.v_step();
        let bent = self.p_step();
        let pu = product(self.frame.ka.transpose(), self.b.as_ref(), self.par);
        let manifold = Manifold::new(self, bent);
        let objectives = self.objectives(&pu, manifold.value);
        let gram = self.gradient_gram(&pu, &manifold);
        self.scale.clone_from(&objectives);
        Weighed {
            pu,
            manifold,
            objectives,
            gram,
        }
    }

    /// As [`Self::turn`], by a fit that came the same way.
    fn adopt(&mut self, station: &Station) -> Weighed {
        self.frame = station.frame.clone();
        self.v = station.v.clone();
        self.b = station.b.clone();
        self.f = station.f.clone();
        self.hyperplanes.start_from(station.solutions.clone());
        self.are_solved = station.are_solved;
        self.scale.clone_from(&station.weighed.objectives);
        station.weighed.clone()
    }

    /// The second half: the tau-step.
    fn weigh(&mut self, iteration: usize, weighed: &Weighed) -> TraceRow {
        let Weighed {
            manifold,
            objectives,
            gram,
            ..
        } = weighed;
        let gains: Vec<f64> = objectives.iter().map(|j| self.options.gamma * j).collect();
        let (tau_star, tau_step) = simplex::solve(gram.as_ref(), &gains, &self.tau, TAU_TOLERANCE);
        self.is_weighed = tau_step.converged;
        let used = self.tau.clone();
        let momentum = self.options.tau_momentum;
        for (tau, star) in self.tau.iter_mut().zip(&tau_star) {
            *tau = (1.0 - momentum) * *tau + momentum * star;
        }
        TraceRow {
            iteration,
            primal: objectives.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            dual: objectives.iter().zip(&used).map(|(j, tau)| tau * j).sum(),
            gradient_norm: quadratic(gram.as_ref(), &tau_star).max(0.0).sqrt(),
            objectives: objectives.clone(),
            tau: used,
            tau_star,
            manifold: manifold.value,
            accuracy: None,
            seconds: None,
        }
    }

    /// Then `P` descends under the new weights, or goes where another fit's did under the same.
    fn descend(&mut self, weighed: Weighed, path: &mut Path) {
        if let Some(station) = path.known().filter(|station| station.tau == self.tau) {
            self.frame = station.descended.clone();
            path.go_on();
            return;
        }
        let descended = self.descended(&weighed);
        let turned = std::mem::replace(&mut self.frame, descended);
        path.record(|| Station {
            frame: turned,
            v: self.v.clone(),
            b: self.b.clone(),
            f: self.f.clone(),
            solutions: self.hyperplanes.solutions().to_vec(),
            are_solved: self.are_solved,
            weighed,
            tau: self.tau.clone(),
            descended: self.frame.clone(),
        });
    }

    /// `u_l = argmin J_l` with `g_l = P v_l`.
    fn u_step(&mut self) {
        let given = Given {
            coefficients: product(self.frame.a.as_ref(), self.v.as_ref(), self.par),
            values: product(self.frame.ka.as_ref(), self.v.as_ref(), self.par),
            scale: &self.scale,
        };
        let Hyperplanes { b, f, are_solved } = self.hyperplanes.solve(given);
        (self.b, self.f, self.are_solved) = (b, f, are_solved);
    }

    /// `V = r1 / (r1 + r2) P^T U`.
    fn v_step(&mut self) {
        let factor = self.options.r1 / (self.options.r1 + self.options.r2);
        let mut v = product(self.frame.ka.transpose(), self.b.as_ref(), self.par);
        v *= faer::Scale(factor);
        self.v = v;
    }

    /// Generalised power iteration `P <- polar((sigma I - mu H) P + r1 U T V^T)`. What a round
    /// needs of `K M` follows from `K L K A`, its one product with K, and from `K B`.
    fn p_step(&mut self) -> Bent {
        let (sigma, mu) = (self.sigma, self.options.mu);
        let pull = self.weighted_outer(self.b.as_ref());
        let k_pull = self.weighted_outer(self.f.as_ref());
        let gpi = &self.options.gpi;
        let size = (self.frame.a.ncols() as f64).sqrt();
        let mut bent = Bent::new(self);
        for _ in 0..gpi.max_rounds {
            let (a, ka) = (&self.frame.a, &self.frame.ka);
            let m = Mat::from_fn(a.nrows(), a.ncols(), |i, j| {
                sigma * a[(i, j)] - mu * bent.lka[(i, j)] + pull[(i, j)]
            });
            let km = Mat::from_fn(a.nrows(), a.ncols(), |i, j| {
                sigma * ka[(i, j)] - mu * bent.klka[(i, j)] + k_pull[(i, j)]
            });
            let next = Frame::nearest_to_known(m, km, self.k, self.par);
            let moved = self.frame.distance(&next);
            self.frame = next;
            bent = Bent::new(self);
            if moved <= gpi.tolerance * size {
                break;
            }
        }
        bent
    }

    /// `r1 M T V^T` for `M` with a column per class.
    fn weighted_outer(&self, m: MatRef<'_, f64>) -> Mat<f64> {
        let mt = Mat::from_fn(m.nrows(), self.classes, |i, l| {
            self.options.r1 * self.tau[l] * m[(i, l)]
        });
        product(mt.as_ref(), self.v.transpose(), self.par)
    }

    /// `J_l` for all classes; `pu` is `P^T U`.
    fn objectives(&self, pu: &Mat<f64>, manifold: f64) -> Vec<f64> {
        let (c, r1, r2) = (self.options.c, self.options.r1, self.options.r2);
        let w = self.squared_residuals(pu);
        (0..self.classes)
            .map(|l| {
                let f = column(self.f.as_ref(), l);
                let (mut near, mut far) = (0.0, 0.0);
                for (i, &f) in f.iter().enumerate() {
                    if self.hyperplanes.is_near(i, l) {
                        near += f * f;
                    } else {
                        far += (1.0 - f).max(0.0);
                    }
                }
                let v = self.squared_v(l);
                0.5 * near + c * far + 0.5 * r1 * w[l] + 0.5 * r2 * v + manifold
            })
            .collect()
    }

    /// `|v_l|^2`.
    fn squared_v(&self, l: usize) -> f64 {
        let v = column(self.v.as_ref(), l);
        inner(v, v)
    }

    /// `|w_l|^2 = |u_l - P v_l|^2`.
    fn squared_residuals(&self, pu: &Mat<f64>) -> Vec<f64> {
        (0..self.classes)
            .map(|l| {
                let u = inner(column(self.b.as_ref(), l), column(self.f.as_ref(), l));
                let cross = inner(column(self.v.as_ref(), l), column(pu.as_ref(), l));
                (u - 2.0 * cross + self.squared_v(l)).max(0.0)
            })
            .collect()
    }

    /// Inner products of the classes' Riemannian gradients
    /// `M_l + Pi = r1 (P v_l u_l^T P - u_l v_l^T) + mu (H P - P P^T H P)`.
    fn gradient_gram(&self, pu: &Mat<f64>, manifold: &Manifold) -> Mat<f64> {
        let (r1, par) = (self.options.r1, self.par);
        let vv = product(self.v.transpose(), self.v.as_ref(), par);
        let uppu = product(pu.transpose(), pu.as_ref(), par);
        let uu = product(self.b.transpose(), self.f.as_ref(), par);
        let c = product(self.v.transpose(), pu.as_ref(), par);
        let k_pi_b = product(manifold.k_pi.transpose(), self.b.as_ref(), par);
        let against: Vec<f64> = (0..self.classes)
            .map(|l| -r1 * inner(column(k_pi_b.as_ref(), l), column(self.v.as_ref(), l)))
            .collect();
        Mat::from_fn(self.classes, self.classes, |k, l| {
            let own = vv[(k, l)] * (uppu[(k, l)] + uu[(k, l)]) - 2.0 * c[(k, l)] * c[(l, k)];
            r1 * r1 * own + against[k] + against[l] + manifold.squared_norm
        })
    }

    /// `polar(P - step sum_l tau_l grad_l)`.
    fn descended(&self, weighed: &Weighed) -> Frame {
        let Weighed { pu, manifold, .. } = weighed;
        let (r1, step) = (self.options.r1, self.options.step);
        let vt = Mat::from_fn(self.v.nrows(), self.classes, |i, l| {
            self.tau[l] * self.v[(i, l)]
        });
        let turn = product(vt.as_ref(), pu.transpose(), self.par);
        let moved = |frame: &Mat<f64>, plain: &Mat<f64>, pi: &Mat<f64>| {
            let along = product(frame.as_ref(), turn.as_ref(), self.par);
            let outer = self.weighted_outer(plain.as_ref());
            Mat::from_fn(frame.nrows(), frame.ncols(), |i, j| {
                let gradient = r1 * along[(i, j)] - outer[(i, j)] + pi[(i, j)];
                frame[(i, j)] - step * gradient
            })
        };
        let m = moved(&self.frame.a, &self.b, &manifold.pi);
        let km = moved(&self.frame.ka, &self.f, &manifold.k_pi);
        Frame::nearest_to_known(m, km, self.k, self.par)
    }

    /// Rounding error of `a^T K a = 1` for the largest column of `A`. What `A` holds of the null
    /// space of `K` has no length, so nothing keeps it from growing until only this error is left.
    fn rounding(&self) -> f64 {
        let largest = (0..self.frame.a.ncols())
            .map(|j| column(self.frame.a.as_ref(), j))
            .map(|a| inner(a, a))
            .fold(0.0, f64::max);
        f64::EPSILON * self.k_norm * largest
    }

    /// The objectives grow with the number of samples, the gradient in P does not: by itself, a
    /// gradient that is small beside them says little. So the objective must have settled as well.
    fn is_stationary(&self, row: &TraceRow, last: Option<&TraceRow>) -> bool {
        let limit = self.options.tolerance * row.primal.abs();
        let has_settled = last.is_some_and(|last| (last.primal - row.primal).abs() <= limit);
        let is_exact = self.are_solved && self.is_weighed;
        is_exact && has_settled && row.primal - row.dual <= limit && row.gradient_norm <= limit
    }

    /// Distances are taken with `sqrt(|w_l|^2 + |v_l|^2)`.
    fn machine(&self) -> Result<KernelMachine, FitError> {
        let pu = product(self.frame.ka.transpose(), self.b.as_ref(), self.par);
        let norms = self
            .squared_residuals(&pu)
            .into_iter()
            .enumerate()
            .map(|(l, w)| (w + self.squared_v(l)).sqrt())
            .collect();
        let hyperplanes = nonparallel::Hyperplanes {
            r: self.options.r1,
            scheme: self.options.scheme,
            bias: self.options.bias,
            tolerance: self.options.qp_tolerance,
        };
        hyperplanes.machine_with_norms(self.b.clone(), norms)
    }
}

impl Training<'_> {
    /// The representation at the end; a constant feature adds the sums of the frame's columns.
    fn learnt(self, steps: Vec<KernelMachine>) -> Learnt {
        let frame = self.frame.a;
        let offsets = (0..frame.ncols())
            .map(|j| {
                if self.options.bias {
                    frame.col(j).iter().sum()
                } else {
                    0.0
                }
            })
            .collect();
        Learnt {
            frame,
            offsets,
            steps,
        }
    }
}

/// The manifold term at the current frame: value and Riemannian gradient, the same for all classes.
#[derive(Clone)]
struct Manifold {
    /// `mu/2 tr(Z L Z^T)`.
    value: f64,
    /// `Pi = mu (L K A - A (KA)^T L KA)` in kernel coordinates, and `K Pi`.
    pi: Mat<f64>,
    k_pi: Mat<f64>,
    /// `|Pi|^2`.
    squared_norm: f64,
}

impl Manifold {
    fn new(training: &Training<'_>, bent: Bent) -> Self {
        let (mu, par, frame) = (training.options.mu, training.par, &training.frame);
        let Bent { lka, klka } = bent;
        let core = product(frame.ka.transpose(), lka.as_ref(), par);
        let against = |frame: &Mat<f64>, bent: Mat<f64>| {
            let along = product(frame.as_ref(), core.as_ref(), par);
            faer::Scale(mu) * (bent - along)
        };
        let (pi, k_pi) = (against(&frame.a, lka), against(&frame.ka, klka));
        let trace: f64 = (0..core.nrows()).map(|i| core[(i, i)]).sum();
        let squared_norm = (0..pi.ncols())
            .map(|j| inner(column(pi.as_ref(), j), column(k_pi.as_ref(), j)))
            .sum();
        Self {
            value: 0.5 * mu * trace,
            pi,
            k_pi,
            squared_norm,
        }
    }
}

/// `L K A` and `K L K A` of a frame; nothing but zeros where there is no manifold term.
struct Bent {
    lka: Mat<f64>,
    klka: Mat<f64>,
}

impl Bent {
    fn new(training: &Training<'_>) -> Self {
        let ka = training.frame.ka.as_ref();
        if training.options.mu == 0.0 {
            let zeros = || Mat::zeros(ka.nrows(), ka.ncols());
            return Self {
                lka: zeros(),
                klka: zeros(),
            };
        }
        let lka = training.laplacian.times(ka);
        let klka = training.k.times(lka.as_ref(), training.par);
        Self { lka, klka }
    }
}

/// The largest eigenvalue of `Psi^T L Psi` for `K = Psi Psi^T`. In kernel coordinates that operator
/// is `L K`, symmetric in the inner product of `K`.
fn sigma_max(k: Gram<'_>, laplacian: &Laplacian, par: Par) -> f64 {
    let times_k = |x: &[f64]| k.times_vector(x, par);
    let times_l = |x: &[f64]| laplacian.times_vector(x);
    lanczos::largest_in_metric(k.n(), SIGMA_TOLERANCE, times_k, times_l).value
}

fn quadratic(g: MatRef<'_, f64>, tau: &[f64]) -> f64 {
    (0..tau.len())
        .map(|i| tau[i] * (0..tau.len()).map(|j| g[(i, j)] * tau[j]).sum::<f64>())
        .sum()
}
