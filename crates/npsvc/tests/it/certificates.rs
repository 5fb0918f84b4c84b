//! Certificates notice every change of a solution that changes an objective by more than the tolerance.
//!
//! Numbers are injected into solutions at random, but the same ones every time. A failure prints the seed.

use npsvc::ndarray::Array2;
use npsvc::plain::{Problem, Recomputed, Samples, Solution, recompute};
use npsvc::solve::box_qp::{Settings, Term, certify};
use npsvc::solve::smo::SvmDual;
use npsvc::{
    AnyMethod, Certificate, Dissimilarity, FitOptions, Iteration, Kernel, Seed, Similarity,
    TrainingSet, pairs,
};
use rand_distr::{Distribution, StandardNormal, Uniform};
use serde_json::Value;

use super::support::{Entry, method, methods};

/// Injections per method and scheme.
const INJECTIONS: u64 = 500;
/// Relative gap that counts as solved.
const TOLERANCE: f64 = 1e-5;

/// Three overlapping classes.
fn training_set() -> TrainingSet {
    let mut rng = Seed::root(11).rng();
    let y: Vec<usize> = (0..30).map(|i| i % 3).collect();
    let x = Array2::from_shape_fn((30, 2), |(i, j)| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        0.7 * noise + if j == y[i] { 1.0 } else { 0.0 }
    });
    TrainingSet::new(x, y, &Kernel::default()).unwrap()
}

/// A fitted method, and what a plain computation needs.
struct Case {
    name: String,
    method: AnyMethod,
    problem: Problem,
    samples: Samples,
    set: TrainingSet,
    solution: Solution,
    certificate: Certificate,
}

impl Case {
    fn new(entry: &Entry, params: Value) -> Self {
        let mut params = params;
        entry.set_dimensions(&mut params, 2);
        let (set, method) = (training_set(), method(entry.name, &params));
        let mut solution = None;
        let mut keep =
            |iteration: &Iteration<'_>| solution = Some(Solution::of_iteration(iteration));
        let mut options = FitOptions::default();
        options.on_iteration = Some(&mut keep);
        let model = method.fit(&set, options).unwrap();
        Self {
            name: format!("{} {params}", entry.name),
            problem: method.problem().unwrap(),
            samples: Samples::new(&set, &Kernel::default()),
            solution: solution.unwrap_or_else(|| Solution::of_model(&model)),
            certificate: model.certificate(),
            method,
            set,
        }
    }

    fn recompute(&self, solution: &Solution) -> Recomputed {
        recompute(&self.problem, &self.samples, solution).unwrap()
    }

    /// The gap that the solvers' own certificate has for the coefficients; `None` for NHSVM.
    fn own_gap(&self, solution: &Solution) -> Option<f64> {
        let (k, y) = (self.set.full_matrix(), self.set.y());
        let classes = self.set.shape().classes;
        if let Problem::Pairs { c } = self.problem {
            let gap = |(pair, (a, b)): (usize, (usize, usize))| {
                let members = |l: usize| (0..y.len()).filter(move |&i| y[i] == l);
                let samples: Vec<usize> = members(a).chain(members(b)).collect();
                let positives = members(a).count();
                let beta: Vec<f64> =
                    samples.iter().map(|&i| solution.coefficients[pair][i]).collect();
                let dual = SvmDual { gram: k, samples: &samples, positives, c };
                dual.kkt_report(&beta, solution.offsets[pair]).gap
            };
            return Some(pairs(classes).enumerate().map(gap).sum());
        }
        let Problem::Hyperplanes { similarity, dissimilarity, common, .. } = &self.problem else {
            return None;
        };
        let similar = match *similarity {
            Similarity::Insensitive { c, epsilon } => Term::insensitive(c, epsilon),
            _ => Term::square(),
        };
        let dissimilar = match *dissimilarity {
            Dissimilarity::Hinge { c } => Term::hinge(c),
            Dissimilarity::Pinball { c, tau } => Term::pinball(c, tau),
            Dissimilarity::Square { c } => Term::square_to_one(c),
        };
        let gap = |(l, b): (usize, &Vec<f64>)| {
            let is_similar = |i: usize| (y[i] == l) == (common.scheme == npsvc::Scheme::Ovr);
            let term = |i: usize| if is_similar(i) { similar } else { dissimilar };
            let terms: Vec<Term> = (0..y.len()).map(|i| term(i).rescaled(common.r)).collect();
            let value = |i: usize| (0..y.len()).map(|j| k[(i, j)] * b[j]).sum();
            let values: Vec<f64> = (0..y.len()).map(value).collect();
            certify(&terms, b, &values, Settings::default()).scaled(common.r).gap
        };
        Some(solution.coefficients.iter().enumerate().map(gap).sum())
    }
}

