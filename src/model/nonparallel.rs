//! What the nonparallel methods share: hyperplanes `f_l` of norm `|f_l|` and their decision rule.
//!
//! A constant feature (`bias`) makes the kernel `k + 1`; the machine then predicts with the plain
//! kernel and the offset `sum_i b_il`, because `sum_i b_i (k(x_i, x) + 1)` is just that.

use faer::{Mat, MatRef, Par};

use super::plane::{Planes, Sides};
use super::{Cost, Fit, FitError, KernelMachine, Problem, Rule, Scheme, Shape};
use crate::kernel::algebra::{column, inner, product};
use crate::solve::Certificate;
use crate::solve::box_qp::{self, Dense, Settings, Solution, Term};

/// The options every nonparallel method has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyperplanes {
    /// Regulariser.
    pub r: f64,
    pub scheme: Scheme,
    pub bias: bool,
    /// Relative duality gap per hyperplane.
    pub tolerance: f64,
}

impl Hyperplanes {
    pub(super) fn settings(&self, par: Par) -> Settings {
        Settings {
            tolerance: self.tolerance,
            par,
            ..Settings::default()
        }
    }

    /// The machine of `coefficients` (one column per class), with norms in the space of `k`.
    pub(super) fn machine(
        &self,
        coefficients: Mat<f64>,
        k: MatRef<'_, f64>,
        par: Par,
    ) -> Result<KernelMachine, FitError> {
        let values = product(k, coefficients.as_ref(), par);
        let squared =
            |l| inner(column(coefficients.as_ref(), l), column(values.as_ref(), l)).max(0.0);
        let norms = (0..coefficients.ncols())
            .map(|l| squared(l).sqrt())
            .collect();
        self.machine_with_norms(coefficients, norms)
    }

    /// As [`Self::machine`], where the norms of the hyperplanes are known.
    pub(super) fn machine_with_norms(
        &self,
        coefficients: Mat<f64>,
        norms: Vec<f64>,
    ) -> Result<KernelMachine, FitError> {
        if norms.iter().any(|norm| !norm.is_finite()) {
            return Err(FitError::NotFinite);
        }
        // A hyperplane of norm zero is zero everywhere: any positive divisor leaves it at distance
        // zero.
        let norms = norms
            .into_iter()
            .map(|norm| norm.max(f64::MIN_POSITIVE))
            .collect();
        let offsets = (0..coefficients.ncols())
            .map(|l| {
                if self.bias {
                    coefficients.col(l).iter().sum()
                } else {
                    0.0
                }
            })
            .collect();
        let rule = match self.scheme {
            Scheme::Ovr => Rule::Nearest { norms },
            Scheme::Rvo => Rule::Farthest { norms },
        };
        Ok(KernelMachine {
            coefficients,
            offsets,
            rule,
        })
    }
}

/// Square loss on the similar samples, a loss with conjugate `far` on the dissimilar ones.
pub(super) fn fit_square_similarity(
    problem: &Problem,
    hyperplanes: Hyperplanes,
    far: Term,
) -> Result<Fit, FitError> {
    let Hyperplanes {
        r, scheme, bias, ..
    } = hyperplanes;
    let par = problem.par();
    let planes = Planes::new(problem, r, scheme, bias)?;
    let Shape { n, classes, .. } = problem.shape();
    let mut coefficients = Mat::zeros(n, classes);
    let mut certificates = Vec::with_capacity(classes);
    for l in 0..classes {
        let plane = planes.plane(l)?;
        let m = plane.reduced_matrix();
        let terms = vec![far.in_coefficients(r); plane.far.len()];
        let mut q = Dense { matrix: m.as_ref() };
        let Solution { x, certificate, .. } =
            box_qp::solve(&mut q, &terms, None, hyperplanes.settings(par));
        let lambda: Vec<f64> = x.iter().map(|x| r * x).collect();
        let near_values = plane.near_values(&lambda, None);
        for (i, value) in plane
            .coefficients(&lambda, &near_values)
            .into_iter()
            .enumerate()
        {
            coefficients[(i, l)] = value;
        }
        certificates.push(certificate.scaled(r));
    }
    let machine = hyperplanes.machine(coefficients, problem.gram_with(bias), problem.par())?;
    Ok(Fit {
        machine,
        certificate: Certificate::total(certificates),
        trace: Vec::new(),
    })
}

/// Any losses, on the full dual in the expansion coefficients: `term(sample, is_similar)`.
pub(super) fn solve_full(
    k: MatRef<'_, f64>,
    par: Par,
    sides: &Sides,
    hyperplanes: Hyperplanes,
    start: Option<&[f64]>,
    term: impl Fn(usize, bool) -> Term,
) -> Solution {
    let r = hyperplanes.r;
    let mut terms: Vec<Term> = (0..k.nrows()).map(|i| term(i, false)).collect();
    for &i in &sides.near {
        terms[i] = term(i, true);
    }
    for term in &mut terms {
        *term = term.in_coefficients(r);
    }
    let mut solution = box_qp::solve(
        &mut Dense { matrix: k },
        &terms,
        start,
        hyperplanes.settings(par),
    );
    solution.certificate = solution.certificate.scaled(r);
    solution
}

/// All classes with [`solve_full`].
pub(super) fn fit_full(
    problem: &Problem,
    hyperplanes: Hyperplanes,
    term: impl Fn(usize, bool) -> Term,
) -> Result<Fit, FitError> {
    problem.require_every_class()?;
    let k = problem.gram_with(hyperplanes.bias);
    let Shape { n, classes, .. } = problem.shape();
    let mut coefficients = Mat::zeros(n, classes);
    let mut certificates = Vec::with_capacity(classes);
    for l in 0..classes {
        let sides = hyperplanes.scheme.sides(problem.y(), l);
        let solution = solve_full(k, problem.par(), &sides, hyperplanes, None, &term);
        for (i, value) in solution.x.into_iter().enumerate() {
            coefficients[(i, l)] = value;
        }
        certificates.push(solution.certificate);
    }
    let machine = hyperplanes.machine(coefficients, k, problem.par())?;
    Ok(Fit {
        machine,
        certificate: Certificate::total(certificates),
        trace: Vec::new(),
    })
}

/// Cost of [`fit_square_similarity`]: eliminations, reduced matrices, and the QPs' steps.
pub(super) fn square_similarity_cost(shape: Shape, scheme: Scheme) -> Cost {
    let (n, classes) = (shape.n as f64, shape.classes as f64);
    let own = n / classes;
    match scheme {
        Scheme::Ovr => Cost {
            flops: classes * (own.powi(3) / 3.0 + 2.0 * own * own * n + own * n * n)
                + full_dual_flops(shape),
            bytes: 8.0 * (n * n + 2.0 * own * n),
        },
        Scheme::Rvo => Cost {
            flops: 2.0 * n.powi(3) + classes * own.powi(3) + 20.0 * n * n,
            bytes: 8.0 * (2.0 * n * n),
        },
    }
}

/// Cost of [`fit_full`].
pub(super) fn full_dual_cost(shape: Shape) -> Cost {
    let n = shape.n as f64;
    Cost {
        flops: full_dual_flops(shape),
        bytes: 100.0 * n + 16.0 * n * shape.classes as f64,
    }
}

/// Steps of coordinate descent on all classes: about three per sample, each over all samples.
fn full_dual_flops(shape: Shape) -> f64 {
    let (n, classes) = (shape.n as f64, shape.classes as f64);
    classes * 3.0 * n * 12.0 * n
}
