//! Coordinate descent in random order with shrinking, for `Q = G G^T`.
//!
//! With `w = G^T x` at hand, the slope of one coordinate and the step along it cost O(rank) each,
//! whatever the number of coordinates. A coordinate that stays at a bound, with a slope that points
//! outwards by more than any other is off, is left out until the next look at all of them.

use faer::Par;

use super::coordinate::Descent;
use super::iterate::Iterate;
use super::quadratic::Factored;
use super::{Settings, Term};
use crate::kernel::algebra::{add_scaled, add_times_vector, column, inner};
use crate::seed::{Seed, shuffle};
use crate::solve::Certificate;

/// Sweeps before coordinates that were left out are looked at again.
const SHRUNK_SWEEPS: usize = 4;

/// Up to `most` coordinate steps. The flag says that a sweep over all coordinates moved none.
pub(super) fn run(
    q: &Factored<'_>,
    descent: &Descent,
    iterate: &mut Iterate<'_>,
    most: usize,
    settings: Settings,
) -> (Certificate, bool) {
    let n = iterate.x.len();
    // The order only has to be unrelated to that of the samples; the same every time.
    let mut rng = Seed::root(n as u64).rng();
    let mut w = vec![0.0; q.rows.nrows()];
    add_times_vector(&mut w, 1.0, q.rows, &iterate.x, Par::Seq);
    let mut certificate = iterate.certificate(settings);
    let mut active: Vec<usize> = (0..n).collect();
    let (mut done, mut sweeps, mut threshold) = (0, 0, f64::INFINITY);
    while done < most && !certificate.converged {
        let is_whole = active.len() == n;
        shuffle(&mut active, &mut rng);
        done += active.len();
        let (violation, moved) = sweep(q, descent, iterate, &mut w, &mut active, threshold);
        iterate.y.fill(0.0);
        add_times_vector(&mut iterate.y, 1.0, q.rows.transpose(), &w, Par::Seq);
        certificate = iterate.certificate(settings);
        if !moved && is_whole {
            return (certificate, true);
        }
        sweeps += 1;
        threshold = violation;
        if sweeps % SHRUNK_SWEEPS == 0 || !moved {
            active = (0..n).collect();
            threshold = f64::INFINITY;
        }
    }
    (certificate, false)
}

/// One pass over the active coordinates; drops those that `threshold` says will not move. Returns
/// the largest violation met and whether anything moved.
fn sweep(
    q: &Factored<'_>,
    descent: &Descent,
    iterate: &mut Iterate<'_>,
    w: &mut [f64],
    active: &mut Vec<usize>,
    threshold: f64,
) -> (f64, bool) {
    let (mut largest, mut moved) = (0.0_f64, false);
    active.retain(|&i| {
        let row = column(q.rows, i);
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

/// By how much the slope keeps `x` where it is; what it pulls away from there is negative.
fn slack(term: &Term, x: f64, y: f64) -> f64 {
    let slope = y + term.linear + term.square * x;
    match x {
        x if x <= term.low => slope - term.l1,
        x if x >= term.high => -slope - term.l1,
        0.0 => term.l1 - slope.abs(),
        x => -(slope + term.l1 * x.signum()).abs(),
    }
}
