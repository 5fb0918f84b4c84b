//! `check SPEC...` and `run --dry-run`: the plan in words, with what it will cost.

use std::fmt::Write;
use std::path::PathBuf;

use npsvcpp::data::Store;
use npsvcpp::run::{self, Prepared, estimate, size};
use npsvcpp::spec::{Experiment, Loaded};

use super::{Ending, Failure, duration, load, store};
use crate::cli::DataArgs;
use crate::output;
use crate::progress::Display;

pub fn check(specs: &[PathBuf], data: &DataArgs, quiet: bool) -> Result<Ending, Failure> {
    let store = store(data)?;
    let mut ending = Ending::Complete;
    for path in specs {
        let prepared = prepare(&load(path)?, &store, quiet)?;
        ending = ending.max(show(&[prepared]));
    }
    Ok(ending)
}

/// Loads the data of a spec and makes its plan, showing how far it is.
pub fn prepare(loaded: &Loaded, store: &Store, quiet: bool) -> Result<Prepared, Failure> {
    let display = Display::new(quiet);
    let prepared = run::prepare(loaded, store, |event| display.loading(event));
    display.loaded();
    Ok(prepared?)
}

/// Prints plans; the ending is that of `check`, incomplete where data is missing.
pub fn show(plans: &[Prepared]) -> Ending {
    let mut ending = Ending::Complete;
    for prepared in plans {
        output::to_output(format_args!("{}", describe(prepared)));
        if prepared.sources.iter().any(Option::is_none) {
            ending = Ending::Incomplete;
        }
    }
    ending
}

/// The plan in words.
fn describe(prepared: &Prepared) -> String {
    let plan = &prepared.plan;
    let experiment = &plan.experiment;
    let mut text = format!("{}: {}\n", experiment.name, experiment.title);
    text += &protocol(experiment);
    text += "\ndatasets\n";
    for (index, dataset) in plan.datasets.iter().enumerate() {
        text += &match prepared.reason(&dataset.name) {
            Some(reason) => format!("  {:<12} skipped: {reason}\n", dataset.name),
            None => {
                let cost = estimate(prepared, Some(index), None);
                format!(
                    "  {:<12} {} samples x {} dims x {} classes, {} train / {} test, {} splits; \
                     about {} on one core, {}\n",
                    dataset.name,
                    dataset.samples,
                    dataset.dims,
                    dataset.classes.len(),
                    dataset.n_train,
                    dataset.n_test,
                    dataset.splits.len(),
                    duration(cost.seconds()),
                    size(cost.bytes),
                )
            }
        };
    }
    text += "\nmethods (defaults included)\n";
    for (index, method) in plan.methods.iter().enumerate() {
        let cost = estimate(prepared, None, Some(index));
        let time = duration(cost.seconds());
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  {:<20} {}; about {time} on one core",
            method.label, method.method
        );
        for point in prepared.candidates[index].points.iter().take(SHOWN_POINTS) {
            let _ = writeln!(text, "      {}", point.params());
        }
        if method.points > SHOWN_POINTS {
            let _ = writeln!(
                text,
                "      ... {} points in all, chosen by `select`",
                method.points
            );
        }
    }
    let total = estimate(prepared, None, None);
    let is_skipped = |index: usize| prepared.reason(&plan.datasets[index].name).is_some();
    let skipped = (plan.cells.iter())
        .filter(|cell| is_skipped(cell.dataset))
        .count();
    let _ = write!(text, "\n{} cells", plan.cells.len());
    if skipped > 0 {
        let _ = write!(text, ", {skipped} of them skipped for want of data");
    }
    if skipped < plan.cells.len() {
        let (time, size) = (duration(total.seconds()), size(total.bytes));
        let _ = write!(
            text,
            "; about {time} on one core (a rough guide), at most {size} per job"
        );
    }
    text + "\n"
}

/// Points of a grid that are spelt out.
const SHOWN_POINTS: usize = 1;

fn protocol(experiment: &Experiment) -> String {
    let splits = &experiment.splits;
    let mut text = format!(
        "seed {}, {} splits with a training share of {}{}, kernel {}, jitter {}\n",
        experiment.seed,
        splits.repeats,
        splits.train_fraction,
        if splits.stratified {
            ", stratified"
        } else {
            ""
        },
        json(&experiment.kernel),
        experiment.jitter,
    );
    if !experiment.factor.is_full() {
        let _ = writeln!(text, "factor {}", json(&experiment.factor));
    }
    if let Some(select) = &experiment.select {
        let _ = writeln!(text, "select {}", json(select));
    }
    if let Some(compare) = &experiment.compare {
        let _ = writeln!(text, "compare {}", json(compare));
    }
    text
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
