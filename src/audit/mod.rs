//! The audit of a results folder: do its numbers come out again, and do its files follow from its ledger?
//!
//! [`audit`] compares every finished record with the plan. It computes some of the cells once more, in other processes
//! and with other numbers of threads. Then it renders every file again in memory. It writes nothing into the folder.

mod compare;
mod draw;
mod records;
mod report;

pub use report::Audit;

use std::collections::HashMap;
use std::path::Path;

use crate::data::Store;
use crate::error::{Error, Exit};
use crate::event::{Ending, Event, Events};
use crate::ledger::provenance::{SPEC, SPLITS};
use crate::ledger::{Ledger, Plan, Record, Status, read_present};
use crate::plan::{self, Former, Part, Prepared};
use crate::render;
use crate::run::{self, Isolation, Refits};
use crate::spec::{self, Spec};
use draw::{Choice, Drawn};

/// How to audit.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many cells to compute again; `None` stands for all, whatever they cost.
    pub sample: Option<usize>,
    /// Threads of a refit; `None` chooses another number than the record's.
    pub threads: Option<usize>,
    /// Cells are drawn with this seed.
    pub seed: u64,
    /// How to start child processes.
    pub isolation: Isolation,
}

/// Audits the results folder `dir`.
pub fn audit(
    dir: &Path,
    store: &Store,
    options: &Options,
    events: Events<'_>,
) -> Result<Audit, Error> {
    let plan = Plan::read(dir).map_err(unreadable)?;
    let (summary, _) = render::read(dir).map_err(unreadable)?;
    let known = Ledger::read(dir).map_err(unreadable)?;
    let prepared = prepare(dir, &plan, store, events)?;
    let records = records::check(&plan, &known, &prepared);
    let mut audit = Audit::new(dir, &plan, records.finished.len());
    known.warnings().into_iter().for_each(|line| audit.disagree(line));
    let drawn = draw::draw(&records.finished, &prepared, options, &mut audit.unchecked);
    audit.add(records);
    refit(&drawn, &prepared, options, events, &mut audit)?;
    audit.files = render::verify(dir, &summary)?;
    sources(dir, &plan, &prepared, &mut audit)?;
    audit.rows.sort_by_key(|row| row.order);
    Ok(audit)
}

/// A folder that cannot be read is a wrong argument, not a disagreement.
pub fn unreadable(error: Error) -> Error {
    Error { exit: Exit::Input, ..error }
}

/// The plan of the folder once more, from its spec and the data of this machine. No images are encoded for it.
fn prepare(dir: &Path, plan: &Plan, store: &Store, events: Events<'_>) -> Result<Prepared, Error> {
    let refused = |reason: String| {
        let file = dir.join(Plan::FILE);
        Error::input(format!("cannot make the plan of {} again: {reason}", file.display()))
    };
    let spec = Spec::of(plan.experiment.clone()).map_err(refused)?;
    // Missing data is downloaded, because finished cells are computed again.
    let former = Former { finished: HashMap::new(), ..Former::read(dir) };
    let prepared = plan::prepare(&spec, store, &[former], &Part::default(), events);
    events(Event::Loaded);
    prepared.map_err(|error| refused(error.to_string()))
}

/// Compares the spec and the splits next to the ledger with the plan.
fn sources(dir: &Path, plan: &Plan, prepared: &Prepared, audit: &mut Audit) -> Result<(), Error> {
    let path = dir.join(SPEC);
    match read_present(&path).map_err(unreadable)? {
        None => audit.disagree(format!("{SPEC} is missing")),
        Some(text) => {
            let text = String::from_utf8_lossy(&text);
            let is_same = |spec: Spec| spec.experiment == plan.experiment;
            if !spec::parse(&text, SPEC).is_ok_and(is_same) {
                audit.disagree(format!("{SPEC} is not the experiment of {}", Plan::FILE));
            }
        }
    }
    for (dataset, number) in run::wrong_splits(dir, prepared).map_err(unreadable)? {
        audit.disagree(format!("{SPLITS} does not have the samples of {dataset}, split {number}"));
    }
    Ok(())
}

/// Computes the drawn cells once more and adds a row for each, or for each value that differs.
fn refit(
    drawn: &[Drawn<'_>],
    prepared: &Prepared,
    options: &Options,
    events: Events<'_>,
    audit: &mut Audit,
) -> Result<(), Error> {
    let work = drawn.iter().map(|one| one.refit.work).sum();
    events(Event::Begin { cells: drawn.len(), done: 0, work });
    let mut refits = Refits::new(prepared, &options.isolation, events)?;
    for one in drawn {
        let answer = refits.refit(&one.refit)?;
        let place = prepared.plan.place(one.refit.cell);
        let ending = ending(&answer);
        events(Event::Cell { cell: &one.refit.cell.cell, place, work: one.refit.work, ending });
        match answer {
            Ok(again) => {
                let entry = prepared.candidates[one.refit.cell.method].entry;
                let is_repeated = one.choice == Choice::Repeated;
                let differences = compare::compare(one.record, &again, is_repeated, entry);
                audit.add_refit(one, place, differences, &again);
            }
            Err(reason) => {
                audit.unchecked.add(report::name(place), reason);
                audit.add_lost(one, place);
            }
        }
    }
    events(Event::End);
    Ok(())
}

fn ending(answer: &Result<Record, String>) -> Ending<'_> {
    match answer {
        Err(reason) => Ending::Failed(reason),
        Ok(Record { status: Status::Ok, accuracy: Some(accuracy), fit_seconds, .. }) => {
            Ending::Done { accuracy: *accuracy, seconds: fit_seconds.unwrap_or_default() }
        }
        Ok(record) => Ending::Failed(record.error.as_deref().unwrap_or("no reason")),
    }
}
