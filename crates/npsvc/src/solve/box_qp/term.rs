//! The separable part of a box QP.
//!
//! ```text
//! h(x) = b x + w |x| + d/2 x^2  on [lo, hi],    h^*(s) = max_x  s x - h(x)
//! ```

/// The function `h(x) = linear x + l1 |x| + square/2 x^2` on `[low, high]`: the conjugate of a loss.
///
/// ```
/// use npsvc::solve::box_qp::Term;
///
/// let hinge = Term::hinge(2.0);
/// assert_eq!((hinge.linear, hinge.low, hinge.high), (-1.0, 0.0, 2.0));
/// // The square loss is its own conjugate.
/// assert_eq!((Term::square().linear, Term::square().square), (0.0, 1.0));
/// // The zone without loss becomes an L1 term, and the weight the box.
/// let insensitive = Term::insensitive(2.0, 0.1);
/// assert_eq!((insensitive.l1, insensitive.low, insensitive.high), (0.1, -2.0, 2.0));
/// // The pinball loss with slope 0 beyond the margin is the hinge loss.
/// assert_eq!(Term::pinball(2.0, 0.0), hinge);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// `b_i`.
    pub linear: f64,
    /// `w_i`.
    pub l1: f64,
    /// `d_i`.
    pub square: f64,
    /// `lo_i`, possibly minus infinity.
    pub low: f64,
    /// `hi_i`, possibly infinity.
    pub high: f64,
}

impl Term {
    /// Conjugate of `c [1 - f]_+`.
    pub fn hinge(c: f64) -> Self {
        Self::pinball(c, 0.0)
    }

    /// Conjugate of `c max(1 - f, -tau (1 - f))`.
    pub fn pinball(c: f64, tau: f64) -> Self {
        Self { linear: -1.0, l1: 0.0, square: 0.0, low: -tau * c, high: c }
    }

    /// Conjugate of `c [|f| - epsilon]_+`.
    pub fn insensitive(c: f64, epsilon: f64) -> Self {
        Self { linear: 0.0, l1: epsilon, square: 0.0, low: -c, high: c }
    }

    /// Conjugate of `c/2 (1 - f)^2`.
    pub fn square_to_one(c: f64) -> Self {
        Self { linear: -1.0, l1: 0.0, square: 1.0 / c, low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    /// Conjugate of `1/2 f^2`.
    pub fn square() -> Self {
        Self { linear: 0.0, square: 1.0, ..Self::square_to_one(1.0) }
    }

    /// `h(r x) / r`.
    ///
    /// ```
    /// use npsvc::solve::box_qp::Term;
    ///
    /// let half = Term::square_to_one(1.0).rescaled(0.5);
    /// assert_eq!((half.linear, half.square), (-1.0, 0.5));
    /// ```
    ///
    /// With it, `a^T K a / (2r) + sum h(a)` becomes `r (b^T K b / 2 + sum ..)` in the
    /// expansion coefficients `b = a / r`, so `y = K b` holds the values of the function.
    pub fn rescaled(self, r: f64) -> Self {
        Self { square: self.square * r, low: self.low / r, high: self.high / r, ..self }
    }

    /// Whether `x` is in the box, up to rounding.
    pub(super) fn allows(&self, x: f64) -> bool {
        const ROUNDING: f64 = 1e-12;
        x >= self.low - ROUNDING * self.low.abs() && x <= self.high + ROUNDING * self.high.abs()
    }

    /// Whether the L1 term has its kink inside the box.
    pub(super) fn has_kink(&self) -> bool {
        self.l1 > 0.0 && self.low < 0.0 && self.high > 0.0
    }

    /// `h(x)`.
    pub(super) fn value(&self, x: f64) -> f64 {
        self.linear * x + self.l1 * x.abs() + 0.5 * self.square * x * x
    }

    /// `argmax_t  s t - h(t)`.
    fn maximiser(&self, s: f64) -> f64 {
        let slope = s - self.linear;
        let shrunk = slope - slope.clamp(-self.l1, self.l1);
        let t = match shrunk {
            shrunk if self.square > 0.0 => shrunk / self.square,
            shrunk if shrunk > 0.0 => self.high,
            shrunk if shrunk < 0.0 => self.low,
            _ => 0.0,
        };
        t.clamp(self.low, self.high)
    }

    /// `h^*(s) = max_t  s t - h(t)`.
    pub(super) fn conjugate(&self, s: f64) -> f64 {
        let t = self.maximiser(s);
        s * t - self.value(t)
    }
}
