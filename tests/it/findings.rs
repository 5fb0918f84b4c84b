//! Every number in the text of docs/findings.md is that of a folder in `results/`.

use std::fs;

use serde_json::Value;

use crate::published::{DATASETS, Line, OURS, Table, ledger, number, read_csv, root};

/// Phrases with numbers that are not results.
const NOT_RESULTS: [&str; 11] = [
    "ICML 2024",
    "Table 2",
    "Table 3",
    "over 10 splits",
    "level 0.05",
    "with 10 random splits",
    "12 points per method",
    "The limit of 10 iterations",
    "The paper reports 5 iterations",
    "in 20 iterations",
    "up to 0.1",
];

/// The text outside the generated parts, in one line and without the targets of links.
fn prose() -> String {
    let text = fs::read_to_string(root().join("docs/findings.md")).unwrap();
    let mut rest = &*text;
    let mut prose = String::new();
    while let Some((before, after)) = rest.split_once("<!-- begin: ") {
        prose += before;
        let end = after.split_once("<!-- end: ").expect("an end").1;
        rest = end.split_once("-->").expect("an end").1;
    }
    prose += rest;
    let linked = prose.split("](").enumerate().map(|(i, part)| {
        if i == 0 { part } else { part.split_once(')').expect("the end of a link").1 }
    });
    let without_targets: String = linked.collect::<Vec<_>>().join("]");
    let words: Vec<&str> = without_targets.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn every_number_is_that_of_a_folder() {
    let text = prose();
    let mut rest = text.clone();
    let results = [answer(), table2(), schemes(), training(), hyperparameters(), table3()];
    for phrase in results.into_iter().flatten().chain(NOT_RESULTS.map(str::to_owned)) {
        assert!(text.contains(&phrase), "docs/findings.md lacks: {phrase}");
        rest = rest.replace(&phrase, "");
    }
    let is_number = |word: &&str| word.parse::<f64>().is_ok();
    let words =
        rest.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let numbers: Vec<&str> = words.filter(is_number).collect();
    assert!(numbers.is_empty(), "numbers of docs/findings.md without a source: {numbers:?}");
}

fn answer() -> Vec<String> {
    let (fixed, tuned) = (Table::read("table2"), Table::read("table2-tuned"));
    let [confirmed, open, contradicted] = tuned.leads("p_corrected");
    let (compared, different) = nonparallel_comparisons();
    vec![
        format!("all {} accuracies of K-NPSVC++ in Table 2 are reproduced", DATASETS.len()),
        format!(
            "ahead in {} of {} comparisons of Table 2. The corrected test confirms {confirmed} of these leads when all methods \
             are tuned, and {} with fixed parameters",
            confirmed + open + contradicted,
            tuned.verdicts(|line| line["label"] != OURS).iter().sum::<usize>(),
            fixed.leads("p_corrected")[0],
        ),
        format!(
            "a difference in {} of {compared} comparisons with a nonparallel method",
            different.len()
        ),
    ]
}

/// The comparisons of K-NPSVC++ with nonparallel methods of the same scheme, all tuned: their number, and those with a
/// significant difference.
fn nonparallel_comparisons() -> (usize, Vec<Line>) {
    let mut all = Vec::new();
    for (folder, suffix) in
        [("fair-comparison", " rvo tuned"), ("fair-comparison-ovr", " ovr tuned")]
    {
        let table = Table::read(folder);
        all.extend(table.0.into_iter().filter(|line| {
            line["label"].ends_with(suffix)
                && !line["label"].starts_with(OURS)
                && !line["mean"].is_empty()
        }));
    }
    let compared = all.len();
    all.retain(|line| number(line, "p_corrected").expect("a comparison") < 0.05);
    (compared, all)
}

fn table2() -> Vec<String> {
    let (fixed, tuned) = (Table::read("table2"), Table::read("table2-tuned"));
    let accuracies = DATASETS.map(|(dataset, name)| {
        let (mean, paper) = (tuned.mean(dataset, OURS), tuned.paper(dataset, OURS));
        assert_eq!(tuned.line(dataset, OURS)["verdict"], "reproduced");
        format!("{name} {mean:.2} (paper {paper:.2})")
    });
    assert_eq!(fixed.line("20news", OURS)["verdict"], "lower");
    let [_, higher, lower] = tuned.verdicts(|line| line["label"] != OURS);
    assert_eq!(lower, 0);
    for dataset in ["pendigits", "binalpha"] {
        let line = tuned.line(dataset, "SVM");
        assert!(number(line, "p_corrected").unwrap() < 0.05);
        assert!(number(line, "reference_minus_method").unwrap() < 0.0);
    }
    let (rank, difference) = ranks();
    vec![
        format!(
            "{}. With fixed parameters, 20News is lower: {:.2}.",
            accuracies.join(", "),
            fixed.mean("20news", OURS)
        ),
        format!(
            "All {higher} higher numbers are of rivals. SVM has {:.2} on Pendigits (paper {:.2}) and {:.2} on BinAlpha (paper \
             {:.2}), significantly more than K-NPSVC++: these are the {} contradicted leads.",
            tuned.mean("pendigits", "SVM"),
            tuned.paper("pendigits", "SVM"),
            tuned.mean("binalpha", "SVM"),
            tuned.paper("binalpha", "SVM"),
            tuned.leads("p_corrected")[2],
        ),
        format!(
            "the best average rank, {rank:.2} of {}. But with five datasets, average ranks must differ by {difference:.2} to be \
             significant.",
            tuned.labels().len()
        ),
    ]
}

/// The average rank of K-NPSVC++ in `results/table2-tuned`, and the critical difference.
fn ranks() -> (f64, f64) {
    let lines = read_csv("results/table2-tuned/figures/critical-difference.csv");
    let rank = |line: &Line| number(line, "average_rank").expect("a rank");
    let ours = lines.iter().find(|line| line["label"] == OURS).expect("K-NPSVC++");
    let is_best = lines.iter().all(|line| rank(line) >= rank(ours));
    assert!(is_best, "K-NPSVC++ does not have the best rank");
    (rank(ours), number(ours, "critical_difference").expect("a critical difference"))
}

fn schemes() -> Vec<String> {
    let (_, different) = nonparallel_comparisons();
    let [only] = &*different else { panic!("expected one difference: {different:?}") };
    assert_eq!((&*only["dataset"], &*only["label"]), ("pendigits", "pinTWSVM ovr tuned"));
    let fair = Table::read("fair-comparison");
    let change = |method: &str| {
        let mean = |scheme: &str| fair.mean("binalpha", &format!("{method} {scheme}"));
        format!("{method} from {:.2} to {:.2}", mean("ovr"), mean("rvo"))
    };
    let tuned = Table::read("table2-tuned");
    vec![
        format!(
            "pinTWSVM, ovr, on Pendigits ({:.2} points, p = {:.3};",
            number(only, "reference_minus_method").unwrap(),
            number(only, "p_corrected").unwrap()
        ),
        format!(
            "On BinAlpha, the paper's lead over TWSVM is {:.2} points.",
            tuned.paper("binalpha", OURS) - tuned.paper("binalpha", "TWSVM")
        ),
        format!("rvo raises {} and {}.", change("TWSVM"), change(OURS)),
    ]
}

fn training() -> Vec<String> {
    let (single, iterations) = iterations_with_one_class();
    let mut fits = ledger("table2");
    fits.retain(|line| line["method"] == "k-npsvcpp" && line["status"] == "ok");
    let limited = fits.iter().filter(|line| line["certificate"]["converged"] == false).count();
    let curve = read_csv("results/fig-convergence/figures/convergence.csv");
    let [rvo, ovr] = ["rvo", "ovr"].map(|scheme| {
        let is_of = |line: &&Line| line["label"] == format!("{OURS}, {scheme}");
        let accuracies = curve.iter().filter(is_of).map(|line| number(line, "accuracy").unwrap());
        let accuracies: Vec<f64> = accuracies.collect();
        assert_eq!(accuracies.len(), 20);
        format!("from {:.1} to {:.1} ({scheme})", accuracies[0], accuracies[19])
    });
    vec![
        format!("in {single} of {iterations} iterations"),
        format!("ends {limited} of {} fits", fits.len()),
        format!("the accuracy goes {rvo} and {ovr}"),
    ]
}

/// Iterations of `results/table2` in which one class has all the weight, of all.
fn iterations_with_one_class() -> (usize, usize) {
    let (mut single, mut all) = (0, 0);
    for entry in fs::read_dir(root().join("results/table2/traces")).unwrap() {
        for line in fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let Some(weights) = row["tau_star"].as_array() else { continue };
            let largest = weights.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
            all += 1;
            single += usize::from(largest > 1.0 - 1e-9);
        }
    }
    (single, all)
}

