//! What the program says: results on standard output, all else on standard error.
//!
//! Nobody listening is no error. Notes are lost without a word, for a run must not end because its
//! terminal has; a reader of results that has seen enough, as `head` has, closes its pipe, and the
//! command goes on to its own exit code. Only results that cannot be written for another reason,
//! such as a full disk, are a failure, which [`finish`] tells at the end.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

/// The first failure of standard output other than a closed pipe.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// A line on standard error, as `eprintln!` takes it.
macro_rules! note {
    ($($words:tt)*) => { $crate::output::to_error(format_args!($($words)*)) };
}

/// A line on standard output, as `println!` takes it.
macro_rules! show {
    ($($words:tt)*) => { $crate::output::to_output(format_args!("{}\n", format_args!($($words)*))) };
}

pub(crate) use {note, show};

pub fn to_error(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Text on standard output, which ends its own lines.
pub fn to_output(text: fmt::Arguments<'_>) {
    keep(io::stdout().lock().write_fmt(text));
}

/// The failure to write what was to be shown, if there was one.
pub fn finish() -> io::Result<()> {
    keep(io::stdout().lock().flush());
    let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    failure.take().map_or(Ok(()), Err)
}

fn keep(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
    }
}