/// The cases of the methods called `names`, in each scheme.
fn cases(names: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in methods().iter().filter(|entry| names.contains(&entry.name)) {
        cases.extend(entry.schemes().into_iter().map(|params| Case::new(entry, params)));
    }
    assert!(cases.len() >= names.len());
    cases
}

/// Changes a solution in one of several ways.
fn inject(solution: &mut Solution, is_svm: bool, seed: u64) {
    let mut rng = Seed::root(seed).rng();
    let uniform = Uniform::new(0.0, 1.0).unwrap();
    let mut draw = |count: usize| (uniform.sample(&mut rng) * count as f64) as usize;
    let (function, way) = (draw(solution.coefficients.len()), draw(4));
    let b = &mut solution.coefficients[function];
    let (i, j) = (draw(b.len()), draw(b.len()));
    let size = 10_f64.powf(-6.0 * uniform.sample(&mut rng))
        * b.iter().fold(1.0, |m: f64, b| m.max(b.abs()));
    let amount: f64 =
        size * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, &mut rng);
    match way {
        0 if is_svm => solution.offsets[function] += amount,
        0 => b[i] += amount,
        // The sum stays, as the dual of the SVM demands.
        1 => {
            b[i] += amount;
            b[j] -= amount;
        }
        2 => b.swap(i, j),
        _ => b.iter_mut().for_each(|b| *b *= 1.0 + amount),
    }
}

#[test]
fn changes_beyond_the_tolerance_are_noticed() {
    let mut noticed = 0;
    for case in cases(&["svm", "twsvm", "npsvm", "pintwsvm", "lstwsvm", "nhsvm"]) {
        let name = &case.name;
        let before = case.recompute(&case.solution);
        assert_eq!(before.disagreement(&case.certificate), None, "{name}");
        let tolerance = before.gap().unwrap().max(TOLERANCE * before.primal);
        let mut large = 0;
        for seed in 0..INJECTIONS {
            let mut solution = case.solution.clone();
            // Norms and constraints would give nearly all changes away; here the gap has to.
            solution.norms.clear();
            inject(&mut solution, name.starts_with("svm"), seed);
            let after = case.recompute(&solution);
            let effect =
                (after.primal - before.primal).max(before.dual.unwrap() - after.dual.unwrap());
            let gaps = [after.gap(), case.own_gap(&solution)];
            for gap in gaps.into_iter().flatten() {
                let is_noticed = gap > tolerance || gap.is_nan() || !after.broken.is_empty();
                assert!(
                    is_noticed || effect <= tolerance + after.slack(),
                    "{name}, seed {seed}: gap {gap}, effect {effect}, tolerance {tolerance}"
                );
            }
            large += u32::from(effect > tolerance);
        }
        assert!(large > 100, "{name}: only {large} changes matter");
        noticed += large;
    }
    assert!(noticed > 2000);
}

/// The certificates of these methods bound less.
#[test]
fn nan_wrong_objectives_and_broken_constraints_are_noticed() {
    for case in cases(&["k-npsvcpp", "rmtbsvm", "ctwsvm", "gepsvm"]) {
        let (name, certificate) = (&case.name, case.certificate);
        let disagreement = |solution: &Solution, certificate: &Certificate| {
            case.recompute(solution).disagreement(certificate)
        };
        assert_eq!(disagreement(&case.solution, &certificate), None, "{name}");
        for wrong in [f64::NAN, f64::INFINITY, certificate.primal * (1.0 + 1e-6)] {
            let wrong = Certificate { primal: wrong, ..certificate };
            assert!(disagreement(&case.solution, &wrong).is_some(), "{name}: {wrong:?}");
        }
        for seed in 0..INJECTIONS {
            let mut rng = Seed::root(seed).rng();
            let uniform = Uniform::new(0.0, 1.0).unwrap();
            let mut draw = |count: usize| (uniform.sample(&mut rng) * count as f64) as usize;
            let mut solution = case.solution.clone();
            let l = draw(solution.coefficients.len());
            let i = draw(solution.coefficients[l].len());
            solution.coefficients[l][i] = f64::NAN;
            assert!(disagreement(&solution, &certificate).is_some(), "{name}, seed {seed}: NaN");
            let mut solution = case.solution.clone();
            match &mut solution.representation {
                Some(representation) => {
                    let direction = draw(representation.frame.len());
                    representation.frame[direction].iter_mut().for_each(|a| *a *= 1.0 + 1e-5);
                }
                None => solution.norms[l] *= 1.0 + 1e-5,
            }
            assert!(disagreement(&solution, &certificate).is_some(), "{name}, seed {seed}: norm");
            assert!(!case.recompute(&solution).broken.is_empty(), "{name}, seed {seed}");
        }
        assert!(case.method.check(None).is_ok());
    }
}