fn hyperparameters() -> Vec<String> {
    let [binalpha, flowers] = ["fig-hyper-binalpha", "fig-hyper-flw102"].map(|folder| {
        let is_r1 = |line: &Line| line["label"] == "r1 and r2";
        [
            range(folder, |line| is_r1(line) && number(line, "value").is_some_and(|r1| r1 < 1.0)),
            range(folder, |line| is_r1(line) && number(line, "value") == Some(100.0)),
            range(folder, |line| !is_r1(line)),
        ]
    });
    let [small, large, others] = binalpha;
    vec![
        format!(
            "{small} for `r1` up to 0.1, {large} for `r1: 100`, and {others} over the other parameters"
        ),
        format!("these three ranges are {}, {}, and {}", flowers[0], flowers[1], flowers[2]),
    ]
}

/// The smallest and the largest accuracy among the points of `results/FOLDER` that `is_wanted`.
fn range(folder: &str, is_wanted: impl Fn(&Line) -> bool) -> String {
    let lines = read_csv(&format!("results/{folder}/figures/hyperparameters.csv"));
    let wanted = lines.iter().filter(|line| is_wanted(line));
    let accuracies: Vec<f64> = wanted.filter_map(|line| number(line, "accuracy")).collect();
    let smallest = accuracies.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = accuracies.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{smallest:.2} to {largest:.2}")
}

