//! The sections of the report that say how it was done: protocol, data, machine and commands.

use serde_json::Value;

use super::html::{Field, escape, list, table, text_table};
use crate::data::registry;
use crate::ledger::{PlannedDataset, PlannedMethod, Record};
use crate::render::{Summary, protocol, tables};

/// What a scheme is, and where the choices of this program are told.
const SCHEMES: &str = "Scheme ovr (the paper's text): hyperplane l is close to class l, the nearest one wins. \
    Scheme rvo (the authors' code): it is close to all other classes, the farthest one wins. Where paper and code \
    differ, or the paper leaves a choice open, docs/fidelity.md of the program has the list.";

pub(super) fn protocol(summary: &Summary) -> String {
    let mut text = definitions(&settings(summary));
    text += &methods(summary);
    text += &tables::methods(summary).map_or(String::new(), |table| text_table(&table));
    text += &format!("<p class=\"note\">{}</p>\n", escape(SCHEMES));
    let deviations = deviations(summary);
    if !deviations.is_empty() {
        text += &format!("<h3>Deviations from the paper's table</h3>\n{}", list(&deviations));
    }
    text
}

/// What holds for all methods.
fn settings(summary: &Summary) -> Vec<(&'static str, String)> {
    let plan = &summary.plan;
    let experiment = &plan.experiment;
    let splits = format!("{}; the same for every method", protocol::splits(plan));
    let mut entries = vec![("seed", experiment.seed.to_string()), ("splits", splits)];
    if protocol::splits_at_random(plan) {
        let stratified = if experiment.splits.stratified {
            "yes: random splits keep the shares of the classes"
        } else {
            "no: random splits pay no regard to the classes"
        };
        entries.push(("stratified", stratified.to_owned()));
    }
    if !(plan.methods.iter()).all(|method| protocol::is_network(&method.method)) {
        entries.push(("kernel", protocol::kernel(&experiment.kernel)));
        entries.push(("jitter", experiment.jitter.to_string()));
        let factor = protocol::factor(&experiment.factor);
        entries.extend(factor.map(|words| ("kernel matrix", words)));
    }
    entries.push(("choice of parameters", protocol::selection(plan)));
    if let Some(compare) = &experiment.compare {
        let levels: Vec<String> = compare.levels.iter().map(f64::to_string).collect();
        let levels = levels.join(" and ");
        let tests = format!("against {}, levels {levels}", compare.against);
        entries.push(("tests", tests));
    }
    entries
}

/// Every entry with its parameters.
fn methods(summary: &Summary) -> String {
    let fields = |(index, method): (usize, &PlannedMethod)| {
        let used = summary.parameters(index).map_or("not run yet".to_owned(), protocol::parameters);
        let used = if method.points > 1 { format!("e.g. {used}") } else { used };
        vec![
            Field::word(&method.label),
            Field::word(&method.method),
            Field::word(method.scheme.as_deref().unwrap_or("–")),
            Field::number(&method.points.to_string(), Some(method.points as f64)),
            Field { class: "word prose", ..Field::word(&used) },
        ]
    };
    let methods = summary.plan.methods.iter().enumerate();
    let rows: Vec<Vec<Field>> = methods.map(fields).collect();
    let header = ["Label", "Method", "Scheme", "Points tried", "Parameters as used"];
    table("", &header.map(str::to_owned), 3, &rows)
}

/// What differs from the experiment behind the paper's table.
fn deviations(summary: &Summary) -> Vec<String> {
    if summary.paper.is_none() {
        return Vec::new();
    }
    let experiment = &summary.plan.experiment;
    let mut found = vec![
        "The paper does not say how its hyperparameters were chosen; ours are those above.".to_owned(),
        "The paper does not say which multi-class scheme its rivals use, nor which multi-class SVM; see the \
         schemes above. Our SVM is one versus one."
            .to_owned(),
    ];
    let usual = experiment.splits.repeats == 10 && experiment.splits.train_fraction == 0.6;
    if !usual && protocol::splits_at_random(&summary.plan) {
        found.push("The paper has 10 random splits with 60 % for training.".to_owned());
    }
    let others = summary.rows.iter().filter(|row| row.other_problem);
    found.extend(others.map(|row| {
        format!("{}: another problem than the paper's row, see the warnings.", row.dataset)
    }));
    found
}

fn definitions(entries: &[(&str, String)]) -> String {
    let shown = |value: &str| match value.starts_with("https://") && !value.contains(' ') {
        true => format!("<a href=\"{0}\">{0}</a>", escape(value)),
        false => escape(value),
    };
    let entries: String = (entries.iter())
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), shown(value)))
        .collect();
    format!("<dl>\n{entries}</dl>\n")
}

