//! The methods as linfa learners.

use npsvc::learner::{FittedLearner, Learner};
use npsvc::linfa::prelude::*;
use npsvc::linfa::{Dataset, DatasetBase, ParamGuard};
use npsvc::ndarray::{Array1, Array2, array};
use npsvc::{KNpsvcpp, Kernel, Storage, Svm, Twsvm, Width};

use super::digits::{Digits, labels, numbers, reference};
use super::support::pivoted;

fn four() -> Array2<f64> {
    array![[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]]
}

fn error(learner: Learner<Svm>, x: Array2<f64>, y: Array1<usize>) -> String {
    let outcome = learner.fit(&Dataset::new(x, y));
    outcome.expect_err("this is not a training set").to_string()
}

#[test]
fn labels_may_be_any_numbers() {
    let y = array![usize::MAX, usize::MAX, 7, 7];
    let dataset = Dataset::new(four(), y.clone());
    let fitted: FittedLearner = Learner::new(Svm::default()).fit(&dataset).unwrap();
    assert_eq!(fitted.labels(), [7, usize::MAX]);
    assert_eq!(fitted.predict(&four()), y);
    assert_eq!(fitted.model().machine().coefficients.nrows(), 4);
}

#[test]
fn views_and_every_kernel_work() {
    let polynomial = Kernel::Polynomial { degree: 3, offset: 1.0, scale: 1.0 };
    let (x, y) = (four(), array![0, 0, 1, 1]);
    let dataset = DatasetBase::new(x.view(), y.view());
    for kernel in [Kernel::default(), Kernel::Linear, polynomial] {
        let learner = Learner::<Svm>::default().kernel(kernel.clone());
        let fitted = learner.threads(1).fit(&dataset).unwrap();
        assert_eq!(fitted.predict(&x.view()), y, "{kernel:?}");
    }
}

#[test]
fn storage_and_seed_are_used() {
    let digits = Digits::load();
    let dataset = Dataset::new(digits.x_train, Array1::from(digits.y_train));
    let learner = Learner::new(Twsvm::default()).storage(pivoted(Some(30), 0.0));
    let fitted = learner.fit(&dataset).unwrap();
    assert_eq!(fitted.model().support().len(), 30);
    let [one, same, other] = [1, 1, 2].map(|seed| {
        let learner = Learner::new(KNpsvcpp::default()).seed(seed).threads(1);
        learner.fit(&dataset).unwrap().model().trace().to_vec()
    });
    assert_eq!(one, same);
    assert_ne!(one, other);
}

#[test]
fn bad_parameters_are_named_before_anything_is_computed() {
    let learner = Learner::<Svm>::default;
    let fixed = |width| Kernel::Gaussian { width: Width::Fixed(width) };
    let polynomial = |degree, scale| Kernel::Polynomial { degree, offset: 1.0, scale };
    let bad_c = Svm { c: 0.0, ..Svm::default() };
    let cases = [
        (Learner::new(bad_c), "c"),
        (learner().storage(Storage::Full { jitter: -1.0 }), "jitter"),
        (learner().storage(pivoted(Some(0), 0.0)), "rank"),
        (learner().kernel(fixed(0.0)), "width"),
        (learner().kernel(polynomial(0, 1.0)), "degree"),
        (learner().kernel(polynomial(2, f64::NAN)), "scale"),
    ];
    for (learner, parameter) in cases {
        assert_eq!(learner.check_ref().unwrap_err().parameter, parameter);
        let text = error(learner, four(), array![0, 0, 1, 1]);
        assert!(text.starts_with(&format!("bad parameter: `{parameter}` is ")), "{text}");
    }
    assert!(learner().check().is_ok());
}

#[test]
fn bad_training_sets_are_explained() {
    let learner = Learner::<Svm>::default;
    let none = error(learner(), Array2::zeros((0, 2)), array![]);
    assert_eq!(none, "there are no training samples");
    let one = error(learner(), four(), array![4, 4, 4, 4]);
    assert_eq!(one, "all training samples are of one class, expected at least two classes");
    let short = error(learner(), four(), array![0, 1]);
    assert_eq!(short, "there are 4 samples, but 2 labels");
    let mut x = four();
    x[[2, 1]] = f64::NAN;
    let holes = error(learner(), x, array![0, 0, 1, 1]);
    assert_eq!(holes, "row 2, column 1 is NaN, expected a finite number");
}

#[test]
fn rows_of_another_width_are_an_error() {
    let dataset = Dataset::new(four(), array![0, 0, 1, 1]);
    let fitted = Learner::<Svm>::default().fit(&dataset).unwrap();
    let error = fitted.try_predict(Array2::zeros((1, 3)).view());
    assert_eq!(
        error.unwrap_err().to_string(),
        "the rows have 3 features, but the training samples have 2"
    );
    let nothing = fitted.try_predict(Array2::zeros((0, 2)).view()).unwrap();
    assert!(nothing.is_empty());
}

#[test]
fn a_dataset_of_linfa_leads_to_libsvms_predictions() {
    let digits = Digits::load();
    let y_test = labels(&reference("k_npsvcpp_digits300.json")["y_test"]);
    let expect = &reference("nonparallel_digits300.json")["expect"]["svm"];
    // As in the file, 1 to 10.
    let named = |classes: &[usize]| classes.iter().map(|class| class + 1).collect::<Array1<_>>();
    let train = Dataset::new(digits.x_train, named(&digits.y_train));
    let test = Dataset::new(digits.x_test, named(&y_test));
    for (c, key) in [(1.0, "C=1"), (10.0, "C=10")] {
        let svm = Svm { c, tolerance: 1e-8, ..Svm::default() };
        let fitted = Learner::new(svm).fit(&train).unwrap();
        assert!(fitted.model().certificate().converged());
        assert!(fitted.model().trace().is_empty());
        assert_eq!(fitted.labels(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);

        let predicted = fitted.predict(&test);
        let expected = numbers(&expect[key]["test_prediction"]);
        let expected: Vec<usize> = expected.into_iter().map(|label| label as usize).collect();
        assert_eq!(predicted.to_vec(), expected, "{key}");
        let accuracy = predicted.confusion_matrix(&test).unwrap().accuracy();
        let percent = expect[key]["test_accuracy_percent"].as_f64().unwrap();
        assert!((100.0 * f64::from(accuracy) - percent).abs() < 1e-4);
    }
}
