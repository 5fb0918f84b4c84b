//! RMTBSVM, CTWSVM and NHSVM agree with Clarabel, GEPSVM agrees with `scipy.linalg.eigh`: the objective of
//! every class, after every reweighting, and norms, decision values and predictions of the answer.
//!
//! The references come from the scripts in `tests/reference`, which solve the problems as stated, in the
//! values of the functions on the training samples. The objectives here are computed from the trained
//! machines by their definitions, not taken from the certificates.

use faer::{Mat, Par};
use npsvc::kernel::Laplacian;
use npsvc::ndarray::Axis;
use npsvc::{Ctwsvm, FitOptions, Gepsvm, Method, Model, Nhsvm, Rmtbsvm, Rule, Scheme, TrainingSet};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::digits::{Digits, labels, matrix, numbers, reference};
use super::samples::{expand, values};

/// Relative duality gap of our convex problems. Those of the references are below 1e-11.
const TOLERANCE: f64 = 1e-10;

/// Relative error of an objective. The two gaps allow 1e-10; the rest is for the errors that a
/// reweighting passes on to the next one.
const OBJECTIVE: f64 = 1e-9;

/// Error of a decision value, relative error of a norm. A gap only bounds these by its root, about
/// 1e-4. But both solvers end with the right active set, so their answers differ by less than 1e-8.
const DECISION: f64 = 1e-6;

/// The reference file of a method and the training set that it is about.
struct Reference {
    file: Value,
    digits: Digits,
    set: TrainingSet,
}

impl Reference {
    fn load(name: &str) -> Self {
        let file = reference(&format!("{name}_digits300.json"));
        let all = Digits::load();
        let left_out: Vec<usize> =
            serde_json::from_value(file["left_out"].clone()).unwrap_or_default();
        let kept: Vec<usize> = (0..all.y_train.len()).filter(|i| !left_out.contains(i)).collect();
        let digits = Digits {
            x_train: all.x_train.select(Axis(0), &kept),
            y_train: kept.iter().map(|&i| all.y_train[i]).collect(),
            ..all
        };
        let set = digits.set();
        Self { file, digits, set }
    }

    fn cases(&self) -> &[Value] {
        let cases = self.file["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 8, "two settings, two schemes, with and without bias");
        cases
    }

    /// Fits with parameters in the form of a spec.
    fn fit<M: Method + DeserializeOwned>(&self, parameters: &Value) -> (M, Trained<'_>) {
        let method: M = serde_json::from_value(parameters.clone()).unwrap();
        let model = method.fit(&self.set, FitOptions::default()).unwrap();
        let trained = Trained {
            set: &self.set,
            values: expand(self.set.full_matrix(), model.machine()),
            model,
        };
        (method, trained)
    }

    /// Norms, decision values and predictions. `scales` are those of the functions in the case.
    fn check_answer(&self, case: &Value, trained: &Trained, scales: &[f64]) {
        let name = &case["parameters"];
        let norms: Vec<f64> =
            (trained.norms().iter().zip(scales)).map(|(norm, scale)| norm * scale.abs()).collect();
        close(&norms, &numbers(&case["norms"]), DECISION, name);
        let rows = self.digits.x_test.view();
        let found = values(&self.set, &trained.model, rows);
        let expected = matrix(&case["decision"]);
        for ((i, l), expected) in expected.indexed_iter() {
            let found = scales[l] * found[(i, l)];
            assert!(
                (found - expected).abs() < DECISION,
                "{name}, sample {i}, class {l}: {found} instead of {expected}"
            );
        }
        let predicted = trained.model.predict(rows).unwrap();
        assert_eq!(predicted, labels(&case["test_prediction"]), "{name}");
    }
}

/// A fit, with the values of its functions on the training samples.
struct Trained<'a> {
    set: &'a TrainingSet,
    model: Model,
    values: Mat<f64>,
}

impl Trained<'_> {
    fn norms(&self) -> &[f64] {
        match &self.model.machine().rule {
            Rule::Nearest { norms } | Rule::Farthest { norms } => norms,
            Rule::Vote { .. } => panic!("a nonparallel method compares distances"),
        }
    }

    fn squared_norm(&self, l: usize) -> f64 {
        self.norms()[l].powi(2)
    }

    /// The values of function `l`.
    fn values(&self, l: usize) -> Vec<f64> {
        self.values.col(l).iter().copied().collect()
    }

    /// The sum of a loss over the similar samples of function `l` and another over the dissimilar ones.
    fn losses(
        &self,
        scheme: Scheme,
        l: usize,
        similar: impl Fn(f64) -> f64,
        dissimilar: impl Fn(f64) -> f64,
    ) -> f64 {
        let is_similar = |class: usize| (class == l) == (scheme == Scheme::Ovr);
        (self.values(l).into_iter().zip(self.set.y()))
            .map(|(f, &class)| if is_similar(class) { similar(f) } else { dissimilar(f) })
            .sum()
    }

    /// The certificate is about the sum of these objectives.
    fn check_objectives(&self, found: &[f64], expected: &Value, name: &Value) {
        close(found, &numbers(expected), OBJECTIVE, name);
        let (total, certificate) = (found.iter().sum(), self.model.certificate());
        close(&[certificate.primal], &[total], OBJECTIVE, name);
        assert!(
            certificate.gap >= 0.0 && certificate.gap <= 1e-7 * total,
            "{name}: {certificate:?}"
        );
    }
}

