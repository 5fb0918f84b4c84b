//! How an experiment was set up, in words: its splits, its kernel, its parameters and how they were chosen.

use serde_json::Value;

use super::summary::{Row, Summary};
use super::text::{counted, listed};
use crate::ledger::{Plan, PlannedDataset, PlannedMethod};
use crate::spec::{Factor, Protocol, Search, Select, SelectOn};
use npsvc::{Kernel, Width};

/// The name of the protocol that the experiment declares.
pub fn name(summary: &Summary) -> &'static str {
    match summary.plan.experiment.protocol {
        Some(Protocol::Paper) => "paper",
        Some(Protocol::Tuned) => "tuned",
        None => "–",
    }
}

/// What the declared protocol is, if the settings confirm it.
pub fn declared(summary: &Summary) -> Option<&'static str> {
    const NOT_ALIKE: [&str; 3] = ["chosen-on-test", "unequal-budgets", "partly-tuned"];
    let is_doubtful = summary.cautions().iter().any(|caution| NOT_ALIKE.contains(caution));
    let is_tuned = summary.columns.iter().any(|column| column.points > 1);
    Some(match summary.plan.experiment.protocol? {
        Protocol::Paper if !is_tuned => "Protocol paper: one documented, fixed setting per method.",
        Protocol::Paper => "Declared as protocol paper, but methods are tuned: see the warnings.",
        Protocol::Tuned if is_tuned && !is_doubtful => {
            "Protocol tuned: the same budget of cross-validation on training data for every method."
        }
        Protocol::Tuned => {
            "Declared as protocol tuned, but not all methods are tuned alike on training data: see the warnings."
        }
    })
}

/// The settings that all methods share.
pub fn settings(plan: &Plan) -> Vec<(&'static str, String)> {
    let experiment = &plan.experiment;
    let splits = format!("{}; the same for every method", splits(plan));
    let mut entries = vec![("seed", experiment.seed.to_string()), ("splits", splits)];
    if is_split_at_random(plan) {
        let stratified = match experiment.splits.stratified {
            true => "yes: random splits keep the shares of the classes",
            false => "no: random splits ignore the classes",
        };
        entries.push(("stratified", stratified.to_owned()));
    }
    if !plan.methods.iter().all(PlannedMethod::is_network) {
        entries.push(("kernel", kernel(&experiment.kernel)));
        entries.push(("jitter", experiment.jitter.to_string()));
        entries.extend(factor(&experiment.factor).map(|words| ("kernel matrix", words)));
    }
    entries.push(("choice of parameters", selection(plan)));
    if let Some(compare) = &experiment.compare {
        let levels: Vec<String> = compare.levels.iter().map(f64::to_string).collect();
        let levels = levels.join(" and ");
        entries.push(("tests", format!("against {}, levels {levels}", compare.against)));
    }
    entries
}

/// What differs from the experiment behind the paper's table.
pub fn deviations(summary: &Summary) -> Vec<String> {
    if summary.paper.is_none() {
        return Vec::new();
    }
    let splits = &summary.plan.experiment.splits;
    let is_usual = splits.repeats == 10 && splits.train_fraction == 0.6;
    let mut found = vec![
        "The paper does not say how its hyperparameters were chosen; ours are those above.",
        "The paper does not say which multi-class scheme its rivals use, nor which multi-class SVM; see the schemes \
         above. Our SVM is one versus one.",
    ];
    if !is_usual && is_split_at_random(&summary.plan) {
        found.push("The paper has 10 random splits with 60 % for training.");
    }
    let others = summary.rows.iter().filter(|row| row.other_problem).map(|row| {
        format!("{}: the problem differs from the paper's, see the warnings.", row.dataset)
    });
    found.into_iter().map(str::to_owned).chain(others).collect()
}

fn available(plan: &Plan) -> impl Iterator<Item = &PlannedDataset> {
    plan.datasets.iter().filter(|dataset| dataset.unavailable.is_none())
}

/// Whether any of the datasets is split at random, or none was found.
fn is_split_at_random(plan: &Plan) -> bool {
    available(plan).next().is_none() || available(plan).any(|dataset| !plan.has_own_split(dataset))
}

/// `10 random splits of each dataset with 60 % for training`.
pub(super) fn splits(plan: &Plan) -> String {
    let splits = &plan.experiment.splits;
    let own = available(plan).filter(|dataset| plan.has_own_split(dataset));
    let own: Vec<&str> = own.map(|dataset| dataset.name.as_str()).collect();
    let random = format!(
        "{} of each dataset with {} % for training{}",
        counted(splits.repeats, "random split"),
        (splits.train_fraction * 1e4).round() / 1e2,
        if splits.stratified { ", stratified" } else { "" },
    );
    match (is_split_at_random(plan), own.as_slice()) {
        (false, [only]) => format!("the predefined split of {only}"),
        (false, _) => "the predefined split of each dataset".to_owned(),
        (true, []) => random,
        (true, [only]) => format!("{random}, except for {only}, which has a predefined split"),
        (true, _) => format!("{random}, except for {}, which have predefined splits", listed(&own)),
    }
}

/// What each dataset is, and its size.
pub fn data<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let described = rows.into_iter().map(|row| {
        let title = row.manifest.map_or(String::new(), |manifest| format!("{}, ", manifest.title));
        format!("{} ({title}{})", row.data.name, row.size())
    });
    format!("Data: {}.", listed(&described.collect::<Vec<_>>()))
}

