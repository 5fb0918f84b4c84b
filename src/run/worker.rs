//! Jobs in child processes, so that a cell that hangs or dies takes nothing with it.
//!
//! A child is this program again, started with the command `worker`. It reads one job per line from its standard
//! input and writes one event per line to its standard output. Only the process that started it writes to the
//! ledger. If a child dies, or a cell takes too long, that cell fails, and a new child gets the rest of the job.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{self, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::Prepared;
use super::job::{Done, Emit, Job, JobEvent, RunContext, Stop, blank, timestamp};
use crate::error::Error;

/// How to run cells in child processes.
#[derive(Clone, Debug)]
pub struct Isolation {
    /// This program.
    pub program: PathBuf,
    /// The folder of `--data`.
    pub data: Option<PathBuf>,
    /// Longest time a cell may take.
    pub timeout: Option<Duration>,
}

/// A line that a child writes: what happens to the current cell, or why it cannot begin.
pub(super) type Answer = Result<JobEvent, String>;

/// Has a child process run jobs. The first job starts it, and the next one after it died.
pub(super) struct Worker<'a> {
    prepared: &'a Prepared,
    isolation: &'a Isolation,
    context: &'a RunContext,
    child: Option<Child>,
}

impl<'a> Worker<'a> {
    pub fn new(prepared: &'a Prepared, isolation: &'a Isolation, context: &'a RunContext) -> Self {
        Self { prepared, isolation, context, child: None }
    }

    /// Does the same as [`run_job`](super::job::run_job).
    pub fn run_job(&mut self, job: &Job, emit: Emit<'_>) -> Result<(), Stop> {
        let mut left = job.clone();
        while !left.cells.is_empty() {
            let mut begun = SystemTime::now();
            if let Err(reason) = self.send(&mut left, &mut begun, emit)? {
                let cell = left.cells.remove(0);
                let mut record = blank(self.prepared, &cell, self.context);
                record.started = timestamp(begun);
                record.error = Some(reason);
                emit(&cell, JobEvent::Done(Box::new(Done { record, files: Vec::new() })))?;
            }
        }
        Ok(())
    }

    /// Sends a job to the child and removes the cells that end from it. Gives the reason if the cell that is then
    /// the first is lost; it has begun at `begun`.
    fn send(
        &mut self,
        left: &mut Job,
        begun: &mut SystemTime,
        emit: Emit<'_>,
    ) -> Result<Result<(), String>, Stop> {
        let mut child = match self.child.take() {
            Some(child) => child,
            None => self.start().map_err(|error| {
                Error::failed(format!("failed to start a worker process: {error}"))
            })?,
        };
        // A child that cannot read the job is found dead below.
        let _ = child.write(left);
        let mut deadline = None;
        while let Some(cell) = left.cells.first() {
            match child.answer(deadline) {
                Ok(Ok(event)) => {
                    let is_done = matches!(event, JobEvent::Done(_));
                    if matches!(event, JobEvent::Started) {
                        *begun = SystemTime::now();
                        deadline = self.isolation.timeout.map(|limit| Instant::now() + limit);
                    }
                    emit(cell, event)?;
                    if is_done {
                        left.cells.remove(0);
                        deadline = None;
                    }
                }
                Ok(Err(reason)) => return Ok(Err(reason)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Err(format!("its worker process {}", ending(child.end()))));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let limit = self.isolation.timeout.unwrap_or_default();
                    let limit = humantime::format_duration(limit);
                    let reason = format!("took longer than --cell-timeout {limit} and was stopped");
                    return Ok(Err(reason));
                }
            }
        }
        self.child = Some(child);
        Ok(Ok(()))
    }

    fn start(&self) -> io::Result<Child> {
        let mut process = Command::new(&self.isolation.program)
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("a worker process without pipes"));
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let Ok(answer) = serde_json::from_str(&line) else {
                    break;
                };
                if sender.send(answer).is_err() {
                    break;
                }
            }
        });
        let mut child = Child { process, input, answers };
        let experiment = &self.prepared.plan.experiment;
        let _ = child.write(&(experiment, self.context, &self.isolation.data));
        Ok(child)
    }
}

struct Child {
    process: process::Child,
    input: ChildStdin,
    answers: Receiver<Answer>,
}

impl Child {
    fn write(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.input.write_all(&line)
    }

    fn answer(&self, deadline: Option<Instant>) -> Result<Answer, RecvTimeoutError> {
        match deadline {
            None => self.answers.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(end) => self.answers.recv_timeout(end.saturating_duration_since(Instant::now())),
        }
    }

    /// Ends the process, if it has not ended by itself, and gives its status.
    fn end(&mut self) -> Option<ExitStatus> {
        // A process that died by itself keeps its own status.
        let _ = self.process.kill();
        self.process.wait().ok()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of a sentence about a process.
fn ending(status: Option<ExitStatus>) -> String {
    #[cfg(unix)]
    if let Some(signal) = status.and_then(|s| std::os::unix::process::ExitStatusExt::signal(&s)) {
        let meaning = match signal {
            6 => " (it gave up, as when memory or stack run out)",
            9 => " (killed, as systems do when memory runs out)",
            11 => " (a wrong memory access)",
            _ => "",
        };
        return format!("was ended by signal {signal}{meaning}");
    }
    match status.and_then(|status| status.code()) {
        Some(code) => format!("ended with code {code}"),
        None => "ended".into(),
    }
}
