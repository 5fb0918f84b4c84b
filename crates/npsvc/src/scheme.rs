//! One versus rest, or rest versus one.
//!
//! ```text
//! ovr:  f_l is near 0 on class l,            predict  argmin_l |f_l(x)| / |f_l|
//! rvo:  f_l is near 0 on the other classes,  predict  argmax_l |f_l(x)| / |f_l|
//! ```

/// Which samples hyperplane `l` is close to, and how its distance decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Scheme {
    /// One versus rest, the paper's text: close to class `l`, far from the others; predicts the
    /// nearest hyperplane.
    #[default]
    Ovr,
    /// Rest versus one, the authors' code: close to all other classes, far from class `l`;
    /// predicts the farthest hyperplane.
    Rvo,
}

impl Scheme {
    /// The name in specs and ledgers.
    ///
    /// ```
    /// use npsvc::{Gepsvm, Method, Scheme};
    ///
    /// let method = Gepsvm { scheme: Scheme::Rvo, ..Gepsvm::default() };
    /// assert_eq!(method.scheme().map(Scheme::name), Some("rvo"));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Ovr => "ovr",
            Self::Rvo => "rvo",
        }
    }

    /// Whether samples of class `class` are similar ones for hyperplane `l`.
    pub(crate) fn is_similar(self, class: usize, l: usize) -> bool {
        (class == l) == (self == Self::Ovr)
    }

    /// The similar and the dissimilar samples of hyperplane `l`, ascending.
    pub(crate) fn sides(self, y: &[usize], l: usize) -> (Vec<usize>, Vec<usize>) {
        (0..y.len()).partition(|&i| self.is_similar(y[i], l))
    }
}