fn hinge(margin: f64) -> f64 {
    (1.0 - margin).max(0.0)
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, name: &Value) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (l, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs(),
            "{name}, number {l}: {found} instead of {expected}"
        );
    }
}

/// Checks every step of a reweighted method by fits with one, two, ... reweightings, then the result.
fn check_reweighted<M: Method + Default + DeserializeOwned>(
    objective: impl Fn(&M, &Trained, usize) -> f64,
) {
    let reference = Reference::load(M::default().info().name);
    for case in reference.cases() {
        let mut parameters = case["parameters"].clone();
        parameters["tolerance"] = json!(TOLERANCE);
        let check = |parameters: &Value, expected: &Value| {
            let (method, trained) = reference.fit::<M>(parameters);
            let found: Vec<f64> = (0..10).map(|l| objective(&method, &trained, l)).collect();
            trained.check_objectives(&found, expected, parameters);
            trained
        };
        let steps = case["objective_by_step_and_class"].as_array().unwrap();
        for (t, expected) in steps.iter().enumerate() {
            let mut shorter = parameters.clone();
            shorter["max_iter"] = json!(t + 1);
            check(&shorter, expected);
        }
        let trained = check(&parameters, steps.last().unwrap());
        assert_eq!(case["has_settled"], trained.model.certificate().converged());
        reference.check_answer(case, &trained, &[1.0; 10]);
    }
}

#[test]
fn ctwsvm() {
    check_reweighted(|method: &Ctwsvm, trained, l| {
        let similar = |f: f64| 1.0 - (-method.gamma * f.abs()).exp();
        let dissimilar = |f: f64| method.c * hinge(f);
        0.5 * method.r * trained.squared_norm(l)
            + trained.losses(method.scheme, l, similar, dissimilar)
    });
}

#[test]
fn rmtbsvm() {
    check_reweighted(|method: &Rmtbsvm, trained, l| {
        let similar = |f: f64| f.abs().min(method.epsilon);
        let dissimilar = |f: f64| method.c * hinge(f);
        let f = trained.values(l);
        let laplacian = Laplacian::new(trained.set.x(), &method.graph, Par::Seq);
        let laplacian_f = laplacian.times_vector(&f);
        let manifold: f64 = f.iter().zip(&laplacian_f).map(|(f, lf)| f * lf).sum();
        0.5 * (method.r * trained.squared_norm(l) + method.mu * manifold)
            + trained.losses(method.scheme, l, similar, dissimilar)
    });
}

/// A model has one function of each pair: `f` under ovr, `h` under rvo.
#[test]
fn nhsvm() {
    let reference = Reference::load("nhsvm");
    for case in reference.cases() {
        let fit = |scheme: &str| {
            let mut parameters = case["parameters"].clone();
            parameters["tolerance"] = json!(TOLERANCE);
            parameters["scheme"] = json!(scheme);
            reference.fit::<Nhsvm>(&parameters)
        };
        let ((method, ovr), (_, rvo)) = (fit("ovr"), fit("rvo"));
        let objective = |l: usize| {
            let loss = |((f, h), &class): ((f64, f64), &usize)| {
                if class == l {
                    0.5 * f * f + method.c * hinge(h - f)
                } else {
                    0.5 * h * h + method.c * hinge(f - h)
                }
            };
            let pairs = ovr.values(l).into_iter().zip(rvo.values(l));
            0.5 * method.r * (ovr.squared_norm(l) + rvo.squared_norm(l))
                + pairs.zip(reference.set.y()).map(loss).sum::<f64>()
        };
        let found: Vec<f64> = (0..10).map(objective).collect();
        let is_ovr = case["parameters"]["scheme"] == "ovr";
        let trained = if is_ovr { ovr } else { rvo };
        trained.check_objectives(&found, &case["objective_by_class"], &case["parameters"]);
        assert!(trained.model.certificate().converged());
        reference.check_answer(case, &trained, &[1.0; 10]);
    }
}

/// The ratio does not fix the scale of a function. The reference has norm one, and its largest
/// decision value is positive.
#[test]
fn gepsvm() {
    let reference = Reference::load("gepsvm");
    for case in reference.cases() {
        let (method, trained) = reference.fit::<Gepsvm>(&case["parameters"]);
        let square = |f: f64| f * f;
        let zero = |_: f64| 0.0;
        let ratio = |l: usize| {
            let similar = trained.losses(method.scheme, l, square, zero);
            let dissimilar = trained.losses(method.scheme, l, zero, square);
            (similar + method.delta * trained.squared_norm(l)) / dissimilar
        };
        let found: Vec<f64> = (0..10).map(ratio).collect();
        trained.check_objectives(&found, &case["objective_by_class"], &case["parameters"]);
        assert!(trained.model.certificate().converged());
        let expected = matrix(&case["decision"]);
        let rows = reference.digits.x_test.view();
        let decision = values(&reference.set, &trained.model, rows);
        let scale = |l: usize| {
            let largest = (0..expected.nrows()).max_by(|&i, &j| {
                let size = |i: usize| expected[(i, l)].abs();
                size(i).total_cmp(&size(j))
            });
            decision[(largest.unwrap(), l)].signum() / trained.norms()[l]
        };
        let scales: Vec<f64> = (0..10).map(scale).collect();
        reference.check_answer(case, &trained, &scales);
    }
}
