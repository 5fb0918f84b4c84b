//! The program's output: results on standard output, everything else on standard error.
//!
//! A reader that is gone is not an error. Notes are dropped, because a run must not end when its terminal closes.
//! A reader of results such as `head` may close its pipe early, and the command still ends with its usual exit code.
//! Only results that cannot be written for another reason, such as a full disk, are a failure, which [`finish`]
//! returns at the end.

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
