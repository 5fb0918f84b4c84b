//! The program `npsvcpp`: arguments to calls, results to exit codes.
//!
//! Mistakes of a user end with exit code 2 and one clear sentence each. Everything here returns such a [`Failure`]
//! instead of printing it, so that there is one place that prints.

mod cli;
mod commands;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use cli::{Cli, Command};
use commands::Failure;
use npsvcpp::Exit;

fn main() -> ExitCode {
    // Tests choose in the environment which write fails.
    #[cfg(feature = "failpoints")]
    let _failures = fail::FailScenario::setup();
    ask_for_large_pages();
    let cli = Cli::parse();
    let exit = dispatch(&cli).unwrap_or_else(|failure| {
        failure.print();
        failure.exit()
    });
    match output::finish() {
        Ok(()) => ExitCode::from(exit as u8),
        Err(error) => {
            output::note!("npsvcpp: failed to write to standard output: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Has libtorch ask for pages of 2 MiB: a training on images allocates gigabytes in every step.
fn ask_for_large_pages() {
    const KEY: &str = "THP_MEM_ALLOC_ENABLE";
    if cfg!(feature = "deep") && std::env::var_os(KEY).is_none() {
        // SAFETY: no other thread runs yet that could read the environment.
        unsafe { std::env::set_var(KEY, "1") };
    }
}

fn dispatch(cli: &Cli) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Run(arguments) => commands::run(arguments, cli.quiet),
        Command::Render { folders } => commands::render(folders, cli.quiet),
        Command::Audit(arguments) => commands::audit(arguments, cli.quiet),
        Command::Check { specs, data } => commands::check(specs, data, cli.quiet),
        Command::Status { folder } => commands::status(folder),
        Command::Submit(arguments) => commands::submit(arguments, cli.quiet),
        Command::Merge { folders, out } => commands::merge(folders, out.as_deref(), cli.quiet),
        Command::List { what, data } => commands::list(*what, data),
        Command::Data { action } => commands::data(action, cli.quiet),
        Command::Splits(arguments) => commands::splits(arguments, cli.quiet),
        Command::Schema => commands::schema(),
        Command::Worker => commands::worker(),
    }
}
