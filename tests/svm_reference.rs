//! The support vector machine finds LIBSVM's solution on 300 digits, whichever engine solves it.

use std::fs::File;
use std::io::BufReader;

use faer::Par;
use ndarray::Array2;
use npsvcpp::kernel::Kernel;
use npsvcpp::model::svm::Engine;
use npsvcpp::model::{Fit, Method, Problem, Svm};
use npsvcpp::seed::Seed;
use serde_json::Value;

struct Digits {
    x_test: Array2<f64>,
    y_test: Vec<usize>,
    problem: Problem,
    expect: Value,
}

fn load(name: &str) -> Value {
    let path = format!("{}/tests/reference/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_reader(BufReader::new(File::open(path).unwrap())).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap().iter();
    list.map(|number| number.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

/// Classes 0..10 from the file's labels 1..=10.
fn classes(value: &Value) -> Vec<usize> {
    let labels = numbers(value).into_iter();
    labels.map(|label| label as usize - 1).collect()
}

fn digits(par: Par) -> Digits {
    let input = load("k_npsvcpp_digits300.json");
    let expect = load("nonparallel_digits300.json")["expect"]["svm"].take();
    Digits {
        x_test: matrix(&input["x_test"]),
        y_test: classes(&input["y_test"]),
        problem: Problem::new(
            matrix(&input["x_train"]),
            classes(&input["y_train"]),
            10,
            &Kernel::default(),
            1e-6,
            par,
        ),
        expect,
    }
}

impl Digits {
    fn fit(&self, c: f64, tolerance: f64, engine: Engine) -> Fit {
        let svm = Svm {
            c,
            tolerance,
            engine,
            ..Svm::default()
        };
        svm.fit(&self.problem, &Seed::root(0)).unwrap()
    }

    fn predict(&self, fit: &Fit) -> Vec<usize> {
        let cross = self.problem.cross(self.x_test.view());
        fit.machine.predict(cross.as_ref(), Par::Seq)
    }

    /// Samples of every class with a coefficient in any pair.
    fn n_support(&self, fit: &Fit) -> Vec<usize> {
        let mut count = vec![0; 10];
        for (i, &class) in self.problem.y().iter().enumerate() {
            let coefficients = &fit.machine.coefficients;
            if (0..coefficients.ncols()).any(|pair| coefficients[(i, pair)] != 0.0) {
                count[class] += 1;
            }
        }
        count
    }
}

fn reproduces_libsvm(engine: Engine) {
    let digits = digits(Par::Seq);
    for (c, key) in [(1.0, "C=1"), (10.0, "C=10")] {
        let expect = &digits.expect[key];
        let fit = digits.fit(c, 1e-8, engine);
        let certificate = fit.certificate;
        assert!(certificate.converged, "{key}: {certificate:?}");
        assert!(certificate.gap >= 0.0, "{key}: {certificate:?}");
        assert!(
            certificate.gap < 1e-6 * certificate.primal,
            "{key}: {certificate:?}"
        );

        let n_support = numbers(&expect["n_support"]);
        let found = digits.n_support(&fit).into_iter().map(|n| n as f64);
        assert_eq!(found.collect::<Vec<_>>(), n_support, "{key}");
        let intercepts = numbers(&expect["intercept_by_pair"]);
        assert_eq!(fit.machine.offsets.len(), intercepts.len());
        for (pair, (found, expected)) in fit.machine.offsets.iter().zip(&intercepts).enumerate() {
            assert!(
                (found - expected).abs() < 1e-6,
                "{key}, pair {pair}: {found} instead of {expected}"
            );
        }
        let expected = classes(&expect["test_prediction"]);
        assert_eq!(digits.predict(&fit), expected, "{key}");
    }
}

#[test]
fn our_smo_finds_libsvms_solution() {
    reproduces_libsvm(Engine::Smo);
}

#[test]
fn the_libsvm_engine_finds_libsvms_solution() {
    reproduces_libsvm(Engine::Libsvm);
}

#[test]
fn linfa() {
    let digits = digits(Par::Seq);
    for (c, key) in [(1.0, "C=1"), (10.0, "C=10")] {
        let expect = &digits.expect[key];
        let fit = digits.fit(c, 1e-8, Engine::Linfa);
        let intercepts = numbers(&expect["intercept_by_pair"]);
        let worst = fit
            .machine
            .offsets
            .iter()
            .zip(&intercepts)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        println!(
            "worst {worst:e} {:?} {:?} {:?}",
            fit.certificate,
            digits.n_support(&fit),
            digits
                .predict(&fit)
                .iter()
                .zip(classes(&expect["test_prediction"]))
                .filter(|(a, b)| **a != *b)
                .count()
        );
    }
}
