//! `run SPEC...`: plan, run what the ledger lacks, render.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use npsvcpp::data::Store;
use npsvcpp::ledger;
use npsvcpp::methods::criteria::NEEDS_DEEP;
use npsvcpp::render;
use npsvcpp::run::{self, Filter, Former, Isolation, Options, Outcome, Part, Prepared};
use npsvcpp::spec::Loaded;

use super::{Ending, Failure, counted, load, plan, refresh_index, store, terminal};
use crate::cli::RunArgs;
use crate::output::{note, show};
use crate::progress::Display;

pub fn run(arguments: &RunArgs, quiet: bool) -> Result<Ending, Failure> {
    // All specs are validated, and all their data is read, before the first is run.
    let specs = arguments.specs.iter().map(|path| load(path)).collect::<Result<Vec<_>, _>>()?;
    refuse_equal_names(&specs)?;
    refuse_no_results(&arguments.reuse)?;
    let devices = devices(arguments)?;
    let store = store(&arguments.data)?.on_device(&devices[0]);
    let store = if arguments.dry_run { store.for_plan() } else { store };
    let experiments = specs
        .iter()
        .map(|loaded| Experiment::prepare(loaded, arguments, &store, quiet))
        .collect::<Result<Vec<_>, _>>()?;
    if arguments.dry_run {
        let endings = experiments.iter().map(|one| one.show(arguments));
        return Ok(endings.max().unwrap_or(Ending::Complete));
    }
    let cores = Cores::granted(arguments);
    let interrupted = catch_interrupts();
    let mut ending = Ending::Complete;
    let mut cannot_run = 0;
    // Each experiment's data is let go with it.
    for (index, experiment) in experiments.into_iter().enumerate() {
        if !quiet {
            experiment.note_absent_data(&arguments.only);
        }
        if arguments.fresh {
            experiment.set_aside()?;
        }
        let options = options(arguments, &cores, &devices, &experiment.former.folder)?;
        let display = Display::new(quiet);
        let prepared = &experiment.prepared;
        let mut outcome = run::run(prepared, &options, &display, &interrupted)?;
        // Shards run in parallel and end at any time; `merge` renders what they did.
        if arguments.shard.is_none() {
            show_tables(prepared, &mut outcome, &options)?;
        }
        if outcome.left == 0 {
            run::take_set_aside(&options.out)
                .map_or(Ok(()), |former| compare(&former, &options.out))?;
        }
        ending = ending.max(report(prepared, &outcome, &options, quiet));
        cannot_run += outcome.cannot_run.iter().map(|(_, cells)| cells).sum::<usize>();
        if interrupted.load(Ordering::SeqCst)
            && let Some(undone) = undone(outcome.left, specs.len() - index - 1)
        {
            let command = match arguments.fresh {
                true => "the same command without --fresh",
                false => "the same command",
            };
            note!("interrupted: {undone}; run {command} to continue");
            return Ok(Ending::Interrupted);
        }
    }
    if specs.len() > 1 && cannot_run > 0 && !quiet {
        let cells = counted(cannot_run, "cell");
        show!("in all, {cells} cannot run here; the last lines of each experiment say why");
    }
    Ok(ending)
}

/// An experiment with its data, and what its results folder holds.
struct Experiment {
    prepared: Prepared,
    former: Former,
}

impl Experiment {
    /// Loads the data of a spec and makes its plan.
    fn prepare(
        loaded: &Loaded,
        arguments: &RunArgs,
        store: &Store,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let name = &loaded.experiment.name;
        let out = match &arguments.out {
            Some(out) if arguments.specs.len() > 1 => out.join(name),
            Some(out) => out.clone(),
            None => PathBuf::from("results").join(name),
        };
        let mut formers = vec![Former::read(&out)];
        if arguments.fresh {
            return Self::start_over(loaded, formers.swap_remove(0), store, quiet);
        }
        formers.extend(arguments.reuse.iter().map(|dir| Former::read(dir)));
        let prepared = plan::prepare(loaded, store, &formers, &part(arguments), quiet)?;
        check_filters(arguments, &prepared)?;
        let former = formers.swap_remove(0);
        Ok(Self { prepared, former })
    }

