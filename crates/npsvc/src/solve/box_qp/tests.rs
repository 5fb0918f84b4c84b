use faer::Mat;
use proptest::prelude::*;

use super::*;
use crate::algebra::product;
use crate::certificate::Termination;

/// A smooth kernel matrix: badly conditioned, as real ones are.
fn kernel(n: usize) -> Mat<f64> {
    Mat::from_fn(n, n, |i, j| {
        let distance = (i as f64 - j as f64) / n as f64;
        (-4.0 * distance * distance).exp() + if i == j { 1e-6 } else { 0.0 }
    })
}

/// Square loss on every fourth sample, `dissimilar` on the others.
fn terms(n: usize, dissimilar: Term) -> Vec<Term> {
    let term = |i: usize| {
        if i.is_multiple_of(4) { Term::square() } else { dissimilar }
    };
    (0..n).map(|i| term(i).rescaled(0.1)).collect()
}

fn strict() -> Settings {
    Settings { tolerance: 1e-8, ..Settings::default() }
}

#[test]
fn every_loss_of_the_paper_is_solved_to_its_gap() {
    let k = kernel(120);
    let losses = [
        Term::hinge(1.0),
        Term::pinball(1.0, 0.5),
        Term::insensitive(1.0, 0.1),
        Term::square_to_one(2.0),
        Term::hinge(1e-6),
        Term::hinge(1e4),
    ];
    for loss in losses {
        let terms = terms(120, loss);
        let q = Matrix::Full(k.as_ref());
        let solution = solve(q, &terms, None, strict());
        assert!(solution.certificate.converged(), "{loss:?}: {solution:?}");
        for (x, term) in solution.x.iter().zip(&terms) {
            assert!((term.low..=term.high).contains(x), "{x} outside {term:?}");
        }
    }
}

#[test]
fn the_shared_inverse_leads_to_the_same_solution() {
    let k = kernel(120);
    let terms = terms(120, Term::pinball(1.0, 0.5));
    let q = Matrix::Full(k.as_ref());
    let alone = solve(q, &terms, None, strict());
    let mut solver = Solver::new(Iterate::new(q, &terms, None, strict()), false);
    while let Some(weight) = solver.next_weight() {
        let shared = SharedInverse::new(k.as_ref(), weight, Par::Seq).unwrap();
        solver.solve_at_weight(weight, Some(&shared));
    }
    assert!(!solver.active_set.has_failed);
    let shared = solver.finish();
    assert!(shared.certificate.converged());
    for (one, other) in alone.y.iter().zip(&shared.y) {
        assert!((one - other).abs() < 1e-4, "{one} {other}");
    }
}

#[test]
fn problems_solved_together_are_those_solved_alone() {
    let k = kernel(80);
    let several = [terms(80, Term::hinge(1.0)), terms(80, Term::pinball(1.0, 0.5))];
    let problems = several.each_ref().map(|terms| BoxQp { terms, start: None, absolute: 0.0 });
    for par in [Par::Seq, Par::rayon(2)] {
        let together = solve_all(Matrix::Full(k.as_ref()), &problems, Settings { par, ..strict() });
        for (terms, together) in several.iter().zip(together) {
            let q = Matrix::Full(k.as_ref());
            let alone = solve(q, terms, None, strict());
            assert!(together.certificate.converged());
            for (one, other) in alone.y.iter().zip(&together.y) {
                assert!((one - other).abs() < 1e-4, "{one} {other}");
            }
        }
    }
}

#[test]
fn the_solution_of_a_similar_problem_saves_coordinate_steps() {
    let k = kernel(120);
    let q = Matrix::Full(k.as_ref());
    let first = solve(q, &terms(120, Term::hinge(1.0)), None, strict());
    let similar = terms(120, Term::hinge(1.1));
    let warm = solve(q, &similar, Some(&first.x), strict());
    let cold = solve(q, &similar, None, strict());
    assert!(warm.certificate.converged());
    assert!(warm.certificate.iterations < cold.certificate.iterations);
    let difference = (warm.certificate.dual - cold.certificate.dual).abs();
    assert!(difference <= 2e-8 * cold.certificate.dual.abs());
}

