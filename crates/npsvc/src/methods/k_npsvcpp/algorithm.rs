//! Algorithm 1 in kernel coordinates, `P = phi(X) A` and `u_l = phi(X) b_l`.
//!
//! ```text
//! V <- r1/(r1 + r2) P^T U,    tau <- (1 - m) tau + m tau*,    P <- orthonormal(P - step * gradient)
//! ```
//!
//! One iteration: u-step (a box QP per class), v-step, P-step (generalised power iteration), tau-step
//! (a simplex QP), and a projected gradient step on `P` under the new weights. The first three steps
//! are the theta-step. Its result, [`Theta`], depends on the frame, the last theta and the weights only.

use std::sync::Arc;

use faer::{Mat, MatRef, Par};

use super::history::{History, Replay};
use super::p_step::{PStep, WithProduct};
use super::u_step::{Hyperplanes, UStep, UStepInput};
use super::{KNpsvcpp, Start};
use crate::algebra::{
    Matrix, add_product, add_scaled, column, column_mut, columns, inner, product, quadratic_form,
};
use crate::method::{Iteration, Variables};
use crate::methods::duals::{Duals, column_sums};
use crate::model::{KernelMachine, Representation};
use crate::solve::simplex;
use crate::solve::stiefel::Frame;
use crate::{Certificate, FitError, FitOptions, Termination, TraceRow, Trained, TrainingSet};

/// Accuracy of the tau-step, which is cheap.
const TAU_TOLERANCE: f64 = 1e-12;
/// Smallest share of the objective that counts as lost to rounding.
const SMALLEST_LOSS: f64 = 1e-6;

/// Trains from `start`. In a chain, iterations and fits that an earlier fit already computed are reused.
pub(super) fn train(
    parameters: &KNpsvcpp,
    set: &TrainingSet,
    start: &Arc<Start>,
    options: &mut FitOptions<'_>,
) -> Result<Trained, FitError> {
    let (d, rank) = (start.frame.d(), start.frame.rank());
    if rank < d {
        return Err(FitError::Rank { d, rank });
    }
    let Some(chain) = options.chain.as_mut() else {
        let (trained, _) = iterate(parameters, set, start, options, Replay::new(None))?;
        return Ok(trained);
    };
    let mut history = History::new(chain.history.take(), parameters, start);
    let trained = match history.finished(parameters) {
        Some(trained) => trained.clone(),
        None => {
            let replay = Replay::new(Some(&mut history));
            let (trained, largest) = iterate(parameters, set, start, options, replay)?;
            history.finish(parameters, largest, &trained);
            trained
        }
    };
    if let Some(chain) = options.chain.as_mut() {
        chain.history = Some(history);
    }
    Ok(trained)
}

