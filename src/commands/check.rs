//! `check SPEC...` and `run --dry-run`: the plan in words, with what it will cost.

use std::collections::BTreeMap;
use std::path::PathBuf;

use npsvcpp::analyse::protocol;
use npsvcpp::data::Store;
use npsvcpp::ledger::Plan;
use npsvcpp::plan::{self, Former, Part, PlannedCell, PlannedDataset, Prepared, estimate, size};
use npsvcpp::render;
use npsvcpp::run::host::cores;
use npsvcpp::spec::{self, Spec};
use npsvcpp::wording::{counted, duration};
use npsvcpp::{Error, Event, Exit};

use super::{Failure, results_folder, store};
use crate::cli::DataArgs;
use crate::output::{note, show};
use crate::progress::Display;

pub fn check(specs: &[PathBuf], data: &DataArgs, quiet: bool) -> Result<Exit, Failure> {
    let store = store(data)?.for_plan();
    let mut ending = Exit::Complete;
    for path in specs {
        let spec = spec::load(path)?;
        let formers = [Former::read(&results_folder(&spec))];
        let prepared = prepare(&spec, &store, &formers, &Part::default(), false, quiet)?;
        ending = ending.max(show(&prepared, &formers[0]));
    }
    Ok(ending)
}

/// Loads the data of a spec and makes its plan, showing progress. `formers` are the results folder and those whose
/// cells may be reused; with `fresh`, the plan is made as if there were none. Data that is not the one the results
/// were computed from is announced.
pub fn prepare(
    spec: &Spec,
    store: &Store,
    formers: &[Former],
    part: &Part,
    fresh: bool,
    quiet: bool,
) -> Result<Prepared, Failure> {
    let own = &formers[0];
    let (folder, name) = (own.folder.display(), &spec.experiment.name);
    // A results folder holds one experiment.
    if let Some(theirs) = own.experiment.as_ref().filter(|theirs| *theirs != name) {
        return Err(Error::input(format!(
            "{folder} holds the experiment `{theirs}`, not `{name}`; choose another folder with --out"
        ))
        .into());
    }
    if !fresh {
        render::refuse_lost_ledger(&own.folder)?;
    }
    announce_no_effect(spec);
    announce_replacement(own);
    let known = if fresh { &[] } else { formers };
    let prepared = plan(spec, store, known, part, quiet)?;
    for source in prepared.sources.iter().flatten() {
        for warning in &source.warnings {
            note!("warning: `{}`: {warning}", source.dataset.name);
        }
    }
    refuse_loss(own, &prepared, fresh)?;
    if !fresh {
        announce_changes(own, &prepared);
        announce_leaving(own, &prepared, part)?;
    }
    Ok(prepared)
}

/// Loads the data of a spec and makes its plan, showing progress.
pub fn plan(
    spec: &Spec,
    store: &Store,
    formers: &[Former],
    part: &Part,
    quiet: bool,
) -> Result<Prepared, Failure> {
    let display = Display::new(quiet);
    let prepared = plan::prepare(spec, store, formers, part, &|event| display.show(event));
    display.show(Event::Loaded);
    Ok(prepared?)
}

/// Without the data, finished cells of a former spec would leave the table and nothing could take their place. The
/// same holds for all cells of a fresh start.
fn refuse_loss(former: &Former, prepared: &Prepared, fresh: bool) -> Result<(), Error> {
    let folder = former.folder.display();
    let shown = prepared.plan_with(&prepared.changed);
    for (row, source) in prepared.plan.datasets.iter().zip(&prepared.sources) {
        let (name, Err(reason)) = (&row.name, source) else {
            continue;
        };
        let finished = former.finished_of(name).count();
        let lost = if fresh { finished } else { former.lost(name, &shown) };
        if lost == 0 {
            continue;
        }
        let cells = counted(lost, "finished cell");
        return Err(Error::input(match &former.plan {
            _ if fresh => format!(
                "--fresh cannot compute `{name}` again, and {folder} has {cells} of it: {reason}"
            ),
            None => format!(
                "{folder} has {cells} of `{name}`, but its {} cannot be read, and making it again needs the data: {reason}; \
                 get the data, or restore the file",
                Plan::FILE
            ),
            Some(_) => format!(
                "the spec changed, so {cells} of `{name}` in {folder} would leave the tables, and without the data nothing can \
                 replace them: {reason}; get the data, restore the spec, or choose another folder with --out"
            ),
        }));
    }
    Ok(())
}

/// A pivoted factor has its own small error in place of the jitter.
fn announce_no_effect(spec: &Spec) {
    let experiment = &spec.experiment;
    if spec.gives("jitter") && !experiment.factor.is_full() {
        note!("`jitter` has no effect, because `factor` is pivoted; remove one of the two");
    }
}

/// A plan that cannot be read is made again from the spec.
fn announce_replacement(former: &Former) {
    let path = former.folder.join(Plan::FILE);
    if former.plan.is_none()
        && path.exists()
        && let Err(error) = Plan::read(&former.folder)
    {
        note!("warning: {error}; a run replaces this file by the plan of the spec");
    }
}

