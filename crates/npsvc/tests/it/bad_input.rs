//! Bad parameters and bad samples are refused with a sentence that names them.

use npsvc::ndarray::{Array2, array};
use npsvc::{
    AnyMethod, DataError, FitError, FitOptions, Kernel, Method, Model, Svm, TrainingSet, Width,
};
use serde_json::{Value, json};

use super::support::{Entry, fit, method, methods, pivoted};

fn four() -> Array2<f64> {
    array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]]
}

fn set() -> TrainingSet {
    TrainingSet::new(four(), vec![0, 0, 1, 1], &Kernel::default()).unwrap()
}

fn data_error(set: Result<TrainingSet, DataError>) -> String {
    set.err().unwrap().to_string()
}

fn refused(entry: &Entry, params: &Value, set: &TrainingSet) -> String {
    let model: Result<Model, FitError> = method(entry.name, params).fit(set, FitOptions::default());
    model.unwrap_err().to_string()
}

/// Every number of every method, set to one that is too small.
#[test]
fn numbers_out_of_range_are_named() {
    let mut tried = 0;
    for entry in methods() {
        for (name, default) in entry.defaults.as_object().unwrap() {
            let mut numbers = vec![(name.clone(), default.clone())];
            if let Value::Object(inner) = default {
                let inside =
                    |(key, value): (&String, &Value)| (format!("{name}.{key}"), value.clone());
                numbers = inner.iter().map(inside).collect();
            }
            for (parameter, default) in numbers {
                let bad = match default {
                    Value::Number(number) if number.is_f64() => json!(-1.0),
                    Value::Number(_) => json!(0),
                    _ => continue,
                };
                let params = match parameter.split_once('.') {
                    Some((outer, inner)) => json!({outer: {inner: bad}}),
                    None => json!({&parameter: bad}),
                };
                let error = refused(&entry, &params, &set());
                let expected =
                    format!("bad parameter: `{parameter}` is {}, expected ", bad.as_f64().unwrap());
                assert!(error.starts_with(&expected), "{}: {error}", entry.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 40, "only {tried} parameters");
}

#[test]
fn a_class_without_samples_is_named_by_every_method() {
    let gap = TrainingSet::new(four(), vec![0, 0, 2, 2], &Kernel::default()).unwrap();
    let last = set().with_classes(3).unwrap();
    for entry in methods() {
        for mut params in entry.schemes() {
            entry.set_dimensions(&mut params, 2);
            for (set, class) in [(&gap, 1), (&last, 2)] {
                let expected = format!(
                    "class {class} has no training sample; number the classes 0, 1, .. without gaps"
                );
                assert_eq!(refused(&entry, &params, set), expected, "{}", entry.name);
            }
        }
    }
}

#[test]
fn one_class_is_refused_by_every_method() {
    let set = TrainingSet::new(four(), vec![0; 4], &Kernel::default()).unwrap();
    for entry in methods() {
        assert_eq!(
            refused(&entry, &json!({}), &set),
            "all training samples are of one class, expected at least two classes",
            "{}",
            entry.name
        );
    }
}

/// Their kernel values are infinite, or differences of infinite numbers.
#[test]
fn samples_and_rows_that_are_too_large_are_refused() {
    for (kernel, largest, row) in
        [(Kernel::default(), 1e150, 1e200), (Kernel::Linear, 2.0, f64::MAX)]
    {
        for storage in [npsvc::Storage::default(), pivoted(None, 0.0)] {
            let fit = |x: Array2<f64>| {
                let set = TrainingSet::new(x, vec![0, 1], &kernel).unwrap();
                Svm::default().fit(&set.with_storage(storage).unwrap(), FitOptions::default())
            };
            for x in [array![[1e200], [-1e200]], array![[1e200], [f64::MAX]]] {
                let error = fit(x).err();
                assert_eq!(error, Some(FitError::KernelNotFinite), "{kernel:?} {storage:?}");
            }
            let model = fit(array![[0.0], [largest]]).unwrap();
            let error = model.predict(array![[0.5], [row]].view()).err();
            assert_eq!(error, Some(DataError::KernelNotFinite), "{kernel:?} {storage:?}");
        }
    }
}

/// No memory is asked for in proportion to a label.
#[test]
fn a_huge_label_leaves_classes_without_samples() {
    let set = TrainingSet::new(four(), vec![0, 0, 1, 1 << 60], &Kernel::default()).unwrap();
    for entry in methods() {
        let mut params = json!({});
        entry.set_dimensions(&mut params, 2);
        let error = refused(&entry, &params, &set);
        assert_eq!(
            error, "class 2 has no training sample; number the classes 0, 1, .. without gaps",
            "{}",
            entry.name
        );
    }
}

#[test]
fn a_graph_without_neighbours_is_refused() {
    for entry in methods().iter().filter(|entry| entry.has("graph")) {
        let error = refused(entry, &json!({"graph": {"neighbours": 0}}), &set());
        let expected = "bad parameter: `graph.neighbours` is 0, expected at least 1";
        assert_eq!(error, expected, "{}", entry.name);
    }
}

#[test]
fn samples_and_labels_must_fit() {
    let new = |x, y| TrainingSet::new(x, y, &Kernel::default());
    assert_eq!(data_error(new(four(), vec![0, 1])), "there are 4 samples, but 2 labels");
    assert_eq!(data_error(new(Array2::zeros((0, 2)), vec![])), "there are no training samples");
    assert_eq!(
        data_error(set().with_classes(1)),
        "the label of sample 2 is 1, expected a class below 1"
    );
    assert_eq!(
        data_error(new(four(), vec![0, 0, usize::MAX, 1])),
        format!("the label of sample 2 is {0}, expected a class below {0}", usize::MAX)
    );
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut x = four();
        x[[2, 1]] = bad;
        assert_eq!(
            data_error(new(x, vec![0, 0, 1, 1])),
            format!("row 2, column 1 is {bad}, expected a finite number")
        );
    }
}

#[test]
fn kernels_and_storages_are_checked() {
    let fixed = |width| Kernel::Gaussian { width: Width::Fixed(width) };
    let polynomial = |degree, offset, scale| Kernel::Polynomial { degree, offset, scale };
    for (kernel, expected) in [
        (fixed(0.0), "`width` is 0, expected a number above 0"),
        (fixed(f64::NAN), "`width` is NaN, expected a number above 0"),
        (polynomial(21, 1.0, 1.0), "`degree` is 21, expected a number from 1 to 20"),
        (polynomial(2, f64::INFINITY, 1.0), "`offset` is inf, expected a number of at least 0"),
        (polynomial(2, -200.0, 1.0), "`offset` is -200, expected a number of at least 0"),
        (polynomial(2, 1.0, -0.01), "`scale` is -0.01, expected a number above 0"),
        (polynomial(2, 1.0, 0.0), "`scale` is 0, expected a number above 0"),
        (polynomial(2, 1.0, f64::NAN), "`scale` is NaN, expected a number above 0"),
    ] {
        let expected = format!("bad kernel: {expected}");
        let new = TrainingSet::new(four(), vec![0, 0, 1, 1], &kernel);
        assert_eq!(data_error(new), expected);
        assert_eq!(data_error(set().with_kernel(&kernel)), expected);
    }
    for (storage, expected) in [
        (npsvc::Storage::Full { jitter: -1.0 }, "`jitter` is -1, expected a number of at least 0"),
        (pivoted(Some(0), 0.1), "`rank` is 0, expected at least 1"),
        (pivoted(None, 1.0), "`tolerance` is 1, expected a number of at least 0, below 1"),
    ] {
        let error = data_error(set().with_storage(storage));
        assert_eq!(error, format!("bad storage: {expected}"));
    }
}

#[test]
fn rows_to_predict_are_checked() {
    let model = fit("svm", &json!({}), &set(), 0);
    let wide = Array2::zeros((1, 3));
    let expected = "the rows have 3 features, but the training samples have 2";
    let error = |error: DataError| error.to_string();
    assert_eq!(model.predict(wide.view()).map_err(error), Err(expected.to_owned()));
    assert_eq!(model.decision(wide.view()).map_err(error), Err(expected.to_owned()));
    assert_eq!(model.transform(wide.view()).map_err(error), Err(expected.to_owned()));
    assert_eq!(data_error(set().cross(wide.view()).map(|_| set())), expected);
    assert_eq!(
        model.predict(array![[0.0, 1.0], [f64::NAN, 0.0]].view()).map_err(error),
        Err("row 1, column 0 is NaN, expected a finite number".to_owned())
    );
    assert_eq!(model.predict(Array2::zeros((0, 2)).view()), Ok(vec![]));
}

#[test]
fn a_learned_representation_needs_a_large_enough_factor() {
    let set = set().with_storage(pivoted(Some(2), 0.0)).unwrap();
    let method = method("k-npsvcpp", &json!({"d": 3}));
    assert_eq!(
        method.fit(&set, FitOptions::default()).unwrap_err().to_string(),
        "bad parameter: `d` is 3, expected at most 2, the rank of the kernel's factor for the training samples"
    );
}

#[test]
fn a_check_without_samples_leaves_the_samples_out() {
    for method in AnyMethod::all() {
        assert!(method.check(None).is_ok());
    }
    assert!(Svm::default().check(Some(set().shape())).is_ok());
}

#[test]
fn a_representation_has_at_least_one_dimension() {
    for d in [npsvc::Dimension::Fixed(0), npsvc::Dimension::PerClass(0)] {
        let method = npsvc::KNpsvcpp { d, ..npsvc::KNpsvcpp::default() };
        let error = method.fit(&set(), FitOptions::default()).unwrap_err().to_string();
        assert_eq!(error, format!("bad parameter: `d` is {d}, expected at least 1"));
    }
}

#[test]
fn kernel_values_of_another_set_are_refused() {
    let model = Svm::default().fit(&set(), FitOptions::default()).unwrap();
    let cross = set().cross(four().view()).unwrap();
    assert_eq!(model.predict_from(&cross).unwrap_err(), DataError::OtherSet);
    assert_eq!(model.decision_from(&cross).unwrap_err(), DataError::OtherSet);
}

/// The hyperplane of class 0 needs to be far from zero at samples where the linear kernel is zero.
#[test]
fn a_zero_hyperplane_is_refused() {
    let x = array![[1.0, 2.0], [2.0, 1.0], [0.0, 0.0], [0.0, 0.0]];
    let set = |x: Array2<f64>| TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::Linear).unwrap();
    for storage in [npsvc::Storage::default(), pivoted(None, 0.0)] {
        for name in ["twsvm", "npsvm", "pintwsvm", "lstwsvm", "ctwsvm", "gepsvm"] {
            let set = set(x.clone()).with_storage(storage).unwrap();
            let model = method(name, &json!({})).fit(&set, FitOptions::default());
            assert_eq!(model.err(), Some(FitError::ZeroHyperplane { class: 0 }), "{name}");
        }
    }
    for entry in methods().iter().filter(|entry| entry.is_nonparallel()) {
        for mut params in entry.schemes() {
            entry.set_dimensions(&mut params, 1);
            let model =
                method(entry.name, &params).fit(&set(Array2::zeros((4, 2))), FitOptions::default());
            let is_zero = matches!(model, Err(FitError::ZeroHyperplane { .. }));
            assert!(is_zero, "{} {params}", entry.name);
        }
    }
}

/// Kernel values and coefficients are finite, but their products are not.
#[test]
fn decisions_that_overflow_are_refused() {
    let x = array![[1e-5], [-1e-5]];
    let set = TrainingSet::new(x, vec![0, 1], &Kernel::Linear).unwrap();
    let set = set.with_storage(npsvc::Storage::Full { jitter: 0.0 }).unwrap();
    let model = Svm { c: 1e300, ..Svm::default() }.fit(&set, FitOptions::default()).unwrap();
    assert_eq!(model.predict(array![[1e-5]].view()), Ok(vec![0]));
    let rows = array![[0.0], [1e308]];
    let expected = DataError::DecisionNotFinite { row: 1 };
    assert_eq!(model.predict(rows.view()), Err(expected.clone()));
    assert_eq!(model.decision(rows.view()), Err(expected));
}
