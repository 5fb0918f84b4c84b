//! The largest value of `decision` is at the class of `predict`, and votes follow scikit-learn.

use faer::Mat;
use npsvc::ndarray::{Array2, ArrayView1, array};
use npsvc::{
    Certificate, FitError, FitOptions, Kernel, KernelMachine, Method, MethodInfo, Model, Rule,
    Shape, Storage, Trained, TrainingSet, pairs,
};
use proptest::prelude::*;
use serde_json::json;

use super::digits::{matrix, reference};
use super::samples::{cases, samples};
use super::support::{fit_unless_zero, method, methods, pivoted};

npsvc::parameters! {
    /// A method that learns nothing: the value of pair `p` is feature `p` of a row.
    ///
    /// Sample `p` of its training set is unit vector `p`, and the last one is zero.
    pub struct Votes {
        /// Number of classes.
        classes: usize = 2;
    }
}

impl Method for Votes {
    fn info(&self) -> &'static MethodInfo {
        &MethodInfo {
            name: "votes",
            title: "Votes",
            about: "features as votes",
            losses: ["-", "-"],
            version: 1,
            learns_representation: false,
        }
    }

    fn train(&self, set: &TrainingSet, _: &mut FitOptions<'_>) -> Result<Trained, FitError> {
        let Shape { n, dims, .. } = set.shape();
        let machine = KernelMachine {
            coefficients: Mat::identity(n, dims),
            offsets: vec![0.0; dims],
            rule: Rule::Vote { classes: self.classes },
        };
        Ok(Trained::new(machine, Certificate::default()))
    }
}

fn votes(classes: usize) -> Model {
    let count = pairs(classes).count();
    let x = Array2::from_shape_fn((count + 1, count), |(i, j)| f64::from(u8::from(i == j)));
    let y = (0..=count).map(|i| i % 2).collect();
    let set = TrainingSet::new(x, y, &Kernel::Linear).unwrap();
    Votes { classes }.fit(&set, FitOptions::default()).unwrap()
}

fn first_largest(values: ArrayView1<'_, f64>) -> usize {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    values.iter().position(|&value| value == largest).unwrap()
}

/// Asserts that both agree on every row; returns the classes.
fn assert_agree(name: &str, model: &Model, rows: &Array2<f64>) -> Vec<usize> {
    let predicted = model.predict(rows.view()).unwrap();
    let decision = model.decision(rows.view()).unwrap();
    assert_eq!(decision.dim(), (rows.nrows(), model.classes()), "{name}");
    for (i, values) in decision.rows().into_iter().enumerate() {
        assert_eq!(first_largest(values), predicted[i], "{name}, row {i}: {values}");
    }
    predicted
}

#[test]
fn votes_have_scikit_learns_values() {
    let mut swapped = 0;
    for case in reference("votes.json")["cases"].as_array().unwrap() {
        let classes = case["classes"].as_u64().unwrap() as usize;
        let (rows, expected) = (matrix(&case["pairs"]), matrix(&case["decision"]));
        let model = votes(classes);
        let predicted = assert_agree("votes", &model, &rows);
        assert_eq!(json!(predicted), case["prediction"]);
        let decision = model.decision(rows.view()).unwrap();
        for (i, found) in decision.rows().into_iter().enumerate() {
            let mut expected = expected.row(i).to_vec();
            let first = first_largest(ArrayView1::from(&expected));
            // Confidences may rank another class first; the two classes have swapped values then.
            swapped += usize::from(first != predicted[i]);
            expected.swap(first, predicted[i]);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-14, "{found} instead of {expected}");
            }
        }
    }
    assert!(swapped > 0, "no case has a tie that confidences break otherwise");
}

#[test]
fn a_circle_of_three_votes_goes_to_the_lowest_class() {
    // 0 beats 1, 1 beats 2, and 2 beats 0 with the largest confidence.
    let rows = array![[0.1, -9.0, 0.1], [0.1, -0.1, 0.1], [9.0, -0.1, 0.1]];
    assert_eq!(assert_agree("circle", &votes(3), &rows), [0, 0, 0]);
    let decision = votes(3).decision(rows.view()).unwrap();
    // In the first row, class 2 has the largest confidence, so classes 0 and 2 swap their values.
    assert!(decision[[0, 0]] > decision[[0, 1]] && decision[[0, 1]] > decision[[0, 2]]);
    let sums =
        [0.1 - 9.0, 0.1 - 0.1, 9.0 - 0.1].map(|sum: f64| 1.0 + sum / (3.0 * (sum.abs() + 1.0)));
    assert!((decision[[0, 0]] - sums[2]).abs() < 1e-14);
    assert!((decision[[0, 2]] - sums[0]).abs() < 1e-14);
}

/// Three classes at the corners of a triangle, asked about its centre; and all points equal.
#[test]
fn symmetric_and_equal_points_agree() {
    let angle = |i: usize| std::f64::consts::TAU * i as f64 / 3.0;
    let corners =
        Array2::from_shape_fn(
            (6, 2),
            |(i, j)| {
                if j == 0 { angle(i).cos() } else { angle(i).sin() }
            },
        );
    let y: Vec<usize> = (0..6).map(|i| i % 3).collect();
    let rows = array![[0.0, 0.0], [1.0, 0.0], [-0.5, 0.0]];
    let mut fitted = 0;
    for x in [corners, Array2::ones((6, 2))] {
        for kernel in [Kernel::default(), Kernel::Linear] {
            let set = TrainingSet::new(x.clone(), y.clone(), &kernel).unwrap();
            for entry in methods() {
                for mut params in entry.schemes() {
                    entry.set_dimensions(&mut params, 1);
                    let name = format!("{} {params} {kernel:?}", entry.name);
                    let method = method(entry.name, &params);
                    // Equal points leave some methods without an answer.
                    if let Ok(model) = method.fit(&set, FitOptions::default()) {
                        assert_agree(&name, &model, &rows);
                        fitted += 1;
                    }
                }
            }
        }
    }
    assert!(fitted > 60, "only {fitted} of 76 fits have an answer");
}

proptest! {
    #![proptest_config(cases(256))]

    /// Few different values, so that votes tie often and values are zero.
    #[test]
    fn votes_agree_however_they_tie(
        classes in 1..6_usize,
        values in prop::collection::vec(-2..3_i8, 10),
    ) {
        let count = pairs(classes).count();
        let mut won = vec![0; classes];
        for (pair, (a, b)) in pairs(classes).enumerate() {
            won[if values[pair] > 0 { a } else { b }] += 1;
        }
        let most = won.iter().max().unwrap();
        let expected = won.iter().position(|votes| votes == most).unwrap();
        if count > 0 {
            let rows = Array2::from_shape_fn((1, count), |(_, pair)| f64::from(values[pair]));
            prop_assert_eq!(assert_agree("votes", &votes(classes), &rows), [expected]);
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn every_method_agrees(samples in samples(2..4), rank in 2..6_usize) {
        for storage in [Storage::default(), pivoted(Some(rank), 0.0)] {
            let set = samples.set(&Kernel::default()).with_storage(storage).unwrap();
            for entry in methods() {
                for mut params in entry.schemes() {
                    entry.set_dimensions(&mut params, 2);
                    let name = format!("{} {params} {storage:?}", entry.name);
                    let Some(model) = fit_unless_zero(entry.name, &params, &set, 1) else {
                        continue;
                    };
                    assert_agree(&name, &model, &samples.test);
                    assert_agree(&name, &model, &samples.x);
                }
            }
        }
    }
}
