//! One function per command of the command line.

mod audit;
mod check;
mod data;
mod list;
mod merge;
mod render;
mod run;
mod splits;
mod status;
mod submit;

pub use audit::audit;
pub use check::check;
pub use data::data;
pub use list::list;
pub use merge::merge;
use render::refresh_index;
pub use render::render;
pub use run::run;
pub use splits::splits;
pub use status::status;
pub use submit::submit;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use npsvcpp::data::{DataError, Store};
use npsvcpp::spec::{self, SpecError};
use npsvcpp::{Error, Exit};

use crate::cli::DataArgs;
use crate::output::{self, note};

/// Most warnings about the lines of a ledger that are printed.
const WARNINGS: usize = 10;

/// Prints the warnings about lines of a ledger that were skipped.
fn warn(warnings: &[String]) {
    for warning in warnings.iter().take(WARNINGS) {
        note!("warning: {warning}");
    }
    if warnings.len() > WARNINGS {
        note!("warning: {} more lines were skipped", warnings.len() - WARNINGS);
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Failure {
    /// A spec is at fault; all its mistakes at once.
    Spec(#[from] SpecError),
    Other(#[from] Error),
}

impl Failure {
    pub fn exit(&self) -> Exit {
        match self {
            Self::Spec(_) => Exit::Input,
            Self::Other(error) => error.exit,
        }
    }

    /// To standard error: with snippets on a terminal, one line per mistake elsewhere.
    pub fn print(&self) {
        match self {
            Self::Spec(error) if std::io::stderr().is_terminal() => {
                let screen = npsvcpp::render::Terminal::detect();
                let width = screen.width.map_or(80, usize::from);
                note!("{}", error.graphical(screen.colour, width).trim_end());
            }
            Self::Spec(error) => note!("{}", error.plain().trim_end()),
            Self::Other(Error { message, help, .. }) => {
                note!("npsvcpp: {message}");
                if let Some(help) = help {
                    note!("  help: {help}");
                }
            }
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        let help = error.help().map(|help| help.to_string());
        Self::Other(Error { help, ..Error::input(error.to_string()) })
    }
}

/// Where the results of an experiment go unless `--out` says otherwise.
fn results_folder(loaded: &spec::Spec) -> PathBuf {
    Path::new("results").join(&loaded.experiment.name)
}

/// The path of this program, to start it again.
fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::cannot("find", Path::new("npsvcpp")))
}

fn store(arguments: &DataArgs) -> Result<Store, Error> {
    if let Some(folder) = arguments.folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Error::input(format!("--data: there is no folder {}", folder.display())));
    }
    Ok(Store::new(arguments.folder.clone(), arguments.offline))
}

/// The table, as wide and as colourful as the terminal allows.
fn terminal(summary: &npsvcpp::analyse::Summary) -> String {
    npsvcpp::render::Terminal::detect().show(summary)
}

/// `schema`
pub fn schema() -> Result<Exit, Failure> {
    output::to_output(format_args!("{}", spec::schema_text()));
    Ok(Exit::Complete)
}

/// `worker`: serves the run that started it.
pub fn worker() -> Result<Exit, Failure> {
    // Ctrl-C reaches this process too, but its run decides when it ends. Without a handler, the running cell
    // would be lost.
    let _ = ctrlc::set_handler(|| ());
    npsvcpp::run::serve().map_err(|error| Error::failed(format!("worker: {error}")))?;
    Ok(Exit::Complete)
}
