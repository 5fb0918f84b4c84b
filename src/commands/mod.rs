//! One function per command of the command line.

mod data;
mod list;
mod plan;
mod run;

pub use data::data;
pub use list::list;
pub use plan::check;
pub use run::run;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use npsvcpp::data::{DataError, Store};
use npsvcpp::ledger::Plan;
use npsvcpp::render::{self, RenderError};
use npsvcpp::run::{PrepareError, RunError, folder_status};
use npsvcpp::spec::{self, SpecError};

use crate::cli::DataArgs;

/// How a command ended that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Everything is done.
    Complete,
    /// Finished, but some cells failed or were skipped.
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
        let rich = std::io::stderr().is_terminal();
        match self {
            Self::Spec(error) if rich => eprint!("{}", graphical(error)),
            Self::Spec(error) => eprint!("{}", error.plain()),
            Self::Input(diagnostic) => {
                eprintln!("npsvcpp: {diagnostic}");
                if let Some(help) = diagnostic.help() {
                    eprintln!("  help: {help}");
                }
            }
            Self::Other(message) => eprintln!("npsvcpp: {message}"),
        }
    }
}

fn graphical(error: &SpecError) -> String {
    let has_colour = std::env::var_os("NO_COLOR").is_none();
    let theme = if has_colour {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let mut text = String::new();
    match GraphicalReportHandler::new_themed(theme).render_report(&mut text, error) {
        Ok(()) => text,
        Err(_) => error.plain(),
    }
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

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Spec(error) => error.into(),
            PrepareError::Data(error) => error.into(),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Record { .. } => Self::Other(error.to_string()),
            before_any_compute => Self::Input(Box::new(before_any_compute)),
        }
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::NoFolder(_) | RenderError::NoPlan(_) => Self::input(error.to_string()),
            other => Self::Other(other.to_string()),
        }
    }
}

fn store(arguments: &DataArgs) -> Result<Store, Failure> {
    if let Some(folder) = arguments.folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::input(format!(
            "--data: there is no folder {}",
            folder.display()
        )));
    }
    Ok(Store::new(arguments.folder.clone(), arguments.offline))
}

/// Loads a spec against everything this build knows.
fn load(path: &Path) -> Result<spec::Loaded, Failure> {
    Ok(spec::load(path, &npsvcpp::catalogue())?)
}

/// `render DIR...`
pub fn render(folders: &[PathBuf], quiet: bool) -> Result<Ending, Failure> {
    for folder in folders {
        let rendered = render::folder(folder)?;
        for warning in &rendered.warnings {
            eprintln!("warning: {warning}");
        }
        if !quiet {
            println!("{}", terminal(&rendered.summary));
            for file in &rendered.files {
                println!("wrote {}", file.display());
            }
        }
    }
    Ok(Ending::Complete)
}

/// The table, as wide and as colourful as the terminal allows.
fn terminal(summary: &render::Summary) -> String {
    render::Terminal::detect().show(summary)
}

/// `status DIR`
pub fn status(folder: &Path) -> Result<Ending, Failure> {
    if !folder.is_dir() {
        return Err(RenderError::NoFolder(folder.to_path_buf()).into());
    }
    if !folder.join(Plan::FILE).exists() {
        return Err(RenderError::NoPlan(folder.to_path_buf()).into());
    }
    let status = folder_status(folder)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", folder.display())))?;
    for warning in &status.warnings {
        eprintln!("warning: {warning}");
    }
    let total = status.done + status.failed + status.skipped + status.missing;
    println!("{}: {} of {total} cells done", status.name, status.done);
    for (dataset, done, planned) in &status.datasets {
        println!("  {dataset:<16} {done:>5} of {planned}");
    }
    println!(
        "failed {}, skipped {}, missing {}",
        status.failed, status.skipped, status.missing
    );
    for (reason, count) in &status.reasons {
        println!("  {count} x {reason}");
    }
    match status.seconds_left {
        Some(seconds) if status.missing > 0 => {
            println!("about {} of work left on one core", duration(seconds));
        }
        None => println!("no time to be told: nothing alike has finished yet"),
        Some(_) => {}
    }
    let is_complete = status.done == total;
    Ok(if is_complete {
        Ending::Complete
    } else {
        Ending::Incomplete
    })
}

/// `schema`
pub fn schema() -> Result<Ending, Failure> {
    print!("{}", spec::schema_text(&npsvcpp::catalogue()));
    Ok(Ending::Complete)
}

/// Seconds as people say them.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "under a second".into(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 90.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}