    /// An experiment that is computed as if there were no results; these must be such that they can come back.
    fn start_over(
        loaded: &Loaded,
        former: Former,
        store: &Store,
        quiet: bool,
    ) -> Result<Self, Failure> {
        plan::refuse_other_experiment(&former, &loaded.experiment.name)?;
        if former.folder.file_name().is_none() {
            return Err(Failure::input(format!(
                "--fresh cannot rename {}; name the results folder with --out",
                former.folder.display()
            )));
        }
        let prepared = plan::prepare(loaded, store, &[], &Part::default(), quiet)?;
        for (name, reason) in &prepared.missing {
            let cells = former.finished_of(name).count();
            if cells > 0 {
                let (folder, cells) = (former.folder.display(), counted(cells, "finished cell"));
                return Err(Failure::input(format!(
                    "--fresh cannot compute `{name}` again, and {folder} has {cells} of it: {reason}"
                )));
            }
        }
        Ok(Self { prepared, former })
    }

    /// Prints the plan.
    fn show(&self, arguments: &RunArgs) -> Ending {
        let ending = plan::show(&self.prepared, &self.former);
        if !arguments.only.is_empty() {
            let plan = &self.prepared.plan;
            let chosen = plan.cells.iter();
            let chosen = chosen.filter(|cell| Filter::keep(&arguments.only, plan, cell));
            let (chosen, all) = (chosen.count(), plan.cells.len());
            show!("of these, --only chooses {chosen} of {all} cells");
        }
        if arguments.fresh && !self.former.is_empty() {
            let folder = self.former.folder.display();
            show!("--fresh moves {folder} aside and computes all cells anew");
        }
        ending
    }

    /// Names the data behind the finished cells of datasets that are not on this machine.
    fn note_absent_data(&self, only: &[Filter]) {
        let plan = &self.prepared.plan;
        let absent = self.prepared.missing.iter();
        for (name, _) in absent.filter(|(_, error)| error.is_unavailable() || error.is_not_found())
        {
            let rows = plan.datasets.iter().enumerate();
            let mut rows = rows.filter(|(_, row)| row.name == *name && !row.hash.is_empty());
            let Some((index, row)) = rows.next() else {
                continue;
            };
            let cells = plan.cells.iter().filter(|cell| {
                cell.dataset == index
                    && Filter::keep(only, plan, cell)
                    && self.former.is_finished(&cell.cell)
            });
            let cells = cells.count();
            if cells > 0 {
                let (cells, hash) = (counted(cells, "finished cell"), plan::short(&row.hash));
                note!(
                    "the data of `{name}` is not on this machine; SHA-256 of the data behind its {cells}: {hash}"
                );
            }
        }
    }

    /// Moves the results folder aside, if there is one.
    fn set_aside(&self) -> Result<(), Failure> {
        let folder = &self.former.folder;
        if self.former.is_empty() {
            return Ok(());
        }
        run::refuse_locked(folder)?;
        let aside = run::set_aside(folder).map_err(|error| {
            Failure::Other(format!("cannot rename {}: {error}", folder.display()))
        })?;
        show!("moved {} to {}", folder.display(), aside.display());
        Ok(())
    }
}

/// Prints which numbers of a folder that was moved aside are the same now, and which moved.
fn compare(former: &Path, now: &Path) -> Result<(), Failure> {
    let read = |folder: &Path| Ok::<_, Failure>((render::plan(folder)?, render::records(folder)?));
    let Ok((old_plan, old)) = read(former) else {
        note!("no comparison: {} has no plan that can be read", former.display());
        return Ok(());
    };
    let (plan, new) = read(now)?;
    let comparison = run::compare((&old_plan, &old), (&plan, &new));
    show!("compared with {}: {comparison}", former.display());
    Ok(())
}

