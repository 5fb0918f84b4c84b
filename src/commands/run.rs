//! `run SPEC...`: plans experiments, runs the missing cells, and renders.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use npsvcpp::data::Store;
use npsvcpp::ledger::{self, Ledger, Plan, Tally};
use npsvcpp::plan::{Filter, Former, Part, Prepared};
use npsvcpp::render;
use npsvcpp::run::{self, Isolation, Outcome, RunOptions};
use npsvcpp::spec::{self, Spec};
use npsvcpp::wording::counted;
use npsvcpp::{Error, Event, Exit};

use super::{Failure, check, refresh_index, results_folder, store, terminal, this_program, warn};
use crate::cli::RunArgs;
use crate::output::{note, show};
use crate::progress::Display;

pub fn run(arguments: &RunArgs, quiet: bool) -> Result<Exit, Failure> {
    // All specs are validated, and all their data is read, before the first is run.
    let specs =
        arguments.specs.iter().map(|path| spec::load(path)).collect::<Result<Vec<_>, _>>()?;
    refuse_equal_names(&specs)?;
    refuse_misnamed_filters(&arguments.only, &specs)?;
    refuse_no_results(&arguments.reuse)?;
    arguments.device.iter().try_for_each(|device| run::require_device(device))?;
    let store = store(&arguments.data)?.on_device(&arguments.device[0]);
    let store = if arguments.dry_run { store.for_plan() } else { store };
    let options = options(arguments)?;
    let experiments = specs
        .iter()
        .map(|spec| Experiment::prepare(spec, arguments, options.clone(), &store, quiet))
        .collect::<Result<Vec<_>, _>>()?;
    if arguments.dry_run {
        let endings = experiments.iter().map(|one| one.show(arguments.fresh));
        return Ok(endings.max().unwrap_or(Exit::Complete));
    }
    let interrupted = catch_interrupts();
    let mut ending = Exit::Complete;
    let mut cannot_run = 0;
    // Each experiment's data is dropped with it.
    for (index, experiment) in experiments.into_iter().enumerate() {
        let outcome = experiment.run(arguments.fresh, &interrupted, quiet)?;
        ending = ending.max(experiment.report(&outcome, quiet));
        cannot_run += outcome.cannot_run.values().sum::<usize>();
        let undone = undone(outcome.tally.missing, specs.len() - index - 1);
        if interrupted.load(Ordering::SeqCst) && !undone.is_empty() {
            let without = if arguments.fresh { " without --fresh" } else { "" };
            note!("interrupted: {undone}; run the same command{without} to continue");
            return Ok(Exit::Interrupted);
        }
    }
    if specs.len() > 1 && cannot_run > 0 && !quiet {
        let cells = counted(cannot_run, "cell");
        show!("in total, {cells} cannot run here; see the last lines of each experiment");
    }
    Ok(ending)
}

/// An experiment with its data, what its results folder holds, and how to run it.
struct Experiment {
    prepared: Prepared,
    former: Former,
    options: RunOptions,
}

impl Experiment {
    /// Loads the data of a spec and makes its plan; with `--fresh`, as if there were no results.
    fn prepare(
        loaded: &Spec,
        arguments: &RunArgs,
        mut options: RunOptions,
        store: &Store,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let name = &loaded.experiment.name;
        let out = match &arguments.out {
            Some(out) if arguments.specs.len() > 1 => out.join(name),
            Some(out) => out.clone(),
            None => results_folder(loaded),
        };
        if arguments.fresh && out.file_name().is_none() {
            let out = out.display();
            let problem =
                format!("--fresh cannot rename {out}; name the results folder with --out");
            return Err(Error::input(problem).into());
        }
        let folders = [&out].into_iter().chain(&arguments.reuse);
        let mut formers: Vec<Former> = folders.map(|dir| Former::read(dir)).collect();
        let prepared =
            check::prepare(loaded, store, &formers, &options.part, arguments.fresh, quiet)?;
        refuse_idle_filters(&arguments.only, &prepared.plan)?;
        options.out = out;
        Ok(Self { prepared, former: formers.swap_remove(0), options })
    }

    /// Runs what is left and renders.
    fn run(&self, fresh: bool, interrupted: &AtomicBool, quiet: bool) -> Result<Outcome, Failure> {
        let out = &self.options.out;
        if !quiet {
            self.note_absent_data();
        }
        if fresh && self.former.experiment.is_some() {
            let aside = run::set_aside(out)?;
            show!("moved {} to {}", out.display(), aside.display());
        }
        let display = Display::new(quiet);
        let show = |event: Event<'_>| display.show(event);
        let outcome = run::run(&self.prepared, &self.options, &show, interrupted)?;
        // Shards run in parallel and end at any time; `merge` renders what they did.
        if self.options.part.shard.is_none() {
            let (summary, _) = render::read(out)?;
            show!("{}", terminal(&summary));
            render::update(out, &summary)?;
            refresh_index(out)?;
        }
        if outcome.tally.missing == 0
            && let Some(former) = run::take_set_aside(out)
        {
            compare(&former, out)?;
        }
        Ok(outcome)
    }

