//! The u-step: `u_l = argmin J_l` for all classes, with `g_l = P v_l` given.
//!
//! ```text
//! u_l = g_l + phi(X) x_l,   f_l = g_l + K x_l
//! ```
//!
//! One versus rest: `x_l` solves a box QP with the matrix K itself, in which the few similar samples
//! and the active dissimilar ones are free. Rest versus one: [`crate::model::plane`].

use faer::{Mat, Par};
use rayon::prelude::*;

use super::KNpsvcpp;
use crate::kernel::Gram;
use crate::kernel::algebra::{column, column_mut};
use crate::model::plane::{Plane, Planes, Pull};
use crate::model::{FitError, Problem, Scheme};
use crate::solve::box_qp::{self, Program, Settings, Solution, Term};

/// What a u-step starts from.
pub(super) struct Given<'a> {
    /// `A V`, the coefficients of `P v_l`, n x K.
    pub coefficients: Mat<f64>,
    /// `K A V`, its values on the samples, n x K.
    pub values: Mat<f64>,
    /// Size of each class's objective, against which the QPs' gaps are measured: their own optimum
    /// is near zero where `P v_l` already fits.
    pub scale: &'a [f64],
}

/// Coefficients `B` and values `K B` of all hyperplanes, n x K each.
pub(super) struct Hyperplanes {
    pub b: Mat<f64>,
    pub f: Mat<f64>,
    /// Whether every problem was solved to its tolerance.
    pub are_solved: bool,
    /// The largest multiplier of a dissimilar sample, at most `c`.
    pub largest: f64,
}

impl Hyperplanes {
    /// The least `c` that would have led to the same hyperplanes, as far as that is known.
    pub fn bound_needed(&self) -> f64 {
        if self.are_solved {
            self.largest
        } else {
            f64::INFINITY
        }
    }
}

/// The u-step's problems, each with its last solution, where the next one starts.
pub(super) struct UStep<'a> {
    options: &'a KNpsvcpp,
    k: Gram<'a>,
    y: &'a [usize],
    par: Par,
    form: Form<'a>,
    last: Vec<Option<Vec<f64>>>,
}

enum Form<'a> {
    Full,
    Eliminated {
        shared: &'a Planes<'a>,
        planes: Vec<Plane<'a>>,
    },
}

impl<'a> UStep<'a> {
    /// `planes` are there where the similar samples are eliminated.
    pub fn new(
        options: &'a KNpsvcpp,
        problem: &'a Problem,
        planes: Option<&'a Planes<'a>>,
    ) -> Result<Self, FitError> {
        let classes = problem.shape().classes;
        let form = match planes {
            None => Form::Full,
            Some(shared) => Form::Eliminated {
                shared,
                planes: (0..classes)
                    .map(|l| shared.plane(l))
                    .collect::<Result<_, FitError>>()?,
            },
        };
        Ok(Self {
            options,
            k: problem.gram_with(options.bias),
            y: problem.y(),
            par: problem.par(),
            form,
            last: vec![None; classes],
        })
    }

    /// Where the next [`Self::solve`] starts.
    pub fn solutions(&self) -> &[Option<Vec<f64>>] {
        &self.last
    }

    /// Sets where the next [`Self::solve`] starts.
    pub fn start_from(&mut self, solutions: Vec<Option<Vec<f64>>>) {
        self.last = solutions;
    }

    /// Whether sample `i` is a similar one of hyperplane `l`.
    pub fn is_near(&self, i: usize, l: usize) -> bool {
        (self.y[i] == l) == (self.options.scheme == Scheme::Ovr)
    }

    pub fn solve(&mut self, given: Given<'_>) -> Hyperplanes {
        match self.form {
            Form::Full => self.solve_full(given),
            Form::Eliminated { .. } => self.solve_eliminated(given),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            tolerance: self.options.qp_tolerance,
            par: self.par,
            ..Settings::default()
        }
    }

    /// The duality gap that is accepted for class `l`.
    fn absolute(&self, given: &Given<'_>, l: usize) -> f64 {
        self.options.qp_tolerance * given.scale[l] / self.options.r1
    }

