//! The plain computation confirms the certificates of difficult small problems, and notices a kernel
//! matrix that is not that of the samples.

use std::collections::BTreeMap;

use faer::Mat;
use npsvc::algebra::Matrix;
use npsvc::ndarray::{Array2, Axis, concatenate};
use npsvc::plain::{Problem, Samples, Solution, recompute};
use npsvc::solve::box_qp::{self, Settings, Term};
use npsvc::{
    Certificate, FitError, FitOptions, Iteration, Kernel, Method, Seed, Termination, TrainingSet,
    Twsvm,
};
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;

use super::support::{method, methods, pivoted};

fn noise(n: usize, dims: usize, seed: u64) -> Array2<f64> {
    let mut rng = Seed::root(seed).rng();
    Array2::from_shape_simple_fn((n, dims), || StandardNormal.sample(&mut rng))
}

/// Samples with what solvers find difficult.
fn difficult() -> Vec<(&'static str, Array2<f64>, Vec<usize>)> {
    let n = 16;
    let thirds: Vec<usize> = (0..n).map(|i| i % 3).collect();
    let halves: Vec<usize> = (0..n).map(|i| i % 2).collect();
    let plain = noise(n, 3, 1);
    let ties = noise(n, 2, 2).mapv(f64::round);
    let half = noise(n / 2, 2, 3);
    let duplicates = concatenate![Axis(0), half, half];
    let mut single = vec![0; n];
    single[5] = 1;
    single[9] = 2;
    let constant = concatenate![Axis(1), plain, Array2::from_elem((n, 1), 3.0)];
    let mut scaled = noise(n, 4, 4);
    for (mut column, scale) in scaled.columns_mut().into_iter().zip([1e-8, 1e-3, 1.0, 1e8]) {
        column *= scale;
    }
    vec![
        ("ordinary", plain.clone(), thirds.clone()),
        ("ties", ties, thirds.clone()),
        // Sample i + 8 is sample i. Of 16 samples in 3 classes, it has another class; in 2, the same one.
        ("contradicting duplicates", duplicates.clone(), thirds.clone()),
        ("duplicates", duplicates, halves.clone()),
        ("classes of one sample", plain, single),
        ("constant feature", constant, halves),
        ("badly scaled", scaled, thirds),
    ]
}

/// What a fit of a difficult problem led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Confirmed,
    /// Confirmed to the tolerance of the method.
    Close,
    /// The neighbour graph is not unique.
    Unclear,
    /// The fit ended with a named error, or with a numerical error on its certificate.
    Refused,
}

