//! How an experiment was set up, in words: its splits, its kernel, how parameters were chosen, and what
//! they are.

use serde_json::Value;

use super::summary::registered;
use super::text::{counted, listed};
use crate::data::registry;
use crate::ledger::{Plan, PlannedDataset};
use crate::methods;
use crate::spec::Factor;
use crate::spec::{Search, Select, SelectOn, Splits};
use npsvc::{Kernel, Width};

/// Whether a dataset came with a split of its own. A plan does not say so, but random splits are as many,
/// and of the size, that the spec asks for.
fn has_own_split(dataset: &PlannedDataset, splits: &Splits) -> bool {
    dataset.splits.len() != splits.repeats || dataset.n_train != splits.train_size(dataset.samples)
}

fn found(plan: &Plan) -> impl Iterator<Item = &PlannedDataset> {
    (plan.datasets.iter()).filter(|dataset| dataset.unavailable.is_none())
}

/// Whether any of the datasets is split at random; so it is where none was found.
pub(super) fn splits_at_random(plan: &Plan) -> bool {
    let splits = &plan.experiment.splits;
    found(plan).next().is_none() || found(plan).any(|dataset| !has_own_split(dataset, splits))
}

/// `10 random splits of each dataset with 60 % for training`.
pub(super) fn splits(plan: &Plan) -> String {
    let splits = &plan.experiment.splits;
    let own: Vec<&str> = found(plan)
        .filter(|dataset| has_own_split(dataset, splits))
        .map(|dataset| dataset.name.as_str())
        .collect();
    if !splits_at_random(plan) {
        return match own.as_slice() {
            [only] => format!("the one split that {only} comes with"),
            _ => "the one split that each dataset comes with".to_owned(),
        };
    }
    let random = format!(
        "{} of each dataset with {} % for training{}",
        counted(splits.repeats, "random split"),
        (splits.train_fraction * 1e4).round() / 1e2,
        if splits.stratified { ", stratified" } else { "" },
    );
    match own.as_slice() {
        [] => random,
        [only] => format!("{random}, but of {only} the one split it comes with"),
        _ => format!("{random}, but of {} the one split they come with", listed(&own)),
    }
}

/// The datasets with these indices: what each is and its size.
pub(super) fn data(plan: &Plan, indices: impl Iterator<Item = usize>) -> String {
    let found = indices.filter_map(|index| Some((index, plan.datasets.get(index)?)));
    let described: Vec<String> = found
        .map(|(index, dataset)| {
            let name = registered(plan, index, dataset).map(|(name, _)| name);
            let title = name
                .and_then(|name| registry::find(name).ok())
                .map_or(String::new(), |entry| format!("{}, ", entry.manifest.title));
            format!(
                "{} ({title}{} samples for training, {} for testing, {} dimensions, {} classes)",
                dataset.name,
                dataset.n_train,
                dataset.n_test,
                dataset.dims,
                dataset.classes.len()
            )
        })
        .collect();
    format!("Data: {}.", listed(&described))
}

/// How tuned parameters were chosen.
pub(super) fn selection(plan: &Plan) -> String {
    let is_tuned = plan.methods.iter().any(|method| method.points > 1);
    match &plan.experiment.select {
        Some(select) if is_tuned => format!("{}; {}", criterion(select), tried(select)),
        _ => "none: all parameters are fixed".to_owned(),
    }
}

fn criterion(select: &Select) -> String {
    let once = if select.once { ", once per dataset on its first split" } else { "" };
    if select.on == SelectOn::Test {
        return format!("by the accuracy on THE TEST SAMPLES of the split{once}");
    }
    if select.on == SelectOn::Validation {
        return format!(
            "by the accuracy on the dataset's own validation samples, after a fit on all training \
             samples{once}"
        );
    }
    let part = select.subsample.map_or(String::new(), |n| format!(", at most {n} of them"));
    format!(
        "by {}-fold cross-validation on the training samples of the split{part}{once}",
        select.folds
    )
}

/// Which points were tried.
fn tried(select: &Select) -> String {
    let points = match select.search {
        Search::Grid => "grid search: every combination of a method's values is tried".to_owned(),
        Search::Random(budget) => format!(
            "random search: at most {} points per method, each drawn from its lists and ranges by itself",
            budget.budget
        ),
        Search::LatinHypercube(budget) => format!(
            "Latin hypercube sampling: at most {} points per method, drawn at random but evenly spread \
             over the values of every parameter",
            budget.budget
        ),
    };
    // On test samples there is one round only, after which nothing is left to be dropped.
    if select.halving && select.on == SelectOn::Training {
        format!("{points}; successive halving: after every fold the worse half of them is dropped")
    } else {
        points
    }
}

pub(super) fn kernel(kernel: &Kernel) -> String {
    match kernel {
        Kernel::Gaussian { width } => {
            let width = match width {
                Width::MeanSquaredDistance => {
                    "t the mean squared distance between training samples".to_owned()
                }
                Width::Fixed(t) => format!("t = {t}"),
            };
            format!("Gaussian: exp(−|x − x′|² / t), {width}")
        }
        Kernel::Linear => "linear: ⟨x, x′⟩".to_owned(),
        Kernel::Polynomial { degree, offset, scale } => format!(
            "polynomial: (scale ⟨x, x′⟩ + offset)^degree, scale = {scale}, offset = {offset}, \
             degree = {degree}"
        ),
    }
}

pub(super) fn is_network(method: &str) -> bool {
    methods::find(method).is_some_and(|entry| entry.is_network)
}

/// How the kernel matrix was approximated; `None` where it was not.
pub(super) fn factor(factor: &Factor) -> Option<String> {
    let Factor::Pivoted(pivoted) = factor else {
        return None;
    };
    let rank = (pivoted.rank).map_or(String::new(), |rank| format!(" of rank {rank} at most"));
    Some(format!(
        "a pivoted Cholesky factor{rank}, which ends once less than {} of the trace is lost",
        pivoted.tolerance
    ))
}

/// `c = 1, r = 0.1, scheme = ovr`.
pub(super) fn parameters(params: &Value) -> String {
    match params.as_object() {
        Some(params) if !params.is_empty() => {
            let parts: Vec<String> = (params.iter())
                .map(|(name, value)| format!("{name} = {}", value_of(value)))
                .collect();
            parts.join(", ")
        }
        _ => value_of(params),
    }
}

/// A parameter's value, with all its digits.
pub(super) fn value_of(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string())
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
        assert!(factor(&ended).is_some_and(|words| words.contains("of rank 500 at most")));
    }
}