fn table3() -> Vec<String> {
    let dataset = "flowers102-resnet34";
    let kernels = ["table3-kernel", "table3-kernel-wide"].map(Table::read);
    let best = |table: &Table, label: &str| {
        let mean = table.mean(dataset, label);
        let mut means = table.0.iter().filter_map(|line| number(line, "mean"));
        assert!(means.all(|other| other <= mean), "{label} is not the best");
        mean
    };
    let networks = Table::read("table3-flowers");
    let trainings = |line: &Line| line["n_splits"].parse::<usize>().expect("a count");
    assert!(networks.0.iter().all(|line| trainings(line) <= 1), "not trained once");
    let ablation = Table::read("fig-ablation");
    let part = |label: &str| ablation.mean("flowers102-resnet50", &format!("D-NPSVC++: {label}"));
    vec![
        format!(
            "In the paper, TWSVM has {:.2} and K-NPSVC++ {:.2}.",
            kernels[0].paper(dataset, "TWSVM ovr"),
            kernels[0].paper(dataset, "K-NPSVC++ ovr")
        ),
        format!(
            "with the first grids, pinTWSVM ovr ({:.2}); with the second, K-NPSVC++ rvo ({:.2}).",
            best(&kernels[0], "pinTWSVM ovr tuned"),
            best(&kernels[1], "K-NPSVC++ rvo tuned")
        ),
        format!(
            "{} of {} trainings are done",
            networks.0.iter().map(trainings).sum::<usize>(),
            3 * networks.0.len()
        ),
        format!(
            "`phi` alone has {:.2}, `z` alone {:.2} and both together {:.2}",
            part("phi only"),
            part("z only"),
            part("z and phi")
        ),
    ]
}
