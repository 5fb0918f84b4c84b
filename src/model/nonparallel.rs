//! What the nonparallel methods share: hyperplanes `f_l` of norm `|f_l|` and their decision rule.
//!
//! A constant feature (`bias`) makes the kernel `k + 1`; the machine then predicts with the plain
//! kernel and the offset `sum_i b_il`, because `sum_i b_i (k(x_i, x) + 1)` is just that.

use faer::{Mat, Par};

use super::plane::Planes;
use super::{Cost, Fit, FitError, KernelMachine, Problem, Rule, Scheme, Shape};
use crate::kernel::Gram;
use crate::kernel::algebra::{column, column_mut, inner};
use crate::solve::Certificate;
use crate::solve::box_qp::{self, Program, Settings, Solution, Term};

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

    /// What the expansion of class `l` vouches for, told from the function's `values`. The elimination's
    /// own rounding errors show in it.
    fn certificate(
        &self,
        y: &[usize],
        l: usize,
        far: Term,
        coefficients: &Mat<f64>,
        values: &Mat<f64>,
    ) -> Certificate {
        let (near, far) = (Term::square(), far);
        let is_near = |&class: &usize| (class == l) == (self.scheme == Scheme::Ovr);
        let terms: Vec<Term> = (y.iter())
            .map(|class| if is_near(class) { near } else { far }.in_coefficients(self.r))
            .collect();
        let (x, f) = (column(coefficients.as_ref(), l), column(values.as_ref(), l));
        box_qp::certify(&terms, x, f, self.settings(Par::Seq)).scaled(self.r)
    }

    /// The machine of `coefficients` (one column per class), with norms in the space of `k`.
    pub(super) fn machine(
        &self,
        coefficients: Mat<f64>,
        k: Gram<'_>,
        par: Par,
    ) -> Result<KernelMachine, FitError> {
        let values = k.times(coefficients.as_ref(), par);
        self.machine_with_values(coefficients, &values)
    }

    /// As [`Self::machine`], where the functions' values on the training samples are known.
    fn machine_with_values(
        &self,
        coefficients: Mat<f64>,
        values: &Mat<f64>,
    ) -> Result<KernelMachine, FitError> {
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
///
/// Where it pays, [`super::plane`] eliminates the similar samples. One versus rest they are few, so
/// the dual in all expansion coefficients has few free ones.
pub(super) fn fit_square_similarity(
    problem: &Problem,
    hyperplanes: Hyperplanes,
    far: Term,
) -> Result<Fit, FitError> {
    let Hyperplanes {
        r, scheme, bias, ..
    } = hyperplanes;
    match Planes::new(problem, r, scheme, bias)? {
        Some(planes) => fit_eliminated(problem, &planes, hyperplanes, far),
        None => fit_full(problem, hyperplanes, |_, is_similar| {
            if is_similar { Term::square() } else { far }
        }),
    }
}

fn fit_eliminated(
    problem: &Problem,
    planes: &Planes<'_>,
    hyperplanes: Hyperplanes,
    far: Term,
) -> Result<Fit, FitError> {
    let Hyperplanes { r, bias, .. } = hyperplanes;
    let par = problem.par();
    let Shape { n, classes, .. } = problem.shape();
    let mut coefficients = Mat::zeros(n, classes);
    let mut iterations = Vec::with_capacity(classes);
    let lengths: Vec<usize> = (0..classes)
        .map(|l| hyperplanes.scheme.sides(problem.y(), l).far.len())
        .collect();
    let warm = problem.warm_start(&lengths);
    let mut solutions = Vec::with_capacity(classes);
    for l in 0..classes {
        let plane = planes.plane(l)?;
        let terms = vec![far.in_coefficients(r); plane.far.len()];
        let start = warm.as_ref().map(|warm| warm[l].as_slice());
        let Solution { x, certificate, .. } = plane.solve(&terms, start, hyperplanes.settings(par));
        let lambda: Vec<f64> = x.iter().map(|x| r * x).collect();
        let (one, lambdas) = (std::slice::from_ref(&plane), [lambda]);
        let near_values = planes.near_values(one, &lambdas, None);
        let column = plane.coefficients(&lambdas[0], &near_values[0]);
        column_mut(&mut coefficients, l).copy_from_slice(&column);
        iterations.push(certificate.iterations);
        solutions.push(x);
    }
    let k = problem.gram_with(bias);
    let values = k.times(coefficients.as_ref(), par);
    let certificates = (0..classes).map(|l| Certificate {
        iterations: iterations[l],
        ..hyperplanes.certificate(problem.y(), l, far, &coefficients, &values)
    });
    let certificate = Certificate::total(certificates);
    let machine = hyperplanes.machine_with_values(coefficients, &values)?;
    problem.leave(solutions.into_iter());
    Ok(Fit {
        machine,
        certificate,
        trace: Vec::new(),
        learnt: None,
    })
}

/// Any losses, all classes, on the full duals in the expansion coefficients:
/// `term(class, sample, is_similar)`.
pub(super) fn solve_full(
    k: Gram<'_>,
    problem: &Problem,
    hyperplanes: Hyperplanes,
    starts: Option<&[&[f64]]>,
    term: impl Fn(usize, usize, bool) -> Term,
) -> Vec<Solution> {
    let r = hyperplanes.r;
    let terms_of = |l: usize| {
        let similar = |i: usize| (problem.y()[i] == l) == (hyperplanes.scheme == Scheme::Ovr);
        (0..k.n())
            .map(|i| term(l, i, similar(i)).in_coefficients(r))
            .collect()
    };
    let problems: Vec<Vec<Term>> = (0..problem.shape().classes).map(terms_of).collect();
    let programs: Vec<Program<'_>> = problems
        .iter()
        .enumerate()
        .map(|(l, terms)| Program {
            terms,
            start: starts.map(|starts| starts[l]),
            absolute: 0.0,
        })
        .collect();
    let mut solutions = box_qp::solve_all(k, &programs, hyperplanes.settings(problem.par()));
    for solution in &mut solutions {
        solution.certificate = solution.certificate.scaled(r);
    }
    solutions
}

/// The fit by [`solve_full`], for losses that are the same for every class.
pub(super) fn fit_full(
    problem: &Problem,
    hyperplanes: Hyperplanes,
    term: impl Fn(usize, bool) -> Term,
) -> Result<Fit, FitError> {
    problem.require_every_class()?;
    let k = problem.gram_with(hyperplanes.bias);
    let term = |_: usize, i: usize, is_similar: bool| term(i, is_similar);
    let classes = problem.shape().classes;
    let warm = problem.warm_start(&vec![k.n(); classes]);
    let starts: Option<Vec<&[f64]>> =
        (warm.as_ref()).map(|warm| warm.iter().map(Vec::as_slice).collect());
    let solutions = solve_full(k, problem, hyperplanes, starts.as_deref(), term);
    let certificates = solutions.iter().map(|solution| solution.certificate);
    let certificate = Certificate::total(certificates);
    let machine = hyperplanes.machine(coefficients(&solutions), k, problem.par())?;
    problem.leave(solutions.into_iter().map(|solution| solution.x));
    Ok(Fit {
        machine,
        certificate,
        trace: Vec::new(),
        learnt: None,
    })
}

/// The expansion coefficients, one column per class.
pub(super) fn coefficients(solutions: &[Solution]) -> Mat<f64> {
    let n = solutions.first().map_or(0, |solution| solution.x.len());
    Mat::from_fn(n, solutions.len(), |i, l| solutions[l].x[i])
}

/// Cost of [`fit_square_similarity`].
pub(super) fn square_similarity_cost(shape: Shape, scheme: Scheme) -> Cost {
    let (n, classes) = (shape.n as f64, shape.classes as f64);
    let own = n / classes;
    if let Some(rank) = shape.rank {
        return low_rank_cost(shape, rank);
    }
    match scheme {
        Scheme::Ovr => full_dual_cost(shape),
        Scheme::Rvo => Cost {
            flops: 2.0 * n.powi(3) + classes * own.powi(3) + 20.0 * n * n,
            bytes: 8.0 * (2.0 * n * n),
        },
    }
}

/// Cost of [`fit_full`]: the coordinate steps of the approach, then a dozen linear systems per
/// class with a quarter of the samples each, or as many through the shared inverse. The memory is
/// that of the inverse and of what computing it takes.
pub(super) fn full_dual_cost(shape: Shape) -> Cost {
    let (n, classes) = (shape.n as f64, shape.classes as f64);
    if let Some(rank) = shape.rank {
        return low_rank_cost(shape, rank);
    }
    let steps = (n * n / 5000.0).clamp(0.5 * n, 4.0 * n);
    let systems = 12.0 * (n / classes + n / 4.0).min(n).powi(3) / 3.0;
    Cost {
        flops: classes * (steps * 12.0 * n + systems),
        bytes: 16.0 * n * n + 16.0 * n * classes,
    }
}

/// Cost of either with a factor of the kernel matrix: a dozen systems per class of O(n rank^2)
/// operations. The memory is that of a few copies of the factor and of a system per class.
fn low_rank_cost(shape: Shape, rank: usize) -> Cost {
    let (n, classes, rank) = (shape.n as f64, shape.classes as f64, rank as f64);
    Cost {
        flops: classes * (12.0 * n * rank * rank + rank.powi(3)),
        bytes: 8.0 * (3.0 * n * rank + (classes + 2.0) * rank * rank + 4.0 * n * classes),
    }
}
