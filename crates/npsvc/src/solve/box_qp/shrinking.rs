//! Coordinate descent in random order with shrinking, for `Q = G G^T`.
//!
//! With `w = G^T x` known, the slope of one coordinate and the step along it cost O(rank) each. A
//! coordinate at a bound is left out for a few passes if its slope points outwards by more than the
//! largest violation of the pass before.

use faer::{MatRef, Par};

use super::Term;
use super::coordinate::CoordinateDescent;
use super::iterate::Iterate;
use crate::algebra::{add_scaled, add_times_vector, column, inner};
use crate::certificate::Certificate;
use crate::seed::{Seed, shuffle};

/// Passes after which all coordinates are visited again.
const SHRUNK_PASSES: usize = 4;

/// Up to `limit` coordinate steps. The flag is true if a pass over all coordinates moved none.
pub(super) fn run(
    rows: MatRef<'_, f64>,
    descent: &CoordinateDescent,
    iterate: &mut Iterate<'_>,
    limit: usize,
) -> (Certificate, bool) {
    let n = iterate.x.len();
    // A fixed order that is unrelated to the order of the samples.
    let mut rng = Seed::root(n as u64).rng();
    let mut w = vec![0.0; rows.nrows()];
    add_times_vector(&mut w, 1.0, rows, &iterate.x, Par::Seq);
    let mut certificate = iterate.certificate();
    let mut active: Vec<usize> = (0..n).collect();
    let (mut done, mut passes, mut threshold) = (0, 0, f64::INFINITY);
    while done < limit && !certificate.converged() {
        let is_whole = active.len() == n;
        shuffle(&mut active, &mut rng);
        done += active.len();
        let (violation, moved) = pass(rows, descent, iterate, &mut w, &mut active, threshold);
        iterate.y.fill(0.0);
        add_times_vector(&mut iterate.y, 1.0, rows.transpose(), &w, Par::Seq);
        certificate = iterate.certificate();
        if !moved && is_whole {
            return (certificate, true);
        }
        passes += 1;
        threshold = violation;
        if passes % SHRUNK_PASSES == 0 || !moved {
            active = (0..n).collect();
            threshold = f64::INFINITY;
        }
    }
    (certificate, false)
}

/// One pass over the active coordinates; drops those whose slack is above `threshold`. Returns the
/// largest violation and whether a coordinate moved.
fn pass(
    rows: MatRef<'_, f64>,
    descent: &CoordinateDescent,
    iterate: &mut Iterate<'_>,
    w: &mut [f64],
    active: &mut Vec<usize>,
    threshold: f64,
) -> (f64, bool) {
    let (mut largest, mut moved) = (0.0_f64, false);
    active.retain(|&i| {
        let row = column(rows, i);
        let (x, y) = (iterate.x[i], inner(row, w));
        let slack = slack(&iterate.terms[i], x, y);
        if slack > threshold {
            return false;
        }
        largest = largest.max(-slack);
        let target = descent.target(i, x, y);
        if target != x && target.is_finite() {
            iterate.x[i] = target;
            iterate.steps += 1;
            add_scaled(w, target - x, row);
            moved = true;
        }
        true
    });
    (largest, moved)
}

/// How strongly the slope holds `x` where it is; negative if the slope moves it.
fn slack(term: &Term, x: f64, y: f64) -> f64 {
    let slope = y + term.linear + term.square * x;
    match x {
        x if x <= term.low => slope - term.l1,
        x if x >= term.high => -slope - term.l1,
        0.0 => term.l1 - slope.abs(),
        x => -(slope + term.l1 * x.signum()).abs(),
    }
}
