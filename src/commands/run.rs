//! `run SPEC...`: plan, run what the ledger lacks, render.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use npsvcpp::render;
use npsvcpp::run::{self, Filter, Options, Outcome, Prepared};
use npsvcpp::spec::Loaded;

use super::{Ending, Failure, load, plan, store, terminal};
use crate::cli::RunArgs;
use crate::progress::Display;

pub fn run(arguments: &RunArgs, quiet: bool) -> Result<Ending, Failure> {
    // All specs are validated before the first is run.
    let specs = arguments
        .specs
        .iter()
        .map(|path| load(path))
        .collect::<Result<Vec<_>, _>>()?;
    let store = store(&arguments.data)?;
    let interrupted = catch_interrupts();
    let mut ending = Ending::Complete;
    for (loaded, path) in specs.iter().zip(&arguments.specs) {
        let display = Display::new(quiet);
        let prepared = run::prepare(loaded, &store, |name| display.loading(name))?;
        display.loaded();
        check_filters(arguments, &prepared)?;
        if arguments.dry_run {
            print!("{}", plan::describe(&prepared));
            continue;
        }
        let options = options(arguments, loaded, specs.len());
        let outcome = run::run(&prepared, &options, &display, &interrupted)?;
        copy_spec(path, &options.out)?;
        let rendered = render::folder(&options.out)?;
        ending = ending.max(report(&outcome, &rendered, &options, quiet));
        if interrupted.load(Ordering::SeqCst) {
            eprintln!(
                "interrupted: {} cells are left; run the same command again to go on",
                outcome.left
            );
            return Ok(Ending::Interrupted);
        }
    }
    Ok(ending)
}

fn options(arguments: &RunArgs, loaded: &Loaded, specs: usize) -> Options {
    let name = &loaded.experiment.name;
    let out = match &arguments.out {
        Some(out) if specs > 1 => out.join(name),
        Some(out) => out.clone(),
        None => PathBuf::from("results").join(name),
    };
    Options {
        out,
        jobs: arguments.jobs.map(usize::from),
        threads: arguments.threads.map(usize::from),
        memory: arguments.memory,
        only: arguments.only.clone(),
        retry_failed: arguments.retry_failed,
        fail_fast: arguments.fail_fast,
    }
}

fn check_filters(arguments: &RunArgs, prepared: &Prepared) -> Result<(), Failure> {
    let missed = arguments
        .only
        .iter()
        .find_map(|filter| filter.misses(&prepared.plan));
    if let Some(message) = missed {
        return Err(Failure::input(format!("--only: {message}")));
    }
    let plan = &prepared.plan;
    let mut cells = plan.cells.iter();
    if cells.any(|cell| Filter::keep(&arguments.only, plan, cell)) {
        return Ok(());
    }
    Err(Failure::input(
        "--only: no cell of this experiment meets all conditions together",
    ))
}

/// The first Ctrl-C asks for a clean end, the second one is obeyed at once.
fn catch_interrupts() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        eprintln!("\nfinishing the cells in flight; press Ctrl-C again to stop at once");
    };
    // Without a handler Ctrl-C still stops the program; the ledger is safe either way.
    let _ = ctrlc::set_handler(handler);
    interrupted
}

/// The spec as it was run lies beside its results.
fn copy_spec(spec: &Path, out: &Path) -> Result<(), Failure> {
    let copy = out.join("spec.yaml");
    let write = || npsvcpp::ledger::replace(&copy, &std::fs::read(spec)?);
    write().map_err(|error| Failure::Other(format!("cannot write {}: {error}", copy.display())))
}

fn report(
    outcome: &Outcome,
    rendered: &render::Rendered,
    options: &Options,
    quiet: bool,
) -> Ending {
    for warning in &outcome.warnings {
        eprintln!("warning: {warning}");
    }
    println!("{}", terminal(&rendered.summary));
    if !quiet {
        let Outcome {
            done,
            failed,
            skipped,
            left,
            ..
        } = outcome;
        println!("{done} cells done, {failed} failed, {skipped} skipped, {left} left");
        println!("results in {}", options.out.display());
    }
    let is_complete = outcome.failed + outcome.skipped + outcome.left == 0;
    if is_complete {
        Ending::Complete
    } else {
        Ending::Incomplete
    }
}
