//! One function per command of the command line.

mod data;
mod list;
mod merge;
mod plan;
mod render;
mod run;
mod status;
mod submit;

pub use data::data;
pub use list::list;
pub use merge::merge;
pub use plan::check;
use render::refresh_index;
pub use render::render;
pub use run::run;
pub use status::status;
pub use submit::submit;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use miette::Diagnostic;
use npsvcpp::data::{DataError, Store};
use npsvcpp::ledger::MergeError;
use npsvcpp::render::RenderError;
use npsvcpp::run::RunError;
use npsvcpp::run::slurm::Jobs;
use npsvcpp::spec::{self, SpecError};

use crate::cli::DataArgs;
use crate::output::{self, note};

/// How a command ended that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Everything is done.
    Complete,
    /// Finished, but some cells failed or could not run.
    Incomplete,
    /// Stopped by the user.
    Interrupted,
}

impl Ending {
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Complete => 0,
            Self::Incomplete => 3,
            Self::Interrupted => 130,
        })
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// The user's input is at fault; found before any compute.
    Input(Box<dyn Diagnostic + Send + Sync>),
    /// A spec is at fault; all its problems at once.
    Spec(SpecError),
    /// Something else went wrong.
    Other(String),
}

impl Failure {
    /// An input error of one sentence.
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input(miette::MietteDiagnostic::new(message).into())
    }

    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Input(_) | Self::Spec(_) => 2,
            Self::Other(_) => 1,
        })
    }

    /// To standard error: with snippets on a terminal, one line per problem elsewhere.
    pub fn print(&self) {
        match self {
            Self::Spec(error) => note!("{}", spec_error(error).trim_end()),
            Self::Input(diagnostic) => {
                note!("npsvcpp: {diagnostic}");
                if let Some(help) = diagnostic.help() {
                    note!("  help: {help}");
                }
            }
            Self::Other(message) => note!("npsvcpp: {message}"),
        }
    }
}

/// With snippets on a terminal, one line per problem elsewhere.
fn spec_error(error: &SpecError) -> String {
    if !std::io::stderr().is_terminal() {
        return error.plain();
    }
    let screen = npsvcpp::render::Terminal::detect();
    let width = screen.width.map_or(80, usize::from);
    error.graphical(screen.colour, width)
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Self::Input(Box::new(error))
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Record { .. } | RunError::Worker(_) => Self::Other(error.to_string()),
            before_any_compute => Self::Input(Box::new(before_any_compute)),
        }
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::NoFolder(_)
            | RenderError::NoPlan(_)
            | RenderError::NoLedger(_)
            | RenderError::NotOurs(_) => Self::input(error.to_string()),
            other => Self::Other(other.to_string()),
        }
    }
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Read { .. } | MergeError::Write { .. } => Self::Other(error.to_string()),
            input => Self::Input(Box::new(input)),
        }
    }
}

/// The Slurm jobs of a results folder, where there were any.
fn submitted(folder: &Path) -> Result<Option<Jobs>, Failure> {
    Jobs::read(folder).map_err(|error| {
        let path = Jobs::path(folder);
        Failure::Other(format!("cannot read {}: {error}", path.display()))
    })
}

fn store(arguments: &DataArgs) -> Result<Store, Failure> {
    if let Some(folder) = arguments.folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::input(format!("--data: there is no folder {}", folder.display())));
    }
    Ok(Store::new(arguments.folder.clone(), arguments.offline))
}

/// Loads a spec against everything this build knows.
fn load(path: &Path) -> Result<spec::Loaded, Failure> {
    Ok(spec::load(path, &npsvcpp::catalogue())?)
}

/// The table, as wide and as colourful as the terminal allows.
fn terminal(summary: &npsvcpp::render::Summary) -> String {
    npsvcpp::render::Terminal::detect().show(summary)
}

/// `schema`
pub fn schema() -> Result<Ending, Failure> {
    output::to_output(format_args!("{}", spec::schema_text(&npsvcpp::catalogue())));
    Ok(Ending::Complete)
}

/// `worker`: serves the run that started it.
pub fn worker() -> Result<Ending, Failure> {
    // Ctrl-C reaches this process too; its run decides what becomes of it. Without a handler the cell
    // in flight is lost, no more.
    let _ = ctrlc::set_handler(|| ());
    npsvcpp::run::serve().map_err(|error| Failure::Other(format!("worker: {error}")))?;
    Ok(Ending::Complete)
}

/// `1 cell`, `2 cells`.
fn counted(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        several => format!("{several} {what}s"),
    }
}

/// Seconds as people say them.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".into(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 90.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}
