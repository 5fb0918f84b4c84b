//! One tree of seeds: every random choice is named, never numbered by order of execution.
//!
//! A child's key is the SHA-256 of its parent's key and its name, so the numbers drawn under
//! `root / "split" / "usps" / "3"` do not depend on which other branches were visited, on how many
//! threads ran, or on which methods the experiment lists.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// A node of the seed tree.
///
/// ```
/// use npsvc::Seed;
///
/// let root = Seed::root(2024);
/// let split = root.child("split").child("3");
/// assert_eq!(split, Seed::root(2024).child("split").child("3"));
/// assert_ne!(split.rng(), root.child("order").rng());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed([u8; 32]);

impl Default for Seed {
    fn default() -> Self {
        Self::root(0)
    }
}

impl Seed {
    /// The root of an experiment's tree.
    pub fn root(seed: u64) -> Self {
        Self::derive(b"npsvcpp", &seed.to_le_bytes())
    }

    /// The branch called `name`.
    pub fn child(&self, name: impl AsRef<str>) -> Self {
        Self::derive(&self.0, name.as_ref().as_bytes())
    }

    /// A fresh generator; asking twice gives the same numbers twice.
    pub fn rng(&self) -> ChaCha8Rng {
        ChaCha8Rng::from_seed(self.0)
    }

    /// A name for the ledger: the first 53 bits, for readers of JSON whose numbers are floats round
    /// longer ones.
    pub fn number(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_be_bytes(first) >> 11
    }

    fn derive(parent: &[u8], name: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update((parent.len() as u64).to_le_bytes());
        hash.update(parent);
        hash.update(name);
        Self(hash.finalize().into())
    }
}

/// Shuffles `items`: Fisher and Yates, from the back.
///
/// ```
/// use npsvc::seed::{Seed, shuffle};
///
/// let mut order = [0, 1, 2, 3, 4];
/// shuffle(&mut order, &mut Seed::root(1).rng());
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
pub fn shuffle(items: &mut [usize], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, rng) as usize);
    }
}

/// A number in `0..bound`, every one equally likely: the high half of word times bound, words in the
/// short first interval being drawn again (Lemire).
fn below(bound: u64, rng: &mut ChaCha8Rng) -> u64 {
    let reject = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        if product as u64 >= reject {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_readers_that_know_floats_only() {
        let numbers: Vec<u64> = (0..64).map(|root| Seed::root(root).number()).collect();
        assert!(numbers.iter().all(|&number| number as f64 as u64 == number));
        assert!(numbers.iter().all(|&number| number < 1 << 53));
        assert!(numbers.iter().any(|&number| number >= 1 << 52));
    }

    #[test]
    fn children_differ_by_name_and_by_parent() {
        let root = Seed::root(1);
        assert_eq!(root.child("a"), Seed::root(1).child("a"));
        assert_ne!(root.child("a"), root.child("b"));
        assert_ne!(root.child("a"), Seed::root(2).child("a"));
        assert_ne!(root.child("a").child("b"), root.child("b").child("a"));
    }

    #[test]
    fn bounded_draws_are_even() {
        let mut rng = Seed::root(1).rng();
        let mut seen = [0usize; 7];
        for _ in 0..70_000 {
            seen[below(7, &mut rng) as usize] += 1;
        }
        // Standard deviation is 93; six of them.
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 560), "{seen:?}");
    }
}