/// The result, and the largest multiplier of all its u-steps.
fn iterate(
    parameters: &KNpsvcpp,
    set: &TrainingSet,
    start: &Arc<Start>,
    options: &mut FitOptions<'_>,
    mut replay: Replay<'_>,
) -> Result<(Trained, f64), FitError> {
    let duals = Duals::of_square_loss(set, parameters.common(), options)?;
    let mut algorithm = Algorithm::new(parameters, set, UStep::new(duals, parameters.c)?, start);
    let classes = set.shape().classes;
    let mut frame = Arc::new(start.frame.clone());
    let mut tau = vec![1.0 / classes as f64; classes];
    let mut last: Option<Arc<Theta>> = None;
    let (mut largest, mut converged) = (0.0_f64, false);
    let mut trace: Vec<TraceRow> = Vec::new();
    while trace.len() < parameters.max_iter && !converged {
        let start = || Arc::unwrap_or_clone(frame);
        let theta = replay.theta(|| algorithm.theta_step(start(), last.as_deref(), &tau));
        largest = largest.max(theta.u.smallest_c());
        let (row, next_tau, is_tau_solved) = algorithm.tau_step(trace.len(), &theta, tau);
        tau = next_tau;
        // The largest objective ignores NaN, the weighted sum does not.
        if !row.primal.is_finite() || !row.dual.is_finite() {
            return Err(FitError::NotFinite);
        }
        frame = replay.next_frame(&theta, &tau, || algorithm.gradient_step(&theta, &tau));
        if algorithm.rounding(&frame) > 1.0 {
            return Err(FitError::Singular);
        }
        let is_exact = theta.u.are_solved && is_tau_solved;
        converged = is_exact && parameters.is_stationary(&row, trace.last());
        trace.push(row);
        if let (Some(on_iteration), Some(row)) = (&mut options.on_iteration, trace.last()) {
            on_iteration(&Iteration {
                row,
                variables: theta.variables(),
                machine: &|| algorithm.machine(&theta, &frame, theta.u.f.as_ref()),
                set,
                par: algorithm.par,
            });
        }
        last = Some(theta);
    }
    let (Some(theta), Some(row)) = (last, trace.last()) else {
        return Err(FitError::NotFinite);
    };
    let values = algorithm.k.times(theta.u.b.as_ref(), algorithm.par);
    let termination = if algorithm.has_lost_digits(&theta, values.as_ref()) {
        Termination::NumericalError
    } else {
        Termination::solved_or(Termination::IterationLimit, converged)
    };
    let certificate = Certificate { termination, ..row.certificate() };
    let machine = algorithm.machine(&theta, &frame, values.as_ref())?;
    let frame = frame.at.transpose().to_owned();
    // A constant feature adds the sums of the frame's columns.
    let offsets = column_sums(frame.as_ref(), parameters.bias);
    let representation = Some(Representation { frame, offsets });
    Ok((Trained { machine, certificate, trace, representation }, largest))
}

/// The variables `U`, `V` and `P` of one iteration, and the numbers that decide the next weights.
pub(super) struct Theta {
    pub frame: Frame,
    /// `V`, d x K.
    v: Mat<f64>,
    pub u: Hyperplanes,
    /// `P^T U`.
    pu: Mat<f64>,
    manifold: Manifold,
    /// `J_l`.
    objectives: Vec<f64>,
    /// Inner products of the classes' Riemannian gradients.
    gradient_gram: Mat<f64>,
}

impl Theta {
    fn variables(&self) -> Variables<'_> {
        let (coefficients, frame) = (self.u.b.as_ref(), self.frame.at.as_ref());
        Variables { coefficients, frame, v: self.v.as_ref() }
    }

    /// `|v_l|^2`.
    fn squared_v(&self, l: usize) -> f64 {
        let v = column(self.v.as_ref(), l);
        inner(v, v)
    }

    /// `|w_l|^2 = |u_l - P v_l|^2`, where `f` are the values of `u_l`.
    fn squared_w(&self, l: usize, f: &[f64], pu: &Mat<f64>) -> f64 {
        let u = inner(column(self.u.b.as_ref(), l), f);
        let cross = inner(column(self.v.as_ref(), l), column(pu.as_ref(), l));
        (u - 2.0 * cross + self.squared_v(l)).max(0.0)
    }
}

struct Algorithm<'a> {
    parameters: &'a KNpsvcpp,
    set: &'a TrainingSet,
    k: Matrix<'a>,
    /// `|K|_F`.
    k_norm: f64,
    par: Par,
    classes: usize,
    start: &'a Start,
    u_step: UStep<'a>,
    p_step: PStep<'a>,
}

impl<'a> Algorithm<'a> {
    fn new(
        parameters: &'a KNpsvcpp,
        set: &'a TrainingSet,
        u_step: UStep<'a>,
        start: &'a Start,
    ) -> Self {
        let (k, par) = (u_step.duals.k, u_step.duals.par);
        Self {
            parameters,
            set,
            k,
            k_norm: k.norm(),
            par,
            classes: set.shape().classes,
            start,
            p_step: PStep::new(parameters, set, start.frame.d(), par),
            u_step,
        }
    }