/// Results are filed under the experiment's name, so that two of one name would mix.
fn refuse_equal_names(specs: &[Loaded]) -> Result<(), Failure> {
    for (index, spec) in specs.iter().enumerate() {
        let name = &spec.experiment.name;
        let mut earlier = specs[..index].iter();
        if let Some(first) = earlier.find(|other| other.experiment.name == *name) {
            return Err(Failure::input(format!(
                "{} and {} both describe an experiment called `{name}` and would write into one \
                 folder; give one of them another `name`",
                first.source.name(),
                spec.source.name()
            )));
        }
    }
    Ok(())
}

/// Refuses folders to reuse that hold no ledger.
fn refuse_no_results(folders: &[PathBuf]) -> Result<(), Failure> {
    match folders.iter().find(|dir| !dir.join(ledger::FILE).is_file()) {
        None => Ok(()),
        Some(dir) => Err(Failure::input(format!(
            "--reuse {}: there is no {} in it, expected a results folder",
            dir.display(),
            ledger::FILE
        ))),
    }
}

/// What an interrupt left undone; nothing if it came during the last cell of the last experiment.
fn undone(cells: usize, experiments: usize) -> Option<String> {
    let cells = match cells {
        0 => None,
        1 => Some("1 cell is left".to_owned()),
        several => Some(format!("{several} cells are left")),
    };
    let experiments = match experiments {
        0 => None,
        1 => Some("1 experiment is not begun".to_owned()),
        several => Some(format!("{several} experiments are not begun")),
    };
    match (cells, experiments) {
        (Some(cells), Some(experiments)) => Some(format!("{cells} and {experiments}")),
        (one, other) => one.or(other),
    }
}

/// The part of the plan that was asked for.
fn part(arguments: &RunArgs) -> Part {
    Part { only: arguments.only.clone(), shard: arguments.shard }
}

/// Jobs and threads as asked for, but no more than there are cores. More would gain nothing: the
/// numbers do not depend on either.
struct Cores {
    jobs: Option<usize>,
    threads: Option<usize>,
}

impl Cores {
    fn granted(arguments: &RunArgs) -> Self {
        let cores = run::host::cores();
        let grant = |option: &str, asked: Option<u16>| {
            let asked = asked.map(usize::from)?;
            if asked > cores {
                note!("{option} {asked} is more than this machine has: using {cores}");
            }
            Some(asked.min(cores))
        };
        Self {
            jobs: grant("--jobs", arguments.jobs),
            threads: grant("--threads", arguments.threads),
        }
    }
}

fn options(
    arguments: &RunArgs,
    cores: &Cores,
    devices: &[String],
    out: &Path,
) -> Result<Options, Failure> {
    Ok(Options {
        out: out.to_path_buf(),
        jobs: cores.jobs,
        threads: cores.threads,
        memory: arguments.memory,
        part: part(arguments),
        retry_failed: arguments.retry_failed,
        fail_fast: arguments.fail_fast,
        reuse: arguments.reuse.clone(),
        isolation: isolation(arguments, devices.len() > 1)?,
        devices: devices.to_vec(),
    })
}

/// The devices asked for, all of which must be there; the CPU where none is asked for.
fn devices(arguments: &RunArgs) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for asked in &arguments.device {
        match run::require_device(asked) {
            Ok(()) => found.push(asked.clone()),
            Err(run::NoDevice::NotBuilt) => {
                let message = format!("--device {asked} {}", NEEDS_DEEP);
                return Err(Failure::input(message));
            }
            Err(run::NoDevice::NotFound(reason)) => {
                let message =
                    format!("--device {asked}: {reason}, expected cpu or a device it finds");
                return Err(Failure::input(message));
            }
        }
    }
    if found.is_empty() {
        found.push("cpu".to_owned());
    }
    Ok(found)
}

/// Several devices are served by a process each.
fn isolation(arguments: &RunArgs, is_needed: bool) -> Result<Option<Isolation>, Failure> {
    let timeout = arguments.cell_timeout;
    if !arguments.isolate && timeout.is_none() && !is_needed {
        return Ok(None);
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::Other(format!("cannot tell where this program is: {error}")))?;
    let data = arguments.data.folder.clone();
    Ok(Some(Isolation { program, data, timeout }))
}

