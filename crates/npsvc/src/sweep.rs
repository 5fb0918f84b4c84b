//! Many fits on one training set, which share what they have in common.
//!
//! For example, fits that differ only in `c` form a chain: each one starts from the solution of the one
//! before. All chains share `(K + r I)^-1`, RMTBSVM's deformed kernel and random starting points.

use std::cmp::Ordering;
use std::fmt::Debug;

use faer::{Mat, Par};
use rayon::prelude::*;

use crate::algebra::OwnedMatrix;
use crate::kernel::GraphOptions;
use crate::memo::Memo;
use crate::methods::k_npsvcpp::{History, Start};
use crate::seed::Seed;
use crate::training_set::TrainingSet;
use crate::{FitError, FitOptions, Method, Model};

/// Matrices of each kind that chains share at the same time, if they run one after another.
const KEPT: usize = 2;
/// With at most this many samples, chains run in parallel with one thread each. With more, they run
/// one after another, and the threads are used inside, which takes less memory.
const SMALL: usize = 2000;

/// Fits on one training set that share matrices, starting points and solutions.
///
/// ```
/// use ndarray::array;
/// use npsvc::{Kernel, Method, Seed, TrainingSet, Twsvm};
///
/// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
/// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
/// let grid = [0.1, 1.0, 10.0].map(|c| Twsvm { c, ..Twsvm::default() });
/// let points: Vec<&dyn Method> = grid.iter().map(|method| method as &dyn Method).collect();
/// let gaps = set.sweep().run(&points, &Seed::root(0), |_, model| model.map(|model| model.certificate().gap));
/// assert_eq!(gaps.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sweep<'a> {
    set: &'a TrainingSet,
    /// `(K + r I)^-1`, by the bits of `r`, and bias.
    pub(crate) inverses: Memo<(u64, bool), Mat<f64>>,
    /// RMTBSVM's deformed kernel matrix, by the bits of `mu / r`, graph and bias.
    pub(crate) deformed: Memo<(u64, GraphOptions, bool), OwnedMatrix>,
    pub(crate) starts: Memo<StartKey, Start>,
}

/// What a random starting point of K-NPSVC++ depends on besides the samples.
#[derive(Clone, PartialEq)]
pub(crate) struct StartKey {
    pub d: usize,
    pub bias: bool,
    pub seed: Seed,
}

impl<'a> Sweep<'a> {
    pub(crate) fn new(set: &'a TrainingSet) -> Self {
        // Chains that run in parallel may each need another matrix.
        let kept = if is_small(set) { KEPT.max(set.par().degree()) } else { KEPT };
        Self { set, inverses: Memo::new(kept), deformed: Memo::new(kept), starts: Memo::new(1) }
    }

    /// Fits every point and calls `score` with its index and its model. The scores are in the order
    /// of the points. Which fits form a chain does not depend on the number of threads.
    pub fn run<T: Send>(
        &self,
        points: &[&dyn Method],
        seed: &Seed,
        score: impl Fn(usize, Result<Model, FitError>) -> T + Sync,
    ) -> Vec<T> {
        let chains = chains(points);
        let par = self.set.par();
        let is_parallel = is_small(self.set) && (2..=chains.len()).contains(&par.degree());
        if is_parallel {
            // A thread that waits for the kernel matrix must not begin another chain, which would
            // wait for the same matrix.
            self.set.prepare();
        }
        let run = |members: &Vec<usize>| -> Vec<(usize, T)> {
            let mut chain = self.chain();
            if is_parallel {
                chain.state.par = Par::Seq;
            }
            let score = |&index: &usize| (index, score(index, chain.fit(points[index], seed)));
            members.iter().map(score).collect()
        };
        let scores: Vec<Vec<(usize, T)>> = if is_parallel {
            // Chains differ in length: a free thread takes the next one.
            chains.iter().par_bridge().map(run).collect()
        } else {
            chains.iter().map(run).collect()
        };
        let mut scores: Vec<(usize, T)> = scores.into_iter().flatten().collect();
        scores.sort_by_key(|(index, _)| *index);
        scores.into_iter().map(|(_, score)| score).collect()
    }

    /// An empty chain, for fits one after another in the caller's order.
    pub fn chain(&self) -> Chain<'_> {
        let state = ChainState { par: self.set.par(), solutions: Vec::new(), history: None };
        Chain { sweep: self, state }
    }
}

/// Whether chains may run in parallel.
fn is_small(set: &TrainingSet) -> bool {
    set.shape().n <= SMALL
}

/// Fits one after another. Each starts from what the last one found.
///
/// ```
/// use npsvc::ndarray::array;
/// use npsvc::{Chain, Kernel, Seed, TrainingSet, Twsvm};
///
/// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
/// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
/// let sweep = set.sweep();
/// let mut chain: Chain<'_> = sweep.chain();
/// for c in [0.1, 1.0, 10.0] {
///     let model = chain.fit(&Twsvm { c, ..Twsvm::default() }, &Seed::root(0))?;
///     assert!(model.certificate().converged());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Chain<'s> {
    sweep: &'s Sweep<'s>,
    state: ChainState,
}

/// What a fit leaves for the next fit of its chain.
pub(crate) struct ChainState {
    pub(crate) par: Par,
    /// The solutions of the last fit's problems, one per class.
    pub(crate) solutions: Vec<Vec<f64>>,
    /// The iterations of the last fit of K-NPSVC++.
    pub(crate) history: Option<History>,
}