/// How tuned parameters were chosen.
fn selection(plan: &Plan) -> String {
    let is_tuned = plan.methods.iter().any(|method| method.points > 1);
    match &plan.experiment.select {
        Some(select) if is_tuned => format!("{}; {}", criterion(select), tried(select)),
        _ => "none: all parameters are fixed".to_owned(),
    }
}

fn criterion(select: &Select) -> String {
    let once = if select.once { ", once per dataset on its first split" } else { "" };
    let part = select.subsample.map_or(String::new(), |n| format!(", at most {n} of them"));
    match select.on {
        SelectOn::Test => format!("by the accuracy on THE TEST SAMPLES of the split{once}"),
        SelectOn::Validation => format!(
            "by the accuracy on the dataset's own validation samples, after a fit on all training samples{once}"
        ),
        SelectOn::Training => format!(
            "by {}-fold cross-validation on the training samples of the split{part}{once}",
            select.folds
        ),
    }
}

/// Which points were tried.
fn tried(select: &Select) -> String {
    let points = match select.search {
        Search::Grid => "grid search: every combination of a method's values is tried".to_owned(),
        Search::Random(budget) => format!(
            "random search: at most {} points per method, each drawn independently from its lists and ranges",
            budget.budget
        ),
        Search::LatinHypercube(budget) => format!(
            "Latin hypercube sampling: at most {} points per method, drawn at random but evenly spread over the values \
             of every parameter",
            budget.budget
        ),
    };
    // On test samples there is only one round, so nothing can be dropped.
    match select.halving && select.on == SelectOn::Training {
        true => format!(
            "{points}; successive halving: after every fold the worse half of them is dropped"
        ),
        false => points,
    }
}

fn kernel(kernel: &Kernel) -> String {
    match kernel {
        Kernel::Gaussian { width: Width::MeanSquaredDistance } => {
            "Gaussian: exp(−|x − x′|² / t), t the mean squared distance between training samples"
                .to_owned()
        }
        Kernel::Gaussian { width: Width::Fixed(t) } => {
            format!("Gaussian: exp(−|x − x′|² / t), t = {t}")
        }
        Kernel::Linear => "linear: ⟨x, x′⟩".to_owned(),
        Kernel::Polynomial { degree, offset, scale } => format!(
            "polynomial: (scale ⟨x, x′⟩ + offset)^degree, scale = {scale}, offset = {offset}, degree = {degree}"
        ),
    }
}

/// How the kernel matrix was approximated; `None` where it was not.
fn factor(factor: &Factor) -> Option<String> {
    let Factor::Pivoted(pivoted) = factor else {
        return None;
    };
    let rank = pivoted.rank.map_or(String::new(), |rank| format!(" of rank at most {rank}"));
    Some(format!(
        "a pivoted Cholesky factor{rank}, which stops when less than {} of the trace is lost",
        pivoted.tolerance
    ))
}

/// `c = 1, r = 0.1, scheme = ovr`.
pub fn parameters(params: &Value) -> String {
    let of = |(name, value): (&String, &Value)| format!("{name} = {}", value_of(value));
    match params.as_object() {
        Some(params) if !params.is_empty() => params.iter().map(of).collect::<Vec<_>>().join(", "),
        _ => value_of(params),
    }
}

/// A parameter's value, with all its digits.
pub fn value_of(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => {
            number.as_f64().map_or(number.to_string(), |number| number.to_string())
        }
        Value::Bool(is) => is.to_string(),
        Value::Object(inner) if inner.is_empty() => "none".to_owned(),
        Value::Object(_) => format!("({})", parameters(value)),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(value_of).collect();
            format!("({})", values.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::Budget;
    use crate::spec::Pivoted;

    #[test]
    fn parameters_read_like_words() {
        let params =
            json!({"c": 1.0, "d": "2K", "bias": false, "gpi": {"shift": 0.5, "rounds": 25}});
        assert_eq!(
            parameters(&params),
            "c = 1, d = 2K, bias = false, gpi = (shift = 0.5, rounds = 25)"
        );
        assert_eq!(parameters(&Value::Null), "none");
        assert_eq!(parameters(&json!({})), "none");
        assert_eq!(parameters(&json!({"layers": [1, 2]})), "layers = (1, 2)");
    }

    #[test]
    fn a_search_is_named() {
        let mut select = Select::default();
        assert!(tried(&select).starts_with("grid search"));
        select.search = Search::Random(Budget { budget: 12 });
        assert!(tried(&select).contains("random search: at most 12 points"));
        select.search = Search::LatinHypercube(Budget { budget: 12 });
        select.halving = true;
        let words = tried(&select);
        assert!(words.starts_with("Latin hypercube sampling: at most 12 points"));
        assert!(words.contains("successive halving"));
        select.on = SelectOn::Test;
        assert!(!tried(&select).contains("halving"));
    }

    #[test]
    fn kernels_are_formulas() {
        assert!(kernel(&Kernel::default()).contains("mean squared distance"));
        let polynomial = kernel(&Kernel::Polynomial { degree: 3, offset: 1.0, scale: 1.0 });
        assert!(polynomial.ends_with("scale = 1, offset = 1, degree = 3"));
        assert_eq!(factor(&Factor::Full), None);
        let ended = Factor::Pivoted(Pivoted { rank: Some(500), tolerance: 1e-6 });
        assert!(factor(&ended).is_some_and(|words| words.contains("of rank at most 500")));
    }
}
