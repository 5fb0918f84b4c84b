//! `check SPEC...` and `run --dry-run`: the plan in words, with what it will cost.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use npsvcpp::data::Store;
use npsvcpp::ledger::Plan;
use npsvcpp::render::{self, RenderError};
use npsvcpp::run::{self, Former, Part, Prepared, estimate, size};
use npsvcpp::spec::{Experiment, Loaded};

use super::{Ending, Failure, counted, duration, load, store};
use crate::cli::DataArgs;
use crate::output::{self, note};
use crate::progress::Display;

pub fn check(specs: &[PathBuf], data: &DataArgs, quiet: bool) -> Result<Ending, Failure> {
    let store = store(data)?.for_plan();
    let mut ending = Ending::Complete;
    for path in specs {
        let loaded = load(path)?;
        let folder = Path::new("results").join(&loaded.experiment.name);
        let formers = [Former::read(&folder)];
        let prepared = prepare(&loaded, &store, &formers, &Part::default(), quiet)?;
        ending = ending.max(show(&prepared, &formers[0]));
    }
    Ok(ending)
}

/// Loads the data of a spec and makes its plan, showing progress. `formers` are the results folder and those whose
/// cells may be reused. Data that is not the one the results were computed from is announced.
pub fn prepare(
    loaded: &Loaded,
    store: &Store,
    formers: &[Former],
    part: &Part,
    quiet: bool,
) -> Result<Prepared, Failure> {
    let own = formers.first();
    if let Some(own) = own {
        refuse_other_experiment(own, &loaded.experiment.name)?;
        if render::is_ledger_lost(&own.folder) {
            return Err(RenderError::NoLedger(own.folder.clone()).into());
        }
    }
    let display = Display::new(quiet);
    let prepared = run::prepare(loaded, store, formers, |event| display.loading(event));
    display.loaded();
    let prepared = prepared?;
    if let Some(own) = own {
        refuse_loss(own, &prepared)?;
        announce_changes(own, &prepared);
        announce_leaving(own, &prepared, part)?;
    }
    Ok(prepared)
}

/// A results folder holds one experiment.
pub fn refuse_other_experiment(former: &Former, name: &str) -> Result<(), Failure> {
    match former.experiment() {
        Some(theirs) if theirs != name => Err(Failure::input(format!(
            "{} holds the experiment `{theirs}`, not `{name}`; choose another folder with --out",
            former.folder.display()
        ))),
        _ => Ok(()),
    }
}

/// Without the data, finished cells of a former spec would leave the table and nothing could take their place.
fn refuse_loss(former: &Former, prepared: &Prepared) -> Result<(), Failure> {
    let lost = former.lost(prepared);
    let Some((name, cells)) = lost.first() else {
        return Ok(());
    };
    let folder = former.folder.display();
    let cells = counted(*cells, "finished cell");
    let reason = prepared.reason(name).map(ToString::to_string);
    if former.plan.is_none() {
        return Err(Failure::input(format!(
            "{folder} has {cells} of `{name}`, but no {} that can be read, and without the data it cannot be made again: {}; \
             get the data, or restore the file",
            Plan::FILE,
            reason.unwrap_or_default()
        )));
    }
    Err(Failure::input(format!(
        "the spec changed, so {cells} of `{name}` in {folder} would leave the tables, and without the data nothing can \
         replace them: {}; get the data, restore the spec, or choose another folder with --out",
        reason.unwrap_or_default()
    )))
}

fn announce_changes(former: &Former, prepared: &Prepared) {
    for (index, row) in &prepared.changed {
        let now = &prepared.plan.datasets[*index];
        note!(
            "the data of `{}` changed: {} was computed from SHA-256 {}, this machine has {}; its row shows the former \
             numbers until a run records its first new cell",
            now.name,
            former.folder.display(),
            short(&row.hash),
            short(&now.hash)
        );
    }
}

/// Finished cells that another spec takes out of the tables. A part of the plan must not do that to the rest of it.
fn announce_leaving(former: &Former, prepared: &Prepared, part: &Part) -> Result<(), Failure> {
    let (leaving, for_good) = former.leaving(prepared, part);
    let folder = former.folder.display();
    if for_good > 0 && !part.only.is_empty() {
        return Err(Failure::input(format!(
            "the spec changed, so {} in {folder} would leave the tables, and --only does not compute them again; run the \
             whole spec, restore it, or choose another folder with --out",
            counted(for_good, "finished cell")
        )));
    }
    if leaving > 0 {
        let cells = counted(leaving, "finished cell");
        note!("the spec changed: {cells} in {folder} leave the tables; they stay in the ledger");
    }
    Ok(())
}

