//! Why a command did not do what it was asked, and the exit code that follows.

use std::io;
use std::path::Path;

/// One sentence for the user, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// [`Exit::Failed`] or [`Exit::Input`].
    pub exit: Exit,
    pub message: String,
    pub help: Option<String>,
}

/// How a command ended: the exit codes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything is done.
    Complete = 0,
    /// The machine failed while the command worked.
    Failed = 1,
    /// The command line, the spec, the data or the folder is wrong; found before anything is computed.
    Input = 2,
    /// Finished, but some cells failed or could not run.
    Incomplete = 3,
    /// Stopped by the user.
    Interrupted = 130,
}

impl Error {
    pub fn input(message: impl Into<String>) -> Self {
        Self { exit: Exit::Input, message: message.into(), help: None }
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into(), help: None }
    }

    /// The system's error for an act on a file, such as `read`, with what to do about it if that is known.
    pub fn cannot<'a>(act: &'a str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |source| {
            let remedy = match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "; free some space, then run the same command to continue"
                }
                io::ErrorKind::FileTooLarge => {
                    "; raise the limit, then run the same command to continue"
                }
                _ => "",
            };
            Self::failed(format!("cannot {act} {}: {source}{remedy}", path.display()))
        }
    }

    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}