fn announce_changes(former: &Former, prepared: &Prepared) {
    for (index, row) in &prepared.changed.rows {
        let now = &prepared.plan.datasets[*index];
        note!(
            "the data of `{}` changed: {} was computed from SHA-256 {}, this machine has {}; its row shows the old \
             numbers until a run has recorded a new cell",
            now.name,
            former.folder.display(),
            short(&row.hash),
            short(&now.hash)
        );
    }
    let mut raised: BTreeMap<(usize, u32), Vec<&str>> = BTreeMap::new();
    for (&(dataset, method), &version) in &prepared.changed.versions {
        let datasets = raised.entry((method, version)).or_default();
        datasets.push(&prepared.plan.datasets[dataset].name);
    }
    for ((method, version), datasets) in raised {
        note!(
            "{} has version {} now, and {} has numbers of version {version} on {}; they stay until a run records the first \
             new cell there",
            prepared.plan.methods[method].label,
            prepared.candidates[method].entry.info.version,
            former.folder.display(),
            datasets.join(", ")
        );
    }
}

/// Finished cells that another spec takes out of the tables. A part of the plan must not do that to the rest of it.
fn announce_leaving(former: &Former, prepared: &Prepared, part: &Part) -> Result<(), Error> {
    let (leaving, for_good) = former.leaving(prepared, part);
    let folder = former.folder.display();
    if for_good > 0 && !part.only.is_empty() {
        return Err(Error::input(format!(
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

/// Enough of a hash to distinguish files.
pub fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Prints a plan; the ending is that of `check`, incomplete if a cell that is not done lacks its data.
pub fn show(prepared: &Prepared, former: &Former) -> Exit {
    let plan = &prepared.plan;
    show!("{}: {}", plan.experiment.name, plan.experiment.title);
    for (name, value) in protocol::settings(plan) {
        show!("  {name:<22} {value}");
    }
    show!("\ndatasets");
    for index in 0..plan.datasets.len() {
        show_dataset(prepared, index);
    }
    show!("\nmethods (defaults included)");
    for (index, method) in plan.methods.iter().enumerate() {
        let cells = plan.cells.iter().filter(|cell| cell.method == index);
        let time = duration(estimate(prepared, cells, cores()).seconds());
        show!("  {:<20} {}; about {time} on one core", method.label, method.method);
        for point in prepared.candidates[index].points.iter().take(1) {
            show!("      {}", point.params);
        }
        if method.points > 1 {
            show!("      ... {} points in all, chosen by `select`", method.points);
        }
    }
    show_total(prepared, former)
}

/// The shape and cost of a dataset, or why it cannot run here.
fn show_dataset(prepared: &Prepared, index: usize) {
    let row = &prepared.plan.datasets[index];
    let reason = prepared.sources[index].as_ref().err();
    if let Some(reason) = reason.filter(|_| row.hash.is_empty()) {
        let verdict = if reason.is_left_out() { "left out" } else { "cannot run here" };
        show!("  {:<12} {verdict}: {reason}", row.name);
        return;
    }
    let cells = prepared.plan.cells.iter().filter(|cell| cell.dataset == index);
    let cost = estimate(prepared, cells, cores());
    show!(
        "  {:<12} {} samples x {} dims x {} classes, {} train / {} test, {}; about {} on one core, {}",
        row.name,
        row.samples,
        row.dims,
        row.classes.len(),
        row.n_train,
        row.n_test,
        counted(row.splits.len(), "split"),
        duration(cost.seconds()),
        size(cost.bytes),
    );
    show!("  {:<12} classes: {}", "", classes(row));
    if let Some(reason) = reason.filter(|reason| !reason.is_left_out()) {
        show!("  {:<12} known by the results, SHA-256 {}; {reason}", "", short(&row.hash));
    }
}

/// The classes with their numbers of samples, the first ones if there are many.
fn classes(row: &PlannedDataset) -> String {
    const SHOWN: usize = 12;
    let counts = row.classes.iter().zip(&row.class_counts);
    let shown = counts.take(SHOWN).map(|(class, count)| format!("{class} ({count})"));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    let rest = row.class_counts.get(SHOWN..).unwrap_or_default();
    if let (Some(fewest), Some(most)) = (rest.iter().min(), rest.iter().max()) {
        text += &format!(", and {} more of {fewest} to {most} samples", rest.len());
    }
    text
}

/// How many cells there are, what a run would do with them, and what all of them cost.
fn show_total(prepared: &Prepared, former: &Former) -> Exit {
    let cells = &prepared.plan.cells;
    let open: Vec<_> = cells.iter().filter(|cell| !former.is_finished(&cell.cell)).collect();
    let is_absent = |cell: &PlannedCell| {
        let reason = prepared.sources[cell.dataset].as_ref().err();
        reason.is_some_and(|reason| !reason.is_left_out())
    };
    let absent = open.iter().filter(|cell| is_absent(cell)).count();
    let mut text = counted(cells.len(), "cell");
    if open.len() < cells.len() {
        text += &format!(", {} done in {}", cells.len() - open.len(), former.folder.display());
    }
    if absent > 0 {
        text += &format!(", {absent} cannot run here");
    }
    text += &format!(", {} to run", open.len() - absent);
    let cost = estimate(prepared, cells, cores());
    if cost.flops > 0.0 {
        let (time, size) = (duration(cost.seconds()), size(cost.bytes));
        text += &format!(
            "; the whole experiment takes about {time} on one core (a rough guide) and at most {size} of memory per job"
        );
    }
    show!("\n{text}");
    if absent == 0 { Exit::Complete } else { Exit::Incomplete }
}