    /// `U`, `V` and `P` under the weights `tau`.
    fn theta_step(&mut self, mut frame: Frame, last: Option<&Theta>, tau: &[f64]) -> Theta {
        let u = self.solve_u(&frame, last);
        let factor = self.parameters.r1 / (self.parameters.r1 + self.parameters.r2);
        let v = faer::Scale(factor) * product(frame.atk.as_ref(), u.b.as_ref(), self.par);
        let active = ActiveClasses::new(self.parameters.r1, &v, &u, tau);
        let linear = WithProduct {
            plain: product(active.v.as_ref(), active.b.transpose(), self.par),
            times_k: product(active.v.as_ref(), active.f.transpose(), self.par),
        };
        let atkl = self.p_step.run(&mut frame, &linear);
        let manifold = Manifold::new(self.parameters.mu, &frame, atkl, self.par);
        let pu = product(frame.atk.as_ref(), u.b.as_ref(), self.par);
        let mut theta =
            Theta { frame, v, u, pu, manifold, objectives: Vec::new(), gradient_gram: Mat::new() };
        theta.objectives = self.objectives(&theta, theta.u.f.as_ref());
        theta.gradient_gram = self.gradient_gram(&theta);
        theta
    }

    /// `u_l = argmin J_l` with `g_l = P v_l`.
    fn solve_u(&self, frame: &Frame, last: Option<&Theta>) -> Hyperplanes {
        let v = last.map_or(&self.start.v, |last| &last.v);
        let dissimilar =
            |l: usize| (0..self.k.n()).filter(|&i| !self.u_step.duals.is_similar(i, l)).count();
        let scale = match last {
            Some(last) => last.objectives.clone(),
            None => (0..self.classes).map(|l| self.parameters.c * dissimilar(l) as f64).collect(),
        };
        self.u_step.solve(UStepInput {
            coefficients: product(frame.at.transpose(), v.as_ref(), self.par),
            values: product(frame.atk.transpose(), v.as_ref(), self.par),
            scale: &scale,
            last: last.map(|last| last.u.solutions.as_slice()),
        })
    }

    /// `J_l` of all classes, where `f` are the values of the hyperplanes.
    fn objectives(&self, theta: &Theta, f: MatRef<'_, f64>) -> Vec<f64> {
        (0..self.classes).map(|l| self.objective(theta, column(f, l), l)).collect()
    }

    /// Whether the objectives are off by more than the tolerance. They use values of the hyperplanes that
    /// follow from linear systems; `values` are those of the coefficients.
    fn has_lost_digits(&self, theta: &Theta, values: MatRef<'_, f64>) -> bool {
        let again = self.objectives(theta, values);
        let limit = self.parameters.tolerance.max(SMALLEST_LOSS);
        again.iter().zip(&theta.objectives).any(|(again, j)| (again - j).abs() > limit * j.abs())
    }

    /// `J_l`.
    fn objective(&self, theta: &Theta, f: &[f64], l: usize) -> f64 {
        let KNpsvcpp { c, r1, r2, .. } = *self.parameters;
        let (mut similar, mut dissimilar) = (0.0, 0.0);
        for (i, &f) in f.iter().enumerate() {
            if self.u_step.duals.is_similar(i, l) {
                similar += f * f;
            } else {
                dissimilar += (1.0 - f).max(0.0);
            }
        }
        let (w, v) = (theta.squared_w(l, f, &theta.pu), theta.squared_v(l));
        0.5 * similar + c * dissimilar + 0.5 * r1 * w + 0.5 * r2 * v + theta.manifold.value
    }

