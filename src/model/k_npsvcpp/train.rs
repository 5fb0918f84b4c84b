//! Algorithm 1 in kernel coordinates.
//!
//! One iteration: u-step (a box QP per class), v-step, P-step (generalised power iteration),
//! tau-step (a simplex QP), and a projected gradient step on `P` under the new weights.

use std::sync::Arc;

use faer::{Mat, MatRef, Par};

use super::hyperplanes::{Given, Hyperplanes, UStep};
use super::path::{Path, Station};
use super::power::{Bent, Power, Pull};
use super::{KNpsvcpp, Start};
use crate::kernel::algebra::{add_product, add_scaled, column, column_mut, inner, product};
use crate::kernel::{Gram, columns};
use crate::model::nonparallel;
use crate::model::plane::Planes;
use crate::model::{Fit, FitError, KernelMachine, Learnt, Problem, Shape, TraceRow};
use crate::solve::stiefel::Frame;
use crate::solve::{Certificate, simplex};

/// Accuracy of the tau-step, which is cheap.
const TAU_TOLERANCE: f64 = 1e-12;

pub(super) fn fit(options: &KNpsvcpp, problem: &Problem, start: &Start) -> Result<Fit, FitError> {
    let (d, rank) = (start.frame.d(), start.frame.rank());
    if rank < d {
        return Err(FitError::Rank { d, rank });
    }
    let mut path = Path::of_lane(options, problem, start);
    if let Some(fit) = path.finished(options).cloned() {
        path.leave(problem);
        return Ok(fit);
    }
    let planes = Planes::new(problem, options.r1, options.scheme, options.bias)?;
    let hyperplanes = UStep::new(options, problem, planes.as_ref())?;
    let mut training = Training::new(options, problem, hyperplanes, start);
    let mut largest: f64 = 0.0;
    let mut trace: Vec<TraceRow> = Vec::new();
    let mut steps = Vec::new();
    let mut converged = false;
    while trace.len() < options.max_iter && !converged {
        let weighed = match path.known() {
            Some(station) => training.adopt(station),
            None => training.turn(),
        };
        largest = largest.max(training.u.bound_needed());
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
        // In a sweep nobody asks for the way.
        if !problem.is_lane() {
            steps.push(training.machine()?);
        }
    }
    let machine = match steps.last() {
        Some(machine) => machine.clone(),
        None => training.machine()?,
    };
    let fit = Fit {
        machine,
        certificate: certificate(&trace, converged),
        trace,
        learnt: Some(training.learnt(steps)),
    };
    path.leave_with(problem, options, largest, &fit);
    Ok(fit)
}

fn certificate(trace: &[TraceRow], converged: bool) -> Certificate {
    let last = trace.last().cloned().unwrap_or_default();
    Certificate {
        primal: last.primal,
        dual: last.dual,
        gap: (last.primal - last.dual).max(0.0),
        iterations: trace.len(),
        converged,
    }
}

struct Training<'a> {
    options: &'a KNpsvcpp,
    k: Gram<'a>,
    /// `|K|_F`.
    k_norm: f64,
    par: Par,
    classes: usize,
    hyperplanes: UStep<'a>,
    power: Power<'a>,
    frame: Arc<Frame>,
    /// `V`, d x K.
    v: Mat<f64>,
    u: Arc<Hyperplanes>,
    tau: Vec<f64>,
    /// Size of each class's objective.
    scale: Vec<f64>,
    /// Whether the last tau-step met its tolerance.
    is_weighed: bool,
}