pub(super) fn data(summary: &Summary) -> String {
    let datasets = summary.plan.datasets.iter();
    datasets
        .map(|dataset| {
            let mut entries = origin(dataset);
            match &dataset.unavailable {
                Some(reason) => entries.push(("not to be had", reason.clone())),
                None => entries.extend(contents(dataset)),
            }
            let name = escape(&dataset.name);
            format!("<h3>{name}</h3>\n{}", definitions(&entries))
        })
        .collect()
}

/// What the registry knows of a dataset; nothing of files of one's own.
fn origin(dataset: &PlannedDataset) -> Vec<(&'static str, String)> {
    let mut known = registry::all().iter().map(|entry| &entry.manifest);
    let Some(manifest) = known.find(|manifest| manifest.name == dataset.name) else {
        return Vec::new();
    };
    vec![
        ("what it is", manifest.title.clone()),
        ("licence", manifest.licence.clone()),
        ("source", manifest.homepage.clone()),
        ("cite", manifest.citation.clone()),
    ]
}

/// What was read.
fn contents(dataset: &PlannedDataset) -> Vec<(&'static str, String)> {
    let counts = dataset.classes.iter().zip(&dataset.class_counts);
    let counts: Vec<String> = counts.map(|(class, count)| format!("{class}: {count}")).collect();
    let size = format!(
        "{} samples, {} dimensions, {} classes; {} for training, {} for testing",
        dataset.samples,
        dataset.dims,
        dataset.classes.len(),
        dataset.n_train,
        dataset.n_test
    );
    let mut entries = vec![
        ("size", size),
        ("samples by class", counts.join(", ")),
        ("SHA-256 of the values", dataset.hash.clone()),
    ];
    entries.extend(dataset.notes.iter().map(|note| ("note", note.clone())));
    entries
}

pub(super) fn machine(summary: &Summary) -> String {
    let recorded = |name: &str| match summary.origin.pointer(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let mut entries = Vec::new();
    for (name, pointer) in [
        ("processor", "/machine/processor"),
        ("cores", "/machine/cores"),
        ("system", "/machine/system"),
        ("architecture", "/machine/architecture"),
    ] {
        entries.extend(recorded(pointer).map(|value| (name, value)));
    }
    entries.extend(work(&summary.records));
    if entries.is_empty() {
        return String::new();
    }
    definitions(&entries)
}

/// Where and when the cells ran; nothing if none did.
fn work(records: &[Record]) -> Vec<(&'static str, String)> {
    let started = || records.iter().map(|record| record.started.as_str());
    let (Some(first), Some(last)) = (started().min(), started().max()) else {
        return Vec::new();
    };
    let distinct = |get: fn(&Record) -> String| {
        let mut found: Vec<String> = records.iter().map(get).collect();
        found.sort_unstable();
        found.dedup();
        found.join(", ")
    };
    let program = |record: &Record| match &record.git {
        Some(git) => format!("npsvcpp {} ({git})", record.version),
        None => format!("npsvcpp {}", record.version),
    };
    let seconds: f64 = (records.iter()).filter_map(|record| record.fit_seconds).sum();
    vec![
        ("hosts of the cells", distinct(|record| record.host.clone())),
        ("threads per cell", distinct(|record| record.threads.to_string())),
        ("device", distinct(|record| record.device.clone())),
        ("program", distinct(program)),
        ("cells started", format!("{first} to {last}")),
        ("time of all fits", format!("{seconds:.0} s")),
    ]
}

pub(super) fn repeat(summary: &Summary) -> String {
    let git = summary.records.iter().find_map(|record| record.git.clone());
    let checkout = git.map_or(String::new(), |git| {
        let commit: String = git.chars().filter(char::is_ascii_hexdigit).collect();
        format!("git checkout {commit}\n")
    });
    let name = &summary.experiment;
    let commands = format!(
        "{checkout}npsvcpp run spec.yaml          # the spec below; the same splits, seeds and cells\n\
         npsvcpp render results/{name}    # this page again from the ledger, nothing fitted"
    );
    let mut text = format!("<pre>{}</pre>\n", escape(&commands));
    if let Some(spec) = &summary.spec {
        text += &format!(
            "<details open><summary>spec.yaml</summary>\n<pre>{}</pre></details>\n",
            escape(spec)
        );
    }
    text
}