    /// Prints the plan.
    fn show(&self, fresh: bool) -> Exit {
        let ending = check::show(&self.prepared, &self.former);
        let (plan, part) = (&self.prepared.plan, &self.options.part);
        if !part.only.is_empty() {
            let chosen = part.cells(plan).count();
            let done = part.cells(plan).filter(|cell| self.former.is_finished(&cell.cell)).count();
            let all = plan.cells.len();
            show!("of these, --only chooses {chosen} of {all} cells, {done} of them done");
        }
        if fresh && self.former.experiment.is_some() {
            let folder = self.former.folder.display();
            show!("--fresh moves {folder} aside and computes all cells again");
        }
        ending
    }

    /// Names the data behind the finished cells of datasets that are not on this machine.
    fn note_absent_data(&self) {
        let (plan, only) = (&self.prepared.plan, &self.options.part.only);
        for (index, row) in plan.datasets.iter().enumerate() {
            let reason = self.prepared.sources[index].as_ref().err();
            let is_absent =
                reason.is_some_and(|error| error.is_unavailable() || error.is_not_found());
            if !is_absent || row.hash.is_empty() {
                continue;
            }
            let cells = plan.cells.iter().filter(|cell| cell.dataset == index);
            let cells = cells.filter(|cell| Filter::keep(only, plan, cell));
            let finished = cells.filter(|cell| self.former.is_finished(&cell.cell)).count();
            if finished > 0 {
                note!(
                    "the data of `{}` is not on this machine; SHA-256 of the data behind its {}: {}",
                    row.name,
                    counted(finished, "finished cell"),
                    check::short(&row.hash)
                );
            }
        }
    }

    /// Prints how the run ended.
    fn report(&self, outcome: &Outcome, quiet: bool) -> Exit {
        warn(&outcome.warnings);
        let Outcome { tally, cannot_run, .. } = outcome;
        let Tally { done, failed, skipped, missing: left } = *tally;
        if !quiet {
            let done = counted(done, "cell");
            show!("{done} done, {failed} failed, {skipped} skipped, {left} left");
            let out = self.options.out.display();
            match self.options.part.shard {
                None => show!("results in {out}"),
                Some(shard) => show!(
                    "shard {shard} of {out}; `npsvcpp merge {out}` merges the shards and renders"
                ),
            }
        }
        if !cannot_run.is_empty() {
            let reasons = absence(&self.prepared, cannot_run);
            // With --quiet it is still the reason of the exit code.
            if quiet { note!("{reasons}") } else { show!("{reasons}") }
        }
        let is_complete = failed + skipped + left == 0 && cannot_run.is_empty();
        if is_complete { Exit::Complete } else { Exit::Incomplete }
    }
}

/// Prints which numbers of a folder that was moved aside are the same now, and which moved.
fn compare(former: &Path, now: &Path) -> Result<(), Error> {
    let read = |folder: &Path| Ok::<_, Error>((Plan::read(folder)?, Ledger::read(folder)?));
    let Ok((old_plan, old)) = read(former) else {
        note!("no comparison: the plan in {} cannot be read", former.display());
        return Ok(());
    };
    let (plan, new) = read(now)?;
    let comparison = run::compare((&old_plan, &old), (&plan, &new));
    show!("compared with {}: {comparison}", former.display());
    Ok(())
}

/// Results are filed under the experiment's name, so that two of one name would mix.
fn refuse_equal_names(specs: &[Spec]) -> Result<(), Error> {
    let mut known: HashMap<&str, &Spec> = HashMap::new();
    for spec in specs {
        let name = &spec.experiment.name;
        if let Some(first) = known.insert(name, spec) {
            return Err(Error::input(format!(
                "{} and {} both describe an experiment called `{name}` and would write into one \
                 folder; give one of them another `name`",
                first.text.name(),
                spec.text.name()
            )));
        }
    }
    Ok(())
}

/// Refuses folders to reuse that hold no ledger.
fn refuse_no_results(folders: &[PathBuf]) -> Result<(), Error> {
    match folders.iter().find(|dir| !dir.join(ledger::FILE).is_file()) {
        None => Ok(()),
        Some(dir) => Err(Error::input(format!(
            "--reuse {}: {} is missing, expected a results folder",
            dir.display(),
            ledger::FILE
        ))),
    }
}