/// As much of a hash as tells files apart.
pub fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Prints a plan; the ending is that of `check`, incomplete if a cell that is not done lacks its data.
pub fn show(prepared: &Prepared, former: &Former) -> Ending {
    output::to_output(format_args!("{}", describe(prepared, former)));
    match Counts::of(prepared, former).cannot_run {
        0 => Ending::Complete,
        _ => Ending::Incomplete,
    }
}

/// The cells of a plan by what a run would do with them.
#[derive(Default)]
struct Counts {
    done: usize,
    cannot_run: usize,
    to_run: usize,
}

impl Counts {
    fn of(prepared: &Prepared, former: &Former) -> Self {
        let mut counts = Self::default();
        for cell in &prepared.plan.cells {
            if former.is_finished(&cell.cell) {
                counts.done += 1;
            } else if prepared.sources[cell.dataset].is_none() {
                counts.cannot_run += 1;
            } else {
                counts.to_run += 1;
            }
        }
        counts
    }
}

/// The plan in words.
fn describe(prepared: &Prepared, former: &Former) -> String {
    let plan = &prepared.plan;
    let experiment = &plan.experiment;
    let mut text = format!("{}: {}\n", experiment.name, experiment.title);
    text += &protocol(experiment);
    text += "\ndatasets\n";
    for index in 0..plan.datasets.len() {
        text += &dataset(prepared, index);
    }
    text += "\nmethods (defaults included)\n";
    for (index, method) in plan.methods.iter().enumerate() {
        let cost = estimate(prepared, None, Some(index));
        let time = duration(cost.seconds());
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "  {:<20} {}; about {time} on one core", method.label, method.method);
        for point in prepared.candidates[index].points.iter().take(SHOWN_POINTS) {
            let _ = writeln!(text, "      {}", point.params);
        }
        if method.points > SHOWN_POINTS {
            let _ = writeln!(text, "      ... {} points in all, chosen by `select`", method.points);
        }
    }
    text + &total(prepared, former)
}

/// The line of a dataset: its shape and cost, or why it cannot run here.
fn dataset(prepared: &Prepared, index: usize) -> String {
    let row = &prepared.plan.datasets[index];
    if let Some(reason) = prepared.reason(&row.name).filter(|_| row.hash.is_empty()) {
        return format!("  {:<12} cannot run here: {reason}\n", row.name);
    }
    let cost = estimate(prepared, Some(index), None);
    let mut line = format!(
        "  {:<12} {} samples x {} dims x {} classes, {} train / {} test, {} splits; about {} on one core, {}\n",
        row.name,
        row.samples,
        row.dims,
        row.classes.len(),
        row.n_train,
        row.n_test,
        row.splits.len(),
        duration(cost.seconds()),
        size(cost.bytes),
    );
    if let Some(reason) = prepared.reason(&row.name) {
        let hash = short(&row.hash);
        line += &format!("  {:<12} known by the results, SHA-256 {hash}; {reason}\n", "");
    }
    line
}

/// The last line: how many cells there are, what a run would do with them, and what all of them cost.
fn total(prepared: &Prepared, former: &Former) -> String {
    let Counts { done, cannot_run, to_run } = Counts::of(prepared, former);
    let mut text = format!("\n{}", counted(prepared.plan.cells.len(), "cell"));
    if done > 0 {
        let _ = write!(text, ", {done} done in {}", former.folder.display());
    }
    if cannot_run > 0 {
        let _ = write!(text, ", {cannot_run} cannot run here");
    }
    let _ = write!(text, ", {to_run} to run");
    let cost = estimate(prepared, None, None);
    if cost.flops > 0.0 {
        let (time, size) = (duration(cost.seconds()), size(cost.bytes));
        let _ = write!(
            text,
            "; from nothing about {time} on one core (a rough guide), at most {size} per job"
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
        if splits.stratified { ", stratified" } else { "" },
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