fn check_filters(arguments: &RunArgs, prepared: &Prepared) -> Result<(), Failure> {
    let missed = arguments.only.iter().find_map(|filter| filter.misses(&prepared.plan));
    if let Some(message) = missed {
        return Err(Failure::input(format!("--only: {message}")));
    }
    let plan = &prepared.plan;
    let mut cells = plan.cells.iter();
    if cells.any(|cell| Filter::keep(&arguments.only, plan, cell)) {
        return Ok(());
    }
    Err(Failure::input("--only: no cell of this experiment meets all conditions together"))
}

/// The first Ctrl-C asks for a clean end, the second one is obeyed at once.
fn catch_interrupts() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        note!("\nfinishing the cells in flight; press Ctrl-C again to stop at once");
    };
    // Without a handler Ctrl-C still stops the program; the ledger is safe either way.
    let _ = ctrlc::set_handler(handler);
    interrupted
}

/// Prints the table and writes the files that are missing, different or outdated.
fn show_tables(
    prepared: &Prepared,
    outcome: &mut Outcome,
    options: &Options,
) -> Result<(), Failure> {
    let out = &options.out;
    let plan = outcome.plan.as_ref().unwrap_or(&prepared.plan);
    let records = std::mem::take(&mut outcome.contents).into_latest();
    let ledger = std::mem::take(&mut outcome.ledger);
    let ignored = outcome.warnings.len();
    let summary = render::summarise(out, plan, records, ignored, ledger);
    show!("{}", terminal(&summary));
    render::update(out, &summary)?;
    refresh_index(out)
}

fn report(prepared: &Prepared, outcome: &Outcome, options: &Options, quiet: bool) -> Ending {
    for warning in &outcome.warnings {
        note!("warning: {warning}");
    }
    let Outcome { done, failed, skipped, left, cannot_run, .. } = outcome;
    if !quiet {
        let done = counted(*done, "cell");
        show!("{done} done, {failed} failed, {skipped} skipped, {left} left");
        let out = options.out.display();
        match options.part.shard {
            None => show!("results in {out}"),
            Some(shard) => {
                show!("shard {shard} of {out}; `npsvcpp merge {out}` joins the shards and renders")
            }
        }
        if !cannot_run.is_empty() {
            show!("{}", absence(prepared, cannot_run));
        }
    } else if !cannot_run.is_empty() {
        // The reason of the exit code.
        note!("{}", absence(prepared, cannot_run));
    }
    if failed + skipped + left == 0 && cannot_run.is_empty() {
        Ending::Complete
    } else {
        Ending::Incomplete
    }
}

/// Which cells cannot run here, why, and what to do about it.
fn absence(prepared: &Prepared, cannot_run: &[(String, usize)]) -> String {
    let reason = |name: &str| prepared.reason(name).map(ToString::to_string);
    let reason = |name: &str| reason(name).unwrap_or_default();
    let total = counted(cannot_run.iter().map(|(_, cells)| cells).sum(), "cell");
    if let [(name, _)] = cannot_run {
        return format!("{total} cannot run here: {}", reason(name));
    }
    let lines = cannot_run.iter().map(|(name, cells)| {
        let cells = counted(*cells, "cell");
        format!("cannot run here: {cells} of `{name}`: {}\n", reason(name))
    });
    let lines: String = lines.collect();
    let names: Vec<String> = (cannot_run.iter()).map(|(name, _)| format!("`{name}`")).collect();
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
        assert_eq!(undone(0, 0), None);
    }

    #[test]
    fn what_is_undone_is_told_in_whole_sentences() {
        let said = |cells, experiments| undone(cells, experiments).unwrap();
        assert_eq!(said(1, 0), "1 cell is left");
        assert_eq!(said(2, 1), "2 cells are left and 1 experiment is not begun");
        assert_eq!(said(0, 2), "2 experiments are not begun");
    }
}