/// What an interrupt left undone; empty if it came during the last cell of the last experiment.
fn undone(cells: usize, experiments: usize) -> String {
    let undone = [(cells, "cell", "left"), (experiments, "experiment", "not begun")];
    let undone = undone.into_iter().filter(|(number, ..)| *number > 0);
    let clauses = undone.map(|(number, noun, state)| {
        let verb = if number == 1 { "is" } else { "are" };
        format!("{} {verb} {state}", counted(number, noun))
    });
    clauses.collect::<Vec<_>>().join(" and ")
}

/// Jobs or threads as asked for, but no more than there are cores. More would gain nothing.
fn at_most_the_cores(option: &str, asked: Option<u16>) -> Option<usize> {
    let (asked, cores) = (asked.map(usize::from)?, run::host::cores());
    if asked > cores {
        note!("{option} {asked} is more than this machine has: using {cores}");
    }
    Some(asked.min(cores))
}

/// How to run, from what the command line says and what the machine has; each experiment has its own folder.
fn options(arguments: &RunArgs) -> Result<RunOptions, Error> {
    let cores = run::host::cores();
    let jobs = at_most_the_cores("--jobs", arguments.jobs);
    let threads = at_most_the_cores("--threads", arguments.threads);
    let timeout = arguments.cell_timeout;
    // Each of several devices has its own process.
    let isolate = arguments.isolate || timeout.is_some() || arguments.device.len() > 1;
    let data = arguments.data.folder.clone();
    Ok(RunOptions {
        out: PathBuf::new(),
        jobs: match arguments.device.len() {
            1 => jobs.unwrap_or_else(|| cores / threads.unwrap_or(1)),
            devices => devices,
        },
        threads,
        memory: arguments.memory.map_or_else(run::memory_budget, |bytes| bytes as f64),
        part: Part { only: arguments.only.clone(), shard: arguments.shard },
        retry_failed: arguments.retry_failed,
        fail_fast: arguments.fail_fast,
        reuse: arguments.reuse.clone(),
        isolation: match isolate {
            true => Some(Isolation {
                program: this_program()?,
                data,
                timeout,
                loading: Isolation::LOADING,
            }),
            false => None,
        },
        devices: arguments.device.clone(),
    })
}

/// Refuses names that are in none of the specs before any data is read.
fn refuse_misnamed_filters(only: &[Filter], specs: &[Spec]) -> Result<(), Error> {
    let mut misnamed =
        specs.iter().flat_map(|spec| only.iter().filter_map(|one| one.misnames(&spec.experiment)));
    match misnamed.next() {
        Some(message) => Err(Error::input(format!("--only: {message}"))),
        None => Ok(()),
    }
}

fn refuse_idle_filters(only: &[Filter], plan: &Plan) -> Result<(), Error> {
    let misses = only.iter().find_map(|filter| filter.misses(plan));
    let is_idle = || !plan.cells.iter().any(|cell| Filter::keep(only, plan, cell));
    let none = || "no cell of this experiment matches all of them".to_owned();
    match misses.or_else(|| is_idle().then(none)) {
        Some(message) if !only.is_empty() => Err(Error::input(format!("--only: {message}"))),
        _ => Ok(()),
    }
}

/// The first Ctrl-C asks for a clean end, the second one is obeyed at once.
fn catch_interrupts() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        note!("\nfinishing the running cells; press Ctrl-C again to stop at once");
    };
    // Without a handler Ctrl-C still stops the program; the ledger is safe either way.
    let _ = ctrlc::set_handler(handler);
    interrupted
}

/// Which cells cannot run here, why, and what to do about it.
fn absence(prepared: &Prepared, cannot_run: &BTreeMap<usize, usize>) -> String {
    let name = |index: usize| format!("`{}`", prepared.plan.datasets[index].name);
    let reason = |index: usize| {
        prepared.sources[index].as_ref().err().map(ToString::to_string).unwrap_or_default()
    };
    let total = counted(cannot_run.values().sum(), "cell");
    if cannot_run.len() == 1 {
        let reasons: String = cannot_run.keys().map(|&index| reason(index)).collect();
        return format!("{total} cannot run here: {reasons}");
    }
    let lines = cannot_run.iter().map(|(&index, &cells)| {
        let cells = counted(cells, "cell");
        format!("cannot run here: {cells} of {}: {}\n", name(index), reason(index))
    });
    let lines: String = lines.collect();
    let names: Vec<String> = cannot_run.keys().map(|&index| name(index)).collect();
    format!(
        "{lines}{total} cannot run here, because the data of {} is missing or cannot be used; the lines above give the \
         reasons",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::undone;

    #[test]
    fn an_interrupt_that_came_too_late_left_nothing_undone() {
        assert_eq!(undone(0, 0), "");
    }

    #[test]
    fn an_interrupt_reports_the_work_left() {
        assert_eq!(undone(1, 0), "1 cell is left");
        assert_eq!(undone(2, 1), "2 cells are left and 1 experiment is not begun");
        assert_eq!(undone(0, 2), "2 experiments are not begun");
    }
}