/// A factor of a matrix of rank 12.
fn rows(n: usize) -> Mat<f64> {
    Mat::from_fn(12, n, |a, i| ((3 * a + 7 * i + a * i) as f64).sin())
}

#[test]
fn a_factor_leads_to_the_solution_on_its_product() {
    let rows = rows(150);
    let product = product(rows.transpose(), rows.as_ref(), Par::Seq);
    for dissimilar in [
        Term::hinge(1.0),
        Term::pinball(1.0, 0.5),
        Term::insensitive(1.0, 0.1),
        Term::hinge(1e-4),
        Term::hinge(1e4),
    ] {
        let terms = terms(150, dissimilar);
        let whole = solve(Matrix::Full(product.as_ref()), &terms, None, strict());
        let factored = solve(Matrix::Factor(rows.as_ref()), &terms, None, strict());
        assert!(factored.certificate.converged(), "{dissimilar:?} {:?}", factored.certificate);
        let difference = (whole.certificate.dual - factored.certificate.dual).abs();
        assert!(difference <= 1e-7 * whole.certificate.dual.abs(), "{dissimilar:?}");
    }
}

#[test]
fn a_matrix_without_rank_ends() {
    let q = Mat::from_fn(6, 6, |_, _| 1.0);
    let terms = vec![Term::hinge(1.0); 6];
    let solution = solve(Matrix::Full(q.as_ref()), &terms, None, strict());
    assert!(solution.certificate.converged());
    assert!((solution.x.iter().sum::<f64>() - 1.0).abs() < 1e-6);
}

#[test]
fn numbers_that_are_not_finite_are_never_certified() {
    let good = kernel(30);
    let bad = Mat::from_fn(30, 30, |i, j| if i == j { f64::NAN } else { good[(i, j)] });
    let terms = terms(30, Term::hinge(1.0));
    let solution = solve(Matrix::Full(bad.as_ref()), &terms, None, strict());
    assert_eq!(solution.certificate.termination, Termination::NumericalError);
    let mut y = vec![0.5; 30];
    for value in [f64::NAN, f64::INFINITY] {
        y[7] = value;
        let certificate = certify(&terms, &[0.1; 30], &y, strict());
        assert!(!certificate.converged());
        assert_eq!(certificate.termination, Termination::NumericalError);
    }
}

prop_compose! {
    /// A factor `G^T` and one term per column.
    fn problems()(n in 1..25_usize)(
        entries in prop::collection::vec(-1.0..1.0, 4 * n),
        kinds in prop::collection::vec(0..4_usize, n),
        exponent in -3.0..3.0_f64,
    ) -> (Mat<f64>, Vec<Term>) {
        let c = 10_f64.powf(exponent);
        let term = |&kind: &usize| match kind {
            0 => Term::square(),
            1 => Term::hinge(c),
            2 => Term::pinball(c, 0.5),
            _ => Term::insensitive(c, 0.1),
        };
        let n = kinds.len();
        (Mat::from_fn(4, n, |a, i| entries[a * n + i]), kinds.iter().map(term).collect())
    }
}

proptest! {
    #[test]
    fn certificates_bound_each_other((rows, terms) in problems()) {
        let k = product(rows.transpose(), rows.as_ref(), Par::Seq);
        let settings = Settings { absolute: 1e-10, ..strict() };
        let full = solve(Matrix::Full(k.as_ref()), &terms, None, settings);
        let factor = solve(Matrix::Factor(rows.as_ref()), &terms, None, settings);
        let warm = solve(Matrix::Full(k.as_ref()), &terms, Some(&full.x), settings);
        let solutions = [full, factor, warm];
        for one in &solutions {
            for (x, term) in one.x.iter().zip(&terms) {
                prop_assert!((term.low..=term.high).contains(x));
            }
            let Certificate { primal, dual, gap, .. } = one.certificate;
            let rounding = 1e-9 * (1.0 + primal.abs());
            prop_assert!(gap >= 0.0 && (primal - dual - gap).abs() <= rounding);
            // Each dual objective is a bound on each primal objective.
            for other in &solutions {
                prop_assert!(other.certificate.dual <= primal + rounding);
            }
        }
    }
}