/// What the weights are chosen by, after `U`, `V` and `P` have been.
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
    ) -> Self {
        let Shape { n, classes, .. } = problem.shape();
        let k = problem.gram_with(options.bias);
        let far = |l: usize| (0..n).filter(|&i| !hyperplanes.is_near(i, l)).count();
        let scale = (0..classes).map(|l| options.c * far(l) as f64).collect();
        Self {
            options,
            k,
            k_norm: k.norm(),
            par: problem.par(),
            classes,
            scale,
            hyperplanes,
            power: Power::new(options, problem, start.frame.d()),
            frame: Arc::new(start.frame.clone()),
            v: start.v.clone(),
            u: Arc::new(Hyperplanes {
                b: Mat::zeros(n, classes),
                f: Mat::zeros(n, classes),
                are_solved: true,
                largest: 0.0,
            }),
            tau: vec![1.0 / classes as f64; classes],
            is_weighed: true,
        }
    }

    /// The first half of a pass through Algorithm 1's loop: `U`, `V` and `P` under fixed weights.
    fn turn(&mut self) -> Arc<Weighed> {
        self.u_step();
        self.v_step();
        let manifold = self.p_step();
        let pu = self.shadows();
        let objectives = self.objectives(&pu, manifold.value);
        let gram = self.gradient_gram(&pu, &manifold);
        self.scale.clone_from(&objectives);
        Arc::new(Weighed {
            pu,
            manifold,
            objectives,
            gram,
        })
    }

    /// As [`Self::turn`], by a fit that came the same way.
    fn adopt(&mut self, station: &Station) -> Arc<Weighed> {
        self.frame = station.frame.clone();
        self.v = station.v.clone();
        self.u = station.u.clone();
        self.hyperplanes.start_from(station.solutions.clone());
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
    fn descend(&mut self, weighed: Arc<Weighed>, path: &mut Path) {
        if let Some(station) = path.known().filter(|station| station.tau == self.tau) {
            self.frame = station.descended.clone();
            path.go_on();
            return;
        }
        let descended = Arc::new(self.descended(&weighed));
        let turned = std::mem::replace(&mut self.frame, descended);
        path.record(|| Station {
            frame: turned,
            v: self.v.clone(),
            u: self.u.clone(),
            solutions: self.hyperplanes.solutions().to_vec(),
            weighed,
            tau: self.tau.clone(),
            descended: self.frame.clone(),
        });
    }

    /// `u_l = argmin J_l` with `g_l = P v_l`.
    fn u_step(&mut self) {
        let given = Given {
            coefficients: product(self.frame.at.transpose(), self.v.as_ref(), self.par),
            values: product(self.frame.atk.transpose(), self.v.as_ref(), self.par),
            scale: &self.scale,
        };
        self.u = Arc::new(self.hyperplanes.solve(given));
    }

    /// `V = r1 / (r1 + r2) P^T U`.
    fn v_step(&mut self) {
        let factor = self.options.r1 / (self.options.r1 + self.options.r2);
        self.v = faer::Scale(factor) * self.shadows();
    }

    /// `P^T U`.
    fn shadows(&self) -> Mat<f64> {
        product(self.frame.atk.as_ref(), self.u.b.as_ref(), self.par)
    }

    /// `P = argmin sum_l tau_l J_l` on the manifold of frames.
    fn p_step(&mut self) -> Manifold {
        let pull = self.pull();
        let frame = Arc::make_mut(&mut self.frame);
        let bent = self.power.run(frame, &pull);
        Manifold::new(self.options.mu, frame, bent, self.par)
    }

    /// `r1 U T V^T`.
    fn pull(&self) -> Pull {
        let Weighty { v, b, f, .. } = self.weighty();
        Pull {
            plain: product(v.as_ref(), b.transpose(), self.par),
            in_kernel: product(v.as_ref(), f.transpose(), self.par),
        }
    }

    /// Most weights are zero most of the time.
    fn weighty(&self) -> Weighty {
        let some: Vec<usize> = (0..self.classes).filter(|&l| self.tau[l] > 0.0).collect();
        Weighty {
            v: Mat::from_fn(self.v.nrows(), some.len(), |i, l| {
                self.options.r1 * self.tau[some[l]] * self.v[(i, some[l])]
            }),
            b: columns(self.u.b.as_ref(), &some),
            f: columns(self.u.f.as_ref(), &some),
            classes: some,
        }
    }

    /// `J_l` for all classes; `pu` is `P^T U`.
    fn objectives(&self, pu: &Mat<f64>, manifold: f64) -> Vec<f64> {
        let (c, r1, r2) = (self.options.c, self.options.r1, self.options.r2);
        let w = self.squared_residuals(pu);
        (0..self.classes)
            .map(|l| {
                let f = column(self.u.f.as_ref(), l);
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
                let u = inner(column(self.u.b.as_ref(), l), column(self.u.f.as_ref(), l));
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
        let uu = product(self.u.b.transpose(), self.u.f.as_ref(), par);
        let c = product(self.v.transpose(), pu.as_ref(), par);
        let pi_u = manifold.gradient_times(self.u.b.as_ref(), pu, par);
        let against: Vec<f64> = (0..self.classes)
            .map(|l| -r1 * inner(column(pi_u.as_ref(), l), column(self.v.as_ref(), l)))
            .collect();
        Mat::from_fn(self.classes, self.classes, |k, l| {
            let own = vv[(k, l)] * (uppu[(k, l)] + uu[(k, l)]) - 2.0 * c[(k, l)] * c[(l, k)];
            r1 * r1 * own + against[k] + against[l] + manifold.squared_norm
        })
    }

    /// `polar(P - step sum_l tau_l grad_l)`.
    fn descended(&self, weighed: &Weighed) -> Frame {
        let Weighed { pu, manifold, .. } = weighed;
        let step = self.options.step;
        let Weighty { classes, v, b, f } = self.weighty();
        // What stays within the frame: `I - step (r1 V T U^T P - mu P^T H P)`, transposed.
        let pu = columns(pu.as_ref(), &classes);
        let turn = product(pu.as_ref(), v.transpose(), self.par);
        let within = Mat::from_fn(turn.nrows(), turn.ncols(), |i, j| {
            let unit = if i == j { 1.0 } else { 0.0 };
            unit - step * (turn[(i, j)] - manifold.mu * manifold.core[(j, i)])
        });
        let moved = |frame: &Mat<f64>, plain: &Mat<f64>, bent: &Mat<f64>| {
            let mut moved = product(within.as_ref(), frame.as_ref(), self.par);
            let pulled = plain.transpose();
            add_product(moved.as_mut(), step, v.as_ref(), pulled, self.par);
            for i in 0..moved.ncols() {
                let bent = column(bent.as_ref(), i);
                add_scaled(column_mut(&mut moved, i), -step * manifold.mu, bent);
            }
            moved
        };
        let mt = moved(&self.frame.at, &b, &manifold.bent.atkl);
        let mtk = moved(&self.frame.atk, &f, &manifold.bent.atklk);
        Frame::nearest_to_known(mt.as_ref(), mtk.as_ref(), self.k, self.par)
    }

    /// Rounding error of `a^T K a = 1` for the largest column of `A`. What `A` holds of the null
    /// space of `K` has no length, so nothing keeps it from growing until only this error is left.
    fn rounding(&self) -> f64 {
        f64::EPSILON * self.k_norm * self.frame.largest_coefficients()
    }

    /// The objectives grow with the number of samples, the gradient in P does not: by itself, a
    /// gradient that is small beside them says little. So the objective must have settled as well.
    fn is_stationary(&self, row: &TraceRow, last: Option<&TraceRow>) -> bool {
        let limit = self.options.tolerance * row.primal.abs();
        let has_settled = last.is_some_and(|last| (last.primal - row.primal).abs() <= limit);
        let is_exact = self.u.are_solved && self.is_weighed;
        is_exact && has_settled && row.primal - row.dual <= limit && row.gradient_norm <= limit
    }

    /// Distances are taken with `sqrt(|w_l|^2 + |v_l|^2)`.
    fn machine(&self) -> Result<KernelMachine, FitError> {
        let norms = self
            .squared_residuals(&self.shadows())
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
        hyperplanes.machine_with_norms(self.u.b.clone(), norms)
    }
}

impl Training<'_> {
    /// The representation at the end; a constant feature adds the sums of the frame's columns.
    fn learnt(self, steps: Vec<KernelMachine>) -> Learnt {
        let frame = self.frame.at.transpose().to_owned();
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

/// What concerns the classes whose weight is not zero.
struct Weighty {
    classes: Vec<usize>,
    /// `r1 V T`.
    v: Mat<f64>,
    b: Mat<f64>,
    f: Mat<f64>,
}

/// The manifold term at the current frame, the same for all classes. Its Riemannian gradient is
/// `Pi = mu (H P - P P^T H P)`.
struct Manifold {
    mu: f64,
    /// `mu/2 tr(Z L Z^T)`.
    value: f64,
    /// `H P`.
    bent: Bent,
    /// `P^T H P`.
    core: Mat<f64>,
    /// `|Pi|^2`.
    squared_norm: f64,
}

impl Manifold {
    fn new(mu: f64, frame: &Frame, bent: Bent, par: Par) -> Self {
        let core = product(frame.atk.as_ref(), bent.atkl.transpose(), par);
        let trace: f64 = (0..core.nrows()).map(|i| core[(i, i)]).sum();
        let bent_norm: f64 = (0..bent.atkl.ncols())
            .map(|i| {
                inner(
                    column(bent.atkl.as_ref(), i),
                    column(bent.atklk.as_ref(), i),
                )
            })
            .sum();
        let squared_norm = (bent_norm - core.squared_norm_l2()).max(0.0);
        Self {
            mu,
            value: 0.5 * mu * trace,
            bent,
            core,
            squared_norm: mu * mu * squared_norm,
        }
    }

    /// `Pi^T U` for hyperplanes with coefficients `b`, where `pu` is `P^T U`.
    fn gradient_times(&self, b: MatRef<'_, f64>, pu: &Mat<f64>, par: Par) -> Mat<f64> {
        let mut times = product(self.bent.atklk.as_ref(), b, par);
        add_product(
            times.as_mut(),
            -1.0,
            self.core.transpose(),
            pu.as_ref(),
            par,
        );
        times *= faer::Scale(self.mu);
        times
    }
}

fn quadratic(g: MatRef<'_, f64>, tau: &[f64]) -> f64 {
    (0..tau.len())
        .map(|i| tau[i] * (0..tau.len()).map(|j| g[(i, j)] * tau[j]).sum::<f64>())
        .sum()
}