    fn solve_full(&mut self, given: Given<'_>) -> Hyperplanes {
        let (c, r1) = (self.options.c, self.options.r1);
        let term = |i: usize, l: usize| {
            let loss = if self.is_near(i, l) {
                Term::square()
            } else {
                Term::hinge(c)
            };
            let linear = loss.linear + given.values[(i, l)];
            Term { linear, ..loss }.in_coefficients(r1)
        };
        let terms: Vec<Vec<Term>> = (0..self.last.len())
            .map(|l| (0..self.y.len()).map(|i| term(i, l)).collect())
            .collect();
        let programs: Vec<Program<'_>> = terms
            .iter()
            .enumerate()
            .map(|(l, terms)| Program {
                terms,
                start: self.last[l].as_deref(),
                absolute: self.absolute(&given, l),
            })
            .collect();
        let solutions = box_qp::solve_all(self.k, &programs, self.settings());
        let (mut b, mut f) = (given.coefficients, given.values);
        let are_solved = solutions.iter().all(|s| s.certificate.converged);
        let mut largest: f64 = 0.0;
        for (l, solution) in solutions.into_iter().enumerate() {
            add(column_mut(&mut b, l), &solution.x);
            add(column_mut(&mut f, l), &solution.y);
            let far = (0..self.y.len()).filter(|&i| !self.is_near(i, l));
            largest = far.fold(largest, |most, i| most.max(r1 * solution.x[i]));
            self.last[l] = Some(solution.x);
        }
        Hyperplanes {
            b,
            f,
            are_solved,
            largest,
        }
    }

    fn solve_eliminated(&mut self, given: Given<'_>) -> Hyperplanes {
        let settings = self.settings();
        let (c, r1) = (self.options.c, self.options.r1);
        let Form::Eliminated { shared, planes } = &self.form else {
            return self.solve_full(given);
        };
        let masked = Mat::from_fn(self.y.len(), self.last.len(), |i, l| {
            if self.is_near(i, l) {
                given.values[(i, l)]
            } else {
                0.0
            }
        });
        let pulled = shared.pulls(masked.as_ref());
        let absolute: Vec<f64> = (0..planes.len())
            .map(|l| self.absolute(&given, l))
            .collect();
        let (mut b, mut f) = (given.coefficients, given.values);
        let pulls: Vec<Pull> = (planes.iter().enumerate())
            .map(|(l, plane)| plane.pull(column(masked.as_ref(), l), column(pulled.as_ref(), l)))
            .collect();
        let hinge = Term::hinge(c).in_coefficients(r1);
        let solve = |l: usize| {
            let (plane, values) = (&planes[l], column(f.as_ref(), l));
            let far_values: Vec<f64> = (plane.far.iter().zip(&pulls[l].at_far))
                .map(|(&j, pull)| values[j] - pull)
                .collect();
            let term = |g: &f64| Term {
                linear: g - 1.0,
                ..hinge
            };
            let terms: Vec<Term> = far_values.iter().map(term).collect();
            let settings = Settings {
                absolute: absolute[l],
                par: Par::Seq,
                ..settings
            };
            let solution = plane.solve(&terms, self.last[l].as_deref(), settings);
            (far_values, solution)
        };
        // Side by side, each by one thread.
        let solved: Vec<(Vec<f64>, Solution)> = if self.par.degree() > 1 {
            (0..planes.len()).into_par_iter().map(solve).collect()
        } else {
            (0..planes.len()).map(solve).collect()
        };
        let lambdas: Vec<Vec<f64>> = solved
            .iter()
            .map(|(_, solution)| solution.x.iter().map(|x| r1 * x).collect())
            .collect();
        let near_values = shared.near_values(planes, &lambdas, Some(&pulls));
        let are_solved = solved.iter().all(|(_, s)| s.certificate.converged);
        for (l, (far_values, solution)) in solved.into_iter().enumerate() {
            let (plane, near_values) = (&planes[l], &near_values[l]);
            let step = plane.coefficients(&lambdas[l], near_values);
            add(column_mut(&mut b, l), &step);
            let values = column_mut(&mut f, l);
            for (&i, value) in plane.near.iter().zip(near_values) {
                values[i] = *value;
            }
            for (&j, (g, y)) in plane.far.iter().zip(far_values.iter().zip(&solution.y)) {
                values[j] = g + y;
            }
            self.last[l] = Some(solution.x);
        }
        Hyperplanes {
            b,
            f,
            are_solved,
            largest: lambdas.iter().flatten().copied().fold(0.0, f64::max),
        }
    }
}

fn add(target: &mut [f64], step: &[f64]) {
    for (target, step) in target.iter_mut().zip(step) {
        *target += step;
    }
}
