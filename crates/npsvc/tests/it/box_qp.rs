//! The box QP solver agrees with another method on random problems, and its certificates hold.

use faer::Mat;
use npsvc::Termination;
use npsvc::algebra::Matrix;
use npsvc::solve::box_qp::{self, Settings, Solution, Term};
use proptest::prelude::*;

use super::samples::cases;

/// A quadratic program `min 1/2 x^T Q x + sum h_i(x_i)`.
#[derive(Clone, Debug)]
struct Program {
    q: Mat<f64>,
    terms: Vec<Term>,
}

/// The terms of all convex methods, in their proper units.
fn term() -> impl Strategy<Value = Term> {
    let c = 0.05..3.0_f64;
    prop_oneof![
        c.clone().prop_map(Term::hinge),
        (c.clone(), 0.0..1.0_f64).prop_map(|(c, tau)| Term::pinball(c, tau)),
        (c.clone(), 0.0..0.5_f64).prop_map(|(c, epsilon)| Term::insensitive(c, epsilon)),
        c.prop_map(Term::square_to_one),
    ]
}

/// `Q = G G^T` of some rank, not above the size.
fn program(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Program> {
    (sizes, 1..9_usize)
        .prop_flat_map(|(n, rank)| {
            let entries = prop::collection::vec(-1.0..1.0_f64, n * rank);
            (entries, prop::collection::vec(term(), n))
        })
        .prop_map(|(entries, terms)| {
            let n = terms.len();
            let rank = entries.len() / n;
            let dot = |i: usize, j: usize| -> f64 {
                (0..rank).map(|k| entries[i * rank + k] * entries[j * rank + k]).sum()
            };
            Program { q: Mat::from_fn(n, n, dot), terms }
        })
}

impl Program {
    fn solve(&self, start: Option<&[f64]>) -> Solution {
        let settings = Settings { tolerance: 1e-9, ..Settings::default() };
        let q = Matrix::Full(self.q.as_ref());
        box_qp::solve(q, &self.terms, start, settings)
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        (0..x.len()).map(|i| (0..x.len()).map(|j| self.q[(i, j)] * x[j]).sum()).collect()
    }

    fn value(&self, x: &[f64]) -> f64 {
        let y = self.times(x);
        let separable = |(term, &x): (&Term, &f64)| {
            term.linear * x + term.l1 * x.abs() + 0.5 * term.square * x * x
        };
        0.5 * x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>()
            + self.terms.iter().zip(x).map(separable).sum::<f64>()
    }

    /// The optimal value by accelerated proximal gradients, which share nothing with the solver.
    fn by_gradients(&self) -> f64 {
        let n = self.terms.len();
        let trace: f64 = (0..n).map(|i| self.q[(i, i)]).sum();
        let steepest = self.terms.iter().map(|term| term.square).fold(0.0, f64::max);
        let step = 1.0 / (trace + steepest).max(1e-6);
        let (mut x, mut ahead, mut momentum) = (vec![0.0; n], vec![0.0; n], 1.0_f64);
        let mut best = self.value(&x);
        for _ in 0..20_000 {
            let y = self.times(&ahead);
            let next: Vec<f64> = (0..n)
                .map(|i| {
                    let term = &self.terms[i];
                    let free = ahead[i] - step * (y[i] + term.linear + term.square * ahead[i]);
                    let shrunk = free.signum() * (free.abs() - step * term.l1).max(0.0);
                    shrunk.clamp(term.low, term.high)
                })
                .collect();
            let later = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let carry = (momentum - 1.0) / later;
            ahead = next.iter().zip(&x).map(|(next, x)| next + carry * (next - x)).collect();
            (x, momentum) = (next, later);
            best = best.min(self.value(&x));
        }
        best
    }

    /// Asserts that `x` is in the box, that `y = Q x`, and that the certificate is right.
    fn check(&self, solution: &Solution) {
        let Solution { x, y, certificate } = solution;
        assert_eq!(certificate.termination, Termination::Solved, "{certificate:?}");
        for (x, term) in x.iter().zip(&self.terms) {
            // A step adds a difference, so a bound is met up to rounding.
            let slack = 4.0 * f64::EPSILON * x.abs();
            let inside = *x >= term.low - slack && *x <= term.high + slack;
            assert!(inside, "{x} is not in {term:?}");
        }
        let size = x.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (y, exact) in y.iter().zip(self.times(x)) {
            assert!((y - exact).abs() <= 1e-9 * size * x.len() as f64, "{y} is not {exact}");
        }
        let scale = certificate.primal.abs().max(1e-3);
        assert!(certificate.gap >= 0.0 && certificate.gap.is_finite());
        assert!((certificate.dual + self.value(x)).abs() <= 1e-8 * scale, "{certificate:?}");
        assert!((certificate.primal - certificate.dual - certificate.gap).abs() <= 1e-8 * scale);
        assert!(certificate.gap <= 1e-8 * scale, "{certificate:?}");
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_box_qp_agrees_with_projected_gradients(program in program(1..9)) {
        let solution = program.solve(None);
        program.check(&solution);
        let (found, expected) = (program.value(&solution.x), program.by_gradients());
        prop_assert!((found - expected).abs() <= 1e-6 * (1.0 + expected.abs()), "{found} {expected}");
    }

    #[test]
    fn a_warm_start_ends_at_the_same_optimum(
        program in program(1..40),
        start in prop::collection::vec(-5.0..5.0_f64, 40),
    ) {
        let cold = program.solve(None);
        program.check(&cold);
        let warm = program.solve(Some(&start[..program.terms.len()]));
        program.check(&warm);
        let again = program.solve(Some(&cold.x));
        program.check(&again);
        let scale = 1.0 + cold.certificate.dual.abs();
        for other in [&warm, &again] {
            prop_assert!((other.certificate.dual - cold.certificate.dual).abs() <= 1e-7 * scale);
            // The values are unique even where the solution is not.
            for (one, other) in cold.y.iter().zip(&other.y) {
                prop_assert!((one - other).abs() <= 1e-3 * scale);
            }
        }
    }

    /// Many coordinates inside the box and a matrix of low rank: the hard case for single steps.
    #[test]
    fn large_boxes_are_solved_too(program in program(60..90), wide in 10.0..1e4_f64) {
        let mut program = program;
        for term in &mut program.terms {
            (term.low, term.high) = (wide * term.low, wide * term.high);
        }
        for i in 0..program.terms.len() {
            program.q[(i, i)] += 1e-3;
        }
        program.check(&program.solve(None));
    }
}