impl Chain<'_> {
    /// Fits `method`, starting from what the last fit of this chain found.
    pub fn fit(&mut self, method: &dyn Method, seed: &Seed) -> Result<Model, FitError> {
        let (sweep, chain) = (Some(self.sweep), Some(&mut self.state));
        let options = FitOptions { sweep, chain, ..FitOptions::seeded(seed.clone()) };
        method.fit(self.sweep.set, options)
    }
}

impl FitOptions<'_> {
    /// The solution of class `l` in the last fit of the chain, if it has this length.
    pub(crate) fn warm_start(&self, l: usize, length: usize) -> Option<&[f64]> {
        let solution = self.chain.as_ref()?.solutions.get(l)?;
        (solution.len() == length).then_some(solution)
    }

    /// Keeps the solutions of this fit for the next one of the chain.
    pub(crate) fn keep_solutions(&mut self, solutions: Vec<Vec<f64>>) {
        if let Some(chain) = &mut self.chain {
            chain.solutions = solutions;
        }
    }
}

/// Determines which fits form a chain, and their order.
///
/// ```
/// use npsvc::{ChainKey, Method, Twsvm};
///
/// // Fits that differ in `c` only form a chain.
/// let key = Twsvm { c: 10.0, ..Twsvm::default() }.chain_key();
/// assert_ne!(key, ChainKey::alone());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChainKey {
    /// Text of the parameters that a chain has in common; `None` for a chain of one.
    common: Option<String>,
    /// Fits of a chain run in ascending order of these.
    order: Vec<f64>,
    /// Chains run in ascending order of this, so that neighbours share `(K + r I)^-1`.
    regulariser: f64,
}

impl ChainKey {
    /// A fit that shares nothing with others.
    pub fn alone() -> Self {
        Self { common: None, order: Vec::new(), regulariser: 0.0 }
    }

    /// A fit in the chain of all fits with the same `common` parameters, which run in ascending
    /// order of `order`.
    pub fn new(common: &impl Debug, order: &[f64], regulariser: f64) -> Self {
        Self { common: Some(format!("{common:?}")), order: order.to_vec(), regulariser }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let orders = self.order.iter().zip(&other.order);
        orders.fold(Ordering::Equal, |sum, (a, b)| sum.then(a.total_cmp(b)))
    }
}

/// The points grouped into chains, as indices.
fn chains(points: &[&dyn Method]) -> Vec<Vec<usize>> {
    let keys: Vec<ChainKey> = points.iter().map(|point| point.chain_key()).collect();
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        let is_same =
            |chain: &&mut Vec<usize>| key.common.is_some() && keys[chain[0]].common == key.common;
        match chains.iter_mut().find(is_same) {
            Some(chain) => chain.push(index),
            None => chains.push(vec![index]),
        }
    }
    chains.sort_by(|a, b| keys[a[0]].regulariser.total_cmp(&keys[b[0]].regulariser));
    for chain in &mut chains {
        chain.sort_by(|&a, &b| keys[a].compare(&keys[b]));
    }
    chains
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::{KNpsvcpp, Kernel, Rmtbsvm, Twsvm};

    #[test]
    fn chains_with_the_same_manifold_term_share_the_deformed_kernel() {
        let x = Array2::from_shape_fn((20, 2), |(i, j)| ((3 * i + 5 * j) as f64).sin());
        let y = (0..20).map(|i| i % 2).collect();
        let set = TrainingSet::new(x, y, &Kernel::default()).unwrap();
        let mut grid = Vec::new();
        for epsilon in [0.2, 0.5] {
            for r in [0.05, 0.2] {
                grid.push(Rmtbsvm { epsilon, r, ..Rmtbsvm::default() });
            }
        }
        let points: Vec<&dyn Method> = grid.iter().map(|point| point as &dyn Method).collect();
        assert_eq!(chains(&points).len(), 4);
        let sweep = set.sweep();
        assert!(sweep.run(&points, &Seed::root(0), |_, model| model.is_ok()).iter().all(|ok| *ok));
        for Rmtbsvm { mu, r, graph, bias, .. } in grid {
            let known = sweep.deformed.try_get(((mu / r).to_bits(), graph, bias), || Err(()));
            assert!(known.is_ok(), "r = {r}");
        }
    }

    #[test]
    fn chains_follow_the_order_of_each_method() {
        let mut grid = Vec::new();
        for r1 in [0.5, 0.05] {
            for c in [1.0, 10.0] {
                for gamma in [4.0, 0.5] {
                    grid.push(KNpsvcpp { r1, c, gamma, ..KNpsvcpp::default() });
                }
            }
        }
        let points: Vec<&dyn Method> = grid.iter().map(|point| point as &dyn Method).collect();
        let order: Vec<Vec<[f64; 3]>> = (chains(&points).iter())
            .map(|chain| chain.iter().map(|&i| [grid[i].r1, grid[i].c, grid[i].gamma]).collect())
            .collect();
        // The smaller regulariser first; in a chain the larger `c` first, then the smaller `gamma`.
        let chain =
            |r1: f64| vec![[r1, 10.0, 0.5], [r1, 10.0, 4.0], [r1, 1.0, 0.5], [r1, 1.0, 4.0]];
        assert_eq!(order, [chain(0.05), chain(0.5)]);
    }

    #[test]
    fn chains_of_other_methods_begin_with_the_smallest_weight() {
        let grid = [(1.0, 0.1), (0.1, 0.1), (10.0, 0.01), (10.0, 0.1)];
        let grid = grid.map(|(c, r)| Twsvm { c, r, ..Twsvm::default() });
        let points: Vec<&dyn Method> = grid.iter().map(|point| point as &dyn Method).collect();
        assert_eq!(chains(&points), [vec![2], vec![1, 0, 3]]);
    }
}