    /// Inner products of the classes' Riemannian gradients
    /// `M_l + Pi = r1 (P v_l u_l^T P - u_l v_l^T) + mu (H P - P P^T H P)`.
    fn gradient_gram(&self, theta: &Theta) -> Mat<f64> {
        let Theta { v, u, pu, manifold, .. } = theta;
        let (r1, par) = (self.parameters.r1, self.par);
        let vv = product(v.transpose(), v.as_ref(), par);
        let uppu = product(pu.transpose(), pu.as_ref(), par);
        let uu = product(u.b.transpose(), u.f.as_ref(), par);
        let c = product(v.transpose(), pu.as_ref(), par);
        let pi_u = manifold.gradient_times(u.b.as_ref(), pu, par);
        let against: Vec<f64> = (0..self.classes)
            .map(|l| -r1 * inner(column(pi_u.as_ref(), l), column(v.as_ref(), l)))
            .collect();
        Mat::from_fn(self.classes, self.classes, |k, l| {
            let own = vv[(k, l)] * (uppu[(k, l)] + uu[(k, l)]) - 2.0 * c[(k, l)] * c[(l, k)];
            r1 * r1 * own + against[k] + against[l] + manifold.squared_norm
        })
    }

    /// The row of the trace, the next weights, and whether the QP was solved.
    fn tau_step(
        &self,
        iteration: usize,
        theta: &Theta,
        tau: Vec<f64>,
    ) -> (TraceRow, Vec<f64>, bool) {
        let (objectives, gram) = (&theta.objectives, theta.gradient_gram.as_ref());
        let gains: Vec<f64> = objectives.iter().map(|j| self.parameters.gamma * j).collect();
        let (tau_star, certificate) = simplex::solve(gram, &gains, &tau, TAU_TOLERANCE);
        let momentum = self.parameters.tau_momentum;
        let next = (tau.iter().zip(&tau_star))
            .map(|(tau, star)| (1.0 - momentum) * tau + momentum * star)
            .collect();
        let row = TraceRow {
            iteration,
            primal: objectives.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            dual: objectives.iter().zip(&tau).map(|(j, tau)| tau * j).sum(),
            gradient_norm: quadratic_form(gram, &tau_star).max(0.0).sqrt(),
            objectives: objectives.clone(),
            tau,
            tau_star,
            manifold: theta.manifold.value,
        };
        (row, next, certificate.termination == Termination::Solved)
    }

    /// `polar(P - step sum_l tau_l grad_l)`.
    fn gradient_step(&self, theta: &Theta, tau: &[f64]) -> Frame {
        let Theta { frame, pu, manifold, .. } = theta;
        let step = self.parameters.step;
        let ActiveClasses { classes, v, b, f } =
            ActiveClasses::new(self.parameters.r1, &theta.v, &theta.u, tau);
        // What stays within the frame: `I - step (r1 V T U^T P - mu P^T H P)`, transposed.
        let pu = columns(pu.as_ref(), &classes);
        let puv = product(pu.as_ref(), v.transpose(), self.par);
        let within = Mat::from_fn(puv.nrows(), puv.ncols(), |i, j| {
            let unit = if i == j { 1.0 } else { 0.0 };
            unit - step * (puv[(i, j)] - manifold.mu * manifold.core[(j, i)])
        });
        let moved = |frame: &Mat<f64>, plain: &Mat<f64>, laplacian: &Mat<f64>| {
            let mut moved = product(within.as_ref(), frame.as_ref(), self.par);
            add_product(moved.as_mut(), step, v.as_ref(), plain.transpose(), self.par);
            for i in 0..moved.ncols() {
                let source = column(laplacian.as_ref(), i);
                add_scaled(column_mut(&mut moved, i), -step * manifold.mu, source);
            }
            moved
        };
        let mt = moved(&frame.at, &b, &manifold.atkl.plain);
        let mtk = moved(&frame.atk, &f, &manifold.atkl.times_k);
        Frame::nearest_to_known(mt.as_ref(), mtk.as_ref(), self.k, self.par)
    }

