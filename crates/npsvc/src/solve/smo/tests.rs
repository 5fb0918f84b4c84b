use faer::Mat;
use proptest::prelude::*;

use super::cache::ColumnCache;
use super::*;

/// Gaussian kernel matrix of points in the plane.
fn gram(points: &[(f64, f64)], jitter: f64) -> Mat<f64> {
    Mat::from_fn(points.len(), points.len(), |i, j| {
        let (a, b) = (points[i], points[j]);
        let squared_distance = (a.0 - b.0).powi(2) + (a.1 - b.1).powi(2);
        (-squared_distance).exp() + if i == j { jitter } else { 0.0 }
    })
}

fn stop(tolerance: f64) -> StopRule {
    StopRule { tolerance, max_iter: 1_000_000 }
}

/// Two overlapping clouds of points without symmetry, one for each half of the samples.
fn clouds(n: usize) -> Vec<(f64, f64)> {
    let fraction = |x: f64| x - x.floor();
    (0..n)
        .map(|k| {
            let (u, v) = (fraction(k as f64 * 0.618_034), fraction(k as f64 * 0.754_878));
            let shift = if k < n / 2 { 0.0 } else { 0.5 };
            (2.0 * u + shift, 2.0 * v)
        })
        .collect()
}

fn assert_feasible(dual: &SvmDual<'_>, beta: &[f64]) {
    for (k, &beta) in beta.iter().enumerate() {
        let (lo, hi) = dual.bounds(k);
        assert!(lo <= beta && beta <= hi, "beta[{k}] = {beta}");
    }
    let sum: f64 = beta.iter().sum();
    let total: f64 = beta.iter().map(|beta| beta.abs()).sum();
    assert!(sum.abs() <= 1e-12 * total, "sum of beta is {sum}");
}

#[test]
fn two_samples_have_the_solution_one_finds_by_hand() {
    let gram = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 0.5 });
    let dual = |c| SvmDual { gram: gram.as_ref(), samples: &[0, 1], positives: 1, c };
    // alpha = 2 / (k11 + k22 - 2 k12) = 2, both on the margin, |w|^2 / 2 = 2.
    let inside = dual(10.0).solve(stop(1e-9));
    assert_eq!(inside.beta, [2.0, -2.0]);
    assert_eq!((inside.offset, inside.certificate.primal), (0.0, 2.0));
    assert_eq!(inside.certificate.gap, 0.0);
    assert_eq!(inside.certificate.termination, Termination::Solved);
    // At the bound: |w|^2 / 2 = 1/2, and both hinges cost 1 - 1/2.
    let bound = dual(1.0).solve(stop(1e-9));
    assert_eq!(bound.beta, [1.0, -1.0]);
    assert_eq!((bound.offset, bound.certificate.primal), (0.0, 1.5));
    assert_eq!(bound.certificate.gap, 0.0);
}

#[test]
fn one_class_and_no_samples_have_the_obvious_answer() {
    let gram = gram(&clouds(3), 0.0);
    let solve = |samples: &[usize], positives| {
        let dual = SvmDual { gram: gram.as_ref(), samples, positives, c: 1.0 };
        dual.solve(stop(1e-3))
    };
    for (samples, positives, offset) in [(3, 3, 1.0), (3, 0, -1.0), (0, 0, 0.0)] {
        let solution = solve(&[0, 1, 2][..samples], positives);
        assert_eq!(solution.offset, offset);
        assert_eq!(solution.certificate.termination, Termination::Solved);
        assert_eq!(solution.certificate.gap, 0.0);
    }
}

#[test]
fn shrinking_happens_and_does_not_change_the_solution() {
    let (points, samples) = (clouds(400), (0..400).collect::<Vec<_>>());
    let gram = gram(&points, 1e-6);
    let dual = SvmDual { gram: gram.as_ref(), samples: &samples, positives: 200, c: 10.0 };
    let solve = |period| {
        let mut solver = Solver::new(&dual, 1e-6);
        solver.period = period;
        assert_eq!(solver.run(1_000_000).0, Termination::Solved);
        solver
    };
    let mut shrinking = solve(20);
    let now = shrinking.extremes();
    shrinking.shrink(now);
    assert!(shrinking.active < 300, "{} of 400 samples are still active", shrinking.active);
    shrinking.restore();
    let report = |solver: Solver<'_>| {
        let (beta, f) = solver.finish();
        for (running, fresh) in f.iter().zip(dual.gradient(&beta)) {
            assert!((running - fresh).abs() < 1e-9);
        }
        dual.kkt_report(&beta, dual.offset(&beta, &f))
    };
    let (with, without) = (report(shrinking), report(solve(usize::MAX)));
    assert!(with.violation <= 1.1e-6);
    assert!((with.dual - without.dual).abs() <= with.gap + without.gap);
}

