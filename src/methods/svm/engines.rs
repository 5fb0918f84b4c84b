//! Solvers of other crates, for cross-checks. Their failures, panics included, become errors that name
//! the crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use libsvm_rs::{KernelType, SvmNode, SvmParameter, SvmProblem, SvmType};
use linfa::DatasetBase;
use linfa::traits::Fit as _;
use ndarray::{Array1, Axis};

use npsvc::kernel::FittedKernel;
use npsvc::solve::smo::{Solution, SvmDual};
use npsvc::{FitError, Storage, Termination, TrainingSet};

use crate::wording::panic_text;

const LIBSVM: &str = "libsvm-rs";
const LINFA: &str = "linfa-svm";

/// LIBSVM on the pair's part of the shared kernel matrix.
pub(super) fn libsvm(dual: &SvmDual<'_>, tolerance: f64) -> Result<Solution, FitError> {
    let parameters = SvmParameter {
        svm_type: SvmType::CSvc,
        kernel_type: KernelType::Precomputed,
        c: dual.c,
        eps: tolerance,
        ..SvmParameter::default()
    };
    let problem = SvmProblem {
        labels: labels(dual).map(|first| if first { 1.0 } else { -1.0 }).collect(),
        instances: (0..dual.samples.len()).map(|i| kernel_row(dual, i)).collect(),
    };
    libsvm_rs::check_parameter(&problem, &parameters)
        .map_err(|error| failure(LIBSVM, error.to_string()))?;
    libsvm_rs::set_quiet(true);
    let model = guarded(LIBSVM, || libsvm_rs::train::svm_train(&problem, &parameters))?;

    let mut beta = vec![0.0; dual.samples.len()];
    let coefficients = model.sv_coef.first().map_or(&[][..], Vec::as_slice);
    for (&sample, &coefficient) in model.sv_indices.iter().zip(coefficients) {
        // LIBSVM counts samples from 1.
        match beta.get_mut(sample.wrapping_sub(1)) {
            Some(beta) => *beta = coefficient,
            None => return Err(failure(LIBSVM, format!("there is no sample {sample}"))),
        }
    }
    let rho = model.rho.first().copied();
    let rho = rho.ok_or_else(|| failure(LIBSVM, "the model has no offset"))?;
    Ok(judged(dual, beta, -rho, tolerance, 0.0))
}

/// A row as LIBSVM wants it: its number, counted from 1, then its kernel values.
fn kernel_row(dual: &SvmDual<'_>, i: usize) -> Vec<SvmNode> {
    let number = SvmNode { index: 0, value: (i + 1) as f64 };
    let column = dual.gram.col(dual.samples[i]);
    let values = dual.samples.iter().enumerate().map(|(k, &row)| SvmNode {
        index: i32::try_from(k + 1).unwrap_or(i32::MAX),
        value: column[row],
    });
    std::iter::once(number).chain(values).collect()
}

/// linfa's solver on the pair's samples; it takes no kernel matrix.
pub(super) fn linfa(
    dual: &SvmDual<'_>,
    set: &TrainingSet,
    tolerance: f64,
) -> Result<Solution, FitError> {
    let mut samples = set.x().select(Axis(0), dual.samples);
    let parameters = linfa_svm::Svm::<f64, bool>::params()
        .eps(tolerance)
        .shrinking(false)
        .pos_neg_weights(dual.c, dual.c);
    let parameters = match *set.kernel() {
        FittedKernel::Gaussian { width } => parameters.gaussian_kernel(width),
        FittedKernel::Linear => parameters.linear_kernel(),
        FittedKernel::Polynomial { degree, offset, scale } => {
            samples *= scale.sqrt();
            parameters.polynomial_kernel(offset, f64::from(degree))
        }
    };
    let dataset = DatasetBase::new(samples, labels(dual).collect::<Array1<bool>>());
    let model = guarded(LINFA, || parameters.fit(&dataset))?
        .map_err(|error| failure(LINFA, error.to_string()))?;
    let jitter = match set.storage() {
        Storage::Full { jitter } => jitter,
        Storage::Pivoted { .. } => 0.0,
    };
    let offset = -model.rho;
    Ok(judged(dual, model.alpha, offset, tolerance, jitter))
}

/// Whether each of the pair's samples is of its first class.
fn labels(dual: &SvmDual<'_>) -> impl Iterator<Item = bool> {
    let positives = dual.positives;
    (0..dual.samples.len()).map(move |k| k < positives)
}

/// A foreign solution with our own certificate. `jitter` is what the engine's kernel matrix lacks
/// on its diagonal.
fn judged(
    dual: &SvmDual<'_>,
    beta: Vec<f64>,
    offset: f64,
    tolerance: f64,
    jitter: f64,
) -> Solution {
    let report = dual.kkt_report(&beta, offset);
    let total: f64 = beta.iter().map(|beta| beta.abs()).sum();
    let largest_beta = beta.iter().map(|beta| beta.abs()).fold(0.0, f64::max);
    let diagonal = dual.samples.iter().map(|&i| dual.gram[(i, i)].abs());
    // The engine judged by its own kernel values. Rounded to single precision they move either end
    // of the violation by up to half an epsilon of sum_j alpha_j K_jj, without jitter by
    // alpha_j jitter; so a violation above the tolerance by this much still counts as solved.
    let rounding = f64::from(f32::EPSILON) * total * diagonal.fold(0.0, f64::max);
    let slack = rounding + 2.0 * jitter * largest_beta;
    let termination = match report.violation <= tolerance + slack {
        true => Termination::Solved,
        false => Termination::Stalled,
    };
    Solution { beta, offset, certificate: report.certificate(0, termination) }
}

fn guarded<T>(engine: &'static str, work: impl FnOnce() -> T) -> Result<T, FitError> {
    // Nothing the engine can have left half-done is used after a panic.
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| failure(engine, format!("it panicked: {}", panic_text(&*panic))))
}

fn failure(engine: &'static str, message: impl Into<String>) -> FitError {
    FitError::Other(format!("{engine} failed: {}", message.into()))
}