    /// Rounding error of `a^T K a = 1` for the largest column of `A`. The part of `A` in the null
    /// space of `K` has length zero, so it can grow until only this error is left.
    fn rounding(&self, frame: &Frame) -> f64 {
        f64::EPSILON * self.k_norm * frame.largest_coefficients()
    }

    /// Distances are measured with `sqrt(|w_l|^2 + |v_l|^2)`. `values` are those of the hyperplanes.
    fn machine(
        &self,
        theta: &Theta,
        frame: &Frame,
        values: MatRef<'_, f64>,
    ) -> Result<KernelMachine, FitError> {
        let pu = product(frame.atk.as_ref(), theta.u.b.as_ref(), self.par);
        let f = theta.u.f.as_ref();
        let norm = |l| (theta.squared_w(l, column(f, l), &pu) + theta.squared_v(l)).sqrt();
        let norms = (0..self.classes).map(norm).collect();
        self.parameters.common().machine(self.set, theta.u.b.clone(), values, norms)
    }
}

impl KNpsvcpp {
    /// Whether gap, gradient and change of the objective are all small. A small gradient alone means
    /// little: it is compared with the objectives, which grow with the number of samples, and the
    /// gradient in `P` does not.
    fn is_stationary(&self, row: &TraceRow, last: Option<&TraceRow>) -> bool {
        let limit = self.tolerance * row.primal.abs();
        let is_unchanged = last.is_some_and(|last| (last.primal - row.primal).abs() <= limit);
        is_unchanged && row.primal - row.dual <= limit && row.gradient_norm <= limit
    }
}

/// The classes with a positive weight; most weights are zero most of the time.
struct ActiveClasses {
    classes: Vec<usize>,
    /// `r1 V T`.
    v: Mat<f64>,
    b: Mat<f64>,
    f: Mat<f64>,
}

impl ActiveClasses {
    fn new(r1: f64, v: &Mat<f64>, u: &Hyperplanes, tau: &[f64]) -> Self {
        let classes: Vec<usize> = (0..tau.len()).filter(|&l| tau[l] > 0.0).collect();
        Self {
            v: Mat::from_fn(v.nrows(), classes.len(), |i, l| {
                r1 * tau[classes[l]] * v[(i, classes[l])]
            }),
            b: columns(u.b.as_ref(), &classes),
            f: columns(u.f.as_ref(), &classes),
            classes,
        }
    }
}

/// The manifold term at the current frame, the same for all classes. Its Riemannian gradient is
/// `Pi = mu (H P - P P^T H P)`.
struct Manifold {
    mu: f64,
    /// `mu/2 tr(Z L Z^T)`.
    value: f64,
    /// `H P`, transposed.
    atkl: WithProduct,
    /// `P^T H P`.
    core: Mat<f64>,
    /// `|Pi|^2`.
    squared_norm: f64,
}

impl Manifold {
    fn new(mu: f64, frame: &Frame, atkl: WithProduct, par: Par) -> Self {
        let (plain, times_k) = (atkl.plain.as_ref(), atkl.times_k.as_ref());
        let core = product(frame.atk.as_ref(), plain.transpose(), par);
        let trace: f64 = (0..core.nrows()).map(|i| core[(i, i)]).sum();
        let squared = |i| inner(column(plain, i), column(times_k, i));
        let norm: f64 = (0..plain.ncols()).map(squared).sum();
        let squared_norm = (norm - core.squared_norm_l2()).max(0.0);
        Self { mu, value: 0.5 * mu * trace, atkl, core, squared_norm: mu * mu * squared_norm }
    }

    /// `Pi^T U` for hyperplanes with coefficients `b`, where `pu` is `P^T U`.
    fn gradient_times(&self, b: MatRef<'_, f64>, pu: &Mat<f64>, par: Par) -> Mat<f64> {
        let mut times = product(self.atkl.times_k.as_ref(), b, par);
        add_product(times.as_mut(), -1.0, self.core.transpose(), pu.as_ref(), par);
        times *= faer::Scale(self.mu);
        times
    }
}