#[test]
fn two_slots_for_columns_are_enough() {
    let (points, samples) = (clouds(60), (0..60).collect::<Vec<_>>());
    let gram = gram(&points, 0.0);
    let dual = SvmDual { gram: gram.as_ref(), samples: &samples, positives: 30, c: 5.0 };
    let mut small = Solver::new(&dual, 1e-9);
    small.cache = ColumnCache::with_slots(60, 2);
    let (termination, _) = small.run(1_000_000);
    assert_eq!(termination, Termination::Solved);
    assert_eq!(small.cache.data.capacity(), 120);
    let (beta, _) = small.finish();
    let report = dual.kkt_report(&beta, 0.0);
    let whole = dual.solve(stop(1e-9)).certificate;
    assert!(report.violation <= 1e-9);
    assert!((report.dual - whole.dual).abs() <= 1e-9 * whole.dual);
}

#[test]
fn every_termination_is_reached() {
    let (points, samples) = (clouds(50), (0..50).collect::<Vec<_>>());
    let good = gram(&points, 0.0);
    let bad = Mat::from_fn(50, 50, |i, j| if i == j { f64::NAN } else { good[(i, j)] });
    let solve = |gram: &Mat<f64>, tolerance, max_iter| {
        let dual = SvmDual { gram: gram.as_ref(), samples: &samples, positives: 25, c: 100.0 };
        let solution = dual.solve(StopRule { tolerance, max_iter });
        assert_feasible(&dual, &solution.beta);
        solution
    };
    assert_eq!(solve(&good, 1e-3, 100_000).certificate.termination, Termination::Solved);
    let limited = solve(&good, 1e-3, 3);
    assert_eq!(limited.certificate.termination, Termination::IterationLimit);
    assert_eq!(limited.certificate.iterations, 3);
    assert!(limited.certificate.gap > 0.0);
    assert_eq!(solve(&good, 1e-300, 1_000_000).certificate.termination, Termination::Stalled);
    assert_eq!(solve(&bad, 1e-3, 100_000).certificate.termination, Termination::NumericalError);
}

prop_compose! {
    /// Points, how many of them are positive (never none or all), and c.
    fn problems()(n in 2..40_usize)(
        points in prop::collection::vec((-2.0..2.0, -2.0..2.0), n),
        positives in 1..n,
        exponent in -6.0..6.0,
    ) -> (Vec<(f64, f64)>, usize, f64) {
        (points, positives, 10_f64.powf(exponent))
    }
}

proptest! {
    #[test]
    fn solutions_are_feasible_and_certified((points, positives, c) in problems()) {
        let gram = gram(&points, 1e-6);
        let samples: Vec<usize> = (0..points.len()).collect();
        let dual = SvmDual { gram: gram.as_ref(), samples: &samples, positives, c };
        let solution = dual.solve(stop(1e-6));
        let certificate = solution.certificate;
        assert_feasible(&dual, &solution.beta);
        prop_assert_eq!(solution.certificate.termination, Termination::Solved);
        prop_assert!(certificate.gap >= 0.0);
        // A margin may be off by the tolerance, at a price of c per sample.
        prop_assert!(certificate.gap <= 1e-6 * c * points.len() as f64 + 1e-12);
        let report = dual.kkt_report(&solution.beta, solution.offset);
        prop_assert!(report.violation <= 2e-6);
        // The primal objective as it is written, not as the certificate sums it.
        let f = dual.gradient(&solution.beta);
        let (mut norm, mut hinges) = (0.0, 0.0);
        for (k, (beta, f)) in solution.beta.iter().zip(&f).enumerate() {
            let (y, expansion) = (dual.sign(k), f + dual.sign(k));
            norm += beta * expansion;
            hinges += (1.0 - y * (expansion + solution.offset)).max(0.0);
        }
        let primal = 0.5 * norm + c * hinges;
        prop_assert!((primal - certificate.primal).abs() <= 1e-9 * (1.0 + primal.abs()));
    }

    #[test]
    fn the_order_of_samples_does_not_matter((points, positives, c) in problems()) {
        let gram = gram(&points, 1e-6);
        let forward: Vec<usize> = (0..points.len()).collect();
        let backward: Vec<usize> = (0..positives).rev().chain((positives..points.len()).rev()).collect();
        let solve = |samples: &[usize]| {
            SvmDual { gram: gram.as_ref(), samples, positives, c }.solve(stop(1e-8))
        };
        let (a, b) = (solve(&forward).certificate, solve(&backward).certificate);
        prop_assert!(a.converged() && b.converged());
        let allowed = a.gap + b.gap + 1e-12 * a.primal;
        prop_assert!((a.primal - b.primal).abs() <= allowed, "{a:?} {b:?}");
    }

    #[test]
    fn contradicting_duplicates_are_solved(
        (points, positives, c) in problems(), copies in 1..4_usize
    ) {
        // Every point is in both classes, and the kernel matrix is singular.
        let doubled: Vec<_> = points.iter().copied().cycle().take(points.len() * 2 * copies).collect();
        let gram = gram(&doubled, 0.0);
        let samples: Vec<usize> = (0..doubled.len()).collect();
        let dual = SvmDual { gram: gram.as_ref(), samples: &samples, positives: doubled.len() / 2, c };
        let solution = dual.solve(stop(1e-3));
        assert_feasible(&dual, &solution.beta);
        prop_assert!(solution.certificate.gap >= 0.0);
        prop_assert_eq!(solution.certificate.termination, Termination::Solved, "{} {:?}", positives, solution);
    }
}
