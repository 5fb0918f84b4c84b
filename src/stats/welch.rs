//! Our numbers against printed ones, of which only mean, deviation and runs are known.
//!
//! Welch's test of two means with unequal variances,
//!
//! ```text
//! t = (m1 - m2) / sqrt(s1^2/n1 + s2^2/n2),
//! freedom = (s1^2/n1 + s2^2/n2)^2 / ((s1^2/n1)^2/(n1 - 1) + (s2^2/n2)^2/(n2 - 1)).
//! ```
//!
//! Both sides drew their splits from the same data independently of each other, so here, unlike
//! between two methods on common splits, the samples are independent given the data.

use super::{LEVEL, TTest};

/// A printed number: mean and standard deviation over `n` runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub mean: f64,
    pub deviation: f64,
    pub n: usize,
}

/// Welch's test; `None` for fewer than two runs on a side or numbers that make no sense.
pub fn welch(ours: Sample, theirs: Sample) -> Option<TTest> {
    let is_sound =
        |s: &Sample| s.n >= 2 && s.mean.is_finite() && (0.0..f64::INFINITY).contains(&s.deviation);
    if !is_sound(&ours) || !is_sound(&theirs) {
        return None;
    }
    let [a, b] = [ours, theirs].map(|s| s.deviation.powi(2) / s.n as f64);
    let below = a.powi(2) / (ours.n - 1) as f64 + b.powi(2) / (theirs.n - 1) as f64;
    // Without any spread the degrees of freedom are of no account: t is 0 or infinite.
    let freedom =
        if below > 0.0 { (a + b).powi(2) / below } else { (ours.n + theirs.n - 2) as f64 };
    TTest::new(ours.mean - theirs.mean, (a + b).sqrt(), freedom)
}

/// What our number says about a printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reproduction {
    /// No difference by Welch's test, or one within the margin. With large deviations that
    /// says little: see [`Reproduction::smallest_seen`].
    Reproduced,
    /// Above it, by the test and by more than the margin.
    Higher,
    /// Below it, by the test and by more than the margin.
    Lower,
    /// No number of ours, or one of another problem.
    NotRun,
}

impl Reproduction {
    pub const ALL: [Self; 4] = [Self::Reproduced, Self::Higher, Self::Lower, Self::NotRun];
    /// The practical margin in percentage points: closer numbers count as the same.
    pub const MARGIN: f64 = 0.5;

    /// Judges a difference `ours - theirs`. If a side has no deviation, there is no test, and
    /// the margin alone decides.
    pub fn of(difference: f64, test: Option<&TTest>) -> Self {
        let differs = test.is_none_or(|test| test.p < LEVEL);
        if !differs || difference.abs() <= Self::MARGIN {
            Self::Reproduced
        } else if difference > 0.0 {
            Self::Higher
        } else {
            Self::Lower
        }
    }

    /// The difference up to which every number would have been called reproduced.
    pub fn smallest_seen(test: Option<&TTest>) -> f64 {
        let seen = test.and_then(|test| test.smallest_seen(LEVEL));
        seen.map_or(Self::MARGIN, |seen| seen.max(Self::MARGIN))
    }

    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::NotRun => "not run",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(mean: f64, deviation: f64, n: usize) -> Sample {
        Sample { mean, deviation, n }
    }

    #[test]
    fn as_scipy_has_it() {
        // scipy.stats.ttest_ind_from_stats(70.64, 1.9, 10, 71.10, 2.19, 10, equal_var=False)
        let test = welch(sample(70.64, 1.9, 10), sample(71.10, 2.19, 10)).unwrap();
        assert!((test.t + 0.5017190088206613).abs() < 1e-12, "{}", test.t);
        assert!((test.p - 0.622066358178969).abs() < 1e-10, "{}", test.p);
        assert!((test.freedom - 17.648630137049597).abs() < 1e-9, "{}", test.freedom);
        let (low, high) = test.interval(0.95).unwrap();
        assert!(low < -0.46 && -0.46 < high);
    }

    #[test]
    fn degenerate_samples_are_answered_or_refused() {
        let same = welch(sample(1.0, 0.0, 10), sample(1.0, 0.0, 10)).unwrap();
        assert_eq!((same.t, same.p), (0.0, 1.0));
        let apart = welch(sample(2.0, 0.0, 10), sample(1.0, 0.0, 10)).unwrap();
        assert_eq!((apart.t, apart.p), (f64::INFINITY, 0.0));
        assert_eq!(welch(sample(1.0, 1.0, 1), sample(1.0, 1.0, 10)), None);
        assert_eq!(welch(sample(1.0, -1.0, 5), sample(1.0, 1.0, 5)), None);
        assert_eq!(welch(sample(f64::NAN, 1.0, 5), sample(1.0, 1.0, 5)), None);
    }

    #[test]
    fn both_the_test_and_the_margin_must_be_passed() {
        let judge = |ours, theirs, deviation| {
            let test = welch(sample(ours, deviation, 10), sample(theirs, deviation, 10));
            Reproduction::of(ours - theirs, test.as_ref())
        };
        assert_eq!(judge(71.0, 70.0, 2.0), Reproduction::Reproduced);
        assert_eq!(judge(71.0, 70.0, 0.1), Reproduction::Higher);
        assert_eq!(judge(69.0, 70.0, 0.1), Reproduction::Lower);
        assert_eq!(judge(70.4, 70.0, 0.01), Reproduction::Reproduced);
        assert_eq!(Reproduction::of(0.4, None), Reproduction::Reproduced);
        assert_eq!(Reproduction::of(-0.6, None), Reproduction::Lower);
    }

    #[test]
    fn what_would_have_been_seen_is_where_verdicts_change() {
        let test = |ours| welch(sample(ours, 2.0, 10), sample(70.0, 2.0, 10));
        let seen = Reproduction::smallest_seen(test(70.0).as_ref());
        assert!((seen - 1.879_122).abs() < 1e-5, "{seen}");
        for (beyond, verdict) in [(-1e-6, Reproduction::Reproduced), (1e-6, Reproduction::Higher)] {
            let difference = seen + beyond;
            let found = Reproduction::of(difference, test(70.0 + difference).as_ref());
            assert_eq!(found, verdict);
        }
        assert_eq!(Reproduction::smallest_seen(None), Reproduction::MARGIN);
    }
}