#[test]
fn certificates_of_difficult_problems_are_confirmed() {
    let mut outcomes: BTreeMap<Outcome, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (what, x, y) in difficult() {
        for kernel in [Kernel::default(), Kernel::Linear] {
            let set = TrainingSet::new(x.clone(), y.clone(), &kernel).unwrap();
            let samples = Samples::new(&set, &kernel);
            for entry in methods() {
                for c in [1e-6, 1e-3, 1.0, 1e3, 1e6] {
                    for mut params in entry.schemes() {
                        entry.set_dimensions(&mut params, 2);
                        if entry.has("c") {
                            params["c"] = json!(c);
                        }
                        if entry.name == "svm" {
                            // Certificates of fits that end at their limit must hold as well.
                            params["max_iter"] = json!(100_000);
                        }
                        let name = format!("{what}, {kernel:?}, {} {params}", entry.name);
                        let outcome = confirm(&*method(entry.name, &params), &set, &samples);
                        let outcome = outcome.unwrap_or_else(|error| {
                            wrong.push(format!("{name}: {error}"));
                            Outcome::Confirmed
                        });
                        // A linear kernel has few dimensions, so its matrix is singular but for the jitter.
                        if outcome == Outcome::Refused && kernel != Kernel::Linear {
                            wrong.push(format!("{name} is refused"));
                        }
                        if outcome == Outcome::Close && c < 1e6 {
                            wrong.push(format!("{name} is only close"));
                        }
                        *outcomes.entry(outcome).or_default() += 1;
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {outcomes:?}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(outcomes[&Outcome::Confirmed] > 1000, "{outcomes:?}");
}

/// Whether the plain computation confirms the certificate of a fit; otherwise what is wrong.
fn confirm(method: &dyn Method, set: &TrainingSet, samples: &Samples) -> Result<Outcome, String> {
    let mut solution = None;
    let mut keep = |iteration: &Iteration<'_>| solution = Some(Solution::of_iteration(iteration));
    let mut options = FitOptions::default();
    options.on_iteration = Some(&mut keep);
    let model = match method.fit(set, options) {
        Ok(model) => model,
        Err(
            FitError::Singular
            | FitError::Rank { .. }
            | FitError::NotPositiveDefinite { .. }
            | FitError::ZeroHyperplane { .. },
        ) => return Ok(Outcome::Refused),
        Err(error) => return Err(error.to_string()),
    };
    let solution = solution.unwrap_or_else(|| Solution::of_model(&model));
    let problem = method.problem().ok_or("there is no problem")?;
    let Ok(found) = recompute(&problem, samples, &solution) else {
        return Ok(Outcome::Unclear);
    };
    let certificate = model.certificate();
    if certificate.termination == Termination::NumericalError {
        return Ok(Outcome::Refused);
    }
    // K-NPSVC++ knows its values from linear systems. It promises no more than its tolerance.
    let is_close = |certificate: Certificate| {
        let promised = 1e-3 * found.primal.abs();
        let is_orthonormal = found.broken.is_empty() || !certificate.converged();
        is_orthonormal && (found.primal - certificate.primal).abs() <= promised
    };
    match found.disagreement(&certificate) {
        Some(_) if solution.representation.is_some() && is_close(certificate) => Ok(Outcome::Close),
        Some(disagreement) => Err(format!("{disagreement} +- {} {certificate:?}", found.slack())),
        None => Ok(Outcome::Confirmed),
    }
}

#[test]
fn kernel_values_are_those_of_the_samples() {
    for (what, x, y) in difficult() {
        let polynomial = Kernel::Polynomial { degree: 3, offset: 1.0, scale: 0.5 };
        for kernel in [Kernel::default(), Kernel::Linear, polynomial] {
            let set = TrainingSet::new(x.clone(), y.clone(), &kernel).unwrap();
            let (samples, k) = (Samples::new(&set, &kernel), set.full_matrix());
            for i in 0..k.nrows() {
                for j in 0..k.ncols() {
                    let (found, expected) = (k[(i, j)], samples.kernel_value(i, j));
                    let size = (k[(i, i)] * k[(j, j)]).sqrt();
                    assert!(
                        (found - expected).abs() <= 1e-12 * size,
                        "{what}, {kernel:?}, {i} and {j}: {found}, not {expected}"
                    );
                }
            }
        }
    }
}

/// The objectives of models with a pivoted factor follow from the pivots.
#[test]
fn objectives_of_factors_are_confirmed() {
    let (x, y) = (noise(40, 2, 5), (0..40).map(|i| i % 2).collect::<Vec<_>>());
    let set = TrainingSet::new(x, y, &Kernel::default()).unwrap();
    let set = set.with_storage(pivoted(Some(8), 0.0)).unwrap();
    let samples = Samples::new(&set, &Kernel::default());
    for name in ["twsvm", "npsvm", "pintwsvm", "lstwsvm", "ctwsvm", "rmtbsvm", "gepsvm"] {
        let outcome = confirm(&*method(name, &json!({})), &set, &samples);
        assert_eq!(outcome, Ok(Outcome::Confirmed), "{name}");
    }
}

/// A solver that gets a matrix with one wrong entry certifies another problem.
#[test]
fn a_wrong_kernel_entry_is_noticed() {
    let (n, r) = (16, 0.1);
    let y: Vec<usize> = (0..n).map(|i| i % 2).collect();
    let set = TrainingSet::new(noise(n, 2, 6), y.clone(), &Kernel::default()).unwrap();
    let samples = Samples::new(&set, &Kernel::default());
    let problem = Twsvm { r, ..Twsvm::default() }.problem().unwrap();
    let certified = |k: &Mat<f64>| {
        let solve = |l: usize| {
            let term = |&y: &usize| if y == l { Term::square() } else { Term::hinge(1.0) };
            let terms: Vec<Term> = y.iter().map(|y| term(y).rescaled(r)).collect();
            let settings = Settings { tolerance: 1e-9, ..Settings::default() };
            box_qp::solve(Matrix::Full(k.as_ref()), &terms, None, settings)
        };
        let solved = [0, 1].map(solve);
        let certificates = solved.iter().map(|solution| solution.certificate.scaled(r));
        let certificate = Certificate::total(certificates);
        let solution = Solution {
            coefficients: solved.iter().map(|solution| solution.x.clone()).collect(),
            offsets: vec![0.0; 2],
            norms: Vec::new(),
            support: (0..n).collect(),
            representation: None,
        };
        (solution, certificate)
    };
    let disagreement = |k: &Mat<f64>| {
        let (solution, certificate) = certified(k);
        assert!(certificate.converged());
        let found = recompute(&problem, &samples, &solution).unwrap();
        (found.disagreement(&certificate), solution)
    };
    let k = set.full_matrix().to_owned();
    assert_eq!(disagreement(&k).0, None);
    let mut noticed = 0;
    for i in 0..n {
        for j in 0..i {
            let mut wrong = k.clone();
            wrong[(i, j)] += 1e-6;
            wrong[(j, i)] += 1e-6;
            let (disagreement, solution) = disagreement(&wrong);
            // An entry between samples of which one has no multiplier does not matter.
            let matters = solution.coefficients.iter().any(|b| (b[i] * b[j]).abs() > 1e-2);
            assert!(disagreement.is_some() || !matters, "{i} and {j}");
            noticed += u32::from(disagreement.is_some());
        }
    }
    assert!(noticed > 60, "{noticed}");
    assert!(matches!(problem, Problem::Hyperplanes { .. }));
}
