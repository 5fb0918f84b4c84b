//! The statistics agree with SciPy's, and keep the promises of the tests for any numbers.

use npsvcpp::stats::{
    WinTieLoss, average_ranks, cohens_dz, corrected_t, friedman, holm, mean, paired_t,
    pairwise_signed_rank, signed_rank, standard_deviation,
};
use proptest::prelude::*;
use serde_json::Value;

const TOLERANCE: f64 = 1e-10;

#[track_caller]
fn close(ours: f64, expected: f64) {
    let scale = expected.abs().max(f64::MIN_POSITIVE);
    let error = (ours - expected).abs() / scale;
    assert!(
        error <= TOLERANCE || ours == expected,
        "{ours} is not {expected}: relative error {error:e}"
    );
}

fn reference() -> Value {
    serde_json::from_str(include_str!("../reference/statistics.json")).expect("reference is JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(number).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn two_methods_on_common_splits() {
    let reference = reference();
    let against = numbers(&reference["accuracies"]["k-npsvcpp"]);
    let ratio = number(&reference["n_test"]) / number(&reference["n_train"]);
    let expectations = reference["expect"].as_object().expect("an object");
    assert_eq!(expectations.len(), 3);
    for (method, expect) in expectations {
        let rival = numbers(&reference["accuracies"][method]);
        let d: Vec<f64> = against.iter().zip(&rival).map(|(a, b)| a - b).collect();
        let naive = paired_t(&d).expect("ten differences");
        close(naive.mean_difference, number(&expect["mean_difference"]));
        close(naive.t, number(&expect["t"]));
        close(naive.p, number(&expect["p"]));
        let corrected = corrected_t(&d, ratio).expect("ten differences");
        close(corrected.t, number(&expect["t_corrected"]));
        close(corrected.p, number(&expect["p_corrected"]));
        let wilcoxon = signed_rank(&d).expect("ten differences");
        close(wilcoxon.w, number(&expect["wilcoxon_w"]));
        close(wilcoxon.p, number(&expect["wilcoxon_p"]));
        close(cohens_dz(&d).expect("spread"), number(&expect["cohens_dz"]));
    }
}

#[test]
fn many_methods_over_many_datasets() {
    let across = &reference()["across"];
    let rows: Vec<Vec<f64>> = across["rows_are_datasets"]
        .as_array()
        .expect("a list of rows")
        .iter()
        .map(numbers)
        .collect();
    let test = friedman(&rows).expect("eight datasets, four methods");
    close(test.chi2, number(&across["friedman_chi2"]));
    close(test.p, number(&across["friedman_p"]));
    let ranks = average_ranks(&rows).expect("eight datasets");
    for (ours, expected) in ranks.iter().zip(numbers(&across["average_ranks_1_is_best"])) {
        close(*ours, expected);
    }

    let tested = pairwise_signed_rank(&rows);
    let pairs = across["pairwise_wilcoxon_holm"].as_array().expect("pairs");
    assert_eq!(tested.len(), pairs.len());
    for pair in pairs {
        let column = |key: &str| pair[key].as_u64().expect("an index") as usize;
        let ours = tested
            .iter()
            .find(|ours| (ours.first, ours.second) == (column("i"), column("j")))
            .expect("every pair is tested");
        close(ours.p, number(&pair["p"]));
        close(ours.adjusted, number(&pair["p_holm"]));
    }
    assert!(pairwise_signed_rank(&[]).is_empty());
}

/// The ends of SciPy's `ttest_1samp(d).confidence_interval(0.95)`, and of the same interval with the
/// corrected standard error.
#[test]
fn intervals_of_the_mean_difference() {
    let reference = reference();
    let against = numbers(&reference["accuracies"]["k-npsvcpp"]);
    let ratio = number(&reference["n_test"]) / number(&reference["n_train"]);
    for (method, plain, corrected) in [
        (
            "svm",
            (0.7765996206787086, 1.788460379321294),
            (-0.11832778728181292, 2.6833877872818155),
        ),
        (
            "twsvm",
            (0.2546426289658245, 0.728357371034174),
            (-0.16432836344683938, 1.1473283634468379),
        ),
        (
            "npsvm",
            (-0.22828825287701157, 0.1676282528770158),
            (-0.5784515824032553, 0.5177915824032596),
        ),
    ] {
        let rival = numbers(&reference["accuracies"][method]);
        let d: Vec<f64> = against.iter().zip(&rival).map(|(a, b)| a - b).collect();
        for (ratio, expected) in [(0.0, plain), (ratio, corrected)] {
            let test = corrected_t(&d, ratio).expect("ten differences");
            let (low, high) = test.interval(0.95).expect("a level");
            assert!((low - expected.0).abs() < 1e-9, "{low} {expected:?}");
            assert!((high - expected.1).abs() < 1e-9, "{high} {expected:?}");
        }
    }
}

#[test]
fn the_last_method_wins_most_datasets() {
    let across = &reference()["across"];
    let rows = across["rows_are_datasets"].as_array().expect("rows");
    let rows: Vec<Vec<f64>> = rows.iter().map(numbers).collect();
    let against = |rival: usize| rows.iter().map(move |row| row[3] - row[rival]);
    assert_eq!(WinTieLoss::of(against(0), 0.0).to_string(), "7/0/1");
    assert_eq!(WinTieLoss::of(against(1), 0.0).to_string(), "6/0/2");
    assert_eq!(WinTieLoss::of(against(1), 1.0).to_string(), "5/2/1");
}

/// Expected values from SciPy 1.17.1, `wilcoxon` and `friedmanchisquare` with their defaults.
#[test]
fn ties_zeros_and_many_differences() {
    let tied = signed_rank(&[1.0, 1.0, -1.0, 2.0, 2.0, -3.0, 0.0, 4.0, 0.5]).expect("values");
    assert_eq!((tied.n, tied.w), (8, 10.0));
    close(tied.p, 0.3046875);

    let untied: Vec<f64> =
        (0..30).map(|i| f64::from(i * 7919 % 101 - 40) * 0.01 + f64::from(i) * 1e-4).collect();
    let exact = signed_rank(&untied).expect("values");
    assert_eq!((exact.n, exact.w), (30, 156.0));
    close(exact.p, 0.11907656863331795);

    let many: Vec<f64> = (0..70).map(|i| f64::from(i * 37 % 23 - 8) * 0.25).collect();
    let approximate = signed_rank(&many).expect("values");
    assert_eq!((approximate.n, approximate.w), (67, 635.5));
    close(approximate.p, 0.0016457061805845376);

    let rows = [
        vec![1.0, 2.0, 2.0, 3.0],
        vec![2.0, 2.0, 1.0, 4.0],
        vec![3.0, 3.0, 3.0, 1.0],
        vec![1.0, 4.0, 2.0, 2.0],
        vec![5.0, 1.0, 1.0, 1.0],
    ];
    let test = friedman(&rows).expect("five rows of four");
    close(test.chi2, 1.0);
    close(test.p, 0.8012519569012005);
}

#[test]
fn far_tails_keep_their_digits() {
    // Two differences leave one degree of freedom, the Cauchy distribution: p = 2 atan(1/t) / pi.
    let test = paired_t(&[1.0, 1.0 + 1e-6]).expect("two differences");
    close(test.p, 2.0 / std::f64::consts::PI * (1.0 / test.t).atan());
}

fn differences() -> impl Strategy<Value = Vec<f64>> {
    // Accuracies of small test sets come in steps, so ties and zeros are common.
    prop_oneof![
        prop::collection::vec(-20.0..20.0, 2..30),
        prop::collection::vec((-8_i32..8).prop_map(|steps| f64::from(steps) * 0.25), 2..70),
    ]
}

proptest! {
    #[test]
    fn tests_are_symmetric_and_p_is_a_probability(d in differences(), ratio in 0.0..3.0) {
        let swapped: Vec<f64> = d.iter().map(|value| -value).collect();
        let (test, mirrored) = (corrected_t(&d, ratio).unwrap(), corrected_t(&swapped, ratio).unwrap());
        prop_assert!((0.0..=1.0).contains(&test.p));
        prop_assert_eq!(test.t, -mirrored.t);
        prop_assert_eq!(test.p, mirrored.p);
        let (test, mirrored) = (signed_rank(&d).unwrap(), signed_rank(&swapped).unwrap());
        prop_assert!((0.0..=1.0).contains(&test.p));
        prop_assert_eq!(test, mirrored);
        prop_assert_eq!(cohens_dz(&d).unwrap(), -cohens_dz(&swapped).unwrap());
    }

    #[test]
    fn the_correction_never_makes_a_test_more_significant(d in differences(), ratio in 0.0..3.0) {
        let (naive, corrected) = (paired_t(&d).unwrap(), corrected_t(&d, ratio).unwrap());
        prop_assert!(corrected.t.abs() <= naive.t.abs());
        prop_assert!(corrected.p >= naive.p * (1.0 - 1e-12));
    }

    #[test]
    fn order_and_shift_leave_the_spread_alone(d in differences(), shift in -5.0..5.0_f64) {
        let moved: Vec<f64> = d.iter().rev().map(|value| value + shift).collect();
        let (a, b) = (standard_deviation(&d).unwrap(), standard_deviation(&moved).unwrap());
        prop_assert!((a - b).abs() <= 1e-9 * (1.0 + a));
        prop_assert!((mean(&moved).unwrap() - mean(&d).unwrap() - shift).abs() <= 1e-9);
    }

    #[test]
    fn adjusted_p_values_are_never_smaller(p in prop::collection::vec(0.0..=1.0, 0..20)) {
        for (before, after) in p.iter().zip(holm(&p)) {
            prop_assert!((*before..=1.0).contains(&after));
        }
    }

    #[test]
    fn ranks_of_a_row_add_up(rows in prop::collection::vec(prop::collection::vec(0.0..100.0, 5), 2..10)) {
        let sum: f64 = average_ranks(&rows).unwrap().iter().sum();
        prop_assert!((sum - 15.0).abs() < 1e-9);
        let p = friedman(&rows).unwrap().p;
        prop_assert!((0.0..=1.0).contains(&p));
    }
}
